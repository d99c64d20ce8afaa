/*
 * pool.h
 *	  The operations on a pool: what callers of the core use.
 *
 * A miss is served so:
 *
 *	  frame = tp_victim(pool, page, usable, arg, &access);
 *	  if (frame == TP_NONE)               nothing is usable
 *	  if (frame == TP_REFUSED)            the page is not to be cached
 *	  if (tp_is_resident(pool, frame))
 *		  tp_evict(pool, frame, &access);
 *	  else
 *		  tp_claim(pool, frame);
 *	  ... write the old page if it is dirty, read the new one ...
 *	  tp_admit(pool, frame, page, &access);
 *
 * The caller holds the pool's lock until tp_claim or tp_evict.  From then on it
 * owns the frame, and nobody else is offered it.  A proposal that is not
 * carried out has changed nothing.  If the old page turns out to be needed,
 * call tp_restore instead of tp_admit; if no new page comes, tp_release.
 * policy.h draws the states of a frame.
 *
 * LOCKING: as in policy.h.  COSTS: tp_join and tp_leave are O(1) amortised,
 * plus what the policy trims; the others cost what the policy does.
 */
#ifndef TIDEPOOL_POOL_H
#define TIDEPOOL_POOL_H

#include "tidepool/assertion.h"
#include "tidepool/frame.h"
#include "tidepool/parts/ghost.h"
#include "tidepool/parts/list.h"
#include "tidepool/parts/ring.h"
#include "tidepool/parts/search.h"
#include "tidepool/parts/walk.h"

/* The policy's state in the header. */
#define tp_state(pool, type) ((type *) (void *) (pool)->header->state)

/* The policy's state in the chooser. */
#define tp_choice(pool, type) ((type *) (void *) (pool)->chooser->state)

/* Did tp_victim give a frame? */
static inline bool
tp_is_frame(uint32_t victim)
{
	return victim < TP_REFUSED;
}

/* Prefetch what a hit on the page in this frame will touch. */
TP_PREFETCHES static inline void
tp_prefetch(const tp_pool *pool, uint32_t frame)
{
	if (!(pool->policy->flags & TP_HIT_IN_EXTRA))
		__builtin_prefetch(&pool->nodes[frame], 1);
	tp_prefetch_extra(pool, frame);
}

/* Frames that hold no page, free or claimed.  Not for a shared pool. */
static inline uint32_t
tp_vacant(const tp_pool *pool)
{
	return pool->header->lists[TP_FREE].count + pool->header->claimed;
}

/* Frames that hold a page.  Not for a shared pool. */
static inline uint32_t
tp_resident(const tp_pool *pool)
{
	return pool->header->frames - tp_vacant(pool);
}

/* May this pool be shared without a lock? (tp_share) */
static inline bool
tp_can_share(const tp_pool *pool)
{
	return (pool->policy->flags & TP_CHOICE_LOCK_FREE) != 0 &&
		pool->ghosts_per_frame == 0;
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

/*
 * Begin a chooser.  Its random numbers depend on the seed, on the number of the
 * backend that chooses, and on how many have had that number before.
 */
void		tp_chooser_init(const tp_pool *pool, uint64_t seed,
							uint32_t backend, uint32_t former);

/*
 * From now on processes choose, evict, admit, forget and restore concurrently
 * without a lock, each through a view with a chooser of its own.  Requires
 * tp_can_share(pool), and that no frame is free.
 */
void		tp_share(const tp_pool *pool);

/*
 * The pool gains a frame that is in no pool: free, or, for callers that keep
 * their own free frames, claimed.  A shared pool's frames join claimed.
 */
void		tp_join(const tp_pool *pool, uint32_t frame);
void		tp_join_claimed(const tp_pool *pool, uint32_t frame);

/* The pool loses a frame, which must be free or claimed. */
void		tp_leave(const tp_pool *pool, uint32_t frame);

/*
 * The pool loses all its frames at once, whatever they are.  It must be begun
 * anew then.
 */
void		tp_disband(const tp_pool *pool);

/* A resident page was referenced. */
static inline void
tp_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	flags = pool->policy->flags;

	if (flags & TP_HIT_NOTHING)
		return;
	if (!tp_promotes(access) && !(flags & TP_COUNTS_ALL))
		return;
	if ((access->flags & TP_DIRTIED) && !(flags & TP_WANTS_WRITES))
		return;
	pool->policy->hit(pool, frame, access);
}

