/*
 * sample.h
 *	  A random sample of a pool's resident frames, for policies that evict the
 *	  least valuable frame of a sample.
 */
#ifndef TIDEPOOL_SAMPLE_H
#define TIDEPOOL_SAMPLE_H

#include "tidepool/pool.h"
#include "tidepool/parts/random.h"

#define SAMPLE_MAX 256			/* frames in a sample; with their values 3 KiB
								 * of stack */

/*
 * Draws for each frame wanted; after these the sample stays smaller.  With 1 and
 * 16 misses differ by at most 0.1 % where scans pin pages (bench/constants.py).
 */
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
		uint32_t	frame = tp_member(pool, (uint32_t) (((uint64_t) start + i) % n));

		if (tp_is_resident(pool, frame) && (usable == NULL || usable(arg, frame)))
			frames[found++] = frame;
	}
	return found;
}

/*
 * The frames of the first `count` draws in the sequence with this seed.  Their
 * nodes and extra bytes are prefetched, so that the cache misses overlap.
 *
 * Frames that sample_expect has drawn are not drawn again, but prefetched: it may
 * be long ago.  If the pool has become larger or smaller since, they are drawn
 * again, since replays draw when they choose.
 */
static inline void
sample_draw(const tp_pool *pool, uint64_t seed, uint32_t count, uint32_t *frames)
{
	/* a copy, which storing a frame cannot change: nothing is loaded again */
	const tp_pool view = *pool;
	const tp_chooser *chooser = view.chooser;
	uint32_t	drawn = chooser->drawn_from == seed &&
		chooser->drawn_among == view.header->frames ? chooser->drawn_count : 0;

	for (uint32_t i = 0; i < count; i++)
	{
		frames[i] = i < drawn ? chooser->drawn[i] : tp_drawn_member(&view, seed, i);
		__builtin_prefetch(&view.nodes[frames[i]]);
		tp_prefetch_extra(&view, frames[i]);
	}
}

/*
 * `want` (1 .. SAMPLE_MAX) members, vacant or not; all of a pool that has no more.
 * Returns how many.
 */
static inline uint32_t
sample_members(const tp_pool *pool, uint32_t want, uint32_t *frames)
{
	uint32_t	n = pool->header->frames;
	uint64_t   *random = &pool->chooser->random_state;

	if (n <= want)
	{
		for (uint32_t i = 0; i < n; i++)
			frames[i] = tp_member(pool, i);
		return n;
	}
	sample_draw(pool, *random, want, frames);
	*random += want * TP_RANDOM_STEP;
	return want;
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
 */
static inline uint32_t
sample_frames(const tp_pool *pool, uint32_t want, tp_usable usable, void *arg,
			  uint32_t *frames)
{
	uint32_t	n = pool->header->frames;
	uint64_t   *random = &pool->chooser->random_state;
	uint32_t	tries = SAMPLE_TRIES * want;
	uint32_t	found = 0;

	if (n <= want)
		return sample_in_order(pool, 0, want, usable, arg, frames);
	while (tries > 0 && found < want)
	{
		uint32_t	begin = found;
		uint32_t	drawn = want - found < tries ? want : found + tries;

		tries -= drawn - begin;
		sample_draw(pool, *random, drawn - begin, frames + begin);
		*random += (drawn - begin) * TP_RANDOM_STEP;
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

/* What a policy evicts the least of. */
typedef double (*sample_value) (const tp_pool *pool, uint32_t frame);

/* Index of the least value, the first of equals; 0 if there is none. */
static inline uint32_t
sample_index_of_least(const double *values, uint32_t n)
{
	uint32_t	least = 0;

	for (uint32_t i = 1; i < n; i++)
		if (values[i] < values[least])
			least = i;
	return least;
}

/*
 * The usable frame of least value in a sample of `want` frames; TP_NONE if no
 * frame is usable.
 *
 * Whether a frame is usable is asked last, from the least on, since a server
 * must read a header for that which other processes write: mostly once in a
 * sample.  If the whole sample is unusable another one is drawn, of usable
 * frames.
 */
static inline uint32_t
sample_least(const tp_pool *pool, uint32_t want, tp_usable usable, void *arg,
			 sample_value value_of)
{
	uint32_t	frames[SAMPLE_MAX];
	double		values[SAMPLE_MAX];
	uint32_t	n = sample_frames(pool, want, NULL, NULL, frames);
	uint32_t	least = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		values[i] = value_of(pool, frames[i]);
		if (i == 0 || values[i] < values[least])
		{
			least = i;
			tp_expect_frame(pool, frames[i]);
		}
	}
	while (n > 0)
	{
		if (usable == NULL || usable(arg, frames[least]))
			return frames[least];
		n--;
		for (uint32_t i = least; i < n; i++)
		{
			frames[i] = frames[i + 1];
			values[i] = values[i + 1];
		}
		least = sample_index_of_least(values, n);
	}
	n = sample_frames(pool, want, usable, arg, frames);
	if (n == 0)
		return TP_NONE;
	for (uint32_t i = 0; i < n; i++)
		values[i] = value_of(pool, frames[i]);
	return frames[sample_index_of_least(values, n)];
}

/*
 * tp_policy.expect_choice of a policy whose next draw is for such a sample, or
 * for such members: prefetch as much of it as TP_MAX_EXPECTED, and keep what was
 * drawn if the chooser is the caller's own.  Which of its frames will be asked
 * whether it is usable depends on their values, unless there is one only.
 */
static inline uint32_t
sample_expect(const tp_pool *pool, uint32_t want, uint32_t *frames)
{
	tp_chooser *chooser = pool->chooser;
	uint32_t	n = want < TP_MAX_EXPECTED ? want : TP_MAX_EXPECTED;

	if (pool->header->frames <= want)
		return 0;
	sample_draw(pool, chooser->random_state, n, frames);
	/* to draw reads who the members are, so prefetch that for the next time */
	for (uint32_t i = 0; i < n; i++)
		tp_prefetch_drawn(pool, chooser->random_state + want * TP_RANDOM_STEP, i);
	if (!(pool->policy->flags & TP_CHOICE_LOCK_FREE))
		return want == 1 ? 1 : 0;	/* the chooser is not the caller's own */
	chooser->drawn_from = chooser->random_state;
	chooser->drawn_among = pool->header->frames;
	chooser->drawn_count = (uint8_t) (n < TP_MAX_DRAWN ? n : TP_MAX_DRAWN);
	for (uint32_t i = 0; i < chooser->drawn_count; i++)
		chooser->drawn[i] = frames[i];
	return want == 1 ? 1 : 0;
}

#endif							/* TIDEPOOL_SAMPLE_H */
