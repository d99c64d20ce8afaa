/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  The pool's lock, and the time.
 *
 * src/backend/storage/bufferpool/lock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "portability/instr_time.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"

/*
 * Looks at a busy lock before this process sleeps: about the length of one
 * hold.  A sleeper is woken when the lock becomes free, but by then others
 * have taken it, so a lock held for half a microsecond would collect a convoy
 * of sleepers.  bench/lock_contention.py: 34 to 291 waits in a million
 * references with a lock for each hit, 14,000 to 109,000 without spinning.
 */
#define SPINS 100

/* Bits of an LWLock's state: held in any mode, by any process. */
#define LOCK_HELD_MASK ((uint32) ((MAX_BACKENDS + 1) | MAX_BACKENDS))

#ifdef BUFFERPOOL_TIME_LOCK
static instr_time held_since;
#define begin_hold() INSTR_TIME_SET_CURRENT(held_since)
#else
#define begin_hold() ((void) 0)
#endif

/* One must not wait for the lock while holding a mapping partition lock. */
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
	BufferPoolCount(pool, BUFFERPOOL_LOCKS);
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
	BufferPoolCount(pool, BUFFERPOOL_LOCKS);
	BufferPoolCount(pool, BUFFERPOOL_LOCK_WAITS);
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
	BufferPoolCountHold(pool, INSTR_TIME_GET_NANOSEC(held));
#endif
	LWLockRelease(&pool->shared->lock);
}

/* Microseconds on a clock that all processes share. */
uint64
BufferPoolNow(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/*
 * The same, where possible by a clock that is some milliseconds late and a tenth
 * of the price, for what comes with every hit.
 */
uint64
BufferPoolCoarseNow(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
#else
	return BufferPoolNow();
#endif
}
