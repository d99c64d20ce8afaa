/*-------------------------------------------------------------------------
 *
 * scans.c
 *	  The running scans, for algorithms that ask what will be read.
 *
 * All pools share one registry (tidepool/prediction/scan.h).  A scan is
 * announced at its first block, since many that begin never read one, and
 * since its range, its direction and where a synchronized scan begins are not
 * known earlier.  Its position is what it has consumed, not what its read
 * stream has asked for: pages in between are needed at once.
 *
 * The owner of a scan is the resource owner of its query.  It ends the scan
 * after an error or a cancel, with the portal or the subtransaction.  A
 * process that exits ends what is left.
 *
 * An index scan reads blocks of its table in the order of the index.  If the
 * planner knows that this is nearly the table's order, the scan is announced as
 * the range that the planner expects.  Other index scans leave marks on
 * tuples, by which the registry finds scans that follow each other
 * (tidepool/prediction/trail.h), once they have fetched so many that they are
 * no lookups.
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
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/rel.h"

StaticAssertDecl(sizeof(Datum) >= sizeof(uint64),
				 "a resource owner remembers the handle of a scan");

int			bufferpool_max_scans;
bool		bufferpool_synchronize_bitmap_scans;

bool		BufferPoolAskedForScans = false;
uint64		BufferPoolReadingFor = 0;

/* What pools ask.  Members are NULL if there is no registry. */
tp_services BufferPoolServices;

/*
 * Scans if "bufferpool.max_scans" is -1: at most AMPLE, with which the registry
 * takes less than 1 MB, and one for 32 buffers where that is less: 1 % of
 * shared_buffers.  Chosen, not measured: places for eight scans of one relation
 * cost as much as one for a single scan.
 */
#define AMPLE_SCANS 512
#define LEAST_SCANS 16
#define BUFFERS_PER_SCAN 32

/*
 * Scans of fewer blocks are not announced: they are over before anyone could
 * use it, and many a join makes thousands of them.  Chosen, not measured.
 */
#define LEAST_BLOCKS TP_BLOCK_GROUP

/* What the view of scans shows and the registry does not know. */
typedef struct ScanDetails
{
	Oid			database;
	Oid			relation;
	uint8		kind;			/* a BufferPoolScanKind */
	uint8		pool;			/* number of the relation's pool */
	int			met_pid;		/* of the scan that it met, or 0 */
} ScanDetails;

typedef struct ScanTable
{
	LWLock		lock;			/* to begin and end scans */
	ScanDetails details[FLEXIBLE_ARRAY_MEMBER]; /* by the scan's number */
} ScanTable;

static ScanTable *table;
static tp_scans scans;
static tp_trails trails;

/*
 * Marks for each index scan that can be known of: between a leader and its last
 * follower there may be so many times TP_TRAIL_EVERY tuples.  Chosen, not
 * measured: 24 bytes each.
 */
#define MARKS_PER_SCAN 8

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

/* Scans that this process has announced and not ended. */
static int	announced = 0;

/* ---- memory ---- */

static bool
has_registry(void)
{
	return table != NULL;
}

static uint32
capacity(void)
{
	if (bufferpool_max_scans >= 0)
		return bufferpool_max_scans;
	return Max(Min(NBuffers / BUFFERS_PER_SCAN, AMPLE_SCANS), LEAST_SCANS);
}

/* Half of the scans may have bitmaps; the others would be ranges. */
static uint32
bitmaps(void)
{
	return (capacity() + 1) / 2;
}

static Size
table_size(void)
{
	return offsetof(ScanTable, details) +
		mul_size(mul_size(capacity(), TP_SCAN_LANES), sizeof(ScanDetails));
}

static Size
trails_size(void)
{
	return tp_trails_size(capacity(), capacity() * MARKS_PER_SCAN);
}

static Size
registry_size(void)
{
	return add_size(table_size(),
					add_size(tp_scans_size(capacity(), bitmaps()), trails_size()));
}

/* has_algorithms: there may be pools with algorithms. */
Size
BufferPoolScansShmemSize(bool has_algorithms)
{
	if (!has_algorithms || capacity() == 0)
		return 0;
	return add_size(registry_size(), 3 * PG_CACHE_LINE_SIZE);
}

