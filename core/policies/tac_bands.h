/*
 * tac_bands.h
 *	  The banded order of TAC: frames in bands of temperature, a band being
 *	  twice as warm as the one below it.
 *
 * A temperature's level is the exponent of its value in microseconds, plus
 * its epoch: since all temperatures are halved when the epoch changes, a level
 * stays what it is.  There are BANDS bands, of the levels top - BANDS + 1 ..
 * top.  A temperature below the lowest level counts as of the lowest.  One
 * above top raises it, and then the frames of the band that falls off go to
 * the end of the lowest that is left.  The band of a level has the same list
 * always, so nothing else moves.
 *
 * Costs: O(1) for a page; raising top, which happens about once an epoch,
 * costs what the lowest band has frames, so O(1) of each read if an epoch has
 * as many reads as there are frames.  Within a band the order is first in,
 * first out.
 */
#ifndef TIDEPOOL_TAC_BANDS_H
#define TIDEPOOL_TAC_BANDS_H

#include "tidepool/extents.h"
#include "tidepool/pool.h"

#include "exponent.h"

#define BANDS 10
#define FIRST_BAND 3			/* lists 1 and 2 are the heap's */

/* Of temperature 0: below all others. */
#define LEVEL_NONE INT64_MIN

static inline int64_t
level_of(tp_temperature temperature)
{
	if (temperature.saved <= 0)
		return LEVEL_NONE;
	return (int64_t) exponent_of(temperature.saved) + temperature.epoch;
}

/* The list of the frames of this level, which has a band. */
static inline unsigned
band_at(int64_t level)
{
	int64_t		i = level % BANDS;

	return FIRST_BAND + (unsigned) (i < 0 ? i + BANDS : i);
}

static inline void
band_move_all(const tp_pool *pool, unsigned from, unsigned to)
{
	uint32_t	frame;

	while (from != to && (frame = tp_list_of(pool, from)->head) != TP_NONE)
	{
		tp_list_remove(pool, frame);
		tp_list_push_tail(pool, to, frame);
	}
}

/*
 * Let the bands reach up to this level.  One step at a time, until all frames
 * are in the lowest band; from there they need not take every step.
 */
static inline void
bands_raise(const tp_pool *pool, int64_t *top, int64_t level)
{
	for (int steps = 0; *top < level && steps < BANDS; steps++)
	{
		++*top;
		band_move_all(pool, band_at(*top - BANDS), band_at(*top - BANDS + 1));
	}
	if (*top < level)
	{
		unsigned	from = band_at(*top - BANDS + 1);

		*top = level;
		band_move_all(pool, from, band_at(level - BANDS + 1));
	}
}

/* The band that a page of this temperature belongs in; raises top if it must. */
static inline unsigned
band_for(const tp_pool *pool, int64_t *top, tp_temperature temperature)
{
	int64_t		level = level_of(temperature);

	bands_raise(pool, top, level);
	return band_at(level > *top - BANDS ? level : *top - BANDS + 1);
}

/* The lists in the order of eviction. */
static inline void
bands_order(int64_t top, uint8_t *order)
{
	for (int i = 0; i < BANDS; i++)
		order[i] = (uint8_t) band_at(top - BANDS + 1 + i);
}

#endif							/* TIDEPOOL_TAC_BANDS_H */
