/*
 * lir_set.h
 *	  What LIRS and LIRS2 share: two lists of pages, and the LIR set's size.
 *
 * The LIR set has Llirs frames, the list Q of resident HIR pages the others.
 * Q is small, 1 % by default, and scans that read ahead may pin all of it.
 * Then a LIR page is evicted, and Llirs shrinks by one, down to half: the
 * newcomer goes to Q, since it has earned no more than any other page.  Each
 * later promotion grows Llirs by one again, instead of demoting a LIR page.
 */
#ifndef TIDEPOOL_LIR_SET_H
#define TIDEPOOL_LIR_SET_H

#include "tidepool/pool.h"
#include "tidepool/standing.h"

enum
{
	LIR = 1,					/* low inter-reference recency */
	Q							/* resident, high inter-reference recency */
};

enum
{
	HIR = 1						/* non-resident, high inter-reference recency */
};

enum
{
	LIRS_PARAM_HIR,
	LIRS_PARAM_GHOSTS
};

#define LHIRS_MIN 2				/* the authors' least resident HIR set */

typedef struct lirs_state
{
	uint64_t	clock;			/* references counted so far */
	uint32_t	llirs;			/* frames for LIR pages now */
	uint32_t	llirs_full;		/* when Q needs no more than its share */
	uint32_t	ghost_limit;	/* bound on non-resident pages */
} lirs_state;

/* How many frames Q may take from the LIR set. */
static inline uint32_t
lir_set_most_taken(const lirs_state *state)
{
	return state->llirs_full / 2;
}

/* Llirs and the bound on ghosts, from c and the parameters. */
static inline void
lir_set_size(const tp_pool *pool)
{
	lirs_state *state = tp_state(pool, lirs_state);
	const double *params = pool->header->params;
	uint32_t	c = pool->header->frames;
	uint32_t	lhirs = (uint32_t) (params[LIRS_PARAM_HIR] * c);
	uint32_t	taken = state->llirs_full - state->llirs;

	if (lhirs < LHIRS_MIN)
		lhirs = LHIRS_MIN;
	state->llirs_full = lhirs < c ? c - lhirs : 0;
	if (taken > lir_set_most_taken(state))
		taken = lir_set_most_taken(state);
	state->llirs = state->llirs_full - taken;
	state->ghost_limit = (uint32_t) (params[LIRS_PARAM_GHOSTS] * c);
}

/* tp_policy.join */
static inline void
lir_set_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	lir_set_size(pool);
}

/* The page in this frame is about to be evicted. */
static inline void
lir_set_evict(const tp_pool *pool, uint32_t frame)
{
	lirs_state *state = tp_state(pool, lirs_state);

	if (pool->nodes[frame].list == LIR &&
		state->llirs_full - state->llirs < lir_set_most_taken(state))
		state->llirs--;
}

/* A HIR page is about to become a LIR page. */
static inline void
lir_set_promote(const tp_pool *pool)
{
	lirs_state *state = tp_state(pool, lirs_state);

	if (state->llirs < state->llirs_full)
		state->llirs++;
}

/* tp_policy.victim: Q is searched, then LIR. */
static inline uint32_t
lir_set_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			   void *arg, const tp_access *access)
{
	static const uint8_t order[] = {Q, LIR};

	(void) incoming;
	(void) access;
	return tp_lists_search(pool, order, 2, usable, arg);
}

/* tp_policy.coldest, in the same order. */
static inline uint32_t
lir_set_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {Q, LIR};

	return tp_coldest_lists(pool, cursor, order, 2);
}

/*
 * An eviction was not carried out.  A page of Q goes back to its place; a LIR
 * page to Q's tail, since the LIR set has shrunk.  If the page has no ghost any
 * more, the policy has lost its references: the next one counts even if the
 * page was the last referenced.
 */
static inline void
lir_set_restore(const tp_pool *pool, unsigned list, uint32_t frame)
{
	if (list == Q)
		tp_list_put_back(pool, Q, frame);
	else
		tp_list_push_tail(pool, Q, frame);
}

/* tp_policy.resume: the clock, and what Q has taken */
static inline void
lir_set_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	const lirs_state *old = saved;
	lirs_state *state = tp_state(pool, lirs_state);
	uint32_t	taken = old->llirs <= old->llirs_full ?
		old->llirs_full - old->llirs : 0;
	uint32_t	most = lir_set_most_taken(state);

	(void) frames;
	state->clock = old->clock;
	state->llirs = state->llirs_full - (taken < most ? taken : most);
}

/* Is there room in the LIR set for a page that is to be reinstated? */
static inline bool
lir_set_has_room(const tp_pool *pool)
{
	return tp_list_of(pool, LIR)->count < tp_state(pool, lirs_state)->llirs;
}

/* For tp_policy.check. */
static inline int
lir_set_check(const tp_pool *pool, tp_report report, void *arg)
{
	const lirs_state *state = tp_state(pool, lirs_state);
	uint32_t	pending = tp_vacant(pool);
	int			bad = 0;

	bad += tp_expect(tp_list_of(pool, LIR)->count <= state->llirs,
					 "more LIR pages than Llirs", 0, report, arg);
	bad += tp_expect(state->llirs <= state->llirs_full &&
					 state->llirs_full - state->llirs <= lir_set_most_taken(state),
					 "LIR set smaller than half", 0, report, arg);

	/* a ghost made by an eviction is trimmed by the admission that follows */
	bad += tp_expect(pool->header->ghost_count <= state->ghost_limit + pending,
					 "more non-resident pages than their bound", 0, report, arg);
	return bad;
}

/* tp_policy.ghosts */
static inline double
lir_set_ghosts(const double *params)
{
	return params[LIRS_PARAM_GHOSTS];
}

static const tp_param lirs_params[] = {
	[LIRS_PARAM_HIR] = {
		.name = "hir", .type = TP_PARAM_FRACTION,
		.default_value = 0.01, .min = 0, .max = 1,
		.help = "share of the frames for resident HIR pages, at least 2 frames"
	},

	/*----------
	 * Misses against an S without bound (64), on the authors' traces cs, gli,
	 * multi1, multi2 and sprite, with some 15 sizes each from 100 frames on:
	 *
	 *	ghosts		2		3		4		6		8
	 *	mean, %		+0.34	+0.11	+0.03	+0.03	+0.04
	 *	worst, %	+8.2	+2.7	+1.3	+1.3	+1.3
	 *
	 * The worst are loops (gli) some twenty times c long; from 200 frames on
	 * the worst with 4 is +0.5 %.  The default is 2 for its memory: a ghost
	 * costs 34 bytes with its share of a bucket, two of them 0.8 % of a page.
	 *----------
	 */
	[LIRS_PARAM_GHOSTS] = {
		.name = "ghosts", .type = TP_PARAM_FRACTION,
		.default_value = 2, .min = 0, .max = 64,
		.help = "most non-resident HIR pages to remember, per frame"
	},
	{0}
};

static const tp_field lirs_fields[] = {
	{"Llirs", TP_FIELD_U32, offsetof(lirs_state, llirs)},
	{0}
};

#endif							/* TIDEPOOL_LIR_SET_H */
