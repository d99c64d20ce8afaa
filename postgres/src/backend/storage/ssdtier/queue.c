/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  The queue of pages on their way to the SSD.
 *
 * An entry is reserved under the tier's lock, when a page is admitted or is
 * about to be written to the disk.  Whoever completes the read from the disk
 * copies the page into the entry's buffer, without the lock.  So does whoever
 * writes it.  The writer takes such an entry, writes the page, and tells the
 * directory that the slot can be read.
 *
 *	  FREE -> FILLING -> READY -> WRITING -> FREE
 *				 |                    |
 *				 +----> FAILED -------+
 *
 * If no entry is free, the page of the coldest extent loses its place, among
 * some of those that are ready and the newcomer.
 *
 * src/backend/storage/ssdtier/queue.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_recorder.h"
#include "storage/ssd_tier_internals.h"

static SsdTierEntryState
state_of(uint32 entry)
{
	return (SsdTierEntryState) pg_atomic_read_u32(&SsdTier.entries[entry].state);
}

static void
set_state(uint32 entry, SsdTierEntryState state)
{
	pg_atomic_write_u32(&SsdTier.entries[entry].state, state);
}

static tp_temperature
temperature_of(uint32 slot)
{
	return tp_extents_temperature(SsdTier.core.extents,
								  tp_page_of(&SsdTier.core.pool, slot));
}

/* ---- under the lock ---- */

/* The entry is done with. */
static void
free_entry(uint32 entry)
{
	SsdTier.entries[entry].next = SsdTier.shared->free_entry;
	SsdTier.shared->free_entry = entry;
	set_state(entry, SSD_ENTRY_FREE);
}

/* A free entry, or TP_NONE. */
static uint32
take_free_entry(void)
{
	uint32		entry = SsdTier.shared->free_entry;

	if (entry != TP_NONE)
		SsdTier.shared->free_entry = SsdTier.entries[entry].next;
	return entry;
}

/*
 * Entries that are looked at for a colder page.  Chosen, not measured: among so
 * many is one of the coldest tenth in 97 of 100 cases, and to look at all of a
 * queue of thousands for each page of a read would keep the lock from others.
 */
#define LOOKS 32

/*
 * A ready entry whose page is colder than that in the slot: the coldest of some.
 */
static uint32
colder_entry(uint32 slot)
{
	tp_temperature coldest = temperature_of(slot);
	uint32	   *hand = &SsdTier.shared->entry_hand;
	uint32		found = TP_NONE;

	for (uint32 looks = 0; looks < Min(LOOKS, SsdTier.max_entries); looks++)
	{
		uint32		entry = *hand;
		tp_temperature here;

		*hand = entry + 1 < SsdTier.max_entries ? entry + 1 : 0;
		if (state_of(entry) != SSD_ENTRY_READY || SsdTier.entries[entry].cancelled)
			continue;
		here = temperature_of(SsdTier.entries[entry].slot);
		if (tp_colder(here, coldest))
		{
			coldest = here;
			found = entry;
		}
	}
	return found;
}

/*
 * An entry for the page that is to come to this slot, which becomes QUEUED; or
 * TP_NONE, and the caller frees the slot.
 */
uint32
SsdTierReserveEntry(uint32 slot, const RelFileLocator *locator,
					BlockNumber block)
{
	uint32		entry = take_free_entry();

	if (entry == TP_NONE)
	{
		entry = colder_entry(slot);
		SsdTierCount(SSD_TIER_DROPPED, 1);
		if (entry == TP_NONE)
			return TP_NONE;
		SsdTierFreeSlot(SsdTier.entries[entry].slot);	/* and the entry */
		entry = take_free_entry();
	}
	SsdTier.entries[entry].slot = slot;
	SsdTier.entries[entry].cancelled = false;
	SsdTier.entries[entry].locator = *locator;
	SsdTier.entries[entry].block = block;
	set_state(entry, SSD_ENTRY_FILLING);
	SsdTier.slots[slot].entry = entry;
	pg_atomic_fetch_or_u32(&SsdTier.slots[slot].state, SSD_SLOT_QUEUED);
	return entry;
}

/*
 * The page that is on its way to this slot shall not get there.  The slot stays
 * QUEUED, so that it is not given to another page, until the entry is done
 * with; at once if it was ready.
 */
