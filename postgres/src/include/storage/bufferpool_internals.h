/*-------------------------------------------------------------------------
 *
 * bufferpool_internals.h
 *	  Buffer pools as the buffer manager and the pg_bufferpool extension see
 *	  them.
 *
 * src/include/storage/bufferpool_internals.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_INTERNALS_H
#define BUFFERPOOL_INTERNALS_H

#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "storage/bufferpool.h"
#include "storage/bufferpool_recorder.h"
#include "storage/lwlock.h"

/* ---- configuration ---- */

extern PGDLLIMPORT char *bufferpool_algorithm;
extern PGDLLIMPORT char *bufferpool_parameters;
extern PGDLLIMPORT int bufferpool_batch_size;
extern PGDLLIMPORT int bufferpool_batch_threshold;

#define BUFFERPOOL_CLOCK "clock"	/* the name of stock replacement */
#define BUFFERPOOL_PARAMETERS_SIZE 256

/* The same at each start, so that a simulation makes the same choices. */
#define BUFFERPOOL_SEED 1

/* ---- statistics ---- */

/*
 * The counters.  Every process has its own, so counting costs no more than an
 * increment.
 */
typedef enum BufferPoolCounter
{
	BUFFERPOOL_HITS,			/* references to resident pages */
	BUFFERPOOL_READS,			/* pages brought in to be read or zeroed */
	BUFFERPOOL_EXTENDS,			/* pages brought in as new blocks */
	BUFFERPOOL_EVICTIONS,		/* pages evicted, by the algorithm's choice */
	BUFFERPOOL_REUSES,			/* pages evicted, by a ring's choice */
	BUFFERPOOL_DIRTY_EVICTIONS, /* of both, those written first */
	BUFFERPOOL_SEARCHES,		/* for a victim, by the algorithm */
	BUFFERPOOL_LOOKS,			/* buffers that these looked at */
	BUFFERPOOL_RETRIES,			/* choices given up: pinned or dirtied since */
	BUFFERPOOL_REJECTS,			/* of them, a ring's: would flush WAL */
	BUFFERPOOL_FALLBACKS,		/* the algorithm had none: clock's choices */
	BUFFERPOOL_FORGOTTEN,		/* pages dropped, or replaced unasked */
	BUFFERPOOL_CORRELATED,		/* hits not reported: repetitions */
	BUFFERPOOL_VACUUMED,		/* hits not reported: VACUUM's */
	BUFFERPOOL_BATCHES,			/* commits of queues */
	BUFFERPOOL_BATCHED_HITS,	/* entries in them */
	BUFFERPOOL_STALE_HITS,		/* of them, skipped: the page had left */
	BUFFERPOOL_LOCKS,			/* acquisitions of the pool's lock */
	BUFFERPOOL_LOCK_WAITS,		/* of them, those that had to wait */
	BUFFERPOOL_TRY_FAILURES,	/* commits put off: the lock was busy */
	BUFFERPOOL_CLEANED,			/* pages that the bgwriter wrote ahead */
	BUFFERPOOL_CLEANER_ROUNDS,	/* its searches for such pages */
	BUFFERPOOL_CLEANER_LOOKS,	/* buffers looked at in them */
	BUFFERPOOL_CLEANER_LONGEST_HOLD,	/* most of these in one hold of the
										 * pool's lock; not a sum, never reset */
	BUFFERPOOL_NUM_COUNTERS
} BufferPoolCounter;

typedef struct BufferPoolCounters
{
	uint64		count[BUFFERPOOL_NUM_COUNTERS];
} BufferPoolCounters;

extern PGDLLIMPORT BufferPoolCounters *MyBufferPoolCounters;
extern PGDLLIMPORT uint32 *MyBufferPoolPending;

static inline void
BufferPoolCount(BufferPoolCounter counter)
{
	MyBufferPoolCounters->count[counter]++;
}

extern void BufferPoolReadCounters(BufferPoolCounters *sums,
								   TimestampTz *stats_reset);
extern void BufferPoolResetCounters(void);
extern uint32 BufferPoolPending(void);

#ifdef BUFFERPOOL_TIME_LOCK
#define BUFFERPOOL_HOLD_BINS 256
extern void BufferPoolCountHold(uint64 nanoseconds);
extern uint64 BufferPoolHoldBinStart(int bin);
extern void BufferPoolReadHolds(uint64 *holds);
#endif

/* ---- the pool ---- */

/* The shared part of a pool, except for the algorithm's own memory. */
typedef struct BufferPoolShared
{
	LWLock		lock;			/* guards the algorithm's state */
	pg_atomic_uint32 resets;	/* how often the pool was reset */
	pg_atomic_uint32 dirty_victims; /* dirty pages evicted; wraps around */
	char		algorithm[NAMEDATALEN]; /* its name, or clock */
	char		parameters[BUFFERPOOL_PARAMETERS_SIZE]; /* as configured, or
														 * empty */
} BufferPoolShared;

/* One process's view of a pool. */
struct BufferPool
{
	const BufferPoolRoutine *routine;	/* NULL: stock replacement */
	uint32		flags;			/* the routine's, for these parameters */
	BufferPoolShared *shared;
	void	   *view;			/* the algorithm's */
};

/* The pool of all buffers. */
extern PGDLLIMPORT BufferPool DefaultBufferPool;

/* Does an algorithm, rather than the clock, replace pages? */
static inline bool
BufferPoolActive(void)
{
	return DefaultBufferPool.routine != NULL;
}

extern uint64 BufferPoolNow(void);

/* The time of an access, for an algorithm that uses it. */
static inline uint64
BufferPoolTime(const BufferPool *pool)
{
	return pool->flags & BUFFERPOOL_USES_TIME ? BufferPoolNow() : 0;
}

