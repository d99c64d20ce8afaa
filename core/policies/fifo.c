/*
 * fifo.c
 *	  First in, first out.
 *
 * Source: L. A. Belady: A study of replacement algorithms for a
 * virtual-storage computer. IBM Systems Journal 5(2), 1966.
 *
 * Where the decisions differ: a search passes over unusable pages (search.h).
 *
 * Costs: a page that is always in use leaves as soon as one read once; more
 * frames can mean more misses (Belady, Nelson, Shedler, CACM 12(6), 1969).
 * Benefits: a hit costs nothing at all.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	QUEUE = 1					/* resident pages, newest at the head */
};

static uint32_t
fifo_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
			const tp_access *access)
{
	static const uint8_t order[] = {QUEUE};

	(void) incoming;
	(void) access;
	return tp_lists_search(pool, order, 1, usable, arg);
}

static void
fifo_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, QUEUE, frame);
}

static void
fifo_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

static void
fifo_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

const tp_policy tp_policy_fifo = {
	.name = "fifo",
	.title = "first in, first out",
	.source = "Belady, IBM Systems Journal 1966",
	.flags = TP_HIT_NOTHING,
	.lists = {{"queue"}},
	.victim = fifo_victim,
	.evict = fifo_evict,
	.admit = fifo_admit,
	.forget = fifo_forget,
};
