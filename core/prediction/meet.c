/*
 * meet.c
 *	  Where a new scan should begin to share the most blocks with a running one.
 */
#include "tidepool/relaxed.h"

#include "prediction/position.h"
#include "prediction/timeout.h"
#include "prediction/relations.h"

/* The blocks that a running forward scan has still to read. */
typedef struct remainder
{
	const tp_bitmap *bitmap;	/* those in its groups, or NULL */
	uint64_t	at;				/* the next block, ... */
	uint64_t	end;			/* ... up to this one, before it wraps */
	uint64_t	low;			/* then from here ... */
	uint64_t	low_end;		/* ... up to here */
	float		block_time;
} remainder;

static void
read_bitmap(const tp_bitmap *bitmap, uint32_t done, remainder *rest)
{
	uint64_t	shift = tp_load32(&bitmap->shift) & 31;
	uint64_t	began = bitmap_block(bitmap, 0, 0) >> shift;

	rest->bitmap = bitmap;
	rest->at = bitmap_block(bitmap, done, 0) >> shift << shift;
	rest->low = 0;
	rest->low_end = 0;
	if (rest->at >> shift >= began)
	{
		rest->end = (uint64_t) TP_BITMAP_GROUPS << shift;
		rest->low_end = began << shift;
	}
	else
		rest->end = began << shift;
}

static void
read_range(const tp_scan_lanes *lanes, uint32_t lane, uint32_t left,
		   remainder *rest)
{
	uint64_t	size = tp_load32(&lanes->size[lane]);
	uint64_t	turn;

	rest->bitmap = NULL;
	rest->low = tp_load32(&lanes->low[lane]);
	turn = size == 0 ? UINT64_MAX : rest->low + size;
	rest->at = (uint64_t) tp_load32(&lanes->first[lane]) +
		tp_load32(&lanes->done[lane]);
	rest->at -= rest->at >= turn ? size : 0;
	rest->end = rest->at + left;
	rest->low_end = rest->low;
	if (rest->end > turn)
	{
		rest->low_end += rest->end - turn;
		rest->end = turn;
	}
}

/* False if the scan with this number is none that one can meet. */
static bool
read_scan(const tp_scans *scans, uint32_t number, uint32_t tick,
		  remainder *rest)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	uint32_t	length = tp_load32(&scans->scans[number].length);
	const tp_bitmap *bitmap = bitmap_of(scans, number);
	uint32_t	done = scan_done(scans, number);

	if (!is_running(scans, number) || done >= length ||
		tp_load32(&lanes->backward[lane]) != 0 ||
		is_later(tick, tp_load32(&lanes->until[lane])))
		return false;
	if (bitmap != NULL)
		read_bitmap(bitmap, done, rest);
	else
		read_range(lanes, lane, length - done, rest);
	rest->block_time = tp_load_float(&lanes->block_time[lane]);
	return true;
}

/* Blocks from .. to - 1 of the running scan that the new one reads, too. */
static uint64_t
shared_blocks(const tp_scan_spec *spec, const remainder *rest, uint64_t from,
			  uint64_t to)
{
	const tp_bitmap *bitmap = spec->bitmap != NULL ? spec->bitmap : rest->bitmap;
	uint32_t	shift;

	if (spec->bitmap == NULL)
	{
		uint64_t	end = (uint64_t) spec->first + spec->count;

		from = from > spec->first ? from : spec->first;
		to = to < end ? to : end;
	}
	if (from >= to)
		return 0;
	if (bitmap == NULL)
		return to - from;
	shift = tp_load32(&bitmap->shift) & 31;
	to = (to - 1) >> shift;
	return (uint64_t) bitmap_common(bitmap, rest->bitmap, (uint32_t) (from >> shift),
									to < TP_BITMAP_GROUPS ? (uint32_t) to + 1 :
									TP_BITMAP_GROUPS) << shift;
}

/* The block with which the new scan begins if it meets one at this block. */
static uint64_t
meeting_block(const tp_scan_spec *spec, uint64_t at)
{
	uint32_t	group;

	if (spec->bitmap == NULL)
		return at;
	group = bitmap_next(spec->bitmap, (uint32_t) (at >> spec->bitmap->shift));
	return group == TP_NONE ? spec->first :
		(uint64_t) group << spec->bitmap->shift;
}

/* Can the new scan begin where this one is? */
static bool
can_meet(const tp_scan_spec *spec, const remainder *rest)
{
	if (spec->bitmap == NULL)
		return rest->at >= spec->first &&
			rest->at < (uint64_t) spec->first + spec->count;
	return rest->bitmap == NULL ||
		(tp_load32(&rest->bitmap->shift) & 31) == spec->bitmap->shift;
}

uint32_t
tp_scan_meet(const tp_scans *scans, const tp_scan_spec *spec, uint64_t now,
			 uint64_t *met)
{
	float		block_time = spec->speed > 0 ? (float) (1e6 / spec->speed) :
		tp_load_float(&scans->header->block_time);
	uint32_t	steps = scans->header->capacity;
	uint64_t	best = spec->first;
	uint64_t	handle = 0;
	float		most = 0;
	uint32_t	vacant;
	uint32_t	i = scan_relation(scans, spec->relation, &vacant);

	if (met != NULL)
		*met = 0;
	if (i == TP_NONE || spec->backward)
		return spec->first;
	for (i = tp_load32(&scans->relations[i].lanes); i != TP_NONE && steps > 0;
		 i = tp_load32(&scans->lanes[i].next), steps--)
		for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane++)
		{
			uint32_t	number = i * TP_SCAN_LANES + lane;
			remainder	rest;
			float		value;

			if (!read_scan(scans, number, tick_of(now), &rest) ||
				!can_meet(spec, &rest))
				continue;
			value = (float) (shared_blocks(spec, &rest, rest.at, rest.end) +
							 shared_blocks(spec, &rest, rest.low, rest.low_end));
			value *= rest.block_time < block_time ?
				rest.block_time / block_time : block_time / rest.block_time;
			if (value > most)
			{
				most = value;
				best = meeting_block(spec, rest.at);
				handle = handle_of(scans, number);
			}
		}
	if (met != NULL)
		*met = handle;
	return (uint32_t) best;
}
