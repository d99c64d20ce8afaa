/*
 * lirs.c
 *	  Low inter-reference recency set.
 *
 * Source: S. Jiang, X. Zhang: LIRS: An efficient low inter-reference recency
 * set replacement policy to improve buffer cache performance. SIGMETRICS
 * 2002, section 3.3; and the authors' program lirs.c of November 2002, for what
 * the paper leaves open.
 *
 * Why the structure differs from the paper's, and the decisions do not: the
 * paper's stack S holds LIR, resident HIR and non-resident HIR pages, ordered
 * by their last references, and its bottom is always a LIR page.  Here each
 * page is stamped when it is referenced, and LIR pages are on a list in that
 * order.  A HIR page stands above the bottom of S exactly when its stamp is
 * greater than that of the list's tail, so one comparison tells whether a page
 * is in S, and pruning S needs no step: the pages below a new bottom have
 * smaller stamps.  In return a node is on one list only, as the server needs.
 *
 * Where the decisions differ:
 *	1. A reference to the page that was referenced last changes nothing, as in
 *	   the program.  Otherwise a page read twice in a row would become LIR.
 *	2. Lhirs is 1 % of the frames but at least 2, as in the program.
 *	3. The number of non-resident pages is bounded (`ghosts`).  The paper does
 *	   not bound S, the program bounds it at 2,500 c.  The page evicted longest
 *	   ago goes first; it is the lowest in S unless pins have made evictions
 *	   come out of turn.
 *	4. The paper fills the LIR set once.  Here a page enters as LIR whenever
 *	   the LIR set is short of Llirs, also after the pool has grown or LIR
 *	   pages have been forgotten.
 *	5. If all of Q is pinned a LIR page is evicted, and Llirs shrinks for a
 *	   while (lir_set.h).
 *	6. A page that VACUUM or a correlated reference loads counts as never seen.
 *	7. When c shrinks, LIR pages from the bottom of S become HIR until Llirs
 *	   holds.
 *
 * Costs: each hit moves a node, so hits need the pool's lock.  To be kept, a
 * page must return sooner than the least recent LIR page does, so small,
 * frequent shifts of the working set cost more misses than under LRU.
 * Benefits: loops and scans larger than the pool keep most of their pages,
 * where LRU keeps none.  O(1).
 * Memory: 8 bytes a frame beyond the node; two ghosts a frame by default.
 */
#include "tidepool/parts/lir_set.h"

static uint64_t *
stamp_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

/* Is a page with this stamp in stack S? */
static bool
in_stack(const tp_pool *pool, uint64_t stamp)
{
	uint32_t	bottom = tp_list_of(pool, LIR)->tail;

	return bottom != TP_NONE && stamp > *stamp_of(pool, bottom);
}

/*
 * Demote LIR pages in excess of Llirs, then forget non-resident pages that
 * have fallen out of S.  A ghost that is out of S may outlive this behind one
 * that is not; it counts against the bound until then.
 */
static void
demote_and_prune(const tp_pool *pool)
{
	const tp_list *lir = tp_list_of(pool, LIR);
	const tp_list *ghosts = tp_ghost_list_of(pool, HIR);

	while (lir->count > tp_state(pool, lirs_state)->llirs)
		tp_list_move_head(pool, Q, lir->tail);
	while (ghosts->tail != TP_NONE &&
		   !in_stack(pool, pool->ghosts[ghosts->tail].value))
		tp_ghost_remove(pool, ghosts->tail);
}

/* "Upon accessing an LIR block", and "an HIR resident block". */
static void
lirs_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	lirs_state *state = tp_state(pool, lirs_state);
	uint64_t   *stamp = stamp_of(pool, frame);
	uint64_t	previous = *stamp;

	(void) access;
	if (previous == state->clock)
		return;
	*stamp = ++state->clock;
	if (pool->nodes[frame].list == LIR)
	{
		bool		was_bottom = tp_list_of(pool, LIR)->tail == frame;

		tp_list_move_head(pool, LIR, frame);
		if (was_bottom)
			demote_and_prune(pool);
	}
	else if (in_stack(pool, previous))
	{
		lir_set_promote(pool);
		tp_list_move_head(pool, LIR, frame);
		demote_and_prune(pool);
	}
	else
		tp_list_move_head(pool, Q, frame);
}