void
BufferPoolScansShmemInit(bool has_algorithms)
{
	bool		found;
	void	   *memory;

	table = NULL;
	MemSet(&BufferPoolServices, 0, sizeof(BufferPoolServices));
	BufferPoolServices.is_dirty = BufferPoolIsDirty;
	if (!has_algorithms || capacity() == 0)
		return;
	memory = ShmemInitStruct("Buffer Pool Scans",
							 tp_scans_size(capacity(), bitmaps()), &found);
	if (!found)
		tp_scans_init(capacity(), bitmaps(), memory);
	scans = tp_scans_view(memory);
	memory = ShmemInitStruct("Buffer Pool Trails", trails_size(), &found);
	if (!found)
		tp_trails_init(capacity(), capacity() * MARKS_PER_SCAN, memory);
	trails = tp_trails_view(memory);
	table = ShmemInitStruct("Buffer Pool Scan Table", table_size(), &found);
	if (!found)
	{
		MemSet(table, 0, table_size());
		LWLockInitialize(&table->lock, LWTRANCHE_BUFFER_POOL_SCANS);
	}
	BufferPoolServices.scans = &scans;
	BufferPoolServices.trails = &trails;
}

/* ---- owners ---- */

static void
unregister(uint64 handle, BufferPoolCounter counter)
{
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	if (tp_is_trail(handle))
		tp_trail_end(&trails, handle);
	else
		tp_scan_end(&scans, handle);
	LWLockRelease(&table->lock);
	if (!tp_is_trail(handle))
		BufferPoolCount(&BufferPools[table->details[tp_scan_number(handle)].pool],
						counter);
}

