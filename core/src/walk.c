/*
 * walk.c
 *	  Walks over the resident frames, for the policies' coldest.
 */
#include "tidepool/pool.h"

uint32_t
tp_coldest_lists(const tp_pool *pool, tp_cursor *cursor, const uint8_t *order,
				 uint32_t count)
{
	while (cursor->stage < count)
	{
		uint32_t	frame = cursor->started ?
			pool->nodes[cursor->position].prev :
			tp_list_of(pool, order[cursor->stage])->tail;

		if (frame != TP_NONE)
		{
			cursor->started = true;
			cursor->position = frame;
			return frame;
		}
		cursor->started = false;
		cursor->stage++;
	}
	return TP_NONE;
}

uint32_t
tp_coldest_bands(const tp_pool *pool, tp_cursor *cursor, uint32_t bands,
				 uint32_t start,
				 uint32_t (*band_of) (const tp_pool *pool, uint32_t frame))
{
	uint32_t	n = pool->header->frames;

	for (; cursor->stage < bands; cursor->stage++, cursor->position = 0)
		while (cursor->position < n)
		{
			uint64_t	i = (uint64_t) start + cursor->position++;
			uint32_t	frame = pool->members[i % n];

			if (tp_is_resident(pool, frame) &&
				band_of(pool, frame) == cursor->stage)
				return frame;
		}
	return TP_NONE;
}
