/*
 * hyperbolic.c
 *	  Hyperbolic caching.
 *
 * Source: A. Blankstein, S. Sen, M. J. Freedman: Hyperbolic caching: Flexible
 * caching for web applications. USENIX ATC 2017.
 *
 * Why the structure differs from the paper's, and the decisions do not: a
 * page's priority is its number of references divided by the time since it
 * came in.  Two priorities are compared crosswise, by two multiplications in
 * double precision, instead of by two divisions.
 *
 * Where the decisions differ:
 *	1. Costs, cost classes, expiry and windows are left out: pages are alike.
 *	2. Time is counted in references, so that results do not depend on how
 *	   fast the machine is.
 *	3. A pool no larger than the sample is looked at whole (sample.h).
 *	4. A reference by VACUUM, or a correlated one, does not count, nor does it
 *	   advance time; a page that it loads starts at one reference like others.
 *
 * Costs: all hits advance one clock, so they need the pool's lock; up to 64
 * frames are looked at for a victim; a page that was hot for long stays for
 * long.
 * Benefits: no lists; a new page is overvalued at first, and so has time to
 * prove itself.
 * Memory: 16 bytes a frame beyond the node; no ghosts.
 */
#include "tidepool/parts/sample.h"

enum
{
	FRAMES = 1					/* resident pages, a ring */
};

enum
{
	PARAM_SAMPLE
};

enum
{
	BANDS = 16					/* of coldest */
};

typedef struct hyperbolic_state
{
	uint64_t	clock;			/* references so far; in a shared pool some
								 * may be lost */
} hyperbolic_state;

typedef struct hyperbolic_page
{
	uint64_t	inserted;		/* clock at its admission */
	uint32_t	references;		/* since then, the admission's included */
} hyperbolic_page;

static uint64_t
clock_of(const tp_pool *pool)
{
	return __atomic_load_n(&tp_state(pool, hyperbolic_state)->clock,
						   __ATOMIC_RELAXED);
}

static void
tick(const tp_pool *pool)
{
	__atomic_store_n(&tp_state(pool, hyperbolic_state)->clock,
					 clock_of(pool) + 1, __ATOMIC_RELAXED);
}

static uint32_t
references_of(const hyperbolic_page *page)
{
	return __atomic_load_n(&page->references, __ATOMIC_RELAXED);
}

/*
 * References to the pool since the page came in, counting the one that is
 * being made, which the clock does not.  At least 1.
 */
static uint64_t
age_of(const tp_pool *pool, const hyperbolic_page *page)
{
	uint64_t	clock = clock_of(pool);
	uint64_t	inserted = __atomic_load_n(&page->inserted, __ATOMIC_RELAXED);

	return clock > inserted ? clock - inserted + 1 : 1;
}

static void
hyperbolic_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	hyperbolic_page *page = tp_extra(pool, frame);
	uint32_t	references = references_of(page);

	(void) access;
	tick(pool);
	if (references < UINT32_MAX)
		__atomic_store_n(&page->references, references + 1, __ATOMIC_RELAXED);
}

static uint32_t
hyperbolic_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	return sample_expect(pool, (uint32_t) pool->header->params[PARAM_SAMPLE], frames);
}

/* References for each reference to the pool since the page came in. */
static double
priority_of(const tp_pool *pool, uint32_t frame)
{
	const hyperbolic_page *page = tp_extra(pool, frame);

	return (double) references_of(page) / (double) age_of(pool, page);
}

static uint32_t
hyperbolic_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
				  void *arg, const tp_access *access)
{
	(void) incoming;
	(void) access;
	return sample_least(pool, (uint32_t) pool->header->params[PARAM_SAMPLE],
						usable, arg, priority_of);
}

static void
hyperbolic_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	hyperbolic_page *page = tp_extra(pool, frame);

	if (tp_promotes(access))
		tick(pool);
	__atomic_store_n(&page->inserted, clock_of(pool), __ATOMIC_RELAXED);
	__atomic_store_n(&page->references, 1, __ATOMIC_RELAXED);
	tp_ring_add(pool, FRAMES, frame);
}

static void
hyperbolic_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_ring_remove(pool, frame);
}

static void
hyperbolic_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

/* log2(x), rounded down; x > 0. */
static int
log2_of(uint64_t x)
{
	return 63 - __builtin_clzll(x);
}

/*
 * Band 0: referenced once in 8c references or more seldom; the pages of each
 * further band are referenced twice as often.  upcoming calls this without the
 * lock, so the page's numbers may be cleared, or newer than the clock.
 */
static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	const hyperbolic_page *page = tp_extra(pool, frame);
	uint32_t	references = references_of(page);
	uint64_t	age = age_of(pool, page);
	int			band;

	if (references == 0 || age < references)
		return BANDS - 1;
	band = 3 + log2_of(pool->header->frames | 1) - log2_of(age / references);
	return band < 0 ? 0 : band < BANDS ? (uint32_t) band : BANDS - 1;
}

static uint32_t
hyperbolic_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, BANDS, 0, band_of);
}

static uint32_t
hyperbolic_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return tp_upcoming_sweep(pool, ahead, (uint32_t) pool->header->params[PARAM_SAMPLE],
							 BANDS, band_of);
}

static int
hyperbolic_check(const tp_pool *pool, tp_report report, void *arg)
{
	uint64_t	clock = tp_state(pool, hyperbolic_state)->clock;
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);
		const hyperbolic_page *page = tp_extra(pool, frame);

		if (!tp_is_resident(pool, frame))
			continue;
		bad += tp_expect(page->inserted <= clock, "page from the future", frame,
						 report, arg);
		bad += tp_expect(page->references >= 1, "page never referenced", frame,
						 report, arg);
		bad += tp_expect(page->references <= age_of(pool, page),
						 "more references than time", frame, report, arg);
	}
	return bad;
}

static const tp_param hyperbolic_params[] = {
	[PARAM_SAMPLE] = {
		.name = "sample", .type = TP_PARAM_INTEGER,
		.default_value = 64, .min = 1, .max = SAMPLE_MAX,
		.help = "frames looked at for a victim"
	},
	{0}
};

static const tp_field hyperbolic_fields[] = {
	{"clock", TP_FIELD_U64, offsetof(hyperbolic_state, clock)},
	{0}
};

const tp_policy tp_policy_hyperbolic = {
	.name = "hyperbolic",
	.title = "hyperbolic caching",
	.source = "Blankstein, Sen, Freedman, USENIX ATC 2017",
	.flags = TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE | TP_RANDOMIZED,
	.state_size = sizeof(hyperbolic_state),
	.extra_size = sizeof(hyperbolic_page),
	.params = hyperbolic_params,
	.fields = hyperbolic_fields,
	.lists = {{"frames", TP_RING}},
	.hit = hyperbolic_hit,
	.expect_choice = hyperbolic_expect_choice,
	.victim = hyperbolic_victim,
	.evict = hyperbolic_evict,
	.admit = hyperbolic_admit,
	.forget = hyperbolic_forget,
	.coldest = hyperbolic_coldest,
	.upcoming = hyperbolic_upcoming,
	.check = hyperbolic_check,
};
