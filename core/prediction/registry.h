/*
 * registry.h
 *	  What the files of this folder share of the registry.
 */
#ifndef TIDEPOOL_REGISTRY_H
#define TIDEPOOL_REGISTRY_H

#include "prediction/position.h"

/* Blocks after which a scan's speed is measured. */
#define STRIDE (TP_BLOCK_GROUP / 4)

/* A scan has at least this many times the time of a stride to make one. */
#define PATIENT_STRIDES 16

/*
 * The relation's place, or TP_NONE; *vacant: an empty one that it could have,
 * or TP_NONE.
 */
uint32_t	scan_relation(const tp_scans *scans, uint64_t relation,
						  uint32_t *vacant);

/*
 * When a scan that takes so many microseconds for a block, and was just heard
 * of, counts as gone: a tick.
 */
uint32_t	patience_until(uint64_t now, float block_time);

/* ---- handles: generation << 32 | scan + 1 ---- */

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
