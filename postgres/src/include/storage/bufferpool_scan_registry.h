/*-------------------------------------------------------------------------
 *
 * bufferpool_scan_registry.h
 *	  The registries of running scans, for those who announce them.
 *
 * src/include/storage/bufferpool_scan_registry.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_SCAN_REGISTRY_H
#define BUFFERPOOL_SCAN_REGISTRY_H

#include "storage/bufferpool_internals.h"

/*
 * Scans of fewer blocks are not announced: they are over before anyone could
 * use it, and many a join makes thousands of them.  Chosen, not measured.
 */
#define BUFFERPOOL_LEAST_ANNOUNCED TP_BLOCK_GROUP

/* scan_registry.c */
extern bool BufferPoolPoolAsks(Relation rel);
extern uint64 BufferPoolRelationNumber(Relation rel);
extern uint64 BufferPoolEnterScan(const BufferPoolScan *scan, Relation rel,
								  BufferPoolScanKind kind,
								  const tp_scan_spec *spec, uint64 now);
extern uint64 BufferPoolEnterTrail(Relation rel, uint32 index, uint64 now);
extern void BufferPoolLeaveRegistry(uint64 handle, BufferPoolCounter counter);
extern void BufferPoolAbandonScans(void);

/* scans.c */
extern void BufferPoolOwnScan(BufferPoolScan *scan);

#endif							/* BUFFERPOOL_SCAN_REGISTRY_H */
