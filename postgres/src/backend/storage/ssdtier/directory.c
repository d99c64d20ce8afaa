/*-------------------------------------------------------------------------
 *
 * directory.c
 *	  Which pages are on the SSD, and which shall be.
 *
 * A page is found by its relation and block.  A relation has a place in a
 * table, which knows its full identity; the core's node of a slot has the
 * relation's number and the block, so nothing is found by a hash alone.  The
 * number is the place, and how many relations have been there, so that the
 * temperatures of one are seldom taken for another's.
 *
 * A relation that is dropped cannot be found any more; that takes no time.  Its
 * slots are freed later, by the writer's sweep.
 *
 * All functions take the tier's lock, except the static ones and
 * SsdTierFreeSlot, which are called under it.  None allocates or raises errors:
 * truncation happens in critical sections.
 *
 * src/backend/storage/ssdtier/directory.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "common/hashfn.h"
#include "common/relpath.h"
#include "storage/bufferpool_internals.h"
#include "storage/ssd_tier_internals.h"

/* Slots that are looked at in one hold of the lock. */
#define SLOTS_PER_HOLD 256

/*
 * Blocks that are looked up one by one when they are truncated.  If there are
 * more, the whole relation is forgotten: a tenth of a millisecond is long enough
 * to hold the lock.
 */
#define MAX_BLOCKS_FORGOTTEN 2048

/* ---- relations ---- */

static uint32
relation_bucket(const RelFileLocator *locator)
{
	uint32		hash = murmurhash32(locator->relNumber ^
									murmurhash32(locator->dbOid ^
												 pg_rotate_left32(locator->spcOid, 16)));

	return (uint32) (((uint64) hash * SsdTier.max_relations) >> 32);
}

static uint32
place_of(const SsdTierRelation *relation)
{
	return (uint32) (relation - SsdTier.relations);
}

/* Below 2^32, so that an extent's key tells its relation (tp_page_of_key). */
static uint32
number_of(const SsdTierRelation *relation)
{
	return relation->incarnation << SSD_TIER_PLACE_BITS | place_of(relation);
}

static SsdTierRelation *
relation_of_number(uint64 number)
{
	return &SsdTier.relations[number & ((1 << SSD_TIER_PLACE_BITS) - 1)];
}

static SsdTierRelation *
relation_in(uint32 slot)
{
	return relation_of_number(tp_page_of(&SsdTier.core.pool, slot).relation);
}

static SsdTierRelation *
find_relation(const RelFileLocator *locator)
{
	uint32		place = SsdTier.relation_buckets[relation_bucket(locator)];

	while (place != TP_NONE &&
		   !RelFileLocatorEquals(SsdTier.relations[place].locator, *locator))
		place = SsdTier.relations[place].next;
	return place == TP_NONE ? NULL : &SsdTier.relations[place];
}

/* It cannot be found any more. */
static void
hide_relation(SsdTierRelation *relation)
{
	uint32	   *link = &SsdTier.relation_buckets[relation_bucket(&relation->locator)];

	while (*link != place_of(relation))
		link = &SsdTier.relations[*link].next;
	*link = relation->next;
}

/* A relation that cannot be found and has no slots: its place is free. */
static void
free_relation(SsdTierRelation *relation)
{
	Assert(relation->pages == 0);
	relation->used = relation->gone = false;
	relation->next = SsdTier.shared->free_relation;
	SsdTier.shared->free_relation = place_of(relation);
}

/*
 * The next place of a relation that has no pages on the SSD, seen by a hand
 * that goes round.
 */
static SsdTierRelation *
idle_relation(void)
{
	uint32	   *hand = &SsdTier.shared->relation_hand;

	for (int looks = 0; looks < SLOTS_PER_HOLD; looks++)
	{
		SsdTierRelation *relation = &SsdTier.relations[*hand];

		*hand = *hand + 1 < SsdTier.max_relations ? *hand + 1 : 0;
		if (relation->used && !relation->gone && relation->pages == 0)
			return relation;
	}
	return NULL;
}

