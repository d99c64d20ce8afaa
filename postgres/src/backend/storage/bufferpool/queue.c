/*-------------------------------------------------------------------------
 *
 * queue.c
 *	  This process's reports to the algorithm, queued and committed together.
 *
 * BP-Wrapper (tidepool/batch.h): hits, pages that came in, evictions that were
 * not carried out.  Each pool has a queue of its own.  It is committed in order
 * under the pool's lock
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

/*
 * Long enough that the short pauses of a busy session do not count as idle.
 * Chosen, not measured: until then nobody can evict the pages that an idle
 * process has brought in; with less, more and shorter queues are committed.
 */
#define IDLE_MILLISECONDS 1000

volatile	sig_atomic_t BufferPoolCommitPending = false;

/* Of each pool.  Memory that is never used costs nothing. */
static tp_batch queues[BUFFERPOOL_NUMBERS];

/* ---- committing ---- */

static inline tp_batch *
queue_of(const BufferPool *pool)
{
	return &queues[BufferPoolNumber(pool)];
}

static bool
is_in_buffer(void *arg, uint32 buf_id, tp_page page)
{
	return BufferHoldsPage(buf_id, page);
}

/* Prefetch what the commit will touch.  Called before the lock is taken. */
void
BufferPoolPrefetchQueue(BufferPool *pool)
{
	const tp_batch *queue = queue_of(pool);

	if (queue->count > 0)
		tp_batch_prefetch(&pool->core, queue);
}

/*
 * Drop the entries of buffers that have moved to another pool.  The caller
 * holds the pool's lock, so none moves now.
 */
static void
drop_moved(BufferPool *pool, tp_batch *queue)
{
	uint8		number = BufferPoolNumber(pool);
	uint32		kept = 0;

	while (kept < queue->count &&
		   BufferPoolNumbers[queue->entries[kept].frame] == number)
		kept++;
	if (kept == queue->count)
		return;
	for (uint32 i = kept + 1; i < queue->count; i++)
		if (BufferPoolNumbers[queue->entries[i].frame] == number)
			queue->entries[kept++] = queue->entries[i];
	BufferPoolCountMany(pool, BUFFERPOOL_STALE_HITS, queue->count - kept);
	queue->count = kept;
	if (kept == 0)
		BufferPoolDropQueue(pool);
}

/*
 * Commit the queue.  The caller holds the pool's lock.  access: the time, and
 * this process.
 */
void
BufferPoolCommitQueue(BufferPool *pool, const tp_access *access)
{
	tp_batch   *queue = queue_of(pool);
	uint32		forgotten = queue->forgotten;

	if (*BufferPoolsDivided)
		drop_moved(pool, queue);
	if (queue->count == 0)
		return;
	BufferPoolCount(pool, BUFFERPOOL_BATCHES);
	BufferPoolCountMany(pool, BUFFERPOOL_BATCHED_HITS, queue->count);
	BufferPoolCountMany(pool, BUFFERPOOL_STALE_HITS,
						tp_batch_commit(&pool->core, queue, access,
										is_in_buffer, NULL));
	BufferPoolCountMany(pool, BUFFERPOOL_FORGOTTEN,
						queue->forgotten - forgotten);
	BufferPoolSetPending(pool, 0);
}

/*
 * Commit the queue when nothing is chosen, and record that.  The caller holds the
 * pool's lock.  due: because so much is queued.
 */
void
BufferPoolReportQueue(BufferPool *pool, bool due)
{
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);

	if (queue_of(pool)->count > 0 && BufferPoolRecordingAllPages())
		access.now = BufferPoolRecordReported(BufferPoolNumber(pool),
											  due ? RECORD_DUE : 0);
	BufferPoolCommitQueue(pool, &access);
}

/* Discard the queue, because the pool was reset. */
void
BufferPoolDropQueue(const BufferPool *pool)
{
	queue_of(pool)->count = 0;
	queue_of(pool)->frames = 0;
	BufferPoolSetPending(pool, 0);
}

