/*
 * batch.c
 *	  Prefetching and committing queued hits.  See batch.h.
 */
#include "tidepool/batch.h"

/*
 * Neighbours of nodes on their lists are not known without reading the nodes,
 * which would wait for what is just being fetched.
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
