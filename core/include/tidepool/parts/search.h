/*
 * search.h
 *	  Searches of linked lists for a frame that can be evicted.
 */
#ifndef TIDEPOOL_SEARCH_H
#define TIDEPOOL_SEARCH_H

#include "tidepool/parts/list.h"

/* The end of tp_list_search: frames are passed, or the tail is unusable. */
uint32_t	tp_list_search_past(const tp_pool *pool, unsigned list,
								bool use_hand, tp_usable usable, void *arg);

/* The end of tp_lists_search: the first list has no usable frame. */
uint32_t	tp_lists_search_past(const tp_pool *pool, const uint8_t *lists,
								 uint32_t count, tp_usable usable, void *arg);

/*
 * Frames that a search finds unusable tend to stay so: a scan that reads ahead
 * keeps dozens of pages pinned.  Each linked list therefore remembers them as
 * passed: the frames from the tail up to passed->last.  A search looks at two
 * of these only, the tail and the one under a hand that goes round the others.
 *
 * A search of a list looks at
 *	1. the tail, if it is passed;
 *	2. the frame under the hand, if more than the tail is passed.  A hand that
 *	   is nowhere or at the tail starts at the frame before the tail.  From an
 *	   unusable frame the hand moves one towards the head, and from
 *	   passed->last to nowhere;
 *	3. the frames that are not passed, from the tail's side.  Each unusable one
 *	   becomes passed.
 * The first usable frame ends the search.  As long as every frame is usable,
 * that is the tail.
 *
 * A frame that leaves the list is no longer passed, and a hand there moves on
 * as in step 2.  For a frame that comes back see tp_list_put_back.
 *
 * Costs: two looks, and one for each frame that becomes passed, which a frame
 * does once after it came to the list or moved to its head.  A passed frame
 * that becomes usable is found after at most as many searches as there are
 * passed frames.
 */
static inline uint32_t
tp_list_search_by(const tp_pool *pool, unsigned list, bool use_hand,
				  tp_usable usable, void *arg)
{
	uint32_t	tail = tp_list_of(pool, list)->tail;

	/* mostly no frame is passed, and the first is usable */
	if (usable == NULL || tail == TP_NONE ||
		(pool->header->passed[list].last == TP_NONE && usable(arg, tail)))
		return tail;
	return tp_list_search_past(pool, list, use_hand, usable, arg);
}

/* Search a list.  Returns a usable frame, or TP_NONE. */
static inline uint32_t
tp_list_search(const tp_pool *pool, unsigned list, tp_usable usable, void *arg)
{
	return tp_list_search_by(pool, list, true, usable, arg);
}

/*
 * The same without step 2, for lists that give up their tails even while these
 * are pinned, so that no frame stays passed for long.
 */
static inline uint32_t
tp_list_search_tail(const tp_pool *pool, unsigned list, tp_usable usable,
					void *arg)
{
	return tp_list_search_by(pool, list, false, usable, arg);
}

/*
 * The first usable frame from the tail of a linked list, passed or not, or
 * TP_NONE.  Costs a look at every frame behind it.
 */
static inline uint32_t
tp_list_usable_tail(const tp_pool *pool, unsigned list, tp_usable usable,
					void *arg)
{
	uint32_t	frame = tp_list_of(pool, list)->tail;

	if (usable != NULL)
		while (frame != TP_NONE && !usable(arg, frame))
			frame = pool->nodes[frame].prev;
	return frame;
}

/* The same for several linked lists: of the first that has a usable frame. */
uint32_t	tp_lists_usable_tail(const tp_pool *pool, const uint8_t *lists,
								 uint32_t count, tp_usable usable, void *arg);

/*
 * Search several linked lists in turn.  If no search finds a frame, all frames
 * on the lists are passed, and tp_lists_usable_tail looks at each of them.
 * TP_NONE if none is usable.
 *
 * Costs: at most two looks for each list and two for each frame on them.
 */
static inline uint32_t
tp_lists_search(const tp_pool *pool, const uint8_t *lists, uint32_t count,
				tp_usable usable, void *arg)
{
	uint32_t	frame = tp_list_search(pool, lists[0], usable, arg);

	return frame != TP_NONE ? frame :
		tp_lists_search_past(pool, lists, count, usable, arg);
}

/*
 * Policies whose order is not that of a linked list move unusable frames to
 * the head of a list of their own, PASSED here, and begin each search with
 * looks at its tail, at the frames that were looked at longest ago:
 *
 *	  looks = tp_looks_again(pool, PASSED);
 *	  while ((frame = tp_list_look_again(pool, PASSED, &looks, usable, arg)) !=
 *			 TP_NONE)
 *	      move the frame from the list back into the order
 *
 * Costs: at most TP_LOOKS_AGAIN looks a search.  A frame that becomes usable
 * is found after at most as many searches as there are frames on the list.
 * Misses grow by up to 1.1 % with one look, by 0.5 % with eight
 * (bench/constants.py).
 */
#define TP_LOOKS_AGAIN 2

static inline uint32_t
tp_looks_again(const tp_pool *pool, unsigned list)
{
	uint32_t	count = tp_list_of(pool, list)->count;

	return count < TP_LOOKS_AGAIN ? count : TP_LOOKS_AGAIN;
}

/*
 * The tail, if it is usable.  An unusable tail goes to the head, and the next
 * one is looked at, until *looks are used up: TP_NONE.
 */
static inline uint32_t
tp_list_look_again(const tp_pool *pool, unsigned list, uint32_t *looks,
				   tp_usable usable, void *arg)
{
	for (; *looks > 0; --*looks)
	{
		uint32_t	frame = tp_list_of(pool, list)->tail;

		if (usable == NULL || usable(arg, frame))
		{
			--*looks;
			return frame;
		}
		tp_list_move_head(pool, list, frame);
	}
	return TP_NONE;
}

#endif							/* TIDEPOOL_SEARCH_H */
