/*-------------------------------------------------------------------------
 *
 * bufferpool_pool.h
 *	  What a buffer pool is: in shared memory, and as each process sees it.
 *
 * src/include/storage/bufferpool_pool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_POOL_H
#define BUFFERPOOL_POOL_H

#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "port/pg_bitutils.h"
#include "storage/buf_internals.h"
#include "storage/bufferpool.h"
#include "storage/bufferpool_counters.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "storage/ssd_tier.h"

#define BUFFERPOOL_CLOCK "clock"	/* the name of stock replacement */

/*
 * Bytes of these texts with their end, in the shared part of each pool.  All
 * parameters of the algorithm with the most text (pbm) take 116 with their
 * defaults.  The comment's size is chosen, for a line or two.
 */
#define BUFFERPOOL_PARAMETERS_SIZE 256
#define BUFFERPOOL_COMMENT_SIZE 256

/* The same at each start, so that a simulation makes the same choices. */
#define BUFFERPOOL_SEED 1

/*
 * A number must fit into a byte, here and in recordings: 254 pools could be
 * named.  64 is chosen, not measured: each number costs a process a queue of
 * 24 KiB, untouched if never used; looking up a name goes through all pools.
 */
#define BUFFERPOOL_MAX_NAMED 64
#define BUFFERPOOL_NUMBERS (2 + BUFFERPOOL_MAX_NAMED)	/* DEFAULT, RECYCLE */
#define BUFFERPOOL_DEFAULT 0	/* number of the pool of all other buffers */
#define BUFFERPOOL_DEFAULT_NAME "DEFAULT"
#define BUFFERPOOL_RECYCLE_NAME "RECYCLE"

/* What a pool is.  name is empty: there is no pool of this number. */
typedef struct BufferPoolDefinition
{
	char		name[NAMEDATALEN];
	char		algorithm[NAMEDATALEN]; /* as defined */
	char		running[NAMEDATALEN];	/* the one in use; clock if no library
										 * has the other; empty while it is
										 * changed */
	char		parameters[BUFFERPOOL_PARAMETERS_SIZE]; /* as given, or empty */
	double		params[TP_MAX_PARAMS];	/* values in use, and the defaults */
	int			target;			/* buffers that the pool should have */
	int			tuned;			/* of these, what self-tuning has added; less
								 * than 0: taken */
	int			least;			/* buffers that self-tuning leaves it */
	int			most;			/* that it may give it; 0: no limit */
	bool		remainder;		/* these are what others leave */
	bool		leaving;		/* it is being dropped */
	SsdTierChoice ssd_tier;		/* what it wants of the SSD tier, or UNSET */
	char		comment[BUFFERPOOL_COMMENT_SIZE];
} BufferPoolDefinition;

/* The size that an operator has given the pool. */
static inline int
BufferPoolDefinedSize(const BufferPoolDefinition *definition)
{
	return definition->target - definition->tuned;
}

/*
 * The shared part of a pool, except for the algorithm's own memory.  What
 * misses write without the lock is not in its cache line, which those who wait
 * for the lock read again and again.
 */
typedef struct BufferPoolShared
{
	LWLock		lock;			/* guards the algorithm's state */
	pg_atomic_uint32 resets;	/* how often the pool was reset */
	pg_atomic_uint32 buffers;	/* that the pool has */
	pg_atomic_uint32 writer;	/* process ID of its trickle writer, or 0 */
	char		end_of_line[PG_CACHE_LINE_SIZE - sizeof(LWLock) -
							3 * sizeof(pg_atomic_uint32)];

	pg_atomic_uint32 allocations;	/* of buffers; not of DEFAULT, which has
									 * StrategyControl's; wraps around */
	pg_atomic_uint32 dirty_victims; /* dirty pages evicted; wraps around */
	slock_t		free_lock;		/* the two below */
	int			first_free;		/* of the buffers without a page; not of
								 * DEFAULT, which has StrategyControl's */
	int			last_free;		/* if there is a first */

	slock_t		definition_lock;	/* the two below */
	uint32		version;		/* changes with the definition */
	BufferPoolDefinition definition;

	/* Totals of all processes, and what they were at the last reset. */
	pg_atomic_uint64 counters[BUFFERPOOL_NUM_COUNTERS];
	slock_t		stats_lock;		/* the two below */
	TimestampTz stats_reset;
	BufferPoolCounters baseline;
#ifdef BUFFERPOOL_TIME_LOCK
	uint64		holds[BUFFERPOOL_HOLD_BINS];	/* guarded by lock */
#endif
} BufferPoolShared;

