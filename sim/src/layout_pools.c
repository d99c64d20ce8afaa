/*
 * layout_pools.c
 *	  The pools of a layout: they begin, exchange frames, change their policy
 *	  and end.
 */
#include <string.h>

#include "layout.h"

/* ---- beginning ---- */

static bool
has_room_for(const tps_layout *layout, const tp_policy *policy,
			 const double *params)
{
	return tp_needs_suffice(layout->arrays.needs,
							tp_policy_needs(policy, params));
}

/* A cache without frames that is a view of the layout's memory. */
static tps_cache *
make_cache(tps_layout *layout, uint32_t number, const tp_policy *policy,
		   const double *params)
{
	tps_cache  *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->capacity = layout->capacity;
	cache->seed = layout->seed;
	memcpy(cache->params, params, sizeof(cache->params));
	cache->table = layout->table;
	cache->pool = tp_arrays_pool(&layout->arrays, number, policy, cache->params);
	cache->pool.services = &cache->services;
	tp_pool_init(&cache->pool, cache->params, cache->seed);
	return cache;
}

bool
layout_begin_pool(tps_layout *layout, uint32_t number, const tp_policy *policy,
				  const double *params)
{
	tps_cache  *cache = make_cache(layout, number, policy, params);
	tps_replay *pool = cache == NULL ? NULL :
		replay_of_pool(cache, number, &layout->options);

	layout->pools[number] = pool;
	if (pool == NULL)
		return false;
	for (uint32_t i = 0; i < BACKEND_SLOTS && pool->own_choosers && layout->former != NULL; i++)
		pool->backends[i].former = layout->former[i];
	return true;
}

/* ---- moving frames ---- */

/* The coldest page that is not pinned, or TP_NONE. */
static uint32_t
coldest(const tps_replay *pool)
{
	tp_cursor	cursor = {0};
	uint32_t	frame;

	do
		frame = tp_coldest(&pool->cache->pool, &cursor);
	while (frame != TP_NONE && pool->pinned.count > 0 && pool->pinned.is[frame]);
	return frame;
}

/*
 * The frame that the pool gives up: as for a page that comes in (place), and
 * the coldest of a policy that never evicts.
 */
static uint32_t
frame_to_leave(tps_replay *pool, const tp_access *access)
{
	tps_cache  *cache = pool->cache;
	bool		ok = true;
	uint32_t	frame;

	if (pool->queues_admissions && cache->pool.header->lists[TP_FREE].count == 0)
		backend_commit(backend_of(pool->backends, access->backend), cache,
					   access);
	if (!backend_acts(pool, access->backend))
		return TP_NONE;
	frame = victim_for(pool, NO_PAGE, access, &ok);
	if (frame == TP_NONE && pool->queues_admissions)
	{
		replay_commit_admissions(pool);
		frame = victim_for(pool, NO_PAGE, access, &ok);
	}
	return tp_is_frame(frame) ? frame : coldest(pool);
}

bool
layout_move_frame(tps_layout *layout, uint32_t from, uint32_t to,
				  const tp_access *access)
{
	tps_replay *giver = from < TPS_POOLS ? layout->pools[from] : NULL;
	tps_replay *taker = to < TPS_POOLS ? layout->pools[to] : NULL;
	tp_pool    *pool;
	uint32_t	frame;

	if (giver == NULL || taker == NULL || giver == taker ||
		giver->cache->pool.header->frames == 0)
		return false;
	pool = &giver->cache->pool;
	frame = frame_to_leave(giver, access);
	if (frame == TP_NONE)
		return false;
	if (tp_is_resident(pool, frame))
	{
		(void) tally_come_to(&giver->tally, layout->whole->tally.position);
		replay_evict(giver, frame, access);
	}
	tp_leave(pool, frame);
	layout->pool_of[frame] = (uint8_t) to;
	pool = &taker->cache->pool;
	/* in a server's order: named pools take first what joined first */
	if (to != DEFAULT_POOL)
		tp_join(pool, frame);
	else
	{
		tp_join_claimed(pool, frame);
		tp_release(pool, frame);
	}
	return true;
}

uint32_t
tps_layout_move(tps_layout *layout, uint32_t from, uint32_t to, uint32_t count,
				uint64_t now)
{
	const tp_access access = {.now = now};
	uint32_t	moved = 0;

	while (moved < count && layout_move_frame(layout, from, to, &access))
		moved++;
	return moved;
}

/* ---- another policy ---- */

/* What a pool's frames hold when its policy changes. */
typedef struct contents
{
	uint32_t	frames;
	uint32_t   *order;			/* [frames]; the old policy's, coldest first */
	uint32_t	free_frames;
	uint32_t   *free_order;		/* [frames]; the next to be taken first */
	uint64_t   *page;			/* [capacity] */
	bool	   *held;			/* [capacity]; the frame holds its page */
	bool	   *ordered;		/* [capacity] */
} contents;

