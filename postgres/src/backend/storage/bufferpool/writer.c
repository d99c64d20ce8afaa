/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Trickle writers: a background worker for each named pool writes the dirty
 *	  pages that the pool's algorithm is likely to evict soon.
 *
 * The background writer starts them, and cleans the pools that have none: those
 * that have just been made, those for which there was no worker slot, and all if
 * bufferpool.trickle_write_batch_size is 0.  Its rounds, and theirs, are those of
 * cleaner.c, paced by the pool's own allocations.
 *
 * A writer has a connection without a database, because it must take part in
 * ProcSignal barriers: otherwise it could write to a file that is being dropped
 * through an old descriptor.  It ends when its pool is gone, and DROP BUFFER POOL
 * waits for that.
 *
 * src/backend/storage/bufferpool/writer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/bgwriter.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/smgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

int			bufferpool_trickle_write_batch_size;
int			bufferpool_trickle_flush_after;

/*
 * Between two attempts to start a writer.  Meanwhile the background writer
 * serves the pool.  Chosen, not measured: an attempt fails when all worker
 * slots are taken, which seldom changes within seconds.
 */
#define RETRY_MILLISECONDS 10000

/*
 * Between two looks whether the writer of a dropped pool has ended.  Chosen,
 * not measured: longer delays the statement, shorter wakes the writer more
 * often.
 */
#define PAUSE_MICROSECONDS 1000

/* Allocations of this pool's buffers since this process last asked. */
static uint32
recent_allocations(const BufferPool *pool)
{
	static uint32 seen[BUFFERPOOL_NUMBERS];
	uint32		now = pg_atomic_read_u32(&pool->shared->allocations);
	uint32		recent = now - seen[BufferPoolNumber(pool)];

	seen[BufferPoolNumber(pool)] = now;
	return recent;
}

/* ---- a writer ---- */

static void
forget_writer(int code, Datum arg)
{
	BufferPool *pool = &BufferPools[DatumGetInt32(arg)];
	uint32		me = MyProcPid;

	pg_atomic_compare_exchange_u32(&pool->shared->writer, &me, 0);
}

/* Returns false if the pool has another writer. */
static bool
become_writer(BufferPool *pool)
{
	uint32		none = 0;

	if (!pg_atomic_compare_exchange_u32(&pool->shared->writer, &none,
										MyProcPid))
		return false;
	before_shmem_exit(forget_writer, Int32GetDatum(BufferPoolNumber(pool)));
	return true;
}

/* Does the pool exist?  Shows its name, which may change, in activity views. */
static bool
exists(const BufferPool *pool)
{
	static char shown[NAMEDATALEN];
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	if (strcmp(definition.name, shown) != 0)
	{
		strlcpy(shown, definition.name, NAMEDATALEN);
		pgstat_report_appname(shown);
	}
	return definition.name[0] != '\0';
}

static void
sleep_until_next_round(const BufferPool *pool)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 BufferPoolCleanDelay(pool), WAIT_EVENT_BGWRITER_MAIN);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

void
BufferPoolWriterMain(Datum main_arg)
{
	BufferPool *pool = &BufferPools[DatumGetInt32(main_arg)];
	WritebackContext wb_context;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	if (!become_writer(pool))
		proc_exit(0);
	CreateAuxProcessResourceOwner();
	CurrentResourceOwner = AuxProcessResourceOwner;
	WritebackContextInit(&wb_context, &bufferpool_trickle_flush_after);
	while (exists(pool) && bufferpool_trickle_write_batch_size > 0 &&
		   !ShutdownRequestPending)
	{
		if (BufferPoolHasAlgorithm(pool))
			BufferPoolClean(pool, recent_allocations(pool),
							bufferpool_trickle_write_batch_size, &wb_context);
		if (FirstCallSinceLastCheckpoint())
			smgrdestroyall();	/* of files that have been dropped */
		pgstat_report_stat(true);
		sleep_until_next_round(pool);
	}
	proc_exit(0);
}

/* ---- the background writer's part ---- */

/* The writers that this process has started. */
static BackgroundWorkerHandle * handles[BUFFERPOOL_NUMBERS];

