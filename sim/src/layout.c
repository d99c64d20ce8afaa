/*
 * layout.c
 *	  Replay of a trace into several pools: see sim.h and layout.h.
 */
#include <string.h>

#include "layout.h"
#include "memory.h"
#include "report.h"

/* ---- set-up ---- */

static tp_frame_needs
needs_of(const tps_pool_spec *pools, uint32_t n, bool any_policy)
{
	tp_frame_needs needs = {0, 0, 0};

	for (uint32_t i = 0; i < n; i++)
		if (pools[i].policy != NULL)
			needs = tp_needs_of_both(needs, tp_policy_needs(pools[i].policy,
															pools[i].params));
	for (uint32_t i = 0; any_policy && tp_policies[i] != NULL; i++)
		needs = tp_needs_of_both(needs, tp_policy_needs(tp_policies[i], NULL));
	return needs;
}

static bool
make_arrays(tps_layout *layout, tp_frame_needs needs)
{
	size_t		size = tp_arrays_size(layout->capacity, TPS_POOLS, needs);

	layout->memory = size == 0 ? NULL : memory_of_cache(size);
	if (layout->memory == NULL)
		return false;
	memset(layout->memory, 0, size);
	layout->arrays = tp_arrays_place(layout->capacity, TPS_POOLS, needs,
									 layout->memory);
	tp_arrays_init(&layout->arrays);
	return true;
}

/* Give the pool `count` frames from first on. */
static void
join_frames(tps_layout *layout, uint32_t number, uint32_t first, uint32_t count)
{
	for (uint32_t frame = first; frame < first + count; frame++)
	{
		layout->pool_of[frame] = (uint8_t) number;
		tp_join(&layout->pools[number]->cache->pool, frame);
	}
}

/*
 * The frames are in a server's order: DEFAULT has the first, pool 1 the last,
 * pool 2 those before it, and so on.
 */
static bool
begin_pools(tps_layout *layout, const tps_pool_spec *pools, uint32_t n)
{
	uint32_t	first = layout->capacity;

	for (uint32_t i = 0; i < n; i++)
		if (pools[i].policy != NULL &&
			!layout_begin_pool(layout, i, pools[i].policy, pools[i].params))
			return false;
	for (uint32_t i = 1; i < n; i++)
		if (pools[i].policy != NULL)
		{
			first -= pools[i].frames;
			join_frames(layout, i, first, pools[i].frames);
		}
	join_frames(layout, DEFAULT_POOL, 0, first);
	return true;
}

tps_layout *
tps_layout_new(const tps_pool_spec *pools, uint32_t n, bool any_policy,
			   uint64_t seed, const tps_options *options)
{
	uint64_t	frames = 0;
	tps_layout *layout;

	for (uint32_t i = 0; i < n; i++)
		if (pools[i].policy != NULL)
			frames += pools[i].frames;
	if (n > TPS_POOLS || frames > TP_MAX_FRAMES)
		return NULL;
	layout = calloc(1, sizeof(*layout));
	if (layout == NULL)
		return NULL;
	layout->capacity = (uint32_t) frames;
	layout->seed = seed;
	layout->options.warmup = options->warmup;
	layout->options.batch = options->batch;
	layout->options.as_recorded = options->as_recorded;
	layout->options.scans = options->scans;
	layout->pool_of = calloc(layout->capacity + 1, 1);
	layout->whole = tps_replay_new(NULL, options);
	if (layout->pool_of == NULL || layout->whole == NULL ||
		!pagetable_init(&layout->table, layout->capacity) ||
		!make_arrays(layout, needs_of(pools, n, any_policy)) ||
		!begin_pools(layout, pools, n))
	{
		tps_layout_free(layout);
		return NULL;
	}
	return layout;
}

void
tps_layout_free(tps_layout *layout)
{
	if (layout == NULL)
		return;
	for (uint32_t i = 0; i < TPS_POOLS; i++)
		tps_replay_free(layout->pools[i]);
	tps_replay_free(layout->whole);
	pagetable_free(&layout->table);
	free(layout->pool_of);
	free(layout->former);
	free(layout->memory);
	free(layout);
}

/* ---- references ---- */

/* The pool that the page of this reference comes into. */
static tps_replay *
pool_for(const tps_layout *layout, const tps_events *events, size_t i)
{
	unsigned	number = events->pool == NULL ? DEFAULT_POOL : events->pool[i];

	return number < TPS_POOLS && layout->pools[number] != NULL ?
		layout->pools[number] : layout->pools[DEFAULT_POOL];
}

/* The end of the warm-up clears a pool's counters before it counts more. */
static bool
come_to(const tps_layout *layout, tps_replay *pool)
{
	return tally_come_to(&pool->tally, layout->whole->tally.position);
}

