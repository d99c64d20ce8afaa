/*
 * load_order.h
 *	  Frames in the order in which scans loaded them, to find the neighbours of
 *	  a page without a page table.
 *
 * The pages that are referenced furthest in the future lie next to each other:
 * between two scans that follow each other the wait grows from block to block,
 * so the best victims are neighbours.  No policy knows which frames hold
 * neighbouring blocks.  But a scan loads blocks one after the other, so frames
 * are linked in that order.  The order is a hint: a page that was resident
 * before its neighbours were loaded has another place in it, or none.
 *
 * The links are those of the frames' nodes, which rings do not use.  A frame
 * not loaded through a registered scan has no neighbours.
 *
 * LOCKING.  None.  In a shared pool several processes link and unlink frames
 * at once, with relaxed atomics, so links may disagree.  Then a policy looks
 * at a frame that is not a neighbour.  A link may also lead to a frame that has
 * moved to another pool, whose links are another policy's.  So a link of another
 * frame is changed only if that frame is one of the pool's, and the link is what
 * it was.
 */
#ifndef TIDEPOOL_LOAD_ORDER_H
#define TIDEPOOL_LOAD_ORDER_H

#include "tidepool/assertion.h"
#include "tidepool/frame.h"
#include "tidepool/relaxed.h"

/*
 * Places for the last frames of scans.  Two scans in one place lose each
 * other's order.  With 1 and 4 misses differ by at most 0.3 %
 * (bench/constants.py).
 */
#define LOAD_ORDER_SCANS 8

/* A frame, with the page that it held. */
typedef struct loaded_frame
{
	uint32_t	frame;			/* TP_NONE: none */
	uint32_t	generation;
} loaded_frame;

/* What one process keeps. */
typedef struct load_order
{
	loaded_frame newest[LOAD_ORDER_SCANS];	/* by scan % LOAD_ORDER_SCANS: the
											 * frame it loaded last */
	loaded_frame neighbours[2]; /* before and after the last victim */
} load_order;

/* Is the frame one of the pool's? */
static inline bool
load_order_has(const tp_pool *pool, uint32_t frame)
{
	uint32_t	slot = tp_load32(&pool->nodes[frame].slot);

	return slot < tp_load32(&pool->header->frames) &&
		tp_member(pool, slot) == frame;
}

/* Set the link unless others have changed it since it was `from`. */
static inline void
load_order_relink(uint32_t *link, uint32_t from, uint32_t to)
{
	(void) __atomic_compare_exchange_n(link, &from, to, false,
									   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static inline void
load_order_init(load_order *order)
{
	for (uint32_t i = 0; i < LOAD_ORDER_SCANS; i++)
		order->newest[i].frame = TP_NONE;
	order->neighbours[0].frame = order->neighbours[1].frame = TP_NONE;
}

/* The frame if its page is still there, and it is one of the pool's, else TP_NONE. */
static inline uint32_t
loaded_frame_get(const tp_pool *pool, const loaded_frame *loaded)
{
	if (loaded->frame == TP_NONE ||
		tp_generation(pool, loaded->frame) != loaded->generation ||
		!load_order_has(pool, loaded->frame))
		return TP_NONE;
	return loaded->frame;
}

/*
 * Read the link of a frame that loaded_frame_get has returned.  False if the frame
 * has left meanwhile: what was read may be another policy's.
 */
static inline bool
loaded_frame_next(const tp_pool *pool, const loaded_frame *loaded, uint32_t *next)
{
	*next = __atomic_load_n(&pool->nodes[loaded->frame].next, __ATOMIC_ACQUIRE);
	return loaded_frame_get(pool, loaded) != TP_NONE;
}

static inline void
loaded_frame_set(const tp_pool *pool, loaded_frame *loaded, uint32_t frame)
{
	loaded->frame = frame;
	if (frame != TP_NONE)
		loaded->generation = tp_generation(pool, frame);
}

/* This scan (0: none) has loaded the frame: link it after its last frame. */
static inline void
load_order_add(const tp_pool *pool, load_order *order, uint32_t frame,
			   uint64_t scan)
{
	tp_node    *nodes = pool->nodes;
	loaded_frame *newest = &order->newest[(uint32_t) scan % LOAD_ORDER_SCANS];
	uint32_t	before = scan == 0 ? TP_NONE : loaded_frame_get(pool, newest);
	uint32_t	after = TP_NONE;

	if (before != TP_NONE && !loaded_frame_next(pool, newest, &after))
		before = after = TP_NONE;
	tp_store32(&nodes[frame].prev, before);
	tp_store32(&nodes[frame].next, after);
	if (before != TP_NONE)
		load_order_relink(&nodes[before].next, after, frame);
	if (after != TP_NONE && load_order_has(pool, after))
		load_order_relink(&nodes[after].prev, before, frame);
	if (scan != 0)
		loaded_frame_set(pool, newest, frame);
}

/* The page is about to leave its frame. */
static inline void
load_order_remove(const tp_pool *pool, load_order *order, uint32_t frame)
{
	tp_node    *nodes = pool->nodes;
	uint32_t	before = tp_load32(&nodes[frame].prev);
	uint32_t	after = tp_load32(&nodes[frame].next);

	if (before != TP_NONE && load_order_has(pool, before))
		load_order_relink(&nodes[before].next, frame, after);
	if (after != TP_NONE && load_order_has(pool, after))
		load_order_relink(&nodes[after].prev, frame, before);
	for (uint32_t i = 0; i < LOAD_ORDER_SCANS; i++)
		if (order->newest[i].frame == frame)
			loaded_frame_set(pool, &order->newest[i], before);
}

/* The frame is about to be evicted: remember its neighbours. */
static inline void
load_order_note(const tp_pool *pool, load_order *order, uint32_t frame)
{
	const tp_node *node = &pool->nodes[frame];

	loaded_frame_set(pool, &order->neighbours[0], tp_load32(&node->prev));
	loaded_frame_set(pool, &order->neighbours[1], tp_load32(&node->next));
}

/* The frames with the neighbours of the last victim's page.  Returns how many. */
static inline uint32_t
load_order_neighbours(const tp_pool *pool, const load_order *order,
					  uint32_t *frames)
{
	uint32_t	n = 0;

	for (uint32_t i = 0; i < 2; i++)
		if (loaded_frame_get(pool, &order->neighbours[i]) != TP_NONE)
			frames[n++] = order->neighbours[i].frame;
	return n;
}

/*
 * For a policy's check: every link has its counterpart, except in a shared
 * pool, where links are hints.  Returns the number of violations.
 */
static inline int
load_order_check(const tp_pool *pool, const load_order *order,
				 tp_report report, void *arg)
{
	bool		shared = pool->header->shared;
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);
		const tp_node *node = &pool->nodes[frame];

		if (!tp_is_resident(pool, frame))
			continue;
		bad += tp_expect(node->prev == TP_NONE || shared ||
						 pool->nodes[node->prev].next == frame,
						 "load order broken before a frame", frame, report, arg);
		bad += tp_expect(node->next == TP_NONE || shared ||
						 pool->nodes[node->next].prev == frame,
						 "load order broken after a frame", frame, report, arg);
	}
	for (uint32_t i = 0; i < LOAD_ORDER_SCANS; i++)
		bad += tp_expect(loaded_frame_get(pool, &order->newest[i]) == TP_NONE ||
						 tp_is_resident(pool, order->newest[i].frame),
						 "vacant frame taken for one that a scan loaded",
						 order->newest[i].frame, report, arg);
	return bad;
}

#endif							/* TIDEPOOL_LOAD_ORDER_H */