static void
contents_free(contents *c)
{
	free(c->order);
	free(c->free_order);
	free(c->page);
	free(c->held);
	free(c->ordered);
}

static bool
contents_init(contents *c, const tps_layout *layout, const tp_pool *pool)
{
	memset(c, 0, sizeof(*c));
	c->order = calloc(pool->header->frames + 1, sizeof(*c->order));
	c->free_order = calloc(pool->header->frames + 1, sizeof(*c->free_order));
	c->page = calloc(layout->capacity + 1, sizeof(*c->page));
	c->held = calloc(layout->capacity + 1, sizeof(*c->held));
	c->ordered = calloc(layout->capacity + 1, sizeof(*c->ordered));
	return c->order != NULL && c->free_order != NULL && c->page != NULL &&
		c->held != NULL && c->ordered != NULL;
}

static void
append(contents *c, uint32_t frame)
{
	if (!c->ordered[frame])
		c->order[c->frames++] = frame;
	c->ordered[frame] = true;
}

/* Frames of which the old policy does not know, or that are free, come last. */
static void
read_contents(contents *c, const tps_layout *layout, uint32_t number)
{
	const tps_cache *cache = layout->pools[number]->cache;
	const tp_pool *pool = &cache->pool;
	tp_cursor	cursor = {0};
	uint32_t	frame;

	for (size_t i = 0; i <= layout->table.mask; i++)
	{
		const pagetable_slot *slot = &layout->table.slots[i];

		if (slot->frame == TP_NONE || layout->pool_of[slot->frame] != number)
			continue;
		c->held[slot->frame] = true;
		c->page[slot->frame] = slot->page;
	}
	while ((frame = tp_coldest(pool, &cursor)) != TP_NONE)
		append(c, frame);
	for (frame = 0; frame < layout->capacity; frame++)
		if (cache_has(cache, frame))
			append(c, frame);
	for (frame = pool->header->lists[TP_FREE].head; frame != TP_NONE;
		 frame = pool->nodes[frame].next)
		c->free_order[c->free_frames++] = frame;
}

/*
 * Begin the new policy with these pages.  The hotter half is referenced once
 * more, so that a policy that tells pages seen once from others has some of
 * either.
 */
static void
seed(const tps_layout *layout, uint32_t number, const contents *c,
	 const tp_access *access)
{
	const tp_pool *pool = &layout->pools[number]->cache->pool;

	for (uint32_t frame = 0; frame < layout->capacity; frame++)
		if (c->ordered[frame])
			tp_join_claimed(pool, frame);
	for (uint32_t i = c->free_frames; i > 0; i--)
		tp_release(pool, c->free_order[i - 1]);
	for (uint32_t i = 0; i < c->frames; i++)
		if (c->held[c->order[i]])
			tp_admit(pool, c->order[i], cache_page(c->page[c->order[i]]),
					 access);
	for (uint32_t i = c->frames / 2; i < c->frames; i++)
		if (tp_is_resident(pool, c->order[i]))
			tp_hit(pool, c->order[i], access);
}

/* What is not the policy's: counters, dirty and pinned pages. */
static void
take_over(tps_replay *new, tps_replay *old)
{
	tally		counters = new->tally;
	unsigned char *dirty = new->dirty;
	pinned_frames pinned = new->pinned;

	new->tally = old->tally;
	new->dirty = old->dirty;
	new->pinned = old->pinned;
	old->tally = counters;
	old->dirty = dirty;
	old->pinned = pinned;
}

static bool
change_policy(tps_layout *layout, uint32_t number, const tp_policy *policy,
			  const double *params, uint64_t now)
{
	const tp_access access = {.now = now};
	tps_replay *old = layout->pools[number];
	contents	c;
	bool		ok = contents_init(&c, layout, &old->cache->pool);

	if (ok)
	{
		read_contents(&c, layout, number);
		tp_disband(&old->cache->pool);
		ok = layout_begin_pool(layout, number, policy, params);
	}
	if (ok)
	{
		take_over(layout->pools[number], old);
		seed(layout, number, &c, &access);
		tps_replay_free(old);
	}
	contents_free(&c);
	return ok;
}

bool
tps_layout_define(tps_layout *layout, uint32_t number, const tp_policy *policy,
				  const double *params, uint64_t now)
{
	if (number >= TPS_POOLS || !has_room_for(layout, policy, params))
		return false;
	return layout->pools[number] == NULL ?
		layout_begin_pool(layout, number, policy, params) :
		change_policy(layout, number, policy, params, now);
}

void
tps_layout_drop(tps_layout *layout, uint32_t number, uint64_t now)
{
	if (number == DEFAULT_POOL || number >= TPS_POOLS ||
		layout->pools[number] == NULL)
		return;
	(void) tps_layout_move(layout, number, DEFAULT_POOL,
						   tps_layout_frames(layout, number), now);
	tps_replay_free(layout->pools[number]);
	layout->pools[number] = NULL;
}
