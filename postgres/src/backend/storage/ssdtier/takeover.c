/*-------------------------------------------------------------------------
 *
 * takeover.c
 *	  The directory of the SSD tier from one server to the next: what saved.c
 *	  saves of it, and puts back.
 *
 * The functions that describe are also called by views, under the lock.  The others
 * are called while nobody else uses the tier, or take it.
 *
 * src/backend/storage/ssdtier/takeover.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "common/relpath.h"
#include "storage/ssd_tier_directory.h"

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

	*place = relation_place(relation);
	*block = page.block;
	*crc = SsdTier.slots[slot].crc;
	return slot_is_valid(slot) && *place < SsdTier.max_relations &&
		relation->used && !relation->gone;
}

/* The extent in a place of the table of temperatures, likewise. */
bool
SsdTierDescribeExtent(uint32 number, uint32 *place, uint32 *extent)
{
	const tp_extent *slot = &SsdTier.core.extents->slots[number];
	tp_page		page = tp_page_of_key(slot->key);
	const SsdTierRelation *relation = relation_of_number(page.relation);

	*place = relation_place(relation);
	*extent = page.block;
	return slot->saved > 0 && *place < SsdTier.max_relations &&
		relation->used && !relation->gone &&
		relation_number(relation) == page.relation;
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
	relation = SsdTierEnterRelation(locator);
	if (slot < SsdTier.shared->slots && relation != NULL &&
		!tp_is_resident(&SsdTier.core.pool, slot) &&
		SsdTierFindSlot(relation, block) == TP_NONE)
	{
		tp_access	access = this_access();

		tp_tier_adopt(&SsdTier.core, slot,
					  tp_page_make(relation_number(relation), block), &access);
		SsdTierShowSlot(slot);
		SsdTier.slots[slot].crc = crc;
		pg_atomic_write_u32(&SsdTier.slots[slot].state, SSD_SLOT_VALID);
	}
	SsdTierUnlock();
}

/* What the relation itself has chosen; before its pages. */
void
SsdTierRestoreChoice(const RelFileLocator *locator, SsdTierChoice choice)
{
	SsdTierRelation *relation;

	SsdTierLock();
	relation = SsdTierEnterRelation(locator);
	if (relation != NULL)
	{
		SsdTierSetChoice(relation, choice);
		relation->own = true;
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
	relation = SsdTierEnterRelation(locator);
	if (relation != NULL)
		tp_extents_restore(extents,
						   tp_page_make(relation_number(relation),
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
		uint32		state = slot_state(slot);

		pg_atomic_write_u32(&SsdTier.slots[slot].state, state & SSD_SLOT_VALID);
		if (tp_is_resident(&SsdTier.core.pool, slot) &&
			(state & (SSD_SLOT_VALID | SSD_SLOT_BAD)) != SSD_SLOT_VALID)
			SsdTierFreeSlot(slot);
	}
	SsdTierEmptyQueue();
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
			SsdTierLoseRelation(relation);
	}
}

/* No slot has a page; the relations that are not gone stay. */
void
SsdTierEmptyDirectory(void)
{
	SsdTier.shared->free_relation = TP_NONE;
	SsdTier.shared->gone = 0;
	SsdTier.shared->relation_hand = 0;
	SsdTier.shared->kept.frames = 0;
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
		SsdTier.relation_buckets[i] = TP_NONE;
	for (uint32 i = SsdTier.max_relations; i-- > 0;)
	{
		SsdTierRelation *relation = &SsdTier.relations[i];
		uint32	   *bucket = &SsdTier.relation_buckets[SsdTierRelationBucket(&relation->locator)];

		relation->pages = 0;
		if (!relation->used || relation->gone)
		{
			SsdTierFreePlace(relation);
			continue;
		}
		relation->next = *bucket;
		*bucket = relation_place(relation);
	}
	for (uint32 i = 0; i < SsdTier.capacity; i++)
	{
		pg_atomic_init_u32(&SsdTier.slots[i].state, 0);
		SsdTier.slots[i].next = TP_NONE;
		SsdTier.buckets[i] = TP_NONE;
	}
	memset(SsdTier.core.stale, 0, SsdTier.capacity);
	SsdTierEmptyQueue();
}
