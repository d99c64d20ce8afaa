/*-------------------------------------------------------------------------
 *
 * bufferpool.c
 *	  The buffer pool and its replacement algorithm: set-up, the lock,
 *	  verification.
 *
 * src/backend/storage/bufferpool/bufferpool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/guc_tables.h"

char	   *bufferpool_algorithm;
char	   *bufferpool_parameters;
int			bufferpool_batch_size;
int			bufferpool_batch_threshold;

BufferPool	DefaultBufferPool;

/* ---- set-up ---- */

/*
 * The algorithm that is asked for, with its parameters; NULL for stock
 * replacement, which is also what bootstrap and single-user mode get: they see
 * no preloaded libraries, or need no algorithm.
 *
 * The server starts also if the settings make no sense, since whoever has
 * mistyped a name wants to reach the data nevertheless.
 */
static const BufferPoolRoutine *
configured_routine(const char **parameters, bool complain)
{
	const BufferPoolRoutine *routine;
	char	   *problem = NULL;

	*parameters = "";
	if (!IsPostmasterEnvironment ||
		pg_strcasecmp(bufferpool_algorithm, BUFFERPOOL_CLOCK) == 0)
		return NULL;
	routine = FindBufferPoolRoutine(bufferpool_algorithm);
	if (routine == NULL)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("replacement algorithm \"%s\" does not exist, using \"%s\"",
							bufferpool_algorithm, BUFFERPOOL_CLOCK),
					 errhint("Add the library that has it to \"shared_preload_libraries\".")));
		return NULL;
	}
	if (strlen(bufferpool_parameters) >= BUFFERPOOL_PARAMETERS_SIZE)
		problem = psprintf("longer than %d bytes", BUFFERPOOL_PARAMETERS_SIZE - 1);
	else if (routine->configure == NULL)
		problem = bufferpool_parameters[0] == '\0' ? NULL : "it has none";
	else if (routine->configure(routine, bufferpool_parameters, &problem))
		*parameters = bufferpool_parameters;
	if (problem != NULL)
	{
		if (routine->configure != NULL)
			(void) routine->configure(routine, "", &problem);
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameters \"%s\" of replacement algorithm \"%s\" are not used: %s",
							bufferpool_parameters, routine->name, problem),
					 errhint("\"tidepool policies\" lists the parameters of each algorithm and their ranges.")));
	}
	return routine;
}

/* In the postmaster, when all settings have been read. */
static void
check_settings(void)
{
	struct config_generic *threshold = find_option("bufferpool.batch_threshold",
												   false, true, ERROR);

	MarkGUCPrefixReserved("bufferpool");
	if (bufferpool_batch_threshold > bufferpool_batch_size &&
		threshold != NULL && threshold->source != PGC_S_DEFAULT)
		ereport(WARNING,
				(errmsg("\"%s\" is above \"%s\", using %d",
						"bufferpool.batch_threshold", "bufferpool.batch_size",
						bufferpool_batch_size)));
}

Size
BufferPoolShmemSize(void)
{
	const char *parameters;
	const BufferPoolRoutine *routine = configured_routine(&parameters, false);
	Size		size = add_size(sizeof(BufferPoolShared) + PG_CACHE_LINE_SIZE,
								BufferPoolStatsShmemSize());

	size = add_size(size, BufferPoolRecorderShmemSize());
	if (routine != NULL)
		size = add_size(size, routine->shmem_size(routine, NBuffers) +
						PG_CACHE_LINE_SIZE);
	return size;
}

/* As others want to read them: without the white space. */
static void
keep_parameters(char *kept, const char *parameters)
{
	for (; *parameters != '\0'; parameters++)
		if (!isspace((unsigned char) *parameters))
			*kept++ = *parameters;
	*kept = '\0';
}

/* init: in the postmaster, at the start or after a crash */
void
BufferPoolShmemInit(bool init)
{
	BufferPool *pool = &DefaultBufferPool;
	const char *parameters;
	const BufferPoolRoutine *routine = configured_routine(&parameters, init);
	const char *algorithm = routine ? routine->name : BUFFERPOOL_CLOCK;
	bool		found;

	if (init)
		check_settings();
	BufferPoolStatsShmemInit();
	BufferPoolRecorderShmemInit();
	pool->routine = routine;
	pool->flags = routine ? routine->flags : 0;
	pool->shared = ShmemInitStruct("Buffer Pool", sizeof(BufferPoolShared),
								   &found);
	if (!found)
	{
		LWLockInitialize(&pool->shared->lock, LWTRANCHE_BUFFER_POOL);
		pg_atomic_init_u32(&pool->shared->resets, 0);
		pg_atomic_init_u32(&pool->shared->dirty_victims, 0);
		strlcpy(pool->shared->algorithm, algorithm, NAMEDATALEN);
		keep_parameters(pool->shared->parameters, parameters);
	}
	else if (strcmp(pool->shared->algorithm, algorithm) != 0)
		elog(FATAL, "replacement algorithm \"%s\" is not known to this process",
			 pool->shared->algorithm);
	if (routine != NULL)
	{
		void	   *memory = ShmemInitStruct("Buffer Pool Algorithm",
											 routine->shmem_size(routine, NBuffers),
											 &found);

		routine->attach(pool, memory, NBuffers, !found);
	}
}

/* A process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolInitProcess(void)
{
	BufferPoolStatsInitProcess();
	BufferPoolRecorderInitProcess();
	if (BufferPoolActive())
		BufferPoolFollowReset(&DefaultBufferPool);
}

/* How often the pool had been reset when this process's memory of it began. */
static uint32 resets_followed = PG_UINT32_MAX;

