/*-------------------------------------------------------------------------
 *
 * replacement.c
 *	  A miss: from the choice of a victim to the page that comes in.
 *
 * For an algorithm that needs the pool's lock, a miss takes it once:
 *
 *	  chosen	under the lock, after what is queued was committed: the
 *				algorithm names a buffer, this process pins it, and the
 *				algorithm is told that its page is evicted	(BufferPoolGetVictim)
 *	  written	its page is not dirty any more				(GetVictimBuffer)
 *	  taken		its page has left the mapping				(BufferPoolVictimTaken)
 *	  filled	it holds the new page, which is queued	(BufferPoolPageCameIn)
 *
 * The algorithm so learns of the eviction before anybody can read the page back
 * in.  If the buffer cannot be taken, because somebody has found the page
 * meanwhile, or because it could not be written, that is queued, too
 * (BufferPoolVictimKept), and the algorithm puts the page back.
 *
 * An algorithm that chooses without the lock is told everything at once, of
 * evictions only when they have been carried out.
 *
 * Buffers that are not the algorithm's choice (from a ring, from the freelist,
 * or the clock's) are taken without telling it.  Until it learns what came in
 * it may take the old page to be there still, and propose the buffer: whoever
 * is proposed it sees that it holds another page, and makes the algorithm
 * forget the old one.
 *
 * src/backend/storage/bufferpool/replacement.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/* Proposals that turn out to be of no use before another way is tried. */
#define MAX_PROPOSALS 64

/*
 * The buffer that the algorithm has chosen for this process, and which is
 * neither taken nor kept yet; and its page.  There is one at a time: it
 * outlives an error between.
 */
static BufferDesc *chosen = NULL;
static tp_page chosen_page;

/*
 * When a buffer was chosen, and the one that was taken after that.  The page
 * comes in with this time: one look at the clock for each miss.
 */
static uint64 chosen_at;
static BufferDesc *taken = NULL;

/* ---- the choice ---- */

/* What a search may take. */
typedef struct Usable
{
	uint32		unwanted;		/* not if all of these flags are set */
	uint32		looks;			/* buffers looked at */
} Usable;

/* A page that could not be written is dirty still. */
#define BM_WRITE_FAILED (BM_IO_ERROR | BM_DIRTY)

/* Without the header's lock: whoever takes the buffer looks again. */
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
	PROPOSAL_PINNED,			/* it is ours, and holds what it should */
	PROPOSAL_IN_USE,			/* somebody has it pinned */
	PROPOSAL_REPLACED			/* it holds another page, or none */
} Proposal;

/*
 * Pin a buffer that the algorithm proposes, unless it is pinned or holds
 * another page than the algorithm thinks; *buf_state is its state just before.
 *
 * A page that ceased to exist was replaced, too: its buffer is on the freelist,
 * from which somebody will take it.
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
 * Ask the algorithm until a buffer is ours.  Buffers whose page could not be
 * written are taken only if nothing else is left: otherwise one such page at
 * the cold end would fail every query.  NULL if there is none.
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
				/* without the lock only who replaced it may tell of that */
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
 * A buffer for the page with this tag (NULL: for a new block), as the
 * algorithm chooses, pinned by this process alone; *buf_state is its state
 * just before.  NULL if the algorithm has none to offer.
 *
 * The caller has room for a pin in its resource owner, and holds no locks but
 * heavyweight ones and content locks.  It calls BufferPoolVictimTaken or
 * BufferPoolVictimKept next, both before it gives up the pin.
 */
BufferDesc *
BufferPoolGetVictim(const BufferTag *tag, IOContext io_context,
					uint32 *buf_state)
{
	BufferPool *pool = &DefaultBufferPool;
	bool		locked = !(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE);
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool),
											BufferPoolAccessFlags(io_context));
	tp_page		incoming = tag != NULL ? BufferTagPage(tag) :
		tp_page_make(0, InvalidBlockNumber);

	BufferPoolAtEOXact();		/* an error may have left a choice open */
	chosen_at = access.now;
	if (locked)
	{
		expect_victim(pool);
		BufferPoolPrefetchQueue(pool);
		BufferPoolLock(pool);
		BufferPoolCommitQueue(pool, &access);
	}
	else
		BufferPoolFollowReset(pool);
	chosen = choose(pool, incoming, &access, buf_state);
	if (chosen != NULL)
		BufferPoolRecordChoice();
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

/* The page stays in the buffer that was chosen: the algorithm puts it back. */
static void
keep_chosen(void)
{
	BufferPool *pool = &DefaultBufferPool;

	if (!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueRestoration(pool, chosen->buf_id, chosen_page);
	chosen = NULL;
}

/*
 * This process cannot have this buffer, which it still has pinned: the page is
 * needed, or cannot be written now.
 */
void
BufferPoolVictimKept(BufferDesc *buf)
{
	BufferPoolCount(BUFFERPOOL_RETRIES);
	if (chosen == buf)
		keep_chosen();
}

/* An error has come between the choice of a buffer and its being taken. */
void
BufferPoolAtEOXact(void)
{
	if (chosen != NULL)
		keep_chosen();
}

/*
 * This process has got the buffer for another page: it alone has it pinned,
 * and no page is in it.  old_state tells what was in it before.
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
 * A page has come into this buffer by this process, which still has it pinned:
 * it is in the mapping.  (An extension may have found it there; then the
 * algorithm knows it already.)
 *
 * May wait for the pool's lock; the caller holds neither a mapping lock nor a
 * header's.
 */
void
BufferPoolPageCameIn(BufferDesc *buf, IOContext io_context, bool extended)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_page		page;
	tp_page		known;
	uint32		flags = BufferPoolAccessFlags(io_context);

	BufferPoolCount(extended ? BUFFERPOOL_EXTENDS : BUFFERPOOL_READS);
	if (!BufferPoolActive() && !BufferPoolRecording())
		return;
	page = BufferTagPage(&buf->tag);
	if (BufferPoolRecording())
		BufferPoolRecordReference(&buf->tag,
								  extended ? RECORD_WRITE : RECORD_READ, flags);
	BufferPoolReferenced(page);
	if (!BufferPoolActive())
		return;
	if (extended)
		flags |= TP_WRITE;
	if (!(pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE))
		BufferPoolQueueAdmission(pool, buf->buf_id, page, flags);
	else if (!pool->routine->page_of(pool, buf->buf_id, &known))
	{
		tp_access	access = BufferPoolAccessAt(buf == taken ? chosen_at :
												BufferPoolTime(pool), flags);

		pool->routine->admit(pool, buf->buf_id, page, &access);
		/* this process's next: it does not depend on what others choose */
		expect_victim(pool);
	}
	else
		Assert(tp_page_equal(page, known));
}
