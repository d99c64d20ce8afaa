/*
 * walk.h
 *	  Walks over the resident frames, for coldest and upcoming.
 */
#ifndef TIDEPOOL_WALK_H
#define TIDEPOOL_WALK_H

#include "tidepool/policy.h"

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

/* The same for all lists of the policy, which are linked, by their numbers. */
uint32_t	tp_coldest_in_order(const tp_pool *pool, tp_cursor *cursor);

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

#endif							/* TIDEPOOL_WALK_H */
