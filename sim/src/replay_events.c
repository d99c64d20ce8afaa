/*
 * replay_events.c
 *	  Events of a replay other than references.
 */
#include "replay_reference.h"

/* ---- pages cease to exist ---- */

static void
forget_frame(tps_replay *replay, uint32_t frame)
{
	tps_cache_forget(replay->cache, frame);
	replay->dirty[frame] = 0;
	pinned_remove(&replay->pinned, frame);
	replay->tally.totals.forgotten++;
}

/* count pages from first on; 0: all from first to the end of the fork. */
static void
forget(tps_replay *replay, uint64_t first, uint32_t count)
{
	tps_cache  *cache = replay->cache;

	replay_commit_admissions(replay);
	if (replay->io != NULL)
		io_add(replay->io, EVENT_FORGET, first, 0, count);
	if (replay->opt != NULL && count == 0)
		replay->tally.totals.forgotten += opt_forget_from(replay->opt, first);
	for (uint64_t page = first; page - first < count; page++)
		if (replay->opt != NULL)
			replay->tally.totals.forgotten += opt_forget(replay->opt, page);
		else
		{
			uint32_t	frame = pagetable_find(&cache->table, page);

			if (frame != TP_NONE && cache_has(cache, frame) &&
				tp_is_resident(&cache->pool, frame))
				forget_frame(replay, frame);
		}
	if (cache != NULL && count == 0)
		for (uint32_t frame = 0; frame < cache->capacity; frame++)
			if (cache_has(cache, frame) && tp_is_resident(&cache->pool, frame))
			{
				uint64_t	page = cache_page_of(cache, frame);

				if (page >> 32 == first >> 32 && page >= first)
					forget_frame(replay, frame);
			}
}

/* ---- pages are pinned and unpinned ---- */

/* Ignores pages that are not resident.  False when memory ran out. */
static bool
pin_event(tps_replay *replay, const tps_events *events, size_t i)
{
	tps_cache  *cache = replay->cache;
	uint32_t	frame = cache == NULL ? TP_NONE :
		pagetable_find(&cache->table, events->page[i]);

	if (frame == TP_NONE)
		return true;
	if (event_kind(events, i) == EVENT_PINNED)
		return pinned_add(&replay->pinned, cache->capacity, frame);
	pinned_remove(&replay->pinned, frame);
	return true;
}

/* ---- pages become dirty ---- */

/*
 * Ignores pages that are not resident.  Commits no queue, because the backend
 * is in the middle of a change; a full queue drops the event.  False when
 * memory ran out.
 */
static bool
dirtied_event(tps_replay *replay, const tps_events *events, size_t i)
{
	tps_cache  *cache = replay->cache;
	uint64_t	page = events->page[i];
	uint32_t	frame = cache == NULL ? TP_NONE :
		pagetable_find(&cache->table, page);
	tp_access	access = event_access(events, i);
	backend_state *b;

	access.flags = TP_WRITE | TP_DIRTIED;
	if (frame == TP_NONE)
		return true;
	replay->dirty[frame] = 1;
	if ((cache->pool.policy->flags & TP_WANTS_WRITES) == 0)
		return true;
	if (!replay->queues_hits && tp_is_resident(&cache->pool, frame))
	{
		tp_hit(&cache->pool, frame, &access);
		return true;
	}
	b = backend_of(replay->backends, access.backend);
	if (!backend_has_queue(b))
		return false;
	if (b->queue->count < TP_BATCH_MAX - 1)
		(void) tp_batch_add(b->queue, frame, cache_page(page), access.flags,
							TP_BATCH_MAX, TP_BATCH_MAX);
	return true;
}

/* ---- pages are written ---- */

/*
 * A page that was written before it had to leave is clean.  Who writes a page
 * to replace it does so in the replay, too.
 */
static void
written_event(tps_replay *replay, const tps_events *events, size_t i)
{
	uint32_t	frame = replay->cache == NULL || events->flags == NULL ||
		(events->flags[i] & EVENT_WRITTEN_AHEAD) == 0 ? TP_NONE :
		pagetable_find(&replay->cache->table, events->page[i]);

	if (frame != TP_NONE)
		replay->dirty[frame] = 0;
}

/* ---- backends report what they have queued ---- */

static bool
has_flag(const tps_events *events, size_t i, uint16_t flag)
{
	return events->flags != NULL && (events->flags[i] & flag) != 0;
}

/* In a replay of something else, queues have other lengths. */
static void
reported_event(tps_replay *replay, const tps_events *events, size_t i)
{
	const tp_access access = event_access(events, i);

	if (replay->backends != NULL &&
		(replay->tally.options.as_recorded || !has_flag(events, i, EVENT_DUE)))
		backend_commit(backend_of(replay->backends, access.backend),
					   replay->cache, &access);
}

/* ---- backends choose frames, and give them up ---- */

