/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  This process's reports to the algorithm, queued and committed together.
 *
 * BP-Wrapper (tidepool/batch.h): hits, pages that came in, evictions that were
 * not carried out.  The queue is committed in order under the pool's lock
 *
 *	  - when this process takes the lock anyway, to choose a victim;
 *	  - when it has bufferpool.batch_threshold entries and the lock is free;
 *	  - when it has bufferpool.batch_size entries, after waiting if necessary;
 *	  - a second after the process has gone idle, and when it ends.
 *
 * bufferpool.batch_size = 1 takes the lock for every hit.  Entries hold no
 * pins, so an entry that no longer applies at the commit is skipped.
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

/* Long enough that the short pauses of a busy session do not count as idle. */
#define IDLE_MILLISECONDS 1000

volatile	sig_atomic_t BufferPoolCommitPending = false;

static tp_batch queue;

/* ---- committing ---- */

static bool
is_in_buffer(void *arg, uint32 buf_id, tp_page page)
{
	return BufferHoldsPage(buf_id, page);
}

/* Prefetch what the commit will touch.  Called before the lock is taken. */
void
BufferPoolPrefetchQueue(BufferPool *pool)
{
	if (queue.count > 0 && pool->routine->prefetch != NULL)
		pool->routine->prefetch(pool, &queue);
}

/*
 * Commit the queue.  The caller holds the pool's lock.  access: the time, and
 * this process.
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

/* Discard the queue, because the pool was reset. */
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
 * The functions below may wait for the pool's lock, except
 * BufferPoolQueueWrite.  Their caller must hold neither a mapping lock nor a
 * header's, and should hold no lock that is in demand.
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
 * Queue that the page has become dirty.  The caller may hold the page's lock
 * or be in a critical section.  Never waits: a full queue drops the entry.
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
 * Called before a backend waits for its client's next command.  The timeout
 * stays set when the command comes, so a busy session sets it at most once a
 * second.
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

/* Called when the process ends.  It holds no locks. */
void
BufferPoolAtProcExit(void)
{
	BufferPoolAtEOXact();
	if (queue.count > 0)
		commit_now(&DefaultBufferPool);
}
