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
	uint32_t	bitmap = tp_load32(&scans->scans[number].bitmap);
	uint32_t	done = tp_load32(&lanes->done[lane]);
	uint32_t	backward = tp_load32(&lanes->backward[lane]);

	if (bitmap < scans->header->bitmap_capacity)
		return bitmap_block(&scans->bitmaps[bitmap], done, backward);
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
	look->done = tp_load32(&lanes->done[lane]);
	look->next = next_block(scans, number);
	look->block_time = tp_load_float(&lanes->block_time[lane]);
	look->backward = tp_load32(&lanes->backward[lane]) != 0;
	look->bitmap = (tp_load8(&lanes->bitmaps) >> lane & 1) != 0;
	look->gone = is_later(tick_of(now), tp_load32(&lanes->until[lane]));
	return true;
}

bool
tp_scan_awaits(const tp_scans *scans, uint32_t number, uint32_t block)
{
	uint32_t	position = scan_position(scans, number, block);

	return position >= tp_load32(&lanes_of(scans, number)->done[number % TP_SCAN_LANES]) &&
		position < tp_load32(&scans->scans[number].length);
}