static void
commit_under_lock(BufferPool *pool)
{
	BufferPoolReportQueue(pool, true);
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
	BufferPoolSetPending(pool, queue_of(pool)->frames);
	switch (due)
	{
		case TP_BATCH_QUEUED:
			return;
		case TP_BATCH_TRY:
			BufferPoolPrefetchQueue(pool);
			if (!BufferPoolTryLock(pool))
			{
				BufferPoolCount(pool, BUFFERPOOL_TRY_FAILURES);
				return;
			}
			commit_under_lock(pool);
			return;
		case TP_BATCH_FULL:
			commit_now(pool);
			return;
	}
}

/*
 * Until it is committed, nobody can evict a page that came in.  So that a small
 * pool does not consist of such pages, a process queues no more of them than
 * 1/SHARE of the pool before it commits.  Chosen, not measured: 16 processes
 * can still claim all of it; with a larger SHARE small pools take the lock for
 * nearly every page.
 */
#define SHARE 16

/* What to do after queueing a page; due: by the length of the queue. */
static tp_batch_due
due_for_page(const BufferPool *pool, tp_batch_due due)
{
	return queue_of(pool)->frames * SHARE > BufferPoolSize(pool) ?
		TP_BATCH_FULL : due;
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
	tp_batch_due due = tp_batch_add(queue_of(pool), buf_id, page, flags,
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
BufferPoolQueueWrite(BufferPool *pool, int buf_id, tp_page page)
{
	tp_batch   *queue = queue_of(pool);

	if (queue->count < TP_BATCH_MAX - 1)
		(void) tp_batch_add(queue, buf_id, page, TP_WRITE | TP_DIRTIED,
							TP_BATCH_MAX, TP_BATCH_MAX);
}

void
BufferPoolQueueAdmission(BufferPool *pool, int buf_id, tp_page page,
						 uint32 flags)
{
	tp_batch_due due = tp_batch_admit(queue_of(pool), buf_id, page, flags,
									  bufferpool_batch_threshold,
									  bufferpool_batch_size);

	commit_if_due(pool, due_for_page(pool, due));
}

void
BufferPoolQueueRestoration(BufferPool *pool, int buf_id, tp_page page)
{
	tp_batch_due due = tp_batch_restore(queue_of(pool), buf_id, page,
										bufferpool_batch_threshold,
										bufferpool_batch_size);

	commit_if_due(pool, due_for_page(pool, due));
}

/* ---- going idle, and the end ---- */

static void
handle_timeout(void)
{
	BufferPoolCommitPending = true;
	InterruptPending = true;
	SetLatch(MyLatch);
}

/* Does this process have something that others should know? */
static bool
has_reports(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
		if (queues[i].count > 0)
			return true;
	return BufferPoolHasCounted();
}

static void
report_all(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPool *pool = &BufferPools[i];

		if (queues[i].count == 0)
			continue;
		BufferPoolPrefetchQueue(pool);
		BufferPoolLock(pool);
		BufferPoolReportQueue(pool, false);
		BufferPoolUnlock(pool);
	}
	BufferPoolAddAllCounters();
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

	BufferPoolStatementEnded();
	if (timeout != MAX_TIMEOUTS && get_timeout_active(timeout))
		return;
	if (!has_reports())
		return;
	if (timeout == MAX_TIMEOUTS)
		timeout = RegisterTimeout(USER_TIMEOUT, handle_timeout);
	enable_timeout_after(timeout, IDLE_MILLISECONDS);
}

void
ProcessBufferPoolCommitInterrupt(void)
{
	BufferPoolCommitPending = false;
	report_all();
}

/* Called when the process ends.  It holds no locks. */
void
BufferPoolAtProcExit(void)
{
	BufferPoolAtEOXact();
	BufferPoolEndScansAtExit();
	report_all();
}
