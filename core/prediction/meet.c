/*
 * meet.c
 *	  Where a new scan should begin to share the most blocks with a running one.
 */
#include "tidepool/relaxed.h"

#include "prediction/timeout.h"
#include "prediction/relations.h"

/* Blocks that [a, a_end) and [b, b_end) have in common. */
static uint64_t
common(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	uint64_t	from = a > b ? a : b;
	uint64_t	to = a_end < b_end ? a_end : b_end;

	return from < to ? to - from : 0;
}

/* The blocks that a running forward scan has still to read. */
typedef struct remainder
{
	uint64_t	at;				/* the next block, ... */
	uint64_t	end;			/* ... up to this one, before it wraps */
	uint64_t	low;			/* then from here ... */
	uint64_t	low_end;		/* ... up to here */
	float		block_time;
} remainder;

/* False if the lane has no such scan. */
static bool
read_lane(const tp_scan_lanes *lanes, uint32_t lane, uint32_t tick,
		  remainder *rest)
{
	uint32_t	length = tp_load32(&lanes->length[lane]);
	uint32_t	done = tp_load32(&lanes->done[lane]);
	uint64_t	low = tp_load32(&lanes->low[lane]);
	uint64_t	size = tp_load32(&lanes->size[lane]);
	uint64_t	turn = size == 0 ? UINT64_MAX : low + size;

	if (done >= length || tp_load32(&lanes->backward[lane]) != 0 ||
		is_later(tick, tp_load32(&lanes->until[lane])))
		return false;
	rest->at = (uint64_t) tp_load32(&lanes->first[lane]) + done;
	rest->at -= rest->at >= turn ? size : 0;
	rest->end = rest->at + (length - done);
	rest->low = low;
	rest->low_end = low;
	if (rest->end > turn)
	{
		rest->low_end += rest->end - turn;
		rest->end = turn;
	}
	rest->block_time = tp_load_float(&lanes->block_time[lane]);
	return true;
}

uint32_t
tp_scan_meet(const tp_scans *scans, const tp_scan_spec *spec, uint64_t now)
{
	uint64_t	first = spec->first;
	uint64_t	end = first + spec->count;
	float		block_time = spec->speed > 0 ? (float) (1e6 / spec->speed) :
		tp_load_float(&scans->header->block_time);
	uint32_t	steps = scans->header->capacity;
	uint32_t	best = spec->first;
	float		most = 0;
	uint32_t	vacant;
	uint32_t	i = scan_relation(scans, spec->relation, &vacant);

	if (i == TP_NONE || spec->backward || spec->bitmap != NULL)
		return best;
	for (i = tp_load32(&scans->relations[i].lanes); i != TP_NONE && steps > 0;
		 i = tp_load32(&scans->lanes[i].next), steps--)
		for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane++)
		{
			remainder	rest;
			float		value;

			if (!read_lane(&scans->lanes[i], lane, tick_of(now), &rest) ||
				rest.at < first || rest.at >= end)
				continue;
			value = (float) (common(rest.at, rest.end, first, end) +
							 common(rest.low, rest.low_end, first, end));
			value *= rest.block_time < block_time ?
				rest.block_time / block_time : block_time / rest.block_time;
			if (value > most)
			{
				most = value;
				best = (uint32_t) rest.at;
			}
		}
	return best;
}