/*
 * A frame for the incoming page: a free one if any is usable, else the
 * policy's proposal.  TP_NONE: no frame is usable.  TP_REFUSED: the policy does
 * not want the page.
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
	if (!pool->header->shared && tp_resident(pool) == 0)
		return TP_NONE;
	return pool->policy->victim(pool, incoming, usable, arg, access);
}

/* ---- from state to state ---- */

/* A resident frame of this list becomes claimed. */
static inline void
tp_vacate(const tp_pool *pool, uint32_t frame, unsigned list)
{
	tp_node    *node = &pool->nodes[frame];

	__atomic_store_n(&node->generation, node->generation + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&node->list, (uint8_t) (TP_CLAIMED | list),
					 __ATOMIC_RELAXED);
	if (!pool->header->shared)
		pool->header->claimed++;
}

/* Evict the page in this resident frame; the frame is the caller's. */
static inline void
tp_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	unsigned	list = pool->nodes[frame].list;

	TP_ASSERT(tp_is_resident(pool, frame));
	pool->nodes[frame].origin = TP_FREE;
	pool->policy->evict(pool, frame, access);
	tp_vacate(pool, frame, list);
}

/* The page in this resident frame ceased to exist: as tp_evict. */
static inline void
tp_forget(const tp_pool *pool, uint32_t frame)
{
	unsigned	list = pool->nodes[frame].list;

	TP_ASSERT(tp_is_resident(pool, frame));
	pool->nodes[frame].origin = TP_FREE;
	pool->policy->forget(pool, frame);
	tp_vacate(pool, frame, list);
}

/*
 * Undo the eviction of the page in this claimed frame.  Nothing may have
 * happened to the frame or the page since.
 */
void		tp_restore(const tp_pool *pool, uint32_t frame,
					   const tp_access *access);

/* Take this free frame: the caller owns it from now on. */
static inline void
tp_claim(const tp_pool *pool, uint32_t frame)
{
	TP_ASSERT(tp_list_tag(pool, frame) == TP_FREE);
	tp_list_remove(pool, frame);
	pool->nodes[frame].list = TP_CLAIMED | TP_FREE;
	pool->header->claimed++;
}

/* Give this claimed frame back: it is the next one to be offered. */
static inline void
tp_release(const tp_pool *pool, uint32_t frame)
{
	TP_ASSERT(tp_is_claimed(pool, frame));
	pool->header->claimed--;
	tp_list_push_head(pool, TP_FREE, frame);
}

/* A claimed or free frame holds this page now.  It is on no list yet. */
static inline void
tp_occupy(const tp_pool *pool, uint32_t frame, tp_page page)
{
	tp_node    *node = &pool->nodes[frame];

	TP_ASSERT(!tp_is_resident(pool, frame));
	if (tp_list_tag(pool, frame) == TP_FREE)
		tp_list_remove(pool, frame);
	else if (!pool->header->shared)
		pool->header->claimed--;
	__atomic_store_n(&node->relation, page.relation, __ATOMIC_RELAXED);
	__atomic_store_n(&node->block, page.block, __ATOMIC_RELAXED);
	__atomic_store_n(&node->generation, node->generation + 1, __ATOMIC_RELAXED);
}

/* A page was loaded into this claimed or free frame. */
static inline void
tp_admit(const tp_pool *pool, uint32_t frame, tp_page page,
		 const tp_access *access)
{
	tp_occupy(pool, frame, page);
	pool->policy->admit(pool, frame, access);
}

