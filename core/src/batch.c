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
void
tp_batch_prefetch(const tp_pool *pool, const tp_batch *batch)
{
	const tp_policy *policy = pool->policy;
	const bool	by_key = policy->prefetch != NULL;

	/* a page that comes in may have a ghost; its chain: see tp_expect_page */
	const uint32_t with_ghost = pool->ghosts_per_frame > 0 ?
		TP_BATCH_ADMISSION : 0;
	const uint32_t count = batch->count;
	uint64_t	keys[TP_BATCH_MAX];

	if (count == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];

		if (by_key)
		{
			keys[i] = key_of(entry);
			__builtin_prefetch(&pool->nodes[entry->frame], 1);
		}
		else
			tp_prefetch(pool, entry->frame);
		if (entry->flags & with_ghost)
			tp_ghost_prefetch_first(pool, key_of(entry));
	}
	if (by_key)
		policy->prefetch(pool, keys, count, 0);
	for (uint32_t i = 0; i < count; i++)
	{
		const tp_batch_entry *entry = &batch->entries[i];
		const tp_node *node = &pool->nodes[entry->frame];

		prefetch_node(pool, &node->prev);
		prefetch_node(pool, &node->next);
		if (entry->flags & with_ghost)
			tp_ghost_prefetch_neighbours(pool, key_of(entry));
	}
	if (by_key)
		policy->prefetch(pool, keys, count, 1);
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
