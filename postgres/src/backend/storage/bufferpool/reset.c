/*-------------------------------------------------------------------------
 *
 * reset.c
 *	  Return the pools to their state at server start: empty buffers, and
 *	  algorithms that have seen nothing.
 *
 * For experiments: what follows does not depend on the past, so a recording
 * replayed from empty buffers reproduces what the server did.  Evicting all
 * pages would not be enough, because algorithms remember evicted pages and
 * what they have learned of them.
 *
 * Why this is safe while other processes run.  While the pools' locks and all
 * mapping locks are held, no page can come in or leave, and no algorithm that
 * needs the lock is called.  If no buffer is pinned then, every process is in
 * one of these states:
 *
 *	  - It has no buffer.  Its next step waits for one of the locks, or is a
 *		choice without a lock, of a buffer that is claimed again by then.
 *	  - It is about to pin a buffer that was proposed to it without a lock, or
 *		that it has taken off the freelist.  It will find no page in it, and
 *		wait for a mapping lock before it has a page to report.
 *	  - It has entries queued.  They are skipped, unless the page has come back
 *		to its buffer.  It may be prefetching for them without a lock, which
 *		tolerates whatever it reads.
 *
 * A process that has chosen a buffer has it pinned until the buffer is taken
 * or kept; one that reports an admission or a lock-free hit has the page
 * pinned.  So none of these can be under way.
 *
 * Taking the locks in this order cannot deadlock, because no process waits for
 * a pool's lock while holding a mapping lock.
 *
 * src/backend/storage/bufferpool/reset.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Others (the checkpointer, say) may have a buffer pinned for an instant.  The
 * pauses take less than a tenth of a second in all.
 */
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

static void
lock_pools(void)
{
	LWLockAcquire(BufferPoolMembersLock(), LW_EXCLUSIVE);
	for (int i = 0; i < BufferPoolsReserved(); i++)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			BufferPoolLock(&BufferPools[i]);
}

static void
unlock_pools(void)
{
	for (int i = BufferPoolsReserved() - 1; i >= 0; i--)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			BufferPoolUnlock(&BufferPools[i]);
	LWLockRelease(BufferPoolMembersLock());
}

static void
begin_pools(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPool *pool = &BufferPools[i];

		if (!BufferPoolHasAlgorithm(pool))
			continue;
		BufferPoolBegin(pool);
		pg_atomic_fetch_add_u32(&pool->shared->resets, 1);
		BufferPoolDropQueue(pool);
	}
}

/*
 * Try once.  Returns false at the first buffer in use; then only the buffers
 * before it have been emptied, and nothing else has changed.
 */
static bool
try_reset(void)
{
	bool		done = true;

	lock_pools();
	lock_mapping();
	for (int buf_id = 0; buf_id < NBuffers && done; buf_id++)
		done = drop_page(GetBufferDescriptor(buf_id));
	if (done)
	{
		begin_pools();
		BufferPoolForgetScans();
		StrategyReset();
	}
	unlock_mapping();
	unlock_pools();
	return done;
}

/*
 * Write dirty pages, empty all buffers, and reset the algorithm, the freelist
 * and the clock.  Raises an error if buffers stay pinned, by this process or
 * others, or keep being dirtied.  The caller may hold only heavyweight locks.
 * While each try runs, no process can find or bring in a page.
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
		if (try_reset())
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("shared buffers are in use"),
			 errdetail("A buffer is pinned or has been modified concurrently."),
			 errhint("Close cursors and wait until other sessions are idle.")));
}
