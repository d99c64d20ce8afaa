/*
 * timeout.h
 *	  When a scan that makes no progress counts as gone.
 *
 * After TP_SCAN_TIMEOUT, or after the time of TIMEOUT_STRIDES strides at its
 * present speed, whichever is longer.
 */
#ifndef TIDEPOOL_TIMEOUT_H
#define TIDEPOOL_TIMEOUT_H

#include "tidepool/prediction/scan.h"

/*
 * Blocks after which a scan's speed is measured.  With 8 misses differ by less
 * than 1 %, with 128 they grow by up to 33 %, on small tables (bench/constants.py).
 */
#define STRIDE (TP_BLOCK_GROUP / 4)

/*
 * With 4 misses are the same, with 64 up to 1.0 % fewer (likewise), where no
 * scan vanishes.
 */
#define TIMEOUT_STRIDES 16

/*
 * Ticks of about 65 milliseconds, modulo 2^32: a scan that has been gone for
 * four years seems to be back.
 */
static inline uint32_t
tick_of(uint64_t now)
{
	return (uint32_t) (now >> 16);
}

static inline bool
is_later(uint32_t tick, uint32_t than)
{
	return (int32_t) (tick - than) > 0;
}

/*
 * The tick after which a scan of this speed, if it makes no progress after now,
 * counts as gone.
 */
static inline uint32_t
timeout_tick(uint64_t now, float block_time)
{
	double		strides = (double) block_time * STRIDE * TIMEOUT_STRIDES;
	double		longest = (double) ((uint64_t) 1 << 40);

	if (strides < TP_SCAN_TIMEOUT)
		strides = TP_SCAN_TIMEOUT;
	if (strides > longest)
		strides = longest;
	return tick_of(now + (uint64_t) strides) + 1;
}

#endif							/* TIDEPOOL_TIMEOUT_H */
