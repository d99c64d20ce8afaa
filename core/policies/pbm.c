/*
 * pbm.c
 *	  Predictive buffer management by sampling.
 *
 * Source: T. Khalaji, X. Guo, T. Vanderkooy, K. Daudjee, PVLDB 2025;
 * T. Vanderkooy, thesis, University of Waterloo, 2023.
 *
 * Where this differs from the paper:
 *	1. frequency=auto, the default: references through registered scans, which
 *	   those scans foretell, do not count for a page's frequency.  So relations
 *	   that are only scanned have none, and of the others, pages are kept for
 *	   what nobody foretells.  Against the better of the paper's two settings
 *	   (`on`, where all references count, and `off`) this missed up to 8 % less
 *	   on ten mixes of 0 to 16 scans with 0 to 100 % point reads, a tenth of
 *	   the pages cached, and never 0.2 % more.  Switching relations on and off
 *	   by the share of their point reads beside this only lost (0.2 to 0.5 %).
 *	2. `remember`: the furthest of the frames that were looked at in vain are
 *	   candidates again at the next eviction.  8 of them miss 4 to 6 % less
 *	   than none on such mixes, about as much as 26 samples instead of 10.  They
 *	   are looked at and estimated anew only when they are first in line, since
 *	   a page that no scan came near stays where it was.  remember=0 is the paper.
 *	3. A pool no larger than the sample is looked at whole (sample.h), and a
 *	   sample is SAMPLE_MAX (256) frames at most.
 *	4. Of a bulk, a page that was referenced since it was sampled is spared.
 *	5. The list of candidates, and the chain's ends, are each process's own:
 *	   so nothing has to be locked for a choice.
 *	6. Whether a page is pinned is asked of the furthest alone, not of the whole
 *	   sample: to know costs a cache miss each, and few are.
 *	7. References at the same time count as one (pbm_page.h).
 *
 * DEFINITION.
 *	  Ring "frames": all resident pages.  State: now.  Of a chooser: now;
 *	  sampled_at; a list of frames with their generations, the furthest first,
 *	  of which the first `due` are to be evicted without sampling; next, an
 *	  index in it.
 *	  Per page: last, trail, since, interval: see pbm_page.h.
 *	  A reference is unforeseen if it was made through no registered scan, or
 *	    through one of trail.h, or if frequency=on.
 *	  hit: pbm_page_reference.
 *	  estimate: the least of
 *	    (a) tp_scan_expected_access with scan_history, else tp_scan_next_access;
 *	    (b) with index_scans, if trail: delay - age, delay being
 *	      tp_trail_delay, age the time since the last unforeseen reference; 0
 *	      if less than delay overdue, never if more (it did not come);
 *	    (c) unless frequency=off: interval, or age if that is more.
 *	  further: a is further than b if its estimate is larger; of equal ones,
 *	    with lru_fallback, if its last is earlier.
 *	  victim: now = the reference's.
 *	    (1) While next < due: if that entry's frame has its generation, no
 *	      reference after sampled_at, and is usable, propose it; else next + 1.
 *	    (2) Candidates: the entries from index `victims` on, with the last and
 *	      the time of their next reference as they were when it was estimated;
 *	      then, each once and estimated now, what the parameter neighbours
 *	      names (pbm_chain.h), and sample_frames (sample.h) of samples *
 *	      victims frames, at most 256, usable or not.  One by one they are put
 *	      into the list of the victims + remember furthest, behind those that
 *	      are as far; if there is room or it is further than the last, in
 *	      place of an entry of that frame with another generation.
 *	    (3) While one of the first `victims` of the list has not been verified,
 *	      the first such one is taken out; unless its frame has another
 *	      generation or is unusable, it is put in again, an old entry estimated
 *	      now.  If none is left: sample_frames of `samples` usable frames go
 *	      into the list.  due = as many as there are, at most victims; next =
 *	      1; sampled_at = now.  Propose the first.
 *	  admit: now = the reference's; pbm_page_begin; onto the ring; into the
 *	    chain of the registered scan, if it was made through one.
 *	  evict: note what is beside it in its chain.  evict, forget: off the
 *	    chain, off the ring.
 *	  coldest: 28 bands by the estimate at `now`, in the order of members from
 *	    index 0.  Never: 0 if last is 2^32 microseconds ago or more, then a band
 *	    for each factor of 2, 15 if below 2^18.  Otherwise 16 if 2^31 or more,
 *	    then a band for each factor of 4, the last below 2^11.
 *	  upcoming: tp_upcoming_sweep (list.h) for samples + remember, by these
 *	    bands.
 *
 * Costs: an estimate looks at all scans of the page's relation (a few
 * nanoseconds each), and an eviction makes samples of them and a few more;
 * each looks at memory of its own that is in no cache.
 * Benefits: knows of pages that were never used before; scans share what one
 * of them reads; hits take no lock.
 * Memory: 24 bytes per frame beside the node; no ghosts.
 */
