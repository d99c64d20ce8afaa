/*
 * tier_recorded.c
 *	  A server's SSD tier again, from its recording.  See ssd.h.
 *
 * The order of operations is that of the server
 * (postgres/src/backend/storage/ssdtier/directory.c), so the policy sees the same
 * calls.  What it cannot know is in the recording: when a copy could be read,
 * which pages lost their places for another reason than the policy's choice, when
 * those of a dropped relation left theirs, which frames a search found in use, and
 * the numbers of relations.  The budget goes by the events' times, as the server's
 * does while it records.
 */
#include <stdlib.h>
#include <string.h>

#include "tier.h"

/* ---- what the server calls it ---- */

/* In place of the number, with the trace's, as long as that is not known. */
#define UNKNOWN_RELATION UINT64_C(0x80000000)

static uint64_t
number_of(const tps_tier *tier, uint64_t page)
{
	const uint64_t *number = pagemap_find(&tier->numbers, page >> 32);

	return number == NULL ? page >> 32 | UNKNOWN_RELATION : *number;
}

/* The policy's tables hash the server's numbers, which main forks have. */
static uint64_t
server_page(const tps_tier *tier, uint64_t page)
{
	return number_of(tier, page) << 32 | (uint32_t) page;
}

/* False when memory ran out. */
static bool
name_relation(tps_tier *tier, uint64_t page, uint64_t number)
{
	if (!pagemap_reserve(&tier->numbers))
		return false;
	*pagemap_at(&tier->numbers, page >> 32) = number;
	return true;
}

/* ---- pages to be kept ---- */

static int64_t
pages_of(const tps_tier *tier, uint64_t relation)
{
	int64_t		pages = 0;

	for (uint32_t frame = 0; frame < tier->cache->capacity; frame++)
		pages += cache_has(tier->cache, frame) &&
			tp_is_resident(&tier->core.pool, frame) &&
			tier->following[frame] != FOLLOWED_GONE &&
			relation_of(tier, cache_page_of(tier->cache, frame)) == relation;
	return pages;
}

/* A read says what its relation's pages are.  False when memory ran out. */
static bool
follow_choice(tps_tier *tier, uint64_t page, bool kept)
{
	uint64_t	relation = relation_of(tier, page);
	uint64_t   *choice;

	if (!kept && tier->choices.count == 0)
		return true;
	if (!pagemap_reserve(&tier->choices))
		return false;
	choice = pagemap_at(&tier->choices, relation);
	if (*choice == PAGEMAP_ABSENT)
		*choice = TPS_AUTO;
	if ((*choice == TPS_KEEP) == kept)
		return true;
	*choice = kept ? TPS_KEEP : TPS_AUTO;
	tp_tier_keep(&tier->core, kept ? pages_of(tier, relation) :
				 -pages_of(tier, relation));
	return true;
}

/* ---- what it follows ---- */

bool
tps_tier_follow(tps_tier *tier, uint32_t extents)
{
	tps_cache  *cache = tier->cache;

	tier->following = calloc(cache->capacity, 1);
	tier->busy = calloc(cache->capacity, sizeof(*tier->busy));
	if (tier->following == NULL || tier->busy == NULL ||
		!cache_keep_extents_in(cache, extents, 0, 0))
		return false;
	tier->core.extents = cache->extents;
	return tier_let_choose(tier) && pagemap_init(&tier->numbers);
}

void
tps_tier_set_savings(tps_tier *tier, double random, double sequential,
					 bool useful)
{
	tier->useful = useful;
	tier->core.extents->settings.random_saving = random;
	tier->core.extents->settings.sequential_saving = sequential;
}

void
tps_tier_set_budget(tps_tier *tier, double write_budget,
					double write_budget_per_day)
{
	tp_budget_set(&tier->budget, write_budget, write_budget_per_day);
}

void
tps_tier_set_purse(tps_tier *tier, double purse, uint32_t day_writes,
				   uint64_t time)
{
	tier->first_purse = purse;
	tier->day_writes = day_writes;
	tier->purse_time = time;
}

static void
follow_time(tps_tier *tier, uint64_t now)
{
	if (tier->budget.now == 0)
	{
		tp_budget_advance(&tier->budget, tier->purse_time != 0 ? tier->purse_time : now);
		tier->budget.purse = tier->first_purse;
		tp_budget_restore(&tier->budget, tier->budget.hour, tier->day_writes);
	}
	tp_budget_advance(&tier->budget, now);
}

