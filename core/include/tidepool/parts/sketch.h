/*
 * sketch.h
 *	  A count-min sketch: how often was a page referenced lately?
 *
 * Sources: G. Cormode, S. Muthukrishnan: An improved data stream summary: the
 * count-min sketch and its applications. Journal of Algorithms 55(1), 2005.
 * Ageing: G. Einziger, R. Friedman, B. Manes: TinyLFU: A highly efficient
 * cache admission policy. ACM Transactions on Storage 13(4), 2017.  That a
 * key's counters lie close together is from Caffeine, the last author's cache.
 *
 * LAYOUT.  A cell is 28 counters of 4 bits; cell i lies at the start of the
 * extra bytes of members[i].  Four consecutive cells are a group, one for each
 * row of the sketch.  Linear hashing (hash.h) selects a key's group; its
 * counter in row r is byte 4 + r of the key, scaled from 256 values to 28.
 *
 * ESTIMATES.  The estimate is the least of a key's four counters.  Each of
 * them counted every reference to the page, so the estimate is an upper bound,
 * apart from the limit of 15 and from ageing.
 *
 * AGEING.  After 10 additions per frame all counters are halved, and the
 * number of additions with them.  A reference that finds all four counters at
 * 15 is not an addition.  Halving is lazy: the sketch counts halvings, each
 * cell those that it has been through, and a cell catches up when it is next
 * added to; estimates allow for the rest.  So no reference pays for a sweep
 * over the pool.  (A cell left alone for 65,536 halvings passes for current.)
 *
 * RESIZING.  A joining frame that completes a group adds it as a copy of the
 * group that it is split from (the one whose number lacks the highest bit),
 * which has counted its keys so far; group 0 starts empty.  A leaving frame
 * that breaks up the last group merges it into the same one, keeping the
 * larger of each two counters, since each key was counted in one group only.
 * So estimates stay upper bounds.
 *
 * Costs: while the number of groups is not a power of two, those not split yet
 * hold twice as many keys as the others.
 * Benefits: a group is one cache line where members are consecutive frames;
 * O(1) for each frame that joins or leaves.
 */
#ifndef TIDEPOOL_SKETCH_H
#define TIDEPOOL_SKETCH_H

#include "tidepool/pool.h"

#define TP_SKETCH_GROUP		4	/* cells in a group */
#define TP_SKETCH_COLUMNS	28	/* counters in a cell */
#define TP_SKETCH_MAX		15	/* highest count */
#define TP_SKETCH_SAMPLE	10	/* additions per frame at which to halve */

/* First in the extra bytes of every frame. */
typedef struct tp_sketch_cell
{
	uint16_t	halvings;		/* that it has been through, modulo 2^16 */
	uint8_t		counters[TP_SKETCH_COLUMNS / 2];	/* two in a byte, the
													 * first in its lower half */
} tp_sketch_cell;

/* In the policy's state; zero to begin. */
typedef struct tp_sketch
{
	uint64_t	additions;		/* halved with the counters */
	uint16_t	halvings;		/* so far, modulo 2^16 */
} tp_sketch;

/* The page with this key was referenced. */
void		tp_sketch_add(const tp_pool *pool, tp_sketch *sketch,
						  uint64_t key);

/* How often was the page with this key referenced?  At most TP_SKETCH_MAX. */
uint32_t	tp_sketch_estimate(const tp_pool *pool, const tp_sketch *sketch,
							   uint64_t key);

/* tp_policy.prefetch: load the keys' counters into the cache. */
void		tp_sketch_prefetch(const tp_pool *pool, const uint64_t *keys,
							   uint32_t count, int step);

/* For tp_policy.join and leave, to be called before anything else. */
void		tp_sketch_join(const tp_pool *pool);
void		tp_sketch_leave(const tp_pool *pool, const tp_sketch *sketch,
							uint32_t frame, uint32_t slot);

#endif							/* TIDEPOOL_SKETCH_H */
