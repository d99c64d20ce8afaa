/*
 * pbm.c
 *	  Predictive buffer management by sampling.
 *
 * Source: T. Khalaji, X. Guo, T. Vanderkooy, K. Daudjee: Sampling-based
 * predictive database buffer management, PVLDB 18, 2025; T. Vanderkooy: thesis
 * of that title, University of Waterloo, 2023.
 *
 * A page is expected at the least of three times: when a scan reads it
 * (scan.h), when an index scan that trails another comes by (trail.h), and
 * when its frequency says (page_history.h).  Of a random sample the page
 * expected last goes; of equals, by default, the one used least recently.
 *
 * Why the structure differs from the paper's, and the decisions do not:
 * nothing is kept of the scans for each block group; an estimate is computed
 * from the running scans when it is asked for (scan.h has the argument).  An
 * estimate too small to make its page one of the furthest is not computed
 * exactly, since it would not be used.
 *
 * Where the decisions differ:
 *	1. frequency=auto, the default: references through registered scans do not
 *	   count for a page's frequency, since those scans predict them.  So
 *	   relations that are only scanned have none, and the others keep pages for
 *	   the references that no scan predicts.  Against the better of the paper's
 *	   two settings (`on`, where all references count, and `off`) this missed
 *	   up to 8 % less on ten mixes of 0 to 16 scans with 0 to 100 % point
 *	   reads, a tenth of the pages cached, and never 0.2 % more.  Switching
 *	   relations on and off by the share of their point reads as well only lost
 *	   (0.2 to 0.5 %).
 *	2. `remember`: the furthest candidates that were not evicted are candidates
 *	   again at the next eviction.  8 of them miss 4 to 6 % less than none on
 *	   such mixes, about as much as 26 samples instead of 10.  They are
 *	   estimated anew only when they are first in line, since a page that no
 *	   scan came near is where it was.
 *	3. `neighbours`: the pages loaded before and after the last victim are
 *	   candidates (load_order.h).
 *	4. `scan_history`: scans that have not begun are expected as they used to
 *	   come (expected.c in core/prediction).
 *	5. A pool no larger than the sample is looked at whole (sample.h), and a
 *	   sample is SAMPLE_MAX (256) frames at most.
 *	6. Of several victims chosen at once (`victims`), a page referenced since
 *	   is spared.
 *	7. Whether a frame is pinned is asked of the furthest candidates alone, not
 *	   of the whole sample, since each answer costs a cache miss and few frames
 *	   are pinned.  If all candidates kept are, a sample of usable frames is
 *	   drawn instead.
 *	8. The candidates remembered are each process's own, so a choice takes no
 *	   lock.
 *	9. References at the same time count as one (page_history.h).
 *	10. With frequency=auto, pages referenced once are expected as such pages
 *	   come back here, and references that follow each other within a
 *	   transaction are one (newcomers.h).  The paper expects the former never,
 *	   and counts each of the latter.
 *	11. Of the candidates kept (2) that are expected at the same time, or not
 *	   at all, a clean one goes before a dirty one: whoever evicts the latter
 *	   must write it, and perhaps the WAL first.  Those kept are the ones used
 *	   least recently: to look for a clean page among all that were looked at
 *	   saved more writes, but cost misses.
 *	12. A vacant frame is drawn in vain: no other is drawn instead, because it
 *	   costs a cache miss to ask, and there are hardly any.
 *	13. A page's own references are counted in the time in which the pool is in
 *	   use (busy_time.h).  By the clock on the wall, pauses of 10 seconds after
 *	   each half second's work made six workloads miss up to 43 % more
 *	   (bench/pauses.py), so it does 0.8 %.
 *	The paper's is remember=0,neighbours=off,scan_history=off with frequency=on
 *	or off, except for 5 to 9 and 11 to 13.
 *
 * Costs: an estimate looks at all scans of the page's relation (a few
 * nanoseconds each).  An eviction makes samples of them and a few more, each
 * on memory of its own that is in no cache.
 * Benefits: predicts pages that were never used before; scans share what one
 * of them reads; hits take no lock.
 * Memory: 24 bytes a frame; no ghosts.
 */