static void
end_scan(uint64 handle, BufferPoolCounter counter)
{
	if (BufferPoolRecording())
		BufferPoolRecordScanEnd(handle);
	if (!BufferPoolIsRecordedScan(handle))
		unregister(handle, counter);
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

/* Does the algorithm of the relation's pool ask for scans? */
static bool
pool_asks(Relation rel)
{
	return has_registry() &&
		(BufferPoolForRelation(rel, NULL)->flags & TP_ASKS_SCANS) != 0;
}

/*
 * Shall a scan of this relation, of so many blocks, be announced?  Catalogs
 * are not: the scans of them are short, and made by commands that should not
 * depend on pools.
 */
bool
BufferPoolAsksForScans(Relation rel, BlockNumber blocks)
{
	return blocks >= LEAST_BLOCKS && !RelationUsesLocalBuffers(rel) &&
		!IsCatalogRelation(rel) && CurrentResourceOwner != NULL &&
		(BufferPoolRecording() || pool_asks(rel));
}

static uint64
relation_number(Relation rel)
{
	BufferTag	tag;

	InitBufferTag(&tag, &rel->rd_locator, MAIN_FORKNUM, 0);
	return BufferTagPage(&tag).relation;
}

/* Enter the scan into the registry.  Returns its handle, or 0. */
static uint64
enter(const BufferPoolScan *scan, Relation rel, BufferPoolScanKind kind,
	  const tp_scan_spec *spec, uint64 now)
{
	BufferPool *pool = BufferPoolForRelation(rel, NULL);
	uint64		handle;

	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	handle = tp_scan_begin(&scans, spec, now);
	if (handle != 0)
	{
		ScanDetails *details = &table->details[tp_scan_number(handle)];

		details->database = rel->rd_locator.dbOid;
		details->relation = RelationGetRelid(rel);
		details->kind = kind;
		details->pool = BufferPoolNumber(pool);
		details->met_pid = scan->met_pid;
	}
	LWLockRelease(&table->lock);
	BufferPoolCount(pool, handle == 0 ? BUFFERPOOL_SCANS_REFUSED :
					BUFFERPOOL_SCANS_BEGUN);
	return handle;
}

/* The scan belongs to the current resource owner, which has room for it. */
static void
own(BufferPoolScan *scan)
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

static void
announce(BufferPoolScan *scan, Relation rel, BufferPoolScanKind kind,
		 tp_scan_spec *spec)
{
	uint64		now = BufferPoolNow();

	spec->relation = relation_number(rel);
	spec->owner = MyProcNumber;
	spec->companion = IsParallelWorker();
	scan->silent = 0;
	ResourceOwnerEnlarge(CurrentResourceOwner);
	scan->handle = pool_asks(rel) ? enter(scan, rel, kind, spec, now) :
		BufferPoolRecordedScan(false);
	if (scan->handle == 0)
		return;
	own(scan);
	if (BufferPoolRecording())
		BufferPoolRecordScanBegin(scan->handle, &rel->rd_locator, spec,
								  recorded_kind(kind) |
								  (scan->met_pid != 0 ? RECORD_MET : 0), now);
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
	if (range->count < LEAST_BLOCKS)
		return;
	spec.first = range->first;
	spec.count = range->count;
	spec.size = range->size;
	spec.backward = range->backward;
	announce(scan, rel, kind, &spec);
}

/*
 * Scans meet at multiples of this: the blocks that the other scan has just read
 * are still there.  As many as between two hints of synchronize_seqscans, so
 * that, as there, the first scans of a small table all begin at its beginning.
 */
#define MEETING_STEP 16

/* As tp_scan_meet; *met_pid: of the process whose scan it meets, 0 if none. */
static BlockNumber
meet(const tp_scan_spec *spec, int *met_pid)
{
	uint64		now = BufferPoolNow();
	uint64		met;
	BlockNumber block = tp_scan_meet(&scans, spec, now, &met);
	tp_scan_look look;

	*met_pid = met != 0 &&
		tp_scan_look_at(&scans, tp_scan_number(met), now, &look) ?
		GetPGProcByNumber(look.owner)->pid : 0;
	return block;
}

/*
 * Where a scan of all blocks of the relation, which BufferPoolAnnounces said
 * shall be announced, should begin to share most with a running one.  hint if
 * there is none to meet; then *met_pid is 0, else that scan's process.
 */
BlockNumber
BufferPoolMeetingBlock(Relation rel, BlockNumber blocks, BlockNumber hint,
					   int *met_pid)
{
	tp_scan_spec spec = {0};
	BlockNumber block;

	*met_pid = 0;
	if (!pool_asks(rel))
		return hint;
	spec.relation = relation_number(rel);
	spec.count = spec.size = blocks;
	block = meet(&spec, met_pid);
	block -= block % MEETING_STEP;
	if (block > 0)
		return block;
	if (hint > 0)
		*met_pid = 0;
	return hint;
}

/* Likewise for the blocks in the bitmap: 0, or a block at which a group begins. */
BlockNumber
BufferPoolMeetingGroup(Relation rel, BlockNumber blocks,
					   const tp_bitmap *bitmap, int *met_pid)
{
	tp_scan_spec spec = {0};

	*met_pid = 0;
	if (!synchronize_seqscans || !bufferpool_synchronize_bitmap_scans ||
		!pool_asks(rel))
		return 0;
	spec.relation = relation_number(rel);
	spec.size = blocks;
	spec.bitmap = bitmap;
	return meet(&spec, met_pid);
}

/* An empty bitmap for a relation of so many blocks, to be filled and announced. */
tp_bitmap *
BufferPoolMakeBitmap(BlockNumber blocks)
{
	tp_bitmap  *bitmap = palloc_object(tp_bitmap);

	tp_bitmap_init(bitmap, blocks);
	return bitmap;
}

/* The scan will read this block.  (The bitmap is a void *, for callbacks.) */
void
BufferPoolAddToBitmap(void *bitmap, BlockNumber block)
{
	tp_bitmap_add(bitmap, block, 1);
}

/* The last of the blocks that have a bit in common with this one. */
BlockNumber
BufferPoolLastOfGroup(const tp_bitmap *bitmap, BlockNumber block)
{
	return block | ((1U << bitmap->shift) - 1);
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
	uint64		now = BufferPoolNow();

	scan->silent = BUFFERPOOL_SCAN_STEP - 1;
	if (!BufferPoolIsRecordedScan(scan->handle))
		tp_scan_advance(&scans, scan->handle, block, now);
	if (BufferPoolRecording())
		BufferPoolRecordScanAdvance(scan->handle, block, 0, now);
}

/* ---- index scans ---- */

static void
announce_order(BufferPoolIndexScan *scan, Relation rel, BlockNumber block)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BufferPoolScanRange range = {.first = block, .size = 0};

	if (block >= blocks)
		return;
	range.backward = scan->correlation < 0;
	range.count = Min(scan->pages, range.backward ? block + 1 : blocks - block);
	BufferPoolAnnounceRange(&scan->scan, rel, BUFFERPOOL_INDEX_SCAN, &range);
}

