/*
 * streams.h
 *	  Which accesses a device takes for sequential ones.
 *
 * A device (with the read-ahead or write combining before it) follows as
 * many streams as it can remember the last position of: an access that is up
 * to STREAMS_REACH pages ahead of a stream's position continues the stream.
 * Any other begins a new stream in place of the one that was continued
 * longest ago.
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
	uint64_t	position[STREAMS];	/* last page of each stream; once used */
	uint64_t	used[STREAMS];	/* clock when it was continued; 0: never */
	uint64_t	clock;
} streams;

/* A page is accessed.  Returns whether that is sequential. */
static inline bool
streams_access(streams *s, uint64_t page)
{
	int			oldest = 0;

	s->clock++;
	for (int i = 0; i < STREAMS; i++)
	{
		uint64_t	ahead = page - s->position[i];

		if (s->used[i] > 0 && ahead - 1 < STREAMS_REACH &&
			page >> 32 == s->position[i] >> 32)
		{
			s->position[i] = page;
			s->used[i] = s->clock;
			return true;
		}
		if (s->used[i] < s->used[oldest])
			oldest = i;
	}
	s->position[oldest] = page;
	s->used[oldest] = s->clock;
	return false;
}

#endif							/* TIDEPOOL_SIM_STREAMS_H */