#include <string.h>

#include "tidepool/parts/sample.h"
#include "tidepool/standing.h"

#include "prediction/busy_time.h"
#include "prediction/furthest.h"
#include "prediction/load_order.h"
#include "prediction/reason.h"

enum
{
	FRAMES = 1					/* resident pages, a ring */
};

enum
{
	PARAM_SAMPLES,
	PARAM_VICTIMS,
	PARAM_REMEMBER,
	PARAM_FREQUENCY,
	PARAM_INDEX_SCANS,
	PARAM_LRU_FALLBACK,
	PARAM_NEIGHBOURS,
	PARAM_SCAN_HISTORY
};

enum
{
	FREQUENCY_AUTO,
	FREQUENCY_ON,
	FREQUENCY_OFF
};

enum
{
	NEVER_BANDS = 16,			/* of coldest, for pages that are not expected */
	BANDS = NEVER_BANDS + 12	/* with those for pages that are */
};

typedef struct pbm_state
{
	uint64_t	now;			/* of the last miss or, in a shared pool, of
								 * one in the last millisecond; for coldest */
	uint64_t	busy;			/* the pool's time then */
	newcomer_stats newcomers;
	busy_clock	clock;			/* in the cache line that hits read anyway */
} pbm_state;

/* One process's. */
typedef struct pbm_choice
{
	chosen_frames chosen;		/* victims of the last choice, and candidates
								 * remembered from it */
	load_order	order;			/* of the frames */
	newcomers_seen seen;
} pbm_choice;

_Static_assert(sizeof(pbm_choice) <= TP_CHOOSER_SIZE, "a choice fits a chooser");

/*
 * Microseconds between two writes of a shared pool's `now`: other processes
 * lose the cache line about a thousand times a second at most.
 */
#define SHARED_NOW_STEP 1000

static uint32_t
param(const tp_pool *pool, int which)
{
	return (uint32_t) pool->header->params[which];
}

static ranking
ranking_of(const tp_pool *pool)
{
	const ranking rank = {
		.victims = param(pool, PARAM_VICTIMS),
		.keep = param(pool, PARAM_VICTIMS) + param(pool, PARAM_REMEMBER),
		.lru = param(pool, PARAM_LRU_FALLBACK) != 0
	};

	return rank;
}

/* What is known of newcomers; NULL: nothing, as in the paper. */
static newcomer_stats *
newcomers_of(const tp_pool *pool)
{
	return param(pool, PARAM_FREQUENCY) == FREQUENCY_AUTO ?
		&tp_state(pool, pbm_state)->newcomers : NULL;
}

/* Does the reference count for the page's history? */
static bool
counts(const tp_pool *pool, const tp_access *access)
{
	return access->scan == 0 || tp_is_trail(access->scan) ||
		param(pool, PARAM_FREQUENCY) == FREQUENCY_ON;
}

static void
pbm_init(const tp_pool *pool)
{
	newcomers_init(&tp_state(pool, pbm_state)->newcomers);
}

static void
pbm_init_chooser(const tp_pool *pool)
{
	load_order_init(&tp_choice(pool, pbm_choice)->order);
}

/* The pool is in use.  Returns its own time. */
static uint64_t
use(const tp_pool *pool, uint64_t now)
{
	return busy_time_now(&tp_state(pool, pbm_state)->clock, now);
}

/*
 * The same for a miss.  In a shared pool all write to these places, so not each
 * time.
 */
static uint64_t
use_for_miss(const tp_pool *pool, uint64_t now)
{
	pbm_state  *state = tp_state(pool, pbm_state);
	uint64_t	busy = use(pool, now);

	if (!pool->header->shared || now > tp_load64(&state->now) + SHARED_NOW_STEP)
	{
		tp_store64(&state->now, now);
		tp_store64(&state->busy, busy);
	}
	return busy;
}