static bool
start_writer(const BufferPool *pool, BackgroundWorkerHandle * *handle)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorker worker = {0};
	bool		started;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(BufferPoolNumber(pool));
	strlcpy(worker.bgw_library_name, "postgres", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "BufferPoolWriterMain", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer pool writer", BGW_MAXLEN);
	strlcpy(worker.bgw_name, worker.bgw_type, BGW_MAXLEN);
	started = RegisterDynamicBackgroundWorker(&worker, handle);
	MemoryContextSwitchTo(old);
	return started;
}

/* Has this process started a writer that still runs, or will yet? */
static bool
has_started(int number)
{
	pid_t		pid;

	if (handles[number] == NULL)
		return false;
	if (GetBackgroundWorkerPid(handles[number], &pid) != BGWH_STOPPED)
		return true;
	pfree(handles[number]);
	handles[number] = NULL;
	return false;
}

/*
 * Start a writer, unless that has been tried lately.  If there is no slot for
 * it, say so once for each pool.
 */
static void
try_to_start_writer(const BufferPool *pool)
{
	static TimestampTz tried[BUFFERPOOL_NUMBERS];
	static bool warned[BUFFERPOOL_NUMBERS];
	int			number = BufferPoolNumber(pool);
	TimestampTz now = GetCurrentTimestamp();
	BufferPoolDefinition definition;

	if (has_started(number) ||
		!TimestampDifferenceExceeds(tried[number], now, RETRY_MILLISECONDS))
		return;
	tried[number] = now;
	if (start_writer(pool, &handles[number]) || warned[number])
		return;
	warned[number] = true;
	BufferPoolReadDefinition(pool, &definition);
	ereport(WARNING,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no background worker slot for the writer of buffer pool \"%s\"",
					definition.name),
			 errdetail("The background writer writes the pool's pages."),
			 errhint("Raise \"max_worker_processes\".")));
}

static bool
is_served_by_bgwriter(const BufferPool *pool)
{
	return BufferPoolHasAlgorithm(pool) &&
		pg_atomic_read_u32(&pool->shared->writer) == 0;
}

/*
 * Called in each round of the background writer: clean the named pools that have
 * no writer.  Returns whether there was nothing to do.
 */
bool
BufferPoolCleanNamed(WritebackContext *wb_context)
{
	bool		idle = true;

	BufferPoolStartAdvisor();
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPool *pool = &BufferPools[i];
		uint32		recent;

		if (!is_served_by_bgwriter(pool))
			continue;
		if (bufferpool_trickle_write_batch_size > 0)
			try_to_start_writer(pool);
		recent = recent_allocations(pool);
		if (bgwriter_lru_maxpages > 0 &&
			BufferPoolClean(pool, recent, bgwriter_lru_maxpages, wb_context) > 0)
			idle = false;
		idle &= recent == 0;
	}
	return idle;
}

/* Milliseconds for the background writer to sleep after a round. */
int
BufferPoolBgWriterDelay(void)
{
	int			delay = BgWriterDelay;

	if (bgwriter_lru_maxpages == 0)
		return delay;
	if (BufferPoolHasAlgorithm(&DefaultBufferPool))
		delay = Min(delay, BufferPoolCleanDelay(&DefaultBufferPool));
	for (int i = 1; i < BufferPoolsReserved(); i++)
		if (is_served_by_bgwriter(&BufferPools[i]))
			delay = Min(delay, BufferPoolCleanDelay(&BufferPools[i]));
	return delay;
}

/* ---- the end ---- */

/* Wait until the writer of this pool, which exists no more, has ended. */
void
BufferPoolEndWriter(BufferPool *pool)
{
	uint32		writer;

	while ((writer = pg_atomic_read_u32(&pool->shared->writer)) != 0)
	{
		PGPROC	   *proc = BackendPidGetProc(writer);

		CHECK_FOR_INTERRUPTS();
		if (proc != NULL)
			SetLatch(&proc->procLatch);
		pg_usleep(PAUSE_MICROSECONDS);
	}
}