/*
 * If the pool has been reset, or this is the first time, this process begins
 * anew, too.
 */
void
BufferPoolFollowReset(BufferPool *pool)
{
	uint32		resets = pg_atomic_read_u32(&pool->shared->resets);

	if (resets_followed == resets)
		return;
	resets_followed = resets;
	if (pool->routine->begin_process != NULL)
		pool->routine->begin_process(pool, MyProcNumber);
}

/* ---- what SHOW shows: what is in use ---- */

const char *
show_bufferpool_algorithm(void)
{
	return DefaultBufferPool.shared != NULL ?
		DefaultBufferPool.shared->algorithm : bufferpool_algorithm;
}

const char *
show_bufferpool_parameters(void)
{
	return DefaultBufferPool.shared != NULL ?
		DefaultBufferPool.shared->parameters : bufferpool_parameters;
}

const char *
show_bufferpool_batch_threshold(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d",
			 Min(bufferpool_batch_threshold, bufferpool_batch_size));
	return text;
}

/* ---- the lock, and what an access is ---- */

/*
 * Looks at a busy lock before this process goes to sleep for it: about as long
 * as the lock is held once.  Whoever sleeps is woken when the lock is free, but
 * by then others have come, so that a lock held for half a microsecond would
 * collect a convoy of sleepers.
 */
#define SPINS 100

/* In an LWLock's state: held, by whomever. */
#define LOCK_HELD_MASK ((uint32) ((MAX_BACKENDS + 1) | MAX_BACKENDS))

#ifdef BUFFERPOOL_TIME_LOCK
static instr_time held_since;
#define begin_hold() INSTR_TIME_SET_CURRENT(held_since)
#else
#define begin_hold() ((void) 0)
#endif

/* Nobody may wait for the lock with a lock on a mapping partition. */
static inline void
assert_may_wait(void)
{
	Assert(!LWLockAnyHeldByMe(BufMappingPartitionLockByIndex(0),
							  NUM_BUFFER_PARTITIONS, sizeof(LWLockPadded)));
}

bool
BufferPoolTryLock(BufferPool *pool)
{
	if (!LWLockConditionalAcquire(&pool->shared->lock, LW_EXCLUSIVE))
		return false;
	BufferPoolCount(BUFFERPOOL_LOCKS);
	begin_hold();
	return true;
}

void
BufferPoolLock(BufferPool *pool)
{
	LWLock	   *lock = &pool->shared->lock;

	assert_may_wait();
	for (int spins = 0; spins < SPINS; spins++)
	{
		if ((pg_atomic_read_u32(&lock->state) & LOCK_HELD_MASK) == 0 &&
			BufferPoolTryLock(pool))
			return;
		pg_spin_delay();
	}
	BufferPoolCount(BUFFERPOOL_LOCKS);
	BufferPoolCount(BUFFERPOOL_LOCK_WAITS);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	begin_hold();
}

void
BufferPoolUnlock(BufferPool *pool)
{
#ifdef BUFFERPOOL_TIME_LOCK
	instr_time	held;

	INSTR_TIME_SET_CURRENT(held);
	INSTR_TIME_SUBTRACT(held, held_since);
	BufferPoolCountHold(INSTR_TIME_GET_NANOSEC(held));
#endif
	LWLockRelease(&pool->shared->lock);
}

/* Microseconds since a moment that is the same for all processes. */
uint64
BufferPoolNow(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* ---- verification ---- */

/*
 * Compare what the algorithm knows of a buffer with the buffer.  Whoever has
 * it pinned may be about to tell of a change, so only unpinned buffers count;
 * a page that ceased to exist unnoticed is no violation.
 *
 * A buffer whose page the algorithm does not know is one that has been told of
 * too little yet; *untold counts them.
 */
static int
check_buffer(BufferPool *pool, int buf_id, uint32 *untold, tp_report report,
			 void *arg)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = LockBufHdr(buf);
	tp_page		page = BufferTagPage(&buf->tag);
	tp_page		known;
	bool		has_page = pool->routine->page_of(pool, buf_id, &known);

	UnlockBufHdr(buf, buf_state);
	if (BUF_STATE_GET_REFCOUNT(buf_state) != 0 || !(buf_state & BM_TAG_VALID) ||
		(has_page && tp_page_equal(page, known)))
		return 0;
	if (++*untold <= BufferPoolPending())
		return 0;
	return tp_expect(false, "algorithm does not know the page in the buffer",
					 buf_id, report, arg);
}

/*
 * Verify what the algorithm knows of these buffers.  Returns the number of
 * violations, each of which report is told; it is called under the lock, which
 * is held for all of them.
 *
 * Pages that processes have yet to tell of are no violations, as many as there
 * are; which ones they are is not known.
 */
int
BufferPoolCheckBuffers(int first, int count, tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
	uint32		untold = 0;
	int			bad = 0;

	BufferPoolLock(pool);
	BufferPoolCommitQueue(pool, &access);
	for (int buf_id = first; buf_id < first + count; buf_id++)
		bad += check_buffer(pool, buf_id, &untold, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}

/*
 * Verify the algorithm's own state, likewise.  That cannot be done in parts:
 * the lock is held as long as it takes to look at all of it.
 */
int
BufferPoolCheckAlgorithm(tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	int			bad;

	BufferPoolLock(pool);
	bad = pool->routine->check(pool, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}
