/*
 * w_tinylfu.c
 *	  W-TinyLFU: a window, and a main space that pages enter by frequency.
 *
 * Source: G. Einziger, R. Friedman, B. Manes: TinyLFU: A highly efficient
 * cache admission policy. ACM Transactions on Storage 13(4), article 35, 2017.
 *
 * What the paper leaves open follows WindowTinyLfu in the simulator of
 * Caffeine, the cache by the paper's third author:
 *	- The window has what the main space leaves, so one frame at least, also in
 *	  pools of less than a hundred frames.  Its size does not adapt.
 *	- A counter has 4 bits.  Counters are halved after 10 additions per frame,
 *	  and an addition is a reference that raised a counter.
 *	- Of equal estimates the page in the main space stays.
 *
 * Why the structure differs from both, and the decisions do not: there the
 * page that leaves the window enters the main space, and the loser of the
 * comparison is evicted.  Here victim compares the two where they are, and a
 * winner from the window moves to the main space with the admission that
 * follows, when the window overflows.  Nothing else moves in between.
 *
 * Where the decisions differ:
 *	1. The sketch is that of sketch.h, with 28 counters per frame.  Caffeine
 *	   has 16 to 32, depending on how far c is from a power of two.  There is
 *	   no doorkeeper.
 *	2. Additions are halved with the counters, as in the paper.  Caffeine first
 *	   subtracts what rounding lost.
 *	3. The reference that misses is counted on admission, after its victim was
 *	   chosen, because a proposal must not change what later ones depend on.
 *	4. Unusable pages are passed over, in the window and on probation
 *	   (search.h).  If none is left there, the protected pages are searched,
 *	   then a window that is not full.
 *	5. Claimed frames count as the window's, since the pages being loaded into
 *	   them will enter it.  Otherwise a few concurrent misses would keep a
 *	   small window below its bound, and pages would enter the main space
 *	   uncompared.
 *	6. A reference that does not promote (VACUUM's, or a repeated one) is not
 *	   counted, not even if it brings its page in.
 *
 * Costs: each hit moves a node and touches a second cache line, so hits need
 * the pool's lock.  A new page that will be popular must be referenced again
 * while it is in the window, or miss until its count exceeds a rival's.
 * Benefits: pages referenced once displace nothing from the main space.  The
 * sketch remembers the frequency of many more pages than the pool holds.
 * Memory: 16 bytes a frame; no ghosts.
 */
#include <string.h>

#include "tidepool/parts/sketch.h"
#include "tidepool/pool.h"
#include "tidepool/standing.h"

enum
{
	WINDOW = 1,					/* newcomers */
	PROBATION,					/* main: not referenced since the window */
	PROTECTED					/* main: referenced since */
};

enum
{
	PARAM_WINDOW,
	PARAM_PROTECTED
};

typedef struct w_tinylfu_state
{
	tp_sketch	sketch;			/* how often pages are referenced */
	uint32_t	max_window;		/* bound of WINDOW */
	uint32_t	max_protected;	/* bound of PROTECTED */
} w_tinylfu_state;

static void
count_reference(const tp_pool *pool, uint32_t frame)
{
	tp_sketch_add(pool, &tp_state(pool, w_tinylfu_state)->sketch,
				  tp_page_key(tp_page_of(pool, frame)));
}

static uint32_t
frequency_of(const tp_pool *pool, uint32_t frame)
{
	return tp_sketch_estimate(pool, &tp_state(pool, w_tinylfu_state)->sketch,
							  tp_page_key(tp_page_of(pool, frame)));
}

/* TinyLFU's admission: does the candidate take the rival's place? */
static bool
wins(const tp_pool *pool, uint32_t candidate, uint32_t rival)
{
	return frequency_of(pool, candidate) > frequency_of(pool, rival);
}

/* With the pages that are being loaded: deviation 5. */
static bool
window_is_full(const tp_pool *pool)
{
	return tp_list_of(pool, WINDOW)->count + tp_vacant(pool) >=
		tp_state(pool, w_tinylfu_state)->max_window;
}

