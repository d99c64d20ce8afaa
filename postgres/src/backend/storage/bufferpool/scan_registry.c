/*-------------------------------------------------------------------------
 *
 * scan_registry.c
 *	  The registries in shared memory of running scans, and of index scans
 *	  that leave marks.
 *
 * All pools share them (tidepool/prediction/scan.h and trail.h).  A lock guards
 * the beginning and the end of scans.  They advance, and are asked about,
 * without it.
 *
 * src/backend/storage/bufferpool/scan_registry.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_scan_registry.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/rel.h"

int			bufferpool_max_scans;

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
	BufferPoolServices.expect_frame = BufferPoolExpectVictim;
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

/* ---- beginning and ending ---- */

/* Does the algorithm of the relation's pool ask for scans? */
bool
BufferPoolPoolAsks(Relation rel)
{
	return has_registry() &&
		(BufferPoolForRelation(rel, NULL)->flags & TP_ASKS_SCANS) != 0;
}

/* The relation's main fork in the core's terms. */
uint64
BufferPoolRelationNumber(Relation rel)
{
	BufferTag	tag;

	InitBufferTag(&tag, &rel->rd_locator, MAIN_FORKNUM, 0);
	return BufferTagPage(&tag).relation;
}

/* Enter the scan into the registry.  Returns its handle, or 0. */
uint64
BufferPoolEnterScan(const BufferPoolScan *scan, Relation rel,
					BufferPoolScanKind kind, const tp_scan_spec *spec,
					uint64 now)
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

/* Likewise an index scan that leaves marks. */
uint64
BufferPoolEnterTrail(Relation rel, uint32 index, uint64 now)
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

/* Count what becomes of this scan, in its relation's pool. */
static void
count_scan(uint32 number, BufferPoolCounter counter)
{
	BufferPoolCount(&BufferPools[table->details[number].pool], counter);
}

/* The scan is over; counter: how it ended. */
void
BufferPoolLeaveRegistry(uint64 handle, BufferPoolCounter counter)
{
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	if (tp_is_trail(handle))
		tp_trail_end(&trails, handle);
	else
	{
		count_scan(tp_scan_number(handle), counter);
		tp_scan_end(&scans, handle);
	}
	LWLockRelease(&table->lock);
}

/* The process exits with scans that nobody has ended. */
void
BufferPoolAbandonScans(void)
{
	tp_scan_look look;

	if (!has_registry())
		return;
	LWLockAcquire(&table->lock, LW_EXCLUSIVE);
	for (uint32 number = 0; number < tp_scan_places(&scans); number++)
		if (tp_scan_look_at(&scans, number, 0, &look) &&
			look.owner == MyProcNumber)
			count_scan(number, BUFFERPOOL_SCANS_ABANDONED);
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

/* Scans that there are places for, whatever their relations; 0: no registry. */
uint32
BufferPoolScanCapacity(void)
{
	return has_registry() ? capacity() : 0;
}

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
