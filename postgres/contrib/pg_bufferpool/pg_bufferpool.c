/*-------------------------------------------------------------------------
 *
 * pg_bufferpool.c
 *	  Examine buffer pools and their replacement algorithms.
 *
 * contrib/pg_bufferpool/pg_bufferpool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC_EXT(
					.name = "pg_bufferpool",
					.version = PG_VERSION
);

PG_FUNCTION_INFO_V1(pg_bufferpool_pools);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpools);
PG_FUNCTION_INFO_V1(pg_stat_reset_bufferpools);
PG_FUNCTION_INFO_V1(pg_bufferpool_lock_holds);
PG_FUNCTION_INFO_V1(pg_bufferpool_reset);
PG_FUNCTION_INFO_V1(pg_bufferpool_algorithms);
PG_FUNCTION_INFO_V1(pg_bufferpool_lists);
PG_FUNCTION_INFO_V1(pg_bufferpool_check);

#define DEFAULT_POOL "DEFAULT"

Datum
pg_bufferpool_pools(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[4];
	bool		nulls[4] = {0};

	InitMaterializedSRF(fcinfo, 0);
	values[0] = CStringGetTextDatum(DEFAULT_POOL);
	values[1] = CStringGetTextDatum(DefaultBufferPool.shared->algorithm);
	values[2] = CStringGetTextDatum(DefaultBufferPool.shared->parameters);
	values[3] = Int64GetDatum(NBuffers);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
pg_stat_get_bufferpools(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolCounters sums;
	TimestampTz stats_reset;
	Datum		values[BUFFERPOOL_NUM_COUNTERS + 2];
	bool		nulls[BUFFERPOOL_NUM_COUNTERS + 2] = {0};

	InitMaterializedSRF(fcinfo, 0);
	BufferPoolReadCounters(&sums, &stats_reset);
	values[0] = CStringGetTextDatum(DEFAULT_POOL);
	for (int i = 0; i < BUFFERPOOL_NUM_COUNTERS; i++)
		values[i + 1] = Int64GetDatum(sums.count[i]);
	values[BUFFERPOOL_NUM_COUNTERS + 1] = TimestampTzGetDatum(stats_reset);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
pg_stat_reset_bufferpools(PG_FUNCTION_ARGS)
{
	BufferPoolResetCounters();
	PG_RETURN_VOID();
}

Datum
pg_bufferpool_lock_holds(PG_FUNCTION_ARGS)
{
#ifdef BUFFERPOOL_TIME_LOCK
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		holds[BUFFERPOOL_HOLD_BINS];

	InitMaterializedSRF(fcinfo, 0);
	BufferPoolReadHolds(holds);
	for (int bin = 0; bin < BUFFERPOOL_HOLD_BINS; bin++)
	{
		Datum		values[3];
		bool		nulls[3] = {0};

		if (holds[bin] == 0)
			continue;
		values[0] = Int64GetDatum(BufferPoolHoldBinStart(bin));
		values[1] = Int64GetDatum(BufferPoolHoldBinStart(bin + 1));
		values[2] = Int64GetDatum(holds[bin]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
#else
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("this server does not measure how long locks are held"),
			 errhint("Build it with \"make postgres BUILD=timed\".")));
#endif
}

Datum
pg_bufferpool_reset(PG_FUNCTION_ARGS)
{
	BufferPoolReset();
	PG_RETURN_VOID();
}

Datum
pg_bufferpool_algorithms(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const BufferPoolRoutine *routine;
	const char *name = BUFFERPOOL_CLOCK;
	int			position = 0;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	do
	{
		Datum		value = CStringGetTextDatum(name);
		bool		null = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &null);
		routine = NextBufferPoolRoutine(&position);
		name = routine ? routine->name : NULL;
	} while (name != NULL);
	return (Datum) 0;
}

/*
 * Buffers for which the pool's lock is held at a time.  Between slices other
 * processes can take it, and interrupts are checked.
 */
#define SLICE 1000

/* ---- lists ---- */

/* Entries of a slice, and their pages at that time. */
typedef struct ListSlice
{
	int			n;
	BufferPoolListEntry entries[SLICE];
	BufferTag	tags[SLICE];
} ListSlice;

