/*
 * page_estimate.h
 *	  How long until a page is referenced, by all that is known of it.
 *
 * The least of three times: when a scan reads it (scan.h), when an index scan
 * that trails another comes by (trail.h), and when its own references say
 * (page_history.h, newcomers.h).
 */
#ifndef TIDEPOOL_PAGE_ESTIMATE_H
#define TIDEPOOL_PAGE_ESTIMATE_H

#include "prediction/newcomers.h"

/* What all estimates of one time go by.  Good for one choice. */
typedef struct page_estimates
{
	const tp_pool *pool;
	uint64_t	now;			/* for scans */
	uint64_t	busy;			/* the pool's time, for histories: busy_time.h */
	bool		by_frequency;	/* are pages expected by their frequency? */
	bool		scan_history;	/* are scans expected that have not begun? */
	const struct tp_scans *scans;	/* NULL: no scan is known */
	const struct tp_trails *trails; /* NULL: nor one that trails */
	newcomer_outlook newcomers;
	tp_scan_found found;
} page_estimates;

/* What a page's own references tell. */
typedef struct own_estimate
{
	double		wait;			/* microseconds until the next one, or
								 * TP_NEVER */
	double		age;			/* since the last one that counts; infinite:
								 * there was none */
	bool		newcomer;		/* there was exactly one */
} own_estimate;

/* An overdue page is expected later and later (Algorithm 2 of the paper). */
static inline own_estimate
estimate_own(const page_estimates *e, const page_history *page)
{
	double		interval = (double) tp_load_float(&page->interval);
	own_estimate own = {
		.wait = TP_NEVER,
		.age = page_history_age(page, e->busy)
	};

	own.newcomer = own.age < TP_NEVER && !(interval < TP_NEVER);
	if (own.newcomer)
		own.wait = newcomers_wait(&e->newcomers, own.age);
	else if (e->by_frequency)
		own.wait = own.age > interval ? own.age : interval;
	return own;
}

/*
 * Microseconds until the page in this frame is referenced, or TP_NEVER, and
 * where that comes from.  If it is less than `from`, any number less than
 * `from` may be returned, and any source: what is cheap to know comes first, and
 * often is enough.
 */
static inline double
estimate_page(page_estimates *e, uint32_t frame, const own_estimate *own,
			  double from, tp_reason *source)
{
	double		predicted = TP_NEVER;

	if (e->trails != NULL)
		predicted = page_history_trailing(page_history_of(e->pool, frame),
										  e->trails, e->busy);
	if (e->scans != NULL && own->wait >= from && predicted >= from)
	{
		tp_page		page = tp_page_of(e->pool, frame);
		double		read = e->scan_history ?
			tp_scan_expected_access(e->scans, &e->found, page, from, e->now) :
			tp_scan_next_access_from(e->scans, &e->found, page, from, e->now);

		if (read < predicted)
			predicted = read;
	}
	if (predicted <= own->wait)
	{
		*source = TP_BY_PREDICTION;
		return predicted;
	}
	*source = own->newcomer ? TP_BY_RECENCY : TP_BY_FREQUENCY;
	return own->wait;
}

#endif							/* TIDEPOOL_PAGE_ESTIMATE_H */
