/*
 * replay_reference.h
 *	  What a replay does at one reference: what the policy learns of it, a hit.
 *
 * In a header like replay_loading.h, for the loops and for layouts.
 */
#ifndef TIDEPOOL_SIM_REPLAY_REFERENCE_H
#define TIDEPOOL_SIM_REPLAY_REFERENCE_H

#include "replay_loading.h"

static inline tp_access
access_of(tps_replay *replay, const tps_events *events, size_t i)
{
	tp_access	access = event_access(events, i);

	if (replay->scans.scans != NULL && events->scan != NULL &&
		events->scan[i] != 0)
		access.scan = announced_reference(&replay->scans, events->scan[i],
										  events->page[i], access.now);
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

/*
 * A hit on the page in this frame.  If its admission is still queued, so is
 * the hit.  False when memory ran out.
 */
static inline bool
hit(tps_replay *replay, uint32_t frame, uint64_t page, const tp_access *access)
{
	const tp_pool *pool = &replay->cache->pool;
	uint32_t	flags = pool->policy->flags;

	replay->dirty[frame] |= (access->flags & TP_WRITE) != 0;
	replay->tally.totals.correlated += (access->flags & TP_CORRELATED) != 0;
	if (replay->tally.options.as_recorded && !give_up_unneeded(replay, access))
		return false;
	if ((flags & TP_HIT_NOTHING) ||
		(!tp_promotes(access) && (flags & TP_COUNTS_ALL) == 0))
		return true;
	if (replay->queues_hits ||
		(replay->queues_admissions && tp_is_claimed(pool, frame)))
		return backend_queue(backend_of(replay->backends, access->backend),
							 replay->cache, frame, page, access, 0,
							 replay->queue_size);
	pool->policy->hit(pool, frame, access);
	return true;
}

#endif							/* TIDEPOOL_SIM_REPLAY_REFERENCE_H */
