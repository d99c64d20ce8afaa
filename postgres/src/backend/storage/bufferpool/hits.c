/*-------------------------------------------------------------------------
 *
 * hits.c
 *	  How an algorithm learns of references to resident pages.
 *
 * A lock-free hit is called at once, unless the algorithm does not know yet
 * that the page came in.  For other algorithms the hit is queued (queue.c).
 *
 * src/backend/storage/bufferpool/hits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufferpool_internals.h"

/* This process's last reference: the page, and the statement's start. */
static BufferTag last_page;
static TimestampTz last_statement;

/*
 * The clock is read again after so many hits, and in the next statement.  Chosen,
 * not measured: a few microseconds' work, while the clock itself stands still
 * for milliseconds.
 */
#define HITS_PER_READING 16

static uint64 last_reading;
static int	hits_until_reading;

/*
 * Note a reference.  Returns whether it repeats the previous one: a statement
 * that keeps returning to one page has referenced it once.
 */
static inline bool
note_reference(const BufferTag *page)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	bool		same = BufferTagsEqual(page, &last_page);

	last_page = *page;
	if (statement == last_statement)
		return same;
	last_statement = statement;
	hits_until_reading = 0;
	return false;
}

/* Note that this process has brought in a page, which is a reference too. */
void
BufferPoolReferenced(const BufferTag *page)
{
	(void) note_reference(page);
	hits_until_reading = 0;
}

static inline uint64
time_of_hit(void)
{
	if (--hits_until_reading < 0)
	{
		last_reading = BufferPoolCoarseNow();
		hits_until_reading = HITS_PER_READING - 1;
	}
	return last_reading;
}

/*
 * A page was found in this buffer, and the caller has just pinned it for the
 * first time.  Needs no locks.  May wait for the pool's lock, so the caller
 * should hold no lock that is in demand.
 */
void
BufferPoolHit(BufferDesc *buf, IOContext io_context)
{
	BufferPool *pool = BufferPoolOf(buf->buf_id);
	uint32		wants = pool->flags;
	uint32		flags = BufferPoolAccessFlags(io_context);
	uint64		time = 0;		/* as recorded, or 0 */

	if ((wants & TP_HIT_NOTHING) && !BufferPoolRecording())
		return;
	if (note_reference(&buf->tag))
		flags |= TP_CORRELATED;
	if (BufferPoolRecording())
		time = BufferPoolRecordReference(&buf->tag, RECORD_READ,
										 flags | RECORD_HIT,
										 BufferPoolNumber(pool));
	if (wants & TP_HIT_NOTHING)
		return;
	if ((flags & (TP_CORRELATED | TP_VACUUM)) && !(wants & TP_COUNTS_ALL))
	{
		BufferPoolCount(pool, flags & TP_VACUUM ? BUFFERPOOL_VACUUMED :
						BUFFERPOOL_CORRELATED);
		return;
	}
	if ((wants & TP_HIT_LOCK_FREE) && tp_is_resident(&pool->core, buf->buf_id))
	{
		tp_access	access = BufferPoolAccessAt(0, flags);

		if (wants & TP_USES_TIME)
			access.now = time != 0 ? time : time_of_hit();
		pool->core.policy->hit(&pool->core, buf->buf_id, &access);
	}
	else if (!(wants & TP_HIT_LOCK_FREE) || !(wants & TP_CHOICE_LOCK_FREE))
		BufferPoolQueueHit(pool, buf->buf_id, BufferTagPage(&buf->tag), flags);
}

/*
 * The page in this buffer, which the caller has pinned and locked, has just
 * become dirty.  May be called in a critical section.
 */
void
BufferPoolDirtied(BufferDesc *buf)
{
	BufferPool *pool = BufferPoolOf(buf->buf_id);
	tp_page		known;

	if ((pool->flags & TP_HIT_LOCK_FREE) &&
		BufferPoolKnowsPage(pool, buf->buf_id, &known))
	{
		tp_access	access = BufferPoolAccessAt(0, TP_WRITE | TP_DIRTIED);

		tp_hit(&pool->core, buf->buf_id, &access);
	}
	else if (!(pool->flags & TP_CHOICE_LOCK_FREE))
		BufferPoolQueueWrite(pool, buf->buf_id, BufferTagPage(&buf->tag));
}
