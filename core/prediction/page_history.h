/*
 * page_history.h
 *	  What PBM keeps of the references to a page.
 *
 * The times of references by registered scans are known ahead.  The history is
 * for all other references, including those of trailing index scans: these
 * *count* (with frequency=on all do).  Times are the pool's (busy_time.h), but
 * access->now, which is not used here.
 *
 * LOCKING.  None: all fields are relaxed atomics.  Of two concurrent
 * references one may be lost, or the time of one may be paired with the
 * interval of the other: one wrong estimate.  If the frame's next admission
 * overtakes a reference, the new page may get some of the old one's history.
 */
#ifndef TIDEPOOL_PAGE_HISTORY_H
#define TIDEPOOL_PAGE_HISTORY_H

#include "tidepool/assertion.h"
#include "tidepool/frame.h"
#include "tidepool/prediction/trail.h"
#include "tidepool/relaxed.h"

/*
 * A new gap's weight in the interval.  From 0.1 to 1 it changed the misses by
 * at most 0.5 % on any mix of scans and point reads tried.
 */
#define INTERVAL_WEIGHT 0.25f

typedef struct page_history
{
	uint64_t	last;			/* time of the last reference noted */
	uint64_t	trail;			/* the index scan that made the last reference
								 * that counts; 0: none did */
	float		since;			/* microseconds from the last reference that
								 * counts to `last`; infinite: none yet */
	float		interval;		/* between references that count,
								 * exponentially weighted; infinite: fewer
								 * than two yet */
} page_history;

/* In the frame's extra bytes. */
static inline page_history *
page_history_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

/* The page came in. */
static inline void
page_history_begin(page_history *page, const tp_access *access, uint64_t now,
				   bool counts)
{
	tp_store64(&page->last, now);
	tp_store64(&page->trail, tp_is_trail(access->scan) ? access->scan : 0);
	tp_store_float(&page->since, counts ? 0 : __builtin_inff());
	tp_store_float(&page->interval, __builtin_inff());
}

/*
 * Microseconds since `last`; clocks of several processors may disagree.  (Signed
 * numbers take less to convert.)
 */
static inline int64_t
page_history_idle(const page_history *page, uint64_t now)
{
	uint64_t	last = tp_load64(&page->last);

	return now > last ? (int64_t) (now - last) : 0;
}

/* Microseconds since the last reference that counts; infinite: none yet. */
static inline double
page_history_age(const page_history *page, uint64_t now)
{
	return (double) tp_load_float(&page->since) +
		(double) page_history_idle(page, now);
}

/* Has the page been referenced once by what counts? */
static inline bool
page_history_is_newcomer(const page_history *page)
{
	return tp_load_float(&page->since) < __builtin_inff() &&
		!(tp_load_float(&page->interval) < __builtin_inff());
}

/*
 * The page was referenced.  Nothing is noted of a reference that is one with the
 * last: at the same time, or within `period` microseconds of it (if it counts, of
 * the last one that does).  So pages that all processes reference all the time are
 * seldom written to, and stay in all processors' caches.  Returns whether the page
 * was a newcomer and is not any more.
 */
static inline bool
page_history_add(page_history *page, const tp_access *access, uint64_t now,
				 bool counts, float period)
{
	int64_t		idle = page_history_idle(page, now);
	float		gap = (float) ((double) tp_load_float(&page->since) + (double) idle);
	float		interval;
	bool		first;

	if (tp_load64(&page->last) == now ||
		(counts ? gap : (float) idle) < period)
		return false;
	tp_store64(&page->last, now);
	if (!counts)
	{
		tp_store_float(&page->since, gap);
		return false;
	}
	/* the second reference gives the first gap: nothing to smooth yet */
	interval = tp_load_float(&page->interval);
	first = !(interval < __builtin_inff());
	tp_store_float(&page->interval,
				   first ? gap : interval + INTERVAL_WEIGHT * (gap - interval));
	tp_store_float(&page->since, 0);
	tp_store64(&page->trail, tp_is_trail(access->scan) ? access->scan : 0);
	return first && gap < __builtin_inff();
}

/*
 * Microseconds until the scan that trails the page's last index scan reads it.
 * 0 if that is overdue by less than the delay.  TP_NEVER if by more: the scan
 * has not come.
 */
static inline double
page_history_trailing(const page_history *page, const tp_trails *trails,
					  uint64_t now)
{
	uint64_t	trail = tp_load64(&page->trail);
	double		delay;
	double		wait;

	if (trail == 0)
		return TP_NEVER;
	delay = tp_trail_delay(trails, trail);
	if (delay == TP_NEVER)
		return TP_NEVER;
	wait = delay - page_history_age(page, now);
	if (wait < 0)
		return wait > -delay ? 0 : TP_NEVER;
	return wait;
}

/* For a policy's check: the history of the page in this frame. */
static inline int
page_history_check(const tp_pool *pool, uint32_t frame, tp_report report,
				   void *arg)
{
	const page_history *page = page_history_of(pool, frame);
	int			bad = 0;

	bad += tp_expect(page->since >= 0 && page->interval >= 0,
					 "negative time", frame, report, arg);
	bad += tp_expect(page->trail == 0 || tp_is_trail(page->trail),
					 "trail of another kind of scan", frame, report, arg);
	return bad;
}

#endif							/* TIDEPOOL_PAGE_HISTORY_H */
