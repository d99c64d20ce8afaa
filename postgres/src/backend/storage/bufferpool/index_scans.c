/*-------------------------------------------------------------------------
 *
 * index_scans.c
 *	  Index scans that fetch from a table, for algorithms that ask what will be
 *	  read.
 *
 * An index scan reads blocks of its table in the order of the index.  If the
 * planner knows that this is nearly the table's order, the scan is announced as
 * the range that the planner expects.  Other index scans leave marks on
 * tuples, by which the registry finds scans that follow each other
 * (tidepool/prediction/trail.h), once they have fetched so many that they are
 * no lookups.
 *
 * src/backend/storage/bufferpool/index_scans.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/bufferpool_scan_registry.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/*
 * Blocks that an index scan enters before it leaves marks.  Chosen, not
 * measured: those that enter fewer, lookups above all, pay nothing; the first
 * tuples of the others have no marks.
 */
#define BLOCKS_OF_LOOKUPS 64

/*
 * Square of the correlation from which an index has the table's order: as much
 * of the variance of block numbers do the keys explain.  Chosen, not measured.
 */
#define LEAST_SQUARED_CORRELATION 0.9

static void
announce_order(BufferPoolIndexScan *scan, Relation rel, BlockNumber block)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BufferPoolScanRange range = {.first = block, .size = 0};

	if (block >= blocks)
		return;
	scan->scan.met_pid = 0;
	range.backward = scan->correlation < 0;
	range.count = Min(scan->pages, range.backward ? block + 1 : blocks - block);
	BufferPoolAnnounceRange(&scan->scan, rel, BUFFERPOOL_INDEX_SCAN, &range);
}

/* As many bits as recordings have for it. */
static uint32
index_number(Relation index)
{
	return (uint32) (tp_mix64(BufferPoolRelationNumber(index)) >> 32);
}

/* The index scan begins in the recording, or is older than that. */
static void
record_trail(BufferPoolIndexScan *scan, Relation rel, uint64 now)
{
	BufferPoolRecordTrailBegin(scan->scan.handle, &rel->rd_locator,
							   scan->index, now);
	scan->scan.recorded_in = BufferPoolRecordingSerial();
}

static void
begin_trail(BufferPoolIndexScan *scan, Relation rel, Relation index)
{
	uint64		now = BufferPoolNow();
	uint32		number = index_number(index);

	scan->salt = tp_trail_salt(number);
	scan->index = number;
	scan->trailing = false;
	scan->scan.recorded_in = 0;
	ResourceOwnerEnlarge(CurrentResourceOwner);
	scan->scan.handle = BufferPoolPoolAsks(rel) ?
		BufferPoolEnterTrail(rel, number, now) : BufferPoolRecordedScan(true);
	if (scan->scan.handle == 0)
		return;
	BufferPoolOwnScan(&scan->scan);
	if (BufferPoolRecording())
		record_trail(scan, rel, now);
}

/* The tuple is one that is marked. */
static void
mark_tuple(BufferPoolIndexScan *scan, Relation rel, uint64 tuple, uint64 now)
{
	BufferPool *pool = BufferPoolForRelation(rel, NULL);
	tp_trail_step step = tp_trail_tuple(BufferPoolServices.trails,
										scan->scan.handle, tuple, now);

	if (step == TP_TRAIL_NONE)
		return;
	BufferPoolCount(pool, BUFFERPOOL_MARKS);
	if (step == TP_TRAIL_FOLLOWED && !scan->trailing)
	{
		scan->trailing = true;
		BufferPoolCount(pool, BUFFERPOOL_TRAILING_SCANS);
	}
}

static void
leave_mark(BufferPoolIndexScan *scan, Relation rel, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);
	uint64		tuple = (uint64) block << 16 | offset;
	uint64		handle = scan->scan.handle;
	uint64		now;

	if (!tp_trail_marks(scan->salt, tuple))
		return;
	now = BufferPoolNow();
	if (BufferPoolRecording() &&
		scan->scan.recorded_in != BufferPoolRecordingSerial())
		record_trail(scan, rel, now);
	if (!BufferPoolIsRecordedScan(handle))
		mark_tuple(scan, rel, tuple, now);
	if (BufferPoolRecording())
		BufferPoolRecordScanAdvance(handle, block, offset, now);
}

/* The index scan is about to fetch this tuple, from another block than before. */
void
BufferPoolEnterBlock(BufferPoolIndexScan *scan, Relation rel, Relation index,
					 ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	scan->block = block;
	if (scan->fetches <= BLOCKS_OF_LOOKUPS)
	{
		if (scan->fetches == 0 && scan->pages >= BUFFERPOOL_LEAST_ANNOUNCED &&
			scan->correlation * scan->correlation >= LEAST_SQUARED_CORRELATION &&
			BufferPoolAsksForScans(rel, BUFFERPOOL_LEAST_ANNOUNCED))
			announce_order(scan, rel, block);
		else if (scan->fetches == BLOCKS_OF_LOOKUPS && scan->scan.handle == 0 &&
				 BufferPoolAsksForScans(rel, BUFFERPOOL_LEAST_ANNOUNCED))
			begin_trail(scan, rel, index);
		scan->fetches++;
	}
	if (scan->scan.handle == 0)
		return;
	if (!tp_is_trail(scan->scan.handle))
		BufferPoolScanAt(&scan->scan, block);
	else
		leave_mark(scan, rel, tid);
	BufferPoolReadFor(&scan->scan);
}
