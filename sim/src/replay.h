/*
 * replay.h
 *	  Inside of a replay.
 */
#ifndef TIDEPOOL_SIM_REPLAY_H
#define TIDEPOOL_SIM_REPLAY_H

#include "announced.h"
#include "cache.h"
#include "io.h"
#include "opt.h"
#include "tally.h"

/* The last reference of a backend, to recognise repetitions. */
typedef struct last_reference
{
	uint64_t	page;
	uint64_t	time;
	uint32_t	backend;
	bool		valid;
} last_reference;

#define BACKEND_SLOTS 4096		/* backends are told apart modulo this; one
								 * that shares a slot with another loses
								 * repetitions, never invents them */

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
	io_log	   *io;				/* NULL unless it is kept */
	last_reference *last;		/* [BACKEND_SLOTS], NULL without a correlation
								 * window */
};

#endif							/* TIDEPOOL_SIM_REPLAY_H */
