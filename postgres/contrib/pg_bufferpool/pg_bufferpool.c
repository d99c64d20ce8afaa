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
#include "walk.h"

PG_MODULE_MAGIC_EXT(
					.name = "pg_bufferpool",
					.version = PG_VERSION
);

PG_FUNCTION_INFO_V1(pg_bufferpool_pools);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpools);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpool_progress);
PG_FUNCTION_INFO_V1(pg_stat_reset_bufferpools);
PG_FUNCTION_INFO_V1(pg_bufferpool_lock_holds);
PG_FUNCTION_INFO_V1(pg_bufferpool_reset);
PG_FUNCTION_INFO_V1(pg_bufferpool_algorithms);
PG_FUNCTION_INFO_V1(pg_bufferpool_options);
PG_FUNCTION_INFO_V1(pg_bufferpool_lists);
PG_FUNCTION_INFO_V1(pg_bufferpool_check);

static const char *
stage_text(BufferPoolStage stage)
{
	switch (stage)
	{
		case BUFFERPOOL_MOVING:
			return "moving buffers";
		case BUFFERPOOL_WAITING:
			return "waiting for pinned buffers";
		case BUFFERPOOL_SWITCHING:
			return "changing the algorithm";
		case BUFFERPOOL_IDLE:
			break;
	}
	return NULL;
}

/* What a pool is doing, or in which way it is not what it was defined to be. */
static const char *
state_text(const BufferPool *pool, const BufferPoolDefinition *definition)
{
	int			size = BufferPoolSize(pool);

	if (definition->running[0] == '\0')
		return "changing the algorithm";
	if (strcmp(definition->running, definition->algorithm) != 0)
		return "handler is missing";
	if (definition->leaving)
		return "being dropped";
	if (size > definition->target)
		return "shrinking";
	return size < definition->target ? "growing" : "ready";
}

Datum
pg_bufferpool_pools(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		const BufferPool *pool = &BufferPools[i];
		BufferPoolDefinition definition;
		Datum		values[13];
		bool		nulls[13] = {0};

		BufferPoolReadDefinition(pool, &definition);
		if (definition.name[0] == '\0')
			continue;
		values[0] = CStringGetTextDatum(definition.name);
		values[1] = CStringGetTextDatum(definition.running[0] != '\0' ?
										definition.running : definition.algorithm);
		values[2] = CStringGetTextDatum(definition.parameters);
		values[3] = Int64GetDatum(BufferPoolSize(pool));
		values[4] = Int64GetDatum(definition.target);
		values[5] = BoolGetDatum(definition.remainder);
		values[6] = CStringGetTextDatum(state_text(pool, &definition));
		values[7] = Int64GetDatum((int64) BufferPoolMemory(BufferPoolSize(pool)));
		nulls[8] = definition.ssd_tier <= SSD_TIER_UNSET;
		if (!nulls[8])
			values[8] = CStringGetTextDatum(SsdTierChoiceName(definition.ssd_tier));
		values[9] = CStringGetTextDatum(definition.comment);
		nulls[9] = definition.comment[0] == '\0';
		values[10] = Int64GetDatum(pool == &DefaultBufferPool ? definition.target :
								   BufferPoolDefinedSize(&definition));
		values[11] = Int64GetDatum(definition.least);
		nulls[11] = definition.least == 0;
		values[12] = Int64GetDatum(definition.most);
		nulls[12] = definition.most == 0;
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
pg_stat_get_bufferpool_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolProgress progress;
	const BufferPool *pool;
	Datum		values[7];
	bool		nulls[7] = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (!BufferPoolReadProgress(&progress))
		return (Datum) 0;
	pool = FindBufferPool(progress.pool);
	values[0] = Int32GetDatum(progress.pid);
	values[1] = CStringGetTextDatum(progress.pool);
	values[2] = CStringGetTextDatum(stage_text(progress.stage));
	values[3] = Int64GetDatum(progress.first);
	values[4] = Int64GetDatum(progress.target);
	values[5] = Int64GetDatum(pool != NULL ? BufferPoolSize(pool) : 0);
	nulls[5] = pool == NULL;
	values[6] = TimestampTzGetDatum(progress.since);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

/* Pages of each pool, by what they are. */
typedef struct PoolPages
{
	int64		dirty;
	int64		pinned;
	int64		free;
} PoolPages;

static PoolPages *
count_pages_of_pools(void)
{
	PoolPages  *pages = palloc0_array(PoolPages, BUFFERPOOL_NUMBERS);

	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
	{
		uint32		state = pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state);
		PoolPages  *mine = &pages[BufferPoolNumber(BufferPoolOf(buf_id))];

		mine->dirty += (state & BM_DIRTY) != 0;
		mine->pinned += BUF_STATE_GET_REFCOUNT(state) > 0;
		mine->free += (state & BM_TAG_VALID) == 0;
	}
	return pages;
}

