/*
 * replay.c
 *	  Replay of a trace against a policy or OPT.
 *
 * Speed: the trace is known ahead, so what a reference needs is prefetched
 * while the EVENTS_AHEAD references before it are served (look_ahead).
 * Whatever is the same for a whole run of references is decided once per run.
 */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "replay.h"

static tps_replay *
replay_new(tps_cache *cache, opt_pool *o, const tps_options *options)
{
	tps_replay *replay = calloc(1, sizeof(*replay));
	bool		ok = replay != NULL && tally_init(&replay->tally, options);

	if (ok && cache != NULL)
	{
		replay->dirty = calloc(cache->capacity, 1);
		ok = replay->dirty != NULL;
	}
	if (ok && cache != NULL)
		replay->own_choosers = tp_can_share(&cache->pool);
	if (ok && cache != NULL && options->batch > 1)
	{
		replay->queues_hits = (cache->pool.policy->flags &
							   (TP_HIT_LOCK_FREE | TP_HIT_NOTHING)) == 0;
		replay->queues_admissions = !replay->own_choosers;
	}
	if (replay != NULL)
		replay->only_choosers = replay->own_choosers && !replay->queues_hits &&
			options->correlation_window == 0;
	if (ok && (options->correlation_window > 0 || replay->queues_hits ||
			   replay->queues_admissions || replay->own_choosers))
	{
		replay->backends = calloc(BACKEND_SLOTS, sizeof(*replay->backends));
		ok = replay->backends != NULL;
	}
	if (replay != NULL)
	{
		replay->cache = cache;
		replay->opt = o;
	}
	if (!ok)
	{
		if (replay != NULL)
			tps_replay_free(replay);
		else
		{
			tps_cache_free(cache);
			opt_free(o);
		}
		return NULL;
	}
	return replay;
}

tps_replay *
tps_replay_new(tps_cache *cache, const tps_options *options)
{
	return replay_new(cache, NULL, options);
}

tps_replay *
tps_replay_new_opt(uint32_t frames, bool bypass, const tps_options *options)
{
	opt_pool   *o = opt_new(frames, bypass);

	return o == NULL ? NULL : replay_new(NULL, o, options);
}

void
tps_replay_free(tps_replay *replay)
{
	if (replay == NULL)
		return;
	tally_free(&replay->tally);
	io_free(replay->io);
	tps_cache_free(replay->cache);
	opt_free(replay->opt);
	announced_free(&replay->scans);
	pinned_free(&replay->pinned);
	free(replay->dirty);
	backends_free(replay->backends);
	free(replay);
}

bool
tps_replay_keep_io(tps_replay *replay)
{
	replay->io = io_new();
	return replay->io != NULL;
}

void
tps_replay_io(const tps_replay *replay, tps_events *events)
{
	io_events(replay->io, events);
}

/* So that the policy knows of all pages that are there. */
static void
commit_admissions(tps_replay *replay)
{
	const tp_access access = {0};

	for (size_t i = 0; replay->queues_admissions && i < BACKEND_SLOTS; i++)
	{
		backend_state *b = &replay->backends[i];

		if (b->queue != NULL && b->queue->frames > 0)
			backend_commit(b, replay->cache, &access);
	}
}

void
tps_replay_resize(tps_replay *replay, uint32_t frames, uint64_t now)
{
	tps_cache  *cache = replay->cache;

	commit_admissions(replay);
	tps_cache_resize(cache, frames, now);

	/* the dirty pages of frames that have left were written back */
	for (uint32_t frame = 0; frame < cache->capacity; frame++)
		if (cache->pool.nodes[frame].slot == TP_NONE)
		{
			replay->tally.totals.write_backs += replay->dirty[frame];
			replay->dirty[frame] = 0;
			pinned_remove(&replay->pinned, frame);
		}
}

/* ---- one reference ---- */

static tp_access
access_of(tps_replay *replay, const tps_events *events, size_t i)
{
	tp_access	access = {0};

	access.now = event_time(events, i);
	if (replay->scans.scans != NULL && events->scan != NULL &&
		events->scan[i] != 0)
		access.scan = announced_reference(&replay->scans, events->scan[i],
										  events->page[i], access.now);
	if (events->backend != NULL)
		access.backend = events->backend[i];
	if (events->flags != NULL)
		access.flags = events->flags[i] & EVENT_ACCESS_FLAGS;
	if (event_kind(events, i) == EVENT_WRITE)
		access.flags |= TP_WRITE;
	if (replay->tally.options.correlation_window > 0 &&
		backend_repeats(backend_of(replay->backends, access.backend),
						access.backend, events->page[i], access.now,
						replay->tally.options.correlation_window))
		access.flags |= TP_CORRELATED;
	return access;
}

