/*
 * search.h
 *	  Searches of linked lists for a frame that can be evicted.
 */
#ifndef TIDEPOOL_SEARCH_H
#define TIDEPOOL_SEARCH_H

#include "tidepool/parts/list.h"

/*
 * What a search finds unusable often stays so for long: a scan that reads
 * ahead keeps dozens of pages pinned.  So that not every search meets them all
 * again, each linked list has passed frames: those from the tail up to
 * passed->last.  A hand goes round among them, the tail excepted.
 *
 * A search of a list looks at
 *	1. the tail, if it is passed;
 *	2. the frame under the hand, if more than the tail is passed.  A hand that
 *	   is nowhere, or at the tail, is first put to the frame before the tail.
 *	   If the frame is unusable the hand goes on by one towards the head, from
 *	   passed->last to nowhere;
 *	3. the frames that are not passed, from the tail's side on.  Each unusable
 *	   one is passed from now on.
 * The first usable frame ends the search.  As long as every frame is usable,
 * that is the tail.
 *
 * A frame that leaves the list is no longer passed.  If the hand was at it,
 * the hand goes on as in step 2.  For one that comes back see tp_list_put_back.
 *
 * COSTS.  Two looks, and one for each frame that becomes passed: so a frame is
 * met once after it came to the list or was moved to its head.  After that it
 * is looked at again when it is the tail or the hand comes to it, which takes
 * at most as many searches as there are passed frames.
 */
uint32_t	tp_list_search_past(const tp_pool *pool, unsigned list,
								bool use_hand, tp_usable usable, void *arg);

/* Search a list: a usable frame, or TP_NONE. */
static inline uint32_t
tp_list_search(const tp_pool *pool, unsigned list, tp_usable usable, void *arg)
{
	return usable == NULL ? tp_list_of(pool, list)->tail :
		tp_list_search_past(pool, list, true, usable, arg);
}

/*
 * The same without step 2, for lists whose tail is soon another one whatever
 * is pinned.
 */
static inline uint32_t
tp_list_search_tail(const tp_pool *pool, unsigned list, tp_usable usable,
					void *arg)
{
	return usable == NULL ? tp_list_of(pool, list)->tail :
		tp_list_search_past(pool, list, false, usable, arg);
}

/*
 * First usable frame from the tail of a linked list, or TP_NONE, passed or not.
 * Costs a look at each frame behind it.
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

/* The same of several linked lists: of the first that has a usable frame. */
uint32_t	tp_lists_usable_tail(const tp_pool *pool, const uint8_t *lists,
								 uint32_t count, tp_usable usable, void *arg);

/*
 * Search several linked lists in turn.  If no search gives a frame, all frames
 * on the lists are passed, and those that have become usable must be looked
 * for one by one: tp_lists_usable_tail.  TP_NONE if none has.
 *
 * COSTS.  At most two looks for each list and two for each frame on them.
 */
uint32_t	tp_lists_search_past(const tp_pool *pool, const uint8_t *lists,
								 uint32_t count, tp_usable usable, void *arg);

static inline uint32_t
tp_lists_search(const tp_pool *pool, const uint8_t *lists, uint32_t count,
				tp_usable usable, void *arg)
{
	uint32_t	tail = tp_list_of(pool, lists[0])->tail;

	return usable == NULL && tail != TP_NONE ? tail :
		tp_lists_search_past(pool, lists, count, usable, arg);
}

/*
 * Policies whose order is not that of a linked list put what a search finds
 * unusable at the head of a list of its own, and begin each search with looks
 * at those of its frames that were looked at longest ago:
 *
 *	  looks = tp_looks_again(pool, PASSED);
 *	  while ((frame = tp_list_look_again(pool, PASSED, &looks, usable, arg)) !=
 *			 TP_NONE)
 *	      take the frame off the list, and put it back into the order
 *
 * Costs: at most TP_LOOKS_AGAIN looks a search.  A frame is looked at again
 * after at most as many searches as there are frames on the list.
 */
#define TP_LOOKS_AGAIN 2

static inline uint32_t
tp_looks_again(const tp_pool *pool, unsigned list)
{
	uint32_t	count = tp_list_of(pool, list)->count;

	return count < TP_LOOKS_AGAIN ? count : TP_LOOKS_AGAIN;
}

/*
 * The tail, if it is usable; else the tail goes to the head, and likewise with
 * the next one, as long as *looks are left.  TP_NONE: none are.
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