/* The relation's place; if it has none, a free one, or NULL. */
static SsdTierRelation *
enter_relation(const RelFileLocator *locator)
{
	SsdTierRelation *relation = find_relation(locator);
	uint32		incarnation;
	uint32	   *bucket;

	if (relation != NULL)
		return relation;
	if (SsdTier.shared->free_relation == TP_NONE)
	{
		relation = idle_relation();
		if (relation == NULL)
			return NULL;
		hide_relation(relation);
		free_relation(relation);
	}
	relation = &SsdTier.relations[SsdTier.shared->free_relation];
	SsdTier.shared->free_relation = relation->next;
	incarnation = relation->incarnation + 1;
	bucket = &SsdTier.relation_buckets[relation_bucket(locator)];
	*relation = (SsdTierRelation)
	{
		.locator = *locator, .next = *bucket, .incarnation = incarnation,
			.used = true
	};
	*bucket = place_of(relation);
	return relation;
}

/* The relation's pages cease to exist. */
static void
forget_relation(SsdTierRelation *relation)
{
	hide_relation(relation);
	SsdTierCount(SSD_TIER_INVALIDATED, relation->pages);
	if (relation->pages == 0)
		free_relation(relation);
	else
	{
		relation->gone = true;
		SsdTier.shared->gone++;
	}
}

/* ---- slots ---- */

static uint32
state_of(uint32 slot)
{
	return pg_atomic_read_u32(&SsdTier.slots[slot].state);
}

static uint32 *
bucket_of(tp_page page)
{
	uint64		key = tp_page_key(page);

	return &SsdTier.buckets[((key >> 32) * SsdTier.capacity) >> 32];
}

/* Can the page be read from this slot? */
static bool
is_valid(uint32 slot)
{
	return (state_of(slot) & (SSD_SLOT_VALID | SSD_SLOT_BAD)) == SSD_SLOT_VALID;
}

/* May the slot be given to another page? */
static bool
is_usable(void *arg, uint32 slot)
{
	return (state_of(slot) & (SSD_SLOT_QUEUED | SSD_SLOT_PINS)) == 0;
}

/* The page, which the core knows to be in this slot, can be found. */
static void
show_slot(uint32 slot)
{
	uint32	   *bucket = bucket_of(tp_page_of(&SsdTier.core.pool, slot));

	SsdTier.slots[slot].next = *bucket;
	*bucket = slot;
	relation_in(slot)->pages++;
}

/* It cannot be found any more. */
static void
hide_slot(uint32 slot)
{
	uint32	   *link = bucket_of(tp_page_of(&SsdTier.core.pool, slot));
	SsdTierRelation *relation = relation_in(slot);

	while (*link != slot)
		link = &SsdTier.slots[*link].next;
	*link = SsdTier.slots[slot].next;
	pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state,
							~(SSD_SLOT_VALID | SSD_SLOT_BAD));
	if (--relation->pages == 0 && relation->gone)
	{
		SsdTier.shared->gone--;
		free_relation(relation);
	}
}

/*
 * The page leaves the slot.  If it is being read from there, or is on its way
 * to it, the slot is not given to another page until that has ended.
 */
void
SsdTierFreeSlot(uint32 slot)
{
	hide_slot(slot);
	if (state_of(slot) & SSD_SLOT_QUEUED)
		SsdTierCancelEntry(slot);
	tp_tier_forget(&SsdTier.core, slot);
}

/* The page's slot, or TP_NONE.  A slot that cannot be read is freed. */
static uint32
find_slot(const SsdTierRelation *relation, BlockNumber block)
{
	tp_page		page = tp_page_make(number_of(relation), block);
	uint32		slot = *bucket_of(page);

	while (slot != TP_NONE &&
		   !tp_page_equal(tp_page_of(&SsdTier.core.pool, slot), page))
		slot = SsdTier.slots[slot].next;
	if (slot != TP_NONE && (state_of(slot) & SSD_SLOT_BAD))
	{
		SsdTierFreeSlot(slot);
		return TP_NONE;
	}
	return slot;
}

