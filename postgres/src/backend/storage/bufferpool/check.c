/*-------------------------------------------------------------------------
 *
 * check.c
 *	  Verification of what the replacement algorithm knows.
 *
 * src/backend/storage/bufferpool/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Compare what the algorithm knows of a buffer with the buffer.  Whoever has
 * it pinned may be about to tell of a change, so only unpinned buffers count;
 * a page that ceased to exist unnoticed is no violation.
 *
 * A buffer whose page the algorithm does not know is one that has been told of
 * too little yet; *untold counts them.
 */
static int
check_buffer(BufferPool *pool, int buf_id, uint32 *untold, tp_report report,
			 void *arg)
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
	if (++*untold <= BufferPoolPending())
		return 0;
	return tp_expect(false, "algorithm does not know the page in the buffer",
					 buf_id, report, arg);
}

/*
 * Verify what the algorithm knows of these buffers.  Returns the number of
 * violations, each of which report is told; it is called under the lock, which
 * is held for all of them.
 *
 * Pages that processes have yet to tell of are no violations, as many as there
 * are; which ones they are is not known.
 */
int
BufferPoolCheckBuffers(int first, int count, tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
	uint32		untold = 0;
	int			bad = 0;

	BufferPoolLock(pool);
	BufferPoolCommitQueue(pool, &access);
	for (int buf_id = first; buf_id < first + count; buf_id++)
		bad += check_buffer(pool, buf_id, &untold, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}

/*
 * Verify the algorithm's own state, likewise.  That cannot be done in parts:
 * the lock is held as long as it takes to look at all of it.
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
