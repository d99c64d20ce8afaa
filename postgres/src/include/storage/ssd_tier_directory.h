/*-------------------------------------------------------------------------
 *
 * ssd_tier_directory.h
 *	  The directory of the SSD tier as its own files see it: relations.c,
 *	  choice.c, directory.c, upkeep.c, takeover.c, look.c.  All of this is called under the
 *	  tier's lock.
 *
 * src/include/storage/ssd_tier_directory.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SSD_TIER_DIRECTORY_H
#define SSD_TIER_DIRECTORY_H

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/ssd_tier_internals.h"

/* Slots, or relations, that are looked at in one hold of the lock. */
#define SLOTS_PER_HOLD 256

static inline uint32
relation_place(const SsdTierRelation *relation)
{
	return (uint32) (relation - SsdTier.relations);
}

/* Below 2^32, so that an extent's key tells its relation (tp_page_of_key). */
static inline uint32
relation_number(const SsdTierRelation *relation)
{
	return relation->incarnation << SSD_TIER_PLACE_BITS | relation_place(relation);
}

static inline SsdTierRelation *
relation_of_number(uint64 number)
{
	return &SsdTier.relations[number & ((1 << SSD_TIER_PLACE_BITS) - 1)];
}

static inline SsdTierRelation *
relation_in(uint32 slot)
{
	return relation_of_number(tp_page_of(&SsdTier.core.pool, slot).relation);
}

static inline uint32
slot_state(uint32 slot)
{
	return pg_atomic_read_u32(&SsdTier.slots[slot].state);
}

static inline uint32 *
slot_bucket(tp_page page)
{
	uint64		key = tp_page_key(page);

	return &SsdTier.buckets[((key >> 32) * SsdTier.capacity) >> 32];
}

/* Can the page be read from this slot? */
static inline bool
slot_is_valid(uint32 slot)
{
	return (slot_state(slot) & (SSD_SLOT_VALID | SSD_SLOT_BAD)) == SSD_SLOT_VALID;
}

/* May the slot be given to another page? */
static inline bool
slot_is_usable(void *arg, uint32 slot)
{
	return (slot_state(slot) & (SSD_SLOT_QUEUED | SSD_SLOT_PINS)) == 0;
}

static inline tp_access
this_access(void)
{
	tp_access	access = {.backend = MyProcNumber};

	if (SsdTier.core.pool.policy->flags & TP_USES_TIME)
		access.now = BufferPoolNow();
	return access;
}

/* relations.c */
extern uint32 SsdTierRelationBucket(const RelFileLocator *locator);
extern SsdTierRelation *SsdTierFindRelation(const RelFileLocator *locator);
extern SsdTierRelation *SsdTierEnterRelation(const RelFileLocator *locator);
extern void SsdTierFreePlace(SsdTierRelation *relation);
extern void SsdTierTellNumber(SsdTierRelation *relation);
extern void SsdTierLoseRelation(SsdTierRelation *relation);
extern SsdTierRelation *SsdTierRenewRelation(SsdTierRelation *relation);
extern void SsdTierSetChoice(SsdTierRelation *relation, SsdTierChoice choice);

/* choice.c */
extern SsdTierRelation *SsdTierFollowAsk(SsdTierRelation *relation,
										 const SsdTierAsk *ask);
extern bool SsdTierIsUnwanted(const SsdTierRelation *relation,
							  const SsdTierAsk *ask);

/* directory.c */
extern uint32 SsdTierFindSlot(const SsdTierRelation *relation,
							  BlockNumber block);
extern void SsdTierShowSlot(uint32 slot);
extern void SsdTierFreeUnrecorded(uint32 slot);

#endif							/* SSD_TIER_DIRECTORY_H */
