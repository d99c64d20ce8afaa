/*
 * arc_directory.h
 *	  The cache directory of ARC and CAR: lists T1, T2, B1 and B2, and p.
 *
 * T1 and T2 hold the pages in the cache, B1 and B2 the ghosts of those evicted
 * from either.  p, the target size of T1, grows when a page of B1 is missed,
 * and shrinks when one of B2 is.
 */
#ifndef TIDEPOOL_ARC_DIRECTORY_H
#define TIDEPOOL_ARC_DIRECTORY_H

#include "tidepool/pool.h"
#include "tidepool/standing.h"

enum
{
	T1 = 1,						/* referenced once lately */
	T2							/* referenced at least twice lately */
};

enum
{
	B1 = 1,						/* ghosts of T1 */
	B2							/* ghosts of T2 */
};

typedef struct arc_state
{
	double		p;				/* target size of T1, 0 .. c */
} arc_state;

static inline uint32_t
frames_on(const tp_pool *pool, unsigned list)
{
	return tp_list_of(pool, list)->count;
}

static inline uint32_t
ghosts_on(const tp_pool *pool, unsigned list)
{
	return tp_ghost_list_of(pool, list)->count;
}

/*
 * p after a miss on a page of this ghost list, for these sizes of B1 and B2:
 * ARC's "Adaptation" (cases II and III), CAR's lines 15 and 18.
 */
static inline double
adapted(const tp_pool *pool, unsigned ghost_list, uint32_t b1, uint32_t b2)
{
	double		p = tp_state(pool, arc_state)->p;
	double		c = pool->header->frames;
	double		delta;

	if (ghost_list == B1)
	{
		delta = b1 >= b2 ? 1.0 : (double) b2 / b1;
		return p + delta < c ? p + delta : c;
	}
	delta = b2 >= b1 ? 1.0 : (double) b1 / b2;
	return p - delta > 0 ? p - delta : 0;
}

/* The papers' bounds: |T1| + |B1| <= c, and all four lists <= 2c. */
static inline void
trim_directory(const tp_pool *pool)
{
	uint32_t	c = pool->header->frames;
	uint64_t	most = 2 * (uint64_t) c - tp_resident(pool);

	while (frames_on(pool, T1) + ghosts_on(pool, B1) > c &&
		   tp_ghost_drop_tail(pool, B1))
		;
	if (pool->header->ghost_count > most)
		tp_trim_ghosts(pool, (uint32_t) most);
}

/* tp_policy.evict */
static inline void
arc_directory_evict(const tp_pool *pool, uint32_t frame,
					const tp_access *access)
{
	unsigned	ghost_list = pool->nodes[frame].list == T1 ? B1 : B2;

	(void) access;
	tp_list_remove(pool, frame);
	tp_make_ghost_room(pool);
	tp_ghost_push(pool, ghost_list, frame);
}

/* tp_policy.restore */
static inline void
arc_directory_restore(const tp_pool *pool, unsigned list, uint32_t frame,
					  const tp_access *access)
{
	(void) access;
	tp_list_put_back(pool, list, frame);
	trim_directory(pool);
}

/* tp_policy.leave */
static inline void
arc_directory_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	arc_state  *state = tp_state(pool, arc_state);

	(void) frame;
	(void) slot;
	if (state->p > pool->header->frames)
		state->p = pool->header->frames;
	trim_directory(pool);
}

/* tp_policy.recalls: within the papers' bounds */
static inline bool
arc_directory_recalls(const tp_pool *pool, const tp_memory *memory)
{
	uint32_t	c = pool->header->frames;

	return (uint64_t) tp_resident(pool) + pool->header->ghost_count <
		2 * (uint64_t) c &&
		(memory->list != B1 || frames_on(pool, T1) + ghosts_on(pool, B1) < c);
}

/* tp_policy.resume: p, in proportion to c */
static inline void
arc_directory_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	double		share = frames == 0 ? 0 : ((const arc_state *) saved)->p / frames;

	tp_state(pool, arc_state)->p = !(share > 0) ? 0 :
		(share < 1 ? share : 1) * pool->header->frames;
}

/* For tp_policy.check.  pending: how many ghosts there may be too many. */
static inline int
arc_directory_check(const tp_pool *pool, uint32_t pending, tp_report report,
					void *arg)
{
	double		p = tp_state(pool, arc_state)->p;
	uint32_t	c = pool->header->frames;
	int			bad = 0;

	bad += tp_expect(p >= 0 && p <= c, "p outside 0 .. c", 0, report, arg);
	bad += tp_expect(frames_on(pool, T1) + ghosts_on(pool, B1) <= c + pending,
					 "|T1| + |B1| > c", 0, report, arg);
	bad += tp_expect((uint64_t) tp_resident(pool) + pool->header->ghost_count <=
					 2 * (uint64_t) c + pending, "directory larger than 2c", 0,
					 report, arg);
	return bad;
}

/* tp_policy.ghosts */
static inline double
arc_directory_ghosts(const double *params)
{
	(void) params;
	return 1.0;
}

static const tp_field arc_fields[] = {
	{"p", TP_FIELD_DOUBLE, offsetof(arc_state, p)},
	{0}
};

#endif							/* TIDEPOOL_ARC_DIRECTORY_H */