/* The page was referenced, at this time of the pool. */
static inline void
note(const tp_pool *pool, uint32_t frame, const tp_access *access, uint64_t busy)
{
	newcomer_stats *all = newcomers_of(pool);

	if (page_history_add(page_history_of(pool, frame), access, busy,
						 counts(pool, access),
						 all != NULL ? newcomers_period(all) : 0) && all != NULL)
		newcomers_return(all);
}

/* Not inlined, so that a hit mostly calls nothing and saves no register. */
static __attribute__((noinline))
void
hit_in_new_unit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	note(pool, frame, access, use(pool, access->now));
}

static void
pbm_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint64_t	word = tp_load64(&tp_state(pool, pbm_state)->clock.word);

	if (busy_clock_is_at(word, access->now))
		note(pool, frame, access, busy_time_of(word, access->now));
	else
		hit_in_new_unit(pool, frame, access);
}

/* ---- the choice ---- */

static page_estimates
estimates_at(const tp_pool *pool, uint64_t now, uint64_t busy)
{
	const newcomer_stats *all = newcomers_of(pool);
	page_estimates e = {
		.pool = pool,
		.now = now,
		.busy = busy,
		.by_frequency = param(pool, PARAM_FREQUENCY) != FREQUENCY_OFF,
		.scan_history = param(pool, PARAM_SCAN_HISTORY) != 0,
		.scans = pool->services->scans,
		.newcomers.wait = TP_NEVER
	};

	if (param(pool, PARAM_INDEX_SCANS))
		e.trails = pool->services->trails;
	if (all != NULL)
		e.newcomers = newcomers_outlook(all);
	return e;
}

static uint32_t
sample_size(const tp_pool *pool)
{
	uint32_t	want = param(pool, PARAM_SAMPLES) * param(pool, PARAM_VICTIMS);

	return want < SAMPLE_MAX ? want : SAMPLE_MAX;
}

/* The frames to look at, usable or not.  Returns how many. */
static uint32_t
new_frames(const tp_pool *pool, uint32_t *frames)
{
	uint32_t	n = 0;

	if (param(pool, PARAM_NEIGHBOURS))
		n = load_order_neighbours(pool, &tp_choice(pool, pbm_choice)->order,
								  frames);
	return n + sample_members(pool, sample_size(pool), frames + n);
}

/* Choose the furthest of what is remembered and what is new. */
static void
choose(const tp_pool *pool, tp_usable usable, void *arg, uint64_t now,
	   uint64_t busy)
{
	pbm_choice *choice = tp_choice(pool, pbm_choice);
	uint32_t	frames[2 + SAMPLE_MAX];
	uint32_t	n = new_frames(pool, frames);	/* on their way while others
												 * are ranked */
	furthest	s;

	s.at = estimates_at(pool, now, busy);
	s.rank = ranking_of(pool);
	s.seen = choice->seen;
	furthest_begin(&s, &choice->chosen);
	furthest_look(&s, frames, n);
	furthest_verify(&s, usable, arg);
	if (s.n == 0)
	{
		/* all are in use: a sample of usable ones, then */
		furthest_look(&s, frames,
					  sample_frames(pool, param(pool, PARAM_SAMPLES), usable, arg,
									frames));
	}
	choice->seen = s.seen;
	choose_candidates(&choice->chosen, &s.rank, busy, s.list, s.n);
}

/* Whether a frame is usable is asked last, and of few. */
static uint32_t
pbm_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	const chosen_frames *chosen = &tp_choice(pool, pbm_choice)->chosen;

	(void) sample_expect(pool, sample_size(pool), frames);
	if (chosen->due >= chosen->count)
		return 0;
	frames[0] = chosen->list[chosen->due].frame;
	return 1;
}

/* Propose this victim of the choice. */
static uint32_t
propose(const tp_pool *pool, const chosen_frames *chosen, uint32_t victim,
		uint64_t now, uint64_t busy)
{
	const chosen_frame *c = &chosen->list[victim];

	explain_proposal(pool, c->frame, c->expected - (double) busy,
					 (tp_reason) chosen->sources[victim], now);
	return c->frame;
}

