/*-------------------------------------------------------------------------
 *
 * reset.c
 *	  The pool as it was when the server was started: no page in any buffer,
 *	  an algorithm that has seen nothing.
 *
 * For experiments: what happens from here on depends on nothing that was
 * before, so that a recording, replayed from empty buffers, meets what the
 * server met.  To evict all pages would not do, since algorithms remember
 * evicted pages and what they have learned of them.
 *
 * Why this may be done beside other processes.  While all mapping locks are
 * held no page can come in or leave.  If then no buffer with a page is pinned,
 * every process is at one of these places:
 *
 *	  - It has no buffer.  What it does next waits for one of the locks.
 *	  - It has claimed a buffer, which holds no page.  It will wait for a
 *		mapping lock before it tells of a new page, and finds the buffer free
 *		as it was.  If the algorithm still knew of a page that had ceased to
 *		exist, it may be about to make it forget that; so it looks again
 *		under the pool's lock (BufferPoolClaimed).
 *	  - It has queued hits.  They are skipped, unless their page has come back
 *		to its buffer.  It may be prefetching for them without a lock, which
 *		bears with whatever it reads.
 *
 * A process that tells of an eviction holds the mapping lock of the page, one
 * that tells of an admission or a lock-free hit has the page pinned: neither
 * can be under way.
 *
 * src/backend/storage/bufferpool/reset.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/* The checkpointer, say, has a buffer pinned for an instant only. */
#define MAX_TRIES 10
#define PAUSE_MICROSECONDS 10000

static void
lock_mapping(void)
{
	for (int i = 0; i < NUM_BUFFER_PARTITIONS; i++)
		LWLockAcquire(BufMappingPartitionLockByIndex(i), LW_EXCLUSIVE);
}

static void
unlock_mapping(void)
{
	for (int i = NUM_BUFFER_PARTITIONS - 1; i >= 0; i--)
		LWLockRelease(BufMappingPartitionLockByIndex(i));
}

/*
 * Remove the page, if any, from this buffer, as InvalidateBuffer does.  All
 * mapping locks are held.  Returns false if the buffer is pinned or dirty.
 */
static bool
drop_page(BufferDesc *buf)
{
	uint32		buf_state = LockBufHdr(buf);
	bool		has_page = (buf_state & BM_TAG_VALID) != 0;
	BufferTag	tag = buf->tag;

	if (BUF_STATE_GET_REFCOUNT(buf_state) != 0 || (buf_state & BM_DIRTY))
	{
		UnlockBufHdr(buf, buf_state);
		return false;
	}
	BufferPoolRecordLeaves(buf);
	ClearBufferTag(&buf->tag);
	UnlockBufHdr(buf, buf_state & ~(BUF_FLAG_MASK | BUF_USAGECOUNT_MASK));
	if (has_page)
	{
		BufTableDelete(&tag, BufTableHashCode(&tag));
		StrategyFreeBuffer(buf);
	}
	return true;
}

/*
 * One try.  Returns the number of buffers that could not be emptied; unless it
 * is 0 no more has happened than that others were.
 */
static int
try_reset(BufferPool *pool)
{
	int			in_use = 0;

	lock_mapping();
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
		in_use += !drop_page(GetBufferDescriptor(buf_id));
	if (in_use == 0)
	{
		if (BufferPoolActive())
		{
			BufferPoolLock(pool);
			pool->routine->reset(pool);
			BufferPoolUnlock(pool);
		}
		StrategyReset();
	}
	unlock_mapping();
	return in_use;
}

/*
 * Write what is dirty, empty all buffers, and begin anew with the algorithm,
 * the freelist and the clock.  An error if buffers stay pinned, this process's
 * own among them, or are dirtied all the time.  The caller holds no locks but
 * heavyweight ones.  Nobody can find or bring in a page while it is done.
 */
void
BufferPoolReset(void)
{
	int			in_use = 0;

	for (int i = 0; i < MAX_TRIES; i++)
	{
		int32		evicted;
		int32		flushed;
		int32		skipped;

		if (i > 0)
			pg_usleep(PAUSE_MICROSECONDS);
		EvictAllUnpinnedBuffers(&evicted, &flushed, &skipped);
		in_use = try_reset(&DefaultBufferPool);
		if (in_use == 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("shared buffers are in use"),
			 errdetail_plural("%d buffer is pinned, or was modified meanwhile.",
							  "%d buffers are pinned, or were modified meanwhile.",
							  in_use, in_use),
			 errhint("Close cursors and wait until other sessions are idle.")));
}
