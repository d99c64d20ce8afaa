/*
 * walk.c
 *	  Walks over the resident frames, for the policies' coldest and upcoming.
 */
#include "tidepool/assertion.h"
#include "tidepool/frame.h"
#include "tidepool/parts/list.h"
#include "tidepool/parts/walk.h"

/* Is the walk's next page still in its place in the list? */
static bool
in_place(const tp_pool *pool, const tp_cursor *cursor, unsigned list,
		 bool from_head)
{
	const tp_node *node;

	if (cursor->position == TP_NONE)
		return true;
	node = &pool->nodes[cursor->position];
	return tp_walk_holds(pool, cursor) && node->list == list &&
		(from_head ? node->prev : node->next) == cursor->last;
}

uint32_t
tp_walk_list(const tp_pool *pool, tp_cursor *cursor, unsigned list,
			 bool from_head)
{
	const tp_list *l = tp_list_of(pool, list);
	const tp_node *node;

	if (!cursor->started)
	{
		cursor->started = true;
		cursor->left = l->count;
		tp_walk_to(pool, cursor, from_head ? l->head : l->tail);
	}
	else if (!in_place(pool, cursor, list, from_head))
		tp_walk_to(pool, cursor, from_head ? l->head : l->tail);
	if (cursor->position == TP_NONE || cursor->left == 0 ||
		tp_cursor_full(cursor) || !tp_cursor_look(cursor))
		return TP_NONE;
	cursor->left--;
	cursor->last = cursor->position;
	node = &pool->nodes[cursor->last];
	tp_walk_to(pool, cursor, from_head ? node->next : node->prev);
	return cursor->last;
}

uint32_t
tp_coldest_lists(const tp_pool *pool, tp_cursor *cursor, const uint8_t *order,
				 uint32_t count)
{
	for (; cursor->stage < count; tp_cursor_end_stage(cursor))
	{
		uint32_t	frame = tp_walk_list(pool, cursor, order[cursor->stage],
										 false);

		cursor->taken += frame != TP_NONE;
		if (frame != TP_NONE || tp_cursor_paused(cursor))
			return frame;
	}
	return TP_NONE;
}

uint32_t
tp_coldest_in_order(const tp_pool *pool, tp_cursor *cursor)
{
	uint8_t		order[TP_MAX_LISTS];
	uint32_t	count = 0;

	while (pool->policy->lists[count].name != NULL)
	{
		TP_ASSERT(pool->policy->lists[count].order == TP_LINKED);
		count++;
		order[count - 1] = (uint8_t) count;
	}
	return tp_coldest_lists(pool, cursor, order, count);
}

uint32_t
tp_upcoming_lists(const tp_pool *pool, tp_cursor *cursor, const uint8_t *order,
				  uint32_t count)
{
	while (cursor->stage < count)
	{
		uint32_t	frame = tp_coldest_lists(pool, cursor, order,
											 cursor->stage + 1);

		if (frame != TP_NONE || tp_cursor_paused(cursor))
			return frame;
		cursor->taken = 0;
	}
	return TP_NONE;
}

uint32_t
tp_coldest_bands(const tp_pool *pool, tp_cursor *cursor, uint32_t bands,
				 uint32_t start,
				 uint32_t (*band_of) (const tp_pool *pool, uint32_t frame))
{
	uint32_t	n = pool->header->frames;

	for (; cursor->stage < bands; tp_cursor_end_stage(cursor))
		while (cursor->position < n)
		{
			uint64_t	i = (uint64_t) start + cursor->position;
			uint32_t	frame = tp_member(pool, (uint32_t) (i % n));

			if (!tp_cursor_look(cursor))
				return TP_NONE;
			cursor->position++;
			if (tp_is_resident(pool, frame) &&
				band_of(pool, frame) == cursor->stage)
				return frame;
		}
	return TP_NONE;
}

/* ---- sweeps ---- */

/* The share of all pages that a sweep yields as cold. */
static double
cold_share(uint32_t sample)
{
	double		share = 2.3 / sample + 1.0 / 16;

	return share < 1 ? share : 1;
}

/* Set the threshold below which that share of the counted pages lies. */
static void
learn(tp_lookahead *ahead, double share, uint32_t bands)
{
	double		missing = share * ahead->counted;
	uint32_t	band = 0;

	while (band < bands - 1 && ahead->bands[band] <= missing)
		missing -= ahead->bands[band++];
	ahead->threshold = band;
	ahead->portion = missing < ahead->bands[band] ?
		missing / ahead->bands[band] : 1;
	ahead->learned = true;
	ahead->counted = 0;
	for (band = 0; band < bands; band++)
		ahead->bands[band] = 0;
}

static bool
is_cold(tp_lookahead *ahead, uint32_t band)
{
	if (!ahead->learned || band > ahead->threshold)
		return false;
	if (band < ahead->threshold)
		return true;
	ahead->credit += ahead->portion;
	if (ahead->credit < 1)
		return false;
	ahead->credit -= 1;
	return true;
}

uint32_t
tp_upcoming_sweep(const tp_pool *pool, tp_lookahead *ahead, uint32_t sample,
				  uint32_t bands,
				  uint32_t (*band_of) (const tp_pool *pool, uint32_t frame))
{
	tp_cursor  *cursor = &ahead->cursor;
	uint32_t	n = __atomic_load_n(&pool->header->frames, __ATOMIC_RELAXED);

	while (cursor->looks < n && !tp_cursor_full(cursor) &&
		   tp_cursor_look(cursor))
	{
		uint32_t	frame;
		uint32_t	band;
		bool		counts;
		bool		is_wanted;

		if (ahead->next >= n)
			ahead->next = 0;
		frame = tp_member(pool, ahead->next++);
		if (!tp_is_resident(pool, frame))
			continue;
		counts = ahead->passed++ % TP_COUNT_EVERY == 0 || !ahead->learned;
		is_wanted = ahead->wanted == NULL || ahead->wanted(ahead->arg, frame);
		if (!counts && !is_wanted)
			continue;
		band = band_of(pool, frame);
		if (counts)
		{
			ahead->bands[band]++;
			if (++ahead->counted >= (n < TP_COUNTED ? n : TP_COUNTED))
				learn(ahead, cold_share(sample), bands);
		}
		if (is_wanted && is_cold(ahead, band))
		{
			cursor->taken++;
			return frame;
		}
	}
	return TP_NONE;
}
