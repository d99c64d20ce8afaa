/*
 * registry.h
 *	  Handles of scans: generation << 32 | number + 1.
 */
#ifndef TIDEPOOL_REGISTRY_H
#define TIDEPOOL_REGISTRY_H

#include "tidepool/prediction/scan.h"

static inline uint64_t
handle_of(const tp_scans *scans, uint32_t scan)
{
	return (uint64_t) scans->scans[scan].generation << 32 | (scan + 1);
}

/* The scan's number, or TP_NONE if it is no more. */
static inline uint32_t
find_scan(const tp_scans *scans, uint64_t handle)
{
	uint32_t	scan = (uint32_t) handle - 1;

	if (scan >= scans->header->capacity * TP_SCAN_LANES ||
		scans->scans[scan].generation != handle >> 32 ||
		(scans->lanes[scan / TP_SCAN_LANES].used >> scan % TP_SCAN_LANES & 1) == 0)
		return TP_NONE;
	return scan;
}

#endif							/* TIDEPOOL_REGISTRY_H */
