/*-------------------------------------------------------------------------
 *
 * directory.c
 *	  Which pages are on the SSD, and which shall be.
 *
 * A page is found by its relation and block (relations.c).  The core's node of a
 * slot has the relation's number and the block, so nothing is found by a hash
 * alone.
 *
 * What happens to pages is recorded here (docs/trace-format.md), under the lock.
 *
 * All functions take the tier's lock, except the static ones and those of
 * ssd_tier_directory.h, which are called under it.  None allocates or raises
 * errors: truncation happens in critical sections.
 *
 * src/backend/storage/ssdtier/directory.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_recorder.h"
#include "storage/ssd_tier_directory.h"

/*
 * Blocks that are looked up one by one when they are truncated.  If there are
 * more, the whole relation is forgotten: a tenth of a millisecond is long enough
 * to hold the lock.
 */
#define MAX_BLOCKS_FORGOTTEN 2048

/* ---- slots ---- */

/* The page, which the core knows to be in this slot, can be found. */
void
SsdTierShowSlot(uint32 slot)
{
	uint32	   *bucket = slot_bucket(tp_page_of(&SsdTier.core.pool, slot));

	SsdTier.slots[slot].next = *bucket;
	*bucket = slot;
	relation_in(slot)->pages++;
}

/* It cannot be found any more. */
static void
hide_slot(uint32 slot)
{
	uint32	   *link = slot_bucket(tp_page_of(&SsdTier.core.pool, slot));
	SsdTierRelation *relation = relation_in(slot);

	/* a segment that a crash has left may lack it */
	while (*link != slot && *link != TP_NONE)
		link = &SsdTier.slots[*link].next;
	if (*link == slot)
		*link = SsdTier.slots[slot].next;
	pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state,
							~(SSD_SLOT_VALID | SSD_SLOT_BAD));
	if (--relation->pages == 0 && relation->gone)
	{
		SsdTier.shared->gone--;
		SsdTierFreePlace(relation);
	}
}

/*
 * The page leaves the slot.  If it is being read from there, or is on its way
 * to it, the slot is not given to another page until that has ended.
 */
void
SsdTierFreeUnrecorded(uint32 slot)
{
	hide_slot(slot);
	if (slot_state(slot) & SSD_SLOT_QUEUED)
		SsdTierCancelEntry(slot);
	tp_tier_forget(&SsdTier.core, slot);
}

/* The same, recorded. */
void
SsdTierFreeSlot(uint32 slot)
{
	if (BufferPoolRecording())
		(void) BufferPoolRecordBelow(RECORD_SSD_LOST, 0,
									 &relation_in(slot)->locator, MAIN_FORKNUM,
									 tp_page_of(&SsdTier.core.pool, slot).block, 1);
	SsdTierFreeUnrecorded(slot);
}

/* The page's slot, or TP_NONE.  A slot that cannot be read is freed. */
uint32
SsdTierFindSlot(const SsdTierRelation *relation, BlockNumber block)
{
	tp_page		page = tp_page_make(relation_number(relation), block);
	uint32		slot = *slot_bucket(page);

	while (slot != TP_NONE &&
		   !tp_page_equal(tp_page_of(&SsdTier.core.pool, slot), page))
		slot = SsdTier.slots[slot].next;
	if (slot != TP_NONE && (slot_state(slot) & SSD_SLOT_BAD))
	{
		SsdTierFreeSlot(slot);
		return TP_NONE;
	}
	return slot;
}

/* ---- reads ---- */

/* A read, which is recorded; a replay goes by the same time. */
static tp_access
this_read(SsdTierRelation *relation, BlockNumber block, int nblocks,
		  bool hit, bool unwanted)
{
	tp_access	access = this_access();
	uint32		flags = RECORD_SSD_ASKED | (hit ? RECORD_HIT : 0) |
		(relation->choice == SSD_TIER_KEEP ? RECORD_SSD_KEPT : 0) |
		(unwanted ? RECORD_SSD_UNWANTED : 0);

	if (BufferPoolRecording())
	{
		SsdTierTellNumber(relation);
		access.now = BufferPoolRecordBelow(RECORD_PHYSICAL_READ, flags,
										   &relation->locator, MAIN_FORKNUM,
										   block, nblocks);
	}
	return access;
}

/*
 * Pages that the disk reads on through, rather than being asked again behind
 * them: as many as it reads in the time of a seek, less one.
 */
