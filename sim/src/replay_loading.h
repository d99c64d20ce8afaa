/*
 * replay_loading.h
 *	  What a replay does on a miss: find a victim and load the page.
 *
 * In a header so that the loops (replay_loops.c) can inline it; layouts use it,
 * too.
 */
#ifndef TIDEPOOL_SIM_REPLAY_LOADING_H
#define TIDEPOOL_SIM_REPLAY_LOADING_H

#include "replay.h"

/* Write a page to the level below the cache. */
static inline void
write_below(tps_replay *replay, uint64_t page)
{
	replay->tally.totals.write_backs++;
	if (replay->io != NULL)
		io_add(replay->io, EVENT_WRITE, page, 0, 0);
}

/* The page in this frame, of which the policy knows, leaves it. */
static inline void
page_leaves(tps_replay *replay, uint32_t frame)
{
	uint64_t	page = cache_page_of(replay->cache, frame);

	if (replay->dirty[frame])
		write_below(replay, page);
	else if (replay->io != NULL && replay->io->evictions)
		io_add(replay->io, EVENT_EVICTED, page, 0, 0);
	replay->dirty[frame] = 0;
	pinned_remove(&replay->pinned, frame);
	pagetable_remove(&replay->cache->table, page);
	replay->tally.totals.evictions++;
}

/* Evict the page in this frame, and write it if it is dirty. */
static inline void
replay_evict(tps_replay *replay, uint32_t frame, const tp_access *access)
{
	tps_cache  *cache = replay->cache;

	pagetable_prefetch(&cache->table, cache_page_of(cache, frame));
	tp_evict(&cache->pool, frame, access);
	page_leaves(replay, frame);
}

/* Count why the policy has chosen what is evicted. */
static inline void
count_reason(tps_replay *replay, tp_reason reason, bool wanted_soon)
{
	tps_totals *totals = &replay->tally.totals;

	if ((replay->cache->pool.policy->flags & TP_ASKS_SCANS) == 0)
		return;
	switch (reason)
	{
		case TP_BY_PREDICTION:
			totals->predicted_evictions++;
			break;
		case TP_BY_FREQUENCY:
			totals->frequency_evictions++;
			break;
		case TP_BY_RECENCY:
			totals->recency_evictions++;
			break;
	}
	totals->premature_evictions += wanted_soon;
}

/* A search that counts its looks. */
typedef struct counted_search
{
	const pinned_frames *pinned;
	uint32_t	looks;
} counted_search;

/* A tp_usable. */
static inline bool
look_at(void *arg, uint32_t frame)
{
	counted_search *search = arg;

	search->looks++;
	return search->pinned->count == 0 || !search->pinned->is[frame];
}

/*
 * Choose a victim; a pinned page only if all are pinned.  Clears *ok if memory
 * ran out.
 */
static inline uint32_t
victim_for(tps_replay *replay, uint64_t page, const tp_access *access, bool *ok)
{
	const tp_pool *pool = &replay->cache->pool;
	uint32_t	frame = TP_NONE;

	if (replay->tally.options.per_search)
	{
		counted_search search = {.pinned = &replay->pinned};

		frame = tp_victim(pool, cache_page(page), look_at, &search, access);
		if (!tp_is_frame(frame) || tp_is_resident(pool, frame))
			*ok = tally_search(&replay->tally, search.looks) && *ok;
	}
	else if (replay->pinned.count > 0)
		frame = tp_victim(pool, cache_page(page), pinned_is_not,
						  &replay->pinned, access);
	if (frame == TP_NONE)
		frame = tp_victim(pool, cache_page(page), NULL, NULL, access);
	return frame;
}

/*
 * What follows is this backend's doing: its own chooser, if each has one, chooses and
 * learns of it.  False when memory ran out.
 */
static inline bool
backend_acts(tps_replay *replay, uint32_t number)
{
	return !replay->own_choosers ||
		backend_chooses(backend_of(replay->backends, number), replay->cache, number);
}

/*
 * Choose a frame for the page: no frame if the cache has none for it.  Clears *ok
 * if memory ran out.
 */
static inline uint32_t
choose_frame(tps_replay *replay, uint64_t page, const tp_access *access, bool *ok)
{
	tps_cache  *cache = replay->cache;
	backend_state *backend = replay->backends == NULL ? NULL :
		backend_of(replay->backends, access->backend);
	uint32_t	frame;

	/* a server takes a free frame without asking the policy */
	if (replay->queues_admissions &&
		cache->pool.header->lists[TP_FREE].count == 0)
		backend_commit(backend, cache, access);
	frame = victim_for(replay, page, access, ok);
	if (frame == TP_NONE && replay->queues_admissions)
	{
		/* the policy may not have seen any of the pages yet */
		replay_commit_admissions(replay);
		frame = victim_for(replay, page, access, ok);
	}
	return frame;
}

/*
 * Make room for the page: a frame that is the caller's, or none.  Clears *ok if
 * memory ran out.
 */
