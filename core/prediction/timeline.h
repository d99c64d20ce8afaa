/*
 * timeline.h
 *	  An approximate priority queue of block groups, by their next access.
 *
 * Source: M. Switakowski, P. Boncz, M. Zukowski: From cooperative scans to
 * predictive buffer management. PVLDB 5(12), 2012.
 *
 * Time from now on is divided into buckets, the first ones a slice wide, and
 * each group of per_group buckets twice as wide as the one before.  A block
 * group is in the bucket of its next access, in the last if that lies beyond.
 * Two more lists have the block groups that no scan requests and those
 * overdue.
 *
 *	  position -> | 0 | 1 | 2 |   3   |   4   |   5   |       6       |  ...
 *	              '---group 0---------group 1-----------group 2-----------
 *
 * As time passes the buckets move left: those of group g by one place whenever
 * position is a multiple of their width, 2^g slices.  The first bucket of a
 * group then becomes the last of the group before it, where a place has just
 * become vacant; what is in bucket 0 becomes overdue.  So a slice costs only a
 * rotation of numbers.  A bucket that moves to a narrower place keeps its end,
 * not its beginning.  A block group may therefore be taken to be wanted later
 * than estimated, by no more than the width of the bucket it was placed in.
 *
 * Stages number the lists in the order of eviction: 0 the block groups not
 * requested, then the buckets, last to first, then the block groups overdue.
 */
#ifndef TIDEPOOL_TIMELINE_H
#define TIDEPOOL_TIMELINE_H

#include <string.h>

#include "tidepool/text.h"

#include "prediction/group_index.h"

enum
{
	MAX_BUCKETS_PER_GROUP = 5,
	MAX_BUCKET_GROUPS = 12,
	MAX_BUCKETS = MAX_BUCKETS_PER_GROUP * MAX_BUCKET_GROUPS
};

/* Numbers of the lists. */
#define NOT_REQUESTED	FIRST_LIST	/* least recently referenced at the tail */
#define OVERDUE			(FIRST_LIST + 1)
#define FIRST_BUCKET	(FIRST_LIST + 2)

typedef struct timeline
{
	list_links	lists[2 + MAX_BUCKETS]; /* must be first: block_group.h */
	uint64_t	slice;			/* microseconds */
	uint64_t	position;		/* slice at which bucket 0 begins */
	uint32_t	per_group;		/* buckets in a group of them */
	uint32_t	groups;			/* of buckets */
	uint8_t		order[MAX_BUCKETS]; /* the buckets' lists, from now on */
} timeline;

static inline uint32_t
timeline_buckets(const timeline *t)
{
	return t->per_group * t->groups;
}

static inline uint32_t
timeline_stages(const timeline *t)
{
	return timeline_buckets(t) + 2;
}

static inline void
timeline_init(const tp_pool *pool, uint64_t slice, uint32_t per_group,
			  uint32_t groups)
{
	timeline   *t = tp_state(pool, timeline);

	t->slice = slice;
	t->per_group = per_group;
	t->groups = groups;
	group_list_init(pool, NOT_REQUESTED);
	group_list_init(pool, OVERDUE);
	for (uint32_t i = 0; i < timeline_buckets(t); i++)
	{
		t->order[i] = (uint8_t) i;
		group_list_init(pool, FIRST_BUCKET + i);
	}
}

/* Where a group of buckets begins, in slices from position. */
static inline uint64_t
timeline_begin(const timeline *t, uint32_t group)
{
	uint64_t	width = UINT64_C(1) << group;

	return t->per_group * (width - 1) - t->position % width;
}

/* The bucket for a slice; 0 also if that is past. */
static inline uint32_t
timeline_bucket_of(const timeline *t, uint64_t slice)
{
	uint64_t	distance = slice > t->position ? slice - t->position : 0;

	for (uint32_t g = 0; g < t->groups; g++)
	{
		/* the groups before have been tried, so this does not wrap */
		uint64_t	bucket = (distance - timeline_begin(t, g)) >> g;

		if (bucket < t->per_group)
			return g * t->per_group + (uint32_t) bucket;
	}
	return timeline_buckets(t) - 1;
}

