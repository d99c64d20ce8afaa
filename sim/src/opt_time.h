/*
 * opt_time.h
 *	  OPT with an eye on time: which page to give up when some of the misses
 *	  cost more than others.
 *
 * OPT keeps the page that is read again soonest, which is right when all
 * misses cost the same.  On a disk a sequential read costs a fraction of a
 * random one, so a page whose next read is random may be worth keeping
 * longer.  A frame kept for a page until its next read earns that read's
 * saving for so many reads of waiting: here the page that earns least per
 * read of waiting goes, the newcomer among them.
 *
 * This is a heuristic, greedy by density as for the knapsack; it is no bound.
 * A page whose next read saves nothing is not kept at all.
 * With one class of reads it is OPT with bypass.  There are two, so two heaps,
 * each with the furthest next use on top, are enough: the least dense page is
 * one of the two tops whatever the time is.
 */
#ifndef TIDEPOOL_SIM_OPT_TIME_H
#define TIDEPOOL_SIM_OPT_TIME_H

#include "opt.h"

typedef struct opt_time opt_time;

/* What it saves to serve a read, in microseconds; below 0: nothing. */
opt_time   *opt_time_new(uint32_t frames, double random_saving,
						 double sequential_saving);
void		opt_time_free(opt_time *o);

bool		opt_time_has(const opt_time *o, uint64_t page);

/*
 * The page is read at position now, and next at next_use, UINT64_MAX for
 * never; sequential: that next read is.  A page that is not resident may be
 * refused.
 */
opt_outcome opt_time_reference(opt_time *o, uint64_t page, uint64_t now,
							   uint64_t next_use, bool sequential);

/* As those of opt.h. */
bool		opt_time_forget(opt_time *o, uint64_t page);
uint64_t	opt_time_forget_from(opt_time *o, uint64_t first);

#endif							/* TIDEPOOL_SIM_OPT_TIME_H */
