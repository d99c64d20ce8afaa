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

static inline uint32_t
busy_unit(uint64_t now)
{
	return (uint32_t) (now >> 10) + 1;
}

/* Has the pool been in use in this unit already?  Mostly it has. */
static inline bool
busy_clock_is_at(uint64_t word, uint64_t now)
{
	return __builtin_expect((uint32_t) word == busy_unit(now), 1);
}

/* What this word becomes if the pool is in use now. */
uint64_t	busy_clock_next(uint64_t word, uint64_t now);

/* The pool is in use now, in another unit than this word's.  Returns the new one. */
uint64_t	busy_clock_use(busy_clock *clock, uint64_t word, uint64_t now);

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

	if (!busy_clock_is_at(word, now))
		word = busy_clock_use(clock, word, now);
	return busy_time_of(word, now);
}

#endif							/* TIDEPOOL_BUSY_TIME_H */
