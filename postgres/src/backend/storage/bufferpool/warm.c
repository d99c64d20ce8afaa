/*-------------------------------------------------------------------------
 *
 * warm.c
 *	  Warm starts: the process that reads the list of pages back at the start,
 *	  and saves it from then on.
 *
 * It has a connection without a database, because it must take part in
 * ProcSignal barriers.  It starts when the server is consistent, so on a standby
 * too.  If it fails it is started again, but what it has begun to read back is
 * not begun again.
 *
 * A standby may follow its primary: then it fetches the primary's list instead of
 * saving its own, before it reads it back and each time that it would save one.
 *
 * src/backend/storage/bufferpool/warm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_warm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

bool		bufferpool_warm_start;
int			bufferpool_warm_save_interval;
int			bufferpool_warm_workers;
int			bufferpool_warm_rate;

WarmShared *BufferPoolWarm;

#define RESTART_SECONDS 5

/*
 * To fetch the primary's list: at the start, when the pages on the old list wait;
 * and later.
 */
#define FIRST_FETCH_SECONDS 10
#define FETCH_SECONDS 600

/* For sessions to end, at a shutdown; and between two looks whether they have. */
#define END_MILLISECONDS 1000
#define LOOK_MILLISECONDS 10

/* ---- set-up ---- */

Size
BufferPoolWarmShmemSize(void)
{
	return MAXALIGN(sizeof(WarmShared));
}

#define AUTOPREWARM "pg_prewarm.autoprewarm"

/*
 * Does pg_prewarm read pages back as well?  Without the library its setting means
 * nothing, and is a placeholder if postgresql.conf has it.
 */
static void
warn_of_autoprewarm(void)
{
	const char *autoprewarm = GetConfigOption(AUTOPREWARM, true, false);

	if (autoprewarm != NULL && strcmp(autoprewarm, "on") == 0 &&
		!(GetConfigOptionFlags(AUTOPREWARM, true) & GUC_CUSTOM_PLACEHOLDER))
		ereport(WARNING,
				(errmsg("\"%s\" and \"%s\" are both on",
						"bufferpool.warm_start", AUTOPREWARM),
				 errdetail("Both read pages at the start; autoprewarm does so in no order, and takes the buffers."),
				 errhint("Set \"%s\" to off, or remove pg_prewarm from \"shared_preload_libraries\".",
						 AUTOPREWARM)));
}

void
BufferPoolWarmShmemInit(void)
{
	bool		found;

	BufferPoolWarm = ShmemInitStruct("Buffer Pool Warm Start",
									 sizeof(WarmShared), &found);
	if (found)
		return;
	MemSet(BufferPoolWarm, 0, sizeof(WarmShared));
	SpinLockInit(&BufferPoolWarm->mutex);
	pg_atomic_init_u32(&BufferPoolWarm->writer, 0);
	BufferPoolWarm->work = DSM_HANDLE_INVALID;
	BufferPoolWarm->phase = bufferpool_warm_start ? WARM_STARTING : WARM_OFF;
	BufferPoolWarm->loaded = !bufferpool_warm_start;
	for (int i = 0; i < WARM_NUM_COUNTERS; i++)
		pg_atomic_init_u64(&BufferPoolWarm->counters[i], 0);
	if (bufferpool_warm_start)
		warn_of_autoprewarm();	/* the libraries have been loaded */
}