/* An access by this process. */
static inline tp_access
BufferPoolAccessAt(uint64 time, uint32 flags)
{
	tp_access	access = {.now = time};

	access.backend = MyProcNumber;
	access.flags = flags;
	return access;
}

static inline uint32
BufferPoolAccessFlags(IOContext io_context)
{
	return io_context == IOCONTEXT_VACUUM ? TP_VACUUM :
		io_context == IOCONTEXT_BULKREAD ? TP_SEQUENTIAL : 0;
}

/*
 * A buffer's page in the core's terms.  The low half of the relation is the
 * file number; the upper half is a hash of tablespace and database, plus the
 * fork.  Two files with the same number in different databases collide with a
 * probability of 2^-32, which costs a wrong hint.
 */
static inline tp_page
BufferTagPage(const BufferTag *tag)
{
	uint32		place = murmurhash32(tag->dbOid ^ pg_rotate_left32(tag->spcOid, 16));

	return tp_page_make(tag->relNumber |
						(uint64) (place + (uint32) tag->forkNum) << 32,
						tag->blockNum);
}

/*
 * Is the page in this buffer?  Needs no header lock: a process that changes
 * this now reports it later.
 */
static inline bool
BufferHoldsPage(int buf_id, tp_page page)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);

	return (pg_atomic_read_u32(&buf->state) & BM_TAG_VALID) != 0 &&
		tp_page_equal(BufferTagPage(&buf->tag), page);
}

/* registry.c */
extern const BufferPoolRoutine *FindBufferPoolRoutine(const char *name);
extern const BufferPoolRoutine *NextBufferPoolRoutine(int *position);

/* parameters.c */
extern bool ParsePolicyParameters(const tp_policy *policy, const char *text,
								  double *params, char **problem);

/* policy.c */
extern const BufferPoolRoutine *MakePolicyRoutine(const tp_policy *policy,
												  const char *name);

/* lists.c */
extern bool ShowPolicyLists(const tp_pool *pool, BufferPoolListWalk *state,
							int max, BufferPoolListCallback callback,
							void *arg);

/* stats.c */
extern Size BufferPoolStatsShmemSize(void);
extern void BufferPoolStatsShmemInit(void);
extern void BufferPoolStatsInitProcess(void);

/* bufferpool.c */
extern Size BufferPoolShmemSize(void);
extern void BufferPoolShmemInit(bool init);
extern void BufferPoolInitProcess(void);
extern const char *show_bufferpool_algorithm(void);
extern const char *show_bufferpool_parameters(void);
extern const char *show_bufferpool_batch_threshold(void);

/* lock.c */
extern bool BufferPoolTryLock(BufferPool *pool);
extern void BufferPoolLock(BufferPool *pool);
extern void BufferPoolUnlock(BufferPool *pool);

/* replacement.c */
extern BufferDesc *BufferPoolGetVictim(const BufferTag *tag,
									   IOContext io_context,
									   uint32 *buf_state);
extern void BufferPoolVictimKept(BufferDesc *buf);
extern void BufferPoolVictimTaken(BufferDesc *buf, uint32 old_state,
								  bool from_ring);
extern void BufferPoolPageCameIn(BufferDesc *buf, IOContext io_context,
								 bool extended);
extern void BufferPoolAtEOXact(void);

/* check.c */
extern int	BufferPoolCheckBuffers(int first, int count, tp_report report,
								   void *arg);
extern int	BufferPoolCheckAlgorithm(tp_report report, void *arg);

/* reset.c */
extern void BufferPoolReset(void);
extern void BufferPoolFollowReset(BufferPool *pool);

/* cleaner.c */
extern bool BufferPoolClean(uint32 recent_alloc, WritebackContext *wb_context);
extern int	BufferPoolCleanDelay(void);

/*
 * Call when a page was found in this buffer, before the buffer is pinned and
 * BufferPoolHit is called.
 */
static inline void
BufferPoolExpectHit(int buf_id)
{
	BufferPool *pool = &DefaultBufferPool;

	if (BufferPoolActive() && pool->routine->expect_hit != NULL)
		pool->routine->expect_hit(pool, buf_id);
}

/* hits.c */
extern void BufferPoolHit(BufferDesc *buf, IOContext io_context);
extern void BufferPoolDirtied(BufferDesc *buf);

/*
 * The page in this buffer, which the caller has pinned and locked, has just
 * become dirty.  May be called in a critical section.
 */
static inline void
BufferPoolNoteDirtied(BufferDesc *buf)
{
	if (BufferPoolRecording())
		BufferPoolRecordDirtied(&buf->tag);
	if (DefaultBufferPool.flags & BUFFERPOOL_WANTS_WRITES)
		BufferPoolDirtied(buf);
}

extern void BufferPoolReferenced(tp_page page);

/* queue.c */
extern void BufferPoolQueueHit(BufferPool *pool, int buf_id, tp_page page,
							   uint32 flags);
extern void BufferPoolQueueWrite(int buf_id, tp_page page);
extern void BufferPoolQueueAdmission(BufferPool *pool, int buf_id,
									 tp_page page, uint32 flags);
extern void BufferPoolQueueRestoration(BufferPool *pool, int buf_id,
									   tp_page page);
extern void BufferPoolPrefetchQueue(BufferPool *pool);
extern void BufferPoolCommitQueue(BufferPool *pool, const tp_access *access);
extern void BufferPoolDropQueue(void);
extern void BufferPoolBeforeIdle(void);
extern void BufferPoolAtProcExit(void);

extern PGDLLIMPORT volatile sig_atomic_t BufferPoolCommitPending;
extern void ProcessBufferPoolCommitInterrupt(void);

#endif							/* BUFFERPOOL_INTERNALS_H */
