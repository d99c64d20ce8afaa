/*
 * sketch.h
 *	  A count-min sketch: how often was a page referenced lately?
 *
 * Sources: G. Cormode, S. Muthukrishnan: An improved data stream summary: the
 * count-min sketch and its applications. Journal of Algorithms 55(1), 2005.
 * Aging: G. Einziger, R. Friedman, B. Manes: TinyLFU: A highly efficient cache
 * admission policy. ACM Transactions on Storage 13(4), 2017.  Caffeine, the
 * cache by the last author, is where the counters of a key lie close together.
 *
 * A sketch has four rows.  Here a row is spread over the pool: the extra bytes
 * of members[i] begin with cell i, 28 counters of 4 bits, and four cells in
 * sequence are a group, one cell for each row.  Linear hashing (hash.h)
 * chooses the group of a key, four bytes of the key its counter in each cell.
 *
 * Why the structure differs from the papers', and the estimates do not:
 *	- A key is counted in the four cells of one group.  These are four counters
 *	  chosen by independent bytes, as in four rows.
 *	- Halving is lazy.  The sketch counts its halvings, a cell those it has
 *	  gone through, and a cell catches up when it is next added to.  An
 *	  estimate therefore is what halving everything at once would have left.
 *	- The pool may grow and shrink.  A new group starts as a copy of the group
 *	  it is split from, where its keys have been counted so far.  A group that
 *	  goes is merged into that one, the larger of each two counters surviving,
 *	  since a key was counted in one of them only.  Estimates stay upper
 *	  bounds.
 *
 * Where the estimates differ:
 *	1. An addition is a reference that raised a counter, so references to a
 *	   page at 15 do not bring the next halving closer, as in Caffeine.
 *	2. A cell left alone for 65,536 halvings is taken for a fresh one, since
 *	   halvings are counted in 16 bits.
 *	3. A pool of fewer than four frames has no sketch: all estimates are 0.
 *
 * Costs: while the number of groups is no power of two, groups that have not
 * been split hold twice as many keys as the others.
 * Benefits: a group is one cache line where members are consecutive frames; no
 * reference pays for a sweep; O(1) for a frame that joins or leaves.
 * Memory: 16 bytes a frame.
 */
#ifndef TIDEPOOL_SKETCH_H
#define TIDEPOOL_SKETCH_H

#include "tidepool/policy.h"

#define TP_SKETCH_GROUP		4	/* cells in a group, one for each row */
#define TP_SKETCH_COLUMNS	28	/* counters in a cell: a group is a cache line */
#define TP_SKETCH_MAX		15	/* highest count, of 4 bits */
#define TP_SKETCH_SAMPLE	10	/* additions per frame at which to halve, as
								 * in Caffeine */

/* First in the extra bytes of every frame. */
typedef struct tp_sketch_cell
{
	uint16_t	halvings;		/* gone through, modulo 2^16 */
	uint8_t		counters[TP_SKETCH_COLUMNS / 2];	/* two to a byte, the
													 * first in its lower half */
} tp_sketch_cell;

/* In the policy's state.  Zero-initialised to begin. */
typedef struct tp_sketch
{
	uint64_t	additions;		/* halved with the counters */
	uint16_t	halvings;		/* so far, modulo 2^16 */
} tp_sketch;

/* The page with this key was referenced. */
void		tp_sketch_add(const tp_pool *pool, tp_sketch *sketch,
						  uint64_t key);

/*
 * How often the page was referenced lately, at most TP_SKETCH_MAX.  Other
 * pages share its counters, so this may be too high, never too low.
 */
uint32_t	tp_sketch_estimate(const tp_pool *pool, const tp_sketch *sketch,
							   uint64_t key);

/* Load the counters of these keys into the cache: tp_policy.prefetch. */
void		tp_sketch_prefetch(const tp_pool *pool, const uint64_t *keys,
							   uint32_t count, int step);

/* For tp_policy.join and leave, to be called before anything else. */
void		tp_sketch_join(const tp_pool *pool);
void		tp_sketch_leave(const tp_pool *pool, const tp_sketch *sketch,
							uint32_t frame, uint32_t slot);

#endif							/* TIDEPOOL_SKETCH_H */
