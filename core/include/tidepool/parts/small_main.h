/*
 * small_main.h
 *	  What S3-FIFO and Clock2Q+ share: a small and a main queue, and ghosts.
 *
 * A page comes in to the small queue.  When that queue gives it up, it moves to
 * the main queue if it has been referenced again; otherwise it is evicted and
 * leaves a ghost.  A page that has a ghost comes in to the main queue.  Each
 * policy decides itself which references count, and what a page of the main
 * queue must have lost before it is evicted.
 */
#ifndef TIDEPOOL_SMALL_MAIN_H
#define TIDEPOOL_SMALL_MAIN_H

#include "tidepool/parts/queue_pair.h"
#include "tidepool/standing.h"

enum
{
	SMALL = 1,					/* where pages come in */
	MAIN						/* referenced again, or remembered */
};

enum
{
	GHOST = 1					/* pages evicted from the small queue */
};

enum
{
	SMALL_MAIN_PARAM_SMALL,
	SMALL_MAIN_PARAM_GHOST,
	SMALL_MAIN_PARAMS			/* a policy's own follow */
};

/* A policy's state begins with this. */
typedef struct small_main_state
{
	uint32_t	target;			/* the small queue gives pages from this size
								 * on */
	uint32_t	ghost_limit;	/* most ghosts */
} small_main_state;

/* Is it the turn of the small queue to give a page? */
static inline bool
small_has_target_size(const tp_pool *pool)
{
	return tp_list_of(pool, SMALL)->count >=
		tp_state(pool, small_main_state)->target;
}

/* tp_policy.init; and after a change of the pool's size */
static inline void
small_main_init(const tp_pool *pool)
{
	small_main_state *state = tp_state(pool, small_main_state);
	const double *params = pool->header->params;
	uint32_t	c = pool->header->frames;

	state->target = (uint32_t) (params[SMALL_MAIN_PARAM_SMALL] * c);
	if (state->target == 0)
		state->target = 1;
	state->ghost_limit = (uint32_t) (params[SMALL_MAIN_PARAM_GHOST] * c);
}

/* tp_policy.join */
static inline void
small_main_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	small_main_init(pool);
}

/* tp_policy.leave */
static inline void
small_main_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	small_main_init(pool);
	tp_trim_ghosts(pool, tp_state(pool, small_main_state)->ghost_limit);
}

/*
 * A usable page of the queue whose turn it is; of the other one if there is
 * none, or TP_NONE.
 */
static inline uint32_t
small_main_next(const tp_pool *pool, queue_pair_search *search,
				tp_usable usable, void *arg)
{
	bool		small_first = small_has_target_size(pool);

	return queue_pair_next(pool, search, small_first ? SMALL : MAIN,
						   small_first ? MAIN : SMALL, usable, arg);
}

/*
 * The page in this frame is about to come in.  Removes its ghost; returns
 * whether it belongs on the main queue.
 */
static inline bool
small_main_remembers(const tp_pool *pool, uint32_t frame,
					 const tp_access *access)
{
	uint32_t	ghost = tp_ghost_of_node(pool, frame);

	if (ghost == TP_NONE)
		return false;
	tp_ghost_remove(pool, ghost);
	return tp_promotes(access);
}

/* tp_policy.evict: a page of the small queue leaves a ghost. */
static inline void
small_main_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	limit = tp_state(pool, small_main_state)->ghost_limit;
	bool		from_small = pool->nodes[frame].list == SMALL;

	(void) access;
	tp_list_remove(pool, frame);
	if (!from_small || limit == 0)
		return;
	tp_trim_ghosts(pool, limit - 1);
	tp_ghost_push(pool, GHOST, frame);
}

/* tp_policy.recalls */
static inline bool
small_main_recalls(const tp_pool *pool, const tp_memory *memory)
{
	(void) memory;
	return pool->header->ghost_count <
		tp_state(pool, small_main_state)->ghost_limit;
}

/* For tp_policy.check. */
static inline int
small_main_check(const tp_pool *pool, tp_report report, void *arg)
{
	const small_main_state *state = tp_state(pool, small_main_state);
	int			bad = 0;

	bad += tp_expect(state->target >= 1, "no target for the small queue", 0,
					 report, arg);
	bad += tp_expect(pool->header->ghost_count <= state->ghost_limit,
					 "too many ghosts", pool->header->ghost_count, report, arg);
	return bad;
}

/* tp_policy.ghosts */
static inline double
small_main_ghosts(const double *params)
{
	return params[SMALL_MAIN_PARAM_GHOST];
}

/* The first rows of tp_policy.params. */
#define SMALL_MAIN_PARAM_ROWS \
	[SMALL_MAIN_PARAM_SMALL] = { \
		.name = "small", .type = TP_PARAM_FRACTION, \
		.default_value = 0.1, .min = 0, .max = 1, \
		.help = "target size of the small queue" \
	}, \
	[SMALL_MAIN_PARAM_GHOST] = { \
		.name = "ghost", .type = TP_PARAM_FRACTION, \
		.default_value = 0.9, .min = 0, .max = 8, \
		.help = "limit of the ghost queue" \
	}

#endif							/* TIDEPOOL_SMALL_MAIN_H */
