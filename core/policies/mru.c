/*
 * mru.c
 *	  Most recently used.
 *
 * Source: H.-T. Chou, D. J. DeWitt: An evaluation of buffer management
 * strategies for relational database systems. VLDB 1985 (the best choice for
 * a scan that is repeated over more pages than there are frames).
 *
 * Deviations: none.
 *
 * Definition:
 *	recent	resident pages, most recently referenced at the head.
 *	hit		to the head.
 *	victim	the first usable frame from the head.
 *	admit	to the head, whatever the access was.
 *	evict, forget	off the list.
 *	join, leave	nothing.
 *	coldest	from head to tail: eviction begins with the most recent.
 *
 * Costs: every hit moves a node, so hits need the pool's lock; pages that are
 * no longer wanted are never evicted while any other is referenced.
 * Benefits: no parameter; optimal on loops.
 * Memory: nothing beside the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	RECENT = 1					/* resident pages, most recent at the head */
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
	uint32_t	frame = tp_list_of(pool, RECENT)->head;

	(void) incoming;
	(void) access;
	if (usable != NULL)
		while (frame != TP_NONE && !usable(arg, frame))
			frame = pool->nodes[frame].next;
	return frame;
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

static void
mru_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static uint32_t
mru_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	uint32_t	frame = tp_walk_list(pool, cursor, RECENT, true);

	cursor->taken += frame != TP_NONE;
	return frame;
}

const tp_policy tp_policy_mru = {
	.name = "mru",
	.title = "most recently used",
	.source = "Chou, DeWitt, VLDB 1985",
	.lists = {"recent"},
	.hit = mru_hit,
	.victim = mru_victim,
	.evict = mru_evict,
	.admit = mru_admit,
	.forget = mru_forget,
	.coldest = mru_coldest,
};
