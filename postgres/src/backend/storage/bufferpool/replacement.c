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

#include "access/parallel.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Useless proposals after which the clock chooses instead: a bound, so that a
 * miss ends whatever other processes do.  A proposal is useless if another
 * process has pinned, dirtied or replaced the page since the algorithm looked.
 * Chosen, not measured: with far fewer the clock would choose although the
 * algorithm has victims.
 */
#define MAX_PROPOSALS 64

/* Has the algorithm refused the page of the last search? */
static bool refused;

/*
 * The pool that had no buffer for the page that DEFAULT takes instead, for
 * recordings; or NULL.
 */
static BufferPool *fallen_from = NULL;

/*
 * The buffer that the algorithm has chosen for this process and that is
 * neither taken nor kept yet, its page, and whether that came in through the
 * ring that the choice is for.  There is at most one.  It survives an error
 * (BufferPoolAtEOXact).
 */
static BufferDesc *chosen = NULL;
static tp_page chosen_page;
static bool chosen_from_ring;

/* Why, from an algorithm that asks for scans. */
static tp_reason chosen_reason;
static bool chosen_wanted_soon;

/*
 * The time of the last choice, and the buffer taken after it, if chosen.  Its
 * new page is admitted with the same time, so a miss reads the clock once.
 */
static uint64 chosen_at;
static BufferDesc *taken = NULL;

static void give_up_choice(void);

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
	if (BufferPoolRecording() &&
		(BufferPoolMetPinned[buf_id] || (pinned && BufferPoolInSample(&buf->tag))))
	{
		buf_state = LockBufHdr(buf);
		BufferPoolRecordMet(buf, buf_state);
		UnlockBufHdr(buf, buf_state);
		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;
	}
	return !pinned && (usable->unwanted == 0 ||
					   (buf_state & usable->unwanted) != usable->unwanted);
}

/* For algorithms: must the page be written before it leaves? */
bool
BufferPoolIsDirty(void *arg, uint32 buf_id)
{
	return (pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state) &
			BM_DIRTY) != 0;
}

static inline void
expect_buffer(uint32 buf_id)
{
	__builtin_prefetch(GetBufferDescriptor(buf_id));
	if (*BufferPoolsDivided)
		__builtin_prefetch(&BufferPoolNumbers[buf_id]);
}

/* For algorithms: this buffer may soon be asked about, or proposed. */
void
BufferPoolExpectVictim(void *arg, uint32 buf_id)
{
	expect_buffer(buf_id);
}

typedef enum Proposal
{
	PROPOSAL_PINNED,			/* it is ours, and holds the expected page */
	PROPOSAL_IN_USE,			/* another process has it pinned */
	PROPOSAL_REPLACED			/* it holds another page, or none */
} Proposal;

/*
 * Pin a buffer that the algorithm proposes, unless it is pinned, or has moved
 * to another pool, or does not hold the page that the algorithm expects.
 * *buf_state is its state just before.
 *
 * A page that ceased to exist counts as replaced: its buffer is on the
 * freelist, from which some process will take it.
 */
static Proposal
pin_proposal(BufferPool *pool, BufferDesc *buf, uint32 *buf_state,
			 tp_page *page)
{
	*buf_state = LockBufHdr(buf);
	if (BUF_STATE_GET_REFCOUNT(*buf_state) != 0 ||
		BufferPoolOf(buf->buf_id) != pool)
	{
		UnlockBufHdr(buf, *buf_state);
		return PROPOSAL_IN_USE;
	}
	if (!(*buf_state & BM_TAG_VALID) ||
		!BufferPoolKnowsPage(pool, buf->buf_id, page) ||
		!tp_page_equal(*page, BufferTagPage(&buf->tag)))
	{
		UnlockBufHdr(buf, *buf_state);
		return PROPOSAL_REPLACED;
	}
	PinBuffer_Locked(buf);
	return PROPOSAL_PINNED;
}