/* ---- reads ---- */

static tp_access
this_access(void)
{
	tp_access	access = {.backend = MyProcNumber};

	if (SsdTier.core.pool.policy->flags & TP_USES_TIME)
		access.now = BufferPoolNow();
	return access;
}

/*
 * How many blocks from this one on are all in consecutive slots, or are all not
 * on the SSD: at least 1, at most nblocks.
 */
static uint32
run_of(const SsdTierRelation *relation, BlockNumber block, uint32 nblocks,
	   bool *hit)
{
	uint32		first = find_slot(relation, block);
	uint32		run = 1;

	*hit = first != TP_NONE && is_valid(first);
	for (; run < nblocks; run++)
	{
		uint32		slot = find_slot(relation, block + run);
		bool		valid = slot != TP_NONE && is_valid(slot);

		if (valid != *hit || (valid && slot != first + run))
			break;
	}
	return run;
}

/* The blocks will be read from consecutive slots. */
static void
begin_hit(SsdTierRelation *relation, BlockNumber block, int nblocks,
		  SsdTierRead *read)
{
	tp_access	access = this_access();
	const tp_extents *extents = SsdTier.core.extents;

	read->slot = find_slot(relation, block);
	relation->hits += nblocks;
	for (int i = 0; i < nblocks; i++)
	{
		uint64		sequential = extents->sequential;

		tp_tier_read(&SsdTier.core, tp_page_make(number_of(relation), block + i),
					 read->slot + i, &access);
		SsdTier.shared->saved_time += extents->sequential > sequential ?
			extents->settings.sequential_saving :
			extents->settings.random_saving;
		pg_atomic_fetch_add_u32(&SsdTier.slots[read->slot + i].state, 1);
	}
}

/*
 * The page comes in from the disk.  Returns the entry of the queue that is
 * waiting for it, or TP_NONE.
 */
static uint32
begin_miss(SsdTierRelation *relation, BlockNumber block)
{
	tp_access	access = this_access();
	tp_page		page = tp_page_make(number_of(relation), block);
	uint32		slot = find_slot(relation, block);
	uint32		entry;

	tp_tier_read(&SsdTier.core, page, TP_NONE, &access);
	if (slot != TP_NONE || !SsdTierIsUseful())
	{
		SsdTierCount(SSD_TIER_PASSED_BY, 1);
		return TP_NONE;
	}
	slot = tp_tier_offer(&SsdTier.core, page, is_usable, NULL, &access);
	if (!tp_is_frame(slot))
	{
		SsdTierCount(slot == TP_REFUSED ? SSD_TIER_REFUSED_BY_POLICY :
					 SSD_TIER_REFUSED_NO_SLOT, 1);
		return TP_NONE;
	}
	if (tp_is_resident(&SsdTier.core.pool, slot))
	{
		hide_slot(slot);
		tp_tier_evict(&SsdTier.core, slot, &access);
	}
	tp_tier_admit(&SsdTier.core, slot, page, &access);
	show_slot(slot);
	entry = SsdTierReserveEntry(slot, &relation->locator, block);
	if (entry == TP_NONE)
		SsdTierFreeSlot(slot);
	return entry;
}

/*
 * Which cost a read of this block from the disk is an example of.  If the SSD has
 * the block before, the disk seeks in the midst of a scan: that is no example of
 * what a scan takes, and no random read either.
 */
static SsdTierCost
cost_of(const SsdTierRelation *relation, BlockNumber block, bool sequential)
{
	if (!sequential)
		return SSD_TIER_COST_DISK_RANDOM;
	return block > 0 && find_slot(relation, block - 1) != TP_NONE ?
		SSD_TIER_NUM_COSTS : SSD_TIER_COST_DISK_SEQUENTIAL;
}

static bool
is_on_and_known(SsdTierRelation *relation, int nblocks)
{
	if (!SsdTierIsOn())
		return false;
	if (relation == NULL)
		SsdTierCount(SSD_TIER_REFUSED_NO_RELATION, nblocks);
	return relation != NULL;
}

