/*
 * lru_k.c
 *	  LRU-K: the page with the largest backward K-distance goes.
 *
 * Source: E. J. O'Neil, P. E. O'Neil, G. Weikum: The LRU-K page replacement
 * algorithm for database disk buffering. SIGMOD 1993, Figure 2.1.
 *
 * Why the structure differs from Figure 2.1, and the decisions do not: the
 * figure looks at all pages for the least HIST(p,K).  Here pages with fewer
 * than K known references, whose HIST(p,K) is 0 in the figure, are on the list
 * infinite, and go first.  The others are in a heap by HIST(K), so its top is
 * the figure's minimum.  No two HIST(K) are equal, except where a correlated
 * period has moved them: then LAST decides, and the figure does not say.
 *
 * Where the decisions differ:
 *	1. Time counts references, which makes every order strict.  So the
 *	   correlated reference period (`crp`) is a number of references, 0 by
 *	   default: what one backend repeats at once its caller marks as
 *	   correlated, and it is dropped before it gets here.
 *	2. History is retained for a number of evicted pages (`history`), not for
 *	   a period of time.  That of the page evicted longest ago goes first.
 *	3. The subsidiary policy, which the paper leaves open, is LRU: infinite is
 *	   in the order of LAST.
 *	4. The figure looks for an eligible page, one not referenced within crp,
 *	   among all.  Here at most 32 usable pages of the heap are looked at, and
 *	   if no page is eligible the first usable one goes, where the figure has
 *	   no victim.
 *	5. Unusable pages of the heap are set aside on the list passed (search.h).
 *	6. K is 1, 2 or 3: the paper finds little to gain beyond 2, and 3 is what
 *	   a ghost has room for.
 *	7. A distance between HISTs counts as 2^32 - 1 at most, and LAST - HIST(1)
 *	   as 65,535.
 *	8. A page that VACUUM or a correlated reference loads counts as never seen.
 *
 * Costs: hits need the pool's lock; slow to notice that a page with a good
 * history has gone cold.  With K = 2 and crp = 0, keys in the heap may be
 * stale (heap.h), and a victim costs O(log c) for each page that was
 * referenced since its key was current and has come to the top.  Otherwise a
 * frame has no room for a stale key, and a hit moves the page down the heap, a
 * step on average.
 * Benefits: distinguishes pages that are read again and again from those of a
 * scan, which pass through infinite at O(1).
 * Memory: 16 bytes a frame beyond the node; one ghost a frame by default.
 * HIST(1) has 48 bits: nine years at a million references a second.
 */
#include "tidepool/parts/heap.h"
#include "tidepool/parts/reference_history.h"
#include "tidepool/standing.h"

enum
{
	INFINITE = 1,				/* backward K-distance is infinite */
	FINITE,						/* backward K-distance is known; in the heap,
								 * by key_of */
	PASSED						/* the same, but found unusable by a search;
								 * most recently looked at at the head */
};

enum
{
	HISTORY = 1					/* evicted pages */
};

enum
{
	PARAM_K,
	PARAM_CRP,
	PARAM_HISTORY
};

/*
 * Looks at usable pages of the heap, for a victim.  With 8 misses differ by -4.6
 * to +1.7 %, with 128 by -5.8 to +0.3 % (bench/constants.py).
 */
#define ELIGIBLE_LOOKS 32

typedef struct lru_k_state
{
	uint64_t	clock;			/* references counted so far */
	uint32_t	k;				/* K */
	uint32_t	crp;			/* correlated reference period */
	uint32_t	history_limit;	/* bound on ghosts */
} lru_k_state;

static lru_k_history *
history_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

/*
 * May keys in the heap be stale?  With K = 2, gap[1] has room for how far the
 * key is below HIST(2).  LAST, which would be stale too, decides only between
 * equal HIST(K), and with crp = 0 no two are equal.
 */
static bool
may_be_stale(const tp_pool *pool)
{
	const lru_k_state *state = tp_state(pool, lru_k_state);

	return state->k == 2 && state->crp == 0;
}

/* The page's key in the heap. */
static uint64_t
key_of(const tp_pool *pool, const lru_k_history *page)
{
	uint64_t	hist_k = history_time(page, tp_state(pool, lru_k_state)->k);

	return may_be_stale(pool) ? hist_k - page->gap[1] : hist_k;
}

