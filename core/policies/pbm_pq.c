/*
 * pbm_pq.c
 *	  Predictive buffer management with a priority queue of block groups.
 *
 * Source: M. Switakowski, P. Boncz, M. Zukowski: From cooperative scans to
 * predictive buffer management. PVLDB 5(12), 2012.  By block groups of tables
 * rather than blocks of columns: T. Vanderkooy: Sampling-based predictive
 * database buffer management, thesis, University of Waterloo, 2023.
 *
 * Block groups are in the bucket of their next access, those that no scan
 * requests in an LRU.  The pages of the furthest go first: not requested, then
 * the last bucket.  The timeline, its buckets and their shifts are timeline.h.
 *
 * Where the decisions differ from the papers':
 *	1. There a scan that begins places every block group that it will read, and
 *	   places each anew that it leaves behind.  Here scans do not know the
 *	   policy (scan.h).  A block group is estimated when its first page joins,
 *	   when a page is referenced that is its first or last possible one, or a
 *	   slice after the time estimated, and when the next victim would be taken
 *	   from it.  One wanted later than estimated, or no longer, is found when
 *	   its time has come.
 *	2. One look at the timeline estimates at most 2 * `corrections` block
 *	   groups anew: the overdue longest in line, and those that would go next.
 *	3. A block group is wanted when the lowest or the highest block that joined
 *	   it is.  A scan that begins and ends between the two is missed.
 *	4. Pages leave one by one, as the caller asks.  Of `victims` in sequence
 *	   only the first is preceded by a look.
 *	5. Block groups whose time has come are not estimated at once but wait for
 *	   it on a list of their own, evicted from last.
 *	6. Pages that a search found unusable leave their block group for the list
 *	   "passed" (search.h), where hits on them change nothing.
 *	7. Of a block group the page that joined last goes first and its host last,
 *	   so that records seldom move.  Where scans read forward, the former is
 *	   the page that they read again last.
 *	8. Buckets are narrower than the papers' 100 ms.  They should not be wider
 *	   than the time in which the scans read what the cache holds of them,
 *	   which is short for small tables and fast scans: 6,000 frames for 8
 *	   streams over 30,000 blocks, at 12,500 or 25,000 blocks a second, missed
 *	   43 % more with 100 ms than with 5 ms.  On a table of 121,000 blocks 1 to
 *	   100 ms made no difference.
 *	9. A reference that does not promote (VACUUM's, or a repeated one) does not
 *	   count as a reference of the block group, even if it brings its page in.
 *
 *	10. A dirty page gives way to a clean one of its block group: whoever
 *	   evicts it must write it, and perhaps the WAL first.
 *
 * Costs: a hit looks up its block group, so hits need the pool's lock.  Pages
 * are kept or evicted with their block group.  Estimates are current only
 * where they matter, and not for the victims between two looks.
 * Benefits: the victims are nearly the furthest of all block groups, not of a
 * sample; a few estimates serve 16 evictions.
 * Memory: 24 bytes a frame; no ghosts.
 */
#include "tidepool/standing.h"

#include "prediction/reason.h"
#include "prediction/timeline.h"

enum
{
	FRAMES = 1,					/* pages in block groups, a ring */
	PASSED						/* pages that a search found unusable, most
								 * recently looked at at the head */
};

enum
{
	PARAM_BUCKET,
	PARAM_BUCKETS_PER_GROUP,
	PARAM_GROUPS,
	PARAM_VICTIMS,
	PARAM_CORRECTIONS
};

/*
 * Pages of a block group looked at for a clean one.  Chosen, not measured: the
 * lock is held meanwhile.
 */
#define CLEAN_LOOKS 16

typedef struct pbm_pq_state
{
	timeline	time;			/* must be first */
	uint32_t	proposals;		/* left before the next look at the timeline */
} pbm_pq_state;

_Static_assert(sizeof(pbm_pq_state) <= TP_STATE_SIZE, "state too large");

static void
pbm_pq_init(const tp_pool *pool)
{
	const double *params = pool->header->params;

	timeline_init(pool, (uint64_t) (params[PARAM_BUCKET] * 1000 + 0.5),
				  (uint32_t) params[PARAM_BUCKETS_PER_GROUP],
				  (uint32_t) params[PARAM_GROUPS]);
}

/*
 * A page of the block group was referenced.  The time estimated must be past
 * by a slice: otherwise every reference of the scan that was awaited would
 * estimate it again.
 */
static void
reference(const tp_pool *pool, uint32_t group, uint32_t block, uint64_t now)
{
	uint64_t	next_access = group_at(pool, group)->next_access;
	uint32_t	within = block % TP_BLOCK_GROUP;

	if (within == 0 || within == TP_BLOCK_GROUP - 1 ||
		timeline_is_past(pool, next_access, now))
	{
		group_estimate(pool, group, now);
		timeline_place(pool, group);
	}
	else if (next_access == GROUP_NEVER)
		timeline_place(pool, group);
}

static void
pbm_pq_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_page		page = tp_page_of(pool, frame);

	if (pool->nodes[frame].list == FRAMES)
		reference(pool, group_find(pool, page), page.block, access->now);
}

