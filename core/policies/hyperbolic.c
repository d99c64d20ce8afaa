/*
 * hyperbolic.c
 *	  Hyperbolic caching.
 *
 * Source: A. Blankstein, S. Sen, M. J. Freedman: Hyperbolic caching: Flexible
 * caching for web applications. USENIX ATC 2017.
 *
 * A page's priority is its number of references divided by the time since it
 * came in.
 *
 * Where the decisions differ:
 *	1. Costs, cost classes, expiry and windows are left out: pages are alike.
 *	2. Time is counted in references, so that results do not depend on how
 *	   fast the machine is.
 *	3. A pool no larger than the sample is looked at whole (sample.h).
 *	4. A reference by VACUUM, or a correlated one, does not count; a page that
 *	   it loads starts at one reference like others.
 *	5. The references to a page advance time by 16 at every 16th, and by the
 *	   others when it leaves.  So hits seldom write to the shared clock.  If the
 *	   eviction is undone, these count twice.
 *	6. A sample is 16 pages by default, the paper's 64.  On the
 *	   generated traces zipf, ycsb, tpcc, oltp_scan and shifting (tidepool
 *	   trace generate, tidepool simulate), with 5 and 20 % of the pages
 *	   cached, 16 miss -1.3 to +3.0 % more; where a miss costs no more than a copy, the server's throughput
 *	   with 8 clients was 0.97 of stock's, with 64 it was 0.88
 *	   (bench/miss_path.py).
 *	7. A page's references stop at 2^24 - 1: then they and its age are halved.  A
 *	   page that stays for 2^40 references is young again, once.
 *
 * Costs: up to 16 frames are looked at for a victim, a cache line each; a page
 * that was hot for long stays for long.
 * Benefits: no lists, and no lock for hits or choices; a new page is overvalued
 * at first, and so has time to prove itself.
 * Memory: nothing beyond the node; no ghosts.
 *
 * LOCKING.  A hit writes its page's references.  The clock advances by atomic
 * additions.
 */
#include "tidepool/parts/sample.h"
#include "tidepool/relaxed.h"
#include "tidepool/standing.h"

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

#define REFERENCES_BITS 24
#define REFERENCES_MAX ((UINT64_C(1) << REFERENCES_BITS) - 1)
#define CLOCK_MAX ((UINT64_C(1) << (64 - REFERENCES_BITS)) - 1)

#define TICKS 16				/* references that advance the clock at once */

typedef struct hyperbolic_state
{
	uint64_t	clock;			/* references so far */
} hyperbolic_state;

static uint64_t
clock_of(const tp_pool *pool)
{
	return tp_load64(&tp_state(pool, hyperbolic_state)->clock);
}

static void
advance(const tp_pool *pool, uint64_t references)
{
	__atomic_fetch_add(&tp_state(pool, hyperbolic_state)->clock, references,
					   __ATOMIC_RELAXED);
}

/*
 * A page: when it came in, modulo 2^40, in the upper bits of its node's word,
 * and the references since then, its admission's included.
 */
static uint64_t
page_word(uint64_t inserted, uint64_t references)
{
	return inserted << REFERENCES_BITS | references;
}

static uint64_t
word_of(const tp_pool *pool, uint32_t frame)
{
	return tp_load64(&pool->nodes[frame].word);
}

static uint64_t
references_of(uint64_t word)
{
	return word & REFERENCES_MAX;
}

/* References to the pool from the page's arrival until this time. */
static uint64_t
elapsed_at(uint64_t clock, uint64_t word)
{
	return (clock - (word >> REFERENCES_BITS)) & CLOCK_MAX;
}

static uint64_t
elapsed(const tp_pool *pool, uint64_t word)
{
	return elapsed_at(clock_of(pool), word);
}

/* The same, counting the one that is being made.  At least 1. */
static uint64_t
age_of(const tp_pool *pool, uint64_t word)
{
	return elapsed(pool, word) + 1;
}

/* As many references in proportion, in half the time. */
static uint64_t
halved(const tp_pool *pool, uint64_t word)
{
	return page_word(clock_of(pool) - elapsed(pool, word) / 2,
					 references_of(word) / 2);
}

static void
hyperbolic_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint64_t	word = word_of(pool, frame);

	(void) access;
	if (references_of(word) == REFERENCES_MAX)
		word = halved(pool, word);
	word++;
	tp_store64(&pool->nodes[frame].word, word);
	if (word % TICKS == 0)
		advance(pool, TICKS);
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
	uint64_t	word = word_of(pool, frame);

	return (double) references_of(word) / (double) age_of(pool, word);
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
	(void) access;
	tp_store64(&pool->nodes[frame].word, page_word(clock_of(pool), 1));
	tp_ring_add(pool, FRAMES, frame);
}

static void
hyperbolic_forget(const tp_pool *pool, uint32_t frame)
{
	uint64_t	rest = word_of(pool, frame) % TICKS;

	if (rest > 0)
		advance(pool, rest);
	tp_ring_remove(pool, frame);
}

static void
hyperbolic_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	hyperbolic_forget(pool, frame);
}

/* log2(x), rounded down; x > 0. */
static int
log2_of(uint64_t x)
{
	return 63 - __builtin_clzll(x);
}

/*
 * Band 0: referenced once in 8c references or more seldom; the pages of each
 * further band are referenced twice as often.
 */
static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	uint64_t	word = word_of(pool, frame);
	uint64_t	references = references_of(word);
	uint64_t	age = age_of(pool, word);
	int			band;

	if (age < references)
		return BANDS - 1;
	band = 3 + log2_of(pool->header->frames | 1) -
		log2_of(references > 0 ? age / references : age);
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
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);

		/* first, since others may be advancing the clock */
		uint64_t	word = __atomic_load_n(&pool->nodes[frame].word, __ATOMIC_ACQUIRE);
		uint64_t	clock = clock_of(pool);

		if (!tp_is_resident(pool, frame))
			continue;
		bad += tp_expect(elapsed_at(clock, word) <= clock, "page from the future",
						 frame, report, arg);
		bad += tp_expect(references_of(word) >= 1, "page never referenced", frame,
						 report, arg);
	}
	return bad;
}

/* A page that came in before the clock began counts from its beginning. */
static void
hyperbolic_reinstate(const tp_pool *pool, uint32_t frame,
					 const tp_standing *standing, const tp_access *access)
{
	tp_standing here = *standing;

	(void) access;
	if (elapsed(pool, here.word) > clock_of(pool))
		here.word = page_word(0, references_of(here.word));
	tp_reinstate_at_tail(pool, frame, FRAMES, &here);
}

static void
hyperbolic_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	(void) frames;
	tp_state(pool, hyperbolic_state)->clock =
		((const hyperbolic_state *) saved)->clock;
}

static const tp_param hyperbolic_params[] = {
	[PARAM_SAMPLE] = {
		.name = "sample", .type = TP_PARAM_INTEGER,
		.default_value = 16, .min = 1, .max = SAMPLE_MAX,
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
	.flags = TP_HIT_LOCK_FREE | TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE |
	TP_RANDOMIZED,
	.state_size = sizeof(hyperbolic_state),
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
	.reinstate = hyperbolic_reinstate,
	.resume = hyperbolic_resume,
	.check = hyperbolic_check,
};
