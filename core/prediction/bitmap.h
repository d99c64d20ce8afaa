/*
 * bitmap.h
 *	  Where a block stands in the order of a bitmap scan.
 *
 * A registry's bitmaps are loaded and stored word by word with relaxed
 * atomics, since estimates may still read one that has a new owner.
 */
#ifndef TIDEPOOL_BITMAP_H
#define TIDEPOOL_BITMAP_H

#include "tidepool/prediction/scan.h"
#include "tidepool/relaxed.h"

/* Bits set, without a library (Warren, Hacker's Delight, 5-1). */
static inline uint32_t
bits_in(uint64_t x)
{
	x -= (x >> 1) & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) +
		((x >> 2) & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t) ((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* The blocks in this many groups, at most UINT32_MAX. */
static inline uint32_t
bitmap_blocks(uint32_t groups, uint32_t shift)
{
	uint64_t	blocks = (uint64_t) groups << shift;

	return blocks < UINT32_MAX ? (uint32_t) blocks : UINT32_MAX;
}

/* Is the block's group set? */
static inline bool
bitmap_has(const tp_bitmap *bitmap, uint32_t block)
{
	uint32_t	group = block >> (tp_load32(&bitmap->shift) & 31);

	return group < TP_BITMAP_GROUPS &&
		(tp_load64(&bitmap->words[group / 64]) >> group % 64 & 1) != 0;
}

/*
 * The block's place in the order of the scan, from 0; UINT32_MAX if its group
 * is not set.  backward: as in tp_scan_lanes.  Never reads beyond the bitmap,
 * whatever the fields hold.
 */
static inline uint32_t
bitmap_position(const tp_bitmap *bitmap, uint32_t block, uint32_t backward)
{
	uint32_t	shift = tp_load32(&bitmap->shift) & 31;
	uint32_t	group = block >> shift;
	uint64_t	word;
	uint64_t	bit = UINT64_C(1) << group % 64;
	uint32_t	start = tp_load32(&bitmap->start);
	uint32_t	before;
	uint32_t	offset;

	if (group >= TP_BITMAP_GROUPS)
		return UINT32_MAX;
	word = tp_load64(&bitmap->words[group / 64]);
	if ((word & bit) == 0)
		return UINT32_MAX;
	before = tp_load16(&bitmap->rank[group / 64]) + bits_in(word & (bit - 1));
	offset = block & ((UINT32_C(1) << shift) - 1);
	if (backward)
	{
		before = tp_load32(&bitmap->groups) - 1 - before;
		offset = (UINT32_C(1) << shift) - 1 - offset;
	}
	before = before >= start ? before - start :
		before + tp_load32(&bitmap->groups) - start;
	return (before << shift) + offset;
}

/* Copy a spec's bitmap to its place in the registry, and fill in the rest. */
void		bitmap_enter(tp_bitmap *place, const tp_scan_spec *spec);

/*
 * Make spec the smallest range that covers all of its bitmap's groups; of no blocks
 * if there are none.
 */
void		bitmap_range(tp_scan_spec *spec);

/* The block at this position of a registered bitmap; see bitmap_position. */
uint32_t	bitmap_block(const tp_bitmap *bitmap, uint32_t position,
						 uint32_t backward);

/*
 * The first group that is set in the bitmap, from this one on, or else from
 * group 0 on; TP_NONE: none is.
 */
uint32_t	bitmap_next(const tp_bitmap *bitmap, uint32_t group);

/* Groups from .. to - 1 that are set in both; b may be NULL, for all. */
uint32_t	bitmap_common(const tp_bitmap *a, const tp_bitmap *b,
						  uint32_t from, uint32_t to);

#endif							/* TIDEPOOL_BITMAP_H */
