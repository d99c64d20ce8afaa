/*
 * search.c
 *	  Searches of linked lists past unusable frames.  See search.h.
 */
#include "tidepool/parts/search.h"

uint32_t
tp_list_search_past(const tp_pool *pool, unsigned list, bool use_hand,
					tp_usable usable, void *arg)
{
	tp_passed  *passed = &pool->header->passed[list];
	uint32_t	frame = tp_list_of(pool, list)->tail;

	if (passed->last == TP_NONE)
		passed->last = frame;
	else if (usable(arg, frame))
		return frame;
	else if (use_hand && passed->last != frame)
	{
		if (passed->hand == TP_NONE || passed->hand == frame)
			passed->hand = pool->nodes[frame].prev;
		if (usable(arg, passed->hand))
			return passed->hand;
		passed->hand = passed->hand == passed->last ? TP_NONE :
			pool->nodes[passed->hand].prev;
	}
	frame = pool->nodes[passed->last].prev;
	while (frame != TP_NONE && !usable(arg, frame))
	{
		passed->last = frame;
		frame = pool->nodes[frame].prev;
	}
	return frame;
}

uint32_t
tp_lists_usable_tail(const tp_pool *pool, const uint8_t *lists, uint32_t count,
					 tp_usable usable, void *arg)
{
	uint32_t	frame = TP_NONE;

	for (uint32_t i = 0; i < count && frame == TP_NONE; i++)
		frame = tp_list_usable_tail(pool, lists[i], usable, arg);
	return frame;
}

uint32_t
tp_lists_search_past(const tp_pool *pool, const uint8_t *lists, uint32_t count,
					 tp_usable usable, void *arg)
{
	uint32_t	frame = TP_NONE;

	for (uint32_t i = 1; i < count && frame == TP_NONE; i++)
		frame = tp_list_search(pool, lists[i], usable, arg);
	return frame != TP_NONE ? frame :
		tp_lists_usable_tail(pool, lists, count, usable, arg);
}
