/*
 * arrays.c
 *	  Memory of several pools, and of one.  See arrays.h and pool.h.
 */
#include <string.h>

#include "tidepool/arrays.h"
#include "tidepool/pool.h"

/* ---- what a frame needs ---- */

tp_frame_needs
tp_policy_needs(const tp_policy *policy, const double *params)
{
	return (tp_frame_needs)
	{
		.extra = (policy->extra_size + 7) & ~UINT32_C(7),
			.ghosts = tp_policy_ghosts_per_frame(policy, params),
			.buckets = tp_policy_buckets_per_frame(policy, params),
	};
}

_Static_assert(sizeof(tp_ghost) % 8 == 0, "extra bytes are 8-aligned");

uint32_t
tp_needs_bytes(tp_frame_needs needs)
{
	return (uint32_t) (sizeof(tp_node) + sizeof(uint32_t) * (1 + needs.buckets) +
					   sizeof(tp_ghost) * needs.ghosts) + needs.extra;
}

/* Do the extra bytes of a pool that needs these lie where others have ghosts? */
static bool
extra_among_ghosts(tp_frame_needs have, tp_frame_needs need)
{
	return need.extra > have.extra && need.ghosts == 0 &&
		need.extra <= have.ghosts * sizeof(tp_ghost);
}

static uint32_t
larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

tp_frame_needs
tp_needs_of_both(tp_frame_needs a, tp_frame_needs b)
{
	if (tp_needs_suffice(a, b))
		return a;
	if (tp_needs_suffice(b, a))
		return b;
	return (tp_frame_needs)
	{
		.extra = larger(a.extra, b.extra),
			.ghosts = larger(a.ghosts, b.ghosts),
			.buckets = larger(a.buckets, b.buckets),
	};
}

bool
tp_needs_suffice(tp_frame_needs have, tp_frame_needs need)
{
	return have.ghosts >= need.ghosts && have.buckets >= need.buckets &&
		(have.extra >= need.extra || extra_among_ghosts(have, need));
}

/* ---- sizes of the pieces ---- */

static size_t
header_size(void)
{
	return (sizeof(tp_header) + 63) & ~(size_t) 63;
}

static size_t
ghost_slots(uint32_t capacity, uint32_t pools, tp_frame_needs needs)
{
	return needs.ghosts == 0 ? 0 : (size_t) needs.ghosts * capacity + pools;
}

/* Chunks of the largest pool. */
static uint32_t
chunks_of_pool(uint32_t capacity)
{
	return capacity / TP_CHUNK + (capacity % TP_CHUNK != 0);
}

/* Chunks of all: each pool may have one that is not full. */
static uint32_t
chunks_of_all(uint32_t capacity, uint32_t pools)
{
	return pools == 1 ? chunks_of_pool(capacity) : capacity / TP_CHUNK + pools;
}

/* Of one pool, the last chunk is cut off. */
static size_t
member_places(uint32_t capacity, uint32_t pools)
{
	return pools == 1 ? capacity :
		(size_t) chunks_of_all(capacity, pools) * TP_CHUNK;
}

static size_t
free_chunks_size(uint32_t capacity, uint32_t pools)
{
	return sizeof(tp_free_chunks) +
		chunks_of_all(capacity, pools) * sizeof(uint32_t);
}

size_t
tp_arrays_size(uint32_t capacity, uint32_t pools, tp_frame_needs needs)
{
	if (capacity > TP_MAX_FRAMES ||
		ghost_slots(capacity, pools, needs) >= TP_NONE)
		return 0;
	return pools * header_size() +
		(size_t) capacity * (sizeof(tp_node) + needs.extra) +
		ghost_slots(capacity, pools, needs) * sizeof(tp_ghost) +
		member_places(capacity, pools) * sizeof(uint32_t) * (1 + needs.buckets) +
		(size_t) pools * chunks_of_pool(capacity) * sizeof(uint32_t) +
		free_chunks_size(capacity, pools);
}

/* ---- views ---- */

