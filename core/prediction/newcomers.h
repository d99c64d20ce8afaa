/*
 * newcomers.h
 *	  When pages come back that have been referenced only once, and which
 *	  references are one.
 *
 * A newcomer is a page that has been referenced once since it came in, by a
 * reference that counts (page_history.h).  The paper knows nothing of it, so it
 * goes before all pages whose frequency is known, even before those that have
 * long ceased to be wanted.  But how soon newcomers return is easily observed: of
 * those in the pool, so many are referenced again in a window of time.  One that
 * has waited for long is less likely to return at once than one that has just
 * come, so the rate is taken to be proportional to 1 / (A + a), where a is the
 * page's age and A the mean age of the newcomers (the hazard of a Lomax
 * distribution).
 *
 * References follow each other within a transaction: a row is read, then
 * updated, and its page not wanted again.  So those within a period count as one
 * (the correlated reference period of LRU-K: O'Neil, O'Neil, Weikum, SIGMOD 1993,
 * 2.1.1).  It is a share of the window, because transactions take longer where
 * pages come in slowly.
 *
 * A window lasts until a share of the pool has come in.
 *
 * LOCKING.  None: all fields are relaxed atomics.  What processes tell while a
 * window ends may count for either, or for none.
 */
#ifndef TIDEPOOL_NEWCOMERS_H
#define TIDEPOOL_NEWCOMERS_H

#include <string.h>

#include "prediction/busy_time.h"
#include "prediction/page_history.h"

/* A window is one in so many of the pool's frames. */
#define WINDOW 8

/* And the correlated reference period one in so many of the window's time. */
#define CORRELATED 8

/*
 * Or so many microseconds, if those are less: the longest pause that counts, so that
 * what is before a pause and after it is never one.  When few pages come in a window
 * is long, and a page that is wanted all the time would look as if it were wanted
 * once in the period.
 */
#define MOST_CORRELATED ((LONGEST_PAUSE - 1) * 1024)

/*
 * The rate of newcomers of all ages, as a share of that of one of no age: the mean
 * of 1 / (1 + age / mean age).  It is 0.60 if ages are exponentially distributed.
 * With 1 misses of ten generated workloads change by -2.1 to +0.7 %, -0.3 in the
 * mean (bench/constants.py); chosen because transactions like TPC-C's missed more.
 */
#define MEAN_DECAY 0.75

/* Pages that a process loads before it tells the others. */
#define TOLD_AT_ONCE 16

/* The pool's. */
typedef struct newcomer_stats
{
	uint64_t	began;			/* the window, in microseconds; 0: none has */
	uint64_t	ages;			/* of the newcomers looked at, microseconds */
	uint32_t	waiting;		/* newcomers looked at in this window, of */
	uint32_t	looked;			/* so many pages */
	uint32_t	returned;		/* newcomers that were referenced again */
	uint32_t	loads;			/* pages that came in since the pool began */
	uint64_t	unused[4];		/* what follows is read by all, seldom written */
	float		wait;			/* of a newcomer of no age, microseconds; 0:
								 * not known yet */
	float		growth;			/* of that, with each microsecond of age */
	float		period;			/* the correlated reference period, likewise */
} newcomer_stats;

/* What a process has seen and not told yet. */
typedef struct newcomers_seen
{
	uint64_t	ages;
	uint32_t	waiting;
	uint32_t	looked;
	uint32_t	loads;
} newcomers_seen;

/*
 * Nothing is known.  Until a window has ended, the period is the longest there is:
 * before so many pages have come in nothing is evicted.
 */
static inline void
newcomers_init(newcomer_stats *all)
{
	memset(all, 0, sizeof(*all));
	all->period = MOST_CORRELATED;
}

/* References of a page in less than these microseconds are one. */
static inline float
newcomers_period(const newcomer_stats *all)
{
	return tp_load_float(&all->period);
}

/* When newcomers return.  Copied once for a choice, that looks at many. */
typedef struct newcomer_outlook
{
	double		wait;			/* as in newcomer_stats; TP_NEVER: not known */
	double		growth;
} newcomer_outlook;

