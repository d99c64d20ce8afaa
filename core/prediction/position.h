/*
 * position.h
 *	  Where a block stands in the order of a range scan, and what time it is.
 */
#ifndef TIDEPOOL_POSITION_H
#define TIDEPOOL_POSITION_H

#include "tidepool/prediction/scan.h"

/* Owner and readers of a lane are not synchronised: see LOCKING in scan.h. */
static inline void
set_u32(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline void
set_float(float *field, float value)
{
	__atomic_store(field, &value, __ATOMIC_RELAXED);
}

/* A field that others may be writing: loaded once, whole. */
static inline uint32_t
get_u32(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/*
 * Ticks of about 65 milliseconds, counted modulo 2^32: four years may pass
 * before what has been gone for so long seems to be there again.
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
 * The block's place in the order of a range scan; length or more: not in it.
 * Blocks outside of where it goes round are not, among them those that the
 * relation gained since the scan began.
 */
static inline uint32_t
range_position(uint32_t block, uint32_t first, uint32_t low, uint32_t size,
			   uint32_t backward)
{
	uint32_t	away = ((block - first) ^ backward) - backward;
	bool		wrapped = backward ? block > first : block < first;

	/* size 0 becomes the largest number */
	if (block - low > size - 1)
		return UINT32_MAX;
	return away + (wrapped ? size : 0);
}

#endif							/* TIDEPOOL_POSITION_H */
