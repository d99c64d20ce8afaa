/*
 * cache.h
 *	  Inside of a cache: the page table and the reference path.
 *
 * The page table is a hash table with open addressing and linear probing, at
 * most half full, of (page, frame) pairs; deletion shifts the run back, so
 * there are no tombstones.
 *
 * Costs: 16 bytes a slot, 32 to 64 bytes a frame, beside the pool's.
 * Benefits: a lookup is one or two cache lines, and its line can be
 * prefetched from the page alone.
 */
#ifndef TIDEPOOL_SIM_CACHE_H
#define TIDEPOOL_SIM_CACHE_H

#include "tidepool/sim.h"

typedef struct table_slot
{
	uint64_t	page;
	uint32_t	frame;			/* TP_NONE: the slot is empty */
} table_slot;

struct tps_cache
{
	tp_pool		pool;
	void	   *block;			/* what pool points into */
	uint32_t	capacity;
	double		params[TP_MAX_PARAMS];
	table_slot *table;
	uint32_t	table_shift;	/* slot of a page: mix >> table_shift */
	uint32_t	table_mask;
};

static inline tp_page
cache_page(uint64_t page)
{
	return (tp_page) {
		page >> 32, (uint32_t) page
	};
}

/* Fibonacci hashing of a page whose halves have been folded together. */
static inline uint32_t
cache_slot(const tps_cache *cache, uint64_t page)
{
	uint64_t	folded = (page ^ (page >> 29)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t) (folded >> cache->table_shift);
}

/* The frame that holds the page, or TP_NONE. */
static inline uint32_t
cache_find(const tps_cache *cache, uint64_t page)
{
	uint32_t	i = cache_slot(cache, page);

	while (cache->table[i].frame != TP_NONE && cache->table[i].page != page)
		i = (i + 1) & cache->table_mask;
	return cache->table[i].frame;
}

/* Enter a page that is not there. */
static inline void
cache_enter(tps_cache *cache, uint64_t page, uint32_t frame)
{
	uint32_t	i = cache_slot(cache, page);

	while (cache->table[i].frame != TP_NONE)
		i = (i + 1) & cache->table_mask;
	cache->table[i].page = page;
	cache->table[i].frame = frame;
}

/* Remove a page that is there. */
static inline void
cache_remove(tps_cache *cache, uint64_t page)
{
	uint32_t	mask = cache->table_mask;
	uint32_t	hole = cache_slot(cache, page);
	uint32_t	i;

	while (cache->table[hole].page != page ||
		   cache->table[hole].frame == TP_NONE)
		hole = (hole + 1) & mask;

	/* pull back what probed over the hole */
	for (i = (hole + 1) & mask; cache->table[i].frame != TP_NONE;
		 i = (i + 1) & mask)
	{
		uint32_t	home = cache_slot(cache, cache->table[i].page);

		if (((i - home) & mask) >= ((i - hole) & mask))
		{
			cache->table[hole] = cache->table[i];
			hole = i;
		}
	}
	cache->table[hole].frame = TP_NONE;
}

static inline uint64_t
cache_page_of(const tps_cache *cache, uint32_t frame)
{
	const tp_node *node = &cache->pool.nodes[frame];

	return node->relation << 32 | node->block;
}

#endif							/* TIDEPOOL_SIM_CACHE_H */