static inline uint32_t
make_room(tps_replay *replay, uint64_t page, const tp_access *access, bool *ok)
{
	const tp_pool *pool = &replay->cache->pool;
	uint32_t	frame;

	if (replay->spares > 0)
		return replay->spare[--replay->spares];
	frame = choose_frame(replay, page, access, ok);
	if (!tp_is_frame(frame))
		return frame;
	if (tp_is_resident(pool, frame))
	{
		count_reason(replay, pool->chooser->reason, pool->chooser->wanted_soon);
		replay_evict(replay, frame, access);
	}
	else
		tp_claim(pool, frame);
	return frame;
}

/* Is the page still in the frame that the backend has chosen? */
static inline bool
chosen_page_stays(const tps_replay *replay, const backend_state *backend)
{
	return tp_is_resident(&replay->cache->pool, backend->chosen) &&
		cache_page_of(replay->cache, backend->chosen) == backend->chosen_page;
}

/*
 * The page leaves the frame that the backend, which acts, has chosen.  If that was
 * not evicted, and does not hold the page any more, the backend has none.
 */
static inline void
empty_chosen(tps_replay *replay, backend_state *backend)
{
	const tp_pool *pool = &replay->cache->pool;
	uint32_t	frame = backend->chosen;

	if (!backend->has_chosen || backend->chosen_page == NO_PAGE)
		return;
	if (!replay->queues_admissions)
	{
		backend->has_chosen = chosen_page_stays(replay, backend);
		if (!backend->has_chosen)
			return;
		tp_evict(pool, frame, &backend->choice);
	}
	count_reason(replay, backend->reason, backend->wanted_soon);
	page_leaves(replay, frame);
	backend->chosen_page = NO_PAGE;
}

/* The frame that the backend has chosen, empty; or no frame. */
static inline uint32_t
take_chosen(tps_replay *replay, backend_state *backend)
{
	bool		had;

	empty_chosen(replay, backend);
	had = backend->has_chosen;
	backend->has_chosen = false;
	return had ? backend->chosen : TP_NONE;
}

/*
 * The page stays in the frame that the backend has chosen.  If it was evicted, the
 * policy learns that with what the backend reports next.  False when memory ran
 * out.
 */
static inline bool
give_up(tps_replay *replay, backend_state *backend, const tp_access *access)
{
	tps_cache  *cache = replay->cache;

	if (!backend->has_chosen)
		return true;
	backend->has_chosen = false;
	if (backend->chosen_page == NO_PAGE)
		tp_release(&cache->pool, backend->chosen);
	else if (replay->queues_admissions)
		return backend_queue(backend, cache, backend->chosen, backend->chosen_page,
							 access, TP_BATCH_RESTORATION, replay->queue_size);
	else if (chosen_page_stays(replay, backend))
		pinned_remove(&replay->pinned, backend->chosen);
	return true;
}

/*
 * The backend needs no room, unlike the server's, because the page is there.
 * False when memory ran out.
 */
static inline bool
give_up_unneeded(tps_replay *replay, const tp_access *access)
{
	backend_state *backend = backend_of(replay->backends, access->backend);

	return !backend->has_chosen ||
		(backend_acts(replay, access->backend) && give_up(replay, backend, access));
}

/*
 * Put the page into the cache.  Returns false if the cache has no frame for it.
 * Clears *ok if memory ran out.
 */
static inline bool
place(tps_replay *replay, uint64_t page, const tp_access *access, bool *ok)
{
	tps_cache  *cache = replay->cache;
	backend_state *backend = replay->backends == NULL ? NULL :
		backend_of(replay->backends, access->backend);
	tp_access	told = *access;
	uint32_t	frame = TP_NONE;

	if (!backend_acts(replay, access->backend))
		*ok = false;
	else if (backend != NULL)
		frame = take_chosen(replay, backend);
	if (tp_is_frame(frame))
		told.now = backend->choice.now;
	else if (*ok)
		frame = make_room(replay, page, access, ok);
	if (!tp_is_frame(frame))
	{
		replay->tally.totals.refused++;
		return false;
	}
	replay->dirty[frame] = (access->flags & TP_WRITE) != 0;
	if (!replay->queues_admissions)
	{
		cache_admit(cache, frame, page, &told);
		return true;
	}
	pagetable_enter(&cache->table, page, frame);
	if (!backend_queue(backend, cache, frame, page, access, TP_BATCH_ADMISSION,
					   replay->queue_size))
		*ok = false;
	return true;
}

/* Load the page into the cache.  False when memory ran out. */
static inline bool
load(tps_replay *replay, uint64_t page, const tp_access *access)
{
	bool		ok = true;

	cache_read(replay->cache, page);
	if (replay->io != NULL)
		io_add(replay->io, EVENT_READ, page, access->flags & ~TP_WRITE, 0);
	if (!place(replay, page, access, &ok) && (access->flags & TP_WRITE))
		write_below(replay, page);
	return ok;
}

#endif							/* TIDEPOOL_SIM_REPLAY_LOADING_H */
