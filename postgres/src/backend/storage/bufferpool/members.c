/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Which buffers are in a pool, and how they move to another one.
 *
 * A buffer moves only while it has no page and nobody but the mover has it
 * pinned.  So whoever has a buffer pinned knows its pool, and a pool that
 * shrinks gives up the pages that its algorithm would evict next, and no other.
 *
 * A move takes the buffer from its pool like any miss does: from the pool's
 * freelist, or as the algorithm's victim, written if it is dirty.  Then it
 * leaves the one algorithm, changes its number, joins the other one, and goes
 * to that pool's freelist.  It never holds the locks of two pools.
 *
 * What other processes may still hold of the buffer:
 *	  - an entry in a queue for the old pool: dropped at the commit, which looks
 *		at the buffer's number under that pool's lock;
 *	  - a proposal, chosen without a lock: they find the buffer pinned, or in
 *		another pool (pin_proposal);
 *	  - a place in a scan's ring: GetBufferFromRing compares the pools.
 *
 * src/backend/storage/bufferpool/members.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/* ---- buffers without a page ---- */

/*
 * Put a buffer of a named pool on the pool's freelist, unless it is on it.
 * Called in critical sections.
 */
void
BufferPoolPushFree(BufferPool *pool, BufferDesc *buf)
{
	BufferPoolShared *shared = pool->shared;

	SpinLockAcquire(&shared->free_lock);
	if (buf->freeNext == FREENEXT_NOT_IN_LIST)
	{
		if (shared->first_free < 0)
			shared->last_free = buf->buf_id;
		buf->freeNext = shared->first_free;
		shared->first_free = buf->buf_id;
	}
	SpinLockRelease(&shared->free_lock);
}

/*
 * Append a buffer that has just joined, unless a reset has put it there.  Neighbours mostly join in the order of
 * their numbers, and will be taken in that order: a table that is loaded into
 * them is faster to scan than in the reverse order (by 5 %).
 */
static void
append_free(BufferPoolShared *shared, BufferDesc *buf)
{
	SpinLockAcquire(&shared->free_lock);
	if (buf->freeNext == FREENEXT_NOT_IN_LIST)
	{
		buf->freeNext = FREENEXT_END_OF_LIST;
		if (shared->first_free < 0)
			shared->first_free = buf->buf_id;
		else
			GetBufferDescriptor(shared->last_free)->freeNext = buf->buf_id;
		shared->last_free = buf->buf_id;
	}
	SpinLockRelease(&shared->free_lock);
}

static BufferDesc *
pop_free(BufferPoolShared *shared)
{
	BufferDesc *buf = NULL;

	SpinLockAcquire(&shared->free_lock);
	if (shared->first_free >= 0)
	{
		buf = GetBufferDescriptor(shared->first_free);
		shared->first_free = buf->freeNext;
		buf->freeNext = FREENEXT_NOT_IN_LIST;
	}
	SpinLockRelease(&shared->free_lock);
	return buf;
}

/*
 * Take a buffer off the freelist of a named pool and pin it; *buf_state is its
 * state just before.  NULL if there is none.  A buffer on the list may hold a
 * page again that could not be read before: it is no longer free.
 */
BufferDesc *
BufferPoolPopFree(BufferPool *pool, uint32 *buf_state)
{
	BufferDesc *buf;

	while (pool->shared->first_free >= 0 &&
		   (buf = pop_free(pool->shared)) != NULL)
	{
		*buf_state = LockBufHdr(buf);
		if (BUF_STATE_GET_REFCOUNT(*buf_state) == 0 &&
			(*buf_state & BM_VALID) == 0)
		{
			PinBuffer_Locked(buf);
			return buf;
		}
		UnlockBufHdr(buf, *buf_state);
	}
	return NULL;
}

/* Empty the freelists of the named pools. */
void
BufferPoolFreeNone(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
		while (pop_free(BufferPools[i].shared) != NULL)
			;
}

/* ---- moving ---- */

static void
leave(BufferPool *pool, int buf_id)
{
	tp_page		page;

	if (BufferPoolHasAlgorithm(pool))
	{
		BufferPoolLock(pool);
		/* a page that has gone unnoticed */
		if (BufferPoolKnowsPage(pool, buf_id, &page))
			tp_forget(&pool->core, buf_id);
		tp_leave(&pool->core, buf_id);
		BufferPoolUnlock(pool);
	}
	pg_atomic_fetch_sub_u32(&pool->shared->buffers, 1);
}

static void
join(BufferPool *pool, int buf_id)
{
	if (BufferPoolHasAlgorithm(pool))
	{
		BufferPoolLock(pool);
		tp_join_claimed(&pool->core, buf_id);
		BufferPoolUnlock(pool);
	}
	pg_atomic_fetch_add_u32(&pool->shared->buffers, 1);
}

/*
 * Move a buffer, which has no page and which only this process has pinned, to
 * another pool.  The caller holds BufferPoolMembersLock().
 */
static void
move(BufferDesc *buf, BufferPool *from, BufferPool *to)
{
	uint32		buf_state;

	Assert(buf->freeNext == FREENEXT_NOT_IN_LIST);
	if (!*BufferPoolsDivided)
		*BufferPoolsDivided = true;
	leave(from, buf->buf_id);
	buf_state = LockBufHdr(buf);
	BufferPoolNumbers[buf->buf_id] = BufferPoolNumber(to);
	UnlockBufHdr(buf, buf_state);
	join(to, buf->buf_id);
}

/*
 * Move up to count buffers from one pool to another.  Returns how many it
 * moved; fewer if the others are pinned.  Writes dirty pages; may wait for
 * content locks and I/O.  Can be interrupted between two buffers: no buffer is
 * then in no pool, or in two.
 *
 * The caller holds no lock but heavyweight ones, and has a resource owner.
 */
int
BufferPoolMove(BufferPool *from, BufferPool *to, int count)
{
	int			moved = 0;

	while (moved < count)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = TakeBufferFromPool(from);
		if (!BufferIsValid(buffer))
			break;
		LWLockAcquire(BufferPoolMembersLock(), LW_EXCLUSIVE);
		move(GetBufferDescriptor(buffer - 1), from, to);
		BufferPoolRecordMoved(BufferPoolNumber(from), BufferPoolNumber(to));
		LWLockRelease(BufferPoolMembersLock());
		if (to != &DefaultBufferPool)
			append_free(to->shared, GetBufferDescriptor(buffer - 1));
		ReleaseBuffer(buffer);
		if (to == &DefaultBufferPool)
			StrategyFreeBuffer(GetBufferDescriptor(buffer - 1));
		moved++;
	}
	return moved;
}
