/*
 * batch.c
 *	  Prefetching and committing queued hits.  See batch.h.
 */
#include "tidepool/batch.h"

/* A node that may be changing, or no node. */
static void
prefetch_node(const tp_pool *pool, const uint32_t *link)
{
	uint32_t	frame = __atomic_load_n(link, __ATOMIC_RELAXED);

	if (frame != TP_NONE)
		__builtin_prefetch(&pool->nodes[frame], 1);
}

/*
 * A list's neighbours are known only when the node is there.  So they are
 * asked for when all nodes have been: the waits for these overlap.
 */
void
tp_batch_prefetch(const tp_pool *pool, const tp_batch *batch)
{
	void		(*prefetch) (const tp_pool *pool, tp_page page) =
		pool->policy->prefetch;

	for (uint32_t i = 0; i < batch->count; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];

		__builtin_prefetch(&pool->nodes[entry->frame], 1);
		if (pool->extra_stride > 0)
			__builtin_prefetch(tp_extra(pool, entry->frame), 1);
		if (prefetch != NULL)
			prefetch(pool, tp_page_make(entry->relation, entry->block));
	}
	for (uint32_t i = 0; i < batch->count; i++)
	{
		const tp_node *node = &pool->nodes[batch->entries[i].frame];

		prefetch_node(pool, &node->prev);
		prefetch_node(pool, &node->next);
	}
}

uint32_t
tp_batch_commit(const tp_pool *pool, tp_batch *batch, const tp_access *access)
{
	uint32_t	skipped = 0;
	tp_access	hit = *access;

	for (uint32_t i = 0; i < batch->count; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];
		const tp_node *node = &pool->nodes[entry->frame];

		if (node->list == TP_FREE || node->relation != entry->relation ||
			node->block != entry->block)
		{
			skipped++;
			continue;
		}
		hit.flags = entry->flags;
		tp_hit(pool, entry->frame, &hit);
	}
	batch->count = 0;
	return skipped;
}
