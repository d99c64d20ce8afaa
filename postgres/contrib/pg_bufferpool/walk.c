/*-------------------------------------------------------------------------
 *
 * walk.c
 *	  Walk over the lists of a pool.
 *
 * contrib/pg_bufferpool/walk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "walk.h"

void
WalkBufferPoolLists(BufferPool *pool, BufferPoolListCallback take,
					void (*end_slice) (void *arg), void *arg)
{
	BufferPoolListWalk walk = {0};
	bool		more = true;

	walk.shown = palloc_extended(NBuffers * sizeof(bool),
								 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		if (!BufferPoolHasAlgorithm(pool))
			break;				/* it is being changed */
		BufferPoolLock(pool);
		BufferPoolReportQueue(pool, false);
		more = BufferPoolShowLists(pool, &walk, SLICE, take, arg);
		BufferPoolUnlock(pool);
		end_slice(arg);
	}
	pfree(walk.shown);
}
