/*
 * expected.c
 *	  How long until a page is read, by a running scan or by one that has not
 *	  begun.
 *
 * Running scans give no estimate for a page that none of them will read.  But
 * a scan that has not begun may read it earlier than a running one reads a
 * page that it reaches in an hour.  The history (history.c) records how often
 * scans of a relation begin, what share of them enters the page's region g,
 * and how long scans take to get there.  A page is expected in
 *
 *	  lead_time + interval * total / visits(g)
 *
 * because a scan has to begin first, and then to get there.  If a running scan
 * reads the page in w > lead_time, the expectation is
 *
 *	  lead_time + 1 / (1 / (w - lead_time) + visits(g) / (total * interval)),
 *
 * the sooner of two independent arrivals at constant rates.  A running scan
 * that gets there within lead_time counts alone: a new one can hardly overtake
 * it.
 *
 * That scan is one of total, but not yet of visits(g), so total is one less there.
 * Otherwise pages ahead of a relation's second scan would count as visited by half
 * of all scans, and might be expected after those behind it, if the second is much
 * slower than the first.
 *
 * lead_time is one number for all relations, because it is part of every
 * expectation.  With a lead time for each relation, pages of a relation with
 * slow scans were evicted before those of one that is hardly ever scanned
 * (bench/predictive_improvements.py has the numbers).
 */
#include "tidepool/relaxed.h"

#include "prediction/history.h"
#include "prediction/relations.h"

static inline uint32_t
place_of(const tp_scans *scans, tp_scan_found *found, uint64_t relation)
{
	found_of(found, relation);
	if (!found->searched_history)
		found->history = history_find(scans, relation);
	found->searched_history = true;
	return found->history;
}

/*
 * The time until a running scan reads a page from which on the page is expected in
 * `from` or later.
 */
static double
matters_from(double from, double lead_time, double others)
{
	double		beyond = from - lead_time;

	if (beyond <= 0 || others == TP_NEVER)
		return from;
	if (others <= beyond)
		return TP_NEVER;
	/* a bit less, since the way back rounds */
	return lead_time + beyond * others / (others - beyond) * (1 - 1e-6);
}

double
tp_scan_expected_access(const tp_scans *scans, tp_scan_found *found,
						tp_page page, double from, uint64_t now)
{
	double		lead_time = (double) tp_load_float(&scans->header->lead_time);
	const history_intervals interval =
		history_at(scans, place_of(scans, found, page.relation), page.block, now);
	double		known;

	/* without a look at the running scans, if they make no difference */
	if (lead_time + interval.all < from)
		return lead_time + interval.all;
	known = tp_scan_next_access_from(scans, found, page,
									 matters_from(from, lead_time, interval.others),
									 now);
	if (known <= lead_time || interval.all == TP_NEVER)
		return known;
	if (known == TP_NEVER)
		return lead_time + interval.all;

	/* the sooner of two independent arrivals at constant rates */
	known -= lead_time;
	return lead_time + known * interval.others / (known + interval.others);
}