#include "tidepool/text.h"

#include "prediction/furthest.h"
#include "prediction/page_chain.h"
#include "prediction/page_history.h"
#include "tidepool/parts/sample.h"

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
	MOST_VICTIMS = 16,
	MOST_REMEMBERED = 16,
	LISTED = MOST_VICTIMS + MOST_REMEMBERED,
	NEVER_BANDS = 16,			/* of coldest, without an estimate */
	BANDS = NEVER_BANDS + 12	/* with them */
};

typedef struct pbm_state
{
	uint64_t	now;			/* of the last miss or, in a shared pool, of
								 * one in the last millisecond; for coldest */
} pbm_state;

typedef struct pbm_listed
{
	pbm_entry	entry;
	double		expected;		/* when the page will be referenced, as it was
								 * estimated last */
	uint64_t	last;			/* the page's, then */
} pbm_listed;

typedef struct pbm_choice
{
	uint64_t	now;			/* of the last choice */
	uint64_t	sampled_at;		/* when the list was made */
	uint32_t	listed;
	uint32_t	due;			/* the first of them, to be evicted next */
	uint32_t	next;			/* entry to be proposed next */
	pbm_listed	list[LISTED];	/* furthest first */
	pbm_chain	chain;			/* of the frames in the order of loading */
} pbm_choice;

_Static_assert(sizeof(pbm_choice) <= TP_CHOOSER_SIZE, "a choice fits a chooser");

#define SHARED_NOW_STEP 1000	/* microseconds */

/* How frames are selected, as the parameters say. */
typedef struct selection
{
	uint32_t	victims;
	uint32_t	keep;			/* victims, and what is remembered */
	bool		lru;
} selection;

static uint32_t
param(const tp_pool *pool, int which)
{
	return (uint32_t) pool->header->params[which];
}

static pbm_page *
page_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

static bool
is_unforeseen(const tp_pool *pool, const tp_access *access)
{
	return access->scan == 0 || tp_is_trail(access->scan) ||
		param(pool, PARAM_FREQUENCY) == FREQUENCY_ON;
}

static void
pbm_init_chooser(const tp_pool *pool)
{
	chain_init(&tp_choice(pool, pbm_choice)->chain);
}

/* Time passes.  In a shared pool all write to this place, so not each time. */
static void
set_now(const tp_pool *pool, uint64_t now)
{
	uint64_t   *shared_now = &tp_state(pool, pbm_state)->now;

	if (!pool->header->shared || now > pbm_load(shared_now) + SHARED_NOW_STEP)
		pbm_store(shared_now, now);
}

static void
pbm_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	pbm_page_reference(page_of(pool, frame), access,
					   is_unforeseen(pool, access));
}

/*
 * Microseconds until the page in this frame is referenced, or TP_NEVER.  If it
 * is less than `from`, any number less than that may be returned.
 */
