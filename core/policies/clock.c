/*
 * clock.c
 *	  Clock with usage counts, as PostgreSQL's.
 *
 * Source: F. J. Corbato: A paging experiment with the Multics system. MIT
 * Project MAC, 1968.  The counts: PostgreSQL since 8.1,
 * src/backend/storage/buffer/freelist.c and README.
 *
 * Where the decisions differ from Corbato's:
 *	1. A usage count up to max_usage (5) in place of one reference bit.
 *	   max_usage=1 is the textbook's clock.
 *	2. A page comes in at `initial` (1), as if referenced once.  Textbooks
 *	   differ; `initial=0` is the other reading.
 *	3. The eviction precedes the admission, so the hand has passed the frame
 *	   that the new page goes into.
 *	4. Unusable (pinned) frames are passed without lowering their count.
 * From PostgreSQL's they do not differ.  There the hand is an atomic, here it
 * moves under the pool's lock.
 *
 * Costs: a sweep may pass max_usage times over all frames; a new page counts
 * as much as one that was referenced once more.
 * Benefits: a hit is one relaxed store on the page's own frame.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/usage_ring.h"

enum
{
	PARAM_MAX_USAGE,
	PARAM_INITIAL
};

static void
clock_init(const tp_pool *pool)
{
	usage_ring *state = tp_state(pool, usage_ring);

	state->max_usage = (uint8_t) pool->header->params[PARAM_MAX_USAGE];
	state->initial = (uint8_t) pool->header->params[PARAM_INITIAL];
}

static uint8_t
one_less(uint8_t usage)
{
	return (uint8_t) (usage - 1);
}

static uint32_t
clock_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			 void *arg, const tp_access *access)
{
	usage_ring *state = tp_state(pool, usage_ring);

	(void) incoming;
	(void) access;
	return usage_sweep(pool, 0, pool->header->frames, &state->hand,
					   state->max_usage + 1u, one_less, usable, arg);
}

static uint32_t
usage_of(const tp_pool *pool, uint32_t frame)
{
	return count_of(pool, frame);
}

/* As the hand would take them if there were no more hits. */
static uint32_t
clock_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	usage_ring *state = tp_state(pool, usage_ring);

	return tp_coldest_bands(pool, cursor, state->max_usage + 1u, state->hand,
							usage_of);
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
	{"hand", TP_FIELD_U32, offsetof(usage_ring, hand)},
	{0}
};

const tp_policy tp_policy_clock = {
	.name = "clock",
	.title = "clock with usage counts",
	.source = "Corbato, MIT Project MAC 1968; PostgreSQL 8.1",
	.flags = TP_HIT_LOCK_FREE | TP_COUNTS_ALL,
	.state_size = sizeof(usage_ring),
	.params = clock_params,
	.fields = clock_fields,
	.lists = {{"ring", TP_RING}},
	.init = clock_init,
	.leave = usage_ring_leave,
	.hit = usage_ring_hit,
	.victim = clock_victim,
	.evict = usage_ring_evict,
	.admit = usage_ring_admit,
	.forget = usage_ring_forget,
	.coldest = clock_coldest,
	.upcoming = usage_ring_upcoming,
	.check = usage_ring_check,
};
