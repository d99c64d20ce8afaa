/*
 * cooling.c
 *	  Clock over pages that are hot or cool.
 *
 * Source: a proposal for PostgreSQL 20 (commitfest entry 7000, version 8).  It
 * is here as a baseline: what PostgreSQL may do next.
 *
 * A page comes in cool.  The next reference makes it hot and sets its
 * reference bit, and so does each later one.  The hand evicts a cool page; a
 * hot page first loses its bit, and becomes cool the next time.
 *
 * Where this differs from the proposal:
 *	1. The hand moves under the pool's lock.
 *	2. VACUUM's references leave a page as it is.  (PostgreSQL reads through a
 *	   ring there, whose buffers are not to gain from it.)
 *
 * Costs: a new page that is referenced twice in a row is hot, as under clock.
 * Benefits: a hit is at most one relaxed store on the page's own frame, and a
 * sweep meets a page at most three times: a page that was referenced a hundred
 * times is evicted as soon as one that was referenced twice.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/usage_ring.h"

enum
{
	COOL,
	HOT,
	HOT_REFERENCED				/* the reference bit is set */
};

static void
cooling_init(const tp_pool *pool)
{
	usage_ring *state = tp_state(pool, usage_ring);

	state->max_usage = HOT_REFERENCED;
	state->initial = COOL;
}

static void
cooling_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	if ((access->flags & TP_VACUUM) == 0 &&
		count_of(pool, frame) != HOT_REFERENCED)
		set_count(pool, frame, HOT_REFERENCED);
}

static uint8_t
cooler(uint8_t state)
{
	return (uint8_t) (state - 1);
}

static uint32_t
cooling_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			   void *arg, const tp_access *access)
{
	(void) incoming;
	(void) access;
	return usage_sweep(pool, 0, pool->header->frames,
					   &tp_state(pool, usage_ring)->hand, HOT_REFERENCED + 1,
					   cooler, usable, arg);
}

static uint32_t
state_of(const tp_pool *pool, uint32_t frame)
{
	return count_of(pool, frame);
}

static uint32_t
cooling_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, HOT_REFERENCED + 1,
							tp_state(pool, usage_ring)->hand, state_of);
}

static const tp_field cooling_fields[] = {
	{"hand", TP_FIELD_U32, offsetof(usage_ring, hand)},
	{0}
};

const tp_policy tp_policy_cooling = {
	.name = "cooling",
	.title = "clock over hot and cool pages",
	.source = "proposal for PostgreSQL 20, commitfest 7000",
	.flags = TP_HIT_LOCK_FREE | TP_COUNTS_ALL,
	.state_size = sizeof(usage_ring),
	.fields = cooling_fields,
	.lists = {{"ring", TP_RING}},
	.init = cooling_init,
	.leave = usage_ring_leave,
	.hit = cooling_hit,
	.victim = cooling_victim,
	.evict = usage_ring_evict,
	.admit = usage_ring_admit,
	.forget = usage_ring_forget,
	.coldest = cooling_coldest,
	.upcoming = usage_ring_upcoming,
	.check = usage_ring_check,
};
