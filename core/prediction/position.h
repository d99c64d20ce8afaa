/*
 * position.h
 *	  Where a block stands in the order of a range scan.
 */
#ifndef TIDEPOOL_POSITION_H
#define TIDEPOOL_POSITION_H

#include "tidepool/prediction/scan.h"

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

#endif							/* TIDEPOOL_POSITION_H */
