/*
 * heap.h
 *	  A heap of some of a pool's frames, the least at the top.
 *
 * The heap has no memory of its own: its frames are the first of the pool's
 * members.  Cell i is member i, and a frame's cell is node->slot.  So a frame
 * that moves in the heap changes its place among the members, and so does the
 * member whose place a pushed frame takes.  A policy passes the number of
 * frames on the heap, which is the count of one of its lists.
 *
 * Frames come and go behind the heap: a frame that joins is the last member,
 * and one that leaves is not on the heap, nor is the last member, which takes
 * its place.
 *
 * comes_first(pool, a, b) is the policy's strict order of frames.  It is a
 * constant in each policy, so the compiler specialises the heap for each.
 *
 * STALE KEYS.  Where keys only grow, as they do when pages are referenced, a
 * hit may leave its frame in its cell under the old key, which is too low.
 * comes_first compares these stale keys; heap_least updates the key of the top
 * and moves that frame down, until the top's key is current.  No other frame's
 * true key is below its stale one, so that top is the least of all.
 *
 * Costs: O(log n) for any operation at worst.  The members are in no order
 * that means anything: a walk over them that pauses may miss frames or return
 * some twice, and hands of clocks do not go with a heap.
 * Benefits: no memory; heap_raised is O(1) on average, since most frames are
 * leaves, and with stale keys hits leave the heap alone.
 */
#ifndef TIDEPOOL_HEAP_H
#define TIDEPOOL_HEAP_H

#include "tidepool/pool.h"

/*
 * Cells below a cell.  They are neighbours in members, but their frames lie in
 * cache lines all over the pool, so a level costs two loads in a row whatever
 * its width: member, frame.  Four below a cell halve the levels of two, and
 * their loads overlap.
 */
#define HEAP_CHILDREN 4

typedef bool (*heap_order) (const tp_pool *pool, uint32_t a, uint32_t b);

/* Brings a frame's key up to date.  Returns false if it was. */
typedef bool (*heap_update) (const tp_pool *pool, uint32_t frame);

/* The frame in a cell; the least is in cell 0. */
static inline uint32_t
heap_at(const tp_pool *pool, uint32_t cell)
{
	return tp_member(pool, cell);
}

/* The cell of a frame on the heap. */
static inline uint32_t
heap_cell(const tp_pool *pool, uint32_t frame)
{
	return pool->nodes[frame].slot;
}

/* Put a frame in this cell, or above it as long as it comes first. */
static inline void
heap_up(const tp_pool *pool, uint32_t cell, uint32_t frame,
		heap_order comes_first)
{
	while (cell > 0)
	{
		uint32_t	above = (cell - 1) / HEAP_CHILDREN;
		uint32_t	parent = heap_at(pool, above);

		if (!comes_first(pool, frame, parent))
			break;
		tp_place_member(pool, cell, parent);
		cell = above;
	}
	tp_place_member(pool, cell, frame);
}

/* Put a frame in this cell, or below it as long as others come first. */
static inline void
heap_down(const tp_pool *pool, uint32_t count, uint32_t cell, uint32_t frame,
		  heap_order comes_first)
{
	for (;;)
	{
		uint64_t	below = HEAP_CHILDREN * (uint64_t) cell + 1;
		uint64_t	end = below + HEAP_CHILDREN < count ?
			below + HEAP_CHILDREN : count;
		uint32_t	least = frame;
		uint32_t	place = cell;

		for (uint64_t i = below; i < end; i++)
			__builtin_prefetch(tp_extra(pool, heap_at(pool, (uint32_t) i)));
		for (uint64_t i = below; i < end; i++)
		{
			uint32_t	child = heap_at(pool, (uint32_t) i);

			if (comes_first(pool, child, least))
			{
				least = child;
				place = (uint32_t) i;
			}
		}
		if (least == frame)
			break;
		tp_place_member(pool, cell, least);
		cell = place;
	}
	tp_place_member(pool, cell, frame);
}

/* Add a frame to the `count` frames on the heap. */
static inline void
heap_push(const tp_pool *pool, uint32_t count, uint32_t frame,
		  heap_order comes_first)
{
	tp_place_member(pool, heap_cell(pool, frame), heap_at(pool, count));
	heap_up(pool, count, frame, comes_first);
}

/* Take one of the `count` frames off the heap. */
static inline void
heap_remove(const tp_pool *pool, uint32_t count, uint32_t frame,
			heap_order comes_first)
{
	uint32_t	cell = heap_cell(pool, frame);
	uint32_t	last = heap_at(pool, count - 1);

	if (last == frame)
		return;
	tp_place_member(pool, count - 1, frame);
	if (comes_first(pool, last, frame))
		heap_up(pool, cell, last, comes_first);
	else
		heap_down(pool, count - 1, cell, last, comes_first);
}

/* The key of a frame on the heap has grown. */
static inline void
heap_raised(const tp_pool *pool, uint32_t count, uint32_t frame,
			heap_order comes_first)
{
	heap_down(pool, count, heap_cell(pool, frame), frame, comes_first);
}

/* The least of `count` frames by their true keys; count > 0. */
static inline uint32_t
heap_least(const tp_pool *pool, uint32_t count, heap_order comes_first,
		   heap_update update)
{
	uint32_t	top = heap_at(pool, 0);

	while (update(pool, top))
	{
		heap_down(pool, count, 0, top, comes_first);
		top = heap_at(pool, 0);
	}
	return top;
}

/*
 * For tp_policy.upcoming: the frames of the `count` cells from the top on.
 * The upper cells hold the least frames, among others.  The caller counts
 * those that it returns in cursor->taken.
 */
static inline uint32_t
heap_walk(const tp_pool *pool, uint32_t count, tp_cursor *cursor)
{
	if (cursor->position >= count || tp_cursor_full(cursor) ||
		!tp_cursor_look(cursor))
		return TP_NONE;
	return heap_at(pool, cursor->position++);
}

/*
 * For tp_policy.check: are the first `count` members a heap, and the frames on
 * this list, of which there are so many?
 */
static inline int
heap_check(const tp_pool *pool, uint32_t count, unsigned list,
		   heap_order comes_first, tp_report report, void *arg)
{
	int			bad = 0;

	for (uint32_t cell = 0; cell < count && bad == 0; cell++)
	{
		uint32_t	frame = heap_at(pool, cell);

		bad += tp_expect(pool->nodes[frame].list == list,
						 "frame on the heap is not on its list", frame, report, arg);
		bad += tp_expect(cell == 0 ||
						 !comes_first(pool, frame,
									  heap_at(pool, (cell - 1) / HEAP_CHILDREN)),
						 "heap out of order", frame, report, arg);
	}
	return bad;
}

#endif							/* TIDEPOOL_HEAP_H */