/* Shown in milliseconds, like other times of PostgreSQL. */
static bool
is_time(BufferPoolCounter counter)
{
	return counter == BUFFERPOOL_READ_TIME || counter == BUFFERPOOL_WRITE_TIME;
}

/* Counted only by algorithms that predict. */
static bool
is_of_prediction(BufferPoolCounter counter)
{
	return counter >= BUFFERPOOL_PREDICTED_EVICTIONS &&
		counter <= BUFFERPOOL_PREMATURE_EVICTIONS;
}

Datum
pg_stat_get_bufferpools(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	PoolPages  *pages = count_pages_of_pools();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		const BufferPool *pool = &BufferPools[i];
		BufferPoolDefinition definition;
		BufferPoolCounters sums;
		TimestampTz stats_reset;
		int			size = BufferPoolSize(pool);
		Datum		values[BUFFERPOOL_NUM_SHOWN + 8];
		bool		nulls[BUFFERPOOL_NUM_SHOWN + 8] = {0};
		int			n = 0;

		BufferPoolReadDefinition(pool, &definition);
		if (definition.name[0] == '\0')
			continue;
		BufferPoolReadCounters(&BufferPools[i], &sums, &stats_reset);
		values[n++] = CStringGetTextDatum(definition.name);
		values[n++] = Int64GetDatum(size - pages[i].free);
		values[n++] = Int64GetDatum(definition.target);
		values[n++] = Int64GetDatum(Max(size - definition.target, 0));
		values[n++] = Int64GetDatum(pages[i].dirty);
		values[n++] = Int64GetDatum(pages[i].pinned);
		values[n++] = Int64GetDatum(pages[i].free);
		for (int counter = 0; counter < BUFFERPOOL_NUM_SHOWN; counter++)
		{
			nulls[n] = is_of_prediction(counter) &&
				!(pool->flags & TP_ASKS_SCANS);
			values[n++] = is_time(counter) ?
				Float8GetDatum(sums.count[counter] / 1000.0) :
				Int64GetDatum(sums.count[counter]);
		}
		values[n++] = TimestampTzGetDatum(stats_reset);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
pg_stat_reset_bufferpools(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
		BufferPoolResetCounters(&BufferPools[i]);
	PG_RETURN_VOID();
}

Datum
pg_bufferpool_lock_holds(PG_FUNCTION_ARGS)
{
#ifdef BUFFERPOOL_TIME_LOCK
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const uint64 *holds = DefaultBufferPool.shared->holds;

	InitMaterializedSRF(fcinfo, 0);
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
	const char *name;
	int			position = 0;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	while ((name = NextBufferPoolPolicy(&position)) != NULL)
	{
		Datum		value = CStringGetTextDatum(name);
		bool		null = false;

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &value, &null);
	}
	return (Datum) 0;
}

/* A value of an option, as a statement has it. */
static Datum
option_value(const tp_param *param, double value)
{
	if (param->type == TP_PARAM_ENUM)
		return CStringGetTextDatum(param->choices[(int) value]);
	return CStringGetTextDatum(psprintf("%.15g", value));
}

