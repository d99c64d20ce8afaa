/*
 * history.c
 *	  How the relations have been scanned so far.
 *
 * Of each relation: how often scans begin, and which share of them comes to
 * each of its regions; of all together, how long scans take until they enter a
 * region.
 *
 * Costs: 1.1 KiB for each of a quarter as many relations as scans; two more
 * cache lines an estimate.
 */
#include <string.h>

#include "tidepool/relaxed.h"

#include "prediction/history.h"

#define PROBES 4				/* places where history may be found */
#define WEIGHT_INTERVAL 0.0625f /* of the newest interval, in the long run */
#define WEIGHT_LEAD_TIME 0.01f	/* of the newest scan's, likewise */

/*
 * A number that counts half after TP_HISTORY_SCANS scans, after so many of
 * them: exact at whole half-lives, linear between.
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

/* The relation's history; if it has none, *vacant is where they could be. */
static uint32_t
find_history(const tp_scans *scans, uint64_t relation, uint32_t *vacant)
{
	uint32_t	mask = scans->header->history_mask;
	uint32_t	home = (uint32_t) (tp_mix64(relation) >> 32);

	*vacant = home & mask;
	for (uint32_t probe = 0; probe < PROBES; probe++)
	{
		uint32_t	i = (home + probe) & mask;
		const tp_scan_history *history = &scans->history[i];

		if (history->begun > 0 && history->relation == relation)
			return i;
		if (history->begun == 0 ||
			(scans->history[*vacant].begun > 0 &&
			 history->last_begin < scans->history[*vacant].last_begin))
			*vacant = i;
	}
	return TP_NONE;
}

/* Regions become twice as large until they reach to the relation's end. */
static void
cover(tp_scan_history *history, uint64_t end)
{
	while (end > (uint64_t) TP_HISTORY_REGIONS << history->shift)
	{
		for (uint32_t i = 0; i < TP_HISTORY_REGIONS; i++)
		{
			uint32_t	from = 2 * i;
			bool		inside = from < TP_HISTORY_REGIONS;

			tp_store_float(&history->visits[i], !inside ? 0 :
						   (faded(history->visits[from],
								  history->begun - history->as_of[from]) +
							faded(history->visits[from + 1],
								  history->begun - history->as_of[from + 1])) / 2);
			history->as_of[i] = history->begun;
		}
		tp_store32(&history->shift, history->shift + 1);
	}
}

uint32_t
history_begin(const tp_scans *scans, uint64_t relation, uint64_t end,
			  uint64_t now)
{
	uint32_t	vacant;
	uint32_t	i = find_history(scans, relation, &vacant);
	tp_scan_history *history;

	if (i == TP_NONE)
	{
		i = vacant;
		history = &scans->history[i];
		memset(history, 0, sizeof(*history));
		history->relation = relation;
		history->shift = 7;		/* TP_BLOCK_GROUP */
	}
	history = &scans->history[i];
	cover(history, end);
	if (history->begun > 0)
	{
		float		gap = now > history->last_begin ?
			(float) (now - history->last_begin) : 0;
		float		weight = 1 / (float) history->begun;

		weight = weight > WEIGHT_INTERVAL ? weight : WEIGHT_INTERVAL;
		tp_store_float(&history->interval,
					   history->interval + weight * (gap - history->interval));
	}
	tp_store_float(&history->total, faded(history->total, 1) + 1);
	history->last_begin = now;
	tp_store32(&history->begun, history->begun + 1);
	return i;
}

void
history_pass(const tp_scans *scans, uint32_t number, uint32_t block,
			 uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_history *history = &scans->history[scan->history];
	uint32_t	region = block >> (history->shift & 31);
	float		taken = now > scan->begun_at ?
		(float) (now - scan->begun_at) : 0;
	float		lead_time = scans->header->lead_time;

	if (region == scan->region || region >= TP_HISTORY_REGIONS ||
		history->relation != scans->relations[scan->relation].relation)
		return;
	scan->region = region;
	tp_store_float(&history->visits[region],
				   faded(history->visits[region],
						 history->begun - history->as_of[region]) + 1);
	tp_store32(&history->as_of[region], history->begun);
	lead_time = lead_time > 0 ? lead_time + WEIGHT_LEAD_TIME * (taken - lead_time) : taken;
	tp_store_float(&scans->header->lead_time, lead_time);
}

double
history_interval(const tp_scans *scans, tp_page page, uint64_t now)
{
	uint32_t	vacant;
	uint32_t	i = find_history(scans, page.relation, &vacant);
	const tp_scan_history *history = &scans->history[i == TP_NONE ? 0 : i];
	uint32_t	region = page.block >> (history->shift & 31);
	double		interval = (double) history->interval;
	double		since;
	double		visits;

	if (i == TP_NONE || history->begun < 2 || region >= TP_HISTORY_REGIONS)
		return TP_NEVER;
	visits = (double) faded(history->visits[region],
							history->begun - history->as_of[region]);
	if (visits <= 0)
		return TP_NEVER;

	/* scans that have ceased to come are less and less expected */
	since = now > history->last_begin ? (double) (now - history->last_begin) : 0;
	interval = interval > since ? interval : since;
	return interval * (double) history->total / visits;
}
