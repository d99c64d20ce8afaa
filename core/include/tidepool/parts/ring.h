/*
 * ring.h
 *	  Rings: lists of frames without links.
 *
 * A node is on a ring by its tag alone, and the order is that of the pool's
 * members.  Adding and removing a frame touches one node, which suits clocks
 * and samples; in place of links the node has a word for the policy.  In a
 * shared pool rings are not counted.
 */
#ifndef TIDEPOOL_RING_H
#define TIDEPOOL_RING_H

#include "tidepool/parts/list.h"

static inline void
tp_ring_add(const tp_pool *pool, unsigned list, uint32_t frame)
{
	TP_ASSERT(tp_list_is_ring(pool->policy, list));
	__atomic_store_n(&pool->nodes[frame].list, (uint8_t) list, __ATOMIC_RELAXED);
	if (!pool->header->shared)
		tp_list_of(pool, list)->count++;
}

static inline void
tp_ring_remove(const tp_pool *pool, uint32_t frame)
{
	TP_ASSERT(tp_list_is_ring(pool->policy, pool->nodes[frame].list));
	if (!pool->header->shared)
		tp_list_of(pool, pool->nodes[frame].list)->count--;
}

#endif							/* TIDEPOOL_RING_H */
