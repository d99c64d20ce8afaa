/*
 * exponent.h
 *	  Binary exponents of doubles, for bands that are powers of two wide.
 */
#ifndef TIDEPOOL_EXPONENT_H
#define TIDEPOOL_EXPONENT_H

#include <string.h>

#include "tidepool/policy.h"

#define EXPONENT_FIRST (-20)	/* of band 1 */
#define EXPONENT_BANDS 61		/* of 0, then of the exponents -20 .. 39 */

/* log2(x), rounded down, of a positive normal number. */
static inline int32_t
exponent_of(double x)
{
	uint64_t	bits;

	memcpy(&bits, &x, sizeof(bits));
	return (int32_t) (bits >> 52) - 1023;
}

/* The band of x >= 0 for tp_coldest_bands, lower numbers first. */
static inline uint32_t
exponent_band(double x)
{
	int32_t		band;

	if (x <= 0)
		return 0;
	band = exponent_of(x) - EXPONENT_FIRST + 1;
	return band < 1 ? 1 : band < EXPONENT_BANDS ? (uint32_t) band :
		EXPONENT_BANDS - 1;
}

#endif							/* TIDEPOOL_EXPONENT_H */
