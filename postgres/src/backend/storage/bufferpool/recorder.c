/*-------------------------------------------------------------------------
 *
 * recorder.c
 *	  The processes' side of recording: events are put into rings.
 *
 * Every process has a ring in shared memory.  It alone puts events in and
 * moves the head; the recorder, a background worker of the extension
 * pg_bufferpool, alone takes them out and moves the tail.  So neither waits
 * for the other, there are no locks, and events can be recorded anywhere,
 * also in critical sections.  If a ring is full the event is dropped and
 * counted.
 *
 * A ring belongs to a slot of PGPROC, not to the process in it: what a process
 * leaves behind is still written.
 *
 * While nothing is recorded this costs one branch where a page is found in
 * its buffer, and memory that is never touched.
 *
 * src/backend/storage/bufferpool/recorder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc_hooks.h"

/* Without a setting: at most this part of shared_buffers. */
#define TRACE_BUFFERS_SHARE 64

/* What the processes need to know; the recorder sets it before the flag. */
typedef struct RecorderShared
{
	volatile uint32 recording;
	int			recorder;		/* its ProcNumber */
	uint64		threshold;		/* pages whose hash is below are recorded */
	uint64		dropped_before; /* sum of the rings' at the start */
} RecorderShared;

int			bufferpool_trace_buffers = -1;

BufferRings BufferPoolRings;

bool	   *BufferPoolMetPinned;

/* Where there are no rings. */
static uint32 never;

volatile uint32 *BufferPoolRecordingFlag = &never;

static RecorderShared *shared;
static int	my_ring = -1;

/* When the buffer was chosen for the page that this process brings in, or 0. */
static uint64 chosen_at;

/* ---- set-up ---- */

/* Processes that may use shared buffers: each has a ring. */
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

/* All that there is in shared memory for rings of this capacity. */
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
 * What bufferpool.trace_buffers = -1 stands for: the largest power of two with
 * which everything fits into its share of shared_buffers, but no more than are
 * ample; or 0, if that is fewer than are of use.
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

/* So that SHOW shows what is in use. */
bool
check_bufferpool_trace_buffers(int *newval, void **extra, GucSource source)
{
	if (*newval > 0)
		*newval = pg_nextpower2_32(*newval);
	else if (*newval == -1 && bufferpool_trace_buffers != -1)
		*newval = BufferPoolDefaultTraceBuffers();

	/*
	 * When the server starts, shared_buffers and the number of processes are
	 * not known yet; BufferPoolRecorderShmemSize will see to it.
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
	/* unless somebody has set it to -1 */
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
		MemSet(shared, 0, sizeof(RecorderShared));
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
	/* left as they are, so that they occupy nothing until they are used */
	BufferPoolMetPinned = ShmemInitStruct("Buffer Pool Recorder Pins",
										  pins_size(), &found);
	all->records = ShmemInitStruct("Buffer Pool Recorder Events",
								   records_size(all->capacity), &found);
	BufferPoolRecordingFlag = &shared->recording;
}

/* A process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolRecorderInitProcess(void)
{
	if (MyProcNumber >= 0 && MyProcNumber < BufferPoolRings.count)
		my_ring = MyProcNumber;
}

/* ---- events ---- */

/* Nanoseconds since a moment that is the same for all processes. */
uint64
BufferPoolRecorderTime(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_NANOSEC(now);
}

/*
 * The rule of docs/trace-format.md for seed 0, with the file's number for the
 * relation's.
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
 * Put an event into this process's ring, and return whether there was room.
 */
static bool
put(const BufferTag *tag, uint8 kind, uint32 flags, uint64 time)
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
	pg_memory_barrier();		/* the place is free before it is written to */
	record = &all->records[(Size) my_ring * all->capacity +
						   (head & (all->capacity - 1))];
	record->time = time;
	record->tablespace = tag->spcOid;
	record->database = tag->dbOid;
	record->file = tag->relNumber;
	record->block = tag->blockNum;
	record->process = MyProcNumber;
	record->flags = flags;
	record->fork = tag->forkNum;
	record->kind = kind;
	pg_write_barrier();			/* the event is whole before it can be seen */
	pg_atomic_write_u64(&ring->head, head + 1);
	return true;
}

/* Wake the recorder if the ring is half full: it looks often enough otherwise. */
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
 * A search for a victim has chosen a buffer.  The page that comes into it
 * counts as referenced then, since a replay chooses when it comes to the
 * reference: before anything else happens that the search has not seen.
 *
 * The caller holds the lock under which it searched.
 */
