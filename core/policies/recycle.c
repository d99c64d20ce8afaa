/*
 * recycle.c
 *	  One-chance clock, for pages read in bulk.
 *
 * Source: the RECYCLE pool of the PostgreSQL proposal "Multiple Buffer
 * Pools", which takes the place of the private rings of buffers that bulk
 * reads, bulk writes and VACUUM use.
 *
 * Why the structure differs from the proposal's, and the decisions do not: the
 * proposal's usage count goes up to PostgreSQL's 5, and the sweep clears it.
 * A count that is cleared at once matters only as zero or not, so here it
 * stops at 1.  The victims are those of clock:max_usage=1.
 *
 * Where the decisions differ: in points 3 and 4 of clock.c.
 *
 * Costs: a page referenced many times in one round of the hand goes as soon as
 * one referenced once.
 * Benefits: a victim is found within one round and a step; a hit is at most
 * one relaxed store on the page's own frame; no parameter.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/usage_ring.h"

static void
recycle_init(const tp_pool *pool)
{
	usage_ring *state = tp_state(pool, usage_ring);

	state->max_usage = 1;
	state->initial = 1;
}

static uint8_t
cleared(uint8_t usage)
{
	(void) usage;
	return 0;
}

static uint32_t
recycle_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			   void *arg, const tp_access *access)
{
	(void) incoming;
	(void) access;
	return usage_sweep(pool, 0, pool->header->frames,
					   &tp_state(pool, usage_ring)->hand, 2, cleared, usable,
					   arg);
}

static uint32_t
usage_of(const tp_pool *pool, uint32_t frame)
{
	return count_of(pool, frame);
}

static uint32_t
recycle_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, 2, tp_state(pool, usage_ring)->hand,
							usage_of);
}

static const tp_field recycle_fields[] = {
	{"hand", TP_FIELD_U32, offsetof(usage_ring, hand)},
	{0}
};

const tp_policy tp_policy_recycle = {
	.name = "recycle",
	.title = "one-chance clock",
	.source = "PostgreSQL proposal \"Multiple Buffer Pools\"",
	.flags = TP_HIT_LOCK_FREE | TP_COUNTS_ALL | TP_TAKES_BULK,
	.state_size = sizeof(usage_ring),
	.fields = recycle_fields,
	.lists = {{"ring", TP_RING}},
	.init = recycle_init,
	.leave = usage_ring_leave,
	.hit = usage_ring_hit,
	.victim = recycle_victim,
	.evict = usage_ring_evict,
	.admit = usage_ring_admit,
	.forget = usage_ring_forget,
	.coldest = recycle_coldest,
	.upcoming = usage_ring_upcoming,
	.check = usage_ring_check,
};