tp_arrays
tp_arrays_place(uint32_t capacity, uint32_t pools, tp_frame_needs needs,
				void *memory)
{
	tp_arrays	arrays = {.capacity = capacity, .pools = pools, .needs = needs};
	unsigned char *p = memory;

	arrays.headers = p;
	p += pools * header_size();
	arrays.nodes = (tp_node *) (void *) p;
	p += (size_t) capacity * sizeof(tp_node);
	arrays.extra = p;
	p += (size_t) capacity * needs.extra;
	arrays.ghosts = (tp_ghost *) (void *) p;
	p += ghost_slots(capacity, pools, needs) * sizeof(tp_ghost);
	arrays.members = (uint32_t *) (void *) p;
	p += member_places(capacity, pools) * sizeof(uint32_t);
	arrays.chunks = (uint32_t *) (void *) p;
	p += (size_t) pools * chunks_of_pool(capacity) * sizeof(uint32_t);
	arrays.free_chunks = (tp_free_chunks *) (void *) p;
	p += free_chunks_size(capacity, pools);
	arrays.buckets = (uint32_t *) (void *) p;
	return arrays;
}

void
tp_arrays_init(const tp_arrays *arrays)
{
	uint32_t	chunks = chunks_of_all(arrays->capacity, arrays->pools);

	for (uint32_t frame = 0; frame < arrays->capacity; frame++)
		arrays->nodes[frame].slot = TP_NONE;
	arrays->free_chunks->count = chunks;
	for (uint32_t i = 0; i < chunks; i++)	/* the first is on top */
		arrays->free_chunks->begin[i] = (chunks - 1 - i) * TP_CHUNK;
}

tp_pool
tp_arrays_pool(const tp_arrays *arrays, uint32_t number,
			   const tp_policy *policy, const double *params)
{
	tp_frame_needs needs = tp_policy_needs(policy, params);
	bool		among_ghosts = extra_among_ghosts(arrays->needs, needs);
	tp_header  *header = (tp_header *) (void *)
		(arrays->headers + number * header_size());

	return (tp_pool)
	{
		.policy = policy,
			.header = header,
			.chooser = &header->chooser,
			.nodes = arrays->nodes,
			.extra = among_ghosts ? (unsigned char *) arrays->ghosts : arrays->extra,
			.members = arrays->members,
			.chunks = arrays->chunks +
			(size_t) number * chunks_of_pool(arrays->capacity),
			.free_chunks = arrays->free_chunks,
			.ghosts = arrays->ghosts,
			.buckets = arrays->buckets,
			.extra_stride = among_ghosts ?
			arrays->needs.ghosts * (uint32_t) sizeof(tp_ghost) : arrays->needs.extra,
			.ghost_stride = arrays->needs.ghosts,
			.bucket_stride = arrays->needs.buckets,
			.ghosts_per_frame = needs.ghosts,
			.buckets_per_frame = needs.buckets,
			.spare_ghost = arrays->needs.ghosts * arrays->capacity + number,
			.services = &tp_no_services,
	};
}

/* ---- one pool ---- */

size_t
tp_block_size(const tp_policy *policy, const double *params, uint32_t capacity)
{
	return tp_arrays_size(capacity, 1, tp_policy_needs(policy, params));
}

tp_pool
tp_block_pool(const tp_policy *policy, const double *params, uint32_t capacity,
			  void *block)
{
	tp_arrays	arrays = tp_arrays_place(capacity, 1,
										 tp_policy_needs(policy, params), block);

	return tp_arrays_pool(&arrays, 0, policy, params);
}

tp_pool
tp_block_init(const tp_policy *policy, const double *params, uint32_t capacity,
			  uint32_t frames, uint64_t seed, void *block)
{
	tp_frame_needs needs = tp_policy_needs(policy, params);
	tp_arrays	arrays = tp_arrays_place(capacity, 1, needs, block);
	tp_pool		pool = tp_arrays_pool(&arrays, 0, policy, params);

	memset(block, 0, tp_arrays_size(capacity, 1, needs));
	tp_arrays_init(&arrays);
	tp_pool_init(&pool, params, seed);
	for (uint32_t frame = 0; frame < frames; frame++)
		tp_join(&pool, frame);
	return pool;
}
