/*-------------------------------------------------------------------------
 *
 * warm.c
 *	  Warm starts: how far this one has come; save the list now; read the file.
 *
 * contrib/pg_bufferpool/warm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(pg_stat_get_bufferpool_warm);
PG_FUNCTION_INFO_V1(pg_bufferpool_save_warm);
PG_FUNCTION_INFO_V1(pg_bufferpool_warm_list);

static const char *
phase_text(WarmPhase phase)
{
	switch (phase)
	{
		case WARM_OFF:
			return "off";
		case WARM_STARTING:
			return "starting";
		case WARM_LOADING:
			return "reading pages";
		case WARM_PLACING:
			return "placing pages";
		case WARM_DONE:
			return "done";
	}
	return NULL;
}

static void
put_time(Datum *value, bool *null, TimestampTz time)
{
	*value = TimestampTzGetDatum(time);
	*null = time == 0;
}

/* One row. */
Datum
pg_stat_get_bufferpool_warm(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[6 + WARM_NUM_COUNTERS];
	bool		nulls[lengthof(values)] = {0};
	WarmShared	shared;
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	SpinLockAcquire(&BufferPoolWarm->mutex);
	shared = *BufferPoolWarm;
	SpinLockRelease(&BufferPoolWarm->mutex);
	nulls[n] = shared.pid == 0;
	values[n++] = Int32GetDatum(shared.pid);
	values[n++] = CStringGetTextDatum(phase_text(shared.phase));
	put_time(&values[n], &nulls[n], shared.began);
	n++;
	put_time(&values[n], &nulls[n], shared.ended);
	n++;
	for (int i = 0; i < WARM_NUM_COUNTERS; i++)
		values[n++] = Int64GetDatum((int64)
									pg_atomic_read_u64(&BufferPoolWarm->counters[i]));
	put_time(&values[n], &nulls[n], shared.list_of);
	n++;
	nulls[n] = shared.save_seconds == 0;
	values[n++] = Float8GetDatum(shared.save_seconds);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

/* Returns the number of pages on the list; NULL if the old one was kept. */
Datum
pg_bufferpool_save_warm(PG_FUNCTION_ARGS)
{
	int64		pages = BufferPoolSaveWarmList(PG_GETARG_BOOL(0));

	if (pages < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(pages);
}

/*
 * A part of the file, from this byte on, for a standby: empty at the end, NULL if
 * there is no file.
 */
Datum
pg_bufferpool_warm_list(PG_FUNCTION_ARGS)
{
	int64		at = PG_GETARG_INT64(0);
	bytea	   *part;

	if (at < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a place in the list must not be negative")));
	part = ReadWarmPart(at);
	if (part == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(part);
}