static bool
comes_first(const tp_pool *pool, uint32_t a, uint32_t b)
{
	const lru_k_history *x = history_of(pool, a);
	const lru_k_history *y = history_of(pool, b);
	uint64_t	key_x = key_of(pool, x);
	uint64_t	key_y = key_of(pool, y);

	return key_x != key_y ? key_x < key_y :
		history_last(x) < history_last(y);
}

static bool
is_stale(const tp_pool *pool, uint32_t frame)
{
	return may_be_stale(pool) && history_of(pool, frame)->gap[1] != 0;
}

static bool
update_key(const tp_pool *pool, uint32_t frame)
{
	if (!is_stale(pool, frame))
		return false;
	history_of(pool, frame)->gap[1] = 0;
	return true;
}

static uint32_t
finite_count(const tp_pool *pool)
{
	return tp_list_of(pool, FINITE)->count;
}

/* Put a page that is on no list where its count belongs. */
static void
enter(const tp_pool *pool, uint32_t frame)
{
	if (pool->nodes[frame].count < tp_state(pool, lru_k_state)->k)
		tp_list_push_head(pool, INFINITE, frame);
	else
	{
		(void) update_key(pool, frame);
		heap_push(pool, finite_count(pool), frame, comes_first);
		tp_ring_add(pool, FINITE, frame);
	}
}

static void
take(const tp_pool *pool, uint32_t frame)
{
	if (pool->nodes[frame].list != FINITE)
		tp_list_remove(pool, frame);
	else
	{
		heap_remove(pool, finite_count(pool), frame, comes_first);
		tp_ring_remove(pool, frame);
	}
}

static void
lru_k_init(const tp_pool *pool)
{
	lru_k_state *state = tp_state(pool, lru_k_state);

	state->k = (uint32_t) pool->header->params[PARAM_K];
	state->crp = (uint32_t) pool->header->params[PARAM_CRP];
}

/* A page of the heap was referenced, and its HIST(K) has risen by so much. */
static void
raise(const tp_pool *pool, uint32_t frame, uint64_t rise)
{
	lru_k_history *page = history_of(pool, frame);

	if (may_be_stale(pool) && page->gap[1] + rise <= UINT32_MAX)
		page->gap[1] += (uint32_t) rise;
	else
	{
		(void) update_key(pool, frame);
		heap_raised(pool, finite_count(pool), frame, comes_first);
	}
}

/* "p is already in the buffer". */
static void
lru_k_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	lru_k_state *state = tp_state(pool, lru_k_state);
	lru_k_history *page = history_of(pool, frame);
	tp_node    *node = &pool->nodes[frame];
	uint64_t	hist_k = history_time(page, state->k);
	uint64_t	t = ++state->clock;

	(void) access;
	if (t - history_last(page) <= state->crp)
		history_repeat(page, t);	/* "a correlated reference" */
	else
	{
		history_add(page, t, state->k); /* "a new, uncorrelated reference" */
		if (node->count < state->k)
			node->count++;
	}
	if (node->list == FINITE)
		raise(pool, frame, history_time(page, state->k) - hist_k);
	else if (node->list == INFINITE)
	{
		tp_list_remove(pool, frame);
		enter(pool, frame);
	}
}

/* Not referenced within the correlated reference period. */
static bool
is_eligible(const tp_pool *pool, uint32_t frame)
{
	const lru_k_state *state = tp_state(pool, lru_k_state);

	return state->clock + 1 - history_last(history_of(pool, frame)) >
		state->crp;
}

/* Look again at pages that were found unusable; usable ones go back. */
static void
look_again(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	looks = tp_looks_again(pool, PASSED);
	uint32_t	frame;

	while ((frame = tp_list_look_again(pool, PASSED, &looks, usable, arg)) !=
		   TP_NONE)
	{
		tp_list_remove(pool, frame);
		enter(pool, frame);
	}
}

/*
 * The first eligible page of the heap, if one is among the first
 * ELIGIBLE_LOOKS usable ones; else the first usable one, or TP_NONE.
 */
static uint32_t
finite_victim(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	waiting[ELIGIBLE_LOOKS];	/* usable, not eligible */
	uint32_t	n = 0;
	uint32_t	choice = TP_NONE;

	look_again(pool, usable, arg);
	while (finite_count(pool) > 0 && n < ELIGIBLE_LOOKS)
	{
		uint32_t	frame = heap_least(pool, finite_count(pool), comes_first,
									   update_key);

		if (usable != NULL && !usable(arg, frame))
		{
			take(pool, frame);
			tp_list_push_head(pool, PASSED, frame);
			continue;
		}
		if (is_eligible(pool, frame))
		{
			choice = frame;
			break;
		}
		take(pool, frame);
		waiting[n++] = frame;
	}
	if (choice == TP_NONE && n > 0)
		choice = waiting[0];
	while (n > 0)
		enter(pool, waiting[--n]);
	return choice;
}