/* Called under the pool's lock, so it neither allocates nor fails. */
static void
copy_entry(void *arg, const BufferPoolListEntry *entry)
{
	ListSlice  *slice = arg;

	if (entry->buf_id >= 0)
	{
		BufferDesc *buf = GetBufferDescriptor(entry->buf_id);
		uint32		buf_state = LockBufHdr(buf);

		slice->tags[slice->n] = buf->tag;
		UnlockBufHdr(buf, buf_state);
	}
	slice->entries[slice->n++] = *entry;
}

static void
put_entry(ReturnSetInfo *rsinfo, const BufferPoolListEntry *entry,
		  const BufferTag *tag)
{
	bool		ghost = entry->buf_id < 0;
	Datum		values[10] = {0};
	bool		nulls[10] = {0};

	values[0] = CStringGetTextDatum(entry->list);
	values[1] = Int32GetDatum(entry->position);
	nulls[1] = entry->position < 0;
	if (ghost)
		values[9] = Int64GetDatum((int64) entry->ghost_key);
	else
	{
		values[2] = Int32GetDatum(entry->buf_id + 1);
		values[3] = ObjectIdGetDatum(tag->spcOid);
		values[4] = ObjectIdGetDatum(tag->dbOid);
		values[5] = ObjectIdGetDatum(tag->relNumber);
		values[6] = Int16GetDatum(tag->forkNum);
		values[7] = Int64GetDatum(tag->blockNum);
		values[8] = Int32GetDatum(entry->count);
	}
	for (int column = 2; column < 10; column++)
		nulls[column] = (column == 9) != ghost;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

Datum
pg_bufferpool_lists(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPool *pool = &DefaultBufferPool;
	BufferPoolListWalk walk = {0};
	ListSlice  *slice;
	tp_access	access;
	bool		more = true;

	InitMaterializedSRF(fcinfo, 0);
	if (!BufferPoolActive())
		return (Datum) 0;
	/* zeroed now, so that no page fault happens under the lock */
	slice = palloc0_object(ListSlice);
	walk.shown = palloc_extended(NBuffers * sizeof(bool),
								 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		slice->n = 0;
		access = BufferPoolAccessAt(BufferPoolTime(pool), 0);
		BufferPoolLock(pool);
		BufferPoolCommitQueue(pool, &access);
		more = pool->routine->lists(pool, &walk, SLICE, copy_entry, slice);
		BufferPoolUnlock(pool);
		for (int i = 0; i < slice->n; i++)
			put_entry(rsinfo, &slice->entries[i], &slice->tags[i]);
	}
	return (Datum) 0;
}

/* ---- verification ---- */

#define MAX_VIOLATIONS 1000		/* rows; more would not help anyone */

typedef struct Violations
{
	int			n;
	const char *text[MAX_VIOLATIONS];
	uint32		number[MAX_VIOLATIONS];
} Violations;

static void
take_violation(void *arg, const char *violation, uint32_t index)
{
	Violations *violations = arg;

	if (violations->n == MAX_VIOLATIONS)
		return;
	violations->text[violations->n] = violation;
	violations->number[violations->n++] = index;
}

static void
put_violations(ReturnSetInfo *rsinfo, const Violations *violations)
{
	for (int i = 0; i < violations->n; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {0};

		values[0] = CStringGetTextDatum(violations->text[i]);
		values[1] = Int64GetDatum(violations->number[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

Datum
pg_bufferpool_check(PG_FUNCTION_ARGS)
{
	bool		algorithm_state = PG_GETARG_BOOL(0);
	Violations *violations = palloc0_object(Violations);

	InitMaterializedSRF(fcinfo, 0);
	if (!BufferPoolActive())
		return (Datum) 0;
	for (int first = 0; first < NBuffers; first += SLICE)
	{
		CHECK_FOR_INTERRUPTS();
		BufferPoolCheckBuffers(first, Min(SLICE, NBuffers - first),
							   take_violation, violations);
	}
	if (algorithm_state)
		BufferPoolCheckAlgorithm(take_violation, violations);
	put_violations((ReturnSetInfo *) fcinfo->resultinfo, violations);
	return (Datum) 0;
}
