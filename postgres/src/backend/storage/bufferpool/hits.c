/*-------------------------------------------------------------------------
 *
 * hits.c
 *	  How an algorithm learns of references to resident pages.
 *
 * An algorithm whose hit is lock-free is told at once.  For any other the hit
 * is queued in this process and committed with others under the pool's lock
 * (BP-Wrapper; tidepool/batch.h): when bufferpool.batch_threshold have come
 * together and the lock is free, when bufferpool.batch_size have, or when
 * this process takes the lock to find a victim.  bufferpool.batch_size = 1 is
 * the lock for every hit.
 *
 * No pin is kept for a queued hit, and the queue is not emptied when the
 * process ends: a few lost hits cost nothing.
 *
 * src/backend/storage/bufferpool/hits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufferpool_internals.h"

static tp_batch queue;

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

/* Before the lock is taken: load into the cache what the commit will touch. */
void
BufferPoolPrefetchHits(BufferPool *pool)
{
	if (queue.count > 0 && pool->routine->prefetch != NULL)
		pool->routine->prefetch(pool, &queue);
}

/* The caller holds the pool's lock. */
void
BufferPoolCommitHits(BufferPool *pool)
{
	tp_access	access;

	if (queue.count == 0)
		return;
	access = BufferPoolAccess(IOCONTEXT_NORMAL);
	BufferPoolCount(BUFFERPOOL_BATCHES);
	MyBufferPoolCounters->count[BUFFERPOOL_BATCHED_HITS] += queue.count;
	MyBufferPoolCounters->count[BUFFERPOOL_STALE_HITS] +=
		pool->routine->commit(pool, &queue, &access);
}

static void
queue_hit(BufferPool *pool, int buf_id, tp_page page, uint32 flags)
{
	switch (tp_batch_add(&queue, buf_id, page, flags,
						 bufferpool_batch_threshold, bufferpool_batch_size))
	{
		case TP_BATCH_QUEUED:
			return;
		case TP_BATCH_TRY:
			BufferPoolPrefetchHits(pool);
			if (!LWLockConditionalAcquire(&pool->shared->lock, LW_EXCLUSIVE))
			{
				BufferPoolCount(BUFFERPOOL_TRY_FAILURES);
				return;
			}
			BufferPoolCount(BUFFERPOOL_LOCKS);
			break;
		case TP_BATCH_FULL:
			BufferPoolLock(pool);
			break;
	}
	BufferPoolCommitHits(pool);
	BufferPoolUnlock(pool);
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
	uint32		wants = BufferPoolActive() ? pool->routine->flags :
		BUFFERPOOL_HIT_NOTHING;
	tp_access	access = {0};
	tp_page		page;

	if ((wants & BUFFERPOOL_HIT_NOTHING) && !BufferPoolRecording())
		return;
	page = BufferTagPage(&buf->tag);
	if (repeats(page))
		access.flags |= TP_CORRELATED;
	if (io_context == IOCONTEXT_VACUUM)
		access.flags |= TP_VACUUM;
	if (io_context == IOCONTEXT_BULKREAD)
		access.flags |= TP_SEQUENTIAL;
	if (BufferPoolRecording())
		BufferPoolRecordReference(&buf->tag, RECORD_READ,
								  access.flags | RECORD_HIT);
	if (wants & BUFFERPOOL_HIT_NOTHING)
		return;
	if (!tp_promotes(&access) && !(wants & BUFFERPOOL_COUNTS_ALL))
	{
		BufferPoolCount(access.flags & TP_VACUUM ? BUFFERPOOL_VACUUMED :
						BUFFERPOOL_CORRELATED);
		return;
	}
	if (wants & BUFFERPOOL_HIT_LOCK_FREE)
	{
		access.backend = MyProcNumber;
		if (wants & BUFFERPOOL_USES_TIME)
			access.now = BufferPoolNow();
		pool->routine->hit(pool, buf->buf_id, &access);
	}
	else
		queue_hit(pool, buf->buf_id, page, access.flags);
}
