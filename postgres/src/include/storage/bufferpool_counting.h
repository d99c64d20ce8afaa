/*-------------------------------------------------------------------------
 *
 * bufferpool_counting.h
 *	  Counting, for each buffer pool.
 *
 * src/include/storage/bufferpool_counting.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_COUNTING_H
#define BUFFERPOOL_COUNTING_H

#include "portability/instr_time.h"
#include "storage/bufferpool_advice.h"
#include "storage/bufferpool_pool.h"

/* stats.c */
extern int	BufferPoolProcessCount(void);
extern Size BufferPoolStatsShmemSize(void);
extern void BufferPoolStatsShmemInit(void);
extern void BufferPoolStatsInitProcess(void);
extern void BufferPoolInitCounters(BufferPoolShared *shared);
extern void BufferPoolAddCounters(BufferPool *pool);
extern void BufferPoolAddAllCounters(void);
extern bool BufferPoolHasCounted(void);
extern void BufferPoolReadCounters(BufferPool *pool, BufferPoolCounters *sums,
								   TimestampTz *stats_reset);
extern void BufferPoolResetCounters(BufferPool *pool);
extern uint32 BufferPoolPending(const BufferPool *pool);
#ifdef BUFFERPOOL_TIME_LOCK
extern void BufferPoolCountHold(BufferPool *pool, uint64 nanoseconds);
extern uint64 BufferPoolHoldBinStart(int bin);
#endif

/* How many buffers' pages this process has yet to report to the algorithm. */
static inline void
BufferPoolSetPending(const BufferPool *pool, uint32 entries)
{
	if (pool->pending != NULL)
		*pool->pending = entries;
}

/*
 * Events of one kind after which a process adds its counts to the totals,
 * which so lag behind a busy process.  Chosen, not measured: at 256 one event
 * in 256 writes shared cache lines; with more the totals lag further.
 */
#define BUFFERPOOL_COUNTED_MAX 256

static inline void
BufferPoolCountMany(BufferPool *pool, BufferPoolCounter counter, uint64 events)
{
	pool->counted.count[counter] += events;
}

static inline void
BufferPoolCount(BufferPool *pool, BufferPoolCounter counter)
{
	pool->counted.count[counter]++;
}

/* Count what happens at each reference or miss, and add up now and then. */
static inline void
BufferPoolCountOften(BufferPool *pool, BufferPoolCounter counter)
{
	if (unlikely(++pool->counted.count[counter] >= BUFFERPOOL_COUNTED_MAX))
		BufferPoolAddCounters(pool);
}

/*
 * Count a reference to a page of the pool if the advisor takes them now.  Returns
 * whether it does.
 */
static inline bool
BufferPoolCountOffered(BufferPool *pool)
{
	if (BufferPoolSampleRates[BufferPoolNumber(pool)] == 0)
		return false;
	BufferPoolCount(pool, BUFFERPOOL_OFFERED);
	return true;
}

extern void BufferPoolAddTime(Buffer buffer, BufferPoolCounter counter,
							  instr_time start);

/*
 * Count the time since start, which is zero if nobody wants to know, for the
 * pool of a buffer that this process has pinned.
 */
static inline void
BufferPoolCountTime(Buffer buffer, BufferPoolCounter counter, instr_time start)
{
	if (unlikely(!INSTR_TIME_IS_ZERO(start)))
		BufferPoolAddTime(buffer, counter, start);
}

#endif							/* BUFFERPOOL_COUNTING_H */
