/*
 * list.h
 *	  Index-linked lists of frames.
 *
 * All functions work on list numbers of the pool (policy.h).  A node is put
 * on a list only after it has been taken off the one it was on.
 *
 * Two kinds: linked lists, doubly linked through the nodes, ordered from
 * head (most recent) to tail; and rings, where membership is the tag in the
 * node alone and the order is that of the pool's members.  Rings cost no
 * link updates and suit clocks and samples; the links of their nodes are the
 * policy's own.
 */
#ifndef TIDEPOOL_LIST_H
#define TIDEPOOL_LIST_H

#include "tidepool/policy.h"

static inline tp_list *
tp_list_of(const tp_pool *pool, unsigned list)
{
	return &pool->header->lists[list];
}

/* Put frame at the head (most recent end) of a linked list. */
static inline void
tp_list_push_head(const tp_pool *pool, unsigned list, uint32_t frame)
{
	tp_list    *l = tp_list_of(pool, list);
	tp_node    *node = &pool->nodes[frame];

	node->list = (uint8_t) list;
	node->prev = TP_NONE;
	node->next = l->head;
	if (l->head != TP_NONE)
		pool->nodes[l->head].prev = frame;
	else
		l->tail = frame;
	l->head = frame;
	l->count++;
}

/*
 * Put frame at the tail (least recent end) of a linked list.  Nothing on the
 * list is passed any more.
 */
static inline void
tp_list_push_tail(const tp_pool *pool, unsigned list, uint32_t frame)
{
	tp_list    *l = tp_list_of(pool, list);
	tp_node    *node = &pool->nodes[frame];
	const tp_passed none = {TP_NONE, TP_NONE};

	pool->header->passed[list] = none;
	node->list = (uint8_t) list;
	node->next = TP_NONE;
	node->prev = l->tail;
	if (l->tail != TP_NONE)
		pool->nodes[l->tail].next = frame;
	else
		l->head = frame;
	l->tail = frame;
	l->count++;
}

/*
 * A frame is about to leave a list.  Inline, though seldom needed: a call would
 * cost each hit the registers to be saved for it.
 */
static inline void
tp_passed_remove(tp_passed *passed, const tp_node *node, uint32_t frame)
{
	if (__builtin_expect(passed->last == TP_NONE, 1))
		return;
	if (passed->hand == frame)
		passed->hand = passed->last == frame ? TP_NONE : node->prev;
	if (passed->last == frame)
		passed->last = node->next;
}

/* Take frame off the linked list it is on. */
static inline void
tp_list_remove(const tp_pool *pool, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];
	tp_list    *l = tp_list_of(pool, node->list);

	tp_passed_remove(&pool->header->passed[node->list], node, frame);
	if (node->prev != TP_NONE)
		pool->nodes[node->prev].next = node->next;
	else
		l->head = node->next;
	if (node->next != TP_NONE)
		pool->nodes[node->next].prev = node->prev;
	else
		l->tail = node->prev;
	l->count--;
}

/*
 * Move frame to the head of list, from whichever linked list it is on.  Changes
 * nothing, also not whether it is passed, if it is there already.
 */
static inline void
tp_list_move_head(const tp_pool *pool, unsigned list, uint32_t frame)
{
	if (pool->header->lists[list].head == frame)
		return;
	tp_list_remove(pool, frame);
	tp_list_push_head(pool, list, frame);
}

/*
 * Put frame back onto a linked list that it was taken off: between the two it
 * was between if they are neighbours now, otherwise at the tail.  Between two
 * passed frames it is passed; at the tail, nothing on the list is any more.
 */
static inline void
tp_list_put_back(const tp_pool *pool, unsigned list, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];
	tp_node    *next;

	if (node->next == TP_NONE)
	{
		tp_list_push_tail(pool, list, frame);
		return;
	}
	next = &pool->nodes[node->next];
	if (next->list != list || next->prev != node->prev)
	{
		tp_list_push_tail(pool, list, frame);
		return;
	}
	node->list = (uint8_t) list;
	if (node->prev == TP_NONE)
		tp_list_of(pool, list)->head = frame;
	else
		pool->nodes[node->prev].next = frame;
	next->prev = frame;
	tp_list_of(pool, list)->count++;
}

