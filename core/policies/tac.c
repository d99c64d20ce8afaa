/*
 * tac.c
 *	  Temperature-aware caching: the page of the coldest extent goes.
 *
 * Source: M. Canim, G. A. Mihaila, B. Bhattacharjee, K. A. Ross, C. A. Lang:
 * SSD bufferpool extensions for database systems. PVLDB 3(2), 2010.  The
 * temperatures, the window and aging are in extents.h; this is the admission
 * and replacement of pages that goes by them.
 *
 * Where this differs from the paper:
 *	1. A page of a cold extent is refused also when it is as cold as the
 *	   coldest in the pool, 0 included: to exchange equals costs a write.
 *	2. Pages of one extent have one temperature; of equals, the one in the
 *	   frame of the lower number goes, which keeps the order strict.
 *	3. A second order, by bands, is O(1) (tac_bands.h).
 *
 * DEFINITION.  T(page) is the temperature of the page's extent now.
 *	  order=heap: lists cached, a ring, and passed, the frames that a search
 * found unusable, most recently looked at at the head.  Each frame has a
 * temperature as last looked at.  victim: twice, as long as there are frames on
 * passed that were not looked at yet, the tail of passed goes to cached if it
 * is usable, else to the head of passed.  Then take the coldest of cached as
 * last looked at, lowest number first.  If it is unusable, it goes to the head
 * of passed; if T of its page is warmer, note T, at most heap_refresh times;
 * and again.  Otherwise it is the choice.  If cached is empty the choice is the
 * first usable frame from the tail of passed.
 *	  order=bands: lists b0 .. b9, as in tac_bands.h.  victim: up to
 * heap_refresh times: the bands are searched (list.h), the lowest first; if T
 * of the page that is found belongs in a higher band, move the frame to the
 * head of that one and search again.  The frame found last is the choice.
 *	  In both, the choice is refused unless T(incoming) > T(choice) and
 * T(incoming) >= (1 + admit_margin) * T(choice).
 *	  hit: nothing; the read has warmed the extent.  admit: note T; to cached,
 * or to the head of its band.  evict, forget: off the list.  join, leave:
 * nothing.
 *	  coldest: by heap, passed or not, those of temperature 0, then the others by the binary
 * exponent of the temperature last looked at, as of now, -20 .. 39 (what is
 * outside counts as at the end), in the order of members; by bands, the
 * lowest first, from the tail.
 *	  upcoming: by heap, cell by cell from the top; by bands, as coldest.
 *
 * Costs: a victim O(heap_refresh * log c) by heap; knows extents, not pages:
 * a page that is never read again stays warm among neighbours that are.
 * Benefits: hits touch nothing; cold pages, those of scans above all, are not
 * admitted, so that little is written.
 * Memory: 24 bytes a frame beside the node; no ghosts.  The temperatures are
 * the caller's (64 bytes an extent).
 */
#include "heap.h"
#include "tac_bands.h"

enum
{
	CACHED = 1,					/* order=heap: the pages, a heap; but */
	PASSED						/* those that a search found unusable, most
								 * recently looked at at the head */
};

enum
{
	PARAM_EXTENT,
	PARAM_WINDOW,
	PARAM_SEQUENTIAL_ABOVE,
	PARAM_AGING,
	PARAM_ADMIT_MARGIN,
	PARAM_HEAP_REFRESH,
	PARAM_ORDER
};

enum
{
	ORDER_HEAP,
	ORDER_BANDS
};

typedef struct tac_state
{
	int64_t		top;			/* level of the warmest band */
	double		margin;			/* 1 + admit_margin */
	uint32_t	refresh;		/* frames to look at again for a victim */
	bool		banded;			/* order=bands */
} tac_state;

typedef struct tac_frame
{
	heap_link	link;			/* of the heap of pages by temperature */
	tp_temperature seen;		/* T as last looked at */
} tac_frame;

static tac_frame *
frame_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

static tp_temperature
temperature_now(const tp_pool *pool, uint32_t frame)
{
	return tp_extents_temperature(pool->extents, tp_page_of(pool, frame));
}

static bool
comes_first(const tp_pool *pool, uint32_t a, uint32_t b)
{
	tp_temperature x = frame_of(pool, a)->seen;
	tp_temperature y = frame_of(pool, b)->seen;

	if (tp_colder(x, y))
		return true;
	return !tp_colder(y, x) && a < b;
}

