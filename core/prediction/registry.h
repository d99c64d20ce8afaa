/*
 * registry.h
 *	  Handles of scans: generation << 32 | number + 1.
 *
 * A scan's number gives its lane: number % TP_SCAN_LANES of the tp_scan_lanes
 * number / TP_SCAN_LANES.
 */
#ifndef TIDEPOOL_REGISTRY_H
#define TIDEPOOL_REGISTRY_H

#include "tidepool/prediction/scan.h"
#include "tidepool/relaxed.h"

static inline tp_scan_lanes *
lanes_of(const tp_scans *scans, uint32_t scan)
{
	return &scans->lanes[scan / TP_SCAN_LANES];
}

/* Is there a scan in this lane? */
static inline bool
is_running(const tp_scans *scans, uint32_t scan)
{
	return (tp_load8(&lanes_of(scans, scan)->used) >> scan % TP_SCAN_LANES &
			1) != 0;
}

static inline uint64_t
handle_of(const tp_scans *scans, uint32_t scan)
{
	return (uint64_t) tp_load32(&scans->scans[scan].generation) << 32 |
		(scan + 1);
}

/* The scan's number, or TP_NONE if it has ended.  Needs no lock. */
static inline uint32_t
find_scan(const tp_scans *scans, uint64_t handle)
{
	uint32_t	scan = (uint32_t) handle - 1;

	if (scan >= scans->header->capacity * TP_SCAN_LANES ||
		tp_load32(&scans->scans[scan].generation) != handle >> 32 ||
		!is_running(scans, scan))
		return TP_NONE;
	return scan;
}

#endif							/* TIDEPOOL_REGISTRY_H */
