/*
 * page_temperature.c
 *	  Temperature-aware caching by page: what TAC (tac.c) knows of extents,
 *	  taken down to their pages, and with an eye on what is read just now.
 *
 * Source: this project; it goes on from M. Canim, G. A. Mihaila,
 * B. Bhattacharjee, K. A. Ross, C. A. Lang: SSD bufferpool extensions for
 * database systems. PVLDB 3(2), 2010.
 *
 * Where it differs from TAC, each of which a parameter turns off:
 *	1. Pages of an extent are told apart by their counts, as far as they
 *	   differ by more than chance (`pages`; tp_extents_page).
 *	2. A second temperature, halved after far fewer reads, is added
 *	   (`burst_weight`, `burst`): a query that looks up rows of a few days
 *	   reads their pages several times, and then not for long.
 *	3. Sequential reads are told by streams, not by a window (`streams`).
 *	4. A page must be several times as warm as the one it replaces, not 1 %
 *	   warmer (`admit_margin`): the others would mostly be exchanges of
 *	   likes, which cost writes and gain nothing.
 *	5. The coldest of a random sample goes: the order of pages changes with
 *	   time, since the two temperatures fall at different paces, so that no
 *	   heap would hold.
 *
 * DEFINITION.  Ring cached: all pages.  T(page) = tp_extents_page(page), with
 * the policy's pages and burst_weight.
 *	  victim: sample_frames (sample.h) of `sample` frames; of these the one of
 *	least T, the first in the order of the sample among equals.  It is refused
 *	unless T(incoming) > T(choice) and
 *	T(incoming) >= (1 + admit_margin) * T(choice).
 *	  hit: nothing; the read has warmed the extent.  admit: onto cached.
 *	evict, forget: off it.  join, leave: nothing.
 *	  coldest: those of T = 0, then the others by the binary exponent of T,
 *	-20 .. 39 (what is outside counts as at the end), in the order of members.
 *	  upcoming: tp_upcoming_sweep (list.h), by these exponents.
 *
 * Costs: a victim looks `sample` extents up, each in another cache line or
 * two, and adds up their counts: microseconds, before a write to an SSD.
 * Benefits: as TAC's; a page that is never read again does not live on its
 * neighbours; few pages are written.
 * Memory: nothing beside the node; no ghosts: the counts of pages that are
 * not cached are in their extents.
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

static uint32_t
page_temperature_victim(const tp_pool *pool, tp_page incoming,
						tp_usable usable, void *arg, const tp_access *access)
{
	const double *params = pool->header->params;
	uint32_t	choice = sample_least(pool, (uint32_t) params[PARAM_SAMPLE],
									  usable, arg, value_of);
	double		in = temperature_of(pool, incoming);
	double		out;

	(void) access;
	if (choice == TP_NONE)
		return TP_NONE;
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
 * 0.1 .. 1 differ by 2 % of the time; a larger admit_margin writes less and
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