/* ---- frames ---- */

static uint32_t
find(const tps_tier *tier, uint64_t page)
{
	return pagetable_find(&tier->cache->table, page);
}

/* The page, which leaves the frame, cannot be found any more. */
static void
hide(tps_tier *tier, uint32_t frame)
{
	if (tier->following[frame] == FOLLOWED_GONE)
		tier->cache->hidden--;
	else
		pagetable_remove(&tier->cache->table, cache_page_of(tier->cache, frame));
}

static void
lose(tps_tier *tier, uint32_t frame)
{
	hide(tier, frame);
	tp_tier_forget(&tier->core, frame);
	tier->following[frame] = 0;
}

/*
 * All pages of the relation are lost, and stay in their frames until those are freed.
 * When it comes back it has another number.  A recording without numbers does not
 * say when frames are freed, either: at once.
 */
static bool
lose_relation(tps_tier *tier, uint64_t page)
{
	tps_cache  *cache = tier->cache;
	uint64_t	relation = number_of(tier, page);
	uint64_t	unknown = page >> 32 | UNKNOWN_RELATION;
	bool		kept = tier_choice(tier, server_page(tier, page)) == TPS_KEEP;

	if (kept && relation != unknown)
		tp_tier_keep(&tier->core, -pages_of(tier, relation));
	for (uint32_t frame = 0; frame < cache->capacity; frame++)
		if (cache_has(cache, frame) && tp_is_resident(&tier->core.pool, frame) &&
			relation_of(tier, cache_page_of(cache, frame)) == relation)
		{
			if (relation == unknown)
				lose(tier, frame);
			else
			{
				hide(tier, frame);
				cache->hidden++;
				tier->following[frame] = FOLLOWED_GONE;
			}
		}
	return relation == unknown || name_relation(tier, page, unknown);
}

/* The page is on its way to the frame. */
static void
queue(tps_tier *tier, uint32_t frame)
{
	tier->following[frame] = (unsigned char) (FOLLOWED_QUEUED + tier->second);
}

/*
 * The longest that a page is on its way, in seconds.  What has not come by then will
 * not: the server had refused the page, having spent a little more or less.
 */
#define LONGEST_WAY 60

/* Not if its page is on its way, or the server found it in use. */
static bool
is_usable(void *arg, uint32_t frame)
{
	const tps_tier *tier = arg;
	uint32_t	queued = tier->following[frame];

	return tier->busy[frame] != tier->read &&
		(queued < FOLLOWED_QUEUED ||
		 (tier->second + FOLLOWED_SECONDS - (queued - FOLLOWED_QUEUED)) %
		 FOLLOWED_SECONDS > LONGEST_WAY);
}

/*
 * The events behind that of a read say which frames its searches found in use, before
 * anything else happens to the tier.
 */
static void
note_busy(tps_tier *tier, const tps_events *events, size_t read)
{
	tier->read++;
	for (size_t i = read + 1; i < events->n; i++)
		switch (event_kind(events, i))
		{
			case EVENT_SSD_BUSY:
				if (events->count != NULL && events->count[i] < tier->cache->capacity)
					tier->busy[events->count[i]] = tier->read;
				break;
			case EVENT_PHYSICAL_READ:
			case EVENT_PHYSICAL_WRITE:
			case EVENT_SSD_HAS:
			case EVENT_SSD_FREED:
				return;
			default:
				break;
		}
}

void
tps_tier_empty(tps_tier *tier)
{
	for (uint32_t frame = 0; frame < tier->cache->capacity; frame++)
		if (cache_has(tier->cache, frame) &&
			tp_is_resident(&tier->core.pool, frame))
			lose(tier, frame);
}

void
tps_tier_resize(tps_tier *tier, uint32_t frames)
{
	const tp_pool *pool = &tier->core.pool;

	while (pool->header->frames < frames)
		tps_cache_join(tier->cache, pool->header->frames);
	while (pool->header->frames > frames)
	{
		uint32_t	last = pool->header->frames - 1;

		if (tp_is_resident(pool, last))
			lose(tier, last);
		tps_cache_leave(tier->cache, last);
	}
}

/* ---- reads ---- */

/* Are all pages in consecutive frames, and can be read from there? */
static bool
is_hit(const tps_tier *tier, uint64_t page, uint32_t count)
{
	uint32_t	first = find(tier, page);

	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t	frame = find(tier, page + i);

		if (frame == TP_NONE || frame != first + i ||
			tier->following[frame] != FOLLOWED_VALID)
			return false;
	}
	return true;
}

