/*-------------------------------------------------------------------------
 *
 * recorder.c
 *	  The processes' side of a recording: they put events into rings.
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
 * src/backend/storage/bufferpool/recorder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker_internals.h"
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

/* What the processes need to know.  The recorder sets it before the flag. */
typedef struct RecorderShared
{
	volatile uint32 recording;
	volatile uint32 serial;		/* of the recording */
	int			recorder;		/* its ProcNumber */
	uint64		threshold;		/* pages with a lower hash are recorded */
	uint64		dropped_before; /* sum over the rings at the start */
	pg_atomic_uint32 scans;		/* announced to recordings alone */
} RecorderShared;

int			bufferpool_trace_buffers = -1;

BufferRings BufferPoolRings;

bool	   *BufferPoolMetPinned;

/* The flag of a server without rings. */
static uint32 never;

volatile uint32 *BufferPoolRecordingFlag = &never;

static RecorderShared *shared;
static int	my_ring = -1;

/* When this process chose the buffer for the page it is bringing in, or 0. */
static uint64 chosen_at;

/* When this process's search for a victim began, if its algorithm was told. */
static uint64 search_began;

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

/* Nanoseconds on a clock that all processes share. */
uint64
BufferPoolRecorderTime(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_NANOSEC(now);
}

/* The time of what a search for a victim meets. */
static uint64
event_time(void)
{
	return search_began != 0 ? search_began : BufferPoolRecorderTime();
}