/* A page is written to what is below the cache. */
static void
write_below(tps_replay *replay, uint64_t page)
{
	replay->tally.totals.write_backs++;
	if (replay->io != NULL)
		io_add(replay->io, EVENT_WRITE, page, 0, 0);
}

/*
 * The page in this frame was referenced.  If the policy has not been told yet
 * that it came in, it learns of the hit after that.  False when memory ran out.
 */
static bool
hit(tps_replay *replay, uint32_t frame, uint64_t page, const tp_access *access)
{
	const tp_pool *pool = &replay->cache->pool;
	uint32_t	flags = pool->policy->flags;

	replay->dirty[frame] |= (access->flags & TP_WRITE) != 0;
	replay->tally.totals.correlated += (access->flags & TP_CORRELATED) != 0;
	if ((flags & TP_HIT_NOTHING) ||
		(!tp_promotes(access) && (flags & TP_COUNTS_ALL) == 0))
		return true;
	if (replay->queues_hits ||
		(replay->queues_admissions && tp_is_claimed(pool, frame)))
		return backend_queue(backend_of(replay->backends, access->backend),
							 replay->cache, frame, page, access, 0,
							 replay->tally.options.batch);
	pool->policy->hit(pool, frame, access);
	return true;
}

/* A search whose looks are counted. */
typedef struct counted_search
{
	const pinned_frames *pinned;
	uint32_t	looks;
} counted_search;

/* A tp_usable. */
static bool
look_at(void *arg, uint32_t frame)
{
	counted_search *search = arg;

	search->looks++;
	return search->pinned->count == 0 || !search->pinned->is[frame];
}

/*
 * A pinned page goes only if there is nothing else.  *ok is cleared if memory
 * ran out.
 */
static uint32_t
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

/* The page comes into the cache.  False when memory ran out. */
static bool
load(tps_replay *replay, uint64_t page, const tp_access *access)
{
	tps_cache  *cache = replay->cache;
	backend_state *backend = replay->backends == NULL ? NULL :
		backend_of(replay->backends, access->backend);
	bool		ok = true;
	uint32_t	frame;

	cache_read(cache, page);
	if (replay->io != NULL)
		io_add(replay->io, EVENT_READ, page, access->flags & ~TP_WRITE, 0);
	/* a server takes a free frame without asking the policy */
	if (replay->queues_admissions &&
		cache->pool.header->lists[TP_FREE].count == 0)
		backend_commit(backend, cache, access);
	if (replay->own_choosers &&
		!backend_chooses(backend, cache, access->backend))
		return false;
	frame = victim_for(replay, page, access, &ok);
	if (frame == TP_NONE && replay->queues_admissions)
	{
		/* all pages may be ones that the policy does not know of yet */
		commit_admissions(replay);
		frame = victim_for(replay, page, access, &ok);
	}
	if (!tp_is_frame(frame))
	{
		replay->tally.totals.refused++;
		if (access->flags & TP_WRITE)
			write_below(replay, page);
		return ok;
	}
	if (tp_is_resident(&cache->pool, frame))
	{
		if (replay->dirty[frame])
			write_below(replay, cache_page_of(cache, frame));
		pinned_remove(&replay->pinned, frame);
		cache_evict(cache, frame, access);
	}
	else
		tp_claim(&cache->pool, frame);
	replay->dirty[frame] = (access->flags & TP_WRITE) != 0;
	if (!replay->queues_admissions)
	{
		cache_admit(cache, frame, page, access);
		return ok;
	}
	pagetable_enter(&cache->table, page, frame);
	return backend_queue(backend, cache, frame, page, access,
						 TP_BATCH_ADMISSION, replay->tally.options.batch) && ok;
}

/* ---- pages cease to exist ---- */

static void
forget_frame(tps_replay *replay, uint32_t frame)
{
	tps_cache_forget(replay->cache, frame);
	replay->dirty[frame] = 0;
	pinned_remove(&replay->pinned, frame);
	replay->tally.totals.forgotten++;
}