static uint32
longest_gap(void)
{
	double		seek = SsdTierReadTime(SSD_TIER_COST_DISK_RANDOM);
	double		page = SsdTierReadTime(SSD_TIER_COST_DISK_SEQUENTIAL);

	return seek > page && page > 0 ? (uint32) Min(seek / page, MAX_IO_COMBINE_LIMIT) - 1 : 0;
}

/*
 * How many blocks from this one on are to be read at once: at least 1, at most
 * nblocks.  *hit: all from consecutive slots.  Else all from the disk, from the
 * first that is not on the SSD to the last; what the SSD has between them it need
 * not give, since the disk's arm passes over that anyhow, and where others use
 * the disk, too, each part of a divided read takes a seek of its own.  (Do et
 * al., Turbocharging DBMS buffer pool using SSDs, SIGMOD 2011, trim reads of
 * several pages likewise.)
 */
static uint32
run_of(const SsdTierRelation *relation, BlockNumber block, uint32 nblocks,
	   bool *hit)
{
	uint32		first = SsdTierFindSlot(relation, block);
	uint32		run = 1;		/* up to the last block of the kind */
	uint32		gap = 0;

	*hit = first != TP_NONE && slot_is_valid(first);
	if (!*hit)
		gap = longest_gap();
	for (uint32 i = 1; i < nblocks && i - run <= gap; i++)
	{
		uint32		slot = SsdTierFindSlot(relation, block + i);
		bool		valid = slot != TP_NONE && slot_is_valid(slot);

		if (valid == *hit && (!valid || slot == first + i))
			run = i + 1;
		else if (*hit)
			break;
	}
	return run;
}

/* The blocks will be read from consecutive slots. */
static void
begin_hit(SsdTierRelation *relation, BlockNumber block, int nblocks,
		  const tp_access *access, SsdTierRead *read)
{
	const tp_extents *extents = SsdTier.core.extents;

	read->slot = SsdTierFindSlot(relation, block);
	relation->hits += nblocks;
	for (int i = 0; i < nblocks; i++)
	{
		uint64		sequential = extents->sequential;

		tp_tier_read(&SsdTier.core, tp_page_make(relation_number(relation), block + i),
					 read->slot + i, access);
		SsdTier.shared->saved_time += extents->sequential > sequential ?
			extents->settings.sequential_saving :
			extents->settings.random_saving;
		pg_atomic_fetch_add_u32(&SsdTier.slots[read->slot + i].state, 1);
	}
}

/*
 * May the slot be given to another page?  A replay knows by itself of pages on
 * their way, unless they have lost their places meanwhile.
 */
static bool
can_make_room(void *arg, uint32 slot)
{
	if (slot_is_usable(arg, slot))
		return true;
	if (BufferPoolRecording() &&
		!((slot_state(slot) & SSD_SLOT_QUEUED) &&
		  tp_is_resident(&SsdTier.core.pool, slot) && !relation_in(slot)->gone))
		BufferPoolRecordPlace(RECORD_SSD_BUSY, slot);
	return false;
}

/*
 * The page comes in from the disk.  Returns the entry of the queue that is
 * waiting for it, or TP_NONE.
 */
static uint32
begin_miss(SsdTierRelation *relation, BlockNumber block,
		   const tp_access *access)
{
	tp_access	offer = *access;
	tp_page		page = tp_page_make(relation_number(relation), block);
	uint32		slot = SsdTierFindSlot(relation, block);
	uint32		entry;

	tp_tier_read(&SsdTier.core, page, TP_NONE, access);
	if (slot != TP_NONE || !SsdTierIsUseful())
	{
		SsdTierCount(SSD_TIER_PASSED_BY, 1);
		return TP_NONE;
	}
	if (relation->choice == SSD_TIER_KEEP)
		offer.flags |= TP_KEEP;
	slot = tp_tier_offer(&SsdTier.core, page, can_make_room, NULL, &offer);
	if (!tp_is_frame(slot))
	{
		SsdTierCount(SSD_TIER_REFUSED_NO_SLOT, slot == TP_NONE);
		return TP_NONE;
	}
	if (tp_is_resident(&SsdTier.core.pool, slot))
	{
		hide_slot(slot);
		tp_tier_evict(&SsdTier.core, slot, &offer);
	}
	tp_tier_admit(&SsdTier.core, slot, page, &offer);
	SsdTierShowSlot(slot);
	entry = SsdTierReserveEntry(slot, &relation->locator, block);
	if (entry == TP_NONE)
		SsdTierFreeSlot(slot);
	return entry;
}