/* The page comes in from the disk. */
static void
miss(tps_tier *tier, uint64_t page, bool kept, const tp_access *access)
{
	tp_access	offer = *access;
	uint32_t	frame;

	tp_tier_read(&tier->core, cache_page(page), TP_NONE, access);
	if (find(tier, page) != TP_NONE || !tier->useful)
		return;
	if (kept)
		offer.flags |= TP_KEEP;
	frame = tp_tier_offer(&tier->core, cache_page(page), is_usable, tier, &offer);
	if (!tp_is_frame(frame))
	{
		tier->totals.refused++;
		return;
	}
	if (tp_is_resident(&tier->core.pool, frame))
	{
		hide(tier, frame);
		tp_tier_evict(&tier->core, frame, &offer);
	}
	pagetable_enter(&tier->cache->table, page, frame);
	queue(tier, frame);
	tp_tier_admit(&tier->core, frame, cache_page(page), &offer);
}

static void
physical_read(tps_tier *tier, uint64_t page, uint32_t count, unsigned flags,
			  const tp_access *access)
{
	bool		asked = (flags & EVENT_SSD_ASKED) != 0;
	bool		hit = asked && is_hit(tier, page, count);

	for (uint32_t i = 0; i < count; i++)
	{
		tier_count_read(tier, tp_streams_access(&tier->reads, cache_page(page + i)),
						hit);
		if (hit)
			tp_tier_read(&tier->core, cache_page(page + i), find(tier, page + i),
						 access);
		else if (asked && (flags & EVENT_SSD_UNWANTED) == 0)
			miss(tier, page + i, (flags & EVENT_SSD_KEPT) != 0, access);
	}
	if (flags & EVENT_HIT)
		tier->totals.recorded_hits += count;
}

/* ---- other events ---- */

static void
physical_write(tps_tier *tier, uint64_t page, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t	frame = find(tier, page + i);

		tier_disk_write(tier, page + i);
		if (frame == TP_NONE || !tp_tier_renews(&tier->core, frame))
			continue;			/* a copy that is not renewed is lost next */
		tp_tier_written(&tier->core, frame);
		queue(tier, frame);
	}
}

static void
lost(tps_tier *tier, uint64_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t	frame = find(tier, first + i);

		if (frame == TP_NONE)
			continue;
		tier->totals.dropped += tier->following[frame] >= FOLLOWED_QUEUED;
		lose(tier, frame);
	}
}

/* A page that was lost has left its frame. */
static void
freed(tps_tier *tier, uint32_t frame)
{
	if (frame < tier->cache->capacity && cache_has(tier->cache, frame) &&
		tp_is_resident(&tier->core.pool, frame) &&
		tier->following[frame] == FOLLOWED_GONE)
		lose(tier, frame);
}

bool
tps_tier_feed_recorded(tps_tier *tier, const tps_events *events)
{
	for (size_t i = 0; i < events->n; i++)
	{
		uint64_t	page = server_page(tier, events->page[i]);
		uint32_t	count = events->count == NULL ? 0 : events->count[i];
		unsigned	flags = events->flags == NULL ? 0 : events->flags[i];
		tp_access	access = event_access(events, i);
		uint32_t	frame;

		tier->second = (uint32_t) (access.now / 1000000 % FOLLOWED_SECONDS);
		if (tp_budget_is_limited(&tier->budget))
			follow_time(tier, access.now);
		switch (event_kind(events, i))
		{
			case EVENT_PHYSICAL_READ:
				if ((flags & EVENT_SSD_ASKED) &&
					!follow_choice(tier, page, (flags & EVENT_SSD_KEPT) != 0))
					return false;
				note_busy(tier, events, i);
				physical_read(tier, page, count, flags, &access);
				break;
			case EVENT_PHYSICAL_WRITE:
				physical_write(tier, page, count);
				break;
			case EVENT_SSD_HAS:
				frame = find(tier, page);
				if (frame != TP_NONE)
					tier->following[frame] = FOLLOWED_VALID;
				tier_count_written(tier, 1);
				break;
			case EVENT_SSD_LOST:
				if (count == 0 && !lose_relation(tier, events->page[i]))
					return false;
				lost(tier, page, count);
				break;
			case EVENT_SSD_FREED:
				freed(tier, count);
				break;
			case EVENT_SSD_RELATION:
				if (!name_relation(tier, events->page[i], count))
					return false;
				break;
		}
	}
	return true;
}
