/*-------------------------------------------------------------------------
 *
 * walk.h
 *	  Walk over the lists of a pool.
 *
 * contrib/pg_bufferpool/walk.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_BUFFERPOOL_WALK_H
#define PG_BUFFERPOOL_WALK_H

#include "storage/bufferpool_internals.h"

/*
 * Buffers for which the pool's lock is held at a time.  Between slices other
 * processes can take it, and interrupts are checked.  At what LOOKS_PER_HOLD
 * (cleaner.c) was measured to take, that is under 0.2 ms.  The number itself is
 * chosen, not measured: with fewer, a walk loses its place more often.
 */
#define SLICE 1000

/*
 * Walk over the lists of a pool with an algorithm.  take gets each entry, at most
 * SLICE of them under the pool's lock, so it must neither allocate nor fail;
 * end_slice is called after each slice, without the lock.
 */
extern void WalkBufferPoolLists(BufferPool *pool, BufferPoolListCallback take,
								void (*end_slice) (void *arg), void *arg);

#endif							/* PG_BUFFERPOOL_WALK_H */
