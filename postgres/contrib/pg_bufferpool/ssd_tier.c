/*-------------------------------------------------------------------------
 *
 * ssd_tier.c
 *	  Views and functions of the SSD tier.
 *
 * contrib/pg_bufferpool/ssd_tier.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/ssd_tier_internals.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

PG_FUNCTION_INFO_V1(pg_stat_get_ssd_tier);
PG_FUNCTION_INFO_V1(pg_stat_reset_ssd_tier);
PG_FUNCTION_INFO_V1(pg_ssd_tier_get_relations);
PG_FUNCTION_INFO_V1(pg_ssd_tier_get_extents);
PG_FUNCTION_INFO_V1(pg_ssd_tier_enable);
PG_FUNCTION_INFO_V1(pg_ssd_tier_disable);
PG_FUNCTION_INFO_V1(pg_ssd_tier_reset);
PG_FUNCTION_INFO_V1(pg_ssd_tier_check);

/*
 * How often pg_ssd_tier_enable looks whether the writer has done its work, and
 * how often it finds no writer before it gives up: a writer that was ended is
 * started again after a second.
 */
#define POLL_MILLISECONDS 10
#define POLLS_WITHOUT_WRITER 500

static const char *
status_text(void)
{
	switch ((SsdTierStatus) pg_atomic_read_u32(&SsdTier.shared->status))
	{
		case SSD_TIER_STARTING:
			return "starting";
		case SSD_TIER_ON:
			return "on";
		case SSD_TIER_FAILING:
		case SSD_TIER_OFF:
			return "off";
	}
	return NULL;
}

static void
require_tier(void)
{
	if (!SsdTierConfigured)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no SSD tier"),
				 errhint("Set \"%s\" and \"%s\", and restart the server.",
						 "bufferpool.ssd_path", "bufferpool.ssd_size")));
}

/* ---- statistics ---- */

/* One row, or none without a tier. */
Datum
pg_stat_get_ssd_tier(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[21 + SSD_TIER_NUM_COUNTERS + SSD_TIER_NUM_COSTS];
	bool		nulls[lengthof(values)] = {0};
	SsdTierShared *shared = SsdTier.shared;
	tp_tier_counters tier;
	double		saved;
	TimestampTz reset;
	uint64		skipped;
	uint32		used;
	uint32		kept;
	double		price;
	uint64		day;
	int			n = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (!SsdTierConfigured)
		return (Datum) 0;
	SsdTierLock();
	tier = shared->tier;
	saved = shared->saved_time;
	reset = shared->stats_reset;
	used = tp_resident(&SsdTier.core.pool);
	kept = shared->kept.frames;
	SsdTierFollowTime(0);
	price = tp_budget_price(&shared->budget) *
		SsdTier.core.extents->settings.random_saving;
	day = shared->budget.day;
	SsdTierUnlock();
	skipped = pg_atomic_read_u64(&shared->skipped);

	values[n++] = CStringGetTextDatum(status_text());
	values[n++] = TimestampTzGetDatum(shared->switched);
	values[n++] = CStringGetTextDatum(SsdTierFileName());
	values[n++] = BoolGetDatum(shared->direct);
	values[n++] = CStringGetTextDatum(SsdTier.core.pool.policy->name);
	values[n++] = Int64GetDatum(shared->slots);
	values[n++] = Int64GetDatum(used);
	values[n++] = Int64GetDatum(kept);
	values[n++] = Int64GetDatum((int64) SsdTierMemory());
	values[n++] = Int64GetDatum((int64) (tier.reads + skipped));
	values[n++] = Int64GetDatum((int64) tier.hits);
	values[n++] = Int64GetDatum((int64) tier.admitted);
	values[n++] = Int64GetDatum((int64) tier.evicted);
	values[n++] = Int64GetDatum((int64) tier.updated);
	values[n++] = Int64GetDatum((int64) tier.refused);
	values[n++] = Int64GetDatum((int64) tier.crowded);
	values[n++] = Int64GetDatum((int64) tier.too_dear);
	for (int i = 0; i < SSD_TIER_NUM_COUNTERS; i++)
		values[n++] = Int64GetDatum((int64) (pg_atomic_read_u64(&shared->counters[i]) +
											 (i == SSD_TIER_PASSED_BY ? skipped : 0)));
	for (int i = 0; i < SSD_TIER_NUM_COSTS; i++)
		values[n++] = Float8GetDatum(SsdTierReadTime(i));
	values[n++] = Float8GetDatum(saved / 1000);
	values[n++] = Float8GetDatum(price);
	values[n++] = Int64GetDatum((int64) day);
	values[n++] = TimestampTzGetDatum(reset);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}