/* The bucket for a time in microseconds; 0 also if it is past. */
static inline uint32_t
timeline_bucket(const timeline *t, uint64_t time)
{
	return timeline_bucket_of(t, time / t->slice);
}

/* Is that time a slice ago or more? */
static inline bool
timeline_is_past(const tp_pool *pool, uint64_t time, uint64_t now)
{
	return time < now && now - time >= tp_state(pool, timeline)->slice;
}

/* The list of a stage. */
static inline uint32_t
timeline_list(const timeline *t, uint32_t stage)
{
	uint32_t	buckets = timeline_buckets(t);

	if (stage == 0)
		return NOT_REQUESTED;
	return stage > buckets ? OVERDUE : FIRST_BUCKET + t->order[buckets - stage];
}

/* The stage that a block group's estimate belongs to. */
static inline uint32_t
timeline_stage(const tp_pool *pool, uint32_t group)
{
	const timeline *t = tp_state(pool, timeline);
	uint64_t	time = group_at(pool, group)->next_access;

	return time == GROUP_NEVER ? 0 :
		timeline_buckets(t) - timeline_bucket(t, time);
}

/* Put a block group that is on no list on the list of its estimate. */
static inline void
timeline_enter(const tp_pool *pool, uint32_t group)
{
	group_list_push_head(pool, timeline_list(tp_state(pool, timeline),
											 timeline_stage(pool, group)), group);
}

static inline void
timeline_place(const tp_pool *pool, uint32_t group)
{
	group_list_remove(pool, group);
	timeline_enter(pool, group);
}

/* The first stage from this one on with block groups; none: timeline_stages. */
static inline uint32_t
timeline_occupied(const tp_pool *pool, uint32_t stage)
{
	const timeline *t = tp_state(pool, timeline);

	while (stage < timeline_stages(t) &&
		   group_list_is_empty(pool, timeline_list(t, stage)))
		stage++;
	return stage;
}

/* One slice passes. */
static inline void
timeline_step(const tp_pool *pool)
{
	timeline   *t = tp_state(pool, timeline);
	uint8_t		first = t->order[0];
	uint32_t	moving = 1;		/* groups of buckets */

	t->position++;
	while (moving < t->groups && (t->position >> moving) << moving == t->position)
		moving++;
	group_list_prepend(pool, FIRST_BUCKET + first, OVERDUE);
	memmove(t->order, t->order + 1, moving * t->per_group - 1);
	t->order[moving * t->per_group - 1] = first;
}

/*
 * Many slices pass: the outcome of that many steps, at the price of a few.  A
 * bucket that ends by then becomes overdue and its place vacant; each other
 * one goes where its last slice belongs.
 */
static inline void
timeline_jump(const tp_pool *pool, uint64_t target)
{
	timeline   *t = tp_state(pool, timeline);
	uint32_t	buckets = timeline_buckets(t);
	uint64_t	ends[MAX_BUCKETS];
	uint8_t		order[MAX_BUCKETS];
	uint32_t	vacated = 0;
	uint64_t	occupied = 0;	/* a bit for each place */

	for (uint32_t i = 0; i < buckets; i++)
	{
		uint32_t	g = i / t->per_group;

		ends[i] = t->position + timeline_begin(t, g) +
			((uint64_t) (i % t->per_group + 1) << g);
	}
	memcpy(order, t->order, sizeof(order));
	t->position = target;

	/* ends ascend, so what is vacated comes first */
	for (uint32_t i = 0; i < buckets; i++)
		if (ends[i] <= target)
		{
			group_list_prepend(pool, FIRST_BUCKET + order[i], OVERDUE);
			vacated++;
		}
		else
		{
			uint32_t	place = timeline_bucket_of(t, ends[i] - 1);

			t->order[place] = order[i];
			occupied |= UINT64_C(1) << place;
		}
	for (uint32_t place = 0, next = 0; next < vacated; place++)
		if ((occupied >> place & 1) == 0)
			t->order[place] = order[next++];
}

static inline void
timeline_shift(const tp_pool *pool, uint64_t now)
{
	timeline   *t = tp_state(pool, timeline);
	uint64_t	target = now / t->slice;

	if (target == t->position + 1)
		timeline_step(pool);
	else if (target > t->position)
		timeline_jump(pool, target);
}

