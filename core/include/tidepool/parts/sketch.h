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
 * DEFINITION.  A cell is 28 counters of 4 bits; four cells in sequence are a
 * group, and there are floor(frames / 4) groups.  Cell number i lies at the
 * start of the extra bytes of members[i].
 *
 *	  group of a key		tp_linear_hash(key, groups): linear hashing
 *	  counter in cell r		b * 28 / 256, where b is byte 4 + r of the key,
 *	  of the group			counted from the least significant
 *
 * add raises the key's counter in each of the four cells, to 15 at most.  If
 * any of them was lower, this is one addition.  Then, be it one or not (frames
 * may have left since the last), if the additions are 10 per frame or more,
 * they and all counters are halved, rounding down.
 * estimate is the least of the key's four counters.  Each of them saw every
 * addition of the key, so it is never too low (but for the halving and the
 * limit of 15).  In a pool of less than four frames nothing is added, and all
 * estimates are 0.
 *
 * Halving is lazy: the sketch counts the halvings, a cell knows how many it
 * has been through, and catches up when it is next added to.  So what is read
 * is what halving everything at once would have left, and no reference ever
 * pays for a sweep over the pool.  (The numbers have 16 bits: a cell that is
 * left alone for 65,536 halvings is taken for a fresh one.)
 *
 * RESIZING.  When a joining frame completes a group, that is the last, and it
 * begins as a copy of the group it is split from (the one whose number lacks
 * the highest bit), among whose keys its own have been counted so far; group 0
 * begins empty.  When a leaving frame breaks up the last group, it is merged
 * into that same one, counter by counter, the larger value surviving: each key
 * was counted in one of the two only.  So estimates stay bounds from above.
 *
 * Benefits: where members are consecutive frames a group is one cache line;
 * O(1) for each frame that comes or goes.
 * Costs: while the number of groups is not a power of two, those that have not
 * been split yet hold twice as many keys as the others.
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
	uint16_t	halvings;		/* gone through, modulo 2^16 */
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

/* How often was it, as far as known?  At most TP_SKETCH_MAX. */
uint32_t	tp_sketch_estimate(const tp_pool *pool, const tp_sketch *sketch,
							   uint64_t key);

/* Load the keys' counters into the cache, as the policy's prefetch does. */
void		tp_sketch_prefetch(const tp_pool *pool, const uint64_t *keys,
							   uint32_t count, int step);

/* For the policy's join and leave, before anything else. */
void		tp_sketch_join(const tp_pool *pool);
void		tp_sketch_leave(const tp_pool *pool, const tp_sketch *sketch,
							uint32_t frame, uint32_t slot);

#endif							/* TIDEPOOL_SKETCH_H */
