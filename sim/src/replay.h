/*
 * replay.h
 *	  Internals of a replay.
 */
#ifndef TIDEPOOL_SIM_REPLAY_H
#define TIDEPOOL_SIM_REPLAY_H

#include "announced.h"
#include "backends.h"
#include "cache.h"
#include "io.h"
#include "opt.h"
#include "pinned.h"
#include "tally.h"

#define DEFAULT_POOL 0

#define MOST_SPARE 64			/* more are free for choices as well */

struct tps_replay
{
	tally tally;
	tps_cache  *cache;			/* NULL for OPT */
	unsigned char *dirty;		/* [capacity]; the page was written since it
								 * came in */
	opt_pool   *opt;			/* NULL for a policy */
	announced	scans;			/* for policies that ask them; without a
								 * registry (scans.scans NULL) until the trace
								 * announces the first */
	pinned_frames pinned;		/* that cannot be evicted now */
	io_log	   *io;				/* NULL unless it is kept */
	backend_state *backends;	/* [BACKEND_SLOTS], NULL without a correlation
								 * window, queues and own choosers, unless as
								 * recorded */
	uint32_t	spares;			/* frames that choices have emptied for
								 * nothing, as recorded: for whoever did not
								 * choose */
	uint32_t	spare[MOST_SPARE];
	uint32_t	queue_size;		/* entries that are reported at once */
	bool		queues_hits;	/* the policy needs the lock for them */
	bool		queues_admissions;	/* ... for choices */
	bool		own_choosers;	/* each backend has one: choices need no lock */
	bool		only_choosers;	/* backends are for choosers alone */
};

/* tps_replay_new, for the pool of this number. */
tps_replay *replay_of_pool(tps_cache *cache, uint32_t number,
						   const tps_options *options);

/* Commit the admissions that backends have queued. */
void		replay_commit_admissions(tps_replay *replay);

/* Replay references from .. to - 1 (replay_loops.c).  False: no memory. */
bool		replay_run(tps_replay *replay, const tps_events *events,
					   size_t from, size_t to);

/* Replay an event other than a reference (replay_events.c).  False: no memory. */
bool		replay_event(tps_replay *replay, const tps_events *events,
						 size_t i);

#endif							/* TIDEPOOL_SIM_REPLAY_H */
