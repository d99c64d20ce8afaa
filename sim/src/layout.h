/*
 * layout.h
 *	  Internals of a layout: a replay for each pool, over shared memory.
 *
 * The pools share arrays (tidepool/arrays.h) and the page table.  Each is a
 * replay whose cache is a view of them, so what happens in a pool is what
 * happens in a cache.  The layout decides which pool a reference is for.
 */
#ifndef TIDEPOOL_SIM_LAYOUT_H
#define TIDEPOOL_SIM_LAYOUT_H

#include "tidepool/arrays.h"

#include "replay_reference.h"

struct tps_layout
{
	tps_options options;		/* of the pools */
	uint64_t	seed;
	uint32_t	capacity;		/* frames of all pools */
	tp_arrays	arrays;
	void	   *memory;			/* what arrays points into */
	pagetable	table;			/* of all pools */
	uint8_t    *pool_of;		/* [capacity] */
	tps_replay *pools[TPS_POOLS];	/* NULL: there is none of this number */
	tps_replay *whole;			/* counts for all pools; has no cache */
	uint32_t   *former;			/* [BACKEND_SLOTS], processes that have had a
								 * backend's number; NULL: none */
};

/* Begin a pool without frames (layout_pools.c).  False: no memory. */
bool		layout_begin_pool(tps_layout *layout, uint32_t number,
							  const tp_policy *policy, const double *params);

/* Move one frame.  False if the pool has none to give, or memory ran out. */
bool		layout_move_frame(tps_layout *layout, uint32_t from, uint32_t to,
							  const tp_access *access);

#endif							/* TIDEPOOL_SIM_LAYOUT_H */