static void
tac_init(const tp_pool *pool)
{
	tac_state  *state = tp_state(pool, tac_state);
	const double *params = pool->header->params;

	state->margin = 1 + params[PARAM_ADMIT_MARGIN];
	state->refresh = (uint32_t) params[PARAM_HEAP_REFRESH];
	state->banded = params[PARAM_ORDER] == ORDER_BANDS;
}

static void
heap_enter(const tp_pool *pool, uint32_t frame)
{
	heap_push(pool, tp_list_of(pool, CACHED)->count, frame, comes_first);
	tp_ring_add(pool, CACHED, frame);
}

static void
heap_take(const tp_pool *pool, uint32_t frame)
{
	heap_remove(pool, tp_list_of(pool, CACHED)->count, frame, comes_first);
	tp_ring_remove(pool, frame);
}

/* Pages that were found unusable are looked at again. */
static void
look_again(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	looks = tp_looks_again(pool, PASSED);
	uint32_t	frame;

	while ((frame = tp_list_look_again(pool, PASSED, &looks, usable, arg)) !=
		   TP_NONE)
	{
		tp_list_remove(pool, frame);
		heap_enter(pool, frame);
	}
}

static uint32_t
heap_choice(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	refresh = tp_state(pool, tac_state)->refresh;
	uint32_t	count;

	look_again(pool, usable, arg);
	while ((count = tp_list_of(pool, CACHED)->count) > 0)
	{
		uint32_t	frame = heap_at(pool, 0);
		tac_frame  *extra = frame_of(pool, frame);
		tp_temperature now;

		if (usable != NULL && !usable(arg, frame))
		{
			heap_take(pool, frame);
			tp_list_push_head(pool, PASSED, frame);
			continue;
		}
		now = temperature_now(pool, frame);
		if (refresh == 0 || !tp_colder(extra->seen, now))
			return frame;
		refresh--;
		extra->seen = now;
		heap_raised(pool, count, frame, comes_first);
	}
	return tp_list_usable_tail(pool, PASSED, usable, arg);
}

static uint32_t
band_choice(const tp_pool *pool, tp_usable usable, void *arg)
{
	tac_state  *state = tp_state(pool, tac_state);
	uint8_t		order[BANDS];

	for (uint32_t refresh = state->refresh;; refresh--)
	{
		uint32_t	frame;
		tp_temperature now;
		int64_t		level = state->top;

		bands_order(state->top, order);
		frame = tp_lists_search(pool, order, BANDS, usable, arg);
		if (frame == TP_NONE || refresh == 0)
			return frame;
		now = temperature_now(pool, frame);
		while (band_at(level) != pool->nodes[frame].list)
			level--;
		if (level_of(now) <= level)
			return frame;
		tp_list_move_head(pool, band_for(pool, &state->top, now), frame);
	}
}

static uint32_t
tac_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	const tac_state *state = tp_state(pool, tac_state);
	tp_temperature in = tp_extents_temperature(pool->extents, incoming);
	tp_temperature out;
	uint32_t	choice = state->banded ? band_choice(pool, usable, arg) :
		heap_choice(pool, usable, arg);

	(void) access;
	if (choice == TP_NONE)
		return TP_NONE;

	/* both as of the same epoch, now */
	out = temperature_now(pool, choice);
	return in.saved > out.saved && in.saved >= state->margin * out.saved ?
		choice : TP_NONE;
}

static void
enter(const tp_pool *pool, uint32_t frame)
{
	tac_state  *state = tp_state(pool, tac_state);
	tp_temperature now = temperature_now(pool, frame);

	if (state->banded)
		tp_list_push_head(pool, band_for(pool, &state->top, now), frame);
	else
	{
		frame_of(pool, frame)->seen = now;
		heap_enter(pool, frame);
	}
}

static void
tac_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	enter(pool, frame);
}

static void
tac_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) list;				/* it may have become another band's */
	(void) access;
	enter(pool, frame);
}

static void
tac_forget(const tp_pool *pool, uint32_t frame)
{
	if (pool->nodes[frame].list == CACHED)
		heap_take(pool, frame);
	else
		tp_list_remove(pool, frame);
}

static void
tac_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tac_forget(pool, frame);
}

static void
tac_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	heap_leave(pool, frame, slot);
}