/* As many bits as recordings have for it. */
static uint32
index_number(Relation index)
{
	return (uint32) (tp_mix64(relation_number(index)) >> 32);
}

static uint64
enter_trail(Relation rel, uint32 index, uint64 now)
{
	uint64		handle;

	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	handle = tp_trail_begin(&trails, index, MyProcNumber, now);
	LWLockRelease(&table->lock);
	if (handle != 0)
		BufferPoolCount(BufferPoolForRelation(rel, NULL),
						BUFFERPOOL_MARKING_SCANS);
	return handle;
}

static void
begin_trail(BufferPoolIndexScan *scan, Relation rel, Relation index)
{
	uint64		now = BufferPoolNow();
	uint32		number = index_number(index);

	scan->salt = tp_trail_salt(number);
	scan->trailing = false;
	ResourceOwnerEnlarge(CurrentResourceOwner);
	scan->scan.handle = pool_asks(rel) ? enter_trail(rel, number, now) :
		BufferPoolRecordedScan(true);
	if (scan->scan.handle == 0)
		return;
	own(&scan->scan);
	if (BufferPoolRecording())
		BufferPoolRecordTrailBegin(scan->scan.handle, &rel->rd_locator,
								   number, now);
}

/* The tuple is one that is marked. */
static void
mark_tuple(BufferPoolIndexScan *scan, Relation rel, uint64 tuple, uint64 now)
{
	BufferPool *pool = BufferPoolForRelation(rel, NULL);
	tp_trail_step step = tp_trail_tuple(&trails, scan->scan.handle, tuple, now);

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
		if (scan->fetches == 0 && scan->pages >= LEAST_BLOCKS &&
			scan->correlation * scan->correlation >= LEAST_SQUARED_CORRELATION &&
			BufferPoolAsksForScans(rel, LEAST_BLOCKS))
			announce_order(scan, rel, block);
		else if (scan->fetches == BLOCKS_OF_LOOKUPS && scan->scan.handle == 0 &&
				 BufferPoolAsksForScans(rel, LEAST_BLOCKS))
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

/* The scan is over. */
void
BufferPoolForgetScan(BufferPoolScan *scan)
{
	ResourceOwnerForget(scan->owner, UInt64GetDatum(scan->handle), &scan_owner);
	end_scan(scan->handle, BUFFERPOOL_SCANS_ENDED);
	scan->handle = 0;
}

/* The process exits. */
void
BufferPoolEndScansAtExit(void)
{
	if (announced == 0)
		return;
	if (BufferPoolRecording())
		BufferPoolRecordScanEnd(0);
	announced = 0;
	if (!has_registry())
		return;
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	tp_scan_end_owner(&scans, MyProcNumber);
	tp_trail_end_owner(&trails, MyProcNumber);
	LWLockRelease(&table->lock);
}

/*
 * Forget how relations have been scanned.  Takes the registry's lock, which
 * comes after the pools' locks and the mapping locks.
 */
void
BufferPoolForgetScans(void)
{
	if (!has_registry())
		return;
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	tp_scans_forget(&scans);
	LWLockRelease(&table->lock);
}

/* ---- seeing them ---- */

/* Scans have numbers below this; 0 if there is no registry. */
uint32
BufferPoolScanPlaces(void)
{
	return has_registry() ? tp_scan_places(&scans) : 0;
}

/*
 * Look at the scan with this number.  False if there is none, or if it ended
 * or began meanwhile.
 */
bool
BufferPoolLookAtScan(uint32 number, BufferPoolScanLook *look)
{
	const ScanDetails *details = &table->details[number];
	tp_scan_look again;

	if (!tp_scan_look_at(&scans, number, BufferPoolNow(), &look->scan))
		return false;
	look->database = details->database;
	look->relation = details->relation;
	look->kind = details->kind;
	look->pool = details->pool;
	look->met_pid = details->met_pid;
	pg_read_barrier();
	return tp_scan_look_at(&scans, number, 0, &again) &&
		again.handle == look->scan.handle;
}

/* Will the scan with this number read the block? */
bool
BufferPoolScanAwaits(uint32 number, BlockNumber block)
{
	return tp_scan_awaits(&scans, number, block);
}
