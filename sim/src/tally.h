/*
 * tally.h
 *	  What a replay counts: totals, warm-up, time series, per relation, per
 *	  group of pages, per search.
 *
 * The replay loop counts misses of a run of references in a register and
 * hands them over at the end of the run (tally_run); a run ends where the
 * warm-up or an interval does (tally_run_length).  Only what must be counted
 * reference by reference goes through tally_detail.
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
	uint64_t	warmup_left;	/* references until counting begins */
	uint64_t	interval_left;	/* references until the interval is whole */
	uint64_t	interval_misses;
	uint64_t   *series;			/* misses of each whole interval */
	size_t		series_count;
	size_t		series_room;
	bool		detailed;		/* tally_detail must be called */
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

/* How many of the next n references may be replayed as one run. */
size_t		tally_run_length(const tally *t, size_t n);

/* A run of references is over.  False when memory ran out. */
bool		tally_run(tally *t, size_t references, uint64_t misses);

/* One reference within a run, if t->detailed.  False when memory ran out. */
bool		tally_detail(tally *t, uint64_t page, bool miss);

/* A search is over, if t->options.per_search.  False when memory ran out. */
bool		tally_search(tally *t, uint32_t looks);

/* See tps_replay_groups. */
void		tally_groups(const tally *t, double *hit_ratios, uint64_t *misses);

#endif							/* TIDEPOOL_SIM_TALLY_H */
