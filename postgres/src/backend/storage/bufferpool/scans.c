/*-------------------------------------------------------------------------
 *
 * scans.c
 *	  Scans announce what they will read, for algorithms that ask.
 *
 * A scan is announced at its first block, since many that begin never read one,
 * and since its range, its direction and where a synchronized scan begins are
 * not known earlier.  Its position is what it has consumed, not what its read
 * stream has asked for: pages in between are needed at once.
 *
 * The owner of a scan is the resource owner of its query.  It ends the scan
 * after an error or a cancel, with the portal or the subtransaction.  A
 * process that exits ends what is left.
 *
 * Each process of a parallel scan announces all of the scan, and where it is
 * itself.  A page that another process has read already seems to be needed
 * until this one has passed it, which is soon: the processes keep together.
 * Owned by the leader, the scan would end while others read if the leader is
 * done first, and would have no owner where the leader takes no part.
 *
 * During a recording all scans are announced.  Those that no algorithm asks for
 * are in the recording alone (recorded_scans.c), and have no number.
 *
 * src/backend/storage/bufferpool/scans.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/bufferpool_scan_registry.h"
#include "utils/rel.h"

StaticAssertDecl(sizeof(Datum) >= sizeof(uint64),
				 "a resource owner remembers the handle of a scan");

bool		BufferPoolAskedForScans = false;
uint64		BufferPoolReadingFor = 0;

/* Scans that this process has announced and not ended. */
static int	announced = 0;

/* ---- owners ---- */

static void
end_scan(uint64 handle, BufferPoolCounter counter)
{
	if (BufferPoolRecording())
		BufferPoolRecordScanEnd(handle);
	if (!BufferPoolIsRecordedScan(handle))
		BufferPoolLeaveRegistry(handle, counter);
	announced--;
	if (BufferPoolReadingFor == handle)
		BufferPoolReadingFor = 0;
}

static void
release_scan(Datum handle)
{
	end_scan(DatumGetUInt64(handle), BUFFERPOOL_SCANS_ABANDONED);
}

static char *
describe_scan(Datum handle)
{
	return psprintf("scan " UINT64_FORMAT, DatumGetUInt64(handle));
}

static const ResourceOwnerDesc scan_owner = {
	.name = "buffer pool scan",
	.release_phase = RESOURCE_RELEASE_BEFORE_LOCKS,
	.release_priority = RELEASE_PRIO_BUFFER_POOL_SCANS,
	.ReleaseResource = release_scan,
	.DebugPrint = describe_scan
};

/* ---- announcing ---- */

/*
 * Shall a scan of this relation, of so many blocks, be announced?  Catalogs
 * are not: the scans of them are short, and made by commands that should not
 * depend on pools.
 */
bool
BufferPoolAsksForScans(Relation rel, BlockNumber blocks)
{
	return blocks >= BUFFERPOOL_LEAST_ANNOUNCED &&
		!RelationUsesLocalBuffers(rel) && !IsCatalogRelation(rel) &&
		CurrentResourceOwner != NULL &&
		(BufferPoolRecording() || BufferPoolPoolAsks(rel));
}

/* The scan belongs to the current resource owner, which has room for it. */
void
BufferPoolOwnScan(BufferPoolScan *scan)
{
	scan->owner = CurrentResourceOwner;
	ResourceOwnerRemember(scan->owner, UInt64GetDatum(scan->handle),
						  &scan_owner);
	announced++;
}

/* The flags in recordings of scans of this kind. */
static uint32
recorded_kind(BufferPoolScanKind kind)
{
	switch (kind)
	{
		case BUFFERPOOL_BITMAP_SCAN:
			return RECORD_BITMAP;
		case BUFFERPOOL_INDEX_SCAN:
			return RECORD_INDEX;
		case BUFFERPOOL_VACUUM_SCAN:
			return TP_VACUUM;	/* and RECORD_BITMAP, which all have */
		default:
			return RECORD_SEQUENTIAL;
	}
}

/* A scan of these blocks begins in the recording. */
static void
record_begin(BufferPoolScan *scan, const tp_scan_spec *spec, uint64 now)
{
	BufferPoolRecordScanBegin(scan->handle, &scan->locator, spec,
							  recorded_kind(scan->kind) |
							  (scan->met_pid != 0 ? RECORD_MET : 0), now);
	scan->recorded_in = BufferPoolRecordingSerial();
}

/*
 * The scan is older than the recording.  What it has still to read begins in
 * it now.
 */
static pg_noinline void
record_rest(BufferPoolScan *scan, uint64 now)
{
	tp_bitmap	bitmap;
	tp_scan_spec rest;

	if (BufferPoolIsRecordedScan(scan->handle) ||
		!tp_scan_rest(BufferPoolServices.scans, scan->handle, &rest, &bitmap))
		return;
	if (rest.low != 0)
	{
		/* recordings have no such wraps: what comes before them */
		rest.count = Min(rest.count, rest.backward ? rest.first - rest.low + 1 :
						 rest.low + rest.size - rest.first);
		rest.size = 0;
	}
	record_begin(scan, &rest, now);
}