/*
 * tp_victim will be called soon.  Prefetch what it will touch, and store in
 * frames (room for TP_MAX_EXPECTED) those that it is likely to ask whether they
 * are usable.  Returns their number.  A guess; needs no lock.
 */
uint32_t	tp_expect_choice(const tp_pool *pool, uint32_t *frames);

/*
 * tp_victim will be called for this page soon, and tp_admit when it has come in.
 * Prefetch what they read first of its ghost, should it have one.  Returns where
 * they find the rest, for tp_expect_ghost, or NULL.  Needs no lock.
 */
const uint32_t *tp_expect_page_by_key(const tp_pool *pool, tp_page page);

static inline const uint32_t *
tp_expect_page(const tp_pool *pool, tp_page page)
{
	return pool->ghosts_per_frame == 0 ? NULL :
		tp_expect_page_by_key(pool, page);
}

/* Prefetch that.  Reads what tp_expect_page has prefetched.  Needs no lock. */
static inline void
tp_expect_ghost(const tp_pool *pool, const uint32_t *chain)
{
	uint32_t	slot = chain == NULL ? TP_NONE :
		__atomic_load_n(chain, __ATOMIC_RELAXED);

	if (slot != TP_NONE)
		__builtin_prefetch(&pool->ghosts[slot]);
}

/*
 * Walk the resident frames, next victim first; see tp_policy.coldest.
 * TP_NONE: the walk is over, or it pauses and cursor->over is false.
 */
static inline uint32_t
tp_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	uint32_t	frame = cursor->over ? TP_NONE :
		pool->policy->coldest == NULL ? tp_coldest_in_order(pool, cursor) :
		pool->policy->coldest(pool, cursor);

	if (frame == TP_NONE && !tp_cursor_paused(cursor))
		cursor->over = true;
	return frame;
}

/*
 * Begin a round of looking for the next victims.  victims: how many are expected
 * until the next round, at least 1.  For wanted see tp_lookahead.
 */
static inline void
tp_upcoming_begin(tp_lookahead *ahead, uint32_t victims, tp_usable wanted,
				  void *arg)
{
	const tp_cursor begin = {.share = victims};

	ahead->cursor = begin;
	ahead->wanted = wanted;
	ahead->arg = arg;
}

/*
 * The next frame that is likely to be evicted soon; see tp_policy.upcoming.
 * TP_NONE: the round is over, or it pauses and ahead->cursor.over is false.
 */
static inline uint32_t
tp_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	tp_cursor  *cursor = &ahead->cursor;
	uint32_t	frame;

	if (pool->policy->upcoming == NULL)
		return tp_coldest(pool, cursor);
	frame = cursor->over ? TP_NONE :
		pool->policy->upcoming(pool, ahead);
	if (frame == TP_NONE && !tp_cursor_paused(cursor))
		cursor->over = true;
	return frame;
}

/*
 * Assert every invariant, the pool's and the policy's.  Returns the number of
 * violations; calls report (may be NULL) for each.  A page in a frame that does
 * not hold it may have a ghost.  O(frames + ghosts).
 */
int			tp_check(const tp_pool *pool, tp_holds holds, void *holds_arg,
					 tp_report report, void *arg);

/*
 * Write the pool's lists and fields as text, for tests, teaching and debugging:
 * "T1: 3 1 | T2: 5 | B1: 2 | B2: | p=1".  Lists from head to tail, rings in the
 * order of members, then what the policy adds.  A page is its block number, or
 * relation:block if the relation is not 0; 3*2 has count 2, 3!1 has mark 1.  In
 * a list, ^ follows the first passed frame (parts/search.h), @ the one under
 * the hand.  Ghosts as tp_page_of_key.  Free frames are not shown.  Returns the
 * length needed without the final NUL, as snprintf does.
 */
size_t		tp_describe(const tp_pool *pool, char *text, size_t size);

/*
 * Bytes of a block that holds all pieces of one pool, with arrays for frames
 * 0 .. capacity - 1, for callers that do not share arrays.  0: so many frames,
 * or their ghosts, cannot be numbered.  The block must be 8-aligned.
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