/* The coldest buffer that may be taken, or TP_NONE. */
static uint32
coldest(BufferPool *pool, Usable *usable)
{
	tp_cursor	cursor = {0};
	uint32		buf_id;

	do
		buf_id = tp_coldest(&pool->core, &cursor);
	while (buf_id != TP_NONE && !is_usable(usable, buf_id));
	return buf_id;
}

/*
 * Ask the algorithm until this process has pinned a buffer.  NULL if there is
 * none.  For a buffer that leaves the pool, an algorithm that never evicts gives
 * up its coldest page.
 *
 * Buffers whose page could not be written are taken only if nothing
 * else is left: otherwise one such page at the cold end would fail every
 * query.
 */
static BufferDesc *
choose(BufferPool *pool, tp_page incoming, const tp_access *access,
	   BufferPoolUse use, uint32 *buf_state)
{
	bool		locked = !(pool->flags & TP_CHOICE_LOCK_FREE);
	Usable		usable = {BM_WRITE_FAILED, 0};
	BufferDesc *victim = NULL;

	for (int i = 0; i < MAX_PROPOSALS && victim == NULL; i++)
	{
		uint32		buf_id = tp_victim(&pool->core, incoming, is_usable,
									   &usable, access);
		BufferDesc *proposed;

		refused = buf_id == TP_REFUSED;
		if (!tp_is_frame(buf_id) && use == BUFFERPOOL_TO_LEAVE)
			buf_id = coldest(pool, &usable);
		if (!tp_is_frame(buf_id) && usable.unwanted == 0)
			break;
		if (!tp_is_frame(buf_id))
		{
			usable.unwanted = 0;
			continue;
		}
		proposed = GetBufferDescriptor(buf_id);
		switch (pin_proposal(pool, proposed, buf_state, &chosen_page))
		{
			case PROPOSAL_PINNED:
				victim = proposed;
				chosen_reason = pool->core.chooser->reason;
				chosen_wanted_soon = pool->core.chooser->wanted_soon;
				break;
			case PROPOSAL_REPLACED:
				/* without the lock, only the replacing process reports it */
				if (locked)
				{
					BufferPoolCount(pool, BUFFERPOOL_FORGOTTEN);
					tp_forget(&pool->core, buf_id);
				}
				else if (BufferPoolRecording())
					BufferPoolRecordInUse();
				break;
			case PROPOSAL_IN_USE:
				BufferPoolCount(pool, BUFFERPOOL_RETRIES);
				if (BufferPoolRecording())
					BufferPoolRecordInUse();
				break;
		}
	}
	BufferPoolCount(pool, BUFFERPOOL_SEARCHES);
	BufferPoolCountMany(pool, BUFFERPOOL_LOOKS, usable.looks);
	return victim;
}

/* A victim will be chosen: prefetch what that will touch. */
static void
expect_victim(const BufferPool *pool)
{
	uint32		frames[TP_MAX_EXPECTED];
	uint32		n = tp_expect_choice(&pool->core, frames);

	for (uint32 i = 0; i < n; i++)
		expect_buffer(frames[i]);
}

/*
 * Get a buffer for the page with this tag (NULL: for a new block) from the
 * algorithm.  Only this process has it pinned; *buf_state is its state just
 * before.  NULL if the algorithm has no buffer to offer.
 *
 * An algorithm that tells pages seen once from others may offer a scan the page
 * that the scan itself has just left.  Had the ring reused that buffer, the
 * algorithm would not remember the page; nor does it now, or one large scan
 * would fill its memory of evicted pages.  *from_ring: it is such a buffer.
 *
 * The caller must have room for a pin in its resource owner, and may hold only
 * heavyweight locks and content locks.  It must call BufferPoolVictimTaken or
 * BufferPoolVictimKept next, before it gives up the pin.
 */
