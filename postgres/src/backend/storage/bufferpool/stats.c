/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Counters of the buffer pool.
 *
 * Each process has counters of its own in shared memory, a cache line from
 * anybody else's, and adds to them without locks; whoever wants to know adds
 * them up.  A counter belongs to a slot of PGPROC, not to the process in it,
 * and only ever grows; resetting remembers the sums.
 *
 * In shared memory of its own, not in the cumulative statistics, whose file a
 * stock server would throw away if it found a kind it does not know.
 *
 * src/backend/storage/bufferpool/stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/timestamp.h"

/* What one process counts, and what it has to tell. */
typedef struct ProcessCounters
{
	BufferPoolCounters counters;
	uint32		pending;		/* buffers of which its queue tells */
#ifdef BUFFERPOOL_TIME_LOCK
	uint64		holds[BUFFERPOOL_HOLD_BINS];
#endif
} ProcessCounters;

typedef union PaddedCounters
{
	ProcessCounters process;
	char		pad[TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(ProcessCounters))];
} PaddedCounters;

typedef struct SharedStats
{
	slock_t		reset_lock;		/* the two below */
	TimestampTz stats_reset;
	BufferPoolCounters baseline;	/* sums of the counters at stats_reset */
	PaddedCounters slots[FLEXIBLE_ARRAY_MEMBER];	/* [ProcNumber] */
} SharedStats;

static SharedStats *stats;

/* Where to count before there is a PGPROC. */
static ProcessCounters discarded;

BufferPoolCounters *MyBufferPoolCounters = &discarded.counters;
uint32	   *MyBufferPoolPending = &discarded.pending;

static int
slot_count(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

Size
BufferPoolStatsShmemSize(void)
{
	return add_size(offsetof(SharedStats, slots) + PG_CACHE_LINE_SIZE,
					mul_size(slot_count(), sizeof(PaddedCounters)));
}

void
BufferPoolStatsShmemInit(void)
{
	bool		found;

	stats = ShmemInitStruct("Buffer Pool Statistics",
							BufferPoolStatsShmemSize(), &found);
	if (found)
		return;
	MemSet(stats, 0, BufferPoolStatsShmemSize());
	SpinLockInit(&stats->reset_lock);
	stats->stats_reset = GetCurrentTimestamp();
}

/* A process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolStatsInitProcess(void)
{
	if (MyProcNumber < 0 || MyProcNumber >= slot_count())
		return;
	MyBufferPoolCounters = &stats->slots[MyProcNumber].process.counters;
	MyBufferPoolPending = &stats->slots[MyProcNumber].process.pending;
	*MyBufferPoolPending = 0;
}

/* Buffers of which processes have yet to tell the algorithm. */
uint32
BufferPoolPending(void)
{
	uint32		sum = 0;

	for (int slot = 0; slot < slot_count(); slot++)
		sum += stats->slots[slot].process.pending;
	return sum;
}

static void
add_up(BufferPoolCounters *sums)
{
	MemSet(sums, 0, sizeof(*sums));
	for (int slot = 0; slot < slot_count(); slot++)
		for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
			sums->count[i] += stats->slots[slot].process.counters.count[i];
}

/* What was counted since the last reset, and when that was. */
void
BufferPoolReadCounters(BufferPoolCounters *sums, TimestampTz *stats_reset)
{
	BufferPoolCounters baseline;

	SpinLockAcquire(&stats->reset_lock);
	baseline = stats->baseline;
	*stats_reset = stats->stats_reset;
	SpinLockRelease(&stats->reset_lock);

	/* after the baseline, so that no difference is negative */
	add_up(sums);
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
		sums->count[i] -= baseline.count[i];
}

void
BufferPoolResetCounters(void)
{
	BufferPoolCounters now;
	TimestampTz time = GetCurrentTimestamp();

	add_up(&now);
	now.count[BUFFERPOOL_CLEANER_LONGEST_HOLD] = 0;
	SpinLockAcquire(&stats->reset_lock);
	stats->baseline = now;
	stats->stats_reset = time;
	SpinLockRelease(&stats->reset_lock);
#ifdef BUFFERPOOL_TIME_LOCK
	for (int slot = 0; slot < slot_count(); slot++)
		MemSet(stats->slots[slot].process.holds, 0,
			   sizeof(stats->slots[slot].process.holds));
#endif
}

#ifdef BUFFERPOOL_TIME_LOCK

/*
 * For benchmarks alone: how long the pool's lock is held.  A bin is an eighth
 * of a power of two wide.
 */
static int
hold_bin(uint64 nanoseconds)
{
	int			power = pg_leftmost_one_pos64(nanoseconds | 8);

	return Min((power - 3) * 8 + (int) (nanoseconds >> (power - 3) & 7),
			   BUFFERPOOL_HOLD_BINS - 1);
}

uint64
BufferPoolHoldBinStart(int bin)
{
	return bin < 0 ? 0 : (uint64) (8 + bin % 8) << (bin / 8);
}

void
BufferPoolCountHold(uint64 nanoseconds)
{
	if (MyProcNumber >= 0 && MyProcNumber < slot_count())
		stats->slots[MyProcNumber].process.holds[hold_bin(nanoseconds)]++;
}

void
BufferPoolReadHolds(uint64 *holds)
{
	MemSet(holds, 0, BUFFERPOOL_HOLD_BINS * sizeof(uint64));
	for (int slot = 0; slot < slot_count(); slot++)
		for (int bin = 0; bin < BUFFERPOOL_HOLD_BINS; bin++)
			holds[bin] += stats->slots[slot].process.holds[bin];
}

#endif
