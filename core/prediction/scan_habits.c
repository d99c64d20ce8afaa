/*
 * scan_habits.c
 *	  What the scans of a relation so far tell of those to come.
 *
 * The running scans say nothing of a page that none of them will read, though
 * it may well be read before another that one of them wants in an hour: by a
 * scan that has not begun.  For that, the registry keeps of each relation how
 * often scans begin, which share of them comes to each of its regions, and
 * how long they are under way until then.  A page in region g is so expected
 *
 *	  reach + interval * total / visits(g)
 *
 * from now: a scan has to begin that comes there, and has to get there.  What
 * is known of a running scan that gets there later, after w, makes of this
 *
 *	  reach + 1 / (1 / (w - reach) + visits(g) / (total * interval)),
 *
 * the two as independent arrivals at constant rates; what gets there sooner
 * than reach is taken as it is.  A new scan cannot overtake it, or could only
 * if the running ones ended at once: reach is what scans take on average until
 * they enter a region.  It is one number for all relations, since it stands in
 * every expectation: with one for each, pages of a relation whose scans are
 * slow went before those of one that is hardly ever scanned
 * (bench/predictive_improvements.py has the numbers).
 *
 * Costs: 1.1 KiB for each of a quarter as many relations as scans; two more
 * cache lines an estimate.
 */
#include <string.h>

#include "prediction/scan_position.h"

#define PROBES 4				/* places where habits may be found */
#define WEIGHT_INTERVAL 0.0625f /* of the newest interval, in the long run */
#define WEIGHT_REACH 0.01f		/* of the newest scan's, likewise */

/*
 * A number that counts half after TP_HABIT_SCANS scans, after so many of
 * them: exact at whole half-lives, linear between.
 */
static float
faded(float value, uint32_t scans)
{
	uint32_t	halvings = scans / TP_HABIT_SCANS;
	uint32_t	rest = scans % TP_HABIT_SCANS;

	if (halvings > 60)
		return 0;
	return value / (float) (UINT64_C(1) << halvings) *
		(1 - (float) rest / (2 * TP_HABIT_SCANS));
}

/* The relation's habits; if it has none, *vacant is where they could be. */
static uint32_t
find_habits(const tp_scans *scans, uint64_t relation, uint32_t *vacant)
{
	uint32_t	mask = scans->header->habit_mask;
	uint32_t	home = (uint32_t) (tp_mix64(relation) >> 32);

	*vacant = home & mask;
	for (uint32_t probe = 0; probe < PROBES; probe++)
	{
		uint32_t	i = (home + probe) & mask;
		const tp_scan_habits *habits = &scans->habits[i];

		if (habits->begun > 0 && habits->relation == relation)
			return i;
		if (habits->begun == 0 ||
			(scans->habits[*vacant].begun > 0 &&
			 habits->last_begin < scans->habits[*vacant].last_begin))
			*vacant = i;
	}
	return TP_NONE;
}

/* Regions become twice as large until they reach to the relation's end. */
static void
cover(tp_scan_habits *habits, uint64_t end)
{
	while (end > (uint64_t) TP_HABIT_REGIONS << habits->shift)
	{
		for (uint32_t i = 0; i < TP_HABIT_REGIONS; i++)
		{
			uint32_t	from = 2 * i;
			bool		inside = from < TP_HABIT_REGIONS;

			set_float(&habits->visits[i], !inside ? 0 :
					  (faded(habits->visits[from],
							 habits->begun - habits->as_of[from]) +
					   faded(habits->visits[from + 1],
							 habits->begun - habits->as_of[from + 1])) / 2);
			habits->as_of[i] = habits->begun;
		}
		set_u32(&habits->shift, habits->shift + 1);
	}
}

uint32_t
habits_begin(const tp_scans *scans, uint64_t relation, uint64_t end,
			 uint64_t now)
{
	uint32_t	vacant;
	uint32_t	i = find_habits(scans, relation, &vacant);
	tp_scan_habits *habits;

	if (i == TP_NONE)
	{
		i = vacant;
		habits = &scans->habits[i];
		memset(habits, 0, sizeof(*habits));
		habits->relation = relation;
		habits->shift = 7;		/* TP_BLOCK_GROUP */
	}
	habits = &scans->habits[i];
	cover(habits, end);
	if (habits->begun > 0)
	{
		float		gap = now > habits->last_begin ?
			(float) (now - habits->last_begin) : 0;
		float		weight = 1 / (float) habits->begun;

		weight = weight > WEIGHT_INTERVAL ? weight : WEIGHT_INTERVAL;
		set_float(&habits->interval,
				  habits->interval + weight * (gap - habits->interval));
	}
	set_float(&habits->total, faded(habits->total, 1) + 1);
	habits->last_begin = now;
	set_u32(&habits->begun, habits->begun + 1);
	return i;
}

void
habits_pass(const tp_scans *scans, uint32_t number, uint32_t block,
			uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_habits *habits = &scans->habits[scan->habits];
	uint32_t	region = block >> (habits->shift & 31);
	float		taken = now > scan->begun_at ?
		(float) (now - scan->begun_at) : 0;
	float		reach = scans->header->reach;

	if (region == scan->region || region >= TP_HABIT_REGIONS ||
		habits->relation != scans->relations[scan->relation].relation)
		return;
	scan->region = region;
	set_float(&habits->visits[region],
			  faded(habits->visits[region],
					habits->begun - habits->as_of[region]) + 1);
	set_u32(&habits->as_of[region], habits->begun);
	reach = reach > 0 ? reach + WEIGHT_REACH * (taken - reach) : taken;
	set_float(&scans->header->reach, reach);
}

double
tp_scan_expected_access(const tp_scans *scans, tp_page page, double from,
						uint64_t now)
{
	double		known = tp_scan_next_access_from(scans, page, from, now);
	uint32_t	vacant;
	uint32_t	i = find_habits(scans, page.relation, &vacant);
	const tp_scan_habits *habits = &scans->habits[i == TP_NONE ? 0 : i];
	uint32_t	region = page.block >> (habits->shift & 31);
	double		reach = (double) scans->header->reach;
	double		since;
	double		interval = (double) habits->interval;
	double		visits;
	double		arrival;

	if (i == TP_NONE || habits->begun < 2 || known <= reach ||
		region >= TP_HABIT_REGIONS)
		return known;
	visits = (double) faded(habits->visits[region],
							habits->begun - habits->as_of[region]);
	if (visits <= 0)
		return known;

	/* scans that have ceased to come are less and less expected */
	since = now > habits->last_begin ? (double) (now - habits->last_begin) : 0;
	interval = interval > since ? interval : since;
	arrival = interval * (double) habits->total / visits;
	known -= reach;
	if (known < TP_NEVER)
		arrival = known > 0 ? known * arrival / (known + arrival) : 0;
	return reach + arrival;
}
