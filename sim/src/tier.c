/*
 * tier.c
 *	  A tier on an SSD, fed with what a cache reads and writes.  See sim.h;
 *	  the order of things is that of core/include/tidepool/tier/tier.h.
 *
 * Write-back: a dirty page goes to the SSD if it is there or gets a frame,
 * and is dirty there.  It is written while the cache waits: there is no other
 * copy of it.  When more than dirty_limit of the frames are dirty, all dirty
 * pages go to the disk, in the order of their numbers; a victim that is dirty
 * goes alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "tier.h"

static tps_tier *
tier_new(const tps_tier_options *options)
{
	tps_tier   *tier = calloc(1, sizeof(*tier));

	if (tier != NULL)
		tier->options = *options;
	return tier;
}

tps_tier *
tps_tier_new_none(const tps_tier_options *options)
{
	return tier_new(options);
}

tps_tier *
tps_tier_new_opt(uint32_t frames, bool by_time,
				 const tps_tier_options *options)
{
	tps_tier   *tier = tier_new(options);

	if (tier == NULL)
		return NULL;
	if (by_time)
		tier->opt_time = opt_time_new(frames,
									  options->disk.random_read -
									  options->ssd.random_read,
									  options->disk.sequential_read -
									  options->ssd.sequential_read);
	else
		tier->opt = opt_new(frames, true);
	if (tier->opt_time == NULL && tier->opt == NULL)
	{
		tps_tier_free(tier);
		return NULL;
	}
	return tier;
}

tps_tier *
tps_tier_new(tps_cache *cache, const tps_tier_options *options)
{
	tps_tier   *tier = tier_new(options);
	tp_extents_settings savings;

	if (tier == NULL)
	{
		tps_cache_free(cache);
		return NULL;
	}
	tier->cache = cache;
	tp_tier_savings(&options->disk, &options->ssd, &savings);
	tier->stale = calloc(cache->capacity, 1);
	tier->dirty = calloc(cache->capacity, 1);
	tier->flushing = malloc(cache->capacity * sizeof(*tier->flushing));
	if (tier->stale == NULL || tier->dirty == NULL || tier->flushing == NULL ||
		!queue_init(&tier->queue, options->write_buffer, cache->capacity) ||
		!cache_keep_extents(cache, savings.random_saving,
							savings.sequential_saving))
	{
		tps_tier_free(tier);
		return NULL;
	}
	tier->core.pool = cache->pool;
	tier->core.extents = cache->extents;
	tier->core.stale = tier->stale;
	tier->core.counters = &tier->counters;
	return tier;
}

void
tps_tier_free(tps_tier *tier)
{
	if (tier == NULL)
		return;
	tps_cache_free(tier->cache);
	opt_free(tier->opt);
	opt_time_free(tier->opt_time);
	free(tier->stale);
	free(tier->dirty);
	free(tier->flushing);
	queue_free(&tier->queue);
	free(tier);
}

/* ---- what things cost ---- */

/* The cache has waited for so long; the writer has gone on meanwhile. */
static void
spend(tps_tier *tier, double microseconds)
{
	tier->clock += microseconds;
	queue_drain(tier);
}

static void
disk_write(tps_tier *tier, uint64_t page)
{
	bool		sequential = tp_streams_access(&tier->writes, cache_page(page));
	double		time = sequential ? tier->options.disk.sequential_write :
		tier->options.disk.random_write;

	tier->totals.sequential_writes += sequential;
	tier->totals.random_writes += !sequential;
	tier->totals.disk_write_time += time;
	spend(tier, time);
}

static void
count_read(tps_tier *tier, bool sequential, bool from_ssd)
{
	const tp_device *device = from_ssd ? &tier->options.ssd :
		&tier->options.disk;
	double		time = sequential ? device->sequential_read : device->random_read;

	if (sequential)
	{
		tier->totals.sequential_reads++;
		tier->totals.sequential_hits += from_ssd;
	}
	else
	{
		tier->totals.random_reads++;
		tier->totals.random_hits += from_ssd;
	}
	if (from_ssd)
		tier->totals.ssd_read_time += time;
	else
		tier->totals.disk_read_time += time;
	spend(tier, time);
}

/* A page to the SSD that must not be lost: the cache waits for it. */
static void
ssd_write_now(tps_tier *tier)
{
	tier->totals.ssd_writes++;
	tier->totals.ssd_write_time += tier->options.ssd.random_write;
	spend(tier, tier->options.ssd.random_write);
}

/* ---- write-back: dirty pages of the SSD go to the disk ---- */