BufferDesc *
BufferPoolGetVictim(BufferPool *pool, const BufferTag *tag,
					BufferAccessStrategy strategy, BufferPoolUse use,
					uint32 *buf_state, bool *from_ring)
{
	bool		locked = !(pool->flags & TP_CHOICE_LOCK_FREE);
	bool		recording = BufferPoolRecording();
	bool		record_time = recording && (pool->flags & TP_USES_TIME) != 0;
	tp_access	access = BufferPoolAccessAt(record_time ? 0 :
											BufferPoolTime(pool),
											BufferPoolAccessFlags(IOContextForStrategy(strategy)));
	tp_page		incoming = tag != NULL ? BufferTagPage(tag) :
		tp_page_make(0, InvalidBlockNumber);

	give_up_choice();			/* an error may have left one pending */
	if (locked)
	{
		const uint32_t *ghost = tp_expect_page(&pool->core, incoming);

		expect_victim(pool);
		BufferPoolPrefetchQueue(pool);
		tp_expect_ghost(&pool->core, ghost);
		BufferPoolLock(pool);
	}
	else
		BufferPoolFollowReset(pool);
	if (record_time)
		access.now = BufferPoolRecordSearch(BufferPoolNumber(pool), tag, true, locked);
	else if (recording)
		(void) BufferPoolRecordSearch(BufferPoolNumber(pool), tag, false, locked);
	if (locked)
		BufferPoolCommitQueue(pool, &access);
	chosen_at = access.now;
	chosen = choose(pool, incoming, &access, use, buf_state);
	if (recording && chosen != NULL)
		BufferPoolRecordChoice();
	else if (recording)
		BufferPoolRecordNoChoice();
	chosen_from_ring = chosen != NULL && strategy != NULL &&
		BufferPoolUsesRing(pool, strategy) &&
		StrategyHasBuffer(strategy, chosen);
	*from_ring = chosen_from_ring;
	if (locked)
	{
		if (chosen_from_ring)
			tp_forget(&pool->core, chosen->buf_id);
		else if (chosen != NULL)
			tp_evict(&pool->core, chosen->buf_id, &access);
		BufferPoolUnlock(pool);
	}
	if (chosen != NULL)
		__builtin_prefetch(BufferDescriptorGetIOCV(chosen), 1);
	else if (pool == &DefaultBufferPool)
		BufferPoolCount(pool, BUFFERPOOL_FALLBACKS);
	return chosen;
}

/*
 * Get a buffer of a named pool likewise, from its freelist or from the
 * algorithm.
 */
BufferDesc *
BufferPoolGetBuffer(BufferPool *pool, const BufferTag *tag,
					BufferAccessStrategy strategy, BufferPoolUse use,
					uint32 *buf_state, bool *from_ring)
{
	BufferDesc *buf;

	refused = false;
	fallen_from = NULL;
	if (!BufferPoolHasAlgorithm(pool))
		return NULL;
	buf = BufferPoolPopFree(pool, buf_state);
	if (buf == NULL && use != BUFFERPOOL_IF_FREE)
		buf = BufferPoolGetVictim(pool, tag, strategy, use, buf_state,
								  from_ring);
	if (buf != NULL && use != BUFFERPOOL_TO_LEAVE)
		pg_atomic_fetch_add_u32(&pool->shared->allocations, 1);
	return buf;
}

/*
 * A named pool had no buffer for a page, so it goes to DEFAULT.  Or the
 * statement fails, if the pool says so.  Only ordinary sessions fail: recovery
 * and autovacuum must go on.
 */
void
BufferPoolNoBuffer(BufferPool *pool)
{
	BufferPoolDefinition definition;

	fallen_from = pool;
	if (!refused || !pool->fails_when_full || InRecovery ||
		!(AmRegularBackendProcess() || IsParallelWorker()))
	{
		BufferPoolCount(pool, refused ? BUFFERPOOL_SPILLED : BUFFERPOOL_BORROWED);
		return;
	}
	BufferPoolReadDefinition(pool, &definition);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("buffer pool \"%s\" is full", definition.name),
			 errdetail("Its %d buffers hold pages that it keeps.",
					   BufferPoolSize(pool)),
			 errhint("Make it larger, or set its option \"on_full\" to \"spill\".")));
}

