/*
 * timeline.h
 *	  An approximate priority queue of block groups, by their next access.
 *
 * Source: M. Switakowski, P. Boncz, M. Zukowski: From cooperative scans to
 * predictive buffer management. PVLDB 5(12), 2012.
 *
 * The future is divided into buckets, in groups of per_group.  Those of the
 * first group are a slice wide; each further group's are twice as wide as those
 * before.  A block group is in the bucket of its next access, or in the last
 * one if its access lies beyond.  Two more lists hold the block groups that no
 * scan requests and those that are overdue.
 *
 *	  position -> | 0 | 1 | 2 |   3   |   4   |   5   |       6       |  ...
 *	              '---group 0---------group 1-----------group 2-----------
 *
 * As time passes the buckets move left: those of group g by one place whenever
 * position is a multiple of their width, 2^g slices.  The first bucket of a
 * group then becomes the last of the group before it, which has just vacated a
 * place; the block groups in bucket 0 become overdue.  So a slice costs only a
 * rotation of numbers.  A bucket that moves to a narrower place keeps its end,
 * not its beginning.  This may delay a block group's estimated access by up to
 * the width of the bucket it was placed in.
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
	uint8_t		order[MAX_BUCKETS]; /* the buckets' lists, soonest first */
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

/* Slices from position to the beginning of a group of buckets. */
static inline uint64_t
timeline_begin(const timeline *t, uint32_t group)
{
	uint64_t	width = UINT64_C(1) << group;

	return t->per_group * (width - 1) - t->position % width;
}

/* The bucket for a slice; 0 for past ones. */
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

/* The bucket for a time in microseconds; 0 for past ones. */
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

/* The first nonempty stage from this one on; timeline_stages if none is. */
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
 * Many slices pass.  Same result as that many steps, at the price of a few: a
 * bucket that ends by then becomes overdue and vacates its place; every other
 * bucket moves to the place of its last slice.
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

	/* ends ascend, so the vacated buckets come first */
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

/* Re-estimate the oldest of the overdue block groups, at most this many. */
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
 * Re-estimate the block groups that would be evicted next, at most this many,
 * until one is where it belongs.
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

/* Update the timeline: time, the overdue, and the next to be evicted. */
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
 * last bucket first, without the empty ones; 5*128 is block group 5 with 128
 * pages.
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
