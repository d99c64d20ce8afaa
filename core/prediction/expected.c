/*
 * expected.c
 *	  When a page will be read next, scans that have not begun among them.
 *
 * The running scans say nothing of a page that none of them will read, though
 * it may well be read before another that one of them wants in an hour: by a
 * scan that has not begun.  For that, the registry keeps of each relation how
 * often scans begin, which share of them comes to each of its regions, and
 * how long they are under way until then.  A page in region g is so expected
 *
 *	  lead_time + interval * total / visits(g)
 *
 * from now: a scan has to begin that comes there, and has to get there.  What
 * is known of a running scan that gets there later, after w, makes of this
 *
 *	  lead_time + 1 / (1 / (w - lead_time) + visits(g) / (total * interval)),
 *
 * the two as independent arrivals at constant rates; what gets there sooner
 * than lead_time is taken as it is.  A new scan cannot overtake it, or could only
 * if the running ones ended at once: lead_time is what scans take on average until
 * they enter a region.  It is one number for all relations, since it stands in
 * every expectation: with one for each, pages of a relation whose scans are
 * slow went before those of one that is hardly ever scanned
 * (bench/predictive_improvements.py has the numbers).
 */
#include "prediction/history.h"

double
tp_scan_expected_access(const tp_scans *scans, tp_page page, double from,
						uint64_t now)
{
	double		known = tp_scan_next_access_from(scans, page, from, now);
	double		lead_time = (double) scans->header->lead_time;
	double		interval;

	if (known <= lead_time)
		return known;
	interval = history_interval(scans, page, now);
	if (interval == TP_NEVER)
		return known;

	/* the sooner of two independent arrivals at constant rates */
	known -= lead_time;
	if (known < TP_NEVER)
		interval = known > 0 ? known * interval / (known + interval) : 0;
	return lead_time + interval;
}