/* ---- what becomes of it ---- */

/* The algorithm that has chosen is gone, and what it knew. */
void
BufferPoolDropChoice(const BufferPool *pool)
{
	if (chosen != NULL && BufferPoolOf(chosen->buf_id) == pool)
		chosen = NULL;
}

/* The page stays in the chosen buffer: the algorithm puts it back. */
static void
keep_chosen(void)
{
	BufferPool *pool = BufferPoolOf(chosen->buf_id);

	if (BufferPoolRecording())
		BufferPoolRecordGivenUp();
	if (!(pool->flags & TP_CHOICE_LOCK_FREE))
	{
		if (chosen_from_ring)
			BufferPoolQueueAdmission(pool, chosen->buf_id, chosen_page, 0);
		else
			BufferPoolQueueRestoration(pool, chosen->buf_id, chosen_page);
	}
	chosen = NULL;
}

/*
 * This process gives up this buffer, which it still has pinned: the page is
 * needed, or cannot be written now.
 */
void
BufferPoolVictimKept(BufferDesc *buf)
{
	BufferPoolCount(BufferPoolOf(buf->buf_id), BUFFERPOOL_RETRIES);
	if (chosen == buf)
		keep_chosen();
	else if (BufferPoolRecording())
		BufferPoolRecordGivenUp();
}

/* Give up a chosen buffer that an error has kept from being taken. */
static void
give_up_choice(void)
{
	if (chosen != NULL)
		keep_chosen();
}

void
BufferPoolAtEOXact(void)
{
	fallen_from = NULL;
	give_up_choice();
	BufferPoolRecordNoChoice();
	BufferPoolStatementEnded();
}

StaticAssertDecl(BUFFERPOOL_PREDICTED_EVICTIONS + TP_BY_FREQUENCY ==
				 BUFFERPOOL_FREQUENCY_EVICTIONS &&
				 BUFFERPOOL_PREDICTED_EVICTIONS + TP_BY_RECENCY ==
				 BUFFERPOOL_RECENCY_EVICTIONS,
				 "a counter for each reason, in their order");

static void
count_reason(BufferPool *pool)
{
	if (!(pool->flags & TP_ASKS_SCANS))
		return;
	BufferPoolCount(pool, BUFFERPOOL_PREDICTED_EVICTIONS + chosen_reason);
	if (chosen_wanted_soon)
		BufferPoolCount(pool, BUFFERPOOL_PREMATURE_EVICTIONS);
}

/*
 * This process has got the buffer for another page.  Only this process has it
 * pinned, and it is empty.  old_state: its state before the old page left.
 */
void
BufferPoolVictimTaken(BufferDesc *buf, uint32 old_state, bool from_ring)
{
	BufferPool *pool = BufferPoolOf(buf->buf_id);
	bool		was_chosen = chosen == buf;
	tp_page		page;

	if (!was_chosen)
		give_up_choice();		/* a subtransaction's, which failed */
	chosen = NULL;
	taken = was_chosen ? buf : NULL;
	if (old_state & BM_TAG_VALID)
	{
		BufferPoolCount(pool, from_ring ? BUFFERPOOL_REUSES : BUFFERPOOL_EVICTIONS);
		if (was_chosen && !from_ring)
			count_reason(pool);
		if (old_state & BM_DIRTY)
		{
			BufferPoolCount(pool, BUFFERPOOL_DIRTY_EVICTIONS);
			if (!from_ring)
				pg_atomic_fetch_add_u32(&pool->shared->dirty_victims, 1);
		}
	}
	if (!(pool->flags & TP_CHOICE_LOCK_FREE) ||
		!BufferPoolKnowsPage(pool, buf->buf_id, &page))
		return;
	if (was_chosen && !from_ring)
	{
		tp_access	access = BufferPoolAccessAt(chosen_at, 0);

		tp_evict(&pool->core, buf->buf_id, &access);
	}
	else
	{
		BufferPoolCount(pool, BUFFERPOOL_FORGOTTEN);
		tp_forget(&pool->core, buf->buf_id);
	}
}

