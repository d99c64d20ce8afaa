/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Counters of the buffer pool.
 *
 * Each process has counters in shared memory, on cache lines of its own, and
 * increments them without locks; readers add them up.  A counter belongs to a
 * slot of PGPROC, not to the process in it, and never decreases; a reset
 * remembers the sums.
 *
 * The counters are not part of the cumulative statistics, because a stock
 * server discards the statistics file if it finds an unknown kind in it.
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

/* One process's counters, and how much it has yet to report. */
typedef struct ProcessCounters
{
	BufferPoolCounters counters;
	uint32		pending;		/* admissions and restorations queued */
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

/* Counters to use before the process has a PGPROC. */
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

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolStatsInitProcess(void)
{
	if (MyProcNumber < 0 || MyProcNumber >= slot_count())
		return;
	MyBufferPoolCounters = &stats->slots[MyProcNumber].process.counters;
	MyBufferPoolPending = &stats->slots[MyProcNumber].process.pending;
	*MyBufferPoolPending = 0;
}

/* Buffers whose pages processes have yet to report to the algorithm. */
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

/* Sums since the last reset, and its time. */
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
 * For benchmarks only: a histogram of how long the pool's lock is held.  Each
 * power of two has eight bins.
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
