/*-------------------------------------------------------------------------
 *
 * upkeep.c
 *	  What the SSD tier's writer does to the directory: it frees the slots of
 *	  relations that are gone, empties the tier, and gives it another size.
 *
 * Each looks at some slots in one hold of the lock, and goes on in the next.
 *
 * src/backend/storage/ssdtier/upkeep.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_recorder.h"
#include "storage/ssd_tier_directory.h"

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
			{
				if (BufferPoolRecording())
					BufferPoolRecordPlace(RECORD_SSD_FREED, hand);
				SsdTierFreeUnrecorded(hand);
			}
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
				SsdTierFreeUnrecorded(slot);
			quiet = quiet && slot_is_usable(NULL, slot);
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
		SsdTierFreeUnrecorded(slot);
	if (!slot_is_usable(NULL, slot))
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
		SsdTierRecordState(false);
		SsdTierUnlock();
	}
	return !stuck;
}
