/*
 * reason.h
 *	  Why a page was proposed, and whether it will be missed soon.
 */
#ifndef TIDEPOOL_REASON_H
#define TIDEPOOL_REASON_H

#include "tidepool/frame.h"
#include "tidepool/prediction/scan.h"

/*
 * The page in this frame is proposed.  wait: the estimate, in microseconds; not
 * above what a running scan would give.  source: where it comes from, unless it
 * is TP_NEVER.
 */
static inline void
explain_proposal(const tp_pool *pool, uint32_t frame, double wait,
				 tp_reason source, uint64_t now)
{
	const struct tp_scans *scans = pool->services->scans;
	tp_page		page = tp_page_of(pool, frame);

	if (wait == TP_NEVER)
		source = scans != NULL && tp_scan_reads(scans, page.relation) ?
			TP_BY_PREDICTION : TP_BY_RECENCY;
	pool->chooser->reason = source;
	pool->chooser->wanted_soon = wait <= TP_SOON && scans != NULL &&
		tp_scan_next_access(scans, page, now) <= TP_SOON;
}

#endif							/* TIDEPOOL_REASON_H */
