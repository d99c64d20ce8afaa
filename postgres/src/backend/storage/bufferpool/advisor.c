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
 * With no reference for so many looks, the next is after as many of them: so an
 * idle server wakes up once in ten seconds.
 */
#define ROUNDS_UNTIL_IDLE 100

/*
 * Ticks with dropped references after which samples get smaller, and without
 * after which they get larger: their miniatures then begin anew.
 */
#define TICKS_UNTIL_SMALLER 2
#define TICKS_UNTIL_LARGER 60

/* ---- the worker ---- */

/* Each second. */
static void
tick(void)
{
	double		page_times[BUFFERPOOL_NUMBERS];

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolPublishAdvised(i);
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
adjust_samples(void)
{
	static int	dropping = 0;	/* ticks */
	static int	calm = 0;

	if (have_dropped())
	{
		dropping++;
		calm = 0;
	}
	else
	{
		dropping = 0;
		calm++;
	}
	if (BufferPoolAdjustSamples(dropping >= TICKS_UNTIL_SMALLER,
								calm >= TICKS_UNTIL_LARGER))
		calm = 0;
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

/*
 * Milliseconds to wait after a look at the ring.  more: there are references left
 * in it; resting: a pool rests between two bursts.
 */
static long
time_to_wait(bool more, bool resting)
{
	static uint32 before = 0;
	static int	rounds = 0;
	uint32		offered = BufferPoolSamplesOffered();

	rounds = offered != before || resting ? 0 : Min(rounds + 1, ROUNDS_UNTIL_IDLE);
	before = offered;
	if (more)
		return 0;
	return rounds < ROUNDS_UNTIL_IDLE ? ROUND_MILLISECONDS :
		ROUND_MILLISECONDS * ROUNDS_UNTIL_IDLE;
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
	before_shmem_exit(end_at_exit, 0);
	BufferPoolBeginSampling();
	follow_all();
	while (bufferpool_advice && !ShutdownRequestPending)
	{
		uint64		now = BufferPoolNow();
		bool		more = BufferPoolTakeSamples();
		bool		resting = BufferPoolFollowBursts();

		follow_resets();
		if (now - last >= TICK_MICROSECONDS)
		{
			tick();
			adjust_samples();
			last = now;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 time_to_wait(more, resting),
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
	bool		library = HasLibraryBufferPoolPolicies();
	bool		alone = !(bufferpool_advice && library) &&
		bufferpool_autotune != BUFFERPOOL_AUTOTUNE_OFF;

	if (alone && !warned)
		ereport(WARNING,
				library ?
				errmsg("\"%s\" does nothing while \"%s\" is off",
					   "bufferpool.autotune", "bufferpool.advice") :
				errmsg("\"%s\" does nothing without a library of replacement algorithms",
					   "bufferpool.autotune"),
				library ?
				errhint("Set \"%s\" to on.", "bufferpool.advice") :
				errhint("Add one to \"shared_preload_libraries\", and restart the server."));
	warned = alone;
}

/*
 * Start the advisor, if it should run and does not.  Without a library of
 * algorithms a server is as PostgreSQL comes, and there is none.
 */
void
BufferPoolStartAdvisor(void)
{
	static TimestampTz tried = 0;
	static bool warned = false;
	TimestampTz now;

	warn_of_autotune();
	if (!bufferpool_advice)
		tried = 0;				/* once it is switched on, start at once */
	if (!bufferpool_advice || !HasLibraryBufferPoolPolicies() || is_started())
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
