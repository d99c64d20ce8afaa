/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  The background worker that writes pages to the SSD, and looks after the
 *	  tier: switches it on and off, gives it another size, frees the slots of
 *	  relations that are gone.
 *
 * It touches no relation's file and no catalog, so it needs shared memory only.
 * It runs from the start of the postmaster on: recovery reads pages as well.
 *
 * src/backend/storage/ssdtier/writer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/ssd_tier_internals.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/*
 * Between two looks if nothing wakes the writer.  Chosen, not measured: costs
 * are followed, errors forgiven and settings applied no later than this.
 */
#define NAP_MILLISECONDS 1000

/* Between two attempts to do what others hinder. */
#define RETRY_MILLISECONDS 10

/* Slots that a sweep looks at between two looks at the queue. */
#define SWEPT_AT_A_TIME 4096

/* Pages written between two looks at all else.  Chosen, not measured. */
#define WRITTEN_AT_A_TIME 64

void
SsdTierWakeWriter(void)
{
	uint32		writer = pg_atomic_read_u32(&SsdTier.shared->writer);

	if (writer != (uint32) INVALID_PROC_NUMBER)
		SetLatch(&GetPGProcByNumber(writer)->procLatch);
}

static void
forget_writer(int code, Datum arg)
{
	pg_atomic_write_u32(&SsdTier.shared->writer, (uint32) INVALID_PROC_NUMBER);
}

/* ---- the queue ---- */

static void
write_entry(uint32 entry)
{
	const SsdTierEntry *this = &SsdTier.entries[entry];
	const char *page = SsdTierEntryPage(entry);
	bool		failed_checksum;
	pg_crc32c	crc = 0;
	bool		written = false;

	/* what the disk gave may be damaged: then the next read may be better */
	if (SsdTierIsOn() &&
		PageIsVerified((PageData *) page, this->block, 0, &failed_checksum))
	{
		crc = SsdTierChecksum(page, &this->locator, this->block);
		written = SsdTierWriteSlot(this->slot, page);
		if (written)
			SsdTierCount(SSD_TIER_WRITTEN, 1);
	}
	SsdTierEntryWritten(entry, written, crc);
}

/*
 * Write so many pages of the queue, or all.  Also called by the checkpointer at
 * shutdown.  Returns whether there may be more.
 */
