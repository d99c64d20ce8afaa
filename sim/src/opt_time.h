/*
 * opt_time.h
 *	  OPT by time: which page to give up when some misses cost more than others.
 *
 * OPT keeps the page that is read again soonest, which is right when all
 * misses cost the same.  On a disk a sequential read costs a fraction of a
 * random one, so a page whose next read is random may be worth keeping longer.
 * A page's density is the saving of its next read, divided by the number of
 * reads until then.  The page of least density is evicted, or not admitted if
 * it is the newcomer.
 *
 * This is a heuristic, like the greedy one for the knapsack, not a bound.
 * A page whose next read saves nothing is not kept at all.
 * With one class of reads it is OPT with bypass.  There are two classes, so two
 * heaps are enough, each with the furthest next use on top: the page of least
 * density is always one of the two tops.
 */
#ifndef TIDEPOOL_SIM_OPT_TIME_H
#define TIDEPOOL_SIM_OPT_TIME_H

#include "opt.h"

typedef struct opt_time opt_time;

/* The savings of serving a read, in microseconds; below 0: nothing. */
opt_time   *opt_time_new(uint32_t frames, double random_saving,
						 double sequential_saving);
void		opt_time_free(opt_time *o);

bool		opt_time_has(const opt_time *o, uint64_t page);

/*
 * The page is read at position now, and next at next_use (UINT64_MAX: never).
 * sequential: the next read is sequential.  A page that is not resident may be
 * refused.
 */
opt_outcome opt_time_reference(opt_time *o, uint64_t page, uint64_t now,
							   uint64_t next_use, bool sequential);

/* As those of opt.h. */
bool		opt_time_forget(opt_time *o, uint64_t page);
uint64_t	opt_time_forget_from(opt_time *o, uint64_t first);

#endif							/* TIDEPOOL_SIM_OPT_TIME_H */