/* The first frame of the cursor's stage or, if it is empty, of the next. */
static uint32_t
first_of_stage(const tp_pool *pool, tp_cursor *cursor)
{
	const timeline *t = tp_state(pool, timeline);

	cursor->stage = timeline_occupied(pool, cursor->stage);
	if (cursor->stage >= timeline_stages(t))
		return TP_NONE;
	return pool->nodes[group_list_tail(pool, timeline_list(t, cursor->stage))].next;
}

/* The frame after this one, which is in the cursor's stage. */
static uint32_t
next_of_stage(const tp_pool *pool, tp_cursor *cursor, uint32_t frame)
{
	uint32_t	group;

	if (!is_host(pool, frame))
		return pool->nodes[frame].next;
	group = links_of(pool, frame)->prev;
	if (group < FIRST_LIST)
		return pool->nodes[group].next;
	cursor->stage++;
	return first_of_stage(pool, cursor);
}

/*
 * For coldest: the next page that is in a block group, list by list.  If the
 * next page has moved since, even to another stage, the walk goes on from
 * there.
 */
static uint32_t
next_in_groups(const tp_pool *pool, tp_cursor *cursor)
{
	uint32_t	frame;

	if (!cursor->started)
	{
		cursor->started = true;
		cursor->left = tp_list_of(pool, FRAMES)->count;
		tp_walk_to(pool, cursor, first_of_stage(pool, cursor));
	}
	else if (!tp_walk_holds(pool, cursor))
		tp_walk_to(pool, cursor, first_of_stage(pool, cursor));
	frame = cursor->position;
	if (frame == TP_NONE || cursor->left == 0 || tp_cursor_full(cursor) ||
		!tp_cursor_look(cursor))
		return TP_NONE;
	cursor->left--;
	cursor->taken++;
	tp_walk_to(pool, cursor, next_of_stage(pool, cursor, frame));
	return frame;
}

/* The timeline's stages, and then passed, from the tail. */
static uint32_t
pbm_pq_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	uint32_t	passed = timeline_stages(tp_state(pool, timeline)) + 1;
	uint32_t	frame;

	if (cursor->stage < passed)
	{
		frame = next_in_groups(pool, cursor);
		if (frame != TP_NONE || tp_cursor_paused(cursor))
			return frame;
		cursor->stage = passed;
		cursor->started = false;
	}
	frame = tp_walk_list(pool, cursor, PASSED, false);
	cursor->taken += frame != TP_NONE;
	return frame;
}

/* A page joins its block group, made if need be.  Returns the group. */
static uint32_t
enter(const tp_pool *pool, uint32_t frame, uint64_t now)
{
	uint32_t	group = group_find(pool, tp_page_of(pool, frame));

	tp_ring_add(pool, FRAMES, frame);
	if (group == TP_NONE)
	{
		group_begin(pool, frame);
		group_estimate(pool, frame, now);
		timeline_enter(pool, frame);
		return frame;
	}
	group_add(pool, group, frame);
	return group;
}

static void
take(const tp_pool *pool, uint32_t frame)
{
	if (pool->nodes[frame].list == PASSED)
		tp_list_remove(pool, frame);
	else
	{
		group_remove(pool, frame);
		tp_ring_remove(pool, frame);
	}
}

/* Pages that were found unusable rejoin their block groups if usable now. */
static void
look_again(const tp_pool *pool, tp_usable usable, void *arg, uint64_t now)
{
	uint32_t	looks = tp_looks_again(pool, PASSED);
	uint32_t	frame;

	while ((frame = tp_list_look_again(pool, PASSED, &looks, usable, arg)) !=
		   TP_NONE)
	{
		tp_list_remove(pool, frame);
		(void) enter(pool, frame, now);
	}
}

/*
 * Of this page, which would go next, and those of its block group that would go
 * after it, the first that is clean; this one if none of CLEAN_LOOKS is.
 */
static uint32_t
clean_first(const tp_pool *pool, uint32_t frame, tp_usable usable, void *arg)
{
	uint32_t	next = frame;

	if (!tp_is_dirty(pool, frame))
		return frame;
	for (uint32_t i = 1; i < CLEAN_LOOKS && !is_host(pool, next); i++)
	{
		next = pool->nodes[next].next;
		if (!tp_is_dirty(pool, next) && (usable == NULL || usable(arg, next)))
			return next;
	}
	return frame;
}

/*
 * Propose this page, the first of its block group's list.  For the others there
 * is no estimate but a new one.
 */
static uint32_t
propose(const tp_pool *pool, uint32_t frame, uint64_t now)
{
	const struct tp_scans *scans = pool->services->scans;
	double		wait = TP_NEVER;

	if (frame == TP_NONE)
		return TP_NONE;
	if (pool->nodes[frame].list == FRAMES)
	{
		uint32_t	group = group_find(pool, tp_page_of(pool, frame));
		uint64_t	next_access = group_at(pool, group)->next_access;

		if (next_access != GROUP_NEVER)
			wait = next_access > now ? (double) (next_access - now) : 0;
	}
	else if (scans != NULL)
		wait = tp_scan_next_access(scans, tp_page_of(pool, frame), now);
	explain_proposal(pool, frame, wait, TP_BY_PREDICTION, now);
	return frame;
}

