/*
 * pinned.h
 *	  Pages that a server, looking for a victim, had to pass over.
 *
 * The trace says so just before the reference for which the victim was looked
 * for.  Until then the page cannot be evicted, whoever may want to.
 */
#ifndef TIDEPOOL_SIM_PINNED_H
#define TIDEPOOL_SIM_PINNED_H

#include <stdlib.h>

#include "tidepool/sim.h"

/* Without memory (is NULL) until the trace has such an event. */
typedef struct pinned_frames
{
	uint32_t	count;			/* frames that cannot be evicted now */
	uint32_t   *frames;			/* [capacity]; the first count are they */
	uint32_t   *backends;		/* [frame]: who has passed over it */
	bool	   *is;				/* [frame]: it cannot be evicted */
} pinned_frames;

static inline void
pinned_free(pinned_frames *p)
{
	free(p->frames);
	free(p->backends);
	free(p->is);
}

/* False when memory ran out. */
static inline bool
pinned_add(pinned_frames *p, uint32_t capacity, uint32_t frame, uint32_t backend)
{
	if (p->is == NULL)
	{
		p->frames = malloc(capacity * sizeof(*p->frames));
		p->backends = malloc(capacity * sizeof(*p->backends));
		p->is = calloc(capacity, sizeof(*p->is));
		if (p->frames == NULL || p->backends == NULL || p->is == NULL)
			return false;
	}
	if (!p->is[frame])
		p->frames[p->count++] = frame;
	p->is[frame] = true;
	p->backends[frame] = backend;
	return true;
}

/* This backend has made its reference. */
static inline void
pinned_release(pinned_frames *p, uint32_t backend)
{
	for (uint32_t i = 0; i < p->count;)
	{
		uint32_t	frame = p->frames[i];

		if (p->backends[frame] == backend)
		{
			p->is[frame] = false;
			p->frames[i] = p->frames[--p->count];
		}
		else
			i++;
	}
}

/* A tp_usable. */
static inline bool
pinned_is_not(void *arg, uint32_t frame)
{
	return !((const pinned_frames *) arg)->is[frame];
}

#endif							/* TIDEPOOL_SIM_PINNED_H */