/*
 * As in the server, a policy that chooses under the lock learns of the eviction at
 * once, another when the page leaves.  False when memory ran out.
 */
static bool
chosen_event(tps_replay *replay, const tps_events *events, size_t i)
{
	tps_cache  *cache = replay->cache;
	tp_access	access;
	backend_state *backend;
	bool		ok;
	uint32_t	frame;

	if (cache == NULL || !replay->tally.options.as_recorded)
		return true;
	access = access_of(replay, events, i);
	if (!backend_acts(replay, access.backend))
		return false;
	backend = backend_of(replay->backends, access.backend);
	ok = give_up_unneeded(replay, &access); /* nothing was said of it */
	frame = choose_frame(replay, events->page[i], &access, &ok);
	if (!tp_is_frame(frame) || has_flag(events, i, EVENT_IN_USE))
		return ok;
	backend->has_chosen = true;
	backend->chosen = frame;
	backend->choice = access;
	backend->chosen_page = NO_PAGE;
	if (!tp_is_resident(&cache->pool, frame))
	{
		tp_claim(&cache->pool, frame);
		return ok;
	}
	backend->chosen_page = cache_page_of(cache, frame);
	backend->reason = cache->pool.chooser->reason;
	backend->wanted_soon = cache->pool.chooser->wanted_soon;
	if (replay->queues_admissions)
		tp_evict(&cache->pool, frame, &access);
	else						/* others cannot choose it */
		ok = pinned_add(&replay->pinned, cache->capacity, frame) && ok;
	return ok;
}

static bool
left_event(tps_replay *replay, const tps_events *events, size_t i)
{
	uint32_t	backend = event_access(events, i).backend;

	if (replay->cache == NULL || !replay->tally.options.as_recorded)
		return true;
	if (!backend_acts(replay, backend))
		return false;
	empty_chosen(replay, backend_of(replay->backends, backend));
	return true;
}

static bool
given_up_event(tps_replay *replay, const tps_events *events, size_t i)
{
	const tp_access access = event_access(events, i);
	backend_state *backend;
	uint32_t	frame;

	if (replay->cache == NULL || !replay->tally.options.as_recorded)
		return true;
	if (!backend_acts(replay, access.backend))
		return false;
	backend = backend_of(replay->backends, access.backend);
	if (!has_flag(events, i, EVENT_FREED))
		return give_up(replay, backend, &access);
	frame = take_chosen(replay, backend);
	if (tp_is_frame(frame) && replay->spares < MOST_SPARE)
		replay->spare[replay->spares++] = frame;
	else if (tp_is_frame(frame))
		tp_release(&replay->cache->pool, frame);
	return true;
}

/* ---- scans begin, advance, end ---- */

/* False when memory ran out. */
static bool
scan_event(tps_replay *replay, const tps_events *events, size_t i)
{
	if (replay->cache == NULL ||
		(replay->cache->pool.policy->flags & TP_ASKS_SCANS) == 0)
		return true;
	if (replay->scans.scans == NULL)
	{
		if (!announced_init(&replay->scans, replay->tally.options.scans))
			return false;
		tps_cache_set_scans(replay->cache, replay->scans.scans);
	}
	return announced_event(&replay->scans, events, i);
}

static void
process_event(tps_replay *replay, const tps_events *events, size_t i)
{
	uint32_t	backend = event_access(events, i).backend;

	if (replay->own_choosers)
		backend_begins(backend_of(replay->backends, backend), replay->cache, backend,
					   events->count == NULL ? 0 : events->count[i]);
}

bool
replay_event(tps_replay *replay, const tps_events *events, size_t i)
{
	switch (event_kind(events, i))
	{
		case EVENT_FORGET:
			forget(replay, events->page[i],
				   events->count == NULL ? 0 : events->count[i]);
			return true;
		case EVENT_PINNED:
		case EVENT_UNPINNED:
			return pin_event(replay, events, i);
		case EVENT_DIRTIED:
			return dirtied_event(replay, events, i);
		case EVENT_WRITTEN:
			written_event(replay, events, i);
			return true;
		case EVENT_REPORTED:
			reported_event(replay, events, i);
			return true;
		case EVENT_CHOSEN:
			return chosen_event(replay, events, i);
		case EVENT_GIVEN_UP:
			return given_up_event(replay, events, i);
		case EVENT_LEFT:
			return left_event(replay, events, i);
		case EVENT_PROCESS:
			process_event(replay, events, i);
			return true;
		case EVENT_POOL:
		case EVENT_MOVED:
		case EVENT_PAGE_MOVED:
		case EVENT_PHYSICAL_READ:
		case EVENT_PHYSICAL_WRITE:
		case EVENT_SSD_HAS:
		case EVENT_SSD_LOST:
		case EVENT_SSD:
		case EVENT_SSD_BUSY:
		case EVENT_SSD_FREED:
		case EVENT_SSD_RELATION:
			return true;
		default:
			return scan_event(replay, events, i);
	}
}
