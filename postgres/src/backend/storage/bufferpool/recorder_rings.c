/*-------------------------------------------------------------------------
 *
 * recorder_rings.c
 *	  The rings that processes put the events of a recording into.
 *
 * Every process has a ring in shared memory.  Only the process puts events in
 * and moves the head; only the recorder, a background worker of the extension
 * pg_bufferpool, takes them out and moves the tail.  So neither waits for the
 * other, no locks are needed, and events can be recorded anywhere, even in
 * critical sections.  If a ring is full, the event is dropped and counted.
 *
 * A ring belongs to a slot of PGPROC, not to the process in it, so events are
 * still written after their process has ended.
 *
 * While nothing is recorded, this costs one branch at each hit, and memory
 * that is never touched.
 *
 * src/backend/storage/bufferpool/recorder_rings.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc_hooks.h"

/*
 * By default: at most this part of shared_buffers, 1.6 %, since servers that
 * never record reserve it, too.  Chosen, not measured: with a quarter of it,
 * 128 MB and 100 connections would just be enough to record; with more, rings
 * are longer, up to AMPLE_TRACE_BUFFERS, and overflow later.
 */
#define TRACE_BUFFERS_SHARE 64

/*
 * How long events wait for one that is pending, whose process writes the page that
 * makes room.  Then they are written, and it comes late.
 */
#define PATIENCE_NANOSECONDS UINT64CONST(1000000000)

/* What the processes need to know.  The recorder sets it before the flag. */
typedef struct RecorderShared
{
	volatile uint32 recording;
	volatile uint32 serial;		/* of the recording */
	int			recorder;		/* its ProcNumber */
	uint64		threshold;		/* pages with a lower hash are recorded */
	uint64		dropped_before; /* sum over the rings at the start */
	pg_atomic_uint32 scans;		/* announced to recordings alone */
	RecordedReadTimes read_times;
} RecorderShared;

int			bufferpool_trace_buffers = -1;

BufferRings BufferPoolRings;

bool	   *BufferPoolMetPinned;

/* The flag of a server without rings. */
static uint32 never;

volatile uint32 *BufferPoolRecordingFlag = &never;

static RecorderShared *shared;
static int	my_ring = -1;

/* The recording that knows of this process; 0: none. */
static uint32 introduced_in;

/* ---- set-up ---- */

