/*
 * cache.h
 *	  Internals of a cache.
 */
#ifndef TIDEPOOL_SIM_CACHE_H
#define TIDEPOOL_SIM_CACHE_H

#include "tidepool/sim.h"

#include "tidepool/tier/extents.h"

#include "pagetable.h"

struct tps_cache
{
	tp_pool		pool;
	void	   *block;			/* what pool points into; NULL in a layout,
								 * which has that, and the table */
	uint32_t	capacity;
	double		params[TP_MAX_PARAMS];
	uint64_t	seed;
	pagetable	table;
	uint32_t	hidden;			/* pages in frames, that the table lacks: a
								 * followed tier's (tier_recorded.c) */
	tp_extents *extents;		/* NULL unless the policy uses temperatures,
								 * or it is a tier's */
	tp_services services;		/* pool.services */
};

/*
 * Begin to keep temperatures for the cache, with these savings in
 * microseconds.  False when memory ran out.
 */
bool		cache_keep_extents(tps_cache *cache, double random_saving,
							   double sequential_saving);

/* Likewise, in a table of this many slots: a power of two >= TP_EXTENT_PROBES. */
bool		cache_keep_extents_in(tps_cache *cache, uint32_t slots,
								  double random_saving,
								  double sequential_saving);

/* Is the frame one of the cache's?  In a layout, others have frames, too. */
static inline bool
cache_has(const tps_cache *cache, uint32_t frame)
{
	uint32_t	slot = cache->pool.nodes[frame].slot;

	return slot < cache->pool.header->frames &&
		tp_member(&cache->pool, slot) == frame;
}

static inline tp_page
cache_page(uint64_t page)
{
	return tp_page_make(page >> 32, (uint32_t) page);
}

static inline uint64_t
cache_page_of(const tps_cache *cache, uint32_t frame)
{
	const tp_node *node = &cache->pool.nodes[frame];

	return node->relation << 32 | node->block;
}

static inline void
cache_read(tps_cache *cache, uint64_t page)
{
	if (cache->extents != NULL)
		tp_extents_read(cache->extents, cache_page(page));
}

static inline void
cache_evict(tps_cache *cache, uint32_t frame, const tp_access *access)
{
	uint64_t	page = cache_page_of(cache, frame);

	pagetable_prefetch(&cache->table, page);
	tp_evict(&cache->pool, frame, access);
	pagetable_remove(&cache->table, page);
}

static inline void
cache_admit(tps_cache *cache, uint32_t frame, uint64_t page,
			const tp_access *access)
{
	pagetable_enter(&cache->table, page, frame);
	tp_admit(&cache->pool, frame, cache_page(page), access);
}

#endif							/* TIDEPOOL_SIM_CACHE_H */
