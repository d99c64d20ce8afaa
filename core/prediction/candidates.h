/*
 * furthest.h
 *	  The few frames whose pages are referenced furthest in the future, of
 *	  those looked at.
 */
#ifndef TIDEPOOL_FURTHEST_H
#define TIDEPOOL_FURTHEST_H

#include "tidepool/page.h"

typedef struct candidate
{
	uint32_t	frame;
	uint32_t	generation;		/* of the page that was looked at */
	double		wait;			/* microseconds until the next reference */
	uint64_t	last;			/* when the last one was */
	bool		stale;			/* all this is as of an earlier time */
	bool		usable;			/* has been looked at: may be taken */
} candidate;

/* lru: of equal ones that which was used least recently is further. */
static inline bool
is_further(const candidate *a, const candidate *b, bool lru)
{
	if (a->wait != b->wait)
		return a->wait > b->wait;
	return lru && a->last < b->last;
}

static inline uint32_t
drop_candidate(candidate *list, uint32_t n, uint32_t place)
{
	n--;
	for (uint32_t i = place; i < n; i++)
		list[i] = list[i + 1];
	return n;
}

/*
 * Put the newcomer into its place in a list of n, the furthest first, behind
 * those that are as far; of which `keep` (at least n) remain.  Returns how
 * many there are then.
 */
static inline uint32_t
keep_furthest(candidate *list, uint32_t n, uint32_t keep,
			  const candidate *newcomer, bool lru)
{
	uint32_t	place = n;

	while (place > 0 && is_further(newcomer, &list[place - 1], lru))
		place--;
	if (place == keep)
		return n;
	n = n < keep ? n + 1 : n;
	for (uint32_t i = n - 1; i > place; i--)
		list[i] = list[i - 1];
	list[place] = *newcomer;
	return n;
}

#endif							/* TIDEPOOL_FURTHEST_H */
