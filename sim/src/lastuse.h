/*
 * lastuse.h
 *	  The last reference to every page, until the page ceases to exist.
 *
 * A map from pages to numbers that the caller chooses (positions, times).
 * The first event that forgets the rest of a fork builds lists of pages by
 * fork.  So the cost of such an event depends on the pages of the fork, not of
 * the trace, and a trace without them pays nothing.
 */
#ifndef TIDEPOOL_SIM_LASTUSE_H
#define TIDEPOOL_SIM_LASTUSE_H

#include "events.h"
#include "pagemap.h"

/* Values of pages that have no last reference. */
#define LASTUSE_NEVER PAGEMAP_ABSENT	/* not seen before */
#define LASTUSE_FORGOTTEN (UINT64_MAX - 1)	/* ceased to exist since */

/* A page on the list of its fork. */
typedef struct fork_page
{
	uint64_t	page;
	uint64_t	next;			/* index of another page of the fork, or
								 * PAGEMAP_ABSENT */
} fork_page;

typedef struct lastuse
{
	pagemap		map;			/* page to the caller's number */
	bool		by_fork;		/* the lists exist */
	pagemap		forks;			/* page >> 32 to an index in pages */
	fork_page  *pages;			/* every page seen */
	uint64_t	pages_count;
	uint64_t	pages_room;
} lastuse;

bool		lastuse_init(lastuse *l);
void		lastuse_free(lastuse *l);

/* Make room for one more page.  False when memory ran out. */
bool		lastuse_reserve(lastuse *l, uint64_t page);

/*
 * The value of the page, to read or to set; a page never seen must be set.
 * Valid until the next reserve; the caller has reserved room for the page.
 */
static inline uint64_t *
lastuse_at(lastuse *l, uint64_t page)
{
	return pagemap_at(&l->map, page);
}

/* Called for each page that ceases to exist, with its value.  False: give up. */
typedef bool (*lastuse_gone) (void *arg, uint64_t value);

/*
 * A forget event: the values of its pages become LASTUSE_FORGOTTEN.  gone may
 * be NULL.  False when memory ran out.
 */
bool		lastuse_forget(lastuse *l, const tps_events *events, size_t i,
						   lastuse_gone gone, void *arg);

#endif							/* TIDEPOOL_SIM_LASTUSE_H */