void
BufferPoolRecordChoice(void)
{
	if (BufferPoolRecording())
		chosen_at = BufferPoolRecorderTime();
}

/*
 * This page has been referenced: RECORD_READ or, a new block, RECORD_WRITE.
 * Never blocks, allocates or fails.
 */
void
BufferPoolRecordReference(const BufferTag *tag, uint8 kind, uint32 flags)
{
	uint64		time = flags & RECORD_HIT ? 0 : chosen_at;

	chosen_at = 0;
	if (!in_sample(tag))
		return;
	(void) put(tag, kind, flags, time != 0 ? time : BufferPoolRecorderTime());
	wake_recorder();
}

/* This page was not dirty, and is now.  May be in a critical section. */
void
BufferPoolRecordDirtied(const BufferTag *tag)
{
	if (in_sample(tag))
		(void) put(tag, RECORD_DIRTIED, 0, BufferPoolRecorderTime());
}

/* The blocks of this fork from first on are about to cease to exist. */
void
BufferPoolRecordForget(RelFileLocator locator, ForkNumber fork,
					   BlockNumber first)
{
	BufferTag	tag;

	if (!BufferPoolRecording())
		return;
	InitBufferTag(&tag, &locator, fork, first);
	(void) put(&tag, RECORD_FORGET, 0, BufferPoolRecorderTime());
	wake_recorder();
}

/*
 * Record that the page in this buffer is pinned, or no longer, if that is not
 * what was recorded last.  What there is no room for is tried again when the
 * buffer is met again.
 */
static void
record_pins(BufferDesc *buf, bool pinned)
{
	if (BufferPoolMetPinned[buf->buf_id] != pinned &&
		(!in_sample(&buf->tag) ||
		 put(&buf->tag, pinned ? RECORD_PINNED : RECORD_UNPINNED, 0,
			 BufferPoolRecorderTime())))
		BufferPoolMetPinned[buf->buf_id] = pinned;
}

/*
 * A search for a victim meets this buffer.  That its page is pinned is
 * recorded when the first search meets it, and once more when it is so no
 * longer: many searches may pass over it in between.
 *
 * The caller holds the header's spinlock, so that changes of one page come
 * into the rings, whosever they are, in their order.
 */
void
BufferPoolRecordMet(BufferDesc *buf, uint32 buf_state)
{
	if (buf_state & BM_TAG_VALID)
		record_pins(buf, BUF_STATE_GET_REFCOUNT(buf_state) != 0);
}

/* The page in this buffer was met pinned, and may be so no longer. */
void
BufferPoolRecordMetUnpinned(BufferDesc *buf)
{
	uint32		buf_state = LockBufHdr(buf);

	BufferPoolRecordMet(buf, buf_state);
	UnlockBufHdr(buf, buf_state);
}

/*
 * The page in this buffer is about to leave it; who replaces it may have been
 * met with a pin on it.  The caller holds the header's spinlock.
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
 * From now on processes put events into their rings, of the pages whose hash
 * is below threshold (PG_UINT64_MAX: of all).  What has been left in the
 * rings since the last recording is thrown away.  The caller is the only
 * recorder, and its latch is set when a ring fills up.
 */
void
BufferPoolStartRecording(uint64 threshold, int recorder)
{
	for (int i = 0; i < BufferPoolRings.count; i++)
	{
		BufferRing *ring = &BufferPoolRings.rings[i];

		pg_atomic_write_u64(&ring->tail, pg_atomic_read_u64(&ring->head));
	}
	shared->threshold = threshold;
	shared->recorder = recorder;
	shared->dropped_before = dropped_ever();
	memset(BufferPoolMetPinned, 0, NBuffers * sizeof(bool));
	pg_memory_barrier();
	shared->recording = 1;
}

/*
 * No further events, but for one that each process may be about to put in.
 */
void
BufferPoolStopRecording(void)
{
	shared->recording = 0;
	pg_memory_barrier();
}

/* Events dropped since the last recording began, also if it is over. */
uint64
BufferPoolRecordsDropped(void)
{
	return dropped_ever() - shared->dropped_before;
}

/*
 * The parameters that the algorithm runs with, as NAME=VALUE,...; those that
 * are not named have their default.
 */
const char *
BufferPoolParameters(void)
{
	return DefaultBufferPool.shared->parameters;
}