/* count pages from first on; 0 for all from first to the end of the fork. */
static void
forget(tps_replay *replay, uint64_t first, uint32_t count)
{
	tps_cache  *cache = replay->cache;

	commit_admissions(replay);
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

			if (frame != TP_NONE)
				forget_frame(replay, frame);
		}
	if (cache != NULL && count == 0)
		for (uint32_t frame = 0; frame < cache->capacity; frame++)
			if (tp_is_resident(&cache->pool, frame))
			{
				uint64_t	page = cache_page_of(cache, frame);

				if (page >> 32 == first >> 32 && page >= first)
					forget_frame(replay, frame);
			}
}

/* ---- pages are pinned, and not any more ---- */

/* Pages that are not resident are ignored.  False when memory ran out. */
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
 * Pages that are not resident are ignored.  Who tells is in the middle of a
 * change, so that a queue is not committed for this; there may be no room.
 * False when memory ran out.
 */
static bool
dirtied_event(tps_replay *replay, const tps_events *events, size_t i)
{
	tps_cache  *cache = replay->cache;
	uint64_t	page = events->page[i];
	uint32_t	frame = cache == NULL ? TP_NONE :
		pagetable_find(&cache->table, page);
	const tp_access access = {
		.now = event_time(events, i),
		.backend = events->backend == NULL ? 0 : events->backend[i],
		.flags = TP_WRITE | TP_DIRTIED
	};
	backend_state *b;

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
		if (!announced_init(&replay->scans))
			return false;
		tps_cache_set_scans(replay->cache, replay->scans.scans);
	}
	return announced_event(&replay->scans, events, i);
}

/* ---- runs of references ---- */

static inline const uint32_t *
chain_of(const tp_pool *pool, uint64_t page)
{
	return tp_hash_chain_of(pool, tp_page_key(cache_page(page)));
}

/*
 * Prefetch what the references after this one will need, in steps, each of
 * which needs what the step before it has prefetched: the slot of the hash
 * table; the frame or, if the slot is empty and the page will likely miss, the
 * chain of the ghost index; the first ghost of the chain.
 */
TP_PREFETCHES static inline void
look_ahead(const tps_cache *cache, const uint64_t *page)
{
	const tp_pool *pool = &cache->pool;
	const pagetable *table = &cache->table;
	uint64_t	near = page[EVENTS_AHEAD / 2];
	uint64_t	next = page[EVENTS_AHEAD / 4];
	uint32_t	frame = table->slots[pagetable_home(table, near)].frame;

	__builtin_prefetch(&table->slots[pagetable_home(table,
													page[EVENTS_AHEAD])]);
	if (frame != TP_NONE)
	{
		__builtin_prefetch(&pool->nodes[frame]);
		__builtin_prefetch(tp_extra(pool, frame));
	}
	else if (pool->header->ghost_count > 0)
		__builtin_prefetch(chain_of(pool, near));
	if (pool->header->ghost_count > 0 &&
		table->slots[pagetable_home(table, next)].frame == TP_NONE)
	{
		uint32_t	ghost = *chain_of(pool, next);

		if (ghost != TP_NONE)
			__builtin_prefetch(&pool->ghosts[ghost]);
	}
}

/*
 * References from to below to, against the policy.  Returns the misses.
 * detail: each must be told to the tally; *ok is cleared if that fails.
 */
static inline uint64_t
run_policy(tps_replay *replay, const tps_events *events, size_t from, size_t to,
		   bool plain, bool detail, bool *ok)
{
	tps_cache  *cache = replay->cache;
	const tp_pool *pool = &cache->pool;
	const pagetable *table = &cache->table;
	uint64_t	misses = 0;
	tp_access	access = {0};

	for (size_t i = from; i < to; i++)
	{
		uint64_t	page = events->page[i];
		uint32_t	frame;

		if (i + EVENTS_AHEAD < events->n)
			look_ahead(cache, &events->page[i]);
		if (plain)
			access.now = events->position + i;
		else
			access = access_of(replay, events, i);
		frame = pagetable_find(table, page);
		if (frame != TP_NONE)
		{
			if (plain)
				tp_hit(pool, frame, &access);
			else if (!hit(replay, frame, page, &access))
				*ok = false;
		}
		else
		{
			misses++;
			if (!load(replay, page, &access))
				*ok = false;
		}
		if (detail && !tally_detail(&replay->tally, page, frame == TP_NONE))
			*ok = false;
	}
	return misses;
}

