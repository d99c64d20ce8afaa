/*
 * tally.h
 *	  The counters of a replay: totals, time series, per relation, per group of
 *	  pages, per search; after a warm-up.
 *
 * The replay loop counts the misses of a run of references in a register and
 * adds them at the end of the run (tally_run).  A run ends where the warm-up or
 * an interval ends (tally_run_end).  Only counts by reference, such as those
 * per relation, go through tally_detail.
 *
 * Warm-up and intervals count references of the whole trace, even if only a
 * sample of it is replayed.
 */
#ifndef TIDEPOOL_SIM_TALLY_H
#define TIDEPOOL_SIM_TALLY_H

#include "tidepool/sim.h"

#include "pagemap.h"

typedef struct count_pair
{
	uint64_t	key;			/* of a relation: page >> 32 */
	uint64_t	requests;
	uint64_t	misses;
} count_pair;

typedef struct tally
{
	tps_options options;
	tps_totals	totals;
	uint64_t	position;		/* references of the whole trace so far */
	bool		counting;		/* the warm-up is over */
	uint64_t	interval_end;	/* position at which the interval ends */
	uint64_t	interval_misses;
	uint64_t   *series;			/* misses of each interval that has ended */
	size_t		series_count;
	size_t		series_room;
	bool		detailed;		/* tally_detail must be called */
	uint8_t    *missed;			/* [missed_room], of the events of a feed: is
								 * it a reference that missed?  NULL unless
								 * that is kept */
	size_t		missed_room;
	pagemap		relation_index; /* page >> 32 to index in relations */
	count_pair *relations;
	size_t		relation_count;
	size_t		relation_room;
	count_pair *last;			/* relation of the previous reference */
	uint64_t	group_misses[TPS_GROUPS];
	pagemap		page_hits;		/* page to its hits << 32 | references, the
								 * warm-up's too; below 2^32 each */
	uint32_t   *looks;			/* frames that each search looked at */
	size_t		search_count;
	size_t		search_room;
} tally;

bool		tally_init(tally *t, const tps_options *options);
void		tally_free(tally *t);

/* A feed of this many events begins.  False when memory ran out. */
bool		tally_feed(tally *t, size_t events);

/*
 * Advance to this many references of the whole trace.  Ends the warm-up and
 * the intervals that are complete by then.  False when memory ran out.
 */
bool		tally_come_to(tally *t, uint64_t position);

/* The end of the run that begins at reference from, at most to. */
size_t		tally_run_end(const tally *t, const tps_events *events,
						  size_t from, size_t to);

/* Count a run, of references from .. to - 1.  False likewise. */
bool		tally_run(tally *t, const tps_events *events, size_t from,
					  size_t to, uint64_t misses);

/*
 * End the trace after this many references, and with it the last interval,
 * which may be shorter.  May be called again.  False likewise.
 */
bool		tally_end(tally *t, uint64_t references);

/*
 * Count one reference of a run, event i of the feed, if t->detailed.  False when
 * memory ran out.
 */
bool		tally_detail(tally *t, size_t i, uint64_t page, bool miss);

/* Record a search, if t->options.per_search.  False when memory ran out. */
bool		tally_search(tally *t, uint32_t looks);

/* See tps_replay_groups. */
void		tally_groups(const tally *t, double *hit_ratios, uint64_t *misses);

#endif							/* TIDEPOOL_SIM_TALLY_H */