/*
 * The page of this reference comes into this pool or, if that has no frame for
 * it, into DEFAULT.  Returns the pool.  Clears *ok if memory ran out.
 */
static tps_replay *
load_into(tps_layout *layout, tps_replay *pool, const tps_events *events,
		  size_t i, bool *ok)
{
	tp_access	access = access_of(pool, events, i);
	tps_replay *fallback = layout->pools[DEFAULT_POOL];

	*ok &= come_to(layout, pool);
	if (place(pool, events->page[i], &access, ok))
		return pool;
	if (pool != fallback)
	{
		*ok &= come_to(layout, fallback);
		access = access_of(fallback, events, i);
		if (place(fallback, events->page[i], &access, ok))
			return fallback;
	}
	if (access.flags & TP_WRITE)
		write_below(fallback, events->page[i]);
	return fallback;
}

/* Count a reference of this pool.  False when memory ran out. */
static bool
count(tps_layout *layout, tps_replay *pool, const tps_events *events, size_t i,
	  bool miss)
{
	tally	   *whole = &layout->whole->tally;

	pool->tally.totals.requests++;
	pool->tally.totals.misses += miss;
	return (!whole->detailed || tally_detail(whole, i, events->page[i], miss)) &&
		tally_run(whole, events, i, i + 1, miss);
}

static bool
reference(tps_layout *layout, const tps_events *events, size_t i)
{
	uint32_t	frame = pagetable_find(&layout->table, events->page[i]);
	tps_replay *pool;
	tp_access	access;
	bool		ok = true;

	if (frame == TP_NONE)
		pool = load_into(layout, pool_for(layout, events, i), events, i, &ok);
	else
	{
		pool = layout->pools[layout->pool_of[frame]];
		ok = come_to(layout, pool);
		access = access_of(pool, events, i);
		ok &= hit(pool, frame, events->page[i], &access);
		if (layout->options.as_recorded)
			ok &= give_up_unneeded(pool_for(layout, events, i), &access);
	}
	return count(layout, pool, events, i, frame == TP_NONE) && ok;
}

/* ---- other events ---- */

/* What concerns one page: to the pool that it is in, if it is resident. */
static bool
page_event(tps_layout *layout, const tps_events *events, size_t i)
{
	uint32_t	frame = pagetable_find(&layout->table, events->page[i]);

	return frame == TP_NONE ||
		replay_event(layout->pools[layout->pool_of[frame]], events, i);
}

/* What concerns a relation: to all pools. */
static bool
relation_event(tps_layout *layout, const tps_events *events, size_t i)
{
	for (uint32_t number = 0; number < TPS_POOLS; number++)
		if (layout->pools[number] != NULL &&
			!(come_to(layout, layout->pools[number]) &&
			  replay_event(layout->pools[number], events, i)))
			return false;
	return true;
}

static void
moved_event(tps_layout *layout, const tps_events *events, size_t i)
{
	const tp_access access = event_access(events, i);
	uint32_t	from = events->pool == NULL ? DEFAULT_POOL : events->pool[i];
	uint32_t	to = events->count == NULL ? DEFAULT_POOL : events->count[i];

	(void) layout_move_frame(layout, from, to, &access);
}

/*
 * A resident page goes to another pool; what it counted as stays.  Ignores pages
 * that are not resident.  False when memory ran out.
 */
static bool
page_moved_event(tps_layout *layout, const tps_events *events, size_t i)
{
	uint32_t	frame = pagetable_find(&layout->table, events->page[i]);
	tps_replay *giver;
	tps_replay *taker = pool_for(layout, events, i);
	const tp_access access = event_access(events, i);
	bool		ok = true;

	if (frame == TP_NONE || layout->pools[layout->pool_of[frame]] == taker)
		return true;
	giver = layout->pools[layout->pool_of[frame]];
	replay_commit_admissions(giver);
	if (!tp_is_resident(&giver->cache->pool, frame))
		return true;			/* it is leaving */
	if (giver->dirty[frame])
		write_below(giver, events->page[i]);
	giver->dirty[frame] = 0;
	pinned_remove(&giver->pinned, frame);
	tps_cache_forget(giver->cache, frame);
	(void) place(taker, events->page[i], &access, &ok);
	return ok;
}

/* What concerns a pool's algorithm, as recorded; otherwise each may be meant. */
static bool
algorithm_event(tps_layout *layout, const tps_events *events, size_t i)
{
	tps_replay *pool = pool_for(layout, events, i);

	if (!layout->options.as_recorded)
		return relation_event(layout, events, i);
	return come_to(layout, pool) && replay_event(pool, events, i);
}

