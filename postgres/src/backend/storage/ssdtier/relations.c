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
			.used = true
	};
	*bucket = relation_place(relation);
	return relation;
}

/* The relation's pages cease to exist. */
void
SsdTierLoseRelation(SsdTierRelation *relation)
{
	hide_relation(relation);
	SsdTierCount(SSD_TIER_INVALIDATED, relation->pages);
	if (relation->pages == 0)
		SsdTierFreePlace(relation);
	else
	{
		relation->gone = true;
		SsdTier.shared->gone++;
	}
}
