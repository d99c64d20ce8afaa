/*
 * cache.c
 *	  A cache, one operation at a time.  See sim.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "memory.h"
#include "report.h"

static void *
make_block(const tps_cache *cache, const tp_policy *policy)
{
	size_t		size = tp_block_size(policy, cache->params, cache->capacity);

	return size == 0 ? NULL : memory_of_cache(size);
}

/*
 * Savings of a cache without a tier.  A sequential read saves little, about as
 * little as on the disk in devices.py.
 */
#define RANDOM_SAVING 1.0
#define SEQUENTIAL_SAVING 0.01

/*
 * As many slots as frames: room for 32 times the pages that the cache has,
 * at 24 bytes a frame.
 */
#define EXTENTS_MIN 1024

bool
cache_keep_extents(tps_cache *cache, double random_saving,
				   double sequential_saving)
{
	uint32_t	slots = EXTENTS_MIN;

	while (slots < cache->capacity)
		slots *= 2;
	return cache_keep_extents_in(cache, slots, random_saving, sequential_saving);
}

bool
cache_keep_extents_in(tps_cache *cache, uint32_t slots, double random_saving,
					  double sequential_saving)
{
	tp_extents_settings settings;

	tp_extents_settings_of(cache->pool.policy, cache->params, &settings);
	settings.random_saving = random_saving;
	settings.sequential_saving = sequential_saving;
	free(cache->extents);
	cache->extents = malloc(tp_extents_size(slots));
	cache->services.extents = cache->extents;
	if (cache->extents == NULL)
		return false;
	tp_extents_init(cache->extents, slots, cache->pool.header->frames, &settings);
	return true;
}

tps_cache *
tps_cache_new(const tp_policy *policy, const double *params, uint32_t capacity,
			  uint32_t frames, uint64_t seed)
{
	tps_cache  *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->capacity = capacity;
	cache->seed = seed;
	memcpy(cache->params, params, sizeof(cache->params));
	cache->block = make_block(cache, policy);
	if (cache->block == NULL || !pagetable_init(&cache->table, capacity))
	{
		tps_cache_free(cache);
		return NULL;
	}
	cache->pool = tp_block_init(policy, params, capacity, frames, seed,
								cache->block);
	cache->pool.services = &cache->services;
	if ((policy->flags & TP_READS_EXTENTS) &&
		!cache_keep_extents(cache, RANDOM_SAVING, SEQUENTIAL_SAVING))
	{
		tps_cache_free(cache);
		return NULL;
	}
	return cache;
}

void
tps_cache_free(tps_cache *cache)
{
	if (cache == NULL)
		return;
	if (cache->block != NULL)
		pagetable_free(&cache->table);
	free(cache->block);
	free(cache->extents);
	free(cache);
}

uint32_t
tps_cache_find(const tps_cache *cache, uint64_t page)
{
	return pagetable_find(&cache->table, page);
}

void
tps_cache_read(tps_cache *cache, uint64_t page)
{
	cache_read(cache, page);
}

static void
resize_epochs(tps_cache *cache)
{
	if (cache->extents != NULL)
		tp_extents_resize(cache->extents, cache->pool.header->frames);
}

void
tps_cache_join(tps_cache *cache, uint32_t frame)
{
	tp_join(&cache->pool, frame);
	resize_epochs(cache);
}

void
tps_cache_leave(tps_cache *cache, uint32_t frame)
{
	tp_leave(&cache->pool, frame);
	resize_epochs(cache);
}

void
tps_cache_hit(tps_cache *cache, uint32_t frame, const tp_access *access)
{
	tp_hit(&cache->pool, frame, access);
}

static bool
not_marked(void *arg, uint32_t frame)
{
	const unsigned char *unusable = arg;

	return unusable[frame] == 0;
}

uint32_t
tps_cache_victim(tps_cache *cache, uint64_t page, const unsigned char *unusable,
				 const tp_access *access)
{
	return tp_victim(&cache->pool, cache_page(page),
					 unusable ? not_marked : NULL, (void *) unusable, access);
}

void
tps_cache_evict(tps_cache *cache, uint32_t frame, const tp_access *access)
{
	cache_evict(cache, frame, access);
}

void
tps_cache_admit(tps_cache *cache, uint32_t frame, uint64_t page,
				const tp_access *access)
{
	cache_admit(cache, frame, page, access);
}

void
tps_cache_forget(tps_cache *cache, uint32_t frame)
{
	pagetable_remove(&cache->table, cache_page_of(cache, frame));
	tp_forget(&cache->pool, frame);
	tp_release(&cache->pool, frame);
}

void
tps_cache_restore(tps_cache *cache, uint32_t frame, const tp_access *access)
{
	pagetable_enter(&cache->table, cache_page_of(cache, frame), frame);
	tp_restore(&cache->pool, frame, access);
}

