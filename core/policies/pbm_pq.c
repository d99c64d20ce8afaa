/*
 * pbm_pq.c
 *	  Predictive buffer management with a priority queue of block groups.
 *
 * Source: M. Switakowski, P. Boncz, M. Zukowski: From cooperative scans to
 * predictive buffer management, PVLDB 5(12), 2012.  In block groups rather
 * than in the blocks of columns: T. Vanderkooy, thesis, University of
 * Waterloo, 2023.
 *
 * Where this differs from the papers:
 *	1. There a scan that begins enters itself at every block group it will
 *	   read and places each anew, and so does one that advances or ends with
 *	   what it leaves behind.  Here scans know of no policy (scan.h): a block
 *	   group is estimated when its first page comes in, when a page of it is
 *	   referenced that is the first or last of the block group or a slice after
 *	   the time that was estimated, and when it stands where the next victim would
 *	   be taken from.  What has become wanted later, or by no one, is
 *	   found when its time has come.
 *	2. All of that is bounded: a look at the timeline estimates at most
 *	   2 * corrections block groups anew.
 *	3. A block group is wanted when the lower or the higher end of what has
 *	   come in of it is.  A scan that begins and ends between the two goes
 *	   unseen.
 *	4. Pages leave one by one, as the caller asks for them: of `victims` that
 *	   follow each other only the first is preceded by a look.  Pages found
 *	   unusable leave their block group for a while, so that not every search
 *	   meets them.
 *	5. A block group whose time has come is not estimated at once.  It waits
 *	   for that on the list of those overdue, evicted from last.
 *	6. Buckets are narrower than the 100 ms of the papers.  They should not be
 *	   wider than the time in which the scans read what the cache holds of
 *	   them: on small tables with fast scans that is soon, and 6,000 frames
 *	   for 8 streams over 30,000 blocks, at 12,500 or 25,000 blocks a second,
 *	   missed 43 % more with 100 ms than with 5 ms.  On a table of 121,000
 *	   blocks 1 to 100 ms made no difference.
 *
 * DEFINITION (lists with most recent at the head; timeline.h for the places).
 *	  A block group is the blocks of a relation with the same
 *	    block / TP_BLOCK_GROUP.  It exists while it has pages, and knows the
 *	    lowest and the highest block of those that joined it since it began to,
 *	    and next_access, a time or never.
 *	  Lists: frames, a ring, the pages that are in block groups; passed, pages
 *	    that a search found unusable, which are in none, most recently looked
 *	    at at the head.
 *	  Fields: position, of the timeline, in slices of `bucket`; proposals left
 *	    before the next look.
 *	  To estimate it: next_access = now + the lesser of tp_scan_next_access of
 *	    its lowest and highest block, in whole microseconds; never if that is
 *	    TP_NEVER or no scans are known.
 *	  To place it: to the head of the list that its next_access belongs to.
 *	  A reference to it: if the block is its first or last possible one, or
 *	    next_access is a slice before now or more, estimate and place it; else
 *	    if next_access is never, it goes to the head of the not requested.
 *	    (Without the slice, every reference of the scan that was awaited would
 *	    ask again.)
 *	  A page joins its block group: if there is none, it is made, estimated and
 *	    placed.
 *	  hit: a reference, unless the page is on passed.
 *	  admit: the page joins its block group; if that existed, and unless made
 *	    by VACUUM or a correlated reference, this is a reference.
 *	  A look: (1) Time shifts the buckets.  (2) Up to `corrections` times:
 *	    the tail of the overdue is estimated and placed.  (3) Up to
 *	    `corrections` times: the tail of the first stage with block groups is
 *	    estimated; if it belongs to another stage, it is placed and this goes
 *	    on; if to the same, it stays and this ends.
 *	  victim: (1) Twice, as long as there are pages on passed that were not
 *	    looked at yet: the tail of passed joins its block group if it is usable,
 *	    else it goes to the head of passed.  (2) If no proposals are left, look,
 *	    and let `victims` be left.  One less.  (3) The first of the frames in
 *	    the order of coldest, if it is usable; else it leaves its block group for
 *	    the head of passed, and so on.  (4) The first usable frame from the tail
 *	    of passed.
 *	  evict, forget: the page leaves its block group, or passed.
 *	  The pages of a block group stand in a row, where one that joins becomes
 *	    the second; the first one's frame is the host of the record.
 *	  coldest: stage by stage, in each the block groups from the tail to the
 *	    head, of each the pages from the second of the row to the last, then
 *	    the first; at the end passed from the tail.  (So of block groups that
 *	    are read forwards what was read last goes first, and records seldom
 *	    move.)
 *
 * Costs: a hit looks its block group up and needs the pool's lock; a page is
 * kept or goes with its block group; estimates are up to date only where they
 * matter, and stale for the victims between two looks.
 * Benefits: nearly the furthest of all block groups, not of a sample; a few
 * estimates serve 16 evictions.
 * Memory: 24 bytes per frame beside the node; no ghosts.
 */
#include "prediction/timeline.h"

enum
{
	FRAMES = 1,					/* resident pages, a ring; but */
	PASSED						/* those that a search found unusable, most
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

/* The frame behind this one, whose stage is the cursor's. */
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
 * For coldest: the next page in a block group.  Stage: its list's.  A page that
 * has been moved, to another stage even, leads on from there.
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
	if (frame == TP_NONE || cursor->left == 0 || tp_cursor_sated(cursor) ||
		!tp_cursor_look(cursor))
		return TP_NONE;
	cursor->left--;
	cursor->taken++;
	tp_walk_to(pool, cursor, next_of_stage(pool, cursor, frame));
	return frame;
}

/* Behind the timeline's stages and its end comes passed, from the tail. */
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

/* A page joins its block group.  Returns the group. */
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

/* Pages that were found unusable are looked at again. */
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
			return frame;
		take(pool, frame);
		tp_list_push_head(pool, PASSED, frame);
	}
	return tp_list_usable_tail(pool, PASSED, usable, arg);
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
	(void) list;				/* from passed, too, into its block group */
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
	block_groups_leave(pool, frame, slot);
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
	.describe = timeline_describe,
	.check = pbm_pq_check,
};
