/*
 * w_tinylfu.c
 *	  W-TinyLFU: a window, and a main space that pages enter by frequency.
 *
 * Source: G. Einziger, R. Friedman, B. Manes: TinyLFU: A highly efficient
 * cache admission policy. ACM Transactions on Storage 13(4), 2017.
 *
 * The paper leaves sizes open.  Where it does, this follows the policy called
 * WindowTinyLfu in the simulator of Caffeine, the third author's library: the
 * window is what the main space leaves, so at least one frame, also below a
 * hundred; counters of 4 bits; halving after 10 additions per frame; only what
 * changed a counter is an addition; equal estimates favour the page that is
 * in; no adaptation of the window's size.
 *
 * Where this differs from both:
 *	1. The sketch is sized and addressed as sketch.h says: 28 counters per
 *	   frame, where Caffeine has 16 to 32 depending on how far c is from a
 *	   power of two; and halving is lazy.  There is no doorkeeper.
 *	2. When counters are halved so are the additions, as in the paper; Caffeine
 *	   first subtracts what rounding lost.
 *	3. The newcomer's reference is counted on its admission, after the victim
 *	   for it was chosen, since a proposal must change nothing.
 *	4. The window's last page moves to the main space on that admission, too;
 *	   so what has left the window unevicted is always admitted to probation.
 *	5. Unusable pages are passed over in the choice of the candidate and of the
 *	   page it is compared with (list.h).
 *	6. Claimed frames count as the window's: others are filling them with pages
 *	   that will enter it.  Otherwise a few misses
 *	   at a time would keep a small window short of its bound, and pages would
 *	   enter the main space uncompared.
 *
 * DEFINITION.  Lists, most recently used at the head:
 *	  "window"; "probation" and "protected", the two segments of main.
 *	  Fields: max_window, max_protected; additions, of the sketch.
 *	    main = floor((1 - window) * c), at most c - 1, or 0 if c is 0;
 *	    max_window = c - main; max_protected = floor(protected * main).
 *	  hit: add the page to the sketch.  From window: to its head.  From
 *	    probation: to the head of protected; if |protected| > max_protected,
 *	    the tail of protected to the head of probation.  From protected: to
 *	    its head.
 *	  victim: rival = the page that a search of probation finds; candidate =
 *	    that of a search of window, but only if |window| + vacant frames >=
 *	    max_window.  The latter search uses no hand (list.h, step 2), since
 *	    with each admission window has another tail.
 *	    Both: the rival if estimate(candidate) > estimate(rival), else the
 *	    candidate.  One: that.  None: protected is searched, then window.  If
 *	    that finds nothing: the first usable page from the tail of probation,
 *	    else of protected, else of window.
 *	  evict, forget: off its list; the sketch stays.
 *	  admit: add the page to the sketch, unless made by VACUUM or correlated;
 *	    to the head of window; then, if |window| > max_window, the tail of
 *	    window to the head of probation.
 *	  restore: to its place; then the bounds, as in leave.
 *	  join: the sketch's (sketch.h), then the sizes anew.
 *	  leave: the same; then while |window| > max_window its tail to the head
 *	    of probation; then while |protected| > max_protected its tail to the
 *	    head of probation.
 *	  coldest: window, probation, protected, each from its tail, if |window| +
 *	    vacant frames >= max_window and the estimate for its tail is at most
 *	    that for the tail of probation; probation, window, protected otherwise.
 *	  upcoming: window and probation, each from its tail, since estimates
 *	    decide which of them gives a page; if probation is empty, protected.
 *
 * Costs: every hit moves a node and touches a second cache line, so hits need
 * the pool's lock; what is new and will be needed often has to be referenced
 * while it is in the window, or several times in vain.
 * Benefits: one-time references never displace anything from main; frequency
 * is remembered of far more pages than are resident, without ghosts.
 * Memory: 16 bytes per frame beside the node; no ghosts.
 */
#include "tidepool/parts/sketch.h"

enum
{
	WINDOW = 1,					/* newcomers */
	PROBATION,					/* main: not referenced since it left window */
	PROTECTED					/* main: referenced since */
};

enum
{
	PARAM_WINDOW,
	PARAM_PROTECTED
};

typedef struct w_tinylfu_state
{
	tp_sketch	sketch;			/* estimates how often pages are referenced */
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

/* Does a page that has to leave the window take this rival's place in main? */
static bool
wins(const tp_pool *pool, uint32_t candidate, uint32_t rival)
{
	return frequency_of(pool, candidate) > frequency_of(pool, rival);
}

/* Pages that are about to enter it included. */
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
	.check = w_tinylfu_check,
};
