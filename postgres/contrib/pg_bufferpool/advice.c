/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  What buffer pools would read with other sizes and algorithms, and how
 *	  self-tuning has moved buffers, as rows.
 *
 * contrib/pg_bufferpool/advice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "storage/bufferpool_internals.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(pg_bufferpool_get_advice);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpool_advice);
PG_FUNCTION_INFO_V1(pg_bufferpool_advice_reset);
PG_FUNCTION_INFO_V1(pg_bufferpool_get_moves);

/*
 * The advice on the pool of this number, and its name.  Returns false if there
 * is none.
 */
static bool
read_advice(int number, BufferPoolAdvice *advice,
			BufferPoolDefinition *definition)
{
	BufferPoolReadDefinition(&BufferPools[number], definition);
	BufferPoolReadAdvice(number, advice);
	return advice->valid && definition->name[0] != '\0';
}

/* A row; relation is NULL for the pool as a whole. */
static void
put_row(ReturnSetInfo *rsinfo, const char *name, const BufferPool *pool,
		const BufferPoolAdvice *advice,
		const BufferPoolAdviceRelation *relation, int policy, int size)
{
	Datum		values[11] = {0};
	bool		nulls[11] = {0};

	values[0] = CStringGetTextDatum(name);
	if (relation != NULL)
	{
		values[1] = ObjectIdGetDatum(relation->tablespace);
		values[2] = ObjectIdGetDatum(relation->database);
		values[3] = ObjectIdGetDatum(relation->file);
	}
	nulls[1] = nulls[2] = nulls[3] = relation == NULL;
	values[4] = CStringGetTextDatum(advice->algorithms[policy]);
	values[5] = BoolGetDatum(policy == 0);
	values[6] = Float8GetDatum((double) advice->buffers[size] /
							   Max(BufferPoolSize(pool), 1));
	values[7] = Int64GetDatum(advice->buffers[size]);
	values[8] = Float8GetDatum(relation != NULL ? relation->requests :
							   advice->requests);
	values[9] = Float8GetDatum(relation != NULL ?
							   relation->reads[policy][size] :
							   advice->estimates[policy][size]);
	values[10] = Float8GetDatum(advice->page_time);
	nulls[10] = advice->page_time < 0;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
put_rows(ReturnSetInfo *rsinfo, const char *name, const BufferPool *pool,
		 const BufferPoolAdvice *advice,
		 const BufferPoolAdviceRelation *relation)
{
	for (int policy = 0; policy < advice->policies; policy++)
		for (int size = 0; size < TP_ADVICE_SIZES; size++)
			put_row(rsinfo, name, pool, advice, relation, policy, size);
}

Datum
pg_bufferpool_get_advice(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolAdvice *advice = palloc_object(BufferPoolAdvice);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		if (!read_advice(i, advice, &definition))
			continue;
		put_rows(rsinfo, definition.name, &BufferPools[i], advice, NULL);
		for (int j = 0; j < TP_ADVICE_RELATIONS; j++)
			if (RelFileNumberIsValid(advice->relations[j].file))
				put_rows(rsinfo, definition.name, &BufferPools[i], advice,
						 &advice->relations[j]);
	}
	return (Datum) 0;
}

static Datum
interval_of(double seconds)
{
	Interval   *interval = palloc0_object(Interval);

	interval->time = (TimeOffset) (seconds * USECS_PER_SEC);
	return IntervalPGetDatum(interval);
}

Datum
pg_stat_get_bufferpool_advice(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolAdvice *advice = palloc_object(BufferPoolAdvice);
	BufferPoolAdvisorState state;

	InitMaterializedSRF(fcinfo, 0);
	BufferPoolAdvisorRuns(&state);
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;
		Datum		values[12];
		bool		nulls[12] = {0};

		if (!read_advice(i, advice, &definition))
			continue;
		values[0] = CStringGetTextDatum(definition.name);
		values[1] = Int32GetDatum(state.pid);
		values[2] = TimestampTzGetDatum(advice->since);
		values[3] = interval_of(advice->seconds);
		values[4] = Int64GetDatum((int64) advice->requests);
		values[5] = Int64GetDatum((int64) advice->reads);
		values[6] = Float8GetDatum(advice->page_time);
		nulls[6] = advice->page_time < 0;
		values[7] = Float8GetDatum(advice->sample_rate);
		values[8] = Int64GetDatum(advice->frames);
		values[9] = Int64GetDatum(advice->samples);
		values[10] = Int64GetDatum(state.dropped);
		values[11] = Int64GetDatum(advice->memory);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
pg_bufferpool_advice_reset(PG_FUNCTION_ARGS)
{
	BufferPoolResetAdvice();
	PG_RETURN_VOID();
}

Datum
pg_bufferpool_get_moves(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolMoveRecord *moves = palloc_array(BufferPoolMoveRecord,
											   BUFFERPOOL_MOVES);
	int			n = BufferPoolReadMoves(moves);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < n; i++)
	{
		const BufferPoolMoveRecord *move = &moves[i];
		Datum		values[10];
		bool		nulls[10] = {0};

		values[0] = TimestampTzGetDatum(move->time);
		values[1] = CStringGetTextDatum(move->from);
		values[2] = CStringGetTextDatum(move->to);
		values[3] = Int64GetDatum(move->wanted);
		values[4] = Int64GetDatum(move->moved);
		nulls[4] = move->moved < 0;
		values[5] = Int64GetDatum(move->from_buffers);
		values[6] = Int64GetDatum(move->to_buffers);
		values[7] = Float8GetDatum(move->saved);
		values[8] = Float8GetDatum(move->lost);
		values[9] = Float8GetDatum(move->gain);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
