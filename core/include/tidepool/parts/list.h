/*
 * list.h
 *	  Linked lists of frames, from head (most recent) to tail.
 *
 * Lists are known by their numbers (tp_policy.lists) and linked through the
 * nodes.  Take a node off its list before putting it on another one.
 */
#ifndef TIDEPOOL_LIST_H
#define TIDEPOOL_LIST_H

#include "tidepool/assertion.h"

static inline tp_list *
tp_list_of(const tp_pool *pool, unsigned list)
{
	return &pool->header->lists[list];
}

/* Is the list with this number a ring (ring.h)? */
static inline bool
tp_list_is_ring(const tp_policy *policy, unsigned list)
{
	return list != TP_FREE && policy->lists[list - 1].order == TP_RING;
}

/* Put frame at the head (most recent end) of a linked list. */
static inline void
tp_list_push_head(const tp_pool *pool, unsigned list, uint32_t frame)
{
	tp_list    *l = tp_list_of(pool, list);
	tp_node    *node = &pool->nodes[frame];

	TP_ASSERT(!tp_list_is_ring(pool->policy, list));
	TP_ASSERT(l->count < pool->header->frames);
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
 * Put frame at the tail (least recent end) of a linked list.  No frame on the
 * list is passed any more (search.h).
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
 * A frame is about to leave a list: it is no longer passed, and a hand there
 * moves on.  Inline, though seldom needed: a call would make every hit save
 * registers.
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

	TP_ASSERT(node->list < TP_CLAIMED && l->count > 0);
	TP_ASSERT((node->prev == TP_NONE ? l->head :
			   pool->nodes[node->prev].next) == frame);
	TP_ASSERT((node->next == TP_NONE ? l->tail :
			   pool->nodes[node->next].prev) == frame);
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
 * Move frame to the head of list, from whichever linked list it is on.  If it
 * is there already nothing changes; a passed frame stays passed.
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
 * Put frame back onto a linked list that it was taken off: between its old
 * neighbours if they are neighbours now, otherwise at the tail.  Between two
 * passed frames it is passed; at the tail see tp_list_push_tail.
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

#endif							/* TIDEPOOL_LIST_H */