/* The number of processes that may use shared buffers.  Each has a ring. */
int
BufferPoolRingCount(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

static Size
rings_size(void)
{
	return mul_size(BufferPoolRingCount(), sizeof(BufferRing));
}

static Size
pins_size(void)
{
	return mul_size(NBuffers, sizeof(bool));
}

static Size
records_size(uint32 capacity)
{
	return mul_size(mul_size(BufferPoolRingCount(), capacity),
					sizeof(BufferRecord));
}

/* Shared memory needed in all, with rings of this capacity. */
static Size
memory_size(uint32 capacity)
{
	Size		size = sizeof(RecorderShared);

	if (capacity == 0)
		return size;
	size = add_size(size, add_size(rings_size(), pins_size()));
	return add_size(size, add_size(records_size(capacity),
								   4 * PG_CACHE_LINE_SIZE));
}

/*
 * The meaning of bufferpool.trace_buffers = -1: the largest power of two, up
 * to AMPLE_TRACE_BUFFERS, with which everything fits into the share of
 * shared_buffers; 0 if that would be less than LEAST_TRACE_BUFFERS.
 */
int
BufferPoolDefaultTraceBuffers(void)
{
	Size		share = (Size) NBuffers * BLCKSZ / TRACE_BUFFERS_SHARE;
	uint32		capacity = LEAST_TRACE_BUFFERS;

	if (memory_size(capacity) > share)
		return 0;
	while (capacity < AMPLE_TRACE_BUFFERS && memory_size(2 * capacity) <= share)
		capacity *= 2;
	return capacity;
}

/* Replace the value by the one in use, so that SHOW shows it. */
bool
check_bufferpool_trace_buffers(int *newval, void **extra, GucSource source)
{
	if (*newval > 0)
		*newval = pg_nextpower2_32(*newval);
	else if (*newval == -1 && bufferpool_trace_buffers != -1)
		*newval = BufferPoolDefaultTraceBuffers();

	/*
	 * When the server starts, shared_buffers and the number of processes are
	 * not known yet; BufferPoolRecorderShmemSize does it then.
	 */
	return true;
}

static void
resolve_trace_buffers(void)
{
	char		text[32];

	if (bufferpool_trace_buffers != -1)
		return;
	snprintf(text, sizeof(text), "%d", BufferPoolDefaultTraceBuffers());
	SetConfigOption("bufferpool.trace_buffers", text, PGC_POSTMASTER,
					PGC_S_DYNAMIC_DEFAULT);
	/* an explicit -1 outranks a dynamic default */
	if (bufferpool_trace_buffers == -1)
		SetConfigOption("bufferpool.trace_buffers", text, PGC_POSTMASTER,
						PGC_S_OVERRIDE);
}

Size
BufferPoolRecorderShmemSize(void)
{
	resolve_trace_buffers();
	return memory_size(bufferpool_trace_buffers);
}

void
BufferPoolRecorderShmemInit(void)
{
	BufferRings *all = &BufferPoolRings;
	bool		found;

	shared = ShmemInitStruct("Buffer Pool Recorder", sizeof(RecorderShared),
							 &found);
	if (!found)
	{
		MemSet(shared, 0, sizeof(RecorderShared));
		pg_atomic_init_u32(&shared->scans, 0);
		BufferPoolInitRecordedReadTimes();
	}
	all->capacity = bufferpool_trace_buffers;
	if (all->capacity == 0)
		return;
	all->count = BufferPoolRingCount();
	all->rings = ShmemInitStruct("Buffer Pool Recorder Rings", rings_size(),
								 &found);
	if (!found)
		for (int i = 0; i < all->count; i++)
		{
			pg_atomic_init_u64(&all->rings[i].head, 0);
			pg_atomic_init_u64(&all->rings[i].dropped, 0);
			pg_atomic_init_u64(&all->rings[i].pending, 0);
			pg_atomic_init_u64(&all->rings[i].tail, 0);
		}
	/* not initialized, so that they occupy no memory until they are used */
	BufferPoolMetPinned = ShmemInitStruct("Buffer Pool Recorder Pins",
										  pins_size(), &found);
	all->records = ShmemInitStruct("Buffer Pool Recorder Events",
								   records_size(all->capacity), &found);
	BufferPoolRecordingFlag = &shared->recording;
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolRecorderInitProcess(void)
{
	if (MyProcNumber >= 0 && MyProcNumber < BufferPoolRings.count)
		my_ring = MyProcNumber;
}

/* ---- events ---- */

/* Another number for each recording, never 0. */
uint32
BufferPoolRecordingSerial(void)
{
	return shared->serial;
}

/* A sample lacks what is below shared buffers. */
bool
BufferPoolRecordingAllPages(void)
{
	return BufferPoolRecording() && shared->threshold == PG_UINT64_MAX;
}

RecordedReadTimes *
BufferPoolRecordedReadTimes(void)
{
	return &shared->read_times;
}

/* A number for a scan that no algorithm knows of. */
uint32
BufferPoolRecordedScanNumber(void)
{
	return pg_atomic_fetch_add_u32(&shared->scans, 1);
}

/*
 * Is this page in the sample?  The rule of docs/trace-format.md for seed 0,
 * with the file number in place of the relation number.
 */
bool
BufferPoolInSample(const BufferTag *tag)
{
	uint64		page = (uint64) tag->relNumber << 34 |
		(uint64) tag->forkNum << 32 | tag->blockNum;

	return shared->threshold == PG_UINT64_MAX ||
		tp_mix64(page + tp_mix64(UINT64CONST(0x9e3779b97f4a7c15))) < shared->threshold;
}

/*
 * The first event that this process puts into a recording says that its number is
 * another process's now: algorithms have random numbers for each.
 */
static pg_noinline void
introduce(uint64 time)
{
	BufferTag	tag = {.forkNum = MAIN_FORKNUM};

	introduced_in = shared->serial;
	tag.blockNum = BufferPoolFormerProcesses();
	(void) BufferPoolPutRecord(&tag, RECORD_PROCESS, 0, 0, time);
}

/*
 * Put an event into this process's ring.  Returns whether there was room.  Never
 * blocks, allocates or fails.
 */
bool
BufferPoolPutRecord(const BufferTag *tag, uint8 kind, uint32 flags, int pool,
					uint64 time)
{
	BufferRings *all = &BufferPoolRings;
	BufferRing *ring;
	BufferRecord *record;
	uint64		head;

	if (my_ring < 0)
		return false;
	if (unlikely(introduced_in != shared->serial))
		introduce(time);
	ring = &all->rings[my_ring];
	head = pg_atomic_read_u64(&ring->head);
	if (head - pg_atomic_read_u64(&ring->tail) >= all->capacity)
	{
		pg_atomic_write_u64(&ring->dropped,
							pg_atomic_read_u64(&ring->dropped) + 1);
		return false;
	}
	pg_memory_barrier();		/* write only to a place that is free */
	record = &all->records[(Size) my_ring * all->capacity +
						   (head & (all->capacity - 1))];
	record->time = time;
	record->tablespace = tag->spcOid;
	record->database = tag->dbOid;
	record->file = tag->relNumber;
	record->block = tag->blockNum;
	record->process = MyProcNumber | (uint32) pool << RECORD_POOL_SHIFT;
	record->flags = flags;
	record->fork = tag->forkNum;
	record->kind = kind;
	pg_write_barrier();			/* complete the event before it is visible */
	pg_atomic_write_u64(&ring->head, head + 1);
	return true;
}

/*
 * The time.  An event of this process may yet be put into its ring with it, until
 * the process pends another time, or nothing.
 */
uint64
BufferPoolPendTime(void)
{
	pg_atomic_uint64 *pending;
	uint64		time;

	if (my_ring < 0)
		return BufferPoolRecorderTime();
	pending = &BufferPoolRings.rings[my_ring].pending;
	pg_atomic_write_membarrier_u64(pending, 1);
	time = BufferPoolRecorderTime();
	pg_atomic_write_u64(pending, time);
	return time;
}

void
BufferPoolPendNothing(void)
{
	if (my_ring >= 0)
		pg_atomic_write_membarrier_u64(&BufferPoolRings.rings[my_ring].pending, 0);
}

/* Wake the recorder if the ring is half full; else it looks often enough. */
void
BufferPoolWakeRecorder(void)
{
	BufferRing *ring;

	if (my_ring < 0)
		return;
	ring = &BufferPoolRings.rings[my_ring];
	if (pg_atomic_read_u64(&ring->head) - pg_atomic_read_u64(&ring->tail) >=
		BufferPoolRings.capacity / 2)
		SetLatch(&GetPGProcByNumber(shared->recorder)->procLatch);
}

/*
 * Put text, or other bytes, behind the event that they belong to.  If there is
 * no room for a part, readers notice.
 */
void
BufferPoolPutText(const void *text, Size size, int pool, uint64 time)
{
	BufferTag	tag = {.forkNum = MAIN_FORKNUM};

	for (Size at = 0; at < size; at += RECORD_TEXT_BYTES)
	{
		Oid			part[RECORD_TEXT_BYTES / sizeof(Oid)] = {0};

		memcpy(part, (const char *) text + at, Min(size - at, RECORD_TEXT_BYTES));
		tag.spcOid = part[0];
		tag.dbOid = part[1];
		tag.relNumber = part[2];
		tag.blockNum = part[3];
		(void) BufferPoolPutRecord(&tag, RECORD_TEXT, 0, pool, time);
	}
}

/* ---- for the recorder ---- */

static uint64
dropped_ever(void)
{
	uint64		sum = 0;

	for (int i = 0; i < BufferPoolRings.count; i++)
		sum += pg_atomic_read_u64(&BufferPoolRings.rings[i].dropped);
	return sum;
}

/*
 * Start recording the pages whose hash is below threshold (PG_UINT64_MAX: all
 * pages).  Events left in the rings by the last recording are discarded.  The
 * caller is the only recorder.  recorder: its ProcNumber; its latch is set
 * when a ring fills up.
 */
void
BufferPoolStartRecording(uint64 threshold, int recorder)
{
	for (int i = 0; i < BufferPoolRings.count; i++)
	{
		BufferRing *ring = &BufferPoolRings.rings[i];

		pg_atomic_write_u64(&ring->tail, pg_atomic_read_u64(&ring->head));
		pg_atomic_write_u64(&ring->pending, 0);
	}
	shared->serial++;
	shared->threshold = threshold;
	shared->recorder = recorder;
	shared->dropped_before = dropped_ever();
	BufferPoolInitRecordedReadTimes();
	memset(BufferPoolMetPinned, 0, NBuffers * sizeof(bool));
	pg_memory_barrier();
	shared->recording = 1;
}

/*
 * No event is pending that is older than this, or that of a process which has been
 * at it for longer than PATIENCE: the rings must be emptied.
 */
uint64
BufferPoolRecordedUntil(void)
{
	uint64		now = BufferPoolRecorderTime();
	uint64		until = now;

	pg_memory_barrier();		/* read the clock, then what is pending */
	for (int i = 0; i < BufferPoolRings.count; i++)
	{
		uint64		pending = pg_atomic_read_u64(&BufferPoolRings.rings[i].pending);

		if (pending > 0 && pending <= until)
			until = pending - 1;
	}
	return Max(until, now - PATIENCE_NANOSECONDS);
}

/*
 * Stop recording.  Each process may still be about to put in one event.
 */
void
BufferPoolStopRecording(void)
{
	shared->recording = 0;
	pg_memory_barrier();
}

/* Events dropped since the start of this recording, or of the last one. */
uint64
BufferPoolRecordsDropped(void)
{
	return dropped_ever() - shared->dropped_before;
}