/* Another number for each recording, never 0. */
uint32
BufferPoolRecordingSerial(void)
{
	return shared->serial;
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
static bool
in_sample(const BufferTag *tag)
{
	uint64		page = (uint64) tag->relNumber << 34 |
		(uint64) tag->forkNum << 32 | tag->blockNum;

	return shared->threshold == PG_UINT64_MAX ||
		tp_mix64(page + tp_mix64(UINT64CONST(0x9e3779b97f4a7c15))) < shared->threshold;
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

/* Wake the recorder if the ring is half full; else it looks often enough. */
static inline void
wake_recorder(void)
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
 * Note that a search for a victim begins, by an algorithm that goes by the
 * time.  What the search meets and its choice are recorded with this time.
 * Returns it in microseconds, for the algorithm.
 */
uint64
BufferPoolRecordSearch(void)
{
	search_began = BufferPoolRecorderTime();
	return search_began / NS_PER_US;
}

/* Note that a search for a victim has ended without a choice. */
void
BufferPoolRecordNoChoice(void)
{
	search_began = 0;
}

/*
 * Note that a search for a victim has chosen a buffer.  The page that comes
 * into it is recorded with this time, because a replay chooses when it reaches
 * the reference: it then sees the same past as this search did.
 *
 * The caller holds the lock under which it searched.
 */
void
BufferPoolRecordChoice(void)
{
	if (BufferPoolRecording())
		chosen_at = event_time();
	search_began = 0;
}

/*
 * Record a reference to this page: RECORD_READ, or RECORD_WRITE for a new
 * block.  pool: the number of the one that the page is in, or came in for.
 * Returns the time in microseconds, for an algorithm that goes by it; 0 if the
 * page is not in the sample.  Never blocks, allocates or fails.
 */
uint64
BufferPoolRecordReference(const BufferTag *tag, uint8 kind, uint32 flags,
						  int pool)
{
	uint64		time = flags & RECORD_HIT ? 0 : chosen_at;

	chosen_at = 0;
	if (!in_sample(tag))
		return 0;
	if (time == 0)
		time = BufferPoolRecorderTime();
	if (BufferPoolReadingFor != 0 && BufferPoolRecordReader(time))
		flags |= RECORD_FOR_SCAN;
	(void) BufferPoolPutRecord(tag, kind, flags, pool, time);
	wake_recorder();
	return time / NS_PER_US;
}

/* Record that this page has become dirty.  May be in a critical section. */
void
BufferPoolRecordDirtied(const BufferTag *tag)
{
	if (in_sample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_DIRTIED, 0, 0, BufferPoolRecorderTime());
}

/* The part of this process in the writing of pages. */
static uint32
writer_flags(void)
{
	switch (MyBackendType)
	{
		case B_BG_WRITER:
			return RECORD_BY_BGWRITER;
		case B_CHECKPOINTER:
			return RECORD_BY_CHECKPOINTER;
		case B_BG_WORKER:
			return strcmp(MyBgworkerEntry->bgw_function_name,
						  "BufferPoolWriterMain") == 0 ? RECORD_BY_POOL_WRITER : 0;
		default:
			return 0;
	}
}

/*
 * Record that this page was written.  If this process has just chosen its
 * buffer, with the time of that, as for the page that comes into it.
 */
void
BufferPoolRecordWritten(const BufferTag *tag)
{
	if (in_sample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_WRITTEN, writer_flags(), 0,
								   chosen_at != 0 ? chosen_at : BufferPoolRecorderTime());
}

/* The time of the choice that this event follows from, if there was one. */
static uint64
time_of_choice(void)
{
	uint64		time = chosen_at;

	chosen_at = 0;
	return time != 0 ? time : BufferPoolRecorderTime();
}

static const BufferTag no_page = {.forkNum = MAIN_FORKNUM};

/*
 * Record that a buffer, which this process has chosen, has gone from one pool to
 * another.  A replay chooses when it reaches this event.
 */
void
BufferPoolRecordMoved(int from, int to)
{
	BufferTag	tag = no_page;
	uint64		time = time_of_choice();

	if (!BufferPoolRecording())
		return;
	tag.blockNum = to;
	(void) BufferPoolPutRecord(&tag, RECORD_MOVED, 0, from, time);
	wake_recorder();
}

/* Record that a resident page has gone to a buffer of this pool. */
void
BufferPoolRecordPageMoved(const BufferTag *tag, int pool)
{
	uint64		time = time_of_choice();

	if (in_sample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_PAGE_MOVED, 0, pool, time);
	wake_recorder();
}

/*
 * Put text, or other bytes, behind the event that they belong to.  If there is
 * no room for a part, readers notice.
 */
void
BufferPoolPutText(const void *text, Size size, int pool, uint64 time)
{
	BufferTag	tag = no_page;

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

/*
 * Record that a pool has this definition from now on (definitions are
 * described in docs/trace-format.md).
 */
void
BufferPoolRecordDefinition(int pool, const char *text)
{
	uint64		time = BufferPoolRecorderTime();
	BufferTag	tag = no_page;
	size_t		size = strlen(text);

	tag.blockNum = size;
	if (BufferPoolPutRecord(&tag, RECORD_POOL, 0, pool, time))
		BufferPoolPutText(text, size, pool, time);
	wake_recorder();
}

/* Record that this fork's blocks from first on are about to cease to exist. */
void
BufferPoolRecordForget(RelFileLocator locator, ForkNumber fork,
					   BlockNumber first)
{
	BufferTag	tag;

	if (!BufferPoolRecording())
		return;
	InitBufferTag(&tag, &locator, fork, first);
	(void) BufferPoolPutRecord(&tag, RECORD_FORGET, 0, 0, BufferPoolRecorderTime());
	wake_recorder();
}

/*
 * Record whether the page in this buffer is pinned, unless the last record
 * says the same.  If there is no room, the next call for the buffer tries
 * again.
 */
static void
record_pins(BufferDesc *buf, bool pinned)
{
	if (BufferPoolMetPinned[buf->buf_id] != pinned &&
		(!in_sample(&buf->tag) ||
		 BufferPoolPutRecord(&buf->tag, pinned ? RECORD_PINNED : RECORD_UNPINNED, 0, 0,
							 event_time())))
		BufferPoolMetPinned[buf->buf_id] = pinned;
}

/*
 * Called when a search for a victim comes to this buffer.  Records the first
 * time that a search finds its page pinned, and the end of that pin; many
 * searches may pass over the page in between.
 *
 * The caller holds the header's spinlock, so changes of one page enter the
 * rings, of whichever processes, in their order.
 */
void
BufferPoolRecordMet(BufferDesc *buf, uint32 buf_state)
{
	if (buf_state & BM_TAG_VALID)
		record_pins(buf, BUF_STATE_GET_REFCOUNT(buf_state) != 0);
}

/* A search found the page in this buffer pinned; it may be unpinned now. */
void
BufferPoolRecordMetUnpinned(BufferDesc *buf)
{
	uint32		buf_state = LockBufHdr(buf);

	BufferPoolRecordMet(buf, buf_state);
	UnlockBufHdr(buf, buf_state);
}

/*
 * The page in this buffer is about to leave it.  If a search has found it
 * pinned, perhaps by the process that replaces it, record the end of that.
 * The caller holds the header's spinlock.
 */
void
BufferPoolRecordLeaves(BufferDesc *buf)
{
	if (BufferPoolRecording())
		record_pins(buf, false);
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
	}
	shared->serial++;
	shared->threshold = threshold;
	shared->recorder = recorder;
	shared->dropped_before = dropped_ever();
	memset(BufferPoolMetPinned, 0, NBuffers * sizeof(bool));
	pg_memory_barrier();
	shared->recording = 1;
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

/*
 * The algorithm's parameters, as NAME=VALUE,...  Those not named have their
 * defaults.
 */
const char *
BufferPoolParameters(void)
{
	return show_bufferpool_parameters();
}