static uint32_t
pbm_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	chosen_frames *chosen = &tp_choice(pool, pbm_choice)->chosen;
	uint64_t	now = access->now;
	uint64_t	busy = use_for_miss(pool, now);

	(void) incoming;
	if (next_chosen(pool, chosen, usable, arg) != TP_NONE)
		return propose(pool, chosen, chosen->next, now, busy);
	choose(pool, usable, arg, now, busy);
	return chosen->count > 0 ? propose(pool, chosen, 0, now, busy) : TP_NONE;
}

static void
pbm_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	newcomer_stats *all = newcomers_of(pool);
	uint64_t	busy = use_for_miss(pool, access->now);

	if (all != NULL)
		newcomers_load(all, &tp_choice(pool, pbm_choice)->seen,
					   pool->header->frames, busy);
	page_history_begin(page_history_of(pool, frame), access, busy,
					   counts(pool, access));
	tp_ring_add(pool, FRAMES, frame);
	load_order_add(pool, &tp_choice(pool, pbm_choice)->order, frame,
				   tp_is_trail(access->scan) ? 0 : access->scan);
}

static void
pbm_forget(const tp_pool *pool, uint32_t frame)
{
	load_order_remove(pool, &tp_choice(pool, pbm_choice)->order, frame);
	tp_ring_remove(pool, frame);
}

static void
pbm_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	load_order_note(pool, &tp_choice(pool, pbm_choice)->order, frame);
	pbm_forget(pool, frame);
}

static void
pbm_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) access;
	tp_ring_add(pool, list, frame);
	load_order_add(pool, &tp_choice(pool, pbm_choice)->order, frame, 0);
}

/*
 * Bands for coldest.  Pages not expected: idle for 2^32 microseconds or more,
 * then a band for each factor of 2, the last for less than 2^18.  Then pages
 * expected in 2^31 or more, a band for each factor of 4, the last for less
 * than 2^11.
 */
static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	const pbm_state *state = tp_state(pool, pbm_state);
	page_estimates e = estimates_at(pool, tp_load64(&state->now),
									tp_load64(&state->busy));
	const page_history *page = page_history_of(pool, frame);
	const own_estimate own = estimate_own(&e, page);
	tp_reason	source;
	double		wait = estimate_page(&e, frame, &own, 0, &source);
	uint32_t	band;

	if (wait == TP_NEVER)
	{
		uint64_t	idle = (uint64_t) page_history_idle(page, e.busy);

		for (band = 0; band < NEVER_BANDS - 1 && idle >> (32 - band) == 0;)
			band++;
		return band;
	}
	for (band = NEVER_BANDS;
		 band < BANDS - 1 && wait < (double) (UINT64_C(1) << 31); band++)
		wait *= 4;
	return band;
}

static uint32_t
pbm_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, BANDS, 0, band_of);
}

static uint32_t
pbm_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return tp_upcoming_sweep(pool, ahead, param(pool, PARAM_SAMPLES) +
							 param(pool, PARAM_REMEMBER),
							 BANDS, band_of);
}

/* How long ago the page was referenced; marks of index scans do not last. */
static void
pbm_describe_standing(const tp_pool *pool, uint32_t frame,
					  tp_standing *standing, uint64_t now)
{
	page_history page;

	memcpy(&page, standing->extra, sizeof(page));
	page.last = (uint64_t)
		page_history_idle(page_history_of(pool, frame),
						  busy_time_at(&tp_state(pool, pbm_state)->clock, now));
	page.trail = 0;
	memcpy(standing->extra, &page, sizeof(page));
	standing->word = 0;
}

static void
pbm_reinstate(const tp_pool *pool, uint32_t frame, const tp_standing *standing,
			  const tp_access *access)
{
	tp_standing here = *standing;
	uint64_t	busy = use_for_miss(pool, access->now);
	page_history page;

	memcpy(&page, standing->extra, sizeof(page));
	page.last = page.last < busy ? busy - page.last : 0;
	memcpy(here.extra, &page, sizeof(page));
	tp_reinstate_at_tail(pool, frame, FRAMES, &here);
	load_order_add(pool, &tp_choice(pool, pbm_choice)->order, frame, 0);
}

