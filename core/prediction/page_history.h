/*
 * pbm_page.h
 *	  What PBM keeps of a page's references.
 *
 * A reference through a scan that is registered is foreseen from the scan
 * itself; what a page's history is for are the others, which are called
 * unforeseen here.  Those of trailing index scans are among them.
 *
 * LOCKING.  pbm_page_reference may run beside anything: it writes the page's
 * fields with relaxed atomics.  Of two at once one may be lost, or a time of
 * one stand beside an interval of the other: one wrong estimate.  One that is
 * overtaken by the frame's next admission may leave the new page some of the
 * old one's history.
 */
#ifndef TIDEPOOL_PBM_PAGE_H
#define TIDEPOOL_PBM_PAGE_H

#include "tidepool/pool.h"
#include "tidepool/prediction/trail.h"

/*
 * A new gap's weight in the interval.  From 0.1 to 1 it changed the misses by
 * at most 0.5 % on any mix of scans and point reads tried.
 */
#define PBM_WEIGHT 0.25f

typedef struct pbm_page
{
	uint64_t	last;			/* when it was last referenced */
	uint64_t	trail;			/* the trailing index scan that made the last
								 * unforeseen reference; 0: none did */
	float		since;			/* microseconds between the last unforeseen
								 * reference and `last`; infinite: none was */
	float		interval;		/* between unforeseen references,
								 * exponentially weighted; infinite: less than
								 * two were */
} pbm_page;

static inline uint64_t
pbm_load(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void
pbm_store(uint64_t *field, uint64_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline float
pbm_load_float(const float *field)
{
	float		value;

	__atomic_load(field, &value, __ATOMIC_RELAXED);
	return value;
}

static inline void
pbm_store_float(float *field, float value)
{
	__atomic_store(field, &value, __ATOMIC_RELAXED);
}

/* The page came in. */
static inline void
pbm_page_begin(pbm_page *page, const tp_access *access, bool unforeseen)
{
	pbm_store(&page->last, access->now);
	pbm_store(&page->trail, tp_is_trail(access->scan) ? access->scan : 0);
	pbm_store_float(&page->since, unforeseen ? 0 : __builtin_inff());
	pbm_store_float(&page->interval, __builtin_inff());
}

/* Microseconds since `last`; clocks of several processors may disagree. */
static inline uint64_t
pbm_page_idle(const pbm_page *page, uint64_t now)
{
	uint64_t	last = pbm_load(&page->last);

	return now > last ? now - last : 0;
}

/* Microseconds since the last unforeseen reference; infinite: none was. */
static inline double
pbm_page_age(const pbm_page *page, uint64_t now)
{
	return (double) pbm_load_float(&page->since) +
		(double) pbm_page_idle(page, now);
}

/*
 * The page was referenced.  Two references at the same time count as one: so
 * the pages that all processes reference all the time are seldom written to,
 * where time is coarse.
 */
static inline void
pbm_page_reference(pbm_page *page, const tp_access *access, bool unforeseen)
{
	float		gap;
	float		interval;

	if (pbm_load(&page->last) == access->now)
		return;
	gap = (float) pbm_page_age(page, access->now);
	interval = pbm_load_float(&page->interval);
	pbm_store(&page->last, access->now);
	if (!unforeseen)
	{
		pbm_store_float(&page->since, gap);
		return;
	}
	/* of the second reference the gap is all that is known */
	if (interval < __builtin_inff())
		gap = interval + PBM_WEIGHT * (gap - interval);
	pbm_store_float(&page->interval, gap);
	pbm_store_float(&page->since, 0);
	pbm_store(&page->trail, tp_is_trail(access->scan) ? access->scan : 0);
}

/*
 * Microseconds until the page is referenced, as its frequency tells; infinite
 * if it does not.  Algorithm 2 of the paper.
 */
static inline double
pbm_page_frequency(const pbm_page *page, uint64_t now)
{
	double		interval = (double) pbm_load_float(&page->interval);
	double		age = pbm_page_age(page, now);

	return age > interval ? age : interval;
}

/* ... as the index scan that read it last tells. */
static inline double
pbm_page_trailing(const pbm_page *page, const tp_trails *trails, uint64_t now)
{
	uint64_t	trail = pbm_load(&page->trail);
	double		delay;
	double		wait;

	if (trail == 0)
		return TP_NEVER;
	delay = tp_trail_delay(trails, trail);
	if (delay == TP_NEVER)
		return TP_NEVER;
	wait = delay - pbm_page_age(page, now);
	if (wait < 0)
		return wait > -delay ? 0 : TP_NEVER;
	return wait;
}

#endif							/* TIDEPOOL_PBM_PAGE_H */
