/*
 * history.c
 *	  How the relations have been scanned so far.
 *
 * For each relation: how often scans begin, and which share of them enters
 * each of its regions.  For all relations together: how long scans take until
 * they enter a region.
 *
 * history_begin runs under the registry's lock, the others without a lock.
 * All fields are relaxed atomics: of two concurrent visits to a region one may
 * be lost, and a place that changes hands meanwhile gives wrong numbers.
 */
#include "tidepool/relaxed.h"

#include "prediction/history.h"

/*
 * Measured by bench/constants.py: misses grow by at most 1.3 % with 1 place, 2.9
 * and 0.2 % with weights of 1/4 and 1/64 of the interval, 1.2 and 1.4 % with
 * weights of 0.1 and 0.001 of the lead time.
 */
#define PROBES 4				/* places that a relation's history may take */
#define WEIGHT_INTERVAL 0.0625f /* of the newest interval, in the long run */
#define WEIGHT_LEAD_TIME 0.01f	/* of the newest scan's, likewise */

/*
 * The number after so many further scans of the relation, with a half-life of
 * TP_HISTORY_SCANS: exact at whole half-lives, linear between them.
 */
static float
faded(float value, uint32_t scans)
{
	uint32_t	halvings = scans / TP_HISTORY_SCANS;
	uint32_t	rest = scans % TP_HISTORY_SCANS;

	if (halvings > 60)
		return 0;
	return value / (float) (UINT64_C(1) << halvings) *
		(1 - (float) rest / (2 * TP_HISTORY_SCANS));
}

/* Scans of the relation that entered this region, faded to the present. */
static float
visits_now(const tp_scan_history *history, uint32_t region)
{
	return faded(tp_load_float(&history->visits[region]),
				 tp_load32(&history->begun) -
				 tp_load32(&history->as_of[region]));
}

static void
set_visits(tp_scan_history *history, uint32_t region, float visits)
{
	tp_store_float(&history->visits[region], visits);
	tp_store32(&history->as_of[region], tp_load32(&history->begun));
}

/* The first place that the relation's history may take. */
static inline uint32_t
home_of(const tp_scans *scans, uint64_t relation)
{
	return (uint32_t) (tp_mix64(relation) >> 32) & scans->header->history_mask;
}

uint32_t
history_find(const tp_scans *scans, uint64_t relation)
{
	uint32_t	home = home_of(scans, relation);

	for (uint32_t probe = 0; probe < PROBES; probe++)
	{
		uint32_t	i = (home + probe) & scans->header->history_mask;

		if (tp_load64(&scans->history[i].relation) == relation &&
			tp_load32(&scans->history[i].begun) > 0)
			return i;
	}
	return TP_NONE;
}

/*
 * A place for the history of a relation that has none: an empty one, or that
 * of the relation whose last scan began longest ago.
 */
static uint32_t
vacant_place(const tp_scans *scans, uint64_t relation)
{
	uint32_t	home = home_of(scans, relation);
	uint32_t	vacant = home;
	uint64_t	oldest = UINT64_MAX;

	for (uint32_t probe = 0; probe < PROBES; probe++)
	{
		uint32_t	i = (home + probe) & scans->header->history_mask;
		const tp_scan_history *history = &scans->history[i];
		bool		empty = tp_load32(&history->begun) == 0;
		uint64_t	last_begin = empty ? 0 : tp_load64(&history->last_begin);

		if (empty || last_begin < oldest)
		{
			oldest = last_begin;
			vacant = i;
		}
	}
	return vacant;
}

static void
begin_anew(tp_scan_history *history, uint64_t relation)
{
	tp_store32(&history->begun, 0);
	tp_store64(&history->relation, relation);
	tp_store64(&history->last_begin, 0);
	tp_store32(&history->shift, 7); /* TP_BLOCK_GROUP */
	tp_store_float(&history->interval, 0);
	tp_store_float(&history->total, 0);
	for (uint32_t region = 0; region < TP_HISTORY_REGIONS; region++)
		set_visits(history, region, 0);
}

