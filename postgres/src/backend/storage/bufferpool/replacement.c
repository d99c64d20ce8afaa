/*-------------------------------------------------------------------------
 *
 * replacement.c
 *	  A miss: from the choice of a victim to the arrival of the new page.
 *
 * For an algorithm that needs the pool's lock, a miss takes it once:
 *
 *	  chosen	BufferPoolGetVictim, under the lock: commit the queue, let the
 *				algorithm name a buffer, pin it, report the eviction of its
 *				page
 *	  written	GetVictimBuffer: the page is clean
 *	  taken		BufferPoolVictimTaken: the page has left the mapping
 *	  filled	BufferPoolPageCameIn: the buffer holds the new page; queue that
 *
 * So the algorithm learns of the eviction before anyone can read the page back
 * in.  If the buffer cannot be taken, because another process has pinned the
 * page meanwhile or because it could not be written, that is queued too
 * (BufferPoolVictimKept), and the algorithm puts the page back.
 *
 * An algorithm that chooses without the lock gets every report at once, that
 * of an eviction only after it has been carried out.
 *
 * Buffers that the algorithm did not choose (those of a ring, of the freelist
 * and of the clock) are taken without a report.  Until the algorithm learns
 * what came in, it may believe that the old page is still there, and propose
 * the buffer.  The process that gets the proposal finds another page in it and
 * makes the algorithm forget the old one.
 *
 * src/backend/storage/bufferpool/replacement.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/* Useless proposals after which the clock chooses instead. */
#define MAX_PROPOSALS 64

/*
 * The buffer that the algorithm has chosen for this process and that is
 * neither taken nor kept yet, and its page.  There is at most one.  It
 * survives an error (BufferPoolAtEOXact).
 */
static BufferDesc *chosen = NULL;
static tp_page chosen_page;

/*
 * The time of the last choice, and the buffer taken after it, if chosen.  Its
 * new page is admitted with the same time, so a miss reads the clock once.
 */
static uint64 chosen_at;
static BufferDesc *taken = NULL;

/* ---- the choice ---- */

/* Which buffers a search may take. */
typedef struct Usable
{
	uint32		unwanted;		/* none with all of these flags; 0: any */
	uint32		looks;			/* buffers looked at */
} Usable;

/* The page could not be written, and is still dirty. */
#define BM_WRITE_FAILED (BM_IO_ERROR | BM_DIRTY)

/* Needs no header lock: pin_proposal looks again under it. */
static bool
is_usable(void *arg, uint32 buf_id)
{
	Usable	   *usable = arg;
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = pg_atomic_read_u32(&buf->state);
	bool		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;

	usable->looks++;
	if (BufferPoolRecording() && BufferPoolMetPinned[buf_id] != pinned)
	{
		buf_state = LockBufHdr(buf);
		BufferPoolRecordMet(buf, buf_state);
		UnlockBufHdr(buf, buf_state);
		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;
	}
	return !pinned && (usable->unwanted == 0 ||
					   (buf_state & usable->unwanted) != usable->unwanted);
}

typedef enum Proposal
{
	PROPOSAL_PINNED,			/* it is ours, and holds the expected page */
	PROPOSAL_IN_USE,			/* another process has it pinned */
	PROPOSAL_REPLACED			/* it holds another page, or none */
} Proposal;

/*
 * Pin a buffer that the algorithm proposes, unless it is pinned or does not
 * hold the page that the algorithm expects.  *buf_state is its state just
 * before.
 *
 * A page that ceased to exist counts as replaced: its buffer is on the
 * freelist, from which some process will take it.
 */
static Proposal
pin_proposal(BufferPool *pool, BufferDesc *buf, uint32 *buf_state,
			 tp_page *page)
{
	*buf_state = LockBufHdr(buf);
	if (BUF_STATE_GET_REFCOUNT(*buf_state) != 0)
	{
		UnlockBufHdr(buf, *buf_state);
		return PROPOSAL_IN_USE;
	}
	if (!(*buf_state & BM_TAG_VALID) ||
		!pool->routine->page_of(pool, buf->buf_id, page) ||
		!tp_page_equal(*page, BufferTagPage(&buf->tag)))
	{
		UnlockBufHdr(buf, *buf_state);
		return PROPOSAL_REPLACED;
	}
	PinBuffer_Locked(buf);
	return PROPOSAL_PINNED;
}

