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

typedef union PaddedCounters
{
	BufferPoolCounters counters;
	char		pad[TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(BufferPoolCounters))];
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
static BufferPoolCounters nowhere;

BufferPoolCounters *MyBufferPoolCounters = &nowhere;

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
BufferPoolInitProcess(void)
{
	if (MyProcNumber >= 0 && MyProcNumber < slot_count())
		MyBufferPoolCounters = &stats->slots[MyProcNumber].counters;
	BufferPoolRecorderInitProcess();
}

static void
add_up(BufferPoolCounters *sums)
{
	MemSet(sums, 0, sizeof(*sums));
	for (int slot = 0; slot < slot_count(); slot++)
		for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
			sums->count[i] += stats->slots[slot].counters.count[i];
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
	SpinLockAcquire(&stats->reset_lock);
	stats->baseline = now;
	stats->stats_reset = time;
	SpinLockRelease(&stats->reset_lock);
}