static uint64_t
run_opt(tps_replay *replay, const tps_events *events, size_t from, size_t to,
		bool *ok)
{
	uint64_t	misses = 0;

	for (size_t i = from; i < to; i++)
	{
		bool		write = event_kind(events, i) == EVENT_WRITE;
		bool		wrote_back = false;
		uint64_t	written = events->page[i];
		opt_outcome outcome = opt_reference(replay->opt, events->page[i],
											events->next_use[i], write,
											&wrote_back, &written);

		if (replay->io != NULL && outcome != OPT_HIT)
			io_add(replay->io, EVENT_READ, events->page[i], 0, 0);
		if (wrote_back || (write && outcome == OPT_REFUSED))
			write_below(replay, written);
		misses += outcome != OPT_HIT;
		replay->tally.totals.refused += outcome == OPT_REFUSED;
		if (replay->tally.detailed &&
			!tally_detail(&replay->tally, events->page[i], outcome != OPT_HIT))
			*ok = false;
	}
	return misses;
}

/* References from to below to; each variant of the loop is compiled apart. */
static bool
run(tps_replay *replay, const tps_events *events, size_t from, size_t to)
{
	bool		ok = true;
	bool		plain = events->kind == NULL && events->flags == NULL &&
		events->time == NULL && events->backend == NULL &&
		(replay->backends == NULL || replay->only_choosers) &&
		replay->scans.scans == NULL;
	uint64_t	misses;

	if (replay->opt != NULL)
		misses = run_opt(replay, events, from, to, &ok);
	else if (replay->tally.detailed)
		misses = run_policy(replay, events, from, to, false, true, &ok);
	else if (plain)
		misses = run_policy(replay, events, from, to, true, false, &ok);
	else
		misses = run_policy(replay, events, from, to, false, false, &ok);
	return tally_run(&replay->tally, to - from, misses) && ok;
}

bool
tps_replay_feed(tps_replay *replay, const tps_events *events)
{
	size_t		i = 0;

	/* a reference reads and writes a page at most, so io_add has room */
	if (replay->io != NULL && !io_begin(replay->io, 2 * events->n))
		return false;
	while (i < events->n)
	{
		size_t		end = i;

		while (end < events->n && event_is_reference(events, end))
			end = events->kind == NULL ? events->n : end + 1;
		while (i < end)
		{
			size_t		n = tally_run_length(&replay->tally, end - i);

			if (!run(replay, events, i, i + n))
				return false;
			i += n;
		}
		if (i < events->n)
		{
			bool		ok = true;

			switch (event_kind(events, i))
			{
				case EVENT_FORGET:
					forget(replay, events->page[i],
						   events->count == NULL ? 0 : events->count[i]);
					break;
				case EVENT_PINNED:
				case EVENT_UNPINNED:
					ok = pin_event(replay, events, i);
					break;
				case EVENT_DIRTIED:
					ok = dirtied_event(replay, events, i);
					break;
				default:
					ok = scan_event(replay, events, i);
			}
			if (!ok)
				return false;
			i++;
		}
	}
	return true;
}

/* ---- results ---- */

void
tps_replay_totals(const tps_replay *replay, tps_totals *totals)
{
	*totals = replay->tally.totals;
	if (replay->tally.warmup_left > 0)
		memset(totals, 0, sizeof(*totals));
}

size_t
tps_replay_series(const tps_replay *replay, const uint64_t **misses)
{
	*misses = replay->tally.series;
	return replay->tally.series_count;
}

size_t
tps_replay_looks(const tps_replay *replay, const uint32_t **looks)
{
	*looks = replay->tally.looks;
	return replay->tally.search_count;
}

size_t
tps_replay_relations(const tps_replay *replay)
{
	return replay->tally.relation_count;
}

void
tps_replay_relation(const tps_replay *replay, size_t i, uint64_t *relation,
					uint64_t *requests, uint64_t *misses)
{
	const count_pair *pair = &replay->tally.relations[i];
	bool		counting = replay->tally.warmup_left == 0;

	*relation = pair->key;
	*requests = counting ? pair->requests : 0;
	*misses = counting ? pair->misses : 0;
}

void
tps_replay_groups(const tps_replay *replay, double *hit_ratios,
				  uint64_t *misses)
{
	tally_groups(&replay->tally, hit_ratios, misses);
}
