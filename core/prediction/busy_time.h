/*
 * busy_time.h
 *	  The time in which a pool is in use.
 *
 * How often a page is wanted is counted in time.  A pause in which nobody
 * references anything says nothing about any page, but by the clock on the wall
 * it is part of each page's interval; where work comes in bursts, pages wanted
 * often and pages wanted seldom look alike.  So a pause counts as LONGEST_PAUSE
 * at most (up to 1 ms less or 32 ms more).
 *
 * LOCKING.  None.  Both numbers are in one word, so that nobody sees the end of a
 * pause before it is taken off.  It is written once in 1.024 ms at most.
 */
#ifndef TIDEPOOL_BUSY_TIME_H
#define TIDEPOOL_BUSY_TIME_H

#include <stdbool.h>

#include "tidepool/relaxed.h"

#define LONGEST_PAUSE 64		/* units of 1.024 ms */

/*
 * When the pool was last in use, in units of 1.024 ms, from 1 on and modulo 2^32, and
 * in the upper half how much has been taken off, in units of 2^15 microseconds; 0: it
 * never was in use.  (A pause of more than 24 days counts as time; so do those in as
 * many days after it.)
 */
typedef struct busy_clock
{
	uint64_t	word;
} busy_clock;

static inline uint64_t
busy_time_of(uint64_t word, uint64_t now)
{
	return now - (word >> 32 << 15);
}

/* What the word becomes when the pool is in use now; mostly it stays. */
static inline uint64_t
busy_clock_next(uint64_t word, uint64_t now)
{
	uint32_t	unit = (uint32_t) (now >> 10) + 1;
	int32_t		behind = (int32_t) (unit - (uint32_t) word);
	uint64_t	off = word >> 32;

	if (word != 0 && behind <= 0)
		return word;
	if (word != 0 && behind > LONGEST_PAUSE)
		off += (uint64_t) (behind - LONGEST_PAUSE) >> 5;
	return off << 32 | unit;
}

/* The pool's time at this one, in microseconds, if it is in use then. */
static inline uint64_t
busy_time_at(const busy_clock *clock, uint64_t now)
{
	return busy_time_of(busy_clock_next(tp_load64(&clock->word), now), now);
}

/* The pool is in use.  Returns its time, in microseconds. */
static inline uint64_t
busy_time_now(busy_clock *clock, uint64_t now)
{
	uint64_t	word = tp_load64(&clock->word);
	uint64_t	next = busy_clock_next(word, now);

	/* if another process is faster, what it writes is as good */
	if (next != word &&
		!__atomic_compare_exchange_n(&clock->word, &word, next, false,
									 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		next = busy_clock_next(word, now);
	return busy_time_of(next, now);
}

#endif							/* TIDEPOOL_BUSY_TIME_H */