bool
SsdTierWriteQueue(int most)
{
	static uint32 hand;

	for (int i = 0; i < most; i++)
	{
		uint32		entry = SsdTierTakeEntry(&hand);

		if (entry == TP_NONE)
			return false;
		write_entry(entry);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

#define PATIENCE_MILLISECONDS 1000

/*
 * Called before a page is written to the disk.  The checkpointer and others who
 * write many pages write one from the queue first if it is full: otherwise most of
 * their pages would lose their places.  One, because a query may wait for the page
 * that is about to be written.  While the writer has not yet switched the tier on
 * that has its pages from before the start, they wait for it,
 * PATIENCE_MILLISECONDS in all.
 */
void
SsdTierMakeRoom(void)
{
	static uint32 hand;
	static int	waited;
	uint32		entry;

	if (!AmCheckpointerProcess() && !AmBackgroundWriterProcess() &&
		!AmStartupProcess())
		return;
	for (; SsdTierIsWarming() && !SsdTierQueueHasRoom() &&
		 waited < PATIENCE_MILLISECONDS; waited++)
		pg_usleep(1000);
	if (SsdTierIsOn() && !SsdTierQueueHasRoom() &&
		(entry = SsdTierTakeEntry(&hand)) != TP_NONE)
		write_entry(entry);
}

/* ---- on and off ---- */

static uint32
wanted_slots(void)
{
	return Min((uint32) ssd_tier_size, SsdTier.capacity);
}

/* If that is wanted.  The tier is empty then.  Returns false if it is in use. */
static bool
begin_anew(void)
{
	if (!SsdTier.shared->anew)
		return true;
	if (!SsdTierEmpty())
		return false;
	SsdTierBeginAnew();
	SsdTier.shared->anew = false;
	return true;
}

/*
 * Begin with a file, and with the slots empty unless they are of that file.
 * Returns false if some are in use still.
 */
static bool
switch_on(void)
{
	SsdTierShared *shared = SsdTier.shared;
	uint32		slots = wanted_slots();
	bool		shrinks = slots < shared->slots;

	if (!SsdTierMakeFile(Max(slots, shared->slots)))
	{
		/* another server may have the file, and writes other pages to it */
		shared->warm = false;
		SsdTierSwitch(SSD_TIER_STARTING, SSD_TIER_OFF);
		return true;
	}
	if ((!shared->warm && !SsdTierEmpty()) || !begin_anew() ||
		!SsdTierResize(slots))
		return false;
	if (!shared->warm)
		shared->distrusted = false; /* there is nothing that could be */
	pg_atomic_write_u32(&shared->errors, 0);
	SsdTierCalibrate(!shared->warm);
	SsdTierFollowCosts();
	if (!shared->warm)
	{
		SsdTierLock();
		SsdTierRecordState(true);
		SsdTierUnlock();
	}
	if (!SsdTierSwitch(SSD_TIER_STARTING, SSD_TIER_ON))
		return true;			/* somebody has switched it off */
	ereport(LOG,
			(errmsg("the SSD tier has %u pages in \"%s\", %u of them in use",
					shared->slots, SsdTierFileName(),
					tp_resident(&SsdTier.core.pool))));
	shared->warm = false;
	if (shrinks)
		(void) SsdTierMakeFile(slots);	/* its copies went first */
	return true;
}

/* A writer that has come in the place of another one takes over the file. */
static void
inherit(void)
{
	if (!SsdTierIsOn() || SsdTierInheritFile())
		return;
	SsdTierDistrust();
	if (SsdTierSwitch(SSD_TIER_ON, SSD_TIER_OFF))
		ereport(LOG,
				(errmsg("the SSD tier is switched off: its file is lost"),
				 errhint("Call pg_ssd_tier_enable() for a new one.")));
}

static void
switch_off(void)
{
	int			error = SsdTier.shared->last_errno;

	SsdTierSwitch(SSD_TIER_FAILING, SSD_TIER_OFF);
	ereport(LOG,
			(errmsg("the SSD tier is switched off after %d errors; the last was: %s",
					SSD_TIER_MAX_ERRORS,
					error == 0 ? "a page was not what had been written" : strerror(error)),
			 errhint("Look after \"%s\", then call pg_ssd_tier_enable().",
					 SsdTierFileName())));
}

/* There is memory for so many slots, and no more. */
static void
complain_of_size(void)
{
	static int	complained;		/* of this size */

	if (ssd_tier_size == complained || (uint32) ssd_tier_size <= SsdTier.capacity)
		return;
	complained = ssd_tier_size;
	ereport(LOG,
			(errmsg("the SSD tier gets %u pages, not %d: there is no memory for more",
					SsdTier.capacity, ssd_tier_size),
			 errhint("Set \"%s\" and restart the server.",
					 "bufferpool.ssd_max_size")));
}

/* Another size, if that is set and possible.  Returns false if hindered. */
static bool
follow_size(void)
{
	static uint32 refused;		/* a size that the file cannot have */
	uint32		slots = wanted_slots();

	complain_of_size();
	if (slots == SsdTier.shared->slots)
		refused = 0;
	if (slots == SsdTier.shared->slots || slots == refused)
		return true;
	if (slots > SsdTier.shared->slots && !SsdTierMakeFile(slots))
	{
		refused = slots;
		return true;
	}
	refused = 0;
	if (!SsdTierResize(slots))
		return false;
	return SsdTierMakeFile(slots);
}

/* Returns false if something is to be tried again soon. */
static bool
look_after_tier(void)
{
	static bool emptied;		/* since the tier is off */
	bool		was_emptied = emptied;

	emptied = false;
	switch ((SsdTierStatus) pg_atomic_read_u32(&SsdTier.shared->status))
	{
		case SSD_TIER_STARTING:
			return switch_on();
		case SSD_TIER_ON:
			return follow_size();
		case SSD_TIER_FAILING:
			switch_off();
			return true;
		case SSD_TIER_OFF:
			SsdTier.shared->warm = false;
			emptied = was_emptied || SsdTierEmpty();
			return emptied;
	}
	return true;
}

static void
forgive(void)
{
	static TimestampTz last;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(last, now, SSD_TIER_FORGIVE_SECONDS * 1000))
		return;
	last = now;
	pg_atomic_write_u32(&SsdTier.shared->errors,
						pg_atomic_read_u32(&SsdTier.shared->errors) / 2);
}

/* ---- the worker ---- */

/*
 * What connects to a database enters pg_stat_activity when it does.  This worker
 * begins before that is possible, so it enters by itself, with no user, database
 * or state.
 */
static void
show_activity(void)
{
	pgstat_beinit();
	pgstat_bestart_initial();
	pgstat_report_activity(STATE_UNDEFINED, NULL);
}

void
SsdTierRegisterWriter(void)
{
	BackgroundWorker worker = {0};

	if (!SsdTierIsWanted())
		return;
	snprintf(worker.bgw_name, BGW_MAXLEN, "SSD tier writer");
	snprintf(worker.bgw_type, BGW_MAXLEN, "SSD tier writer");
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_PostmasterStart;
	worker.bgw_restart_time = 1;
	snprintf(worker.bgw_library_name, MAXPGPATH, "postgres");
	snprintf(worker.bgw_function_name, BGW_MAXLEN, "SsdTierWriterMain");
	RegisterBackgroundWorker(&worker);
}

void
SsdTierWriterMain(Datum main_arg)
{
	TimestampTz followed = 0;

	if (!SsdTierConfigured)
		proc_exit(0);			/* it was wanted, and there was no memory for
								 * it */
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	show_activity();
	before_shmem_exit(forget_writer, 0);
	pg_atomic_write_u32(&SsdTier.shared->writer, (uint32) MyProcNumber);
	inherit();

	while (!ShutdownRequestPending)
	{
		bool		idle;
		bool		more;

		ResetLatch(MyLatch);
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			followed = 0;
		}
		idle = look_after_tier();
		more = SsdTier.shared->gone > 0 && SsdTierSweep(SWEPT_AT_A_TIME);
		/* what is queued while warming waits until it can be written */
		if (SsdTierIsWarming())
			SsdTierDropVoidEntries();
		else
			more |= SsdTierWriteQueue(WRITTEN_AT_A_TIME);
		if (TimestampDifferenceExceeds(followed, GetCurrentTimestamp(),
									   NAP_MILLISECONDS))
		{
			followed = GetCurrentTimestamp();
			SsdTierFollowCosts();
			SsdTierFollowSettings();
			forgive();
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 more ? 0 : idle ? NAP_MILLISECONDS : RETRY_MILLISECONDS,
						 WAIT_EVENT_SSD_TIER_MAIN);
	}
	proc_exit(1);				/* unless the server stops, start it again */
}
