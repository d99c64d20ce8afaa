/*
 * streams.h
 *	  Which accesses of a device are sequential: those that continue a stream.
 *
 * The last positions of up to TP_STREAMS streams are remembered.  An access up
 * to TP_STREAM_GAP pages ahead of a stream's position continues the nearest
 * such stream and is sequential.  An access to the position itself is a
 * repetition, and random.  Any other is random, too, and begins a new stream
 * in place of the one whose last access was longest ago.
 *
 * Costs: O(TP_STREAMS) an access.
 * Benefits: the second access of a run is already sequential, and as many runs
 * can be told apart as there are streams.
 * Memory: 1.5 KiB.
 */
#ifndef TIDEPOOL_STREAMS_H
#define TIDEPOOL_STREAMS_H

#include "tidepool/page.h"

/*
 * The devices of the simulator have the same.  If only the temperatures had
 * others, page_temperature would take up to 3 % more time with 8 streams, 11 %
 * with 256, 3 % with gaps of 8 pages, 15 % with 128 (bench/constants.py).
 */
#define TP_STREAMS 64
#define TP_STREAM_GAP 32		/* pages: 256 kB */

typedef struct tp_stream
{
	tp_page		position;		/* last page; no two streams have the same */
	uint64_t	used;			/* clock of its last access; 0: none yet */
} tp_stream;

/* Zero-initialised to begin. */
typedef struct tp_streams
{
	tp_stream	streams[TP_STREAMS];
	uint64_t	clock;			/* accesses so far */
} tp_streams;

/* A page is accessed.  Returns whether that is sequential. */
static inline bool
tp_streams_access(tp_streams *s, tp_page page)
{
	uint32_t	nearest = TP_STREAM_GAP + 1;
	tp_stream  *continued = NULL;
	tp_stream  *oldest = s->streams;

	for (tp_stream *stream = s->streams; stream < s->streams + TP_STREAMS;
		 stream++)
	{
		uint32_t	ahead = page.block - stream->position.block;

		if (ahead < nearest && stream->used > 0 &&
			stream->position.relation == page.relation)
		{
			nearest = ahead;
			continued = stream;
		}
		if (stream->used < oldest->used)
			oldest = stream;
	}
	if (continued == NULL)
		continued = oldest;
	continued->position = page;
	continued->used = ++s->clock;
	return nearest > 0 && nearest <= TP_STREAM_GAP;
}

#endif							/* TIDEPOOL_STREAMS_H */
