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

/* The place of a block in the order of a registered scan of either kind. */
static inline uint32_t
scan_position(const tp_scans *scans, uint32_t number, uint32_t block)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	uint32_t	bitmap = tp_load32(&scans->scans[number].bitmap);
	uint32_t	backward = tp_load32(&lanes->backward[lane]);

	if (bitmap < scans->header->bitmap_capacity)
		return bitmap_position(&scans->bitmaps[bitmap], block, backward);
	return range_position(block, tp_load32(&lanes->first[lane]),
						  tp_load32(&lanes->low[lane]),
						  tp_load32(&lanes->size[lane]), backward);
}

#endif							/* TIDEPOOL_POSITION_H */
