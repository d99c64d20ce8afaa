/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  The relations of the SSD tier.
 *
 * A relation has a place in a table, which knows its full identity.  Its number
 * is the place, and how many relations have been there, so that the temperatures
 * of one are seldom taken for another's.
 *
 * A relation that is dropped cannot be found any more; that takes no time.  Its
 * slots are freed later, by the writer's sweep.
 *
 * All functions are called under the tier's lock.
 *
 * src/backend/storage/ssdtier/relations.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "storage/bufferpool_recorder.h"
#include "storage/ssd_tier_directory.h"

uint32
SsdTierRelationBucket(const RelFileLocator *locator)
{
	uint32		hash = murmurhash32(locator->relNumber ^
									murmurhash32(locator->dbOid ^
												 pg_rotate_left32(locator->spcOid, 16)));

	return (uint32) (((uint64) hash * SsdTier.max_relations) >> 32);
}

SsdTierRelation *
SsdTierFindRelation(const RelFileLocator *locator)
{
	uint32		place = SsdTier.relation_buckets[SsdTierRelationBucket(locator)];

	while (place != TP_NONE &&
		   !RelFileLocatorEquals(SsdTier.relations[place].locator, *locator))
		place = SsdTier.relations[place].next;
	return place == TP_NONE ? NULL : &SsdTier.relations[place];
}

/* It cannot be found any more. */
static void
hide_relation(SsdTierRelation *relation)
{
	uint32	   *link = &SsdTier.relation_buckets[SsdTierRelationBucket(&relation->locator)];

	while (*link != relation_place(relation))
		link = &SsdTier.relations[*link].next;
	*link = relation->next;
}

/* A relation that cannot be found and has no slots: its place is free. */
void
SsdTierFreePlace(SsdTierRelation *relation)
{
	Assert(relation->pages == 0);
	relation->used = relation->gone = false;
	relation->next = SsdTier.shared->free_relation;
	SsdTier.shared->free_relation = relation_place(relation);
}

/*
 * The next place of a relation that has no pages on the SSD, seen by a hand
 * that goes round.  Those whose choice would be forgotten come last.
 */
static SsdTierRelation *
idle_relation(void)
{
	uint32	   *hand = &SsdTier.shared->relation_hand;
	SsdTierRelation *found = NULL;

	for (int looks = 0; looks < SLOTS_PER_HOLD; looks++)
	{
		SsdTierRelation *relation = &SsdTier.relations[*hand];

		*hand = *hand + 1 < SsdTier.max_relations ? *hand + 1 : 0;
		if (!relation->used || relation->gone || relation->pages > 0)
			continue;
		found = relation;
		if (!relation->own)
			break;
	}
	return found;
}

/* The relation's place; if it has none, a free one, or NULL. */
SsdTierRelation *
SsdTierEnterRelation(const RelFileLocator *locator)
{
	SsdTierRelation *relation = SsdTierFindRelation(locator);
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
		SsdTierFreePlace(relation);
	}
	relation = &SsdTier.relations[SsdTier.shared->free_relation];
	SsdTier.shared->free_relation = relation->next;
	incarnation = relation->incarnation + 1;
	bucket = &SsdTier.relation_buckets[SsdTierRelationBucket(locator)];
	*relation = (SsdTierRelation)
	{
		.locator = *locator, .next = *bucket, .incarnation = incarnation,
			.used = true, .choice = SSD_TIER_AUTO
	};
	*bucket = relation_place(relation);
	return relation;
}

/*
 * Record the relation's number, by which its pages are known to the algorithm and
 * hashed for its tables, before anything else that a recording has of it.
 */
void
SsdTierTellNumber(SsdTierRelation *relation)
{
	uint32		recording = BufferPoolRecordingSerial();

	if (relation->told != recording)
		(void) BufferPoolRecordBelow(RECORD_SSD_RELATION, 0, &relation->locator,
									 MAIN_FORKNUM, relation_number(relation), 0);
	relation->told = recording;
}

/* The relation's pages cease to exist. */
void
SsdTierLoseRelation(SsdTierRelation *relation)
{
	if (BufferPoolRecording() && relation->pages > 0)
		(void) BufferPoolRecordBelow(RECORD_SSD_LOST, 0, &relation->locator,
									 MAIN_FORKNUM, 0, 0);
	hide_relation(relation);
	SsdTierSetChoice(relation, SSD_TIER_AUTO);
	SsdTierCount(SSD_TIER_INVALIDATED, relation->pages);
	if (relation->pages == 0)
		SsdTierFreePlace(relation);
	else
	{
		relation->gone = true;
		SsdTier.shared->gone++;
	}
}

/*
 * The relation's pages cease to exist, and it does not: it gets another place,
 * or none (NULL).
 */
SsdTierRelation *
SsdTierRenewRelation(SsdTierRelation *relation)
{
	SsdTierRelation old = *relation;

	SsdTierLoseRelation(relation);
	relation = SsdTierEnterRelation(&old.locator);
	if (relation != NULL)
	{
		relation->choice = old.choice;
		relation->own = old.own;
		relation->chosen = old.chosen;
		relation->reads = old.reads;
		relation->hits = old.hits;
	}
	return relation;
}

/*
 * Its pages count as kept, or do not, from now on.  A recording says so by a read of
 * no blocks.
 */
void
SsdTierSetChoice(SsdTierRelation *relation, SsdTierChoice choice)
{
	bool		keep = choice == SSD_TIER_KEEP;

	if (BufferPoolRecording() && keep != (relation->choice == SSD_TIER_KEEP))
	{
		SsdTierTellNumber(relation);
		(void) BufferPoolRecordBelow(RECORD_PHYSICAL_READ,
									 RECORD_SSD_ASKED | (keep ? RECORD_SSD_KEPT : 0),
									 &relation->locator, MAIN_FORKNUM, 0, 0);
	}
	if (relation->choice == SSD_TIER_KEEP)
		tp_tier_keep(&SsdTier.core, -(int64) relation->pages);
	relation->choice = choice;
	if (relation->choice == SSD_TIER_KEEP)
		tp_tier_keep(&SsdTier.core, relation->pages);
}
