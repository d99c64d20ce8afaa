/*
 * ghost.h
 *	  The ghost index: what a pool remembers of pages it has evicted.
 *
 * A ghost is a page's key on one of the pool's ghost lists, found by hash.
 * Ghost slots come with frames: the frame f brings slots f * G .. f * G + G-1
 * and takes them along when it leaves; ghosts that live there then move to
 * other free slots, so a slot number is valid only until the next leave.
 *
 * The hash table grows and shrinks with each frame that joins or leaves
 * (linear hashing: Litwin, VLDB 1980): half of a key's bits choose a member
 * of the pool, whose number is that of Litwin's bucket; the other half choose
 * one of the B buckets that the member's frame brings.  So nothing is
 * allocated or rehashed as a whole when a pool is made or resized, and chains
 * are short even if there are many ghosts per frame.
 *
 * Benefits: O(1) everything, no memory of its own beside slots and buckets.
 * Costs: three dependent loads for a lookup (member, bucket, ghost).
 */
#ifndef TIDEPOOL_GHOST_H
#define TIDEPOOL_GHOST_H

#include "tidepool/policy.h"

static inline tp_list *
tp_ghost_list_of(const tp_pool *pool, unsigned list)
{
	return &pool->header->ghost_lists[list];
}

/* Litwin's bucket of a key in a table of n > 0. */
static inline uint32_t
tp_linear_hash(uint64_t key, uint32_t n)
{
	uint32_t	h = (uint32_t) key;
	uint32_t	level = UINT32_C(1) << (31 - __builtin_clz(n));
	uint32_t	i = h & (2 * level - 1);

	return i < n ? i : h & (level - 1);
}

/* The buckets of a member's frame. */
static inline uint32_t *
tp_ghost_buckets(const tp_pool *pool, uint32_t member)
{
	return &pool->buckets[(size_t) pool->members[member] *
						  pool->buckets_per_frame];
}

/* The head of the chain that a key's ghost is on; the pool has frames. */
static inline uint32_t *
tp_ghost_chain_of(const tp_pool *pool, uint64_t key)
{
	uint32_t	member = tp_linear_hash(key, pool->header->frames);
	uint64_t	bucket = (key >> 32) * pool->buckets_per_frame >> 32;

	return &tp_ghost_buckets(pool, member)[bucket];
}

/* The slot of the ghost with this key, or TP_NONE. */
static inline uint32_t
tp_ghost_find(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot;

	if (pool->header->ghost_count == 0)
		return TP_NONE;
	slot = *tp_ghost_chain_of(pool, key);
	while (slot != TP_NONE && pool->ghosts[slot].key != key)
		slot = pool->ghosts[slot].chain;
	return slot;
}

/* The slot of the ghost of the page that this node holds, or TP_NONE. */
static inline uint32_t
tp_ghost_of_node(const tp_pool *pool, uint32_t frame)
{
	const tp_node *node = &pool->nodes[frame];

	return tp_ghost_find(pool, tp_page_key(tp_page_make(node->relation, node->block)));
}

/* Are all ghost slots in use? */
static inline bool
tp_ghosts_full(const tp_pool *pool)
{
	return pool->header->ghost_lists[TP_FREE].count == 0;
}

/*
 * Make a ghost of the page that this frame holds, at the head of a ghost
 * list, and note the list as the node's origin.  The caller has made sure
 * that a slot is free (tp_ghosts_full) and that the page has no ghost yet.
 * Returns the slot; small and value are zero.
 */
uint32_t	tp_ghost_push(const tp_pool *pool, unsigned list, uint32_t frame);

/* Put an existing ghost at the head of a (possibly other) ghost list. */
void		tp_ghost_move_head(const tp_pool *pool, unsigned list,
							   uint32_t slot);

/* Drop a ghost; its slot becomes free. */
void		tp_ghost_remove(const tp_pool *pool, uint32_t slot);

/*
 * Drop the least recent ghost of a list.  Returns false if it is empty.
 */
static inline bool
tp_ghost_drop_tail(const tp_pool *pool, unsigned list)
{
	uint32_t	slot = tp_ghost_list_of(pool, list)->tail;

	if (slot == TP_NONE)
		return false;
	tp_ghost_remove(pool, slot);
	return true;
}

/* ---- for pool.c alone ---- */

/* The pool has just gained (is about to lose) this frame. */
void		tp_ghosts_join(const tp_pool *pool, uint32_t frame);
void		tp_ghosts_leave(const tp_pool *pool, uint32_t frame);
int			tp_ghosts_check(const tp_pool *pool, tp_report report, void *arg);

#endif							/* TIDEPOOL_GHOST_H */
