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
 * Why this may be done beside other processes.  While the pool's lock and all
 * mapping locks are held no page can come in or leave, and no algorithm that
 * needs the lock is asked or told anything.  If then no buffer is pinned, every
 * process is at one of these places:
 *
 *	  - It has no buffer.  What it does next waits for one of the locks, or is
 *		a choice without a lock, of a buffer that is claimed again by then.
 *	  - It is about to pin a buffer that it has been proposed without a lock,
 *		or has taken off the freelist.  It will find no page in it, and wait
 *		for a mapping lock before it has one to tell of.
 *	  - It has something queued.  That is skipped, unless the page has come
 *		back to its buffer.  It may be prefetching for it without a lock, which
 *		bears with whatever it reads.
 *
 * A process that has chosen a buffer has it pinned until it is taken or kept,
 * one that tells of an admission or of a lock-free hit has the page pinned:
 * neither can be under way.
 *
 * Nobody waits for the pool's lock with a mapping lock, so the order in which
 * they are taken here cannot deadlock.
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
 * One try.  Returns false if it met a buffer that is in use; then no more has
 * happened than that the buffers before it were emptied.
 */
static bool
try_reset(BufferPool *pool)
{
	bool		done = true;

	if (BufferPoolActive())
		BufferPoolLock(pool);
	lock_mapping();
	for (int buf_id = 0; buf_id < NBuffers && done; buf_id++)
		done = drop_page(GetBufferDescriptor(buf_id));
	if (done)
	{
		if (BufferPoolActive())
		{
			pool->routine->reset(pool);
			pg_atomic_fetch_add_u32(&pool->shared->resets, 1);
			BufferPoolDropQueue();
		}
		StrategyReset();
	}
	unlock_mapping();
	if (BufferPoolActive())
		BufferPoolUnlock(pool);
	return done;
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
	for (int i = 0; i < MAX_TRIES; i++)
	{
		int32		evicted;
		int32		flushed;
		int32		skipped;

		if (i > 0)
			pg_usleep(PAUSE_MICROSECONDS);
		CHECK_FOR_INTERRUPTS();
		EvictAllUnpinnedBuffers(&evicted, &flushed, &skipped);
		if (try_reset(&DefaultBufferPool))
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("shared buffers are in use"),
			 errdetail("A buffer is pinned, or was modified meanwhile."),
			 errhint("Close cursors and wait until other sessions are idle.")));
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