/* To all pools, also those that have yet to begin.  False when memory ran out. */
static bool
process_event(tps_layout *layout, const tps_events *events, size_t i)
{
	if (layout->former == NULL)
		layout->former = calloc(BACKEND_SLOTS, sizeof(*layout->former));
	if (layout->former == NULL)
		return false;
	layout->former[event_access(events, i).backend % BACKEND_SLOTS] =
		events->count == NULL ? 0 : events->count[i];
	return relation_event(layout, events, i);
}

static bool
other_event(tps_layout *layout, const tps_events *events, size_t i)
{
	switch (event_kind(events, i))
	{
		case EVENT_PINNED:
		case EVENT_UNPINNED:
		case EVENT_DIRTIED:
		case EVENT_WRITTEN:
			return page_event(layout, events, i);
		case EVENT_MOVED:
			moved_event(layout, events, i);
			return true;
		case EVENT_PAGE_MOVED:
			return page_moved_event(layout, events, i);
		case EVENT_REPORTED:
		case EVENT_CHOSEN:
		case EVENT_GIVEN_UP:
		case EVENT_LEFT:
			return algorithm_event(layout, events, i);
		case EVENT_PROCESS:
			return process_event(layout, events, i);
		case EVENT_PHYSICAL_READ:
		case EVENT_PHYSICAL_WRITE:
		case EVENT_SSD_HAS:
		case EVENT_SSD_LOST:
		case EVENT_SSD:
		case EVENT_SSD_BUSY:
		case EVENT_SSD_FREED:
		case EVENT_SSD_RELATION:
			return true;
		default:
			return relation_event(layout, events, i);
	}
}

bool
tps_layout_feed(tps_layout *layout, const tps_events *events)
{
	if (!tally_feed(&layout->whole->tally, events->n))
		return false;
	for (size_t i = 0; i < events->n; i++)
	{
		if (i + EVENTS_AHEAD < events->n)
			__builtin_prefetch(&layout->table.slots[
													pagetable_home(&layout->table,
																   events->page[i + EVENTS_AHEAD])]);
		if (!(event_is_reference(events, i) ? reference(layout, events, i) :
			  other_event(layout, events, i)))
			return false;
	}
	return true;
}

/* ---- results ---- */

bool
tps_layout_end(tps_layout *layout, uint64_t references)
{
	for (uint32_t number = 0; number < TPS_POOLS; number++)
		if (layout->pools[number] != NULL)
			(void) tally_come_to(&layout->pools[number]->tally, references);
	return tps_replay_end(layout->whole, references);
}

const tps_replay *
tps_layout_whole(const tps_layout *layout)
{
	return layout->whole;
}

const tps_replay *
tps_layout_pool(const tps_layout *layout, uint32_t number)
{
	return number < TPS_POOLS ? layout->pools[number] : NULL;
}

uint32_t
tps_layout_frames(const tps_layout *layout, uint32_t number)
{
	return number < TPS_POOLS && layout->pools[number] != NULL ?
		layout->pools[number]->cache->pool.header->frames : 0;
}

size_t
tps_layout_describe(const tps_layout *layout, uint32_t number, char *text,
					size_t size)
{
	return tps_cache_describe(layout->pools[number]->cache, text, size);
}

/* Does the page table's entry agree with the frame? */
static bool
is_right(const tps_layout *layout, const pagetable_slot *slot)
{
	const tps_replay *pool = layout->pools[layout->pool_of[slot->frame]];

	return pool != NULL && cache_has(pool->cache, slot->frame) &&
		(tp_is_claimed(&pool->cache->pool, slot->frame) ||
		 (tp_is_resident(&pool->cache->pool, slot->frame) &&
		  cache_page_of(pool->cache, slot->frame) == slot->page));
}

int
tps_layout_check(const tps_layout *layout, char *text, size_t size)
{
	report_text report = report_to(text, size);
	uint32_t	entries = 0;
	uint32_t	frames = 0;
	uint32_t	pages = 0;
	int			bad = 0;

	for (uint32_t number = 0; number < TPS_POOLS; number++)
		if (layout->pools[number] != NULL)
		{
			const tp_pool *pool = &layout->pools[number]->cache->pool;

			bad += tp_check(pool, NULL, NULL, write_report, &report);
			frames += pool->header->frames;
			pages += tp_resident(pool) + pool->header->claimed;
		}
	for (size_t i = 0; i <= layout->table.mask; i++)
		if (layout->table.slots[i].frame != TP_NONE)
		{
			entries++;
			bad += tp_expect(is_right(layout, &layout->table.slots[i]),
							 "page table names a frame that does not hold the page",
							 layout->table.slots[i].frame, write_report, &report);
		}
	bad += tp_expect(frames == layout->capacity, "frame in no pool", frames,
					 write_report, &report);
	bad += tp_expect(entries == pages,
					 "resident page missing in the page table", entries,
					 write_report, &report);
	return bad;
}