/* ---- searches for a victim ---- */

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

/* ---- rings ---- */

/* In a shared pool rings are not counted. */
static inline void
tp_ring_add(const tp_pool *pool, unsigned list, uint32_t frame)
{
	__atomic_store_n(&pool->nodes[frame].list, (uint8_t) list, __ATOMIC_RELAXED);
	if (!pool->header->shared)
		tp_list_of(pool, list)->count++;
}

static inline void
tp_ring_remove(const tp_pool *pool, uint32_t frame)
{
	if (!pool->header->shared)
		tp_list_of(pool, pool->nodes[frame].list)->count--;
}

/* Is the list with this number a ring?  (See the names in tp_policy.) */
static inline bool
tp_list_is_ring(const tp_policy *policy, unsigned list)
{
	return list != TP_FREE && policy->lists[list - 1][0] == '~';
}

/* ---- walks for coldest and upcoming ---- */

/* The walk is to look at this resident frame next, if it is not TP_NONE. */
static inline void
tp_walk_to(const tp_pool *pool, tp_cursor *cursor, uint32_t frame)
{
	cursor->position = frame;
	if (frame != TP_NONE)
		cursor->generation = pool->nodes[frame].generation;
}

/* Has that frame still got the page that it had? */
static inline bool
tp_walk_holds(const tp_pool *pool, const tp_cursor *cursor)
{
	return cursor->position == TP_NONE ||
		pool->nodes[cursor->position].generation == cursor->generation;
}

/*
 * The next frame of a linked list, from its tail or its head; TP_NONE at the
 * end, after the cursor's share (of frames that the caller has counted as
 * taken), or at a pause.  If the list has changed where the walk was, it
 * begins again; it looks at no more frames than the list had at first.
 */
uint32_t	tp_walk_list(const tp_pool *pool, tp_cursor *cursor, unsigned list,
						 bool from_head);

/*
 * The resident frames of several linked lists, tail to head, list after list
 * in the order given.  At the end cursor->stage is count, and the walk may go
 * on with tp_coldest_bands.
 */
uint32_t	tp_coldest_lists(const tp_pool *pool, tp_cursor *cursor,
							 const uint8_t *order, uint32_t count);

/* The same for lists that take turns: the cursor's share is each one's. */
uint32_t	tp_upcoming_lists(const tp_pool *pool, tp_cursor *cursor,
							  const uint8_t *order, uint32_t count);

/*
 * The resident frames in bands, those from cursor->stage on, and within a
 * band in the order of members from index start on (wrapping).  band_of says
 * which band a resident frame is in, below bands.  A whole walk costs
 * bands * frames looks.
 */
uint32_t	tp_coldest_bands(const tp_pool *pool, tp_cursor *cursor,
							 uint32_t bands, uint32_t start,
							 uint32_t (*band_of) (const tp_pool *pool,
												  uint32_t frame));

/*
 * For the upcoming of a policy that evicts the worst of a random sample: a
 * sweep over the members, which goes on in the next round where it has
 * stopped in this one.  It finds the pages in the coldest bands, so many that
 * nine in ten victims are among them, and some more for the time until it
 * comes back: 2.3 / sample + 1/16 of all.
 *
 * To learn which bands those are, it counts the bands of all pages at first,
 * then of every TP_COUNT_EVERY'th, and begins anew after TP_COUNTED pages (or
 * as many as there are frames).  Bands below the threshold are cold, and so
 * much of the threshold's own as is missing, spread evenly.  A round is at
 * most once over all members.
 *
 * band_of may be called without the pool's lock and for a frame that has just
 * been freed; bands is at most TP_MAX_BANDS.
 */
#define TP_COUNT_EVERY 7
#define TP_COUNTED 256

uint32_t	tp_upcoming_sweep(const tp_pool *pool, tp_lookahead *ahead,
							  uint32_t sample, uint32_t bands,
							  uint32_t (*band_of) (const tp_pool *pool,
												   uint32_t frame));

#endif							/* TIDEPOOL_LIST_H */
