/*
 * count.h
 *	  node->count as a reference count that hits raise without the pool's lock.
 *
 * For policies that declare TP_HIT_LOCK_FREE.  A hit may run concurrently with
 * any other operation, so both sides use relaxed atomics.  Raising is a load
 * and a store, not one atomic step: of two concurrent raises one may be lost,
 * and one that races with a sweep or with a change of page may count for
 * nothing, or for the next page.  No count exceeds the limit it is raised to.
 */
#ifndef TIDEPOOL_COUNT_H
#define TIDEPOOL_COUNT_H

#include "tidepool/pool.h"

static inline uint8_t
count_of(const tp_pool *pool, uint32_t frame)
{
	return __atomic_load_n(&pool->nodes[frame].count, __ATOMIC_RELAXED);
}

static inline void
set_count(const tp_pool *pool, uint32_t frame, uint8_t count)
{
	__atomic_store_n(&pool->nodes[frame].count, count, __ATOMIC_RELAXED);
}

/*
 * Raise the count by one, up to limit.  At the limit nothing is written, so
 * the cache line of a page that every backend hits stays shared.
 */
static inline void
raise_count(const tp_pool *pool, uint32_t frame, uint8_t limit)
{
	uint8_t		count = count_of(pool, frame);

	if (count < limit)
		set_count(pool, frame, (uint8_t) (count + 1));
}

/* For tp_policy.check: no frame of the pool has a count above limit. */
static inline int
counts_check(const tp_pool *pool, uint8_t limit, const char *what,
			 tp_report report, void *arg)
{
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
		bad += tp_expect(count_of(pool, tp_member(pool, i)) <= limit, what,
						 tp_member(pool, i), report, arg);
	return bad;
}

/* A stage of a walk: the frames of a linked list with counts low .. high. */
typedef struct count_stage
{
	uint8_t		list;
	uint8_t		low;
	uint8_t		high;
} count_stage;

/*
 * tp_policy.coldest or upcoming: the frames of each stage in turn, tail to
 * head.  The stages must not overlap; for coldest they must cover every
 * resident frame.  The cursor's share applies to each stage.  Each stage costs
 * a walk over its whole list.
 */
static inline uint32_t
coldest_by_count(const tp_pool *pool, tp_cursor *cursor,
				 const count_stage *stages, uint32_t n)
{
	while (cursor->stage < n)
	{
		const count_stage *stage = &stages[cursor->stage];
		uint32_t	frame;

		while ((frame = tp_walk_list(pool, cursor, stage->list, false)) != TP_NONE)
			if (count_of(pool, frame) >= stage->low &&
				count_of(pool, frame) <= stage->high)
			{
				cursor->taken++;
				return frame;
			}
		if (tp_cursor_paused(cursor))
			break;
		tp_cursor_end_stage(cursor);
		cursor->taken = 0;
	}
	return TP_NONE;
}

#endif							/* TIDEPOOL_COUNT_H */