/*
 * "Select replacement victim": an eligible page, of infinite before the heap.
 * If there is none, a usable page, of the lists in the same order.
 */
static uint32_t
lru_k_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			 void *arg, const tp_access *access)
{
	uint32_t	infinite = tp_list_search(pool, INFINITE, usable, arg);
	uint32_t	finite;

	(void) incoming;
	(void) access;
	if (infinite != TP_NONE && is_eligible(pool, infinite))
		return infinite;
	finite = finite_victim(pool, usable, arg);
	if (finite != TP_NONE &&
		(infinite == TP_NONE || is_eligible(pool, finite)))
		return finite;
	if (infinite == TP_NONE)
		infinite = tp_list_usable_tail(pool, INFINITE, usable, arg);
	return infinite != TP_NONE ? infinite :
		tp_list_usable_tail(pool, PASSED, usable, arg);
}

/* "Now fetch the referenced page"; its history control block may exist. */
static void
lru_k_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	lru_k_state *state = tp_state(pool, lru_k_state);
	lru_k_history *page = history_of(pool, frame);
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	uint64_t	t = ++state->clock;
	uint8_t		known = 0;

	if (ghost != TP_NONE && tp_promotes(access))
	{
		known = history_read(page, &pool->ghosts[ghost]);
		history_add(page, t, state->k);
	}
	else
		history_begin(page, t); /* "HIST(p) does not exist" */
	if (ghost != TP_NONE)
		tp_ghost_remove(pool, ghost);
	pool->nodes[frame].count = known < state->k ? (uint8_t) (known + 1) : known;
	enter(pool, frame);
	tp_trim_ghosts(pool, state->history_limit);
}

static void
lru_k_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	take(pool, frame);
	if (pool->ghosts_per_frame > 0)
	{
		tp_make_ghost_room(pool);
		history_write(&pool->ghosts[tp_ghost_push(pool, HISTORY, frame)],
					  history_of(pool, frame), pool->nodes[frame].count);
	}
}

static void
lru_k_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			  const tp_access *access)
{
	(void) access;
	if (list == INFINITE)
		tp_list_put_back(pool, INFINITE, frame);
	else
		enter(pool, frame);
}

static void
lru_k_forget(const tp_pool *pool, uint32_t frame)
{
	take(pool, frame);
}

static void
set_bounds(const tp_pool *pool)
{
	tp_state(pool, lru_k_state)->history_limit =
		(uint32_t) (pool->header->params[PARAM_HISTORY] * pool->header->frames);
}

static void
lru_k_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_bounds(pool);
}

static void
lru_k_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_bounds(pool);
	tp_trim_ghosts(pool, tp_state(pool, lru_k_state)->history_limit);
}

#define DIGITS_MAX 48			/* of an age; times have no more */

/* Band 0 is the infinite list, which is walked in its own order. */
static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	const lru_k_state *state = tp_state(pool, lru_k_state);
	uint64_t	age = state->clock -
		history_time(history_of(pool, frame), state->k);
	uint32_t	digits = age == 0 ? 0 : 64 - (uint32_t) __builtin_clzll(age);

	if (pool->nodes[frame].list == INFINITE)
		return 0;
	return 1 + DIGITS_MAX - (digits < DIGITS_MAX ? digits : DIGITS_MAX);
}

static uint32_t
walk_infinite(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {INFINITE};

	return tp_coldest_lists(pool, cursor, order, 1);
}

/*
 * Stage 0: infinite from the tail.  Then the others by the number of binary
 * digits of their backward K-distance, largest first, in the order of members.
 */
static uint32_t
lru_k_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	if (cursor->stage == 0)
	{
		uint32_t	frame = walk_infinite(pool, cursor);

		if (frame != TP_NONE || cursor->stage == 0)
			return frame;
	}
	return tp_coldest_bands(pool, cursor, DIGITS_MAX + 2, 0, band_of);
}