static int
by_number(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

static void
set_dirty(tps_tier *tier, uint32_t frame, bool dirty)
{
	tier->dirty_count += dirty;
	tier->dirty_count -= tier->dirty[frame];
	tier->dirty[frame] = dirty;
}

/* A dirty page goes from the SSD to the disk. */
static void
flush_page(tps_tier *tier, uint64_t page)
{
	tier->totals.flushed++;
	tier->totals.ssd_read_time += tier->options.ssd.random_read;
	spend(tier, tier->options.ssd.random_read);
	disk_write(tier, page);
}

static void
flush_all(tps_tier *tier)
{
	size_t		n = 0;

	for (uint32_t frame = 0; frame < tier->cache->capacity; frame++)
		if (tier->dirty[frame])
		{
			set_dirty(tier, frame, false);
			tier->flushing[n++] = cache_page_of(tier->cache, frame);
		}
	qsort(tier->flushing, n, sizeof(*tier->flushing), by_number);
	for (size_t i = 0; i < n; i++)
		flush_page(tier, tier->flushing[i]);
}

/* ---- pages come to the SSD and go ---- */

void
tier_forget(tps_tier *tier, uint32_t frame)
{
	queue_cancel(&tier->queue, frame);
	set_dirty(tier, frame, false);
	pagetable_remove(&tier->cache->table, cache_page_of(tier->cache, frame));
	tp_tier_forget(&tier->core, frame);
}

/* A frame that has been given to the page, or TP_NONE. */
static uint32_t
admit(tps_tier *tier, uint64_t page, const tp_access *access)
{
	uint32_t	frame = tp_tier_offer(&tier->core, cache_page(page), NULL, NULL,
									  access);

	if (!tp_is_frame(frame))
	{
		tier->totals.refused++;
		return TP_NONE;
	}
	if (tp_is_resident(&tier->core.pool, frame))
	{
		if (tier->dirty[frame])
		{
			set_dirty(tier, frame, false);
			flush_page(tier, cache_page_of(tier->cache, frame));
		}
		queue_cancel(&tier->queue, frame);
		pagetable_remove(&tier->cache->table, cache_page_of(tier->cache, frame));
		tp_tier_evict(&tier->core, frame, access);
	}
	pagetable_enter(&tier->cache->table, page, frame);
	tp_tier_admit(&tier->core, frame, cache_page(page), access);
	return frame;
}

static void
read_page(tps_tier *tier, uint64_t page, const tp_access *access)
{
	bool		sequential = tp_streams_access(&tier->reads, cache_page(page));
	uint64_t	before = tier->core.extents->sequential;
	uint32_t	frame = pagetable_find(&tier->cache->table, page);
	bool		from_ssd = tp_tier_read(&tier->core, cache_page(page), frame, access);

	tier->totals.misjudged += sequential !=
		(tier->core.extents->sequential > before);
	count_read(tier, sequential, from_ssd);
	if (from_ssd)
		return;
	frame = admit(tier, page, access);
	if (frame != TP_NONE)
		queue_write(tier, frame);
}

static void
write_page(tps_tier *tier, uint64_t page, const tp_access *access)
{
	uint32_t	frame = pagetable_find(&tier->cache->table, page);

	if (!tier->options.write_back)
	{
		disk_write(tier, page);
		if (frame != TP_NONE)
		{
			tp_tier_written(&tier->core, frame);
			queue_write(tier, frame);
		}
		return;
	}
	if (frame == TP_NONE)
		frame = admit(tier, page, access);
	if (frame == TP_NONE)
	{
		disk_write(tier, page);
		return;
	}
	queue_cancel(&tier->queue, frame);
	ssd_write_now(tier);
	set_dirty(tier, frame, true);
	if (tier->dirty_count >
		tier->options.dirty_limit * tier->core.pool.header->frames)
		flush_all(tier);
}

/* count pages from first on; 0 for all from first to the end of the fork. */
static void
forget(tps_tier *tier, uint64_t first, uint32_t count)
{
	tps_cache  *cache = tier->cache;

	for (uint64_t page = first; page - first < count; page++)
	{
		uint32_t	frame = pagetable_find(&cache->table, page);

		if (frame != TP_NONE)
			tier_forget(tier, frame);
	}
	for (uint32_t frame = 0; count == 0 && frame < cache->capacity; frame++)
		if (tp_is_resident(&tier->core.pool, frame))
		{
			uint64_t	page = cache_page_of(cache, frame);

			if (page >> 32 == first >> 32 && page >= first)
				tier_forget(tier, frame);
		}
}

/* ---- OPT, and no SSD ---- */

/* OPT by misses; a page that is not read again is not kept. */
static opt_outcome
opt_read(opt_pool *o, uint64_t page, uint64_t next_use)
{
	bool		wrote_back;
	uint64_t	written;

	if (next_use == UINT64_MAX)
		return opt_forget(o, page) ? OPT_HIT : OPT_REFUSED;
	return opt_reference(o, page, next_use, false, &wrote_back, &written);
}

static void
read_offline(tps_tier *tier, const tps_events *events, size_t i,
			 const uint8_t *next_sequential)
{
	uint64_t	page = events->page[i];
	bool		sequential = tp_streams_access(&tier->reads, cache_page(page));
	opt_outcome outcome;

	if (tier->opt != NULL)
		outcome = opt_read(tier->opt, page, events->next_use[i]);
	else if (tier->opt_time != NULL)
		outcome = opt_time_reference(tier->opt_time, page, events->position + i,
									 events->next_use[i], next_sequential[i]);
	else
	{
		count_read(tier, sequential, false);
		return;
	}
	count_read(tier, sequential, outcome == OPT_HIT);
	tier->totals.refused += outcome == OPT_REFUSED;
	if (outcome == OPT_MISS)
		queue_write(tier, TP_NONE);
}

static void
write_offline(tps_tier *tier, uint64_t page)
{
	disk_write(tier, page);
	if ((tier->opt != NULL && opt_find(tier->opt, page) != TP_NONE) ||
		(tier->opt_time != NULL && opt_time_has(tier->opt_time, page)))
		queue_write(tier, TP_NONE);
}

static void
forget_offline(tps_tier *tier, uint64_t first, uint32_t count)
{
	for (uint64_t page = first; page - first < count; page++)
		if (tier->opt != NULL)
			opt_forget(tier->opt, page);
		else if (tier->opt_time != NULL)
			opt_time_forget(tier->opt_time, page);
	if (count == 0 && tier->opt != NULL)
		opt_forget_from(tier->opt, first);
	if (count == 0 && tier->opt_time != NULL)
		opt_time_forget_from(tier->opt_time, first);
}

/* ---- events ---- */

void
tps_tier_feed(tps_tier *tier, const tps_events *events,
			  const uint8_t *next_sequential)
{
	for (size_t i = 0; i < events->n; i++)
	{
		uint64_t	page = events->page[i];
		uint32_t	count = events->count == NULL ? 0 : events->count[i];
		tp_access	access = {.now = events->position + i};

		if (events->flags != NULL)
			access.flags = events->flags[i] & EVENT_ACCESS_FLAGS;
		if (tier->cache == NULL)
			switch (event_kind(events, i))
			{
				case EVENT_READ:
					read_offline(tier, events, i, next_sequential);
					break;
				case EVENT_WRITE:
					write_offline(tier, page);
					break;
				case EVENT_FORGET:
					forget_offline(tier, page, count);
					break;
			}
		else
			switch (event_kind(events, i))
			{
				case EVENT_READ:
					read_page(tier, page, &access);
					break;
				case EVENT_WRITE:
					write_page(tier, page, &access);
					break;
				case EVENT_FORGET:
					forget(tier, page, count);
					break;
			}
	}
}

/* ---- results ---- */

void
tps_tier_totals(const tps_tier *tier, tps_tier_sums *totals)
{
	*totals = tier->totals;
	if (tier->core.extents != NULL)
		totals->extents_forgotten = tier->core.extents->forgotten;
}

void
tps_tier_restart(tps_tier *tier)
{
	memset(&tier->totals, 0, sizeof(tier->totals));
	if (tier->core.extents != NULL)
		tier->core.extents->forgotten = 0;
}

int
tps_tier_check(const tps_tier *tier, char *text, size_t size)
{
	int			bad;
	uint32_t	dirty = 0;

	if (size > 0)
		*text = '\0';
	if (tier->cache == NULL)
		return 0;
	bad = tps_cache_check(tier->cache, text, size) +
		tp_tier_check(&tier->core, NULL, NULL);
	for (uint32_t frame = 0; frame < tier->cache->capacity; frame++)
	{
		bool		holds = tp_is_resident(&tier->core.pool, frame);

		dirty += tier->dirty[frame];
		bad += (tier->dirty[frame] && !holds) ||
			(tier->queue.room > 0 && tier->queue.waiting[frame] && !holds) ||
			tier->stale[frame];
	}
	for (uint32_t i = 0; i < tier->queue.n; i++)
		bad += !tier->queue.waiting[tier->queue.frames[i]];
	return bad + (dirty != tier->dirty_count);
}

/* ---- classes of reads ---- */

struct tps_classes
{
	tp_streams	reads;
};

tps_classes *
tps_classes_new(void)
{
	return calloc(1, sizeof(tps_classes));
}

void
tps_classes_free(tps_classes *classes)
{
	free(classes);
}

void
tps_classes_feed(tps_classes *classes, const tps_events *events,
				 uint8_t *sequential)
{
	for (size_t i = 0; i < events->n; i++)
		sequential[i] = event_kind(events, i) == EVENT_READ &&
			tp_streams_access(&classes->reads, cache_page(events->page[i]));
}