static void
bound_list(const tp_pool *pool, unsigned list, uint32_t limit)
{
	while (tp_list_of(pool, list)->count > limit)
		tp_list_move_head(pool, PROBATION, tp_list_of(pool, list)->tail);
}

static void
w_tinylfu_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	count_reference(pool, frame);
	if (pool->nodes[frame].list == WINDOW)
	{
		tp_list_move_head(pool, WINDOW, frame);
		return;
	}
	tp_list_move_head(pool, PROTECTED, frame);
	bound_list(pool, PROTECTED, tp_state(pool, w_tinylfu_state)->max_protected);
}

static void
w_tinylfu_prefetch(const tp_pool *pool, const uint64_t *keys, uint32_t count,
				   int step)
{
	tp_sketch_prefetch(pool, keys, count, step);
}

static uint32_t
w_tinylfu_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
				 void *arg, const tp_access *access)
{
	static const uint8_t order[] = {PROBATION, PROTECTED, WINDOW};
	uint32_t	candidate = TP_NONE;
	uint32_t	rival = tp_list_search(pool, PROBATION, usable, arg);
	uint32_t	frame;

	(void) incoming;
	(void) access;
	/* without the hand: each admission gives the window another tail */
	if (window_is_full(pool))
		candidate = tp_list_search_tail(pool, WINDOW, usable, arg);

	if (candidate != TP_NONE)
		return rival != TP_NONE && wins(pool, candidate, rival) ?
			rival : candidate;

	if (rival != TP_NONE)
		return rival;
	frame = tp_list_search(pool, PROTECTED, usable, arg);
	if (frame == TP_NONE)
		frame = tp_list_search(pool, WINDOW, usable, arg);
	return frame != TP_NONE ? frame :
		tp_lists_usable_tail(pool, order, 3, usable, arg);
}

static void
w_tinylfu_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	if (tp_promotes(access))
		count_reference(pool, frame);
	tp_list_push_head(pool, WINDOW, frame);
	bound_list(pool, WINDOW, tp_state(pool, w_tinylfu_state)->max_window);
}

static void
w_tinylfu_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

static void
w_tinylfu_restore(const tp_pool *pool, unsigned list, uint32_t frame,
				  const tp_access *access)
{
	const w_tinylfu_state *state = tp_state(pool, w_tinylfu_state);

	(void) access;
	tp_list_put_back(pool, list, frame);
	bound_list(pool, WINDOW, state->max_window);
	bound_list(pool, PROTECTED, state->max_protected);
}

static void
w_tinylfu_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
set_sizes(const tp_pool *pool)
{
	w_tinylfu_state *state = tp_state(pool, w_tinylfu_state);
	const double *params = pool->header->params;
	uint32_t	c = pool->header->frames;
	uint32_t	main_space = (uint32_t) ((1 - params[PARAM_WINDOW]) * c);

	if (main_space == c && c > 0)
		main_space = c - 1;
	state->max_window = c - main_space;
	state->max_protected = (uint32_t) (params[PARAM_PROTECTED] * main_space);
}

static void
w_tinylfu_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	tp_sketch_join(pool);
	set_sizes(pool);
}

static void
w_tinylfu_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	w_tinylfu_state *state = tp_state(pool, w_tinylfu_state);

	tp_sketch_leave(pool, &state->sketch, frame, slot);
	set_sizes(pool);
	bound_list(pool, WINDOW, state->max_window);
	bound_list(pool, PROTECTED, state->max_protected);
}

/* The extra bytes are the sketch's; what it says of the page is the page's. */
static void
w_tinylfu_describe_standing(const tp_pool *pool, uint32_t frame,
							tp_standing *standing, uint64_t now)
{
	(void) now;
	memset(standing->extra, 0, sizeof(standing->extra));
	standing->extra[0] = frequency_of(pool, frame);
}

