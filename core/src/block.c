/*
 * block.c
 *	  A pool's pieces in one block of memory, for callers that do not share
 *	  arrays between pools.
 *
 *	  header | nodes[capacity] | extra[capacity] | ghosts[G * capacity + 1]
 *	         | members[capacity] | buckets[B * capacity]
 */
#include <string.h>

#include "tidepool/pool.h"

static size_t
header_size(void)
{
	return (sizeof(tp_header) + 63) & ~(size_t) 63;
}

static uint32_t
stride_of(const tp_policy *policy)
{
	return (policy->extra_size + 7) & ~UINT32_C(7);
}

static size_t
ghost_slots(const tp_policy *policy, const double *params, uint32_t capacity)
{
	size_t		per_frame = tp_policy_ghosts_per_frame(policy, params);

	return per_frame == 0 ? 0 : per_frame * capacity + 1;
}

size_t
tp_block_size(const tp_policy *policy, const double *params, uint32_t capacity)
{
	if (capacity > TP_MAX_FRAMES ||
		ghost_slots(policy, params, capacity) >= TP_NONE)
		return 0;
	return header_size() +
		(size_t) capacity * (sizeof(tp_node) + stride_of(policy) +
							 sizeof(uint32_t) *
							 (1 + tp_policy_buckets_per_frame(policy, params))) +
		ghost_slots(policy, params, capacity) * sizeof(tp_ghost);
}

tp_pool
tp_block_pool(const tp_policy *policy, const double *params, uint32_t capacity,
			  void *block)
{
	tp_pool		pool;
	unsigned char *p = block;

	pool.policy = policy;
	pool.extra_stride = stride_of(policy);
	pool.ghosts_per_frame = tp_policy_ghosts_per_frame(policy, params);
	pool.buckets_per_frame = tp_policy_buckets_per_frame(policy, params);
	pool.spare_ghost = pool.ghosts_per_frame * capacity;
	pool.header = (tp_header *) (void *) p;
	pool.chooser = &pool.header->chooser;
	p += header_size();
	pool.nodes = (tp_node *) (void *) p;
	p += (size_t) capacity * sizeof(tp_node);
	pool.extra = p;
	p += (size_t) capacity * pool.extra_stride;
	pool.ghosts = (tp_ghost *) (void *) p;
	p += ghost_slots(policy, params, capacity) * sizeof(tp_ghost);
	pool.members = (uint32_t *) (void *) p;
	p += (size_t) capacity * sizeof(uint32_t);
	pool.buckets = (uint32_t *) (void *) p;
	pool.services = &tp_no_services;
	return pool;
}

tp_pool
tp_block_init(const tp_policy *policy, const double *params, uint32_t capacity,
			  uint32_t frames, uint64_t seed, void *block)
{
	tp_pool		pool;

	memset(block, 0, tp_block_size(policy, params, capacity));
	pool = tp_block_pool(policy, params, capacity, block);
	for (uint32_t frame = 0; frame < capacity; frame++)
		pool.nodes[frame].slot = TP_NONE;
	tp_pool_init(&pool, params, seed);
	for (uint32_t frame = 0; frame < frames; frame++)
		tp_join(&pool, frame);
	return pool;
}
