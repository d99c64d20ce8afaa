/*-------------------------------------------------------------------------
 *
 * switch.c
 *	  Another algorithm, or other options, for a pool in use.
 *
 * The pages stay in their buffers: the new algorithm is told of them in the old
 * one's order, coldest first, so nothing is evicted and nothing starts cold.
 *
 * A new definition becomes known through a ProcSignal barrier
 * (BufferPoolAwaitFollowers).  A process takes part in one only where it can be
 * interrupted, so after the barrier none has an older view of the pool, and none
 * is in the middle of an operation begun with one.  Two barriers part three
 * phases:
 *
 *	  - The pool is without an algorithm.  In DEFAULT the clock replaces pages
 *		meanwhile, and misses of a named pool borrow from DEFAULT.  What
 *		processes had queued for the old algorithm is dropped.  This lasts for
 *		as long as it takes to walk over the pool's buffers twice.
 *	  - The new algorithm's state is built, by this process alone.  It need not
 *		be right about each page, since pages come and go meanwhile.
 *	  - All processes use the new algorithm.  Pages that came in during the first
 *		two phases, and which it does not know, are reported to it.
 *
 * Interrupts are held off throughout, so that no pool is left without an
 * algorithm, and no page unknown to it.
 *
 * src/backend/storage/bufferpool/switch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * How often pages in pinned buffers are tried, and the pauses between: a
 * second in all, in which most pins end.  Then they are reported all the same,
 * at the price of a count that may be wrong.  Chosen, not measured: with more,
 * ALTER BUFFER POOL waits longer for a cursor.
 */
#define MAX_TRIES 100
#define PAUSE_MICROSECONDS 10000

/* ---- the old algorithm's order ---- */

/* Buffers of a pool, coldest first. */
typedef struct Order
{
	int			count;
	int		   *buf_ids;		/* [NBuffers] */
} Order;

static void
append(Order *order, bool *included, int buf_id)
{
	included[buf_id] = true;
	order->buf_ids[order->count++] = buf_id;
}

/*
 * The clock's order: the usage count says how often the hand must come by, and
 * the hand comes by in the order of the numbers.
 */
static void
append_in_clock_order(const BufferPool *pool, Order *order, bool *included)
{
	int			hand = StrategySyncStart(NULL, NULL);

	for (int usage = 0; usage <= BM_MAX_USAGE_COUNT; usage++)
		for (int i = 0; i < NBuffers; i++)
		{
			int			buf_id = (hand + i) % NBuffers;
			uint32		buf_state = pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state);

			if (BufferPoolOf(buf_id) == pool && !included[buf_id] &&
				BUF_STATE_GET_USAGECOUNT(buf_state) == usage)
				append(order, included, buf_id);
		}
}

/* The order of an algorithm, core, whose state nobody changes any more. */
static void
append_in_order_of(const tp_pool *core, Order *order, bool *included)
{
	tp_cursor	cursor = {0};
	uint32		buf_id;

	while ((buf_id = tp_coldest(core, &cursor)) != TP_NONE)
		if (!included[buf_id])
			append(order, included, buf_id);
}

/*
 * All buffers of the pool.  Those that the old algorithm does not know come
 * last: their pages have just come in.
 */
static void
find_order(const BufferPool *pool, const tp_pool *old, Order *order,
		   bool *included)
{
	if (old->policy != NULL)
		append_in_order_of(old, order, included);
	append_in_clock_order(pool, order, included);
}

/* ---- the new algorithm's state ---- */

/* The page in this buffer.  Returns false if there is none. */
static bool
page_in(int buf_id, tp_page *page)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = LockBufHdr(buf);

	*page = BufferTagPage(&buf->tag);
	UnlockBufHdr(buf, buf_state);
	return (buf_state & BM_TAG_VALID) != 0;
}

/*
 * Admit the pages in this order.  The hotter half is referenced once more, so
 * that an algorithm that tells pages seen once from others has some of either.
 */
static void
seed(BufferPool *pool, const Order *order)
{
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
	tp_page		page;

	for (int i = 0; i < order->count; i++)
		if (page_in(order->buf_ids[i], &page))
			tp_admit(&pool->core, order->buf_ids[i], page, &access);
	for (int i = order->count / 2; i < order->count; i++)
		if (tp_is_resident(&pool->core, order->buf_ids[i]))
			tp_hit(&pool->core, order->buf_ids[i], &access);
}

/* Let usage counts say the order, for the clock. */
static void
seed_clock(const Order *order)
{
	for (int i = 0; i < order->count; i++)
	{
		BufferDesc *buf = GetBufferDescriptor(order->buf_ids[i]);
		uint32		usage = (uint64) i * (BM_MAX_USAGE_COUNT + 1) / order->count;
		uint32		buf_state = LockBufHdr(buf);

		buf_state &= ~BUF_USAGECOUNT_MASK;
		if (buf_state & BM_TAG_VALID)
			buf_state += usage * BUF_USAGECOUNT_ONE;
		UnlockBufHdr(buf, buf_state);
	}
}