static uint32_t
pbm_pq_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			  void *arg, const tp_access *access)
{
	pbm_pq_state *state = tp_state(pool, pbm_pq_state);

	(void) incoming;
	look_again(pool, usable, arg, access->now);
	if (state->proposals == 0)
	{
		timeline_refresh(pool, (uint32_t) pool->header->params[PARAM_CORRECTIONS],
						 access->now);
		state->proposals = (uint32_t) pool->header->params[PARAM_VICTIMS];
	}
	state->proposals--;
	while (tp_list_of(pool, FRAMES)->count > 0)
	{
		tp_cursor	first = {0};
		uint32_t	frame = first_of_stage(pool, &first);

		if (usable == NULL || usable(arg, frame))
			return propose(pool, clean_first(pool, frame, usable, arg),
						   access->now);
		take(pool, frame);
		tp_list_push_head(pool, PASSED, frame);
	}
	return propose(pool, tp_list_usable_tail(pool, PASSED, usable, arg),
				   access->now);
}

static void
pbm_pq_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	group = enter(pool, frame, access->now);

	if (group != frame && tp_promotes(access))
		reference(pool, group, tp_page_of(pool, frame).block, access->now);
}

static void
pbm_pq_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			   const tp_access *access)
{
	(void) list;				/* into its block group, also from passed */
	(void) enter(pool, frame, access->now);
}

static void
pbm_pq_forget(const tp_pool *pool, uint32_t frame)
{
	take(pool, frame);
}

static void
pbm_pq_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	pbm_pq_forget(pool, frame);
}

static void
pbm_pq_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	block_groups_join(pool);
}

static void
pbm_pq_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	block_groups_leave(pool);
}

/* Its block group is estimated by the scans that run now. */
static void
pbm_pq_reinstate(const tp_pool *pool, uint32_t frame,
				 const tp_standing *standing, const tp_access *access)
{
	(void) standing;
	(void) enter(pool, frame, access->now);
}

static int
pbm_pq_check(const tp_pool *pool, tp_report report, void *arg)
{
	int			bad = block_groups_check(pool, FRAMES, report, arg);

	return bad > 0 ? bad : timeline_check(pool, report, arg);
}

static const tp_param pbm_pq_params[] = {
	[PARAM_BUCKET] = {
		.name = "bucket", .type = TP_PARAM_REAL,
		.default_value = 5, .min = 0.001, .max = 1e6,
		.help = "milliseconds that the first buckets of the timeline span"
	},
	[PARAM_BUCKETS_PER_GROUP] = {
		.name = "buckets_per_group", .type = TP_PARAM_INTEGER,
		.default_value = 5, .min = 1, .max = MAX_BUCKETS_PER_GROUP,
		.help = "buckets of the same width before they are twice as wide"
	},
	[PARAM_GROUPS] = {
		.name = "groups", .type = TP_PARAM_INTEGER,
		.default_value = MAX_BUCKET_GROUPS, .min = 1, .max = MAX_BUCKET_GROUPS,
		.help = "widths of buckets"
	},
	[PARAM_VICTIMS] = {
		.name = "victims", .type = TP_PARAM_INTEGER,
		.default_value = 16, .min = 1, .max = 65536,
		.help = "victims taken with each look at the timeline"
	},
	[PARAM_CORRECTIONS] = {
		.name = "corrections", .type = TP_PARAM_INTEGER,
		.default_value = 8, .min = 1, .max = 65536,
		.help = "block groups estimated anew with each look, overdue and next ones"
	},
	{0}
};

static const tp_field pbm_pq_fields[] = {
	{"position", TP_FIELD_U64, offsetof(pbm_pq_state, time.position)},
	{"proposals", TP_FIELD_U32, offsetof(pbm_pq_state, proposals)},
	{0}
};

const tp_policy tp_policy_pbm_pq = {
	.name = "pbm_pq",
	.title = "predictive, with a priority queue of block groups",
	.source = "Switakowski, Boncz, Zukowski, PVLDB 2012",
	.flags = TP_ASKS_SCANS | TP_USES_HASH | TP_USES_TIME,
	.state_size = sizeof(pbm_pq_state),
	.extra_size = sizeof(block_group),
	.params = pbm_pq_params,
	.fields = pbm_pq_fields,
	.lists = {{"frames", TP_RING}, {"passed"}},
	.init = pbm_pq_init,
	.join = pbm_pq_join,
	.leave = pbm_pq_leave,
	.hit = pbm_pq_hit,
	.victim = pbm_pq_victim,
	.evict = pbm_pq_evict,
	.restore = pbm_pq_restore,
	.admit = pbm_pq_admit,
	.forget = pbm_pq_forget,
	.coldest = pbm_pq_coldest,
	.reinstate = pbm_pq_reinstate,
	.describe = timeline_describe,
	.check = pbm_pq_check,
};