/* "Upon accessing an HIR non-resident block": the page has come in. */
static void
lirs_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	lirs_state *state = tp_state(pool, lirs_state);
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	bool		low = tp_list_of(pool, LIR)->count < state->llirs;

	if (ghost != TP_NONE)
	{
		if (tp_promotes(access) && in_stack(pool, pool->ghosts[ghost].value))
		{
			lir_set_promote(pool);
			low = true;
		}
		tp_ghost_remove(pool, ghost);
	}
	*stamp_of(pool, frame) = ++state->clock;
	tp_list_push_head(pool, low ? LIR : Q, frame);
	tp_trim_ghosts(pool, state->ghost_limit);
	demote_and_prune(pool);
}

static void
lirs_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint64_t	stamp = *stamp_of(pool, frame);

	(void) access;
	lir_set_evict(pool, frame);
	tp_list_remove(pool, frame);
	if (in_stack(pool, stamp) && pool->ghosts_per_frame > 0)
	{
		tp_make_ghost_room(pool);
		pool->ghosts[tp_ghost_push(pool, HIR, frame)].value = stamp;
	}
	demote_and_prune(pool);
}

static void
lirs_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			 const tp_access *access)
{
	(void) access;
	if (pool->nodes[frame].origin == TP_FREE)
		*stamp_of(pool, frame) = 0;
	lir_set_restore(pool, list, frame);
}

static void
lirs_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
	demote_and_prune(pool);
}

static void
lirs_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	lir_set_size(pool);
	tp_trim_ghosts(pool, tp_state(pool, lirs_state)->ghost_limit);
	demote_and_prune(pool);
}

/* The LIR pages are in the order of their stamps, which the clock is not below. */
static void
lirs_reinstate(const tp_pool *pool, uint32_t frame, const tp_standing *standing,
			   const tp_access *access)
{
	lirs_state *state = tp_state(pool, lirs_state);
	uint64_t	stamp = standing->extra[0];
	uint32_t	bottom = tp_list_of(pool, LIR)->tail;
	bool		low = standing->list == LIR && lir_set_has_room(pool) &&
		(bottom == TP_NONE || stamp < *stamp_of(pool, bottom));

	(void) access;
	if (state->clock < stamp)
		state->clock = stamp;
	tp_reinstate_at_tail(pool, frame, low ? LIR : Q, standing);
}

static bool
lirs_recalls(const tp_pool *pool, const tp_memory *memory)
{
	return pool->header->ghost_count < tp_state(pool, lirs_state)->ghost_limit &&
		in_stack(pool, memory->value);
}

static int
lirs_check(const tp_pool *pool, tp_report report, void *arg)
{
	const lirs_state *state = tp_state(pool, lirs_state);
	uint32_t	oldest = tp_ghost_list_of(pool, HIR)->tail;
	uint64_t	above = state->clock + 1;
	int			bad = lir_set_check(pool, report, arg);

	for (uint32_t frame = tp_list_of(pool, LIR)->head; frame != TP_NONE;
		 frame = pool->nodes[frame].next)
	{
		bad += tp_expect(*stamp_of(pool, frame) < above,
						 "LIR pages out of order", frame, report, arg);
		above = *stamp_of(pool, frame);
	}
	for (uint32_t frame = tp_list_of(pool, Q)->head; frame != TP_NONE;
		 frame = pool->nodes[frame].next)
		bad += tp_expect(*stamp_of(pool, frame) <= state->clock,
						 "stamp from the future", frame, report, arg);
	bad += tp_expect(oldest == TP_NONE ||
					 in_stack(pool, pool->ghosts[oldest].value),
					 "stack not pruned", oldest, report, arg);
	return bad;
}

const tp_policy tp_policy_lirs = {
	.name = "lirs",
	.title = "low inter-reference recency set",
	.source = "Jiang, Zhang, SIGMETRICS 2002",
	.state_size = sizeof(lirs_state),
	.extra_size = sizeof(uint64_t),
	.params = lirs_params,
	.fields = lirs_fields,
	.lists = {{"LIR"}, {"Q"}},
	.ghost_lists = {"HIR"},
	.ghosts = lir_set_ghosts,
	.join = lir_set_join,
	.leave = lirs_leave,
	.hit = lirs_hit,
	.victim = lir_set_victim,
	.evict = lirs_evict,
	.restore = lirs_restore,
	.admit = lirs_admit,
	.forget = lirs_forget,
	.coldest = lir_set_coldest,
	.reinstate = lirs_reinstate,
	.recalls = lirs_recalls,
	.resume = lir_set_resume,
	.check = lirs_check,
};
