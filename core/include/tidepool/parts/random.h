/*
 * random.h
 *	  Seeded randomness from a chooser: splitmix64 (Steele, Lea, Flood: Fast
 *	  splittable pseudorandom number generators, OOPSLA 2014).
 */
#ifndef TIDEPOOL_RANDOM_H
#define TIDEPOOL_RANDOM_H

#include "tidepool/frame.h"
#include "tidepool/prefetch.h"

#define TP_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* 64 random bits. */
static inline uint64_t
tp_random(const tp_pool *pool)
{
	uint64_t   *state = &pool->chooser->random_state;

	*state += TP_RANDOM_STEP;
	return tp_mix64(*state);
}

/*
 * A number in [0, n), n > 0: the upper 32 random bits times n, divided by 2^32
 * (Lemire 2019, without the rejection step; the bias is below n / 2^32).
 */
static inline uint32_t
tp_random_below(const tp_pool *pool, uint32_t n)
{
	return (uint32_t) (((tp_random(pool) >> 32) * n) >> 32);
}

/* The slot that these random bits select. */
static inline uint32_t
tp_slot_by(const tp_pool *pool, uint64_t bits)
{
	return (uint32_t) (((bits >> 32) * pool->header->frames) >> 32);
}

/* The member that they select. */
static inline uint32_t
tp_member_by(const tp_pool *pool, uint64_t bits)
{
	return tp_member(pool, tp_slot_by(pool, bits));
}

/* A random frame of the pool, free or resident.  The pool has frames. */
static inline uint32_t
tp_random_member(const tp_pool *pool)
{
	return tp_member_by(pool, tp_random(pool));
}

/* The frame of a draw, numbered from 0, in the sequence with this seed. */
static inline uint32_t
tp_drawn_member(const tp_pool *pool, uint64_t seed, uint64_t number)
{
	return tp_member_by(pool, tp_mix64(seed + (number + 1) * TP_RANDOM_STEP));
}

/* Prefetch what says which frame that is. */
TP_PREFETCHES static inline void
tp_prefetch_drawn(const tp_pool *pool, uint64_t seed, uint64_t number)
{
	uint64_t	bits = tp_mix64(seed + (number + 1) * TP_RANDOM_STEP);

	__builtin_prefetch(tp_member_place(pool, tp_slot_by(pool, bits)));
}

#endif							/* TIDEPOOL_RANDOM_H */
