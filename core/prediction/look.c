/*
 * look.c
 *	  What a registered scan is and where it stands, for views of all scans.
 */
#include "tidepool/relaxed.h"

#include "prediction/position.h"
#include "prediction/timeout.h"

/* The block at which the scan stands. */
static uint32_t
next_block(const tp_scans *scans, uint32_t number)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	const tp_bitmap *bitmap = bitmap_of(scans, number);
	uint32_t	done = scan_done(scans, number);
	uint32_t	backward = tp_load32(&lanes->backward[lane]);

	if (bitmap != NULL)
		return bitmap_block(bitmap, done, backward);
	return range_block(done, tp_load32(&lanes->first[lane]),
					   tp_load32(&lanes->low[lane]),
					   tp_load32(&lanes->size[lane]), backward);
}

bool
tp_scan_look_at(const tp_scans *scans, uint32_t number, uint64_t now,
				tp_scan_look *look)
{
	const tp_scan *scan = &scans->scans[number];
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	uint32_t	relation = tp_load32(&scan->relation);

	if (!is_running(scans, number))
		return false;
	look->handle = (uint64_t) tp_load32(&scan->generation) << 32 | (number + 1);
	look->relation = tp_load64(&scans->relations[relation].relation);
	look->begun_at = tp_load64(&scan->begun_at);
	look->owner = tp_load32(&scan->owner);
	look->length = tp_load32(&scan->length);
	look->done = scan_done(scans, number);
	look->next = next_block(scans, number);
	look->block_time = tp_load_float(&lanes->block_time[lane]);
	look->backward = tp_load32(&lanes->backward[lane]) != 0;
	look->bitmap = bitmap_of(scans, number) != NULL;
	look->gone = is_later(tick_of(now), tp_load32(&lanes->until[lane]));
	return true;
}

/* The groups of a bitmap scan that it has not yet read to the end. */
static void
copy_rest(const tp_bitmap *from, uint32_t done, uint32_t backward,
		  tp_bitmap *to)
{
	uint32_t	shift = tp_load32(&from->shift) & 31;

	tp_bitmap_init(to, 0);
	to->shift = shift;
	for (uint32_t group = 0; group < TP_BITMAP_GROUPS; group++)
	{
		uint32_t	position = bitmap_position(from, group << shift, backward);

		if (position != UINT32_MAX && position >> shift >= done >> shift)
			tp_bitmap_add(to, group << shift, 1);
	}
}

bool
tp_scan_rest(const tp_scans *scans, uint64_t handle, tp_scan_spec *rest,
			 tp_bitmap *groups)
{
	uint32_t	number = find_scan(scans, handle);
	uint32_t	lane = number % TP_SCAN_LANES;
	const tp_scan_lanes *lanes;
	const tp_scan *scan;
	const tp_bitmap *bitmap;
	uint32_t	done;

	if (number == TP_NONE)
		return false;
	lanes = lanes_of(scans, number);
	scan = &scans->scans[number];
	bitmap = bitmap_of(scans, number);
	done = scan_done(scans, number);
	if (done >= tp_load32(&scan->length))
		return false;
	*rest = (tp_scan_spec)
	{
		.relation = tp_load64(&scans->relations[tp_load32(&scan->relation)].relation),
			.first = next_block(scans, number),
			.count = tp_load32(&scan->length) - done,
			.low = tp_load32(bitmap != NULL ? &scan->low : &lanes->low[lane]),
			.size = tp_load32(bitmap != NULL ? &scan->size : &lanes->size[lane]),
			.backward = tp_load32(&lanes->backward[lane]) != 0,
			.owner = tp_load32(&scan->owner),
			.companion = tp_load32(&scan->companion) != 0
	};
	if (bitmap != NULL)
	{
		copy_rest(bitmap, done, tp_load32(&lanes->backward[lane]), groups);
		rest->bitmap = groups;
	}
	return true;
}

bool
tp_scan_awaits(const tp_scans *scans, uint32_t number, uint32_t block)
{
	uint32_t	position = scan_position(scans, number, block);

	return position >= scan_done(scans, number) &&
		position < tp_load32(&scans->scans[number].length);
}
