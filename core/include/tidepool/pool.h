/*
 * pool.h
 *	  The operations on a pool: what callers of the core use.
 *
 * The life of a frame:
 *
 *	    tp_join          tp_admit            tp_hit
 *	  ----------> FREE ------------> RESIDENT -----.
 *	  <---------- free <------------ resident <----'
 *	    tp_leave         tp_evict, tp_forget
 *
 * A miss is served so:
 *
 *	  frame = tp_victim(pool, page, usable, arg, &access);
 *	  if (frame == TP_NONE)           nothing usable, or the policy refuses
 *	  if (!tp_is_free(pool, frame))   write the page back if dirty, then
 *	      tp_evict(pool, frame, &access);
 *	  ... read the page into the frame ...
 *	  tp_admit(pool, frame, page, &access);
 *
 * Between any two of these the caller may drop the pool's lock and change its
 * mind: a proposal not carried out has changed nothing, and an evicted frame
 * not filled is simply free.  A caller that shares the pool makes a frame it
 * is filling unusable to others: it stays on the free list until tp_admit.
 *
 * LOCKING: as in policy.h.  COSTS: tp_join and tp_leave O(1) amortised beside
 * what the policy trims; the others as the policy.
 */
#ifndef TIDEPOOL_POOL_H
#define TIDEPOOL_POOL_H

#include "tidepool/list.h"
#include "tidepool/ghost.h"
#include "tidepool/prefetch.h"

/* The policy's state in the header. */
#define tp_state(pool, type) ((type *) (void *) (pool)->header->state)

/* What the policy keeps of a frame beside the node. */
static inline void *
tp_extra(const tp_pool *pool, uint32_t frame)
{
	return pool->extra + (size_t) frame * pool->extra_stride;
}

static inline bool
tp_is_free(const tp_pool *pool, uint32_t frame)
{
	return pool->nodes[frame].list == TP_FREE;
}

/* Load into the cache what a hit on the page in this frame will touch. */
TP_PREFETCHES static inline void
tp_prefetch(const tp_pool *pool, uint32_t frame)
{
	__builtin_prefetch(&pool->nodes[frame], 1);
	if (pool->extra_stride > 0)
		__builtin_prefetch(tp_extra(pool, frame), 1);
}

/* Frames that hold a page. */
static inline uint32_t
tp_resident(const tp_pool *pool)
{
	return pool->header->frames - pool->header->lists[TP_FREE].count;
}

static inline tp_page
tp_page_of(const tp_pool *pool, uint32_t frame)
{
	return tp_page_make(pool->nodes[frame].relation, pool->nodes[frame].block);
}

/*
 * Begin an empty pool: header and view only; frames join afterwards.  params
 * are as checked by tp_policy_check_params, or NULL for the defaults.
 */
void		tp_pool_init(const tp_pool *pool, const double *params,
						 uint64_t seed);

/* Why these parameters cannot be used, or NULL if they can. */
const char *tp_policy_check_params(const tp_policy *policy,
								   const double *params);

/* The pool gains a frame that is in no pool. */
void		tp_join(const tp_pool *pool, uint32_t frame);

/* The pool loses a frame, which must be free. */
void		tp_leave(const tp_pool *pool, uint32_t frame);

/* A resident page was referenced. */
static inline void
tp_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	flags = pool->policy->flags;

	if (flags & TP_HIT_NOTHING)
		return;
	if (!tp_promotes(access) && !(flags & TP_COUNTS_ALL))
		return;
	pool->policy->hit(pool, frame, access);
}

/*
 * A frame for the incoming page: a free one if any is usable, else the
 * policy's proposal; TP_NONE if there is none.
 */
static inline uint32_t
tp_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		  const tp_access *access)
{
	uint32_t	frame = pool->header->lists[TP_FREE].head;

	if (usable != NULL)
		while (frame != TP_NONE && !usable(arg, frame))
			frame = pool->nodes[frame].next;
	if (frame != TP_NONE)
		return frame;
	if (tp_resident(pool) == 0)
		return TP_NONE;
	return pool->policy->victim(pool, incoming, usable, arg, access);
}

/* The page in this resident frame was evicted: the frame is free. */
static inline void
tp_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];

	node->origin = TP_FREE;
	pool->policy->evict(pool, frame, access);
	node->generation++;
	tp_list_push_head(pool, TP_FREE, frame);
}

/* A page was loaded into this free frame. */
static inline void
tp_admit(const tp_pool *pool, uint32_t frame, tp_page page,
		 const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];

	tp_list_remove(pool, frame);
	node->relation = page.relation;
	node->block = page.block;
	node->generation++;
	pool->policy->admit(pool, frame, access);
}

/* The page in this resident frame ceased to exist: the frame is free. */
static inline void
tp_forget(const tp_pool *pool, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];

	node->origin = TP_FREE;
	pool->policy->forget(pool, frame);
	node->generation++;
	tp_list_push_head(pool, TP_FREE, frame);
}

/* Walk the resident frames, next victim first; see tp_policy.coldest. */
static inline uint32_t
tp_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return pool->policy->coldest(pool, cursor);
}

/*
 * Assert every invariant, the pool's and the policy's.  Returns the number of
 * violations, each of which report (may be NULL) is told.  O(frames + ghosts).
 */
int			tp_check(const tp_pool *pool, tp_report report, void *arg);

/* Helper of check functions: reports and returns 1 if the claim is false. */
static inline int
tp_expect(bool claim, const char *violation, uint32_t index,
		  tp_report report, void *arg)
{
	if (claim)
		return 0;
	if (report != NULL)
		report(arg, violation, index);
	return 1;
}

/*
 * Write the pool's lists and fields as text, for tests, teaching and
 * debugging: "T1: 3 1 | T2: 5 | B1: 2 | B2: | p=1".  Lists from head to tail,
 * rings in the order of members, then what the policy adds; a page is its
 * block number, relation:block if the relation is not 0; a node's count and
 * mark follow where they are not 0, as in 3*2 and 3!1.  Ghosts as
 * tp_page_of_key.  Free frames are not shown.
 * Returns the length needed without the final NUL, as snprintf does.
 */
size_t		tp_describe(const tp_pool *pool, char *text, size_t size);

/*
 * The pieces of one pool with its own arrays for frames 0 .. capacity - 1, in
 * one block of memory (8-aligned): for callers that do not share arrays.
 * Returns 0 if so many frames, or their ghosts, cannot be numbered.
 */
size_t		tp_block_size(const tp_policy *policy, const double *params,
						  uint32_t capacity);

/* The view of such a block.  The block may be moved, and placed again. */
tp_pool		tp_block_pool(const tp_policy *policy, const double *params,
						  uint32_t capacity, void *block);

/* Place, initialise, and join frames 0 .. frames - 1. */
tp_pool		tp_block_init(const tp_policy *policy, const double *params,
						  uint32_t capacity, uint32_t frames, uint64_t seed,
						  void *block);

#endif							/* TIDEPOOL_POOL_H */