/* ---- what came in meanwhile ---- */

/*
 * Tell the algorithm of the page in this buffer, if it does not know it.  The
 * caller holds the pool's lock, or, if the algorithm admits without it, is the
 * only one who has the buffer pinned.
 */
static void
report_page(BufferPool *pool, int buf_id)
{
	tp_access	access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
	tp_page		page;
	tp_page		known;

	if (!page_in(buf_id, &page))
		return;
	if (BufferPoolKnowsPage(pool, buf_id, &known))
	{
		if (tp_page_equal(known, page))
			return;
		tp_forget(&pool->core, buf_id);
	}
	tp_admit(&pool->core, buf_id, page, &access);
}

static bool
knows(const BufferPool *pool, int buf_id)
{
	tp_page		page;
	tp_page		known;

	return !page_in(buf_id, &page) ||
		(BufferPoolKnowsPage(pool, buf_id, &known) &&
		 tp_page_equal(known, page));
}

/*
 * Likewise, but pin the buffer first.  Returns false if another process has it
 * pinned: it may be about to report the page itself.
 */
static bool
report_page_pinned(BufferPool *pool, int buf_id)
{
	if (knows(pool, buf_id))
		return true;
	if (!PinUnpinnedBuffer(buf_id))
		return false;
	report_page(pool, buf_id);
	ReleaseBuffer(buf_id + 1);
	return true;
}

static void
report_page_locked(BufferPool *pool, int buf_id)
{
	if (knows(pool, buf_id))
		return;
	BufferPoolLock(pool);
	report_page(pool, buf_id);
	BufferPoolUnlock(pool);
}

/*
 * Put a buffer without a page on the freelist: the clock would come across it,
 * an algorithm does not.
 */
static void
free_empty(int buf_id)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = LockBufHdr(buf);

	UnlockBufHdr(buf, buf_state);
	if (!(buf_state & BM_TAG_VALID) && BUF_STATE_GET_REFCOUNT(buf_state) == 0)
		StrategyFreeBuffer(buf);
}

/*
 * Report all pages.  Buffers do not move now.  Returns false if some must be
 * tried again; with force, pinned ones are reported as well.  (Should another
 * process report one in the same moment, that costs a count that is off by one.)
 */
static bool
report_pages(BufferPool *pool, bool force)
{
	bool		all = true;

	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
	{
		if (BufferPoolOf(buf_id) != pool)
			continue;
		free_empty(buf_id);
		if (!(pool->flags & TP_CHOICE_LOCK_FREE))
			report_page_locked(pool, buf_id);
		else if (force)
			report_page(pool, buf_id);
		else
			all &= report_page_pinned(pool, buf_id);
	}
	return all;
}

/* ---- the statement's part ---- */

/*
 * Give the pool another algorithm, or other options.  The caller is the only
 * one who changes pools now, and has written the file.
 */
void
BufferPoolSwitch(BufferPool *pool, const BufferPoolDefinition *definition)
{
	BufferPoolDefinition without = *definition;
	Order		order = {0};
	bool	   *included = palloc_extended(NBuffers * sizeof(bool),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	tp_pool		old = pool->core;

	order.buf_ids = palloc_extended(NBuffers * sizeof(int), MCXT_ALLOC_HUGE);
	without.running[0] = '\0';

	HOLD_INTERRUPTS();
	BufferPoolBeginProgress(pool, BUFFERPOOL_SWITCHING);
	BufferPoolDefine(pool, &without);
	BufferPoolAwaitFollowers();

	find_order(pool, &old, &order, included);
	LWLockAcquire(BufferPoolMembersLock(), LW_EXCLUSIVE);
	if (old.policy != NULL)
		tp_disband(&old);
	BufferPoolSetView(pool, definition);
	if (BufferPoolHasAlgorithm(pool))
		BufferPoolBegin(pool);
	LWLockRelease(BufferPoolMembersLock());
	if (BufferPoolHasAlgorithm(pool))
		seed(pool, &order);
	else
		seed_clock(&order);

	BufferPoolDefine(pool, definition);
	BufferPoolAwaitFollowers();
	if (BufferPoolHasAlgorithm(pool))
		for (int tries = 1; !report_pages(pool, tries == MAX_TRIES); tries++)
			pg_usleep(PAUSE_MICROSECONDS);
	BufferPoolEndProgress();
	RESUME_INTERRUPTS();
	pfree(order.buf_ids);
	pfree(included);
}