static inline newcomer_outlook
newcomers_outlook(const newcomer_stats *all)
{
	newcomer_outlook outlook = {
		.wait = (double) tp_load_float(&all->wait),
		.growth = (double) tp_load_float(&all->growth)
	};

	if (outlook.wait == 0)
		outlook.wait = TP_NEVER;
	return outlook;
}

/* Microseconds until a newcomer returns that came so many ago, or TP_NEVER. */
static inline double
newcomers_wait(const newcomer_outlook *outlook, double age)
{
	return outlook->wait + age * outlook->growth;
}

/* A page was looked at for a choice, and is a newcomer of this age. */
static inline void
newcomers_look(newcomers_seen *seen, double age)
{
	seen->waiting++;
	seen->ages += (uint64_t) (int64_t) age;
}

/* The window ends. */
static inline void
newcomers_end_window(newcomer_stats *all, uint32_t frames, uint64_t now)
{
	uint64_t	began = tp_load64(&all->began);
	uint64_t	ages = __atomic_exchange_n(&all->ages, 0, __ATOMIC_RELAXED);
	uint32_t	count = __atomic_exchange_n(&all->waiting, 0, __ATOMIC_RELAXED);
	uint32_t	looked = __atomic_exchange_n(&all->looked, 0, __ATOMIC_RELAXED);
	uint32_t	returned = __atomic_exchange_n(&all->returned, 0, __ATOMIC_RELAXED);
	double		took = now > began ? (double) (now - began) : 1;
	double		rate;			/* at which newcomers return */
	double		resident;		/* newcomers in the pool */
	double		wait;

	tp_store64(&all->began, now);
	if (began == 0)
		return;
	tp_store_float(&all->period, (float) (took / CORRELATED < MOST_CORRELATED ?
										  took / CORRELATED : MOST_CORRELATED));
	/* of a process that is telling just now a part may be missing */
	if (count == 0 || ages == 0 || looked < count)
		return;
	/* if none has returned, perhaps one will soon */
	rate = (returned > 0 ? (double) returned : 0.5) / took;
	resident = (double) count / (double) looked * (double) frames;
	wait = MEAN_DECAY * resident / rate;
	tp_store_float(&all->wait, (float) wait);
	tp_store_float(&all->growth, (float) (wait / ((double) ages / (double) count)));
}

static inline void
newcomers_tell(newcomer_stats *all, newcomers_seen *seen, uint32_t frames, uint64_t now)
{
	uint32_t	window = frames / WINDOW + 1;
	uint32_t	before = __atomic_fetch_add(&all->loads, seen->loads, __ATOMIC_RELAXED);

	__atomic_fetch_add(&all->ages, seen->ages, __ATOMIC_RELAXED);
	__atomic_fetch_add(&all->waiting, seen->waiting, __ATOMIC_RELAXED);
	__atomic_fetch_add(&all->looked, seen->looked, __ATOMIC_RELAXED);
	if (before / window != (before + seen->loads) / window)
		newcomers_end_window(all, frames, now);
	memset(seen, 0, sizeof(*seen));
}

/* A page came in, to a pool of so many frames. */
static inline void
newcomers_load(newcomer_stats *all, newcomers_seen *seen, uint32_t frames, uint64_t now)
{
	if (++seen->loads >= TOLD_AT_ONCE || seen->loads > frames / WINDOW)
		newcomers_tell(all, seen, frames, now);
}

/* A newcomer was referenced again, which happens less often than loads. */
static inline void
newcomers_return(newcomer_stats *all)
{
	__atomic_fetch_add(&all->returned, 1, __ATOMIC_RELAXED);
}

/* Take over what another pool knew: durations, which hold at another time too. */
static inline void
newcomers_resume(newcomer_stats *all, const newcomer_stats *saved)
{
	tp_store_float(&all->wait, saved->wait);
	tp_store_float(&all->growth, saved->growth);
	tp_store_float(&all->period, saved->period);
}

/* For a policy's check. */
static inline int
newcomers_check(const newcomer_stats *all, tp_report report, void *arg)
{
	return tp_expect(all->wait >= 0 && all->growth >= 0 && all->period >= 0 &&
					 all->period <= MOST_CORRELATED,
					 "times of newcomers", TP_NONE, report, arg);
}

#endif							/* TIDEPOOL_NEWCOMERS_H */