static void
pbm_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	const pbm_state *state = saved;

	(void) frames;
	newcomers_resume(&tp_state(pool, pbm_state)->newcomers, &state->newcomers);
}

static int
pbm_check(const tp_pool *pool, tp_report report, void *arg)
{
	const pbm_choice *choice = tp_choice(pool, pbm_choice);
	const ranking rank = ranking_of(pool);
	int			bad = load_order_check(pool, &choice->order, report, arg);

	bad += newcomers_check(&tp_state(pool, pbm_state)->newcomers, report, arg);
	bad += chosen_check(&choice->chosen, &rank, report, arg);
	for (uint32_t i = 0; i < pool->header->frames; i++)
		bad += page_history_check(pool, tp_member(pool, i), report, arg);
	return bad;
}

static const char *const frequency_choices[] = {"auto", "on", "off", NULL};
static const char *const off_or_on[] = {"off", "on", NULL};

static const tp_param pbm_params[] = {
	[PARAM_SAMPLES] = {
		.name = "samples", .type = TP_PARAM_INTEGER,
		.default_value = 10, .min = 1, .max = SAMPLE_MAX,
		.help = "frames looked at for each victim"
	},
	[PARAM_VICTIMS] = {
		.name = "victims", .type = TP_PARAM_INTEGER,
		.default_value = 1, .min = 1, .max = MOST_VICTIMS,
		.help = "victims chosen at once, from as many times the samples"
	},
	[PARAM_REMEMBER] = {
		.name = "remember", .type = TP_PARAM_INTEGER,
		.default_value = 8, .min = 0, .max = MOST_REMEMBERED,
		.help = "candidates of the last choice that are considered again"
	},
	[PARAM_FREQUENCY] = {
		.name = "frequency", .type = TP_PARAM_ENUM,
		.default_value = FREQUENCY_AUTO, .min = 0, .max = FREQUENCY_OFF,
		.help = "references that count as frequency; auto: those of no registered scan",
		.choices = frequency_choices
	},
	[PARAM_INDEX_SCANS] = {
		.name = "index_scans", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether pages wait for trailing index scans",
		.choices = off_or_on
	},
	[PARAM_LRU_FALLBACK] = {
		.name = "lru_fallback", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether the least recently used of equals goes first",
		.choices = off_or_on
	},
	[PARAM_NEIGHBOURS] = {
		.name = "neighbours", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether the pages loaded before and after the last victim are looked at",
		.choices = off_or_on
	},
	[PARAM_SCAN_HISTORY] = {
		.name = "scan_history", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether scans that have not begun are expected",
		.choices = off_or_on
	},
	{0}
};

static void
pbm_describe(const tp_pool *pool, struct tp_text *text)
{
	chosen_describe(&tp_choice(pool, pbm_choice)->chosen, text);
}

const tp_policy tp_policy_pbm = {
	.name = "pbm",
	.title = "predictive buffer management",
	.source = "Khalaji, Guo, Vanderkooy, Daudjee, PVLDB 2025",
	.flags = TP_HIT_LOCK_FREE | TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE |
		TP_HIT_IN_EXTRA | TP_RANDOMIZED | TP_ASKS_SCANS | TP_USES_TIME,
	.state_size = sizeof(pbm_state),
	.extra_size = sizeof(page_history),
	.chooser_size = sizeof(pbm_choice),
	.params = pbm_params,
	.lists = {{"frames", TP_RING}},
	.init = pbm_init,
	.init_chooser = pbm_init_chooser,
	.hit = pbm_hit,
	.expect_choice = pbm_expect_choice,
	.victim = pbm_victim,
	.evict = pbm_evict,
	.restore = pbm_restore,
	.admit = pbm_admit,
	.forget = pbm_forget,
	.coldest = pbm_coldest,
	.upcoming = pbm_upcoming,
	.describe_standing = pbm_describe_standing,
	.reinstate = pbm_reinstate,
	.resume = pbm_resume,
	.describe = pbm_describe,
	.check = pbm_check,
};