/*
 * Memory misses these blocks.  Either all are read from consecutive slots, which
 * are pinned then (SsdTierUnpin), or all from the disk.
 */
void
SsdTierBeginRead(const RelFileLocator *locator, BlockNumber block, int nblocks,
				 SsdTierRead *read)
{
	SsdTierRelation *relation;

	read->hit = false;
	read->cost = SSD_TIER_NUM_COSTS;
	for (int i = 0; i < nblocks; i++)
		read->entries[i] = TP_NONE;
	SsdTierLock();
	relation = enter_relation(locator);
	if (is_on_and_known(relation, nblocks))
	{
		bool		hit;
		bool		all = run_of(relation, block, nblocks, &hit) == nblocks;

		relation->reads += nblocks;
		read->hit = all && hit;
		if (read->hit)
			begin_hit(relation, block, nblocks, read);
		else
			for (int i = 0; i < nblocks; i++)
			{
				uint64		sequential = SsdTier.core.extents->sequential;

				read->entries[i] = begin_miss(relation, block + i);
				if (i == 0)
					read->cost = cost_of(relation, block,
										 SsdTier.core.extents->sequential > sequential);
			}
	}
	SsdTierUnlock();
}

/*
 * How many blocks from this one on can be read at once: all from the SSD
 * (*hit), or all from the disk.
 */
uint32
SsdTierRun(const RelFileLocator *locator, BlockNumber block, uint32 nblocks,
		   bool *hit)
{
	const SsdTierRelation *relation;
	uint32		run = nblocks;

	*hit = false;
	if (!SsdTierIsUseful())
		return run;
	SsdTierLock();
	relation = find_relation(locator);
	if (relation != NULL && relation->pages > 0 && SsdTierIsOn())
		run = run_of(relation, block, nblocks, hit);
	SsdTierUnlock();
	return run;
}

/* A read from this slot has ended.  Takes no lock, callable anywhere. */
void
SsdTierUnpin(uint32 slot, bool bad)
{
	if (bad)
		pg_atomic_fetch_or_u32(&SsdTier.slots[slot].state, SSD_SLOT_BAD);
	pg_atomic_fetch_sub_u32(&SsdTier.slots[slot].state, 1);
}

/* ---- writes ---- */

/*
 * The block is about to be written to the disk: its copy is not to be read any
 * more.  Returns the entry of the queue that waits for the new page, or TP_NONE.
 */
uint32
SsdTierBeginWrite(const RelFileLocator *locator, BlockNumber block)
{
	const SsdTierRelation *relation;
	uint32		slot;
	uint32		entry = TP_NONE;

	SsdTierLock();
	relation = find_relation(locator);
	slot = relation == NULL ? TP_NONE : find_slot(relation, block);
	if (slot != TP_NONE)
	{
		pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state, ~SSD_SLOT_VALID);
		if (state_of(slot) & SSD_SLOT_QUEUED)
			SsdTierCancelEntry(slot);
		if (is_usable(NULL, slot) && SsdTierIsOn())
			entry = SsdTierReserveEntry(slot, locator, block);
		if (entry == TP_NONE)
		{
			SsdTierCount(SSD_TIER_INVALIDATED, 1);
			SsdTierFreeSlot(slot);
		}
		else
			tp_tier_written(&SsdTier.core, slot);
	}
	SsdTierUnlock();
	return entry;
}

/* ---- pages that cease to exist ---- */

void
SsdTierForgetRelation(const RelFileLocator *locator)
{
	SsdTierRelation *relation;

	SsdTierLock();
	relation = find_relation(locator);
	if (relation != NULL)
		forget_relation(relation);
	SsdTierUnlock();
}

