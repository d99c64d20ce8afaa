/*
 * busy_time.c
 *	  The time in which a pool is in use.  See busy_time.h.
 */
#include "prediction/busy_time.h"

uint64_t
busy_clock_next(uint64_t word, uint64_t now)
{
	uint32_t	unit = busy_unit(now);
	int32_t		behind = (int32_t) (unit - (uint32_t) word);
	uint64_t	off = word >> 32;

	if (word != 0 && behind <= 0)
		return word;
	if (word != 0 && behind > LONGEST_PAUSE)
		off += (uint64_t) (behind - LONGEST_PAUSE) >> 5;
	return off << 32 | unit;
}

uint64_t
busy_clock_use(busy_clock *clock, uint64_t word, uint64_t now)
{
	uint64_t	next = busy_clock_next(word, now);

	/* if another process is faster, what it writes is as good */
	if (next != word &&
		!__atomic_compare_exchange_n(&clock->word, &word, next, false,
									 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		next = busy_clock_next(word, now);
	return next;
}
