/*
 * replay.h
 *	  Inside of a replay.
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
								 * window, queues and own choosers */
	bool		queues_hits;	/* the policy needs the lock for them */
	bool		queues_admissions;	/* ... for choices */
	bool		own_choosers;	/* each backend has one: choices need no lock */
	bool		only_choosers;	/* that is all that backends are for */
};

/* Tell the policy of all pages that backends have brought in. */
void		replay_commit_admissions(tps_replay *replay);

/* References from to below to (replay_loops.c).  False when memory ran out. */
bool		replay_run(tps_replay *replay, const tps_events *events,
					   size_t from, size_t to);

/* An event that is no reference (replay_events.c).  False likewise. */
bool		replay_event(tps_replay *replay, const tps_events *events,
						 size_t i);

#endif							/* TIDEPOOL_SIM_REPLAY_H */