void
tps_cache_claim(tps_cache *cache, uint32_t frame)
{
	tp_claim(&cache->pool, frame);
}

void
tps_cache_release(tps_cache *cache, uint32_t frame)
{
	tp_release(&cache->pool, frame);
}

bool
tps_cache_is_claimed(const tps_cache *cache, uint32_t frame)
{
	return tp_is_claimed(&cache->pool, frame);
}

bool
tps_cache_is_free(const tps_cache *cache, uint32_t frame)
{
	return !tp_is_resident(&cache->pool, frame);
}

uint64_t
tps_cache_page_of(const tps_cache *cache, uint32_t frame)
{
	return cache_page_of(cache, frame);
}

uint32_t
tps_cache_coldest(const tps_cache *cache, uint32_t *frames)
{
	tp_cursor	cursor = {0};
	uint32_t	n = 0;
	uint32_t	frame;

	while ((frame = tp_coldest(&cache->pool, &cursor)) != TP_NONE &&
		   n < cache->pool.header->frames)
		frames[n++] = frame;
	return n;
}

uint32_t
tps_cache_coldest_slice(const tps_cache *cache, tp_cursor *cursor,
						uint32_t looks, uint32_t *frames)
{
	uint32_t	n = 0;
	uint32_t	frame;

	cursor->pause = cursor->looks + looks;
	while ((frame = tp_coldest(&cache->pool, cursor)) != TP_NONE)
		frames[n++] = frame;
	return n;
}

void
tps_cache_upcoming_begin(tp_lookahead *ahead, uint32_t victims)
{
	tp_upcoming_begin(ahead, victims, NULL, NULL);
}

uint32_t
tps_cache_upcoming_slice(const tps_cache *cache, tp_lookahead *ahead,
						 const unsigned char *unwanted, uint32_t looks,
						 uint32_t *frames)
{
	uint32_t	n = 0;
	uint32_t	frame;

	ahead->wanted = unwanted ? not_marked : NULL;
	ahead->arg = (void *) unwanted;
	ahead->cursor.pause = ahead->cursor.looks + looks;
	while ((frame = tp_upcoming(&cache->pool, ahead)) != TP_NONE)
		if (unwanted == NULL || !unwanted[frame])
			frames[n++] = frame;
	return n;
}

bool
tps_cache_move(tps_cache *cache)
{
	const tp_policy *policy = cache->pool.policy;
	size_t		size = tp_block_size(policy, cache->params, cache->capacity);
	void	   *block = make_block(cache, policy);

	if (block == NULL)
		return false;
	memcpy(block, cache->block, size);
	memset(cache->block, 0xa5, size);
	free(cache->block);
	cache->block = block;
	cache->pool = tp_block_pool(policy, cache->params, cache->capacity, block);
	cache->pool.services = &cache->services;
	return true;
}

size_t
tps_cache_describe(const tps_cache *cache, char *text, size_t size)
{
	return tp_describe(&cache->pool, text, size);
}

/* The frame to give up when the pool shrinks. */
static uint32_t
shrink_victim(const tp_pool *pool, const tp_access *access)
{
	const tp_page nothing = {UINT64_MAX, UINT32_MAX};
	tp_cursor	cursor = {0};
	uint32_t	frame = tp_victim(pool, nothing, NULL, NULL, access);

	return tp_is_frame(frame) ? frame : tp_coldest(pool, &cursor);
}

void
tps_cache_resize(tps_cache *cache, uint32_t frames, uint64_t now)
{
	const tp_access access = {.now = now};
	tp_pool    *pool = &cache->pool;

	for (uint32_t frame = 0;
		 frame < cache->capacity && pool->header->frames < frames; frame++)
		if (pool->nodes[frame].slot == TP_NONE)
			tp_join(pool, frame);
	while (pool->header->frames > frames)
	{
		uint32_t	frame = shrink_victim(pool, &access);

		if (tp_is_resident(pool, frame))
			cache_evict(cache, frame, &access);
		tp_leave(pool, frame);
	}
	resize_epochs(cache);
}

int
tps_cache_check(const tps_cache *cache, char *text, size_t size)
{
	report_text report = report_to(text, size);
	int			bad;
	uint32_t	entries = 0;

	bad = tp_check(&cache->pool, NULL, NULL, write_report, &report);
	for (size_t i = 0; i <= cache->table.mask; i++)
	{
		uint32_t	frame = cache->table.slots[i].frame;

		if (frame == TP_NONE)
			continue;
		entries++;
		bad += tp_expect(tp_is_resident(&cache->pool, frame) &&
						 cache_page_of(cache, frame) == cache->table.slots[i].page,
						 "page table names a frame that does not hold the page",
						 frame, write_report, &report);
	}
	bad += tp_expect(entries + cache->hidden == tp_resident(&cache->pool),
					 "resident page missing in the page table", entries,
					 write_report, &report);
	return bad;
}