/*
 * The page has left this buffer, without a choice.  Only this process has it
 * pinned.
 */
void
BufferPoolPageLeft(BufferDesc *buf)
{
	BufferPool *pool = BufferPoolOf(buf->buf_id);
	tp_page		page;

	if ((pool->flags & TP_CHOICE_LOCK_FREE) &&
		BufferPoolKnowsPage(pool, buf->buf_id, &page))
	{
		BufferPoolCount(pool, BUFFERPOOL_FORGOTTEN);
		tp_forget(&pool->core, buf->buf_id);
	}
}

/*
 * A page has come into this buffer of the pool: record it, and offer it to the
 * advisor, for the pool that it has come in for.  Returns the time as recorded, or 0.
 */
static pg_noinline uint64
offer_page(BufferPool *pool, const BufferDesc *buf, IOContext io_context,
		   uint32 flags, bool extended)
{
	BufferPool *wanted = fallen_from != NULL && pool == &DefaultBufferPool ?
		fallen_from : pool;
	uint64		recorded_at = 0;

	if (BufferPoolRecording())
		recorded_at = BufferPoolRecordReference(&buf->tag, extended ?
												RECORD_WRITE : RECORD_READ,
												flags, BufferPoolNumber(wanted));
	if (BufferPoolSampling())
	{
		/* for the pool that has counted it */
		(void) BufferPoolCountOffered(pool);
		BufferPoolOfferSample(&buf->tag, BufferPoolNumber(wanted), flags,
							  extended ? TP_ADVICE_NEW :
							  BufferPoolSampleKind(wanted, io_context));
	}
	return recorded_at;
}

static pg_attribute_always_inline void
report_page(BufferPool *pool, BufferDesc *buf, tp_page page, uint32 flags,
			uint64 now)
{
	tp_page		known;

	if (!(pool->flags & TP_CHOICE_LOCK_FREE))
		BufferPoolQueueAdmission(pool, buf->buf_id, page, flags);
	else if (!BufferPoolKnowsPage(pool, buf->buf_id, &known))
	{
		tp_access	access = BufferPoolAccessAt(now, flags);

		BufferPoolFollowReset(pool);
		tp_admit(&pool->core, buf->buf_id, page, &access);
		/* prepare this process's next choice, which others do not affect */
		expect_victim(pool);
	}
	else
		Assert(tp_page_equal(page, known));
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
	BufferPool *pool = BufferPoolOf(buf->buf_id);
	uint64		recorded_at = 0;	/* or 0 */
	uint32		flags = BufferPoolAccessFlags(io_context);

	BufferPoolCountOften(pool, extended ? BUFFERPOOL_EXTENDS : BUFFERPOOL_READS);
	BufferPoolReferenced(buf);
	if (BufferPoolRecording() || BufferPoolSampling())
		recorded_at = offer_page(pool, buf, io_context, flags, extended);
	fallen_from = NULL;
	if (!BufferPoolHasAlgorithm(pool))
		return;
	if (extended)
		flags |= TP_WRITE;
	report_page(pool, buf, BufferTagPage(&buf->tag), flags,
				buf == taken ? chosen_at :
				recorded_at != 0 ? recorded_at : BufferPoolTime(pool));
}

/* Likewise, a page that was resident in another pool: no reference. */
void
BufferPoolPageMoved(BufferDesc *buf)
{
	BufferPool *pool = BufferPoolOf(buf->buf_id);

	if (BufferPoolRecording())
		BufferPoolRecordPageMoved(&buf->tag, BufferPoolNumber(pool));
	if (BufferPoolHasAlgorithm(pool))
		report_page(pool, buf, BufferTagPage(&buf->tag), 0,
					BufferPoolTime(pool));
}
