/*
 * replay_loops.c
 *	  Runs of references, against a policy or OPT.
 *
 * Speed: the trace is known ahead, so each reference's data is prefetched
 * during the EVENTS_AHEAD references before it (look_ahead).  Decisions that
 * are the same for a whole run of references are made once per run.
 */
#include "replay_reference.h"

/* ---- runs of references ---- */

static inline const uint32_t *
chain_of(const tp_pool *pool, uint64_t page)
{
	return tp_hash_chain_of(pool, tp_page_key(cache_page(page)));
}

static inline void
policy_prefetch(const tp_pool *pool, uint64_t page, int step)
{
	uint64_t	key = tp_page_key(cache_page(page));

	pool->policy->prefetch(pool, &key, 1, step);
}

/*
 * Prefetch for the next references, in steps that each use what the previous
 * one prefetched: the slot of the hash table; what the policy asks for, and the
 * frame or, if the slot is empty (a likely miss), the chain of the ghost index;
 * the chain's first ghost.
 */
TP_PREFETCHES static inline void
look_ahead(const tps_cache *cache, const uint64_t *page, bool hits_touch_nodes,
		   bool has_ghosts, bool policy_prefetches)
{
	const tp_pool *pool = &cache->pool;
	const pagetable *table = &cache->table;
	uint64_t	near = page[EVENTS_AHEAD / 2];
	uint64_t	next = page[EVENTS_AHEAD / 4];
	uint32_t	frame;

	pagetable_prefetch(table, page[EVENTS_AHEAD]);
	if (!hits_touch_nodes && !has_ghosts)
		return;
	if (policy_prefetches)
	{
		policy_prefetch(pool, page[EVENTS_AHEAD], 0);
		policy_prefetch(pool, near, 1);
	}
	frame = table->slots[pagetable_home(table, near)].frame;
	if (frame != TP_NONE)
	{
		__builtin_prefetch(&pool->nodes[frame]);
		__builtin_prefetch(tp_extra(pool, frame));
	}
	else if (has_ghosts)
		__builtin_prefetch(chain_of(pool, near));
	if (has_ghosts &&
		table->slots[pagetable_home(table, next)].frame == TP_NONE)
	{
		uint32_t	ghost = *chain_of(pool, next);

		if (ghost != TP_NONE)
			__builtin_prefetch(&pool->ghosts[ghost]);
	}
}

/*
 * Replay references from .. to - 1 under the policy; returns the misses.
 * detail: pass each to tally_detail.  Clears *ok if memory ran out.
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
	bool		hits_touch_nodes = (pool->policy->flags & TP_HIT_NOTHING) == 0;
	bool		has_ghosts = pool->ghosts_per_frame > 0 &&
		pool->header->frames > 0;
	bool		policy_prefetches = pool->policy->prefetch != NULL;

	for (size_t i = from; i < to; i++)
	{
		uint64_t	page = events->page[i];
		uint32_t	frame;

		if (i + EVENTS_AHEAD < events->n)
			look_ahead(cache, &events->page[i], hits_touch_nodes, has_ghosts,
					   policy_prefetches);
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
		if (detail && !tally_detail(&replay->tally, i, page, frame == TP_NONE))
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
			!tally_detail(&replay->tally, i, events->page[i],
						  outcome != OPT_HIT))
			*ok = false;
	}
	return misses;
}

/* A run is plain if its references are nothing but pages. */
bool
replay_run(tps_replay *replay, const tps_events *events, size_t from, size_t to)
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
	return tally_run(&replay->tally, events, from, to, misses) && ok;
}