/* The blocks do not exist any more, or are about to be made. */
void
SsdTierForgetBlocks(const RelFileLocator *locator, BlockNumber block,
					BlockNumber nblocks)
{
	SsdTierRelation *relation;

	SsdTierLock();
	relation = find_relation(locator);
	if (relation != NULL && relation->pages > 0)
	{
		if (nblocks > MAX_BLOCKS_FORGOTTEN)
			forget_relation(relation);
		else
			for (BlockNumber i = 0; i < nblocks; i++)
			{
				uint32		slot = find_slot(relation, block + i);

				if (slot == TP_NONE)
					continue;
				SsdTierCount(SSD_TIER_INVALIDATED, 1);
				SsdTierFreeSlot(slot);
			}
	}
	SsdTierUnlock();
}

void
SsdTierDropDatabase(Oid database)
{
	if (!SsdTierConfigured)
		return;
	SsdTierLock();
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		SsdTierRelation *relation = &SsdTier.relations[i];

		if (relation->used && !relation->gone &&
			relation->locator.dbOid == database)
			forget_relation(relation);
	}
	SsdTierUnlock();
}

/* ---- the writer's ---- */

/*
 * Free slots of relations that are gone, among the next so many.  Returns
 * whether there are more.
 */
bool
SsdTierSweep(uint32 slots)
{
	static uint32 hand;
	bool		more = true;

	for (uint32 i = 0; i < slots && more;)
	{
		SsdTierLock();
		for (int held = 0; held < SLOTS_PER_HOLD && i < slots; held++, i++)
		{
			hand = hand + 1 < SsdTier.shared->slots ? hand + 1 : 0;
			if (SsdTier.shared->slots > 0 &&
				tp_is_resident(&SsdTier.core.pool, hand) &&
				relation_in(hand)->gone)
				SsdTierFreeSlot(hand);
		}
		more = SsdTier.shared->gone > 0;
		SsdTierUnlock();
	}
	return more;
}

/*
 * Free all slots, while the tier is not on.  Returns false if some are in use
 * still.
 */
bool
SsdTierEmpty(void)
{
	bool		quiet = true;

	for (uint32 slot = 0; slot < SsdTier.shared->slots;)
	{
		SsdTierLock();
		for (int held = 0; held < SLOTS_PER_HOLD && slot < SsdTier.shared->slots;
			 held++, slot++)
		{
			if (tp_is_resident(&SsdTier.core.pool, slot))
				SsdTierFreeSlot(slot);
			quiet = quiet && is_usable(NULL, slot);
		}
		SsdTierUnlock();
	}
	return quiet;
}

/* The last slot ceases to be a member.  Returns false if it is in use. */
static bool
leave(uint32 slot)
{
	if (tp_is_resident(&SsdTier.core.pool, slot))
		SsdTierFreeSlot(slot);
	if (!is_usable(NULL, slot))
		return false;
	tp_leave(&SsdTier.core.pool, slot);
	return true;
}

/*
 * Let the tier have this many slots, at most its capacity.  The file has room
 * for them.  Returns false if some that should leave are in use.
 */
bool
SsdTierResize(uint32 slots)
{
	SsdTierShared *shared = SsdTier.shared;
	bool		stuck = false;

	while (shared->slots != slots && !stuck)
	{
		SsdTierLock();
		for (int held = 0; held < SLOTS_PER_HOLD && shared->slots != slots; held++)
			if (shared->slots < slots)
				tp_join(&SsdTier.core.pool, shared->slots++);
			else if (leave(shared->slots - 1))
				shared->slots--;
			else
			{
				stuck = true;
				break;
			}
		tp_extents_resize(SsdTier.core.extents, shared->slots);
		SsdTierUnlock();
	}
	return !stuck;
}

/* ---- from one server to the next ---- */

/*
 * The page in a slot that can be read, by its relation's place; or false.
 * Believes the slot's state, since the pool may be inconsistent.
 */
bool
SsdTierDescribeSlot(uint32 slot, uint32 *place, BlockNumber *block,
					pg_crc32c *crc)
{
	tp_page		page = tp_page_of(&SsdTier.core.pool, slot);
	const SsdTierRelation *relation = relation_of_number(page.relation);

	*place = place_of(relation);
	*block = page.block;
	*crc = SsdTier.slots[slot].crc;
	return is_valid(slot) && *place < SsdTier.max_relations &&
		relation->used && !relation->gone;
}

