/*
 * frame.h
 *	  A frame as a view of its pool shows it: state, page, extra bytes.
 *
 * LOCKING.  None: the node's fields are loaded with relaxed atomics.
 */
#ifndef TIDEPOOL_FRAME_H
#define TIDEPOOL_FRAME_H

#include "tidepool/policy.h"
#include "tidepool/prefetch.h"

/* What the policy keeps of a frame in addition to its node. */
static inline void *
tp_extra(const tp_pool *pool, uint32_t frame)
{
	return pool->extra + (size_t) frame * pool->extra_stride;
}

/* Prefetch that, which may begin in one cache line and end in the next. */
TP_PREFETCHES static inline void
tp_prefetch_extra(const tp_pool *pool, uint32_t frame)
{
	uint32_t	size = pool->policy->extra_size;
	const char *extra = tp_extra(pool, frame);

	if (size == 0)
		return;
	__builtin_prefetch(extra);
	if ((size & (size - 1)) != 0)
		__builtin_prefetch(extra + size - 1);
}

/* The slot's index in members, and that of its buckets. */
static inline size_t
tp_member_index(const tp_pool *pool, uint32_t slot)
{
	return (size_t) __atomic_load_n(&pool->chunks[slot / TP_CHUNK],
									__ATOMIC_RELAXED) + slot % TP_CHUNK;
}

/* Where the frame of this slot stands among the members. */
static inline uint32_t *
tp_member_place(const tp_pool *pool, uint32_t slot)
{
	return &pool->members[tp_member_index(pool, slot)];
}

/*
 * The frame of this slot, below header->frames.  If frames join or leave
 * meanwhile it may be a frame of another pool.
 */
static inline uint32_t
tp_member(const tp_pool *pool, uint32_t slot)
{
	return __atomic_load_n(tp_member_place(pool, slot), __ATOMIC_RELAXED);
}

/* Put a frame in this slot.  The caller puts the one it had in another. */
static inline void
tp_place_member(const tp_pool *pool, uint32_t slot, uint32_t frame)
{
	__atomic_store_n(tp_member_place(pool, slot), frame, __ATOMIC_RELAXED);
	pool->nodes[frame].slot = slot;
}

/* The list that the frame is on, or TP_CLAIMED | the one that it was on. */
static inline unsigned
tp_list_tag(const tp_pool *pool, uint32_t frame)
{
	return __atomic_load_n(&pool->nodes[frame].list, __ATOMIC_RELAXED);
}

/* Does the frame hold a page, as far as the policy knows? */
static inline bool
tp_is_resident(const tp_pool *pool, uint32_t frame)
{
	unsigned	list = tp_list_tag(pool, frame);

	return list != TP_FREE && list < TP_CLAIMED;
}

/* Must its page be written before it leaves?  As far as the caller knows. */
static inline bool
tp_is_dirty(const tp_pool *pool, uint32_t frame)
{
	const tp_services *services = pool->services;

	return services->is_dirty != NULL &&
		services->is_dirty(services->arg, frame);
}

/* The caller may soon be asked about this frame, or be given it. */
static inline void
tp_expect_frame(const tp_pool *pool, uint32_t frame)
{
	const tp_services *services = pool->services;

	if (services->expect_frame != NULL)
		services->expect_frame(services->arg, frame);
}

static inline bool
tp_is_claimed(const tp_pool *pool, uint32_t frame)
{
	return tp_list_tag(pool, frame) >= TP_CLAIMED;
}

/* The page in the frame; of a claimed or free one, what was there last. */
static inline tp_page
tp_page_of(const tp_pool *pool, uint32_t frame)
{
	const tp_node *node = &pool->nodes[frame];

	return tp_page_make(__atomic_load_n(&node->relation, __ATOMIC_RELAXED),
						__atomic_load_n(&node->block, __ATOMIC_RELAXED));
}

/* Changes whenever the page in the frame does. */
static inline uint32_t
tp_generation(const tp_pool *pool, uint32_t frame)
{
	return __atomic_load_n(&pool->nodes[frame].generation, __ATOMIC_RELAXED);
}

#endif							/* TIDEPOOL_FRAME_H */
