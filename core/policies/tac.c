/*
 * tac.c
 *	  Temperature-aware caching: the page of the coldest extent goes.
 *
 * Source: M. Canim, G. A. Mihaila, B. Bhattacharjee, K. A. Ross, C. A. Lang:
 * SSD bufferpool extensions for database systems. PVLDB 3(2), 2010.  Its
 * temperatures, window and aging are in extents.h; this is the admission and
 * the replacement of pages that go by them.
 *
 * Why a heap of temperatures as last seen serves: reads warm an extent without
 * telling the policy, so a page stands too near the top or where it belongs.
 * The top is looked at again, up to `heap_refresh` times, until one is as
 * cold as it was; that page is the coldest.  Aging does not reorder the heap
 * (extents.h).
 *
 * Where the decisions differ from the paper's:
 *	1. A page of a cold extent is also refused when it is exactly as cold as
 *	   the coldest in the pool, 0 included: exchanging equals costs a write.
 *	2. Among pages of one temperature, those of an extent for instance, the
 *	   lower frame number goes, which keeps the order strict.
 *	3. If the top is still stale after `heap_refresh` looks, it goes.  A page
 *	   whose extent the table has forgotten (extents.h) is cold, but stands as
 *	   warm as last seen.
 *	4. Frames that a search found unusable leave the heap for the list "passed"
 *	   (search.h).  If nothing else is usable, they are searched from its tail.
 *	5. Temperatures as last seen have 24 bits: those that differ by less than a
 *	   ten-millionth count as equal in the heap.  So a frame needs 8 bytes, not 16.
 *
 * Costs: O(heap_refresh * log c) for a victim.  The policy knows extents, not
 * pages: a page never read again stays warm among neighbours that are read.
 * Benefits: hits touch nothing.  Cold pages, above all those of scans, are not
 * admitted, so little is written.
 * Memory: 8 bytes a frame; no ghosts.  The temperatures are the caller's (64
 * bytes an extent).
 */
#include "tidepool/parts/exponent.h"
#include "tidepool/parts/heap.h"
#include "tidepool/standing.h"
#include "tidepool/tier/extents.h"

enum
{
	CACHED = 1,					/* pages in a heap by temperature as last seen */
	PASSED						/* pages that a search found unusable, most
								 * recently looked at at the head */
};

enum
{
	PARAM_EXTENT,
	PARAM_WINDOW,
	PARAM_SEQUENTIAL_ABOVE,
	PARAM_AGING,
	PARAM_ADMIT_MARGIN,
	PARAM_HEAP_REFRESH
};

typedef struct tac_state
{
	double		margin;			/* 1 + admit_margin */
	uint32_t	refresh;		/* stale temperatures to update for a victim */
} tac_state;

/* A tp_temperature, rounded. */
typedef struct tac_seen
{
	float		saved;
	uint32_t	epoch;
} tac_seen;

/* The temperature of the page's extent, as last looked at. */
static tac_seen *
seen_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

static tp_temperature
temperature_seen(const tp_pool *pool, uint32_t frame)
{
	const tac_seen *seen = seen_of(pool, frame);
	tp_temperature temperature = {seen->saved, seen->epoch};

	return temperature;
}

static tp_temperature
temperature_now(const tp_pool *pool, uint32_t frame)
{
	return tp_extents_temperature(pool->services->extents,
								  tp_page_of(pool, frame));
}

/* Look at the frame's temperature.  Returns whether it was colder when last seen. */
static bool
look(const tp_pool *pool, uint32_t frame)
{
	tp_temperature before = temperature_seen(pool, frame);
	tp_temperature now = temperature_now(pool, frame);

	/* rounded, as what was seen is */
	now.saved = (float) now.saved;
	if (!tp_colder(before, now))
		return false;
	seen_of(pool, frame)->saved = (float) now.saved;
	seen_of(pool, frame)->epoch = now.epoch;
	return true;
}

static bool
comes_first(const tp_pool *pool, uint32_t a, uint32_t b)
{
	tp_temperature x = temperature_seen(pool, a);
	tp_temperature y = temperature_seen(pool, b);

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

/* Pages that were found unusable return to the heap if they are usable now. */
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

/* The coldest usable page, or TP_NONE.  Updates `refresh` temperatures. */
static uint32_t
coldest_usable(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	refresh = tp_state(pool, tac_state)->refresh;
	uint32_t	count;

	look_again(pool, usable, arg);
	while ((count = tp_list_of(pool, CACHED)->count) > 0)
	{
		uint32_t	frame = heap_at(pool, 0);

		if (usable != NULL && !usable(arg, frame))
		{
			heap_take(pool, frame);
			tp_list_push_head(pool, PASSED, frame);
			continue;
		}
		if (refresh == 0 || !look(pool, frame))
			return frame;
		refresh--;
		heap_raised(pool, count, frame, comes_first);
	}
	return tp_list_usable_tail(pool, PASSED, usable, arg);
}

static uint32_t
tac_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	const tac_state *state = tp_state(pool, tac_state);
	tp_temperature in = tp_extents_temperature(pool->services->extents, incoming);
	tp_temperature out;
	uint32_t	choice = coldest_usable(pool, usable, arg);

	if (choice == TP_NONE || (access->flags & TP_KEEP))
		return choice;

	/* both are of the same epoch, the present one */
	out = temperature_now(pool, choice);
	return in.saved > out.saved && in.saved >= state->margin * out.saved ?
		choice : TP_REFUSED;
}

static void
tac_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_temperature now = temperature_now(pool, frame);

	(void) access;
	seen_of(pool, frame)->saved = (float) now.saved;
	seen_of(pool, frame)->epoch = now.epoch;
	heap_enter(pool, frame);
}

static void
tac_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) list;
	tac_admit(pool, frame, access);
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

static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	const struct tp_extents *extents = pool->services->extents;

	return exponent_band(tp_temperature_at(temperature_seen(pool, frame),
										   extents == NULL ? 0 : extents->epoch));
}

static uint32_t
tac_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, EXPONENT_BANDS, 0, band_of);
}

static uint32_t
tac_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	uint32_t	frame = heap_walk(pool, tp_list_of(pool, CACHED)->count,
								  &ahead->cursor);

	ahead->cursor.taken += frame != TP_NONE;
	return frame;
}

/* The caller keeps the temperatures. */
static void
tac_reinstate(const tp_pool *pool, uint32_t frame, const tp_standing *standing,
			  const tp_access *access)
{
	(void) standing;
	tac_admit(pool, frame, access);
}

static int
tac_check(const tp_pool *pool, tp_report report, void *arg)
{
	return heap_check(pool, tp_list_of(pool, CACHED)->count, CACHED, comes_first,
					  report, arg);
}

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
	{0}
};

const tp_policy tp_policy_tac = {
	.name = "tac",
	.title = "temperature-aware caching on an SSD",
	.source = "Canim, Mihaila, Bhattacharjee, Ross, Lang, PVLDB 2010",
	.flags = TP_HIT_NOTHING | TP_READS_EXTENTS,
	.state_size = sizeof(tac_state),
	.extra_size = sizeof(tac_seen),
	.params = tac_params,
	.lists = {{"cached", TP_RING}, {"passed"}},
	.init = tac_init,
	.victim = tac_victim,
	.evict = tac_evict,
	.restore = tac_restore,
	.admit = tac_admit,
	.forget = tac_forget,
	.coldest = tac_coldest,
	.upcoming = tac_upcoming,
	.reinstate = tac_reinstate,
	.check = tac_check,
};
