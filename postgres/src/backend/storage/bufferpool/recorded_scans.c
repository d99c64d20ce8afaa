/*-------------------------------------------------------------------------
 *
 * recorded_scans.c
 *	  The scans of a recording: what they announce, where they are, and which
 *	  references are theirs.
 *
 * Scans are recorded as they are told to the registry, with the same times, so
 * that a replay knows of them what the algorithm knew.  During a recording they
 * are announced whatever the algorithm, so that a replay can try another one.
 *
 * A scan that is older than the recording begins in it when it next says where
 * it is, with what it has still to read.  One that was announced to an earlier
 * recording alone does not.
 *
 * src/backend/storage/bufferpool/recorded_scans.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"

/* The scan for which this process last said it reads, and in which recording. */
static uint64 reads_for;
static uint32 said_in;

/* An event of this scan, about no page. */
static BufferTag
scan_tag(uint64 handle, RelFileNumber number, BlockNumber block)
{
	BufferTag	tag = {.forkNum = MAIN_FORKNUM};

	tag.spcOid = (Oid) handle;
	tag.dbOid = (Oid) (handle >> 32);
	tag.relNumber = number;
	tag.blockNum = block;
	return tag;
}

/*
 * Have it recorded that this process reads for BufferPoolReadingFor.  False if
 * there was no room.
 */
bool
BufferPoolRecordReader(uint64 time)
{
	BufferTag	tag = scan_tag(BufferPoolReadingFor, 0, 0);

	if (reads_for == BufferPoolReadingFor &&
		said_in == BufferPoolRecordingSerial())
		return true;
	if (!BufferPoolPutRecord(&tag, RECORD_READS_FOR, 0, 0, time))
		return false;
	reads_for = BufferPoolReadingFor;
	said_in = BufferPoolRecordingSerial();
	return true;
}

/* A handle for a scan that no algorithm asks for. */
uint64
BufferPoolRecordedScan(bool trail)
{
	return (uint64) BufferPoolRecordedScanNumber() << 32 | RECORDED_SCAN |
		(trail ? TP_TRAIL_HANDLE : 0);
}

/* A scan of the main fork begins.  flags: the kind, and the like. */
void
BufferPoolRecordScanBegin(uint64 handle, const RelFileLocator *locator,
						  const tp_scan_spec *spec, uint32 flags, uint64 now)
{
	const tp_bitmap *bitmap = spec->bitmap;
	RecordedScan scan = {.handle = handle, .count = spec->count, .size = spec->size};
	BufferTag	tag;

	InitBufferTag(&tag, locator, MAIN_FORKNUM, spec->first);
	flags |= RECORD_STEPS | (spec->backward ? RECORD_BACKWARD : 0) |
		(spec->companion ? RECORD_COMPANION : 0);
	if (bitmap != NULL)
	{
		uint32		groups = (spec->size - 1) >> bitmap->shift;

		flags |= RECORD_BITMAP;
		scan.count = groups / BITS_PER_BYTE + 1;
	}
	if (!BufferPoolPutRecord(&tag, RECORD_SCAN_BEGIN, flags, 0, now * NS_PER_US))
		return;
	BufferPoolPutText(&scan, sizeof(scan), 0, now * NS_PER_US);
	if (bitmap != NULL)
		BufferPoolPutText(bitmap->words, scan.count, 0, now * NS_PER_US);
}

/* An index scan begins whose blocks are not known. */
void
BufferPoolRecordTrailBegin(uint64 handle, const RelFileLocator *table,
						   uint32 index, uint64 now)
{
	tp_scan_spec spec = {.size = index};

	BufferPoolRecordScanBegin(handle, table, &spec, RECORD_INDEX, now);
}

/* The scan has come to this block; a trail, to this tuple of it. */
void
BufferPoolRecordScanAdvance(uint64 handle, BlockNumber block,
							OffsetNumber tuple, uint64 now)
{
	BufferTag	tag = scan_tag(handle, tuple, block);

	(void) BufferPoolPutRecord(&tag, RECORD_SCAN_ADVANCE, 0, 0,
							   now * NS_PER_US);
}

/* The scan is over; 0: all scans of this process are. */
void
BufferPoolRecordScanEnd(uint64 handle)
{
	BufferTag	tag = scan_tag(handle, 0, 0);

	(void) BufferPoolPutRecord(&tag, RECORD_SCAN_END, 0, 0,
							   BufferPoolRecorderTime());
}
