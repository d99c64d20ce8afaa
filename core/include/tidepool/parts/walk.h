/*
 * walk.h
 *	  Walks over the resident frames, for coldest and upcoming.
 */
#ifndef TIDEPOOL_WALK_H
#define TIDEPOOL_WALK_H

#include "tidepool/policy.h"

/* The walk looks at this resident frame next, or ends with TP_NONE. */
static inline void
tp_walk_to(const tp_pool *pool, tp_cursor *cursor, uint32_t frame)
{
	cursor->position = frame;
	if (frame != TP_NONE)
		cursor->generation = pool->nodes[frame].generation;
}

/* Does that frame still hold the same page? */
static inline bool
tp_walk_holds(const tp_pool *pool, const tp_cursor *cursor)
{
	return cursor->position == TP_NONE ||
		pool->nodes[cursor->position].generation == cursor->generation;
}

/*
 * The next frame of a linked list, from its tail or its head; TP_NONE at the
 * end, at a pause, or when the frames that the caller has counted in
 * cursor->taken make up the share.  If the list has changed where the walk
 * was, the walk starts again, but looks at no more frames in all than the list
 * had at first.
 */
uint32_t	tp_walk_list(const tp_pool *pool, tp_cursor *cursor, unsigned list,
						 bool from_head);

/*
 * The frames of several linked lists, tail to head, one list after another in
 * the given order.  At the end cursor->stage is count, and the walk may go on
 * with tp_coldest_bands.
 */
uint32_t	tp_coldest_lists(const tp_pool *pool, tp_cursor *cursor,
							 const uint8_t *order, uint32_t count);

/* The same for all of the policy's lists, none a ring, by their numbers. */
uint32_t	tp_coldest_in_order(const tp_pool *pool, tp_cursor *cursor);

/* The same for lists that take turns: the cursor's share applies to each. */
uint32_t	tp_upcoming_lists(const tp_pool *pool, tp_cursor *cursor,
							  const uint8_t *order, uint32_t count);

/*
 * The resident frames band by band, from band cursor->stage on; within a band
 * in the order of members from index start on, wrapping around.  band_of
 * returns a resident frame's band, below bands.  A whole walk costs
 * bands * frames looks.
 */
uint32_t	tp_coldest_bands(const tp_pool *pool, tp_cursor *cursor,
							 uint32_t bands, uint32_t start,
							 uint32_t (*band_of) (const tp_pool *pool,
												  uint32_t frame));

/*
 * tp_policy.upcoming where the victim is the worst of a random sample: a sweep
 * over the members for the coldest pages.  Each round goes on where the last
 * one stopped, at most once over all members.  The sweep yields the coldest
 * 2.3 / sample of the pages, among which are nine in ten victims, and 1/16
 * more for what cools before it comes by again.
 *
 * To learn which bands these are, it counts the pages of each: all of them at
 * first, then every TP_COUNT_EVERY'th.  After TP_COUNTED pages, or as many as
 * there are frames, it sets the threshold and starts counting again.  Bands
 * below the threshold are cold; of the threshold's own band the part that the
 * share still lacks is, spread evenly.  A share counted in TP_COUNTED pages has
 * a standard error of about 0.03 at most, and the threshold is set anew every
 * 1,792 resident frames.
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

#endif							/* TIDEPOOL_WALK_H */
