/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Counters of the buffer pools.
 *
 * A process counts in memory of its own, and adds what it has counted to a
 * pool's totals when it has counted BUFFERPOOL_COUNTED_MAX events of a frequent
 * kind, a second after it has gone idle, before it shows the totals, and when
 * it ends.  So a count costs an increment, and the totals, which all processes
 * write, are written rarely.  They never decrease; a reset remembers them.
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
#include "utils/timestamp.h"

/*
 * [pool][ProcNumber]: admissions and restorations that the process has queued,
 * at most TP_BATCH_MAX.
 */
static uint16 *pending;

StaticAssertDecl(TP_BATCH_MAX <= PG_UINT16_MAX, "queued entries fit");

/* Numbers that processes may have. */
int
BufferPoolProcessCount(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

static uint16 *
pending_of(const BufferPool *pool, int process)
{
	return &pending[(Size) BufferPoolNumber(pool) * BufferPoolProcessCount() + process];
}

Size
BufferPoolStatsShmemSize(void)
{
	return mul_size(mul_size(BufferPoolsReserved(), BufferPoolProcessCount()),
					sizeof(uint16));
}

void
BufferPoolStatsShmemInit(void)
{
	bool		found;

	pending = ShmemInitStruct("Buffer Pool Queues", BufferPoolStatsShmemSize(),
							  &found);
	if (!found)
		MemSet(pending, 0, BufferPoolStatsShmemSize());
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolStatsInitProcess(void)
{
	if (MyProcNumber < 0 || MyProcNumber >= BufferPoolProcessCount())
		return;
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPools[i].pending = pending_of(&BufferPools[i], MyProcNumber);
		BufferPoolSetPending(&BufferPools[i], 0);
	}
}

void
BufferPoolInitCounters(BufferPoolShared *shared)
{
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	SpinLockInit(&shared->stats_lock);
	shared->stats_reset = GetCurrentTimestamp();
	MemSet(&shared->baseline, 0, sizeof(shared->baseline));
#ifdef BUFFERPOOL_TIME_LOCK
	MemSet(shared->holds, 0, sizeof(shared->holds));
#endif
}

/* ---- what processes have queued ---- */

/* How many all processes have yet to report. */
uint32
BufferPoolPending(const BufferPool *pool)
{
	uint32		sum = 0;

	for (int process = 0; process < BufferPoolProcessCount(); process++)
		sum += *pending_of(pool, process);
	return sum;
}

/* ---- counting ---- */

static void
raise_to(pg_atomic_uint64 *most, uint64 value)
{
	uint64		old = pg_atomic_read_u64(most);

	while (old < value && !pg_atomic_compare_exchange_u64(most, &old, value))
		;
}

/* For BufferPoolCountTime: count the time since start. */
void
BufferPoolAddTime(Buffer buffer, BufferPoolCounter counter, instr_time start)
{
	instr_time	now;

	if (BufferIsLocal(buffer))
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	BufferPoolCountMany(BufferPoolOf(buffer - 1), counter,
						INSTR_TIME_GET_MICROSEC(now));
}

/* Add what this process has counted to the pool's totals. */
void
BufferPoolAddCounters(BufferPool *pool)
{
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
	{
		uint64		n = pool->counted.count[i];

		if (n == 0)
			continue;
		pool->counted.count[i] = 0;
		if (i == BUFFERPOOL_CLEANER_LONGEST_HOLD)
			raise_to(&pool->shared->counters[i], n);
		else
			pg_atomic_fetch_add_u64(&pool->shared->counters[i], n);
	}
}

void
BufferPoolAddAllCounters(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
		BufferPoolAddCounters(&BufferPools[i]);
}

/* Has this process counted references that are not in the totals? */
bool
BufferPoolHasCounted(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		const uint64 *counted = BufferPools[i].counted.count;

		if (counted[BUFFERPOOL_HITS] > 0 || counted[BUFFERPOOL_READS] > 0 ||
			counted[BUFFERPOOL_EXTENDS] > 0)
			return true;
	}
	return false;
}

static void
read_totals(const BufferPoolShared *shared, BufferPoolCounters *totals)
{
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
		totals->count[i] =
			pg_atomic_read_u64(unconstify(pg_atomic_uint64 *,
										  &shared->counters[i]));
}

/* Sums since the last reset, and its time. */
void
BufferPoolReadCounters(BufferPool *pool, BufferPoolCounters *sums,
					   TimestampTz *stats_reset)
{
	BufferPoolShared *shared = pool->shared;
	BufferPoolCounters baseline;

	BufferPoolAddCounters(pool);
	SpinLockAcquire(&shared->stats_lock);
	baseline = shared->baseline;
	*stats_reset = shared->stats_reset;
	SpinLockRelease(&shared->stats_lock);

	/* after the baseline, so that no difference is negative */
	read_totals(shared, sums);
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
		sums->count[i] -= baseline.count[i];
}

void
BufferPoolResetCounters(BufferPool *pool)
{
	BufferPoolShared *shared = pool->shared;
	BufferPoolCounters now;
	TimestampTz time = GetCurrentTimestamp();

	BufferPoolAddCounters(pool);
	read_totals(shared, &now);
	now.count[BUFFERPOOL_CLEANER_LONGEST_HOLD] = 0;
	SpinLockAcquire(&shared->stats_lock);
	shared->baseline = now;
	shared->stats_reset = time;
	SpinLockRelease(&shared->stats_lock);
#ifdef BUFFERPOOL_TIME_LOCK
	MemSet(shared->holds, 0, sizeof(shared->holds));
#endif
}

#ifdef BUFFERPOOL_TIME_LOCK

/*
 * For benchmarks only: a histogram of how long the pool's lock is held.  Each
 * power of two has eight bins.  The caller holds the lock.
 */
void
BufferPoolCountHold(BufferPool *pool, uint64 nanoseconds)
{
	int			power = pg_leftmost_one_pos64(nanoseconds | 8);
	int			bin = (power - 3) * 8 + (int) (nanoseconds >> (power - 3) & 7);

	pool->shared->holds[Min(bin, BUFFERPOOL_HOLD_BINS - 1)]++;
}

uint64
BufferPoolHoldBinStart(int bin)
{
	return bin < 0 ? 0 : (uint64) (8 + bin % 8) << (bin / 8);
}

#endif