/*
 * Ask the algorithm until this process has pinned a buffer.  NULL if there is
 * none.  Buffers whose page could not be written are taken only if nothing
 * else is left: otherwise one such page at the cold end would fail every
 * query.
 */
static BufferDesc *
choose(BufferPool *pool, tp_page incoming, const tp_access *access,
	   uint32 *buf_state)
{
	bool		locked = !(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE);
	Usable		usable = {BM_WRITE_FAILED, 0};
	BufferDesc *victim = NULL;

	for (int i = 0; i < MAX_PROPOSALS && victim == NULL; i++)
	{
		int			buf_id = pool->routine->victim(pool, incoming, is_usable,
												   &usable, access);
		BufferDesc *proposed;

		if (buf_id < 0 && usable.unwanted == 0)
			break;
		if (buf_id < 0)
		{
			usable.unwanted = 0;
			continue;
		}
		proposed = GetBufferDescriptor(buf_id);
		switch (pin_proposal(pool, proposed, buf_state, &chosen_page))
		{
			case PROPOSAL_PINNED:
				victim = proposed;
				break;
			case PROPOSAL_REPLACED:
				/* without the lock, only the replacing process reports it */
				if (locked)
				{
					BufferPoolCount(BUFFERPOOL_FORGOTTEN);
					pool->routine->forget(pool, buf_id);
				}
				break;
			case PROPOSAL_IN_USE:
				BufferPoolCount(BUFFERPOOL_RETRIES);
				break;
		}
	}
	BufferPoolCount(BUFFERPOOL_SEARCHES);
	MyBufferPoolCounters->count[BUFFERPOOL_LOOKS] += usable.looks;
	return victim;
}

static void
expect_victim(BufferPool *pool)
{
	if (pool->routine->expect_victim != NULL)
		pool->routine->expect_victim(pool);
}

/*
 * Get a buffer for the page with this tag (NULL: for a new block) from the
 * algorithm.  Only this process has it pinned; *buf_state is its state just
 * before.  NULL if the algorithm has no buffer to offer.
 *
 * The caller must have room for a pin in its resource owner, and may hold only
 * heavyweight locks and content locks.  It must call BufferPoolVictimTaken or
 * BufferPoolVictimKept next, before it gives up the pin.
 */
BufferDesc *
BufferPoolGetVictim(const BufferTag *tag, IOContext io_context,
					uint32 *buf_state)
{
	BufferPool *pool = &DefaultBufferPool;
	bool		locked = !(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE);
	bool		record_search = (pool->flags & BUFFERPOOL_USES_TIME) != 0 &&
		BufferPoolRecording();
	tp_access	access = BufferPoolAccessAt(record_search ? 0 :
											BufferPoolTime(pool),
											BufferPoolAccessFlags(io_context));
	tp_page		incoming = tag != NULL ? BufferTagPage(tag) :
		tp_page_make(0, InvalidBlockNumber);

	BufferPoolAtEOXact();		/* an error may have left a choice pending */
	if (locked)
	{
		expect_victim(pool);
		BufferPoolPrefetchQueue(pool);
		BufferPoolLock(pool);
	}
	else
		BufferPoolFollowReset(pool);
	if (record_search)
		access.now = BufferPoolRecordSearch();
	if (locked)
		BufferPoolCommitQueue(pool, &access);
	chosen_at = access.now;
	chosen = choose(pool, incoming, &access, buf_state);
	if (chosen != NULL)
		BufferPoolRecordChoice();
	else if (record_search)
		BufferPoolRecordNoChoice();
	if (locked)
	{
		if (chosen != NULL)
			pool->routine->evict(pool, chosen->buf_id, &access);
		BufferPoolUnlock(pool);
	}
	if (chosen == NULL)
		BufferPoolCount(BUFFERPOOL_FALLBACKS);
	else
		__builtin_prefetch(BufferDescriptorGetIOCV(chosen), 1);
	return chosen;
}

