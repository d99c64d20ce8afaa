/*
 * arrays.h
 *	  Memory of several pools, between which frames can move.
 *
 * A frame's node, extra bytes and ghosts stay where they are when it leaves
 * one pool and joins another.  Its place among the members does not, nor do the
 * buckets of that place: each pool has whole chunks of TP_CHUNK places, as many
 * as it needs.
 *
 *	  headers[pools] | nodes[capacity] | extra[capacity] | ghosts[G * capacity
 *	         + pools] | members[chunks] | chunks[pools][...] | free chunks
 *	         | buckets[B * members]
 *
 * A pool without ghosts may have its frames' extra bytes where others have
 * ghosts, if extra has too little room: a frame's ghosts are as much its own.
 *
 * LOCKING.  tp_join and tp_leave take chunks and give them back.  So a caller
 * has one lock for the membership of all pools of the arrays, in addition to
 * those of the pools.
 */
#ifndef TIDEPOOL_ARRAYS_H
#define TIDEPOOL_ARRAYS_H

#include "tidepool/policy.h"

/* What a frame has in addition to its node and its place among the members. */
typedef struct tp_frame_needs
{
	uint32_t	extra;			/* bytes, multiple of 8 */
	uint32_t	ghosts;
	uint32_t	buckets;
} tp_frame_needs;

/* params as checked by tp_policy_check_params, or NULL for the defaults. */
tp_frame_needs tp_policy_needs(const tp_policy *policy, const double *params);

/* Bytes of a frame: node, member and these. */
uint32_t	tp_needs_bytes(tp_frame_needs needs);

/* What is enough for both. */
tp_frame_needs tp_needs_of_both(tp_frame_needs a, tp_frame_needs b);

/* Is the first enough for the second? */
bool		tp_needs_suffice(tp_frame_needs have, tp_frame_needs need);

/* A process's view of the memory. */
typedef struct tp_arrays
{
	uint32_t	capacity;		/* frames 0 .. capacity - 1 */
	uint32_t	pools;			/* pools 0 .. pools - 1 */
	tp_frame_needs needs;
	unsigned char *headers;
	tp_node    *nodes;
	unsigned char *extra;
	tp_ghost   *ghosts;
	uint32_t   *members;
	uint32_t   *chunks;
	tp_free_chunks *free_chunks;
	uint32_t   *buckets;
} tp_arrays;

/*
 * Bytes of the memory; it must be 8-aligned.  0: so many frames, or their
 * ghosts, cannot be numbered.
 */
size_t		tp_arrays_size(uint32_t capacity, uint32_t pools,
						   tp_frame_needs needs);

/* The view of such memory. */
tp_arrays	tp_arrays_place(uint32_t capacity, uint32_t pools,
							tp_frame_needs needs, void *memory);

/* All frames are in no pool, all chunks are free.  The memory is zeroed. */
void		tp_arrays_init(const tp_arrays *arrays);

/*
 * The view of a pool with this policy, whose needs the arrays' suffice for.
 * The pool is begun with tp_pool_init; its frames join one by one.
 */
tp_pool		tp_arrays_pool(const tp_arrays *arrays, uint32_t number,
						   const tp_policy *policy, const double *params);

#endif							/* TIDEPOOL_ARRAYS_H */
