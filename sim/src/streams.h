/*
 * streams.h
 *	  Which accesses a device takes for sequential ones.
 *
 * A device (with the read-ahead or write combining before it) follows as
 * many streams as it can remember the last position of.  An access that is up
 * to STREAMS_REACH pages ahead of a stream's position continues the nearest
 * such stream and is sequential.  An access to a stream's very position is a
 * repetition, which is random.  Any other is random too and begins a new
 * stream, in place of the one whose last access was longest ago.
 *
 * This is the model of the device that costs are counted by.  It is no part
 * of any policy, and knows nothing of what policies take for sequential.
 */
#ifndef TIDEPOOL_SIM_STREAMS_H
#define TIDEPOOL_SIM_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#define STREAMS 64
#define STREAMS_REACH 32		/* pages: 256 kB */

typedef struct streams
{
	uint64_t	position[STREAMS];	/* last page of each stream, all different
									 * of those used */
	uint64_t	used[STREAMS];	/* clock of its last access; 0: none yet */
	uint64_t	clock;
} streams;

/* A page is accessed.  Returns whether that is sequential. */
static inline bool
streams_access(streams *s, uint64_t page)
{
	uint64_t	nearest = STREAMS_REACH + 1;
	int			continued = 0;
	int			oldest = 0;

	for (int i = 0; i < STREAMS; i++)
	{
		uint64_t	ahead = page - s->position[i];

		if (ahead < nearest && s->used[i] > 0 &&
			page >> 32 == s->position[i] >> 32)
		{
			nearest = ahead;
			continued = i;
		}
		if (s->used[i] < s->used[oldest])
			oldest = i;
	}
	if (nearest > STREAMS_REACH)
		continued = oldest;
	s->position[continued] = page;
	s->used[continued] = ++s->clock;
	return nearest > 0 && nearest <= STREAMS_REACH;
}

#endif							/* TIDEPOOL_SIM_STREAMS_H */
