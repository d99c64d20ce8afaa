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

static inline uint64_t
key_of(const tp_batch_entry *entry)
{
	return tp_page_key(tp_page_make(entry->relation, entry->block));
}

/*
 * In two steps, the second of which reads what the first has loaded: so the
 * waits of all entries for it overlap.  A list's neighbours are an instance.
 */
static inline void
prefetch_nodes(const tp_pool *pool, const tp_batch *batch, int step)
{
	const tp_batch_entry *end = batch->entries + batch->count;

	for (const tp_batch_entry *entry = batch->entries; entry < end; entry++)
	{
		const tp_node *node = &pool->nodes[entry->frame];

		if (step == 0)
			__builtin_prefetch(node, 1);
		else
		{
			prefetch_node(pool, &node->prev);
			prefetch_node(pool, &node->next);
		}
	}
}

static void
prefetch_extras(const tp_pool *pool, const tp_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++)
		tp_prefetch_extra(pool, batch->entries[i].frame);
}

/* A page that comes in may have a ghost; its chain: see tp_expect_page. */
static void
prefetch_ghosts(const tp_pool *pool, const tp_batch *batch, int step)
{
	uint32_t	left = batch->frames;

	for (uint32_t i = 0; i < batch->count && left > 0; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];

		if ((entry->flags & (TP_BATCH_ADMISSION | TP_BATCH_RESTORATION)) == 0)
			continue;
		left--;
		if (step == 0)
			tp_ghost_prefetch_first(pool, key_of(entry));
		else
			tp_ghost_prefetch_neighbours(pool, key_of(entry));
	}
}

/* Of a policy that goes by keys. */
static void
prefetch_by_keys(const tp_pool *pool, const tp_batch *batch)
{
	uint64_t	keys[TP_BATCH_MAX];

	for (uint32_t i = 0; i < batch->count; i++)
		keys[i] = key_of(&batch->entries[i]);
	pool->policy->prefetch(pool, keys, batch->count, 0);
	prefetch_nodes(pool, batch, 1);
	pool->policy->prefetch(pool, keys, batch->count, 1);
}

void
tp_batch_prefetch(const tp_pool *pool, const tp_batch *batch)
{
	const tp_policy *policy = pool->policy;

	if (batch->count == 0)
		return;
	prefetch_nodes(pool, batch, 0);
	if (policy->extra_size > 0)
		prefetch_extras(pool, batch);
	if (pool->ghosts_per_frame > 0)
		prefetch_ghosts(pool, batch, 0);
	if (policy->prefetch != NULL)
		prefetch_by_keys(pool, batch);
	else
		prefetch_nodes(pool, batch, 1);
	if (pool->ghosts_per_frame > 0)
		prefetch_ghosts(pool, batch, 1);
}

/* A page has come into this frame, if it is there still. */
static bool
commit_admission(const tp_pool *pool, uint32_t frame, tp_page page,
				 const tp_access *access, tp_holds holds, void *arg,
				 uint32_t *forgotten)
{
	if (holds != NULL && !holds(arg, frame, page))
		return false;
	if (tp_is_resident(pool, frame))
	{
		/* with a ghost, it has left unnoticed, and come back from elsewhere */
		if (tp_page_equal(tp_page_of(pool, frame), page) &&
			tp_ghost_of_node(pool, frame) == TP_NONE)
			return false;
		tp_forget(pool, frame);
		(*forgotten)++;
	}
	tp_admit(pool, frame, page, access);
	return true;
}

static bool
commit_restoration(const tp_pool *pool, uint32_t frame, tp_page page,
				   const tp_access *access, tp_holds holds, void *arg)
{
	if (!tp_is_claimed(pool, frame) ||
		!tp_page_equal(tp_page_of(pool, frame), page) ||
		(holds != NULL && !holds(arg, frame, page)))
		return false;
	tp_restore(pool, frame, access);
	return true;
}

static bool
commit_hit(const tp_pool *pool, uint32_t frame, tp_page page,
		   const tp_access *access)
{
	if (!tp_is_resident(pool, frame) ||
		!tp_page_equal(tp_page_of(pool, frame), page))
		return false;
	tp_hit(pool, frame, access);
	return true;
}

uint32_t
tp_batch_commit(const tp_pool *pool, tp_batch *batch, const tp_access *access,
				tp_holds holds, void *arg)
{
	uint32_t	skipped = 0;
	tp_access	told = *access;

	told.scan = 0;				/* the references were made through others */
	for (uint32_t i = 0; i < batch->count; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];
		tp_page		page = tp_page_make(entry->relation, entry->block);

		told.flags = entry->flags & ~(TP_BATCH_ADMISSION | TP_BATCH_RESTORATION);
		if (entry->flags & TP_BATCH_ADMISSION)
			skipped += !commit_admission(pool, entry->frame, page, &told, holds,
										 arg, &batch->forgotten);
		else if (entry->flags & TP_BATCH_RESTORATION)
			skipped += !commit_restoration(pool, entry->frame, page, &told,
										   holds, arg);
		else
			skipped += !commit_hit(pool, entry->frame, page, &told);
	}
	batch->count = 0;
	batch->frames = 0;
	return skipped;
}
