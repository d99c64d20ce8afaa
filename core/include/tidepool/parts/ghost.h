/*
 * ghost.h
 *	  The ghost index: what a pool remembers of the pages it has evicted.
 *
 * A ghost is a page's key on one of the pool's ghost lists, found through the
 * pool's hash table (hash.h).  Ghost slots come and go with frames: with G
 * ghosts per frame, frame f brings slots f * G to f * G + G - 1.  When it
 * leaves, the ghosts in them move to other free slots, so a slot number is
 * valid only until the next leave.
 *
 * Costs: a lookup takes three dependent loads (chunk, bucket, ghost).
 * Benefits: every operation is O(1).
 */
#ifndef TIDEPOOL_GHOST_H
#define TIDEPOOL_GHOST_H

#include "tidepool/parts/hash.h"
#include "tidepool/prefetch.h"

static inline tp_list *
tp_ghost_list_of(const tp_pool *pool, unsigned list)
{
	return &pool->header->ghost_lists[list];
}

/* The slot of the ghost with this key, or TP_NONE. */
static inline uint32_t
tp_ghost_find(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot;

	if (pool->header->ghost_count == 0)
		return TP_NONE;
	slot = *tp_hash_chain_of(pool, key);
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

/*
 * Load into the cache what tp_ghost_find will touch: first the chains of many
 * keys, then the first ghosts of these chains.  For pools with ghosts; needs
 * no lock.  A pool that is being initialised has no frames, and so no chains.
 */
TP_PREFETCHES static inline void
tp_ghost_prefetch_chain(const tp_pool *pool, uint64_t key)
{
	uint32_t	n = __atomic_load_n(&pool->header->frames, __ATOMIC_RELAXED);

	if (n > 0)
		__builtin_prefetch(tp_hash_chain_in(pool, key, n));
}

static inline uint32_t
tp_ghost_first(const tp_pool *pool, uint64_t key)
{
	uint32_t	n = __atomic_load_n(&pool->header->frames, __ATOMIC_RELAXED);

	return n == 0 ? TP_NONE :
		__atomic_load_n(tp_hash_chain_in(pool, key, n), __ATOMIC_RELAXED);
}

TP_PREFETCHES static inline void
tp_ghost_prefetch_first(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot = tp_ghost_first(pool, key);

	if (slot != TP_NONE)
		__builtin_prefetch(&pool->ghosts[slot]);
}

/* Likewise the second ghost of a chain, unless the first is the one wanted. */
TP_PREFETCHES static inline void
tp_ghost_prefetch_second(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot = tp_ghost_first(pool, key);
	const tp_ghost *ghost;

	if (slot == TP_NONE)
		return;
	ghost = &pool->ghosts[slot];
	if (__atomic_load_n(&ghost->key, __ATOMIC_RELAXED) == key)
		return;
	slot = __atomic_load_n(&ghost->chain, __ATOMIC_RELAXED);
	if (slot != TP_NONE)
		__builtin_prefetch(&pool->ghosts[slot]);
}

/*
 * Likewise what dropping the ghost will touch, if it is the first of its chain;
 * otherwise the second.
 */
TP_PREFETCHES static inline void
tp_ghost_prefetch_neighbours(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot = tp_ghost_first(pool, key);
	const tp_ghost *ghost;
	uint32_t	next,
				prev;

	if (slot == TP_NONE)
		return;
	ghost = &pool->ghosts[slot];
	if (__atomic_load_n(&ghost->key, __ATOMIC_RELAXED) != key)
	{
		tp_ghost_prefetch_second(pool, key);
		return;
	}
	next = __atomic_load_n(&ghost->next, __ATOMIC_RELAXED);
	prev = __atomic_load_n(&ghost->prev, __ATOMIC_RELAXED);
	if (next != TP_NONE)
		__builtin_prefetch(&pool->ghosts[next], 1);
	if (prev != TP_NONE)
		__builtin_prefetch(&pool->ghosts[prev], 1);
}

/* Are all ghost slots in use? */
static inline bool
tp_ghosts_full(const tp_pool *pool)
{
	return pool->header->ghost_lists[TP_FREE].count == 0;
}

/*
 * Leave a ghost of this frame's page at the head of a ghost list, and note the
 * list as the node's origin.  The caller ensures that a slot is free
 * (tp_make_ghost_room) and that the page has no ghost; while ghosts are recalled
 * it may have one, which goes.  Returns the slot; small and value are zero.
 */
uint32_t	tp_ghost_push(const tp_pool *pool, unsigned list, uint32_t frame);

/*
 * Add a ghost at the tail of its list; its key has none.  The caller ensures
 * that a slot is free.
 */
void		tp_ghost_append(const tp_pool *pool, const struct tp_memory *memory);

/* Drop a ghost; its slot becomes free. */
void		tp_ghost_remove(const tp_pool *pool, uint32_t slot);

/* Drop the least recent ghost of a list.  Returns false if there is none. */
static inline bool
tp_ghost_drop_tail(const tp_pool *pool, unsigned list)
{
	uint32_t	slot = tp_ghost_list_of(pool, list)->tail;

	if (slot == TP_NONE)
		return false;
	tp_ghost_remove(pool, slot);
	return true;
}

/*
 * Drop ghosts until at most limit remain: the policy's last ghost list first,
 * each from its tail.
 */
void		tp_trim_ghosts(const tp_pool *pool, uint32_t limit);

/* Make sure that tp_ghost_push finds a free slot. */
static inline void
tp_make_ghost_room(const tp_pool *pool)
{
	if (tp_ghosts_full(pool))
		tp_trim_ghosts(pool, pool->header->ghost_count - 1);
}

/* ---- for pool.c alone ---- */

/*
 * join: the pool has just gained this frame.  move_out: it is about to lose
 * it, so the ghosts in its slots move.  leave: it has just lost it; slot is as
 * in tp_policy.leave.
 */
void		tp_ghosts_join(const tp_pool *pool, uint32_t frame);
void		tp_ghosts_move_out(const tp_pool *pool, uint32_t frame);
void		tp_ghosts_leave(const tp_pool *pool);
int			tp_ghosts_check(const tp_pool *pool, tp_report report, void *arg);

#endif							/* TIDEPOOL_GHOST_H */