/* The extent in a place of the table of temperatures, likewise. */
bool
SsdTierDescribeExtent(uint32 number, uint32 *place, uint32 *extent)
{
	const tp_extent *slot = &SsdTier.core.extents->slots[number];
	tp_page		page = tp_page_of_key(slot->key);
	const SsdTierRelation *relation = relation_of_number(page.relation);

	*place = place_of(relation);
	*extent = page.block;
	return slot->saved > 0 && *place < SsdTier.max_relations &&
		relation->used && !relation->gone &&
		number_of(relation) == page.relation;
}

/*
 * The slot has this page, which nobody knows of yet.  Nothing happens if that
 * cannot be, as a damaged file may say.
 */
void
SsdTierRestorePage(uint32 slot, const RelFileLocator *locator,
				   BlockNumber block, pg_crc32c crc)
{
	SsdTierRelation *relation;

	SsdTierLock();
	relation = enter_relation(locator);
	if (slot < SsdTier.shared->slots && relation != NULL &&
		!tp_is_resident(&SsdTier.core.pool, slot) &&
		find_slot(relation, block) == TP_NONE)
	{
		tp_access	access = this_access();

		tp_tier_admit(&SsdTier.core, slot,
					  tp_page_make(number_of(relation), block), &access);
		show_slot(slot);
		SsdTier.slots[slot].crc = crc;
		pg_atomic_write_u32(&SsdTier.slots[slot].state, SSD_SLOT_VALID);
	}
	SsdTierUnlock();
}

void
SsdTierRestoreExtent(const RelFileLocator *locator, uint32 extent,
					 const tp_extent *values)
{
	SsdTierRelation *relation;
	tp_extents *extents = SsdTier.core.extents;

	SsdTierLock();
	relation = enter_relation(locator);
	if (relation != NULL)
		tp_extents_restore(extents,
						   tp_page_make(number_of(relation),
										extent * extents->settings.pages),
						   values);
	SsdTierUnlock();
}

/* Nothing is in flight any more: those who would end it are gone. */
void
SsdTierEndAll(void)
{
	for (uint32 slot = 0; slot < SsdTier.shared->slots; slot++)
	{
		uint32		state = state_of(slot);

		pg_atomic_write_u32(&SsdTier.slots[slot].state, state & SSD_SLOT_VALID);
		if (tp_is_resident(&SsdTier.core.pool, slot) &&
			(state & (SSD_SLOT_VALID | SSD_SLOT_BAD)) != SSD_SLOT_VALID)
			SsdTierFreeSlot(slot);
	}
	for (uint32 entry = 0; entry < SsdTier.max_entries; entry++)
		pg_atomic_write_u32(&SsdTier.entries[entry].state, SSD_ENTRY_FREE);
}

/*
 * Relations with an init fork are unlogged: recovery gives them another main
 * fork, without telling the storage manager.
 */
void
SsdTierForgetUnlogged(void)
{
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		SsdTierRelation *relation = &SsdTier.relations[i];

		if (relation->used && !relation->gone &&
			access(relpathperm(relation->locator, INIT_FORKNUM).str, F_OK) == 0)
			forget_relation(relation);
	}
}