/* ---- corrections ---- */

/* Estimate the oldest of the overdue anew. */
static inline void
timeline_correct_overdue(const tp_pool *pool, uint32_t most, uint64_t now)
{
	for (uint32_t i = 0; i < most && !group_list_is_empty(pool, OVERDUE); i++)
	{
		uint32_t	group = group_list_tail(pool, OVERDUE);

		group_estimate(pool, group, now);
		timeline_place(pool, group);
	}
}

/*
 * Estimate the block groups that would go next anew, until one is where it
 * belongs.
 */
static inline void
timeline_correct_next(const tp_pool *pool, uint32_t most, uint64_t now)
{
	for (uint32_t i = 0; i < most; i++)
	{
		const timeline *t = tp_state(pool, timeline);
		uint32_t	stage = timeline_occupied(pool, 0);
		uint32_t	group;

		if (stage == timeline_stages(t))
			break;
		group = group_list_tail(pool, timeline_list(t, stage));

		group_estimate(pool, group, now);
		if (timeline_stage(pool, group) == stage)
			break;
		timeline_place(pool, group);
	}
}

/* Bring the timeline up to date where it matters. */
static inline void
timeline_refresh(const tp_pool *pool, uint32_t corrections, uint64_t now)
{
	timeline_shift(pool, now);
	timeline_correct_overdue(pool, corrections, now);
	timeline_correct_next(pool, corrections, now);
}

/* ---- text and verification ---- */

/*
 * For a policy's describe: "not requested: 7*3 | 12: 5*128 | overdue:", the
 * last bucket first, those that are empty left out; 5*128 is block group 5
 * with 128 pages.
 */
static inline void
timeline_describe(const tp_pool *pool, tp_text *text)
{
	const timeline *t = tp_state(pool, timeline);
	uint32_t	buckets = timeline_buckets(t);

	for (uint32_t stage = 0; stage <= buckets + 1; stage++)
	{
		uint32_t	list = timeline_list(t, stage);

		if (list >= FIRST_BUCKET && group_list_is_empty(pool, list))
			continue;
		tp_text_string(text, " | ");
		if (list >= FIRST_BUCKET)
			tp_text_unsigned(text, buckets - stage);
		else
			tp_text_string(text, stage == 0 ? "not requested" : "overdue");
		tp_text_char(text, ':');
		for (uint32_t group = links_of(pool, list)->next; group != list;
			 group = links_of(pool, group)->next)
		{
			tp_text_page(text, group_of_frame(pool, group));
			tp_text_char(text, '*');
			tp_text_unsigned(text, group_pages(pool, group));
		}
	}
}

/* For a policy's check, when block_groups_check has found nothing. */
static inline int
timeline_check(const tp_pool *pool, tp_report report, void *arg)
{
	const timeline *t = tp_state(pool, timeline);
	uint32_t	groups = block_groups_count(pool);
	uint64_t	seen = 0;
	int			bad = 0;

	for (uint32_t i = 0; i < timeline_buckets(t); i++)
		seen |= UINT64_C(1) << t->order[i];
	bad += tp_expect(seen == (UINT64_C(1) << timeline_buckets(t)) - 1,
					 "a bucket is missing", 0, report, arg);
	for (uint32_t stage = 0; bad == 0 && stage < timeline_stages(t);
		 stage++)
	{
		uint32_t	list = timeline_list(t, stage);
		uint32_t	prev = list;

		for (uint32_t group = links_of(pool, list)->next;
			 group < FIRST_LIST && groups > 0;
			 group = links_of(pool, group)->next, groups--)
		{
			bad += tp_expect(is_host(pool, group) &&
							 links_of(pool, group)->prev == prev,
							 "block groups: wrong link", group, report, arg);
			bad += tp_expect((group_at(pool, group)->next_access == GROUP_NEVER) ==
							 (stage == 0), "block group on the wrong list", group,
							 report, arg);
			prev = group;
		}
		bad += tp_expect(links_of(pool, list)->prev == prev,
						 "block groups: wrong tail", stage, report, arg);
	}
	return bad + tp_expect(groups == 0, "block groups on no list", groups, report,
						   arg);
}

#endif							/* TIDEPOOL_TIMELINE_H */
