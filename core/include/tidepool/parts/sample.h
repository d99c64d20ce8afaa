/*
 * sample.h
 *	  A random sample of a pool's resident frames, for policies that evict the
 *	  least valuable frame of a sample.
 */
#ifndef TIDEPOOL_SAMPLE_H
#define TIDEPOOL_SAMPLE_H

#include "tidepool/pool.h"
#include "tidepool/parts/random.h"

#define SAMPLE_MAX 256			/* frames in a sample */

/* Draws for each frame wanted; after these the sample stays smaller. */
#define SAMPLE_TRIES 4

/*
 * The first `want` resident usable members from index start on, wrapping
 * around.  Returns how many were found.
 */
static inline uint32_t
sample_in_order(const tp_pool *pool, uint32_t start, uint32_t want,
				tp_usable usable, void *arg, uint32_t *frames)
{
	uint32_t	n = pool->header->frames;
	uint32_t	found = 0;

	for (uint32_t i = 0; i < n && found < want; i++)
	{
		uint32_t	frame = pool->members[((uint64_t) start + i) % n];

		if (tp_is_resident(pool, frame) && (usable == NULL || usable(arg, frame)))
			frames[found++] = frame;
	}
	return found;
}

/*
 * Up to `want` (1 .. SAMPLE_MAX) resident usable frames.  Returns how many; 0
 * only if there is none.
 *
 * A pool of at most `want` frames is taken whole, in the order of members,
 * without drawing.  Otherwise members are drawn with replacement, vacant and
 * unusable ones in vain, at most SAMPLE_TRIES * want times.  If all draws are
 * in vain, the sample is the first usable member from one more random index
 * on.
 *
 * Nodes and extra bytes are prefetched as frames are drawn, so that the cache
 * misses overlap.
 */
static inline uint32_t
sample_frames(const tp_pool *pool, uint32_t want, tp_usable usable, void *arg,
			  uint32_t *frames)
{
	uint32_t	n = pool->header->frames;
	uint32_t	tries = SAMPLE_TRIES * want;
	uint32_t	found = 0;

	if (n <= want)
		return sample_in_order(pool, 0, want, usable, arg, frames);
	while (tries > 0 && found < want)
	{
		uint32_t	begin = found;
		uint32_t	drawn = want - found < tries ? want : found + tries;

		tries -= drawn - begin;
		for (uint32_t i = begin; i < drawn; i++)
		{
			frames[i] = tp_random_member(pool);
			__builtin_prefetch(&pool->nodes[frames[i]]);
			__builtin_prefetch(tp_extra(pool, frames[i]));
		}
		for (uint32_t i = begin; i < drawn; i++)
			if (tp_is_resident(pool, frames[i]) &&
				(usable == NULL || usable(arg, frames[i])))
				frames[found++] = frames[i];
	}
	if (found > 0)
		return found;
	return sample_in_order(pool, tp_random_below(pool, n), 1, usable, arg,
						   frames);
}

/*
 * tp_policy.expect_choice for a policy whose next draws are for such a sample:
 * prefetches what it will look at, and lists it in frames, as far as there is
 * room.  Draws nothing.
 */
static inline uint32_t
sample_expect(const tp_pool *pool, uint32_t want, uint32_t *frames)
{
	uint32_t	n = want < TP_MAX_EXPECTED ? want : TP_MAX_EXPECTED;

	if (pool->header->frames <= want)
		return 0;
	for (uint32_t i = 0; i < n; i++)
	{
		frames[i] = tp_foreseen_member(pool, i);
		__builtin_prefetch(&pool->nodes[frames[i]]);
		__builtin_prefetch(tp_extra(pool, frames[i]));
	}
	return n;
}

#endif							/* TIDEPOOL_SAMPLE_H */