static double
estimate(const tp_pool *pool, uint32_t frame, double from, uint64_t now)
{
	const pbm_page *page = page_of(pool, frame);
	double		wait = TP_NEVER;
	double		other = TP_NEVER;

	if (pool->services->scans != NULL)
		wait = param(pool, PARAM_SCAN_HISTORY) ?
			tp_scan_expected_access(pool->services->scans, tp_page_of(pool, frame), from,
									now) :
			tp_scan_next_access_from(pool->services->scans, tp_page_of(pool, frame),
									 from, now);
	if (pool->services->trails != NULL && param(pool, PARAM_INDEX_SCANS))
		other = pbm_page_trailing(page, pool->services->trails, now);
	wait = other < wait ? other : wait;
	if (param(pool, PARAM_FREQUENCY) != FREQUENCY_OFF)
		other = pbm_page_frequency(page, now);
	return other < wait ? other : wait;
}

static bool
may_be_taken(const tp_pool *pool, const pbm_entry *entry, tp_usable usable,
			 void *arg)
{
	return entry->frame != TP_NONE &&
		tp_generation(pool, entry->frame) == entry->generation &&
		(usable == NULL || usable(arg, entry->frame));
}

/* What is due from the bulk sampled before, or TP_NONE. */
static uint32_t
next_due(const tp_pool *pool, tp_usable usable, void *arg)
{
	pbm_choice *state = tp_choice(pool, pbm_choice);

	for (; state->next < state->due; state->next++)
	{
		const pbm_entry *entry = &state->list[state->next].entry;

		if (may_be_taken(pool, entry, usable, arg) &&
			pbm_load(&page_of(pool, entry->frame)->last) <= state->sampled_at)
			return entry->frame;
	}
	return TP_NONE;
}

/*
 * What is remembered, as it was estimated: nothing of its pages is looked at.
 * Returns how many there are.
 */
static uint32_t
consider_remembered(const tp_pool *pool, candidate *furthest,
					const selection *want)
{
	const pbm_choice *state = tp_choice(pool, pbm_choice);
	double		now = (double) state->now;
	uint32_t	n = 0;

	for (uint32_t i = want->victims; i < state->listed; i++)
	{
		const pbm_listed *listed = &state->list[i];
		double		wait = listed->expected - now;
		candidate	c;

		c.frame = listed->entry.frame;
		c.generation = listed->entry.generation;
		c.wait = wait > 0 ? wait : 0;
		c.last = listed->last;
		c.stale = true;
		c.usable = false;
		n = keep_furthest(furthest, n, want->keep, &c, want->lru);
	}
	return n;
}

/*
 * One of the frames looked at now.  Most are not far enough, and of those
 * nothing is touched but their extra bytes.  Returns how many candidates there
 * are.
 */
static uint32_t
consider(const tp_pool *pool, uint32_t frame, candidate *furthest, uint32_t n,
		 const selection *want)
{
	bool		full = n == want->keep;
	candidate	c;

	c.frame = frame;
	c.wait = estimate(pool, frame, full ? furthest[n - 1].wait : 0,
					  tp_choice(pool, pbm_choice)->now);
	c.last = pbm_load(&page_of(pool, frame)->last);
	if (full && !is_further(&c, &furthest[n - 1], want->lru))
		return n;
	c.generation = tp_generation(pool, frame);
	c.stale = c.usable = false;
	for (uint32_t i = 0; i < n; i++)
		if (furthest[i].frame == frame)
		{
			if (furthest[i].generation == c.generation)
				return n;
			n = drop_candidate(furthest, n, i); /* another page was there */
			break;
		}
	return keep_furthest(furthest, n, want->keep, &c, want->lru);
}

static uint32_t
sample_size(const tp_pool *pool)
{
	uint32_t	want = param(pool, PARAM_SAMPLES) * param(pool, PARAM_VICTIMS);

	return want < SAMPLE_MAX ? want : SAMPLE_MAX;
}

/*
 * The frames to be looked at now, usable or not: few are not, and to know costs
 * as much as an estimate.  Returns how many.
 */
static uint32_t
new_frames(const tp_pool *pool, uint32_t *frames)
{
	const pbm_choice *state = tp_choice(pool, pbm_choice);
	uint32_t	n = 0;

	for (int i = 0; i < 2 && param(pool, PARAM_NEIGHBOURS); i++)
		if (may_be_taken(pool, &state->chain.beside[i], NULL, NULL))
			frames[n++] = state->chain.beside[i].frame;
	return n + sample_frames(pool, sample_size(pool), NULL, NULL, frames + n);
}