/* No slot has a page; the relations that are not gone stay. */
void
SsdTierEmptyDirectory(void)
{
	SsdTier.shared->free_relation = TP_NONE;
	SsdTier.shared->gone = 0;
	SsdTier.shared->relation_hand = 0;
	SsdTier.shared->entry_hand = 0;
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
		SsdTier.relation_buckets[i] = TP_NONE;
	for (uint32 i = SsdTier.max_relations; i-- > 0;)
	{
		SsdTierRelation *relation = &SsdTier.relations[i];
		uint32	   *bucket = &SsdTier.relation_buckets[relation_bucket(&relation->locator)];

		relation->pages = 0;
		if (!relation->used || relation->gone)
		{
			free_relation(relation);
			continue;
		}
		relation->next = *bucket;
		*bucket = place_of(relation);
	}
	for (uint32 i = 0; i < SsdTier.capacity; i++)
	{
		pg_atomic_init_u32(&SsdTier.slots[i].state, 0);
		SsdTier.slots[i].next = TP_NONE;
		SsdTier.buckets[i] = TP_NONE;
	}
	memset(SsdTier.core.stale, 0, SsdTier.capacity);
	for (uint32 i = 0; i < SsdTier.max_entries; i++)
		pg_atomic_init_u32(&SsdTier.entries[i].state, SSD_ENTRY_FREE);
}

/* ---- for views ---- */

/* The relation in this place, or false. */
bool
SsdTierLookAtRelation(uint32 place, SsdTierRelation *relation)
{
	SsdTierLock();
	*relation = SsdTier.relations[place];
	SsdTierUnlock();
	return relation->used && !relation->gone;
}

/*
 * The extent in this place of the table of temperatures, or false if it has
 * none, or a relation that is not known any more.
 */
bool
SsdTierLookAtExtent(uint32 number, SsdTierExtentLook *look)
{
	const tp_extents *extents = SsdTier.core.extents;
	uint32		place;
	uint32		extent;
	bool		known;

	SsdTierLock();
	known = SsdTierDescribeExtent(number, &place, &extent);
	if (known)
	{
		const SsdTierRelation *relation = &SsdTier.relations[place];
		tp_page		page = tp_page_make(number_of(relation),
										extent * extents->settings.pages);

		look->locator = relation->locator;
		look->block = page.block;
		look->temperature = tp_extents_temperature(extents, page).saved;
		look->cached = 0;
		for (uint32 i = 0; i < extents->settings.pages; i++)
		{
			uint32		slot = find_slot(relation, page.block + i);

			look->cached += slot != TP_NONE && is_valid(slot);
		}
	}
	SsdTierUnlock();
	return known;
}

/* ---- verification ---- */

/* How often a slot is on its way from its bucket. */
static bool
is_shown(uint32 slot)
{
	uint32		seen = 0;

	for (uint32 other = *bucket_of(tp_page_of(&SsdTier.core.pool, slot));
		 other != TP_NONE; other = SsdTier.slots[other].next)
		seen += other == slot;
	return seen == 1;
}

/*
 * Check that the directory, the queue and the core's pool agree.  Holds the lock
 * throughout.  Returns the number of violations.
 */
int
SsdTierCheck(tp_report report, void *arg)
{
	uint32	   *pages = palloc0_array(uint32, SsdTier.max_relations);
	int			bad;

	SsdTierLock();
	bad = tp_tier_check(&SsdTier.core, report, arg);
	for (uint32 slot = 0; slot < SsdTier.shared->slots; slot++)
	{
		uint32		state = state_of(slot);

		if (!tp_is_resident(&SsdTier.core.pool, slot))
		{
			bad += tp_expect((state & SSD_SLOT_VALID) == 0,
							 "valid slot without a page", slot, report, arg);
			continue;
		}
		pages[relation_in(slot) - SsdTier.relations]++;
		bad += tp_expect(is_shown(slot), "page not in its bucket", slot, report, arg);
		bad += tp_expect((state & SSD_SLOT_VALID) != 0 ||
						 ((state & SSD_SLOT_QUEUED) != 0 &&
						  SsdTier.entries[SsdTier.slots[slot].entry].slot == slot),
						 "page neither valid nor queued", slot, report, arg);
	}
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		const SsdTierRelation *relation = &SsdTier.relations[i];

		bad += tp_expect(pages[i] == relation->pages, "wrong number of pages of a relation",
						 i, report, arg);
		bad += tp_expect(!relation->used || relation->gone ||
						 find_relation(&relation->locator) == relation,
						 "relation not in its bucket", i, report, arg);
	}
	SsdTierUnlock();
	pfree(pages);
	return bad;
}