static void
w_tinylfu_reinstate(const tp_pool *pool, uint32_t frame,
					const tp_standing *standing, const tp_access *access)
{
	const w_tinylfu_state *state = tp_state(pool, w_tinylfu_state);
	unsigned	list = standing->list;

	(void) access;
	for (uint32_t i = 0; i < TP_SKETCH_MAX; i++)
		if (frequency_of(pool, frame) < standing->extra[0])
			count_reference(pool, frame);
	if ((list == WINDOW && tp_list_of(pool, list)->count >= state->max_window) ||
		(list == PROTECTED &&
		 tp_list_of(pool, list)->count >= state->max_protected))
		list = PROBATION;
	tp_list_push_tail(pool, list, frame);
}

/* Of equal estimates the window's tail goes first, as in victim. */
static uint32_t
w_tinylfu_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t recent_first[] = {WINDOW, PROBATION, PROTECTED};
	static const uint8_t main_first[] = {PROBATION, WINDOW, PROTECTED};
	uint32_t	candidate = tp_list_of(pool, WINDOW)->tail;
	uint32_t	rival = tp_list_of(pool, PROBATION)->tail;
	bool		window_first = candidate != TP_NONE && rival != TP_NONE &&
		window_is_full(pool) && !wins(pool, candidate, rival);

	return tp_coldest_lists(pool, cursor,
							window_first ? recent_first : main_first, 3);
}

/* Estimates decide whether the window or probation gives a page, so both. */
static uint32_t
w_tinylfu_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const uint8_t lists[] = {WINDOW, PROBATION, PROTECTED};

	return tp_upcoming_lists(pool, &ahead->cursor, lists,
							 tp_list_of(pool, PROBATION)->count > 0 ? 2 : 3);
}

static int
w_tinylfu_check(const tp_pool *pool, tp_report report, void *arg)
{
	w_tinylfu_state *state = tp_state(pool, w_tinylfu_state);
	int			bad = 0;

	bad += tp_expect(tp_list_of(pool, WINDOW)->count <= state->max_window,
					 "window too large", 0, report, arg);
	bad += tp_expect(tp_list_of(pool, PROTECTED)->count <= state->max_protected,
					 "protected segment too large", 0, report, arg);
	return bad;
}

static const tp_param w_tinylfu_params[] = {
	[PARAM_WINDOW] = {
		.name = "window", .type = TP_PARAM_FRACTION,
		.default_value = 0.01, .min = 0, .max = 1,
		.help = "share of the frames for newcomers; at least one frame"
	},
	[PARAM_PROTECTED] = {
		.name = "protected", .type = TP_PARAM_FRACTION,
		.default_value = 0.80, .min = 0, .max = 1,
		.help = "share of the other frames for pages referenced there"
	},
	{0}
};

static const tp_field w_tinylfu_fields[] = {
	{"max_window", TP_FIELD_U32, offsetof(w_tinylfu_state, max_window)},
	{"max_protected", TP_FIELD_U32, offsetof(w_tinylfu_state, max_protected)},
	{"additions", TP_FIELD_U64, offsetof(w_tinylfu_state, sketch.additions)},
	{0}
};

const tp_policy tp_policy_w_tinylfu = {
	.name = "w_tinylfu",
	.title = "windowed TinyLFU",
	.source = "Einziger, Friedman, Manes, ACM TOS 2017",
	.state_size = sizeof(w_tinylfu_state),
	.extra_size = sizeof(tp_sketch_cell),
	.params = w_tinylfu_params,
	.fields = w_tinylfu_fields,
	.lists = {{"window"}, {"probation"}, {"protected"}},
	.join = w_tinylfu_join,
	.leave = w_tinylfu_leave,
	.hit = w_tinylfu_hit,
	.prefetch = w_tinylfu_prefetch,
	.victim = w_tinylfu_victim,
	.evict = w_tinylfu_evict,
	.restore = w_tinylfu_restore,
	.admit = w_tinylfu_admit,
	.forget = w_tinylfu_forget,
	.coldest = w_tinylfu_coldest,
	.upcoming = w_tinylfu_upcoming,
	.describe_standing = w_tinylfu_describe_standing,
	.reinstate = w_tinylfu_reinstate,
	.check = w_tinylfu_check,
};