/*
 * Which cost a read of these blocks from the disk is an example of.  A single
 * block may be taken for sequential because it is near others, and still makes
 * the disk seek.  So does a scan that goes on where the SSD's part of it ends.
 * Both are no example of what a scan takes, and no random reads either.
 */
static SsdTierCost
cost_of(const SsdTierRelation *relation, BlockNumber block, int nblocks,
		bool sequential)
{
	if (!sequential)
		return SSD_TIER_COST_DISK_RANDOM;
	if (nblocks == 1 || (block > 0 && SsdTierFindSlot(relation, block - 1) != TP_NONE))
		return SSD_TIER_NUM_COSTS;
	return SSD_TIER_COST_DISK_SEQUENTIAL;
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
SsdTierBeginRead(const SsdTierAsk *ask, const RelFileLocator *locator,
				 BlockNumber block, int nblocks, SsdTierRead *read)
{
	SsdTierRelation *relation;

	read->hit = false;
	read->cost = SSD_TIER_NUM_COSTS;
	for (int i = 0; i < nblocks; i++)
		read->entries[i] = TP_NONE;
	SsdTierLock();
	relation = SsdTierEnterRelation(locator);
	if (relation != NULL)
		relation = SsdTierFollowAsk(relation, ask);
	if (is_on_and_known(relation, nblocks))
	{
		bool		hit;
		bool		all = run_of(relation, block, nblocks, &hit) == nblocks;
		bool		unwanted = SsdTierIsUnwanted(relation, ask);
		tp_access	access;

		relation->reads += nblocks;
		read->hit = all && hit;
		access = this_read(relation, block, nblocks, read->hit, unwanted);
		SsdTierFollowTime(access.now);
		if (read->hit)
			begin_hit(relation, block, nblocks, &access, read);
		else if (unwanted)
			SsdTierCount(SSD_TIER_REFUSED_BY_CHOICE, nblocks);
		else
			for (int i = 0; i < nblocks; i++)
			{
				uint64		sequential = SsdTier.core.extents->sequential;

				read->entries[i] = begin_miss(relation, block + i, &access);
				if (i == 0)
					read->cost = cost_of(relation, block, nblocks,
										 SsdTier.core.extents->sequential > sequential);
			}
	}
	else if (BufferPoolRecording())
		(void) BufferPoolRecordBelow(RECORD_PHYSICAL_READ, 0, locator,
									 MAIN_FORKNUM, block, nblocks);
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
	relation = SsdTierFindRelation(locator);
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
	uint64		recorded = 0;

	SsdTierLock();
	if (BufferPoolRecording())
		recorded = BufferPoolRecordBelow(RECORD_PHYSICAL_WRITE, 0, locator,
										 MAIN_FORKNUM, block, 1);
	relation = SsdTierFindRelation(locator);
	slot = relation == NULL ? TP_NONE : SsdTierFindSlot(relation, block);
	if (slot != TP_NONE)
	{
		pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state, ~SSD_SLOT_VALID);
		if (slot_state(slot) & SSD_SLOT_QUEUED)
			SsdTierCancelEntry(slot);
		SsdTierFollowTime(recorded);
		if (slot_is_usable(NULL, slot) && (SsdTierIsOn() || SsdTierIsWarming()) &&
			tp_tier_renews(&SsdTier.core, slot))
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
	relation = SsdTierFindRelation(locator);
	if (relation != NULL)
		SsdTierLoseRelation(relation);
	SsdTierUnlock();
}

/* The blocks do not exist any more, or are about to be made. */
void
SsdTierForgetBlocks(const RelFileLocator *locator, BlockNumber block,
					BlockNumber nblocks)
{
	SsdTierRelation *relation;

	SsdTierLock();
	relation = SsdTierFindRelation(locator);
	if (relation != NULL && relation->pages > 0)
	{
		if (nblocks > MAX_BLOCKS_FORGOTTEN)
			(void) SsdTierRenewRelation(relation);
		else
			for (BlockNumber i = 0; i < nblocks; i++)
			{
				uint32		slot = SsdTierFindSlot(relation, block + i);

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
	for (uint32 i = 0; i < SsdTier.max_relations;)
	{
		SsdTierLock();
		for (int held = 0; held < SLOTS_PER_HOLD && i < SsdTier.max_relations;
			 held++, i++)
		{
			SsdTierRelation *relation = &SsdTier.relations[i];

			if (relation->used && !relation->gone &&
				relation->locator.dbOid == database)
				SsdTierLoseRelation(relation);
		}
		SsdTierUnlock();
	}
}
