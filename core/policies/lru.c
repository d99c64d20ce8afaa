/*
 * lru.c
 *	  Least recently used.
 *
 * Source: folklore; analysed as a stack algorithm in R. L. Mattson,
 * J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation techniques for storage
 * hierarchies. IBM Systems Journal 9(2), 1970.
 *
 * Where the decisions differ: a search passes over unusable pages (search.h).
 *
 * Costs: each hit moves a node, so hits need the pool's lock; one scan larger
 * than the pool empties it.
 * Benefits: no parameter; the yardstick.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	RECENT = 1					/* resident pages, most recent at the head */
};

static void
lru_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_move_head(pool, RECENT, frame);
}

static uint32_t
lru_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	static const uint8_t order[] = {RECENT};

	(void) incoming;
	(void) access;
	return tp_lists_search(pool, order, 1, usable, arg);
}

static void
lru_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, RECENT, frame);
}

static void
lru_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

static void
lru_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

const tp_policy tp_policy_lru = {
	.name = "lru",
	.title = "least recently used",
	.source = "Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 1970",
	.lists = {{"recent"}},
	.hit = lru_hit,
	.victim = lru_victim,
	.evict = lru_evict,
	.admit = lru_admit,
	.forget = lru_forget,
};
