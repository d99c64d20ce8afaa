/*-------------------------------------------------------------------------
 *
 * check.c
 *	  Verification of the replacement algorithm's state.
 *
 * src/backend/storage/bufferpool/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Compare the algorithm's record of a buffer with the buffer.  Pinned buffers
 * are skipped, since a process that pins one may be about to report a change.
 * A page that ceased to exist unnoticed is not a violation.
 *
 * *unreported counts the buffers whose page the algorithm does not know.  They
 * are violations only if processes have fewer reports queued.
 */
static int
check_buffer(BufferPool *pool, int buf_id, uint32 *unreported,
			 tp_report report, void *arg)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = LockBufHdr(buf);
	tp_page		page = BufferTagPage(&buf->tag);
	tp_page		known;
	bool		has_page = BufferPoolKnowsPage(pool, buf_id, &known);

	UnlockBufHdr(buf, buf_state);
	if (BUF_STATE_GET_REFCOUNT(buf_state) != 0 || !(buf_state & BM_TAG_VALID) ||
		(has_page && tp_page_equal(page, known)))
		return 0;
	if (++*unreported <= BufferPoolPending(pool) || BufferPoolIsSwitching(pool))
		return 0;
	return tp_expect(false, "algorithm does not know the page in the buffer",
					 buf_id, report, arg);
}

/*
 * Verify the algorithm's record of those of these buffers that are in the pool.
 * Returns the number of
 * violations, and calls report for each.  The pool's lock is held throughout,
 * also while report runs.
 *
 * A page that its process has yet to report is not a violation.  The number of
 * such pages is known, but not which they are.
 */
int
BufferPoolCheckBuffers(BufferPool *pool, int first, int count,
					   tp_report report, void *arg)
{
	uint32		unreported = 0;
	int			bad = 0;

	if (!BufferPoolHasAlgorithm(pool))
		return 0;				/* it has lost it since the caller asked */
	BufferPoolLock(pool);
	BufferPoolReportQueue(pool, false);
	for (int buf_id = first; buf_id < first + count; buf_id++)
		if (BufferPoolOf(buf_id) == pool)
			bad += check_buffer(pool, buf_id, &unreported, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}

/*
 * A page that ceased to exist, and was read into another buffer since, may have
 * a ghost from there while its old buffer still counts as resident.  So may a
 * page that has come back and is not reported yet.  *all_reported: there is no
 * such page.
 */
static bool
holds_page(void *all_reported, uint32 buf_id, tp_page page)
{
	return *(bool *) all_reported && BufferHoldsPage(buf_id, page);
}

/*
 * Verify the algorithm's own state, likewise.  It cannot be verified in parts:
 * the lock is held until all of it has been checked.
 */
int
BufferPoolCheckAlgorithm(BufferPool *pool, tp_report report, void *arg)
{
	bool		all_reported;
	int			bad;

	if (!BufferPoolHasAlgorithm(pool))
		return 0;
	BufferPoolLock(pool);
	all_reported = BufferPoolPending(pool) == 0;
	bad = tp_check(&pool->core, holds_page, &all_reported, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}

/*
 * Verify that each pool has as many buffers as it counts.  Buffers that move
 * meanwhile wait.
 */
int
BufferPoolCheckMembers(tp_report report, void *arg)
{
	int			counts[BUFFERPOOL_NUMBERS] = {0};
	int			bad = 0;

	LWLockAcquire(BufferPoolMembersLock(), LW_SHARED);
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
		counts[BufferPoolNumber(BufferPoolOf(buf_id))]++;
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		const BufferPool *pool = &BufferPools[i];

		bad += tp_expect(counts[i] == BufferPoolSize(pool),
						 "pool counts another number of buffers", i, report,
						 arg);
		if (BufferPoolHasAlgorithm(pool))
			bad += tp_expect(counts[i] == pool->core.header->frames,
							 "algorithm has another number of buffers", i,
							 report, arg);
	}
	LWLockRelease(BufferPoolMembersLock());
	return bad;
}
