/*-------------------------------------------------------------------------
 *
 * scans.c
 *	  The running scans that replacement algorithms know of.
 *
 * contrib/pg_bufferpool/scans.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(pg_stat_get_scans);

/* A running scan, and its pages in buffers. */
typedef struct RunningScan
{
	BufferPoolScanLook look;
	uint32		number;
	BlockNumber step;			/* one block in so many is looked at */
	int64		resident;		/* of those that it has yet to read */
} RunningScan;

static const char *
kind_text(BufferPoolScanKind kind)
{
	switch (kind)
	{
		case BUFFERPOOL_SEQUENTIAL_SCAN:
			return "sequential";
		case BUFFERPOOL_TID_RANGE_SCAN:
			return "tid range";
		case BUFFERPOOL_SAMPLE_SCAN:
			return "sample";
		case BUFFERPOOL_BITMAP_SCAN:
			return "bitmap";
		case BUFFERPOOL_INDEX_SCAN:
			return "index";
		case BUFFERPOOL_VACUUM_SCAN:
			return "vacuum";
		case BUFFERPOOL_ANALYZE_SCAN:
			return "analyze";
	}
	return NULL;
}

static int
compare_relations(const void *left, const void *right)
{
	uint64		a = ((const RunningScan *) left)->look.scan.relation;
	uint64		b = ((const RunningScan *) right)->look.scan.relation;

	return a < b ? -1 : a > b;
}

/*
 * Scans of a relation that are asked of each of its pages.  One session may have
 * thousands open; of more scans accordingly fewer pages are looked at, and stand
 * for the others.
 */
#define SCANS_ASKED 64

/* The scans are sorted by relation. */
static void
choose_steps(RunningScan *scans, int n)
{
	int			end;

	for (int first = 0; first < n; first = end)
	{
		end = first;
		while (end < n && compare_relations(&scans[first], &scans[end]) == 0)
			end++;
		for (int i = first; i < end; i++)
			scans[i].step = (end - first + SCANS_ASKED - 1) / SCANS_ASKED;
	}
}

/* The running scans, by relation.  Returns how many. */
static int
running_scans(RunningScan **scans)
{
	int			n = 0;

	*scans = palloc_array(RunningScan, Max(BufferPoolScanPlaces(), 1));
	for (uint32 number = 0; number < BufferPoolScanPlaces(); number++)
	{
		RunningScan *scan = &(*scans)[n];

		if (!BufferPoolLookAtScan(number, &scan->look))
			continue;
		scan->number = number;
		scan->resident = 0;
		n++;
	}
	qsort(*scans, n, sizeof(RunningScan), compare_relations);
	choose_steps(*scans, n);
	return n;
}

/* The first scan of this relation, or n. */
static int
first_of(const RunningScan *scans, int n, uint64 relation)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (scans[middle].look.scan.relation < relation)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && scans[low].look.scan.relation == relation ? low : n;
}

/*
 * Count the pages in buffers that each scan has yet to read, or estimate them.
 * Headers are not locked, so a page that comes or goes meanwhile may be missed.
 */
static void
count_resident(RunningScan *scans, int n)
{
	if (n == 0)
		return;
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
	{
		BufferDesc *buf = GetBufferDescriptor(buf_id);
		tp_page		page;

		if (buf_id % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (!(pg_atomic_read_u32(&buf->state) & BM_VALID))
			continue;
		page = BufferTagPage(&buf->tag);
		for (int i = first_of(scans, n, page.relation);
			 i < n && scans[i].look.scan.relation == page.relation &&
			 page.block % scans[i].step == 0; i++)
			if (BufferPoolScanAwaits(scans[i].number, page.block))
				scans[i].resident += scans[i].step;
	}
}

Datum
pg_stat_get_scans(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	uint64		now = BufferPoolNow();
	TimestampTz present = GetCurrentTimestamp();
	RunningScan *scans;
	int			n = running_scans(&scans);

	InitMaterializedSRF(fcinfo, 0);
	count_resident(scans, n);
	for (int i = 0; i < n; i++)
	{
		const BufferPoolScanLook *look = &scans[i].look;
		const tp_scan_look *scan = &look->scan;
		uint32		left = scan->length - Min(scan->done, scan->length);
		uint64		age = now > scan->begun_at ? now - scan->begun_at : 0;
		BufferPoolDefinition pool;
		Datum		values[16];
		bool		nulls[16] = {0};

		BufferPoolReadDefinition(&BufferPools[look->pool], &pool);
		values[0] = Int32GetDatum(GetPGProcByNumber(scan->owner)->pid);
		values[1] = ObjectIdGetDatum(look->database);
		values[2] = ObjectIdGetDatum(look->relation);
		values[3] = CStringGetTextDatum(pool.name);
		values[4] = CStringGetTextDatum(kind_text(look->kind));
		values[5] = CStringGetTextDatum(scan->backward ? "backward" : "forward");
		values[6] = Int64GetDatum(scan->next);
		nulls[6] = left == 0;
		values[7] = Int64GetDatum(scan->length);
		values[8] = Int64GetDatum(scan->length - left);
		values[9] = Int64GetDatum(left);
		values[10] = Int64GetDatum(scans[i].resident);
		values[11] = Float8GetDatum(1e6 / Max(scan->block_time, 1e-3));
		values[12] = Float8GetDatum(left * (double) scan->block_time / 1e6);
		values[13] = BoolGetDatum(scan->gone);
		values[14] = Int32GetDatum(look->met_pid);
		nulls[14] = look->met_pid == 0;
		values[15] = TimestampTzGetDatum(present - (TimestampTz) age);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