/* Infinite from the tail; then the heap's cells whose keys are current. */
static uint32_t
lru_k_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	tp_cursor  *cursor = &ahead->cursor;
	uint32_t	frame;

	if (cursor->stage == 0)
	{
		frame = walk_infinite(pool, cursor);
		if (frame != TP_NONE || cursor->stage == 0)
			return frame;
	}
	do
		frame = heap_walk(pool, finite_count(pool), cursor);
	while (frame != TP_NONE && is_stale(pool, frame));
	cursor->taken += frame != TP_NONE;
	return frame;
}

static void
lru_k_reinstate(const tp_pool *pool, uint32_t frame,
				const tp_standing *standing, const tp_access *access)
{
	lru_k_state *state = tp_state(pool, lru_k_state);

	(void) access;
	tp_reinstate_at_tail(pool, frame, INFINITE, standing);
	if (state->clock < history_last(history_of(pool, frame)))
		state->clock = history_last(history_of(pool, frame));
	if (standing->count < state->k)
		return;
	tp_list_remove(pool, frame);
	enter(pool, frame);
}

static bool
lru_k_recalls(const tp_pool *pool, const tp_memory *memory)
{
	(void) memory;
	return pool->header->ghost_count <
		tp_state(pool, lru_k_state)->history_limit;
}

static void
lru_k_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	(void) frames;
	tp_state(pool, lru_k_state)->clock = ((const lru_k_state *) saved)->clock;
}

static int
lru_k_check(const tp_pool *pool, tp_report report, void *arg)
{
	lru_k_state *state = tp_state(pool, lru_k_state);
	uint32_t	pending = tp_vacant(pool);
	int			bad = heap_check(pool, finite_count(pool), FINITE, comes_first,
								 report, arg);

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);
		tp_node    *node = &pool->nodes[frame];

		if (!tp_is_resident(pool, tp_member(pool, i)))
			continue;
		bad += tp_expect(node->count > 0 && node->count <= state->k,
						 "reference count outside 1 .. K", frame, report, arg);
		bad += tp_expect((node->list != INFINITE) == (node->count == state->k),
						 "page on the wrong list", frame, report, arg);
		bad += tp_expect(history_last(history_of(pool, frame)) <= state->clock,
						 "reference from the future", frame, report, arg);
	}

	/* a ghost made by an eviction is trimmed by the admission that follows */
	bad += tp_expect(pool->header->ghost_count <=
					 state->history_limit + pending,
					 "more history than its bound", 0, report, arg);
	return bad;
}

static double
lru_k_ghosts(const double *params)
{
	return params[PARAM_K] > 1 ? params[PARAM_HISTORY] : 0;
}

static const tp_param lru_k_params[] = {
	[PARAM_K] = {
		.name = "k", .type = TP_PARAM_INTEGER,
		.default_value = 2, .min = 1, .max = K_MAX,
		.help = "which of the last references counts; 1 is LRU"
	},
	[PARAM_CRP] = {
		.name = "crp", .type = TP_PARAM_INTEGER,
		.default_value = 0, .min = 0, .max = UINT16_MAX,
		.help = "references to a page within so many of the pool's count once"
	},

	/*
	 * On the traces cs, gli, multi1, multi2 and sprite of the authors of
	 * LIRS, 100 to 1,500 frames, misses against unbounded history: with 1
	 * between -22 % and +14 %, 1.8 % fewer on average; with 0 up to +255 %.
	 */
	[PARAM_HISTORY] = {
		.name = "history", .type = TP_PARAM_FRACTION,
		.default_value = 1, .min = 0, .max = 64,
		.help = "most evicted pages whose history is retained, per frame"
	},
	{0}
};

const tp_policy tp_policy_lru_k = {
	.name = "lru_k",
	.title = "least recently used by the K-th last reference",
	.source = "O'Neil, O'Neil, Weikum, SIGMOD 1993",
	.state_size = sizeof(lru_k_state),
	.extra_size = sizeof(lru_k_history),
	.params = lru_k_params,
	.lists = {{"infinite"}, {"finite", TP_RING}, {"passed"}},
	.ghost_lists = {"history"},
	.ghosts = lru_k_ghosts,
	.init = lru_k_init,
	.join = lru_k_join,
	.leave = lru_k_leave,
	.hit = lru_k_hit,
	.victim = lru_k_victim,
	.evict = lru_k_evict,
	.restore = lru_k_restore,
	.admit = lru_k_admit,
	.forget = lru_k_forget,
	.coldest = lru_k_coldest,
	.upcoming = lru_k_upcoming,
	.reinstate = lru_k_reinstate,
	.recalls = lru_k_recalls,
	.resume = lru_k_resume,
	.check = lru_k_check,
};
