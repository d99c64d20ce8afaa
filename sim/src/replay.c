/*
 * replay.c
 *	  Replay of a trace against a policy or OPT: see sim.h.
 */
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static bool
is_dirty(void *arg, uint32_t frame)
{
	const tps_replay *replay = arg;

	return replay->dirty[frame] != 0;
}

/* A server leaves DEFAULT to PostgreSQL's own clock, which learns of all at once. */
static bool
has_queues(const tp_pool *pool, uint32_t number, const tps_options *options)
{
	return options->batch > 0 &&
		(number != DEFAULT_POOL || pool->policy != tp_policy_find("clock"));
}

static tps_replay *
replay_new(tps_cache *cache, opt_pool *o, uint32_t number,
		   const tps_options *options)
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
	if (ok && cache != NULL && has_queues(&cache->pool, number, options))
	{
		replay->queues_hits = (cache->pool.policy->flags &
							   (TP_HIT_LOCK_FREE | TP_HIT_NOTHING)) == 0;
		replay->queues_admissions = !replay->own_choosers;
	}
	if (replay != NULL)
		replay->only_choosers = replay->own_choosers && !replay->queues_hits &&
			options->correlation_window == 0;
	if (ok && (options->correlation_window > 0 || options->as_recorded ||
			   replay->queues_hits || replay->queues_admissions ||
			   replay->own_choosers))
	{
		replay->backends = calloc(BACKEND_SLOTS, sizeof(*replay->backends));
		ok = replay->backends != NULL;
	}
	if (replay != NULL)
	{
		replay->queue_size = options->as_recorded ? TP_BATCH_MAX : options->batch;
		replay->cache = cache;
		replay->opt = o;
	}
	if (ok && cache != NULL)
	{
		cache->services.is_dirty = is_dirty;
		cache->services.arg = replay;
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
replay_of_pool(tps_cache *cache, uint32_t number, const tps_options *options)
{
	return replay_new(cache, NULL, number, options);
}

tps_replay *
tps_replay_new(tps_cache *cache, const tps_options *options)
{
	return replay_of_pool(cache, DEFAULT_POOL, options);
}

tps_replay *
tps_replay_new_opt(uint32_t frames, bool bypass, const tps_options *options)
{
	opt_pool   *o = opt_new(frames, bypass);

	return o == NULL ? NULL : replay_new(NULL, o, DEFAULT_POOL, options);
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
tps_replay_keep_io(tps_replay *replay, bool evictions)
{
	replay->io = io_new(evictions);
	return replay->io != NULL;
}

void
tps_replay_io(const tps_replay *replay, tps_events *events)
{
	io_events(replay->io, events);
}

void
replay_commit_admissions(tps_replay *replay)
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

	replay_commit_admissions(replay);
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

/* Account for the references that the sample left out before event i. */
static inline bool
come_to(tps_replay *replay, const tps_events *events, size_t i)
{
	return events->before == NULL ||
		tally_come_to(&replay->tally, events->before[i]);
}

bool
tps_replay_feed(tps_replay *replay, const tps_events *events)
{
	size_t		i = 0;

	/*
	 * a reference reads at most one page, and writes or evicts one, so io_add
	 * has room
	 */
	if (replay->io != NULL && !io_begin(replay->io, 2 * events->n))
		return false;
	if (!tally_feed(&replay->tally, events->n))
		return false;
	while (i < events->n)
	{
		size_t		end = i;

		while (end < events->n && event_is_reference(events, end))
			end = events->kind == NULL ? events->n : end + 1;
		while (i < end)
		{
			size_t		run_end;

			if (!come_to(replay, events, i))
				return false;
			run_end = tally_run_end(&replay->tally, events, i, end);
			if (!replay_run(replay, events, i, run_end))
				return false;
			i = run_end;
		}
		if (i < events->n)
		{
			if (!come_to(replay, events, i) || !replay_event(replay, events, i))
				return false;
			i++;
		}
	}
	return true;
}

bool
tps_replay_end(tps_replay *replay, uint64_t references)
{
	return tally_end(&replay->tally, references);
}

/* ---- results ---- */

void
tps_replay_totals(const tps_replay *replay, tps_totals *totals)
{
	*totals = replay->tally.totals;
	if (!replay->tally.counting)
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
	bool		counting = replay->tally.counting;

	*relation = pair->key;
	*requests = counting ? pair->requests : 0;
	*misses = counting ? pair->misses : 0;
}

const uint8_t *
tps_replay_missed(const tps_replay *replay)
{
	return replay->tally.missed;
}

void
tps_replay_groups(const tps_replay *replay, double *hit_ratios,
				  uint64_t *misses)
{
	tally_groups(&replay->tally, hit_ratios, misses);
}