static const char *
option_type(const tp_param *param)
{
	switch (param->type)
	{
		case TP_PARAM_INTEGER:
			return "integer";
		case TP_PARAM_REAL:
			return "real";
		case TP_PARAM_FRACTION:
			return "fraction";
		case TP_PARAM_ENUM:
			break;
	}
	return "enum";
}

static Datum
choices(const tp_param *param)
{
	StringInfoData text;

	initStringInfo(&text);
	for (const char *const *choice = param->choices; *choice != NULL; choice++)
		appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "", *choice);
	return CStringGetTextDatum(text.data);
}

Datum
pg_bufferpool_options(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *name;
	int			position = 0;

	InitMaterializedSRF(fcinfo, 0);
	while ((name = NextBufferPoolPolicy(&position)) != NULL)
	{
		const tp_policy *policy = FindBufferPoolPolicy(name, NULL);

		for (int i = 0; i < tp_policy_param_count(policy); i++)
		{
			const tp_param *param = &policy->params[i];
			bool		is_enum = param->type == TP_PARAM_ENUM;
			Datum		values[8] = {
				CStringGetTextDatum(name),
				CStringGetTextDatum(param->name),
				CStringGetTextDatum(option_type(param)),
				option_value(param, param->default_value)
			};
			bool		nulls[8] = {false};

			if (is_enum)
				values[6] = choices(param);
			else
			{
				values[4] = option_value(param, param->min);
				values[5] = option_value(param, param->max);
			}
			nulls[4] = nulls[5] = is_enum;
			nulls[6] = !is_enum;
			values[7] = CStringGetTextDatum(param->help);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values,
								 nulls);
		}
	}
	return (Datum) 0;
}

/* ---- lists ---- */

/* Entries of a slice, and their pages at that time. */
typedef struct ListSlice
{
	ReturnSetInfo *rsinfo;
	BufferPoolDefinition pool;
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
put_entry(ReturnSetInfo *rsinfo, const char *pool,
		  const BufferPoolListEntry *entry, const BufferTag *tag)
{
	bool		ghost = entry->buf_id < 0;
	Datum		values[11] = {0};
	bool		nulls[11] = {0};

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
	values[10] = CStringGetTextDatum(pool);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_slice(void *arg)
{
	ListSlice  *slice = arg;

	for (int i = 0; i < slice->n; i++)
		put_entry(slice->rsinfo, slice->pool.name, &slice->entries[i],
				  &slice->tags[i]);
	slice->n = 0;
}

Datum
pg_bufferpool_lists(PG_FUNCTION_ARGS)
{
	/* zeroed now, so that no page fault happens under the lock */
	ListSlice  *slice = palloc0_object(ListSlice);

	InitMaterializedSRF(fcinfo, 0);
	slice->rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		if (!BufferPoolHasAlgorithm(&BufferPools[i]))
			continue;
		BufferPoolReadDefinition(&BufferPools[i], &slice->pool);
		WalkBufferPoolLists(&BufferPools[i], copy_entry, put_slice, slice);
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

static void
check_pool(BufferPool *pool, bool algorithm_state, Violations *violations)
{
	for (int first = 0; first < NBuffers; first += SLICE)
	{
		CHECK_FOR_INTERRUPTS();
		BufferPoolCheckBuffers(pool, first, Min(SLICE, NBuffers - first),
							   take_violation, violations);
	}
	if (algorithm_state)
		BufferPoolCheckAlgorithm(pool, take_violation, violations);
}

Datum
pg_bufferpool_check(PG_FUNCTION_ARGS)
{
	bool		algorithm_state = PG_GETARG_BOOL(0);
	Violations *violations = palloc0_object(Violations);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < BufferPoolsReserved(); i++)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			check_pool(&BufferPools[i], algorithm_state, violations);
	BufferPoolCheckMembers(take_violation, violations);
	put_violations((ReturnSetInfo *) fcinfo->resultinfo, violations);
	return (Datum) 0;
}
