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

#include "storage/bufferpool_internals.h"

/*
 * This process's last reference in this statement: the buffer, or -1 if there was
 * none or it does not matter; its page.
 */
static int	last_buffer = -1;
static BufferTag last_page;

/*
 * The clock is read again after so many hits, which are a few microseconds' work,
 * and in the next statement.  Not the coarse one, which stands still for
 * milliseconds: where pages come and go as fast, a row's read and its update would
 * be one reference or two as the tick happens to fall.
 */
#define HITS_PER_READING 16

static uint64 last_reading;
static int	hits_until_reading;

/*
 * Note a reference.  Returns whether it repeats the previous one: a statement
 * that keeps returning to one page has referenced it once.  (A page that has
 * moved to another buffer in between counts as another.)
 */
static inline bool
note_reference(const BufferDesc *buf)
{
	if (buf->buf_id == last_buffer && BufferTagsEqual(&buf->tag, &last_page))
		return true;
	last_buffer = buf->buf_id;
	last_page = buf->tag;
	return false;
}

/* Note that this process has brought in a page, which is a reference too. */
void
BufferPoolReferenced(const BufferDesc *buf)
{
	(void) note_reference(buf);
	hits_until_reading = 0;
}

/*
 * A statement has ended: before the process waits for its client, or with a
 * transaction.
 */
void
BufferPoolStatementEnded(void)
{
	last_buffer = -1;
	hits_until_reading = 0;
}

/*
 * Can an algorithm whose hits need no lock be told of one on the page in this
 * buffer?  It does not know the page while a read of it has not been admitted.
 */
static inline bool
can_be_told(const BufferPool *pool, int buf_id)
{
	return (pool->flags & TP_HIT_IN_EXTRA) || tp_is_resident(&pool->core, buf_id);
}

/* Tell an algorithm whose hits need no lock.  It may not go by the time. */
static inline void
tell(const BufferPool *pool, int buf_id, uint64 time, uint32 flags)
{
	/* not on the stack, which would have to be set up for it */
	static tp_access access;

	access = BufferPoolAccessAt(time, flags);
	pool->core.policy->hit(&pool->core, buf_id, &access);
}

static inline uint64
time_of_hit(void)
{
	if (hits_until_reading == 0)
	{
		last_reading = BufferPoolNow();
		hits_until_reading = HITS_PER_READING;
	}
	hits_until_reading--;
	return last_reading;
}

/* Any hit. */
static pg_noinline void
general_hit(BufferPool *pool, const BufferDesc *buf, IOContext io_context)
{
	uint32		wants = pool->flags;
	uint32		flags = BufferPoolAccessFlags(io_context);
	uint64		time = 0;		/* as recorded, or 0 */

	if (note_reference(buf))
		flags |= TP_CORRELATED;
	if (BufferPoolRecording())
		time = BufferPoolRecordReference(&buf->tag, RECORD_READ,
										 flags | RECORD_HIT,
										 BufferPoolNumber(pool));
	if (BufferPoolSampling())
		BufferPoolOfferSample(&buf->tag, BufferPoolNumber(pool), flags,
							  BufferPoolSampleKind(pool, io_context));
	if (wants & TP_HIT_NOTHING)
		return;
	if ((flags & (TP_CORRELATED | TP_VACUUM)) && !(wants & TP_COUNTS_ALL))
	{
		BufferPoolCount(pool, flags & TP_VACUUM ? BUFFERPOOL_VACUUMED :
						BUFFERPOOL_CORRELATED);
		return;
	}
	if ((wants & TP_HIT_LOCK_FREE) && can_be_told(pool, buf->buf_id))
		tell(pool, buf->buf_id, time != 0 ? time : time_of_hit(), flags);
	else if (!(wants & TP_HIT_LOCK_FREE) || !(wants & TP_CHOICE_LOCK_FREE))
		BufferPoolQueueHit(pool, buf->buf_id, BufferTagPage(&buf->tag), flags);
}

/* A hit that the advisor does not want. */
static pg_attribute_always_inline void
usual_hit(BufferPool *pool, BufferDesc *buf, IOContext io_context)
{
	bool		lock_free = (pool->flags & TP_HIT_LOCK_FREE) != 0;

	if (unlikely(BufferPoolRecording() ||
				 io_context == IOCONTEXT_VACUUM ||
				 buf->buf_id == last_buffer ||
				 (lock_free && (hits_until_reading == 0 ||
								!can_be_told(pool, buf->buf_id)))))
	{
		general_hit(pool, buf, io_context);
		return;
	}
	if (pool->flags & TP_HIT_NOTHING)
	{
		last_buffer = -1;
		return;
	}
	last_buffer = buf->buf_id;
	last_page = buf->tag;
	if (!lock_free)
	{
		BufferPoolQueueHit(pool, buf->buf_id, BufferTagPage(&buf->tag),
						   BufferPoolAccessFlags(io_context));
		return;
	}
	hits_until_reading--;
	tell(pool, buf->buf_id, last_reading, BufferPoolAccessFlags(io_context));
}

/* While there is an advisor.  Most pages are not in its sample. */
static pg_noinline void
hit_while_sampling(BufferPool *pool, BufferDesc *buf, IOContext io_context)
{
	if (BufferPoolCountOffered(pool) &&
		unlikely(BufferPoolIsSampled(&buf->tag, BufferPoolNumber(pool))))
		general_hit(pool, buf, io_context);
	else
		usual_hit(pool, buf, io_context);
}

/*
 * A page was found in this buffer of the pool, and the caller has just pinned it
 * for the first time.  Needs no locks.  May wait for the pool's lock, so the
 * caller should hold no lock that is in demand.
 *
 * Most hits take a short way, on which no function returns and so no register
 * is saved.
 */
void
BufferPoolHit(BufferPool *pool, BufferDesc *buf, IOContext io_context)
{
	if (BufferPoolSampling())
		hit_while_sampling(pool, buf, io_context);
	else
		usual_hit(pool, buf, io_context);
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
