/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  What this process has to tell the algorithm, queued and told together.
 *
 * BP-Wrapper (tidepool/batch.h): hits, pages that have come in, evictions that
 * were not carried out.  They are committed in their order under the pool's
 * lock
 *
 *	  - when this process has the lock anyway, to choose a victim;
 *	  - when bufferpool.batch_threshold of them have come together and the lock
 *		is free, or bufferpool.batch_size have, whether it is free or not;
 *	  - a second after the process has gone idle, and when it ends.
 *
 * bufferpool.batch_size = 1 is the lock for every hit.  No pin is kept for an
 * entry: what is not so any more when it is told is skipped.
 *
 * src/backend/storage/bufferpool/queue.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/latch.h"
#include "utils/timeout.h"

/* Long enough that a busy session is not disturbed by its pauses. */
#define IDLE_MILLISECONDS 1000

volatile	sig_atomic_t BufferPoolCommitPending = false;

static tp_batch queue;

/* ---- committing ---- */

/* Without the header's lock: what changes now, its process tells of later. */
static bool
is_in_buffer(void *arg, uint32 buf_id, tp_page page)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);

	return (pg_atomic_read_u32(&buf->state) & BM_TAG_VALID) != 0 &&
		tp_page_equal(BufferTagPage(&buf->tag), page);
}

/* Before the lock is taken: load into the cache what the commit will touch. */
void
BufferPoolPrefetchQueue(BufferPool *pool)
{
	if (queue.count > 0 && pool->routine->prefetch != NULL)
		pool->routine->prefetch(pool, &queue);
}

/*
 * The caller holds the pool's lock; access tells the time, and who this is.
 */
void
BufferPoolCommitQueue(BufferPool *pool, const tp_access *access)
{
	uint32		forgotten = queue.forgotten;

	if (queue.count == 0)
		return;
	BufferPoolCount(BUFFERPOOL_BATCHES);
	MyBufferPoolCounters->count[BUFFERPOOL_BATCHED_HITS] += queue.count;
	MyBufferPoolCounters->count[BUFFERPOOL_STALE_HITS] +=
		pool->routine->commit(pool, &queue, access, is_in_buffer, NULL);
	MyBufferPoolCounters->count[BUFFERPOOL_FORGOTTEN] +=
		queue.forgotten - forgotten;
	*MyBufferPoolPending = 0;
}

/* The pool begins anew: what is queued is of no interest any more. */
void
BufferPoolDropQueue(void)
{
	queue.count = 0;
	queue.frames = 0;
	*MyBufferPoolPending = 0;
}

static void
commit_under_lock(BufferPool *pool)
{
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);

	BufferPoolCommitQueue(pool, &access);
	BufferPoolUnlock(pool);
}

static void
commit_now(BufferPool *pool)
{
	BufferPoolPrefetchQueue(pool);
	BufferPoolLock(pool);
	commit_under_lock(pool);
}

static void
commit_if_due(BufferPool *pool, tp_batch_due due)
{
	*MyBufferPoolPending = queue.frames;
	switch (due)
	{
		case TP_BATCH_QUEUED:
			return;
		case TP_BATCH_TRY:
			BufferPoolPrefetchQueue(pool);
			if (!BufferPoolTryLock(pool))
			{
				BufferPoolCount(BUFFERPOOL_TRY_FAILURES);
				return;
			}
			commit_under_lock(pool);
			return;
		case TP_BATCH_FULL:
			commit_now(pool);
			return;
	}
}

/* ---- queueing ---- */

/*
 * The caller of these holds no lock that others may want badly, since they may
 * wait for the pool's; and no mapping lock and no header's.
 */
void
BufferPoolQueueHit(BufferPool *pool, int buf_id, tp_page page, uint32 flags)
{
	tp_batch_due due = tp_batch_add(&queue, buf_id, page, flags,
									bufferpool_batch_threshold,
									bufferpool_batch_size);

	if (due != TP_BATCH_QUEUED)
		commit_if_due(pool, due);
}

/*
 * The page has become dirty.  For callers that hold the page's lock, or are in
 * a critical section: waits for nothing, so the entry is left out if there is
 * no room.
 */
void
BufferPoolQueueWrite(int buf_id, tp_page page)
{
	if (queue.count < TP_BATCH_MAX - 1)
		(void) tp_batch_add(&queue, buf_id, page, TP_WRITE | TP_DIRTIED,
							TP_BATCH_MAX, TP_BATCH_MAX);
}

void
BufferPoolQueueAdmission(BufferPool *pool, int buf_id, tp_page page,
						 uint32 flags)
{
	commit_if_due(pool, tp_batch_admit(&queue, buf_id, page, flags,
									   bufferpool_batch_threshold,
									   bufferpool_batch_size));
}

void
BufferPoolQueueRestoration(BufferPool *pool, int buf_id, tp_page page)
{
	commit_if_due(pool, tp_batch_restore(&queue, buf_id, page,
										 bufferpool_batch_threshold,
										 bufferpool_batch_size));
}

/* ---- going idle, and the end ---- */

static void
handle_timeout(void)
{
	BufferPoolCommitPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/*
 * A backend is about to wait for its client's next command.  The timeout stays
 * set when that comes, so that a busy session sets it once a second at most.
 */
void
BufferPoolBeforeIdle(void)
{
	static TimeoutId timeout = MAX_TIMEOUTS;

	if (queue.count == 0)
		return;
	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, handle_timeout);
	if (!get_timeout_active(timeout))
		enable_timeout_after(timeout, IDLE_MILLISECONDS);
}

void
ProcessBufferPoolCommitInterrupt(void)
{
	BufferPoolCommitPending = false;
	if (queue.count > 0)
		commit_now(&DefaultBufferPool);
}

/* The process ends; it holds no locks. */
void
BufferPoolAtProcExit(void)
{
	BufferPoolAtEOXact();
	if (queue.count > 0)
		commit_now(&DefaultBufferPool);
}
