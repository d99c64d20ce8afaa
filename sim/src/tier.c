/*
 * tier.c
 *	  A tier on an SSD, fed with a cache's reads and writes.  See ssd.h; the
 *	  order of operations is that of core/include/tidepool/tier/tier.h.
 *
 * Write-back: a dirty page goes to the SSD if it is there or gets a frame, and
 * is dirty there.  The cache waits for the write, because there is no other
 * copy of the page.  When more than dirty_limit of the frames are dirty, all
 * dirty pages go to the disk, in the order of their numbers.  A dirty victim
 * goes alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		!tier_queue_init(&tier->queue, options->write_buffer, cache->capacity,
						 options->ssd.random_write) ||
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
	tp_budget_init(&tier->budget);
	tp_budget_set(&tier->budget, options->write_budget,
				  options->write_budget_per_day);
	tier->core.budget = &tier->budget;
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
	free(tier->following);
	free(tier->busy);
	pagemap_free(&tier->choices);
	pagemap_free(&tier->numbers);
	tier_queue_free(&tier->queue);
	free(tier);
}

/* ---- what relations want ---- */

static bool
is_kept(void *arg, uint32_t frame)
{
	const tps_tier *tier = arg;

	if (tier->following != NULL && tier->following[frame] == FOLLOWED_GONE)
		return false;
	return tier_choice(tier, cache_page_of(tier->cache, frame)) == TPS_KEEP;
}

bool
tier_let_choose(tps_tier *tier)
{
	tier->core.kept = &tier->kept;
	tier->core.is_kept = is_kept;
	tier->core.is_kept_arg = tier;
	return tier->choices.slots != NULL || pagemap_init(&tier->choices);
}

bool
tps_tier_choose(tps_tier *tier, uint64_t relation, tps_choice choice)
{
	if (!tier_let_choose(tier) || !pagemap_reserve(&tier->choices))
		return false;
	*pagemap_at(&tier->choices, relation) = choice;
	return true;
}

void
tps_tier_set_keep_share(tps_tier *tier, double share)
{
	tier->kept.share = share;
}

/* ---- writing to the SSD ---- */

