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
	bool		has_page = pool->routine->page_of(pool, buf_id, &known);

	UnlockBufHdr(buf, buf_state);
	if (BUF_STATE_GET_REFCOUNT(buf_state) != 0 || !(buf_state & BM_TAG_VALID) ||
		(has_page && tp_page_equal(page, known)))
		return 0;
	if (++*unreported <= BufferPoolPending())
		return 0;
	return tp_expect(false, "algorithm does not know the page in the buffer",
					 buf_id, report, arg);
}

/*
 * Verify the algorithm's record of these buffers.  Returns the number of
 * violations, and calls report for each.  The pool's lock is held throughout,
 * also while report runs.
 *
 * A page that its process has yet to report is not a violation.  The number of
 * such pages is known, but not which they are.
 */
int
BufferPoolCheckBuffers(int first, int count, tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
	uint32		unreported = 0;
	int			bad = 0;

	BufferPoolLock(pool);
	BufferPoolCommitQueue(pool, &access);
	for (int buf_id = first; buf_id < first + count; buf_id++)
		bad += check_buffer(pool, buf_id, &unreported, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}

/*
 * Verify the algorithm's own state, likewise.  It cannot be verified in parts:
 * the lock is held until all of it has been checked.
 */
int
BufferPoolCheckAlgorithm(tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	int			bad;

	BufferPoolLock(pool);
	bad = pool->routine->check(pool, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}
