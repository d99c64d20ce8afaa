/*
 * pinned.h
 *	  Frames whose page cannot be evicted, because it was pinned in the trace.
 */
#ifndef TIDEPOOL_SIM_PINNED_H
#define TIDEPOOL_SIM_PINNED_H

#include <stdlib.h>

#include "tidepool/sim.h"

/* Allocates nothing (is == NULL) until the first pinned event. */
typedef struct pinned_frames
{
	uint32_t	count;
	bool	   *is;				/* [capacity] */
} pinned_frames;

static inline void
pinned_free(pinned_frames *p)
{
	free(p->is);
}

/* False when memory ran out. */
static inline bool
pinned_add(pinned_frames *p, uint32_t capacity, uint32_t frame)
{
	if (p->is == NULL)
		p->is = calloc(capacity, sizeof(*p->is));
	if (p->is == NULL)
		return false;
	p->count += !p->is[frame];
	p->is[frame] = true;
	return true;
}

/* Nobody uses the page any more, or it has left the frame. */
static inline void
pinned_remove(pinned_frames *p, uint32_t frame)
{
	if (p->count > 0 && p->is[frame])
	{
		p->is[frame] = false;
		p->count--;
	}
}

/* A tp_usable. */
static inline bool
pinned_is_not(void *arg, uint32_t frame)
{
	return !((const pinned_frames *) arg)->is[frame];
}

#endif							/* TIDEPOOL_SIM_PINNED_H */