/* Write a page to the SSD that must not be lost, so the cache waits for it. */
static void
ssd_write_now(tps_tier *tier)
{
	tier->totals.ssd_writes++;
	tier->totals.ssd_write_time += tier->options.ssd.random_write;
	tier_spend(tier, tier->options.ssd.random_write);
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
	tier_spend(tier, tier->options.ssd.random_read);
	tier_disk_write(tier, page);
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

/* Drop the frame's copy. */
static void
forget_copy(tps_tier *tier, uint32_t frame)
{
	tier_queue_cancel(&tier->queue, frame);
	set_dirty(tier, frame, false);
	pagetable_remove(&tier->cache->table, cache_page_of(tier->cache, frame));
	tp_tier_forget(&tier->core, frame);
}

/* Write the frame's page to the SSD: through the queue, if there is one. */
static void
write_to_ssd(tps_tier *tier, uint32_t frame)
{
	if (tier->queue.room == 0)
		tier_count_written(tier, 1);
	else if (tier_queue_add(&tier->queue, frame, tier->clock))
	{
		tier->totals.dropped++;
		forget_copy(tier, tier_queue_drop(&tier->queue, &tier->core));
	}
}

/* Make room on the SSD for the page: its frame, or TP_NONE. */
static uint32_t
admit(tps_tier *tier, uint64_t page, const tp_access *access)
{
	uint64_t	dear = tier->counters.too_dear;
	uint32_t	frame = tp_tier_offer(&tier->core, cache_page(page), NULL, NULL,
									  access);

	if (!tp_is_frame(frame))
	{
		dear = tier->counters.too_dear - dear;
		tier->totals.too_dear += dear;
		tier->totals.refused += dear == 0;
		return TP_NONE;
	}
	if (tp_is_resident(&tier->core.pool, frame))
	{
		if (tier->dirty[frame])
		{
			set_dirty(tier, frame, false);
			flush_page(tier, cache_page_of(tier->cache, frame));
		}
		tier_queue_cancel(&tier->queue, frame);
		pagetable_remove(&tier->cache->table, cache_page_of(tier->cache, frame));
		tp_tier_evict(&tier->core, frame, access);
	}
	pagetable_enter(&tier->cache->table, page, frame);
	tp_tier_admit(&tier->core, frame, cache_page(page), access);
	return frame;
}

static void
offer_page(tps_tier *tier, uint64_t page, const tp_access *access)
{
	tps_choice	choice = tier_choice(tier, page);
	tp_access	offer = *access;
	uint32_t	frame;

	if (choice == TPS_NONE)
		return;
	if (choice == TPS_KEEP)
		offer.flags |= TP_KEEP;
	frame = admit(tier, page, &offer);
	if (frame != TP_NONE)
		write_to_ssd(tier, frame);
}

static void
read_page(tps_tier *tier, uint64_t page, const tp_access *access)
{
	bool		sequential = tp_streams_access(&tier->reads, cache_page(page));
	uint64_t	before = tier->core.extents->sequential;
	uint32_t	frame;
	bool		from_ssd;

	if (tier_choice(tier, page) == TPS_NONE)
	{
		tier_count_read(tier, sequential, false);
		return;
	}
	frame = pagetable_find(&tier->cache->table, page);
	from_ssd = tp_tier_read(&tier->core, cache_page(page), frame, access);
	tier->totals.misjudged += sequential !=
		(tier->core.extents->sequential > before);
	tier_count_read(tier, sequential, from_ssd);
	if (!from_ssd && !tier->options.at_eviction)
		offer_page(tier, page, access);
}

/* A clean page has left the cache. */
static void
take_evicted(tps_tier *tier, uint64_t page, const tp_access *access)
{
	if (tier->options.at_eviction &&
		pagetable_find(&tier->cache->table, page) == TP_NONE)
		offer_page(tier, page, access);
}

static void
write_page(tps_tier *tier, uint64_t page, const tp_access *access)
{
	uint32_t	frame = pagetable_find(&tier->cache->table, page);

	if (!tier->options.write_back)
	{
		tier_disk_write(tier, page);
		if (frame == TP_NONE)
		{
			if (tier->options.at_eviction)
				offer_page(tier, page, access);
			return;
		}
		if (tp_tier_renews(&tier->core, frame))
		{
			tp_tier_written(&tier->core, frame);
			write_to_ssd(tier, frame);
		}
		else
		{
			tier->totals.too_dear++;
			forget_copy(tier, frame);
		}
		return;
	}
	if (frame == TP_NONE)
		frame = admit(tier, page, access);
	if (frame == TP_NONE)
	{
		tier_disk_write(tier, page);
		return;
	}
	tier_queue_cancel(&tier->queue, frame);
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
			forget_copy(tier, frame);
	}
	for (uint32_t frame = 0; count == 0 && frame < cache->capacity; frame++)
		if (tp_is_resident(&tier->core.pool, frame))
		{
			uint64_t	page = cache_page_of(cache, frame);

			if (page >> 32 == first >> 32 && page >= first)
				forget_copy(tier, frame);
		}
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

		if (tier->cache == NULL)
		{
			tier_offline_event(tier, events, i, next_sequential);
			continue;
		}
		if (events->flags != NULL)
			access.flags = events->flags[i] & EVENT_ACCESS_FLAGS;
		tp_budget_advance(&tier->budget, (uint64_t) tier->clock);
		switch (event_kind(events, i))
		{
			case EVENT_READ:
				read_page(tier, page, &access);
				break;
			case EVENT_WRITE:
				write_page(tier, page, &access);
				break;
			case EVENT_EVICTED:
				take_evicted(tier, page, &access);
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