/*
 * Look whether the victims may be taken, and drop those that may not; estimate
 * anew what is stale among them.  Returns how many candidates are left.
 */
static uint32_t
verify_victims(const tp_pool *pool, tp_usable usable, void *arg,
			   candidate *furthest, uint32_t n, const selection *want)
{
	uint64_t	now = tp_choice(pool, pbm_choice)->now;

	for (uint32_t i = 0; i < n && i < want->victims;)
	{
		candidate	c = furthest[i];
		pbm_entry	entry = {c.frame, c.generation};

		if (c.usable)
		{
			i++;
			continue;
		}
		n = drop_candidate(furthest, n, i);
		if (may_be_taken(pool, &entry, usable, arg))
		{
			if (c.stale)
			{
				c.wait = estimate(pool, c.frame, 0, now);
				c.last = pbm_load(&page_of(pool, c.frame)->last);
				c.stale = false;
			}
			c.usable = true;
			n = keep_furthest(furthest, n, want->keep, &c, want->lru);
		}
		i = 0;
	}
	return n;
}

/* Make the list: the furthest of what is remembered and what is new. */
static void
make_list(const tp_pool *pool, tp_usable usable, void *arg)
{
	pbm_choice *state = tp_choice(pool, pbm_choice);
	uint32_t	frames[2 + SAMPLE_MAX];
	candidate	furthest[LISTED];
	selection	want;
	uint32_t	looked_at;
	uint32_t	n;

	want.victims = param(pool, PARAM_VICTIMS);
	want.keep = want.victims + param(pool, PARAM_REMEMBER);
	want.lru = param(pool, PARAM_LRU_FALLBACK) != 0;
	looked_at = new_frames(pool, frames);
	n = consider_remembered(pool, furthest, &want);
	for (uint32_t i = 0; i < looked_at; i++)
		n = consider(pool, frames[i], furthest, n, &want);
	n = verify_victims(pool, usable, arg, furthest, n, &want);
	if (n == 0)
	{
		/* all of them are in use */
		looked_at = sample_frames(pool, param(pool, PARAM_SAMPLES), usable, arg,
								  frames);
		for (uint32_t i = 0; i < looked_at; i++)
			n = consider(pool, frames[i], furthest, n, &want);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		state->list[i].entry.frame = furthest[i].frame;
		state->list[i].entry.generation = furthest[i].generation;
		state->list[i].expected = (double) state->now + furthest[i].wait;
		state->list[i].last = furthest[i].last;
	}
	state->listed = n;
	state->due = n < want.victims ? n : want.victims;
	state->next = 1;
	state->sampled_at = state->now;
}

/* Whether a frame is usable is asked last, and of those in front alone. */
static uint32_t
pbm_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	const pbm_choice *state = tp_choice(pool, pbm_choice);

	(void) sample_expect(pool, sample_size(pool), frames);
	if (state->due >= state->listed)
		return 0;
	frames[0] = state->list[state->due].entry.frame;
	return 1;
}

static uint32_t
pbm_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	pbm_choice *state = tp_choice(pool, pbm_choice);
	uint32_t	due;

	(void) incoming;
	state->now = access->now;
	set_now(pool, access->now);
	due = next_due(pool, usable, arg);
	if (due != TP_NONE)
		return due;
	make_list(pool, usable, arg);
	return state->listed > 0 ? state->list[0].entry.frame : TP_NONE;
}

static void
pbm_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	set_now(pool, access->now);
	pbm_page_begin(page_of(pool, frame), access, is_unforeseen(pool, access));
	tp_ring_add(pool, FRAMES, frame);
	chain_add(pool, &tp_choice(pool, pbm_choice)->chain, frame,
			  tp_is_trail(access->scan) ? 0 : access->scan);
}

static void
pbm_forget(const tp_pool *pool, uint32_t frame)
{
	chain_remove(pool, &tp_choice(pool, pbm_choice)->chain, frame);
	tp_ring_remove(pool, frame);
}