/* Called in the postmaster when libraries may register workers. */
void
BufferPoolWarmRegister(void)
{
	BackgroundWorker worker = {0};

	if (!bufferpool_warm_start || IsBinaryUpgrade)
		return;
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = RESTART_SECONDS;
	strlcpy(worker.bgw_library_name, "postgres", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "BufferPoolWarmMain", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer pool warmer", BGW_MAXLEN);
	strlcpy(worker.bgw_name, worker.bgw_type, BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

/* ---- the process ---- */

static void
forget_leader(int code, Datum arg)
{
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->pid = 0;
	SpinLockRelease(&BufferPoolWarm->mutex);
}

/* Returns whether the list is yet to be read back. */
static bool
become_leader(void)
{
	bool		first;

	SpinLockAcquire(&BufferPoolWarm->mutex);
	first = BufferPoolWarm->phase == WARM_STARTING;
	BufferPoolWarm->pid = MyProcPid;
	SpinLockRelease(&BufferPoolWarm->mutex);
	before_shmem_exit(forget_leader, 0);
	return first;
}

static void
begin_loading(void)
{
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->phase = WARM_LOADING;
	BufferPoolWarm->interrupted = true; /* until it has ended */
	BufferPoolWarm->old_pages = WARM_PAGES_UNKNOWN;
	BufferPoolWarm->began = GetCurrentTimestamp();
	BufferPoolWarm->ended = 0;
	SpinLockRelease(&BufferPoolWarm->mutex);
}

static void
end_loading(void)
{
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->phase = WARM_DONE;
	BufferPoolWarm->loaded = true;
	BufferPoolWarm->ended = GetCurrentTimestamp();
	SpinLockRelease(&BufferPoolWarm->mutex);
}

/* Milliseconds until the next save; -1: none but the last. */
static long
time_to_save(TimestampTz last)
{
	if (bufferpool_warm_save_interval == 0)
		return -1;
	return TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
										   last + bufferpool_warm_save_interval *
										   USECS_PER_SEC);
}

static void
follow_settings(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

static void
follow_primary(void)
{
	if (!WarmFetchList(FETCH_SECONDS))
		return;
	begin_loading();
	BufferPoolFollowWarmList();
	end_loading();
}

/*
 * Save the list.  If a session saves it just now, that will do; and a standby
 * that follows its primary keeps the primary's.
 */
static void
save(void)
{
	if (!WarmFollowsPrimary() &&
		pg_atomic_read_u32(&BufferPoolWarm->writer) == 0)
		(void) BufferPoolSaveWarmList(false);
	CurrentResourceOwner = AuxProcessResourceOwner;
}

static bool
is_session_left(void)
{
	for (int i = 0; i < MaxBackends; i++)
	{
		const		PGPROC *proc = GetPGProcByNumber(i);

		if (proc->pid != 0 && proc->isRegularBackend)
			return true;
	}
	return false;
}

/*
 * Sessions tell the algorithm what they have read last when they end, which they
 * do now if the server stops.  Pages that it does not know are not on the list.
 */
static void
wait_for_sessions(void)
{
	for (int i = 0; i < END_MILLISECONDS / LOOK_MILLISECONDS && is_session_left(); i++)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 LOOK_MILLISECONDS, WAIT_EVENT_BUFFER_POOL_WARM_MAIN);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* What is done from time to time. */
static void
renew(void)
{
	if (WarmFollowsPrimary())
		follow_primary();
	else
		save();
	pgstat_report_stat(true);
}

/* What is done at the server's start. */
static void
start(void)
{
	if (WarmFollowsPrimary())
		(void) WarmFetchList(FIRST_FETCH_SECONDS);
	begin_loading();
	BufferPoolLoadWarmList();
}

void
BufferPoolWarmMain(Datum main_arg)
{
	TimestampTz last;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	CreateAuxProcessResourceOwner();
	CurrentResourceOwner = AuxProcessResourceOwner;
	if (become_leader())
		start();
	end_loading();
	last = GetCurrentTimestamp();
	while (!ShutdownRequestPending)
	{
		long		timeout = time_to_save(last);

		if (timeout == 0)
		{
			renew();
			last = GetCurrentTimestamp();
			continue;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
						 (timeout > 0 ? WL_TIMEOUT : 0), timeout,
						 WAIT_EVENT_BUFFER_POOL_WARM_MAIN);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		follow_settings();
	}
	wait_for_sessions();
	save();
	proc_exit(1);				/* unless the server stops, start it again */
}
