/*-------------------------------------------------------------------------
 *
 * advisor.c
 *	  The background worker that finds out what pools would read with other
 *	  sizes and algorithms.
 *
 * It takes the sample of references out of the ring (sampling.c) and gives it to
 * the pools' simulations (advised.c).  Each second it lets them publish what they
 * have found, and the pools be tuned by it (tuner.c).
 *
 * The background writer starts the advisor, and starts it again after an error.
 *
 * src/backend/storage/bufferpool/advisor.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_internals.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

bool		bufferpool_advice;

/* Between two attempts to start the advisor, as for a pool's writer. */
#define RETRY_MILLISECONDS 10000

/* Between two looks at the ring; processes wake the advisor if it fills up. */
#define ROUND_MILLISECONDS 100

/* Between two publications. */
#define TICK_MICROSECONDS 1000000

/*
 * Ticks between two looks at the size of the sample; fewer if references are
 * dropped.
 */
#define TICKS_PER_ADJUSTMENT 10

/* ---- the worker ---- */

/* Each second. */
static void
tick(double seconds)
{
	double		page_times[BUFFERPOOL_NUMBERS];

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolPublishAdvised(i, seconds);
		BufferPoolFollowAdvised(i);
		page_times[i] = BufferPoolAdvisedPageTime(i);
	}
	BufferPoolTune(page_times);
}

/* Have references been dropped since the last call? */
static bool
have_dropped(void)
{
	static uint64 before = 0;
	BufferPoolAdvisorState state;
	bool		dropped;

	BufferPoolAdvisorRuns(&state);
	dropped = state.dropped != before;
	before = state.dropped;
	return dropped;
}

/* After each tick. */
static void
adjust_samples(double seconds)
{
	static double since_last = 0;
	static int	ticks = 0;
	bool		dropped = have_dropped();

	since_last += seconds;
	if (++ticks % TICKS_PER_ADJUSTMENT != 0 && !dropped)
		return;
	BufferPoolAdjustSamples(since_last, dropped);
	since_last = 0;
}

static void
forget_all(void)
{
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		BufferPoolForgetAdvice(i);
}

static void
follow_all(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
		BufferPoolFollowAdvised(i);
}

/* Begin anew if someone has asked for it. */
static void
follow_resets(void)
{
	static uint32 followed = 0;
	uint32		asked = BufferPoolAdviceResetsAsked();
	BufferPoolSample old;

	if (asked == followed)
		return;
	followed = asked;
	forget_all();
	while (BufferPoolTakeSample(&old))
		;
	follow_all();
	BufferPoolAdviceWasReset(asked);
}

static void
follow_settings(void)
{
	char	   *algorithms;
	int			memory = bufferpool_advice_memory;
	bool		same;

	if (!ConfigReloadPending)
		return;
	ConfigReloadPending = false;
	algorithms = pstrdup(bufferpool_advice_algorithms);
	ProcessConfigFile(PGC_SIGHUP);
	same = memory == bufferpool_advice_memory &&
		strcmp(algorithms, bufferpool_advice_algorithms) == 0;
	pfree(algorithms);
	if (same)
		return;
	forget_all();
	follow_all();
}

static void
end_at_exit(int code, Datum arg)
{
	BufferPoolEndSampling();
}

void
BufferPoolAdvisorMain(Datum main_arg)
{
	uint64		last = BufferPoolNow();

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	/* to no database, to take part in ProcSignal barriers */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	BufferPoolBeginAdvice();
	before_shmem_exit(end_at_exit, 0);
	BufferPoolBeginSampling();
	follow_all();
	while (bufferpool_advice && !ShutdownRequestPending)
	{
		uint64		now = BufferPoolNow();
		bool		more = BufferPoolTakeSamples();

		follow_resets();
		if (now - last >= TICK_MICROSECONDS)
		{
			tick((now - last) / 1e6);
			adjust_samples((now - last) / 1e6);
			last = now;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 more ? 0 : ROUND_MILLISECONDS,
						 WAIT_EVENT_BUFFER_POOL_ADVISOR_MAIN);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		follow_settings();
	}
	proc_exit(0);
}

/* ---- the background writer's part ---- */

static BackgroundWorkerHandle * handle;

/* Is there an advisor, or will there be one? */
static bool
is_started(void)
{
	BufferPoolAdvisorState state;
	pid_t		pid;

	BufferPoolAdvisorRuns(&state);
	if (state.pid != 0)
		return true;
	if (handle == NULL)
		return false;
	if (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
		return true;
	pfree(handle);
	handle = NULL;
	return false;
}

static bool
start(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorker worker = {0};
	bool		started;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "postgres", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "BufferPoolAdvisorMain", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer pool advisor", BGW_MAXLEN);
	strlcpy(worker.bgw_name, worker.bgw_type, BGW_MAXLEN);
	started = RegisterDynamicBackgroundWorker(&worker, &handle);
	MemoryContextSwitchTo(old);
	return started;
}

/* Self-tuning goes by advice. */
static void
warn_of_autotune(void)
{
	static bool warned = false;
	bool		alone = !bufferpool_advice &&
		bufferpool_autotune != BUFFERPOOL_AUTOTUNE_OFF;

	if (alone && !warned)
		ereport(WARNING,
				(errmsg("\"%s\" does nothing while \"%s\" is off",
						"bufferpool.autotune", "bufferpool.advice"),
				 errhint("Set \"%s\" to on.", "bufferpool.advice")));
	warned = alone;
}

/* Start the advisor, if it should run and does not. */
void
BufferPoolStartAdvisor(void)
{
	static TimestampTz tried = 0;
	static bool warned = false;
	TimestampTz now;

	warn_of_autotune();
	if (!bufferpool_advice || is_started())
		return;
	now = GetCurrentTimestamp();
	if (!TimestampDifferenceExceeds(tried, now, RETRY_MILLISECONDS))
		return;
	tried = now;
	if (start() || warned)
		return;
	warned = true;
	ereport(WARNING,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no background worker slot for the buffer pool advisor"),
			 errhint("Raise \"max_worker_processes\", or set \"bufferpool.advice\" to off.")));
}