static void
pbm_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	chain_note(pool, &tp_choice(pool, pbm_choice)->chain, frame);
	pbm_forget(pool, frame);
}

static void
pbm_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) access;
	tp_ring_add(pool, list, frame);
	chain_add(pool, &tp_choice(pool, pbm_choice)->chain, frame, 0);
}

static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	uint64_t	now = pbm_load(&tp_state(pool, pbm_state)->now);
	double		wait = estimate(pool, frame, 0, now);
	uint32_t	band;

	if (wait == TP_NEVER)
	{
		uint64_t	idle = pbm_page_idle(page_of(pool, frame), now);

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

static int
pbm_check(const tp_pool *pool, tp_report report, void *arg)
{
	const pbm_choice *state = tp_choice(pool, pbm_choice);
	int			bad = chain_check(pool, &state->chain, report, arg);

	bad += tp_expect(state->listed <= param(pool, PARAM_VICTIMS) +
					 param(pool, PARAM_REMEMBER), "more frames listed than wanted",
					 state->listed, report, arg);
	bad += tp_expect(state->due <= state->listed &&
					 state->due <= param(pool, PARAM_VICTIMS),
					 "more frames due than listed", state->due, report, arg);
	for (uint32_t i = 0; i < state->listed; i++)
		for (uint32_t j = 0; j < i; j++)
			bad += tp_expect(state->list[i].entry.frame !=
							 state->list[j].entry.frame, "frame listed twice",
							 state->list[i].entry.frame,
							 report, arg);
	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		const pbm_page *page = page_of(pool, pool->members[i]);

		bad += tp_expect(page->since >= 0 && page->interval >= 0,
						 "negative time", pool->members[i], report, arg);
		bad += tp_expect(page->trail == 0 || tp_is_trail(page->trail),
						 "trail of another kind of scan", pool->members[i],
						 report, arg);
	}
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
		.help = "victims chosen at once, of as many times the samples"
	},
	[PARAM_REMEMBER] = {
		.name = "remember", .type = TP_PARAM_INTEGER,
		.default_value = 8, .min = 0, .max = MOST_REMEMBERED,
		.help = "frames of the last sample that are looked at once more"
	},
	[PARAM_FREQUENCY] = {
		.name = "frequency", .type = TP_PARAM_ENUM,
		.default_value = FREQUENCY_AUTO, .min = 0, .max = FREQUENCY_OFF,
		.help = "which references tell of the next: auto, those of no registered scan",
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
		.help = "whether of equal pages the least recently used goes first",
		.choices = off_or_on
	},
	[PARAM_NEIGHBOURS] = {
		.name = "neighbours", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether the pages loaded beside the last victim are looked at",
		.choices = off_or_on
	},
	[PARAM_SCAN_HISTORY] = {
		.name = "scan_history", .type = TP_PARAM_ENUM,
		.default_value = 1, .min = 0, .max = 1,
		.help = "whether scans are expected as they used to come",
		.choices = off_or_on
	},
	{0}
};

static void
pbm_describe(const tp_pool *pool, struct tp_text *text)
{
	const pbm_choice *state = tp_choice(pool, pbm_choice);

	tp_text_string(text, " | listed=");
	tp_text_unsigned(text, state->listed);
	tp_text_string(text, " | due=");
	tp_text_unsigned(text, state->due);
	tp_text_string(text, " | next=");
	tp_text_unsigned(text, state->next);
}

const tp_policy tp_policy_pbm = {
	.name = "pbm",
	.title = "predictive buffer management",
	.source = "Khalaji, Guo, Vanderkooy, Daudjee, PVLDB 2025",
	.flags = TP_HIT_LOCK_FREE | TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE |
		TP_RANDOMIZED | TP_ASKS_SCANS | TP_USES_TIME,
	.state_size = sizeof(pbm_state),
	.extra_size = sizeof(pbm_page),
	.chooser_size = sizeof(pbm_choice),
	.params = pbm_params,
	.lists = {{"frames", TP_RING}},
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
	.describe = pbm_describe,
	.check = pbm_check,
};
