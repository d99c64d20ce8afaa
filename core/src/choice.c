/*
 * choice.c
 *	  Loading into the cache what the next choice of a victim will touch.  See
 *	  pool.h.
 */
#include "tidepool/pool.h"

_Static_assert(TP_MAX_EXPECTED / 2 == TP_MAX_LISTS - 1, "two of each list");

/*
 * The tails of all linked lists, whose number is *tails, then what is before
 * them, with their nodes prefetched; returns how many.  Reads no nodes but the
 * tails', which were named when they were before a tail, and so are in the cache.
 */
static inline uint32_t
cold_ends(const tp_pool *pool, uint32_t *frames, uint32_t *tails)
{
	const tp_policy *policy = pool->policy;
	uint32_t	n = 0;

	for (unsigned list = 0;
		 list < TP_MAX_EXPECTED / 2 && policy->lists[list].name != NULL;
		 list++)
	{
		uint32_t	tail = __atomic_load_n(&tp_list_of(pool, list + 1)->tail,
										   __ATOMIC_RELAXED);

		if (tail != TP_NONE)
			frames[n++] = tail;
	}
	*tails = n;
	for (uint32_t i = 0; i < *tails; i++)
	{
		uint32_t	before = __atomic_load_n(&pool->nodes[frames[i]].prev,
											 __ATOMIC_RELAXED);

		if (before == TP_NONE)
			continue;
		frames[n++] = before;
		__builtin_prefetch(&pool->nodes[before]);
	}
	return n;
}

static void
prefetch_ghost(const tp_pool *pool, const uint32_t *link)
{
	uint32_t	slot = __atomic_load_n(link, __ATOMIC_RELAXED);

	if (slot != TP_NONE)
		__builtin_prefetch(&pool->ghosts[slot]);
}

/*
 * An eviction makes a ghost of the page, in the first free slot, for which the
 * oldest ghost of a list may have to go; both are entries of chains.
 */
static void
prefetch_ghosts(const tp_pool *pool, const uint32_t *tails, uint32_t n)
{
	const char *const *names = pool->policy->ghost_lists;

	prefetch_ghost(pool, &tp_ghost_list_of(pool, TP_FREE)->head);
	for (unsigned list = 1; list < TP_MAX_GHOST_LISTS && names[list - 1]; list++)
		prefetch_ghost(pool, &tp_ghost_list_of(pool, list)->tail);
	for (uint32_t i = 0; i < n; i++)
		tp_ghost_prefetch_chain(pool, tp_page_key(tp_page_of(pool, tails[i])));
	for (unsigned list = 1; list < TP_MAX_GHOST_LISTS && names[list - 1]; list++)
	{
		uint32_t	slot = __atomic_load_n(&tp_ghost_list_of(pool, list)->tail,
										   __ATOMIC_RELAXED);

		if (slot != TP_NONE)
			tp_ghost_prefetch_chain(pool,
									__atomic_load_n(&pool->ghosts[slot].key,
													__ATOMIC_RELAXED));
	}
}

uint32_t
tp_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	uint32_t	tails;
	uint32_t	n;

	if (pool->policy->expect_choice != NULL)
		return pool->policy->expect_choice(pool, frames);
	n = cold_ends(pool, frames, &tails);
	for (uint32_t i = 0; pool->policy->extra_size > 0 && i < n; i++)
		tp_prefetch_extra(pool, frames[i]);
	if (pool->ghosts_per_frame > 0)
		prefetch_ghosts(pool, frames, tails);
	return n;
}

const uint32_t *
tp_expect_page_by_key(const tp_pool *pool, tp_page page)
{
	uint32_t	n = __atomic_load_n(&pool->header->frames, __ATOMIC_RELAXED);
	const uint32_t *chain;

	if (n == 0)
		return NULL;
	chain = tp_hash_chain_in(pool, tp_page_key(page), n);
	__builtin_prefetch(chain);
	return chain;
}
