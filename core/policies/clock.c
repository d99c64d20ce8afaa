/*
 * clock.c
 *	  Clock with usage counts, as PostgreSQL's.
 *
 * Source: F. J. Corbato: A paging experiment with the Multics system. MIT
 * Project MAC, 1968.  The counts: PostgreSQL since 8.1,
 * src/backend/storage/buffer/freelist.c and README.
 *
 * Where this differs from Corbato:
 *	1. A usage count up to max_usage (5) instead of one reference bit.
 *	   max_usage=1 is the textbook's clock.
 *	2. A page comes in at `initial` (1): referenced once.  Textbooks differ;
 *	   `initial=0` is the other reading.
 *	3. The eviction precedes the admission, so the hand has passed the frame
 *	   that the new page goes into.
 *	4. Unusable (pinned) frames are passed without lowering their count.
 * Where it differs from PostgreSQL: only in that the hand moves under the
 * pool's lock.
 *
 * Costs: a sweep may pass max_usage times over all frames; a new page counts
 * as much as one that was referenced once more.
 * Benefits: a hit is one relaxed store on the page's own frame.
 * Memory: nothing beside the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	RING = 1					/* resident pages; count = usage count */
};

enum
{
	PARAM_MAX_USAGE,
	PARAM_INITIAL
};

typedef struct clock_state
{
	uint32_t	hand;			/* index in members of the next frame to look
								 * at; below frames, or 0 */
} clock_state;

static uint8_t
max_usage(const tp_pool *pool)
{
	return (uint8_t) pool->header->params[PARAM_MAX_USAGE];
}

static void
clock_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint8_t    *usage = &pool->nodes[frame].count;
	uint8_t		seen = __atomic_load_n(usage, __ATOMIC_RELAXED);

	/* VACUUM makes a page referenced, never more than once */
	uint8_t		limit = (access->flags & TP_VACUUM) ? 1 : max_usage(pool);

	if (seen < limit)
		__atomic_store_n(usage, (uint8_t) (seen + 1), __ATOMIC_RELAXED);
}

static uint32_t
clock_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			 void *arg, const tp_access *access)
{
	clock_state *state = tp_state(pool, clock_state);
	uint32_t	n = pool->header->frames;
	uint32_t	tries = n;		/* frames to look at before giving up; a usage
								 * count lowered is progress and renews them */

	(void) incoming;
	(void) access;
	while (tries-- > 0)
	{
		uint32_t	frame = pool->members[state->hand];
		tp_node    *node = &pool->nodes[frame];
		uint8_t		usage;

		state->hand = state->hand + 1 < n ? state->hand + 1 : 0;
		if (node->list != RING || (usable != NULL && !usable(arg, frame)))
			continue;
		usage = __atomic_load_n(&node->count, __ATOMIC_RELAXED);
		if (usage == 0)
			return frame;
		__atomic_store_n(&node->count, (uint8_t) (usage - 1), __ATOMIC_RELAXED);
		tries = n;
	}
	return TP_NONE;
}

static void
clock_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	pool->nodes[frame].count = (uint8_t) pool->header->params[PARAM_INITIAL];
	tp_ring_add(pool, RING, frame);
}

static void
clock_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	pool->nodes[frame].count = 0;
	tp_ring_remove(pool, frame);
}

static void
clock_forget(const tp_pool *pool, uint32_t frame)
{
	pool->nodes[frame].count = 0;
	tp_ring_remove(pool, frame);
}

static void
clock_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	clock_state *state = tp_state(pool, clock_state);

	(void) frame;
	(void) slot;
	if (state->hand >= pool->header->frames)
		state->hand = 0;
}

static uint32_t
usage_of(const tp_pool *pool, uint32_t frame)
{
	return pool->nodes[frame].count;
}

/* The hand takes frames at zero first, in its order; those at one next ... */
static uint32_t
clock_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, UINT8_MAX + 1u,
							tp_state(pool, clock_state)->hand, usage_of);
}

static int
clock_check(const tp_pool *pool, tp_report report, void *arg)
{
	clock_state *state = tp_state(pool, clock_state);
	uint32_t	n = pool->header->frames;
	int			bad = 0;

	bad += tp_expect(state->hand < n || state->hand == 0,
					 "hand outside the ring", state->hand, report, arg);
	for (uint32_t i = 0; i < n; i++)
		bad += tp_expect(pool->nodes[pool->members[i]].count <= max_usage(pool),
						 "usage count above the maximum", pool->members[i],
						 report, arg);
	return bad;
}

static const tp_param clock_params[] = {
	[PARAM_MAX_USAGE] = {
		.name = "max_usage", .type = TP_PARAM_INTEGER,
		.default_value = 5, .min = 1, .max = 255,
		.help = "highest usage count; 1 is the textbook's one-bit clock"
	},
	[PARAM_INITIAL] = {
		.name = "initial", .type = TP_PARAM_INTEGER,
		.default_value = 1, .min = 0, .max = 1,
		.help = "usage count of a page that has just come in"
	},
	{0}
};

static const tp_field clock_fields[] = {
	{"hand", TP_FIELD_U32, offsetof(clock_state, hand)},
	{0}
};

const tp_policy tp_policy_clock = {
	.name = "clock",
	.title = "clock with usage counts",
	.source = "Corbato, MIT Project MAC 1968; PostgreSQL 8.1",
	.flags = TP_HIT_LOCK_FREE | TP_COUNTS_ALL,
	.state_size = sizeof(clock_state),
	.params = clock_params,
	.fields = clock_fields,
	.lists = {"~ring"},
	.leave = clock_leave,
	.hit = clock_hit,
	.victim = clock_victim,
	.evict = clock_evict,
	.admit = clock_admit,
	.forget = clock_forget,
	.coldest = clock_coldest,
	.check = clock_check,
};
