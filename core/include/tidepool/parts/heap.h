/*
 * heap.h
 *	  A heap of some of a pool's frames, the least at the top.
 *
 * The heap is an array without memory of its own: cell i lies in the extra of
 * members[i], whatever frame that is, and every frame on the heap knows its
 * place.  A policy that uses it makes heap_link the first field of its extra,
 * calls heap_leave when a frame leaves, and passes the number of frames on
 * the heap, which is the number of frames on one of its lists.
 *
 * The order is the policy's: comes_first(pool, a, b), a strict order of the
 * frames on the heap.  It is a constant in each policy, so the compiler makes
 * a heap of its own for each.
 *
 * A policy whose frames only come to stand later in the order, as they do when
 * pages are referenced, may leave them where they are, ordered by what they
 * were: it keeps both the filed order, which comes_first compares, and the
 * true one, and asks heap_least, which files anew what is behind until the top
 * is not.  The others' true order is no earlier than their filed one, so that
 * top is the least of all.
 *
 * Costs: 8 bytes a frame; O(log n) for every operation at worst.
 * Benefits: O(1) on average for heap_raised, since most frames are leaves, and
 * nothing at all for hits on a heap that is behind; it follows the pool as
 * frames join and leave.
 */
#ifndef TIDEPOOL_HEAP_H
#define TIDEPOOL_HEAP_H

#include "tidepool/pool.h"

/*
 * Cells below a cell.  The cells, and the frames in them, lie in cache lines
 * all over the pool, so a level costs three loads in a row whatever its width:
 * member, cell, frame.  Four below a cell halve the levels of two, and their
 * loads overlap.
 */
#define HEAP_CHILDREN 4

typedef struct heap_link
{
	uint32_t	cell;			/* in members[i]: the frame in cell i */
	uint32_t	place;			/* in a frame on the heap: its own cell */
} heap_link;

typedef bool (*heap_order) (const tp_pool *pool, uint32_t a, uint32_t b);

/* Files a frame by its true order; false if that is how it was filed. */
typedef bool (*heap_refile) (const tp_pool *pool, uint32_t frame);

static inline heap_link *
heap_link_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

/* The frame in a cell; cell 0 has the least of all. */
static inline uint32_t
heap_at(const tp_pool *pool, uint32_t cell)
{
	return heap_link_of(pool, pool->members[cell])->cell;
}

static inline void
heap_put(const tp_pool *pool, uint32_t cell, uint32_t frame)
{
	heap_link_of(pool, pool->members[cell])->cell = frame;
	heap_link_of(pool, frame)->place = cell;
}

/* Put a frame in this cell, or in one above it if it comes first there. */
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
		heap_put(pool, cell, parent);
		cell = above;
	}
	heap_put(pool, cell, frame);
}

/* Put a frame in this cell, or in one below it if others come first. */
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
			__builtin_prefetch(heap_link_of(pool, pool->members[i]));
		for (uint64_t i = below; i < end; i++)
			__builtin_prefetch(heap_link_of(pool, heap_at(pool, (uint32_t) i)));
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
		heap_put(pool, cell, least);
		cell = place;
	}
	heap_put(pool, cell, frame);
}

/* Add a frame to the count frames there are. */
static inline void
heap_push(const tp_pool *pool, uint32_t count, uint32_t frame,
		  heap_order comes_first)
{
	heap_up(pool, count, frame, comes_first);
}

/* Take one of the count frames off. */
static inline void
heap_remove(const tp_pool *pool, uint32_t count, uint32_t frame,
			heap_order comes_first)
{
	uint32_t	cell = heap_link_of(pool, frame)->place;
	uint32_t	last = heap_at(pool, count - 1);

	if (last == frame)
		return;
	if (comes_first(pool, last, frame))
		heap_up(pool, cell, last, comes_first);
	else
		heap_down(pool, count - 1, cell, last, comes_first);
}

/* A frame on the heap has come to stand later in the order than before. */
static inline void
heap_raised(const tp_pool *pool, uint32_t count, uint32_t frame,
			heap_order comes_first)
{
	heap_down(pool, count, heap_link_of(pool, frame)->place, frame,
			  comes_first);
}

/* The least of count frames, more than none, by the true order. */
static inline uint32_t
heap_least(const tp_pool *pool, uint32_t count, heap_order comes_first,
		   heap_refile refile)
{
	uint32_t	top = heap_at(pool, 0);

	while (refile(pool, top))
	{
		heap_down(pool, count, 0, top, comes_first);
		top = heap_at(pool, 0);
	}
	return top;
}

/*
 * For a policy's upcoming: the frames of the count cells, from the top on.  The
 * least are in the upper ones, with others.  The caller counts what it takes.
 */
static inline uint32_t
heap_walk(const tp_pool *pool, uint32_t count, tp_cursor *cursor)
{
	if (cursor->position >= count || tp_cursor_sated(cursor) ||
		!tp_cursor_look(cursor))
		return TP_NONE;
	return heap_at(pool, cursor->position++);
}

/*
 * For a policy's leave.  The cell that lay with the frame, which was free,
 * goes to the member that has taken its slot; that one's own cell was the
 * last, which no heap with a free frame beside it uses.
 */
static inline void
heap_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	if (slot < pool->header->frames)
		heap_link_of(pool, pool->members[slot])->cell =
			heap_link_of(pool, frame)->cell;
}

/* For a policy's check: are these count frames a heap, all on that list? */
static inline int
heap_check(const tp_pool *pool, uint32_t count, unsigned list,
		   heap_order comes_first, tp_report report, void *arg)
{
	int			bad = 0;

	for (uint32_t cell = 0; cell < count && bad == 0; cell++)
	{
		uint32_t	frame = heap_at(pool, cell);

		bad += tp_expect(heap_link_of(pool, frame)->place == cell,
						 "frame on the heap does not know its place", frame, report,
						 arg);
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
