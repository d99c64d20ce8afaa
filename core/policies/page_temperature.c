/*
 * page_temperature.c
 *	  Temperature-aware caching by page: TAC (tac.c) with the pages of an
 *	  extent told apart, and with an eye on what is read right now.
 *
 * Source: this project, after M. Canim, G. A. Mihaila, B. Bhattacharjee,
 * K. A. Ross, C. A. Lang: SSD bufferpool extensions for database systems.
 * PVLDB 3(2), 2010.
 *
 * Where the decisions differ from TAC's; a parameter turns each off:
 *	1. Pages of an extent are told apart by their counts, as far as these
 *	   differ by more than chance (`pages`; tp_extents_page).
 *	2. A second temperature is added, which is halved after far fewer reads
 *	   (`burst_weight`, `burst`).  A query that looks up rows of a few days
 *	   reads their pages several times, and then not for long.
 *	3. Streams tell sequential reads, not a window (`streams`).
 *	4. A page must be four times as warm as the one it replaces, where TAC asks
 *	   for 1 % more (`admit_margin`).  Most exchanges would be of likes, which
 *	   cost writes and gain nothing.
 *	5. The coldest of a random sample goes (`sample`; a pool no larger than
 *	   that is looked at whole).  The two temperatures fall at different paces,
 *	   so the order of pages changes with time and no heap would hold.
 *
 * Costs: a victim looks up `sample` extents, each in another cache line or
 * two, and adds up their counts: microseconds, before a write to an SSD.
 * Benefits: TAC's; a page never read again does not stay for its neighbours'
 * sake; few pages are written.
 * Memory: nothing in addition to the node; no ghosts.  The counts of pages
 * that are not cached are in their extents.
 */
#include "tidepool/parts/exponent.h"
#include "tidepool/parts/sample.h"
#include "tidepool/tier/extents.h"

enum
{
	CACHED = 1					/* all pages */
};

enum
{
	PARAM_EXTENT,
	PARAM_STREAMS,
	PARAM_AGING,
	PARAM_BURST,
	PARAM_BURST_WEIGHT,
	PARAM_PAGES,
	PARAM_ADMIT_MARGIN,
	PARAM_SAMPLE
};

static double
temperature_of(const tp_pool *pool, tp_page page)
{
	const double *params = pool->header->params;

	return tp_extents_page(pool->services->extents, page, params[PARAM_PAGES] != 0,
						   params[PARAM_BURST_WEIGHT]);
}

static double
value_of(const tp_pool *pool, uint32_t frame)
{
	return temperature_of(pool, tp_page_of(pool, frame));
}

static uint32_t
page_temperature_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	return sample_expect(pool, (uint32_t) pool->header->params[PARAM_SAMPLE], frames);
}

/* Of equal temperatures the first of the sample goes. */
static uint32_t
page_temperature_victim(const tp_pool *pool, tp_page incoming,
						tp_usable usable, void *arg, const tp_access *access)
{
	const double *params = pool->header->params;
	uint32_t	choice = sample_least(pool, (uint32_t) params[PARAM_SAMPLE],
									  usable, arg, value_of);
	double		in = temperature_of(pool, incoming);
	double		out;

	if (choice == TP_NONE || (access->flags & TP_KEEP))
		return choice;
	out = value_of(pool, choice);
	return in > out && in >= (1 + params[PARAM_ADMIT_MARGIN]) * out ? choice :
		TP_REFUSED;
}

static void
page_temperature_admit(const tp_pool *pool, uint32_t frame,
					   const tp_access *access)
{
	(void) access;
	tp_ring_add(pool, CACHED, frame);
}

static void
page_temperature_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

static void
page_temperature_evict(const tp_pool *pool, uint32_t frame,
					   const tp_access *access)
{
	(void) access;
	tp_ring_remove(pool, frame);
}

static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	return exponent_band(value_of(pool, frame));
}

static uint32_t
page_temperature_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, EXPONENT_BANDS, 0, band_of);
}

static uint32_t
page_temperature_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return tp_upcoming_sweep(pool, ahead, (uint32_t) pool->header->params[PARAM_SAMPLE],
							 EXPONENT_BANDS, band_of);
}

static const char *const off_on[] = {"off", "on", NULL};

/*
 * Defaults by bench/ssd_improvement.py.  burst 0.02 .. 0.3 and burst_weight
 * 0.1 .. 1 differ by 2 % of the time.  A larger admit_margin writes less and
 * takes longer.
 */
static const tp_param page_temperature_params[] = {
	[PARAM_EXTENT] = {
		.name = "extent", .type = TP_PARAM_INTEGER,
		.default_value = TP_EXTENT_PAGES, .min = 1, .max = 1 << 20,
		.help = "pages that share a temperature"
	},
	[PARAM_STREAMS] = {
		.name = "streams", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "tell sequential reads by streams; off: by a window, as tac",
		.choices = off_on
	},
	[PARAM_AGING] = {
		.name = "aging", .type = TP_PARAM_FRACTION,
		.default_value = 20, .min = 0, .max = 1e6,
		.help = "reads after which temperatures are halved, per frame"
	},
	[PARAM_BURST] = {
		.name = "burst", .type = TP_PARAM_FRACTION,
		.default_value = 0.1, .min = 0, .max = 1e6,
		.help = "reads after which the second temperatures are halved, per frame"
	},
	[PARAM_BURST_WEIGHT] = {
		.name = "burst_weight", .type = TP_PARAM_REAL,
		.default_value = 0.3, .min = 0, .max = 1e6,
		.help = "weight of the second temperature, for the same rate of reads"
	},
	[PARAM_PAGES] = {
		.name = "pages", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether pages of an extent are told apart",
		.choices = off_on
	},
	[PARAM_ADMIT_MARGIN] = {
		.name = "admit_margin", .type = TP_PARAM_REAL,
		.default_value = 3, .min = 0, .max = 1e6,
		.help = "how much warmer a page must be than the one it replaces; 0.01 is 1%"
	},
	[PARAM_SAMPLE] = {
		.name = "sample", .type = TP_PARAM_INTEGER,
		.default_value = 32, .min = 1, .max = SAMPLE_MAX,
		.help = "cached pages of which the coldest goes"
	},
	{0}
};

const tp_policy tp_policy_page_temperature = {
	.name = "page_temperature",
	.title = "temperature-aware caching on an SSD, by page",
	.source = "Tidepool, after Canim et al., PVLDB 2010",
	.flags = TP_HIT_NOTHING | TP_READS_EXTENTS | TP_RANDOMIZED,
	.params = page_temperature_params,
	.lists = {{"cached", TP_RING}},
	.expect_choice = page_temperature_expect_choice,
	.victim = page_temperature_victim,
	.evict = page_temperature_evict,
	.admit = page_temperature_admit,
	.forget = page_temperature_forget,
	.coldest = page_temperature_coldest,
	.upcoming = page_temperature_upcoming,
};
