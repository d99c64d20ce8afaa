/*
 * standing.c
 *	  Standings of pages and ghosts.  See standing.h.
 */
#include <string.h>

#include "tidepool/pool.h"
#include "tidepool/relaxed.h"
#include "tidepool/standing.h"

static bool
has_list(const tp_policy *policy, unsigned list)
{
	if (list == TP_FREE || list >= TP_MAX_LISTS)
		return false;
	for (unsigned i = 1; i <= list; i++)
		if (policy->lists[i - 1].name == NULL)
			return false;
	return true;
}

static bool
has_ghost_list(const tp_policy *policy, unsigned list)
{
	if (list == TP_FREE || list >= TP_MAX_GHOST_LISTS)
		return false;
	for (unsigned i = 1; i <= list; i++)
		if (policy->ghost_lists[i - 1] == NULL)
			return false;
	return true;
}

/* ---- pages ---- */

static uint32_t
extra_words(const tp_pool *pool)
{
	return (pool->policy->extra_size + 7) / 8;
}

tp_standing
tp_standing_of(const tp_pool *pool, uint32_t frame, uint64_t now)
{
	const tp_node *node = &pool->nodes[frame];
	const uint64_t *extra = tp_extra(pool, frame);
	tp_standing standing = {0};

	TP_ASSERT(tp_is_resident(pool, frame));
	standing.list = tp_load8(&node->list);
	standing.count = tp_load8(&node->count);
	standing.mark = tp_load8(&node->mark);
	if (tp_list_is_ring(pool->policy, standing.list))
		standing.word = tp_load64(&node->word);
	for (uint32_t i = 0; i < extra_words(pool); i++)
		standing.extra[i] = tp_load64(&extra[i]);
	if (pool->policy->describe_standing != NULL)
		pool->policy->describe_standing(pool, frame, &standing, now);
	return standing;
}

void
tp_reinstate_at_tail(const tp_pool *pool, uint32_t frame, unsigned list,
					 const tp_standing *standing)
{
	tp_node    *node = &pool->nodes[frame];
	uint64_t   *extra = tp_extra(pool, frame);

	tp_store8(&node->count, standing->count);
	tp_store8(&node->mark, standing->mark);
	for (uint32_t i = 0; i < extra_words(pool); i++)
		tp_store64(&extra[i], standing->extra[i]);
	if (!tp_list_is_ring(pool->policy, list))
	{
		tp_list_push_tail(pool, list, frame);
		return;
	}
	tp_store64(&node->word, standing->word);
	tp_ring_add(pool, list, frame);
}

bool
tp_reinstate(const tp_pool *pool, uint32_t frame, tp_page page,
			 const tp_standing *standing, const tp_access *access)
{
	if (!has_list(pool->policy, standing->list))
		return false;
	tp_occupy(pool, frame, page);
	if (pool->ghosts_per_frame > 0)
	{
		uint32_t	ghost = tp_ghost_of_node(pool, frame);

		if (ghost != TP_NONE)
			tp_ghost_remove(pool, ghost);
	}
	if (pool->policy->reinstate != NULL)
		pool->policy->reinstate(pool, frame, standing, access);
	else
		tp_reinstate_at_tail(pool, frame, standing->list, standing);
	return true;
}

/* ---- ghosts ---- */

tp_memory
tp_memory_of(const tp_pool *pool, uint32_t slot)
{
	const tp_ghost *ghost = &pool->ghosts[slot];
	tp_memory	memory = {.key = ghost->key, .value = ghost->value,
	.list = ghost->list};

	memcpy(memory.small, ghost->small, sizeof(memory.small));
	return memory;
}

void
tp_recall_begin(const tp_pool *pool)
{
	pool->header->recalling = true;
}

bool
tp_recall(const tp_pool *pool, const tp_memory *memory)
{
	TP_ASSERT(pool->header->recalling);
	if (pool->ghosts_per_frame == 0 || pool->header->frames == 0 ||
		!has_ghost_list(pool->policy, memory->list) || tp_ghosts_full(pool) ||
		tp_ghost_find(pool, memory->key) != TP_NONE ||
		pool->policy->recalls == NULL || !pool->policy->recalls(pool, memory))
		return false;
	tp_ghost_append(pool, memory);
	return true;
}

void
tp_recall_clean(const tp_pool *pool, uint32_t frame)
{
	uint32_t	ghost = !tp_is_resident(pool, frame) ||
		pool->ghosts_per_frame == 0 ? TP_NONE : tp_ghost_of_node(pool, frame);

	if (ghost != TP_NONE)
		tp_ghost_remove(pool, ghost);
}

void
tp_recall_end(const tp_pool *pool)
{
	pool->header->recalling = false;
}

/* ---- the state ---- */

void
tp_resume(const tp_pool *pool, const void *state, uint32_t frames)
{
	if (pool->policy->resume != NULL)
		pool->policy->resume(pool, state, frames);
}