Datum
pg_stat_reset_ssd_tier(PG_FUNCTION_ARGS)
{
	if (!SsdTierConfigured)
		PG_RETURN_VOID();
	SsdTierLock();
	memset(&SsdTier.shared->tier, 0, sizeof(SsdTier.shared->tier));
	pg_atomic_write_u64(&SsdTier.shared->skipped, 0);
	for (int i = 0; i < SSD_TIER_NUM_COUNTERS; i++)
		pg_atomic_write_u64(&SsdTier.shared->counters[i], 0);
	SsdTier.shared->saved_time = 0;
	SsdTier.shared->stats_reset = GetCurrentTimestamp();
	SsdTierUnlock();
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		CHECK_FOR_INTERRUPTS();
		SsdTierResetRelation(i);
	}
	PG_RETURN_VOID();
}

/* ---- contents ---- */

static void
put_locator(Datum *values, const RelFileLocator *locator)
{
	values[0] = ObjectIdGetDatum(locator->dbOid);
	values[1] = ObjectIdGetDatum(locator->spcOid);
	values[2] = ObjectIdGetDatum(locator->relNumber);
}

Datum
pg_ssd_tier_get_relations(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (uint32 i = 0; SsdTierConfigured && i < SsdTier.max_relations; i++)
	{
		SsdTierRelation relation;
		Datum		values[7];
		bool		nulls[7] = {0};

		CHECK_FOR_INTERRUPTS();
		if (!SsdTierLookAtRelation(i, &relation))
			continue;
		put_locator(values, &relation.locator);
		values[3] = CStringGetTextDatum(SsdTierChoiceName(relation.choice));
		values[4] = Int64GetDatum(relation.pages);
		values[5] = Int64GetDatum((int64) relation.reads);
		values[6] = Int64GetDatum((int64) relation.hits);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
pg_ssd_tier_get_extents(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	if (!SsdTierConfigured)
		return (Datum) 0;
	for (uint32 i = 0; i <= SsdTier.core.extents->mask; i++)
	{
		SsdTierExtentLook look;
		Datum		values[6];
		bool		nulls[6] = {0};

		CHECK_FOR_INTERRUPTS();
		if (!SsdTierLookAtExtent(i, &look))
			continue;
		put_locator(values, &look.locator);
		values[3] = Int64GetDatum(look.block);
		values[4] = Float8GetDatum(look.temperature);
		values[5] = Int32GetDatum(look.cached);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- on and off ---- */

static bool
status_is(SsdTierStatus status)
{
	return pg_atomic_read_u32(&SsdTier.shared->status) == status;
}

static void
wait_for_writer(void)
{
	static int	polls_without;

	if (pg_atomic_read_u32(&SsdTier.shared->writer) != (uint32) INVALID_PROC_NUMBER)
		polls_without = 0;
	else if (++polls_without > POLLS_WITHOUT_WRITER)
	{
		polls_without = 0;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the SSD tier's writer is not running"),
				 errhint("The log says why; it needs one of \"%s\".",
						 "max_worker_processes")));
	}
	SsdTierWakeWriter();
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 POLL_MILLISECONDS, WAIT_EVENT_SSD_TIER_MAIN);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Returns whether the tier is on now; if not, the log says why. */
Datum
pg_ssd_tier_enable(PG_FUNCTION_ARGS)
{
	require_tier();
	while (status_is(SSD_TIER_FAILING))
		wait_for_writer();
	SsdTierSwitch(SSD_TIER_OFF, SSD_TIER_STARTING);
	while (status_is(SSD_TIER_STARTING))
		wait_for_writer();
	PG_RETURN_BOOL(SsdTierIsOn());
}

/* Its pages are lost. */
Datum
pg_ssd_tier_disable(PG_FUNCTION_ARGS)
{
	require_tier();
	if (SsdTierSwitch(SSD_TIER_ON, SSD_TIER_OFF) ||
		SsdTierSwitch(SSD_TIER_STARTING, SSD_TIER_OFF))
		ereport(LOG, (errmsg("the SSD tier is switched off by request")));
	SsdTierWakeWriter();
	PG_RETURN_VOID();
}

/* As after the first start: what it knows of pages that are not on it is lost, too. */
Datum
pg_ssd_tier_reset(PG_FUNCTION_ARGS)
{
	require_tier();
	SsdTier.shared->anew = true;
	SsdTierSwitch(SSD_TIER_ON, SSD_TIER_OFF);
	return pg_ssd_tier_enable(fcinfo);
}

/* ---- verification ---- */

typedef struct Violations
{
	int			n;
	const char *texts[100];
	uint32		numbers[100];
} Violations;

static void
note_violation(void *arg, const char *violation, uint32 number)
{
	Violations *violations = arg;

	if (violations->n == lengthof(violations->texts))
		return;
	violations->texts[violations->n] = violation;
	violations->numbers[violations->n++] = number;
}

Datum
pg_ssd_tier_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Violations	violations = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (!SsdTierConfigured)
		return (Datum) 0;
	SsdTierCheck(note_violation, &violations);
	for (int i = 0; i < violations.n; i++)
	{
		Datum		values[2] = {CStringGetTextDatum(violations.texts[i]),
		Int64GetDatum(violations.numbers[i])};
		bool		nulls[2] = {0};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
