/*
 * opt.h
 *	  The optimal replacement of L. A. Belady: A study of replacement
 *	  algorithms for a virtual-storage computer. IBM Systems Journal 5(2),
 *	  1966.
 *
 * Demand paging: the newcomer is always admitted, unless bypass is on.  The
 * resident pages are in a heap, furthest next use on top.  A referenced page
 * had the nearest next use of all and gets a later one, so it rises.  O(log
 * frames) per reference.
 */
#ifndef TIDEPOOL_SIM_OPT_H
#define TIDEPOOL_SIM_OPT_H

#include "tidepool/sim.h"

typedef struct opt_pool opt_pool;

typedef enum opt_outcome
{
	OPT_HIT,
	OPT_MISS,					/* admitted, perhaps in place of another */
	OPT_REFUSED					/* a miss that bypassed the cache */
} opt_outcome;

opt_pool   *opt_new(uint32_t frames, bool bypass);
void		opt_free(opt_pool *o);

/*
 * Reference a page.  If a dirty page was evicted, *wrote_back is set and
 * *written is that page; they are not touched otherwise.
 */
opt_outcome opt_reference(opt_pool *o, uint64_t page, uint64_t next_use, bool write,
						  bool *wrote_back, uint64_t *written);

/* The frame that holds the page, below frames, or TP_NONE. */
uint32_t	opt_find(const opt_pool *o, uint64_t page);

/* The page with the furthest next use.  False if there is none. */
bool		opt_furthest(const opt_pool *o, uint64_t *page, uint64_t *next_use);

/* The page ceased to exist.  Returns whether it was resident. */
bool		opt_forget(opt_pool *o, uint64_t page);

/* The pages from block first on of a relation and fork ceased to exist. */
uint64_t	opt_forget_from(opt_pool *o, uint64_t first);

#endif							/* TIDEPOOL_SIM_OPT_H */