/* One process's view of a pool. */
typedef struct BufferPool
{
	BufferPoolShared *shared;
	uint32		version;		/* of the definition that this is of */
	bool		followed_resets;	/* the chooser has been initialized */
	uint32		resets;			/* when it was */
	uint32		flags;			/* of the policy, for these parameters:
								 * TP_HIT_LOCK_FREE etc.  TP_CHOICE_LOCK_FREE
								 * only if the pool is shared (tp_share) */
	bool		fails_when_full;	/* a refused page fails the statement */
	uint16	   *pending;		/* shared: buffers whose pages this process
								 * has yet to report; NULL: it reports none */
	tp_pool		core;			/* policy is NULL: stock replacement */
	BufferPoolCounters counted; /* not added to the totals yet */
} BufferPool;

extern PGDLLIMPORT BufferPool BufferPools[BUFFERPOOL_NUMBERS];

/* How many there is memory for: DEFAULT, and those that may be created. */
extern int	BufferPoolsReserved(void);

#define DefaultBufferPool BufferPools[BUFFERPOOL_DEFAULT]

static inline int
BufferPoolNumber(const BufferPool *pool)
{
	return (int) (pool - BufferPools);
}

/*
 * [buf_id]: the number of the pool that the buffer belongs to.  NULL if there
 * is memory for DEFAULT only.  Written by members.c, with the buffer's header
 * locked.
 */
extern PGDLLIMPORT uint8 *BufferPoolNumbers;

/*
 * Has a buffer left DEFAULT since the server started?  Until then the numbers
 * need not be read.  Shared.  Set before the first move takes the pool's lock and
 * the buffer's header lock, and never reset: so whoever has had one of these since
 * sees it.
 */
extern PGDLLIMPORT bool *BufferPoolsDivided;

/*
 * The pool that this buffer belongs to.  It stays so while the caller has the
 * buffer pinned or its header locked.
 */
static inline BufferPool *
BufferPoolOf(int buf_id)
{
	return *BufferPoolsDivided ? &BufferPools[BufferPoolNumbers[buf_id]] :
		&DefaultBufferPool;
}

/* The pool that takes the place of all rings, or NULL. */
extern PGDLLIMPORT BufferPool *RecycleBufferPool;

/* Buffers that the pool has. */
static inline int
BufferPoolSize(const BufferPool *pool)
{
	return pg_atomic_read_u32(&pool->shared->buffers);
}

/*
 * Do pages that come in through this strategy reuse a ring of the pool's
 * buffers?  Those of large scans do not where the algorithm knows what scans
 * read.  VACUUM and bulk writes still do: a ring also lets them write what they
 * have changed themselves.
 */
static inline bool
BufferPoolUsesRing(const BufferPool *pool, BufferAccessStrategy strategy)
{
	if (pool->flags & TP_ASKS_SCANS)
		return IOContextForStrategy(strategy) != IOCONTEXT_BULKREAD;
	return (pool->flags & TP_TAKES_BULK) == 0;
}

/* Pools that may be named. */
static inline int
BufferPoolMostNamed(void)
{
	return BufferPoolsReserved() - (RecycleBufferPool != NULL ? 2 : 1);
}

/* Does an algorithm, rather than the clock, replace the pool's pages? */
static inline bool
BufferPoolHasAlgorithm(const BufferPool *pool)
{
	return pool->core.policy != NULL;
}

/* Does an algorithm replace the pages of any pool? */
extern PGDLLIMPORT bool BufferPoolActive;

#endif							/* BUFFERPOOL_POOL_H */
