/*
 * position.h
 *	  Where a block stands in the order of a scan.
 */
#ifndef TIDEPOOL_POSITION_H
#define TIDEPOOL_POSITION_H

#include "prediction/bitmap.h"
#include "prediction/registry.h"

/*
 * The block's place in the order of the scan, from 0.  UINT32_MAX for blocks
 * outside the size blocks from low on, including those that were added to the
 * relation since the scan began.  At least the scan's length for other blocks
 * that it does not read.  backward: as in tp_scan_lanes.
 */
static inline uint32_t
range_position(uint32_t block, uint32_t first, uint32_t low, uint32_t size,
			   uint32_t backward)
{
	uint32_t	away = ((block - first) ^ backward) - backward;
	bool		wrapped = backward ? block > first : block < first;

	/* size 0 becomes the largest number */
	if (block - low > size - 1)
		return UINT32_MAX;
	return away + (wrapped ? size : 0);
}

/* The block at this position; if the scan has no such position, any. */
static inline uint32_t
range_block(uint32_t position, uint32_t first, uint32_t low, uint32_t size,
			uint32_t backward)
{
	uint32_t	block = first + ((position ^ backward) - backward);

	/* size 0 becomes the largest number */
	if (block - low <= size - 1)
		return block;
	return backward ? block + size : block - size;
}

/* The bitmap of a registered scan; NULL: it has none. */
static inline tp_bitmap *
bitmap_of(const tp_scans *scans, uint32_t number)
{
	uint32_t	bitmap = tp_load32(&scans->scans[number].bitmap);

	return bitmap < scans->header->bitmap_capacity ? &scans->bitmaps[bitmap] : NULL;
}

/* The place of a block in the range of a registered scan's lane. */
static inline uint32_t
lane_position(const tp_scans *scans, uint32_t number, uint32_t block)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;

	return range_position(block, tp_load32(&lanes->first[lane]),
						  tp_load32(&lanes->low[lane]),
						  tp_load32(&lanes->size[lane]),
						  tp_load32(&lanes->backward[lane]));
}

/* The place of a block in the order of a registered scan of either kind. */
static inline uint32_t
scan_position(const tp_scans *scans, uint32_t number, uint32_t block)
{
	const tp_bitmap *bitmap = bitmap_of(scans, number);

	if (bitmap == NULL)
		return lane_position(scans, number, block);
	return bitmap_position(bitmap, block,
						   tp_load32(&lanes_of(scans, number)->backward[number % TP_SCAN_LANES]));
}

/* The blocks of a registered scan of either kind that are behind it. */
static inline uint32_t
scan_done(const tp_scans *scans, uint32_t number)
{
	const tp_bitmap *bitmap = bitmap_of(scans, number);

	return tp_load32(bitmap != NULL ? &bitmap->done :
					 &lanes_of(scans, number)->done[number % TP_SCAN_LANES]);
}

#endif							/* TIDEPOOL_POSITION_H */
