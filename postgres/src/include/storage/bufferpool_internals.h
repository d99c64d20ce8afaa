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

/* Each server start decides alike: what was simulated is what runs. */
#define BUFFERPOOL_SEED 1

/* ---- statistics ---- */

/*
 * What is counted.  Every process counts in a place of its own, so counting
 * costs no more than an increment.
 */
typedef enum BufferPoolCounter
{
	BUFFERPOOL_HITS,			/* references to resident pages */
	BUFFERPOOL_READS,			/* pages that came in to be read or zeroed */
	BUFFERPOOL_EXTENDS,			/* pages that came in as new blocks */
	BUFFERPOOL_EVICTIONS,		/* pages evicted, by the algorithm's choice */
	BUFFERPOOL_REUSES,			/* pages evicted, by a ring's choice */
	BUFFERPOOL_DIRTY_EVICTIONS, /* of both: had to be written first */
	BUFFERPOOL_SEARCHES,		/* for a victim, by the algorithm */
	BUFFERPOOL_LOOKS,			/* buffers that they looked at */
	BUFFERPOOL_RETRIES,			/* choices given up: pinned or dirtied since */
	BUFFERPOOL_REJECTS,			/* of a ring's, which would need a WAL flush */
	BUFFERPOOL_FALLBACKS,		/* the algorithm had no choice; clock's */
	BUFFERPOOL_FORGOTTEN,		/* pages that had ceased to exist */
	BUFFERPOOL_CORRELATED,		/* hits not told: repetitions */
	BUFFERPOOL_VACUUMED,		/* hits not told: VACUUM's */
	BUFFERPOOL_BATCHES,			/* commits of queues */
	BUFFERPOOL_BATCHED_HITS,	/* entries in them */
	BUFFERPOOL_STALE_HITS,		/* of which skipped: the page had left */
	BUFFERPOOL_LOCKS,			/* acquisitions of the pool's lock */
	BUFFERPOOL_LOCK_WAITS,		/* of which had to wait */
	BUFFERPOOL_TRY_FAILURES,	/* the lock was busy, and not waited for */
	BUFFERPOOL_CLEANED,			/* pages written ahead by the bgwriter */
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

/* What all processes share of a pool, beside the algorithm's own memory. */
typedef struct BufferPoolShared
{
	LWLock		lock;			/* the algorithm's state */
	pg_atomic_uint32 resets;	/* how often the pool was reset */
	pg_atomic_uint32 dirty_victims; /* evicted, and not clean; it wraps */
	char		algorithm[NAMEDATALEN]; /* what it is run by, or clock */
	char		parameters[BUFFERPOOL_PARAMETERS_SIZE]; /* of the algorithm, as
														 * given; or empty */
} BufferPoolShared;

/* One process's view of a pool. */
struct BufferPool
{
	const BufferPoolRoutine *routine;	/* NULL: stock replacement */
	uint32		flags;			/* the routine's, with these parameters */
	BufferPoolShared *shared;
	void	   *view;			/* the algorithm's */
};

/* The pool of all buffers. */
extern PGDLLIMPORT BufferPool DefaultBufferPool;

/* Is there an algorithm to be told and asked? */
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
 * A buffer's page in the core's terms.  The relation's low half is the file
 * number, the upper half stands for tablespace, database and fork; two
 * databases' files of the same number may so be taken for each other with a
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
extern void BufferPoolFollowReset(BufferPool *pool);
extern const char *show_bufferpool_algorithm(void);
extern const char *show_bufferpool_parameters(void);
extern const char *show_bufferpool_batch_threshold(void);
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

/* bufferpool.c, for verification */
extern int	BufferPoolCheckBuffers(int first, int count, tp_report report,
								   void *arg);
extern int	BufferPoolCheckAlgorithm(tp_report report, void *arg);

/* reset.c */
extern void BufferPoolReset(void);

/* cleaner.c */
extern bool BufferPoolClean(uint32 recent_alloc, WritebackContext *wb_context);
extern int	BufferPoolCleanDelay(void);

/*
 * To be called when a page was found in this buffer, before it is pinned and
 * BufferPoolHit called.
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
 * The page in this buffer was not dirty and is now.  For those who have it
 * pinned and locked; also in critical sections.
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