void
SsdTierCancelEntry(uint32 slot)
{
	uint32		entry = SsdTier.slots[slot].entry;

	Assert(SsdTier.entries[entry].slot == slot);
	SsdTier.entries[entry].cancelled = true;
	if (state_of(entry) == SSD_ENTRY_READY)
	{
		pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state, ~SSD_SLOT_QUEUED);
		free_entry(entry);
	}
}

/* All entries are free.  Nobody uses the queue. */
void
SsdTierEmptyQueue(void)
{
	SsdTier.shared->free_entry = TP_NONE;
	SsdTier.shared->entry_hand = 0;
	for (uint32 entry = SsdTier.max_entries; entry-- > 0;)
	{
		pg_atomic_init_u32(&SsdTier.entries[entry].state, SSD_ENTRY_FREE);
		free_entry(entry);
	}
}

/* Is there nothing to write for the entry? */
static bool
is_void(uint32 entry)
{
	return state_of(entry) == SSD_ENTRY_FAILED ||
		(state_of(entry) == SSD_ENTRY_READY && SsdTier.entries[entry].cancelled);
}

/* The entry's page will not be written. */
static void
give_up(uint32 entry)
{
	uint32		slot = SsdTier.entries[entry].slot;

	pg_atomic_fetch_and_u32(&SsdTier.slots[slot].state, ~SSD_SLOT_QUEUED);
	if (!SsdTier.entries[entry].cancelled)
		SsdTierFreeSlot(slot);
	free_entry(entry);
}

/* ---- without the lock ---- */

/* Is an entry free?  A guess. */
bool
SsdTierQueueHasRoom(void)
{
	return SsdTier.shared->free_entry != TP_NONE;
}

/*
 * The page is in the entry's buffer, or will not come.  Callable in critical
 * sections and in any process.
 */
void
SsdTierEntryFilled(uint32 entry, bool filled)
{
	pg_write_barrier();
	set_state(entry, filled ? SSD_ENTRY_READY : SSD_ENTRY_FAILED);
	if (!filled)
		SsdTierCount(SSD_TIER_FAILED, 1);
	SsdTierWakeWriter();
}

/* ---- the writer ---- */

/*
 * The next entry to be written, from *hand on: the writer's.  TP_NONE: there is
 * none.
 */
uint32
SsdTierTakeEntry(uint32 *hand)
{
	for (uint32 looks = 0; looks < SsdTier.max_entries; looks++)
	{
		uint32		entry = *hand;
		bool		taken = false;

		*hand = entry + 1 < SsdTier.max_entries ? entry + 1 : 0;
		if (state_of(entry) != SSD_ENTRY_READY && state_of(entry) != SSD_ENTRY_FAILED)
			continue;
		SsdTierLock();
		if (is_void(entry))
			give_up(entry);
		else if (state_of(entry) == SSD_ENTRY_READY)
		{
			set_state(entry, SSD_ENTRY_WRITING);
			taken = true;
		}
		SsdTierUnlock();
		if (taken)
			return entry;
	}
	return TP_NONE;
}

/*
 * Free the slots that wait for entries of which nothing will be written.  The
 * others stay in the queue.
 */
void
SsdTierDropVoidEntries(void)
{
	for (uint32 entry = 0; entry < SsdTier.max_entries; entry++)
	{
		if (!is_void(entry))
			continue;
		SsdTierLock();
		if (is_void(entry))
			give_up(entry);
		SsdTierUnlock();
	}
}

/* The writer has written the entry's page, or failed to. */
void
SsdTierEntryWritten(uint32 entry, bool written, pg_crc32c crc)
{
	SsdTierSlot *slot = &SsdTier.slots[SsdTier.entries[entry].slot];

	SsdTierLock();
	if (written && !SsdTier.entries[entry].cancelled)
	{
		if (BufferPoolRecording())
			(void) BufferPoolRecordBelow(RECORD_SSD_HAS, 0,
										 &SsdTier.entries[entry].locator,
										 MAIN_FORKNUM,
										 SsdTier.entries[entry].block, 1);
		slot->crc = crc;
		pg_atomic_fetch_and_u32(&slot->state, ~SSD_SLOT_QUEUED);
		pg_atomic_fetch_or_u32(&slot->state, SSD_SLOT_VALID);
		free_entry(entry);
	}
	else
		give_up(entry);
	SsdTierUnlock();
}
