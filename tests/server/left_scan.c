/*
 * left_scan.c
 *	  A function that announces a scan which nothing ends but its process.
 *
 * leave_scan(regclass) announces a scan of the whole table, whose resource owner
 * is never released.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "storage/bufferpool_scans.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/resowner.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(leave_scan);

Datum
leave_scan(PG_FUNCTION_ARGS)
{
	static BufferPoolScan scan;
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BufferPoolScanRange range = {.count = blocks, .size = blocks};
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = ResourceOwnerCreate(NULL, "never released");
	memset(&scan, 0, sizeof(scan));
	if (BufferPoolAnnounces(rel, blocks))
		BufferPoolAnnounceRange(&scan, rel, BUFFERPOOL_SEQUENTIAL_SCAN, &range);
	CurrentResourceOwner = owner;
	relation_close(rel, AccessShareLock);
	PG_RETURN_BOOL(scan.handle != 0);
}
