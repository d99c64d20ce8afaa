/*
 * queue_pair.h
 *	  Searches of two queues that take turns to give a victim.
 *
 * For CAR, S3-FIFO and Clock2Q+: each step of an eviction decides anew from
 * which of two linked lists it takes the next page, and that page is evicted,
 * or moved to the head of one of them.
 */
#ifndef TIDEPOOL_QUEUE_PAIR_H
#define TIDEPOOL_QUEUE_PAIR_H

#include "tidepool/pool.h"

/* Of each list, for one search: has a search of it found nothing? */
typedef struct queue_pair_search
{
	bool		exhausted[TP_MAX_LISTS];
} queue_pair_search;

/*
 * A usable page of the first list; of the second one if there is none, or
 * TP_NONE.  An exhausted list is not searched again.
 */
static inline uint32_t
queue_pair_next(const tp_pool *pool, queue_pair_search *search, unsigned first,
				unsigned second, tp_usable usable, void *arg)
{
	const unsigned queues[] = {first, second};

	for (int i = 0; i < 2; i++)
	{
		bool	   *exhausted = &search->exhausted[queues[i]];
		uint32_t	frame = *exhausted ? TP_NONE :
			tp_list_search(pool, queues[i], usable, arg);

		if (frame != TP_NONE)
			return frame;
		*exhausted = true;
	}
	return TP_NONE;
}

/* Move a page that was found to the head of a list. */
static inline void
queue_pair_move(const tp_pool *pool, queue_pair_search *search, unsigned list,
				uint32_t frame)
{
	tp_list_move_head(pool, list, frame);
	search->exhausted[list] = false;
}

#endif							/* TIDEPOOL_QUEUE_PAIR_H */
