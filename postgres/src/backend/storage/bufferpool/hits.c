/*-------------------------------------------------------------------------
 *
 * hits.c
 *	  How an algorithm learns of references to resident pages.
 *
 * An algorithm whose hit is lock-free is told at once, unless it has not been
 * told yet that the page came in.  For any other the hit is queued (queue.c).
 *
 * src/backend/storage/bufferpool/hits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/xact.h"
#include "storage/bufferpool_internals.h"

/* The page that this process referenced last, and in which statement. */
static tp_page last_page;
static TimestampTz last_statement;

/*
 * Note a reference.  Returns whether it repeats the previous one: a statement
 * that returns to the same page again and again has referenced it once.
 */
static inline bool
repeats(tp_page page)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	bool		same = tp_page_equal(page, last_page) &&
		statement == last_statement;

	last_page = page;
	last_statement = statement;
	return same;
}

/* This process has brought in a page: that is a reference, too. */
void
BufferPoolReferenced(tp_page page)
{
	(void) repeats(page);
}

/*
 * As BufferPoolNow, but some milliseconds late where that is cheaper: a tenth
 * of the price, which is paid for each hit.
 */
static inline uint64
coarse_now(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
#else
	return BufferPoolNow();
#endif
}

/*
 * A page was found in this buffer, which the caller has pinned and had not
 * pinned before.  No locks are needed; the caller should hold none that others
 * may want badly, since this may wait for the pool's.
 */
void
BufferPoolHit(BufferDesc *buf, IOContext io_context)
{
	BufferPool *pool = &DefaultBufferPool;
	uint32		wants = BufferPoolActive() ? pool->flags :
		BUFFERPOOL_HIT_NOTHING;
	uint32		flags = BufferPoolAccessFlags(io_context);
	tp_page		page;
	tp_page		known;

	if ((wants & BUFFERPOOL_HIT_NOTHING) && !BufferPoolRecording())
		return;
	page = BufferTagPage(&buf->tag);
	if (repeats(page))
		flags |= TP_CORRELATED;
	if (BufferPoolRecording())
		BufferPoolRecordReference(&buf->tag, RECORD_READ, flags | RECORD_HIT);
	if (wants & BUFFERPOOL_HIT_NOTHING)
		return;
	if ((flags & (TP_CORRELATED | TP_VACUUM)) && !(wants & BUFFERPOOL_COUNTS_ALL))
	{
		BufferPoolCount(flags & TP_VACUUM ? BUFFERPOOL_VACUUMED :
						BUFFERPOOL_CORRELATED);
		return;
	}
	if (!(wants & BUFFERPOOL_HIT_LOCK_FREE))
		BufferPoolQueueHit(pool, buf->buf_id, page, flags);
	else if (pool->routine->page_of(pool, buf->buf_id, &known))
	{
		tp_access	access = BufferPoolAccessAt(wants & BUFFERPOOL_USES_TIME ?
												coarse_now() : 0, flags);

		pool->routine->hit(pool, buf->buf_id, &access);
	}
	else if (!(wants & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueHit(pool, buf->buf_id, page, flags);
}

/*
 * The page in this buffer, which the caller has pinned and locked, was not
 * dirty and is now.  May be called in a critical section.
 */
void
BufferPoolDirtied(BufferDesc *buf)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_page		known;

	if ((pool->flags & BUFFERPOOL_HIT_LOCK_FREE) &&
		pool->routine->page_of(pool, buf->buf_id, &known))
	{
		tp_access	access = BufferPoolAccessAt(0, TP_WRITE | TP_DIRTIED);

		pool->routine->hit(pool, buf->buf_id, &access);
	}
	else if (!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueWrite(buf->buf_id, BufferTagPage(&buf->tag));
}
