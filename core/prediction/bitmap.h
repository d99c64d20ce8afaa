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
	return (before << shift) + offset;
}

/* Copy a bitmap to its place in the registry; fill in rank and groups. */
void		bitmap_enter(tp_bitmap *place, const tp_bitmap *bitmap);

/* Make spec the smallest range that covers all of the bitmap's groups. */
void		bitmap_range(const tp_bitmap *bitmap, tp_scan_spec *spec);

#endif							/* TIDEPOOL_BITMAP_H */