/* Double the size of the regions until they reach the relation's end. */
static void
cover(tp_scan_history *history, uint64_t end)
{
	while (end > (uint64_t) TP_HISTORY_REGIONS << tp_load32(&history->shift))
	{
		for (uint32_t i = 0; i < TP_HISTORY_REGIONS; i++)
			set_visits(history, i, 2 * i >= TP_HISTORY_REGIONS ? 0 :
					   (visits_now(history, 2 * i) +
						visits_now(history, 2 * i + 1)) / 2);
		tp_store32(&history->shift, tp_load32(&history->shift) + 1);
	}
}

uint32_t
history_begin(const tp_scans *scans, uint64_t relation, uint64_t end,
			  bool counts, uint64_t now)
{
	uint32_t	i = history_find(scans, relation);
	tp_scan_history *history;
	uint32_t	begun;
	uint64_t	last_begin;

	if (i == TP_NONE)
	{
		i = vacant_place(scans, relation);
		begin_anew(&scans->history[i], relation);
	}
	history = &scans->history[i];
	cover(history, end);
	if (!counts)
		return i;
	begun = tp_load32(&history->begun);
	last_begin = tp_load64(&history->last_begin);
	if (begun > 0)
	{
		float		gap = now > last_begin ? (float) (now - last_begin) : 0;
		float		weight = 1 / (float) begun;
		float		interval = tp_load_float(&history->interval);

		weight = weight > WEIGHT_INTERVAL ? weight : WEIGHT_INTERVAL;
		tp_store_float(&history->interval, interval + weight * (gap - interval));
	}
	tp_store_float(&history->total,
				   faded(tp_load_float(&history->total), 1) + 1);
	tp_store64(&history->last_begin, now);
	tp_store32(&history->begun, begun + 1);
	return i;
}

void
history_pass(const tp_scans *scans, uint32_t number, uint32_t block,
			 uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_history *history = &scans->history[tp_load32(&scan->history)];
	const tp_scan_relation *relation =
		&scans->relations[tp_load32(&scan->relation)];
	uint32_t	region = block >> (tp_load32(&history->shift) & 31);
	uint64_t	begun_at = tp_load64(&scan->begun_at);
	float		taken = now > begun_at ? (float) (now - begun_at) : 0;
	float		lead_time = tp_load_float(&scans->header->lead_time);

	if (tp_load32(&scan->companion) != 0)
		return;
	/* the history may have become another relation's since the scan began */
	if (region == tp_load32(&scan->region) || region >= TP_HISTORY_REGIONS ||
		tp_load64(&history->relation) != tp_load64(&relation->relation))
		return;
	tp_store32(&scan->region, region);
	set_visits(history, region, visits_now(history, region) + 1);
	lead_time = lead_time > 0 ?
		lead_time + WEIGHT_LEAD_TIME * (taken - lead_time) : taken;
	tp_store_float(&scans->header->lead_time, lead_time);
}

history_intervals
history_at(const tp_scans *scans, uint32_t place, uint32_t block, uint64_t now)
{
	const history_intervals unknown = {TP_NEVER, TP_NEVER};
	history_intervals found;
	const tp_scan_history *history;
	uint32_t	region;
	double		interval;
	uint64_t	last_begin;
	double		since;
	double		total;
	double		visits;

	if (place == TP_NONE)
		return unknown;
	history = &scans->history[place];
	region = block >> (tp_load32(&history->shift) & 31);
	if (tp_load32(&history->begun) < 2 || region >= TP_HISTORY_REGIONS)
		return unknown;
	visits = (double) visits_now(history, region);
	if (visits <= 0)
		return unknown;

	/* if scans have stopped, expect the next one later and later */
	last_begin = tp_load64(&history->last_begin);
	since = now > last_begin ? (double) (now - last_begin) : 0;
	interval = (double) tp_load_float(&history->interval);
	interval = interval > since ? interval : since;
	total = (double) tp_load_float(&history->total);

	/*
	 * At most all scans come here: one that goes round may have entered the
	 * region twice, and the one that awaits the block may be in it already.
	 */
	found.all = interval * (total > visits ? total / visits : 1);
	found.others = interval * (total - 1 > visits ? (total - 1) / visits : 1);
	return found;
}