static uint32_t
coldest_band(const tp_pool *pool, uint32_t frame)
{
	uint32_t	epoch = pool->extents == NULL ? 0 : pool->extents->epoch;

	return exponent_band(tp_temperature_at(frame_of(pool, frame)->seen, epoch));
}

static uint32_t
tac_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	const tac_state *state = tp_state(pool, tac_state);
	uint8_t		order[BANDS];

	if (!state->banded)
		return tp_coldest_bands(pool, cursor, EXPONENT_BANDS, 0, coldest_band);
	bands_order(state->top, order);
	return tp_coldest_lists(pool, cursor, order, BANDS);
}

static uint32_t
tac_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	uint32_t	frame;

	if (tp_state(pool, tac_state)->banded)
		return tac_coldest(pool, &ahead->cursor);
	frame = heap_walk(pool, tp_list_of(pool, CACHED)->count, &ahead->cursor);
	ahead->cursor.taken += frame != TP_NONE;
	return frame;
}

static int
tac_check(const tp_pool *pool, tp_report report, void *arg)
{
	const tac_state *state = tp_state(pool, tac_state);
	uint32_t	cached = tp_list_of(pool, CACHED)->count;
	uint32_t	of_heap = cached + tp_list_of(pool, PASSED)->count;
	int			bad = tp_expect(of_heap == (state->banded ? 0 : tp_resident(pool)),
								"page on a list of the other order", of_heap, report, arg);

	return bad + heap_check(pool, cached, CACHED, comes_first, report, arg);
}

static const char *const order_choices[] = {"heap", "bands", NULL};

static const tp_param tac_params[] = {
	[PARAM_EXTENT] = {
		.name = "extent", .type = TP_PARAM_INTEGER,
		.default_value = TP_EXTENT_PAGES, .min = 1, .max = 1 << 20,
		.help = "pages that share a temperature"
	},
	[PARAM_WINDOW] = {
		.name = "window", .type = TP_PARAM_INTEGER,
		.default_value = TP_WINDOW_READS, .min = 1, .max = TP_WINDOW_MAX,
		.help = "reads looked back at to tell sequential from random ones"
	},
	[PARAM_SEQUENTIAL_ABOVE] = {
		.name = "sequential_above", .type = TP_PARAM_INTEGER,
		.default_value = TP_SEQUENTIAL_ABOVE, .min = 0, .max = TP_WINDOW_MAX,
		.help = "a read is sequential if more of these are near it"
	},
	[PARAM_AGING] = {
		.name = "aging", .type = TP_PARAM_FRACTION,
		.default_value = 10, .min = 0, .max = 1e6,
		.help = "reads after which temperatures are halved, per frame"
	},
	[PARAM_ADMIT_MARGIN] = {
		.name = "admit_margin", .type = TP_PARAM_REAL,
		.default_value = 0.01, .min = 0, .max = 1e6,
		.help = "how much warmer a page must be than the one it replaces; 0.01 is 1%"
	},
	[PARAM_HEAP_REFRESH] = {
		.name = "heap_refresh", .type = TP_PARAM_INTEGER,
		.default_value = 5, .min = 0, .max = 1 << 20,
		.help = "cached pages whose temperature is looked at again for a victim"
	},
	[PARAM_ORDER] = {
		.name = "order", .type = TP_PARAM_ENUM,
		.default_value = ORDER_HEAP, .min = 0, .max = ORDER_BANDS,
		.help = "how the coldest is found: exactly, or by powers of two",
		.choices = order_choices
	},
	{0}
};

const tp_policy tp_policy_tac = {
	.name = "tac",
	.title = "temperature-aware caching on an SSD",
	.source = "Canim, Mihaila, Bhattacharjee, Ross, Lang, PVLDB 2010",
	.flags = TP_HIT_NOTHING | TP_READS_EXTENTS,
	.state_size = sizeof(tac_state),
	.extra_size = sizeof(tac_frame),
	.params = tac_params,
	.lists = {"~cached", "passed", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"},
	.init = tac_init,
	.leave = tac_leave,
	.victim = tac_victim,
	.evict = tac_evict,
	.restore = tac_restore,
	.admit = tac_admit,
	.forget = tac_forget,
	.coldest = tac_coldest,
	.upcoming = tac_upcoming,
	.check = tac_check,
};
