/*
 * mru.c
 *	  Most recently used.
 *
 * Source: H.-T. Chou, D. J. DeWitt: An evaluation of buffer management
 * strategies for relational database systems. VLDB 1985 (the best choice for
 * a scan that is repeated over more pages than there are frames).
 *
 * Where the decisions differ: pages that a search found unusable are set aside
 * on the list passed, and two of them are looked at before recent (search.h).
 * Such a page goes back to recent when it is hit.
 *
 * Costs: each hit moves a node, so hits need the pool's lock; pages that are
 * no longer wanted are never evicted while any other is referenced.
 * Benefits: no parameter; optimal on loops.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	RECENT = 1,					/* resident pages, most recent at the head */
	PASSED						/* pages that a search found unusable, most
								 * recently looked at at the head */
};

static void
mru_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_move_head(pool, RECENT, frame);
}

static uint32_t
mru_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	uint32_t	looks = tp_looks_again(pool, PASSED);
	uint32_t	frame = tp_list_look_again(pool, PASSED, &looks, usable, arg);

	(void) incoming;
	(void) access;
	if (frame != TP_NONE)
		return frame;
	while ((frame = tp_list_of(pool, RECENT)->head) != TP_NONE)
	{
		if (usable == NULL || usable(arg, frame))
			return frame;
		tp_list_move_head(pool, PASSED, frame);
	}
	return tp_list_usable_tail(pool, PASSED, usable, arg);
}

static void
mru_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, RECENT, frame);
}

static void
mru_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

/* A victim came from the head, to which others may have come since. */
static void
mru_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) access;
	if (list == RECENT)
		tp_list_push_head(pool, RECENT, frame);
	else
		tp_list_put_back(pool, list, frame);
}

static void
mru_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/* Stage 0: passed, from the tail.  Stage 1: recent, from the head. */
static uint32_t
mru_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {PASSED};
	uint32_t	frame;

	if (cursor->stage == 0)
	{
		frame = tp_coldest_lists(pool, cursor, order, 1);
		if (frame != TP_NONE || cursor->stage == 0)
			return frame;
	}
	frame = tp_walk_list(pool, cursor, RECENT, true);

	cursor->taken += frame != TP_NONE;
	return frame;
}

const tp_policy tp_policy_mru = {
	.name = "mru",
	.title = "most recently used",
	.source = "Chou, DeWitt, VLDB 1985",
	.lists = {{"recent"}, {"passed"}},
	.hit = mru_hit,
	.victim = mru_victim,
	.evict = mru_evict,
	.restore = mru_restore,
	.admit = mru_admit,
	.forget = mru_forget,
	.coldest = mru_coldest,
};