/* ---- what becomes of it ---- */

/* The page stays in the chosen buffer: the algorithm puts it back. */
static void
keep_chosen(void)
{
	BufferPool *pool = &DefaultBufferPool;

	if (!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueRestoration(pool, chosen->buf_id, chosen_page);
	chosen = NULL;
}

/*
 * This process gives up this buffer, which it still has pinned: the page is
 * needed, or cannot be written now.
 */
void
BufferPoolVictimKept(BufferDesc *buf)
{
	BufferPoolCount(BUFFERPOOL_RETRIES);
	if (chosen == buf)
		keep_chosen();
}

/* Give up a chosen buffer that an error has kept from being taken. */
void
BufferPoolAtEOXact(void)
{
	if (chosen != NULL)
		keep_chosen();
}

/*
 * This process has got the buffer for another page.  Only this process has it
 * pinned, and it is empty.  old_state: its state before the old page left.
 */
void
BufferPoolVictimTaken(BufferDesc *buf, uint32 old_state, bool from_ring)
{
	BufferPool *pool = &DefaultBufferPool;
	bool		was_chosen = chosen == buf;
	tp_page		page;

	chosen = NULL;
	taken = was_chosen ? buf : NULL;
	if (old_state & BM_TAG_VALID)
	{
		BufferPoolCount(from_ring ? BUFFERPOOL_REUSES : BUFFERPOOL_EVICTIONS);
		if (old_state & BM_DIRTY)
		{
			BufferPoolCount(BUFFERPOOL_DIRTY_EVICTIONS);
			if (!from_ring)
				pg_atomic_fetch_add_u32(&pool->shared->dirty_victims, 1);
		}
	}
	if (!BufferPoolActive() ||
		!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE) ||
		!pool->routine->page_of(pool, buf->buf_id, &page))
		return;
	if (was_chosen)
	{
		tp_access	access = BufferPoolAccessAt(chosen_at, 0);

		pool->routine->evict(pool, buf->buf_id, &access);
	}
	else
	{
		BufferPoolCount(BUFFERPOOL_FORGOTTEN);
		pool->routine->forget(pool, buf->buf_id);
	}
}

/*
 * This process has brought a page into this buffer, and still has it pinned.
 * The page is in the mapping.  (An extension may have found it there already;
 * then the algorithm knows it.)
 *
 * May wait for the pool's lock, so the caller must hold neither a mapping lock
 * nor a header's.
 */
void
BufferPoolPageCameIn(BufferDesc *buf, IOContext io_context, bool extended)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_page		page;
	tp_page		known;
	uint64		recorded_at = 0;	/* or 0 */
	uint32		flags = BufferPoolAccessFlags(io_context);

	BufferPoolCount(extended ? BUFFERPOOL_EXTENDS : BUFFERPOOL_READS);
	if (!BufferPoolActive() && !BufferPoolRecording())
		return;
	page = BufferTagPage(&buf->tag);
	if (BufferPoolRecording())
		recorded_at = BufferPoolRecordReference(&buf->tag, extended ?
												RECORD_WRITE : RECORD_READ,
												flags);
	BufferPoolReferenced(page);
	if (!BufferPoolActive())
		return;
	if (extended)
		flags |= TP_WRITE;
	if (!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueAdmission(pool, buf->buf_id, page, flags);
	else if (!pool->routine->page_of(pool, buf->buf_id, &known))
	{
		uint64		now = buf == taken ? chosen_at :
			recorded_at != 0 ? recorded_at : BufferPoolTime(pool);
		tp_access	access = BufferPoolAccessAt(now, flags);

		pool->routine->admit(pool, buf->buf_id, page, &access);
		/* prepare this process's next choice, which others do not affect */
		expect_victim(pool);
	}
	else
		Assert(tp_page_equal(page, known));
}