static void
announce(BufferPoolScan *scan, Relation rel, BufferPoolScanKind kind,
		 tp_scan_spec *spec)
{
	uint64		now = BufferPoolNow();

	spec->relation = BufferPoolRelationNumber(rel);
	spec->owner = MyProcNumber;
	spec->companion = IsParallelWorker();
	scan->silent = 0;
	scan->kind = kind;
	scan->locator = rel->rd_locator;
	scan->recorded_in = 0;
	ResourceOwnerEnlarge(CurrentResourceOwner);
	scan->handle = BufferPoolPoolAsks(rel) ?
		BufferPoolEnterScan(scan, rel, kind, spec, now) :
		BufferPoolRecordedScan(false);
	if (scan->handle == 0)
		return;
	BufferPoolOwnScan(scan);
	if (BufferPoolRecording())
		record_begin(scan, spec, now);
}

/*
 * Announce a scan of blocks of the relation's main fork, which
 * BufferPoolAnnounces said shall be.  If the registry is full the scan's handle
 * is 0, and it goes unpredicted.
 */
void
BufferPoolAnnounceRange(BufferPoolScan *scan, Relation rel,
						BufferPoolScanKind kind,
						const BufferPoolScanRange *range)
{
	tp_scan_spec spec = {0};

	BufferPoolEndScan(scan);
	if (range->count < BUFFERPOOL_LEAST_ANNOUNCED)
		return;
	spec.first = range->first;
	spec.count = range->count;
	spec.size = range->size;
	spec.backward = range->backward;
	announce(scan, rel, kind, &spec);
}

/* An empty bitmap for a relation of so many blocks, to be filled and announced. */
tp_bitmap *
BufferPoolMakeBitmap(BlockNumber blocks)
{
	tp_bitmap  *bitmap = palloc_object(tp_bitmap);

	tp_bitmap_init(bitmap, blocks);
	return bitmap;
}

/* The last of the blocks that have a bit in common with this one. */
BlockNumber
BufferPoolLastOfGroup(const tp_bitmap *bitmap, BlockNumber block)
{
	return block | ((1U << bitmap->shift) - 1);
}

/*
 * The scan will read this block.  (The bitmap is a void *, for callbacks.)
 * Returns the next one that has another bit.
 */
BlockNumber
BufferPoolAddToBitmap(void *bitmap, BlockNumber block)
{
	tp_bitmap_add(bitmap, block, 1);
	return BufferPoolLastOfGroup(bitmap, block) + 1;
}

/*
 * As BufferPoolAnnounceRange, the blocks in the bitmap, which is freed: from
 * block first to the end, and then those before.
 */
void
BufferPoolAnnounceBitmap(BufferPoolScan *scan, Relation rel,
						 BufferPoolScanKind kind, BlockNumber blocks,
						 tp_bitmap *bitmap, BlockNumber first)
{
	tp_scan_spec spec = {0};

	BufferPoolEndScan(scan);
	spec.first = first;
	spec.size = blocks;
	spec.bitmap = bitmap;
	announce(scan, rel, kind, &spec);
	pfree(bitmap);
}

/* The scan has come to this block. */
void
BufferPoolAdvanceScan(BufferPoolScan *scan, BlockNumber block)
{
	const tp_scans *scans = BufferPoolServices.scans;
	uint64		now;

	scan->silent = BUFFERPOOL_SCAN_STEP - 1;
	if (unlikely(BufferPoolRecording()))
	{
		/* what is recorded has one time */
		now = BufferPoolNow();
		if (scan->recorded_in != BufferPoolRecordingSerial())
			record_rest(scan, now);
		if (!BufferPoolIsRecordedScan(scan->handle))
			tp_scan_advance(scans, scan->handle, block, now);
		BufferPoolRecordScanAdvance(scan->handle, block, 0, now);
	}
	else if (!BufferPoolIsRecordedScan(scan->handle) &&
			 tp_scan_step(scans, scan->handle, block, BufferPoolCoarseNow()))
		tp_scan_measure(scans, scan->handle, block, BufferPoolNow());
}

/* The scan is over. */
void
BufferPoolForgetScan(BufferPoolScan *scan)
{
	ResourceOwnerForget(scan->owner, UInt64GetDatum(scan->handle), &scan_owner);
	end_scan(scan->handle, BUFFERPOOL_SCANS_ENDED);
	scan->handle = 0;
}

/*
 * The process exits.  Its resource owners have ended what they knew of; this is
 * for scans that have none left.  They are counted as abandoned.
 */
void
BufferPoolEndScansAtExit(void)
{
	if (announced == 0)
		return;
	if (BufferPoolRecording())
		BufferPoolRecordScanEnd(0);
	announced = 0;
	BufferPoolAbandonScans();
}
