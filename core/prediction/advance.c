/*
 * advance.c
 *	  Scans make progress.  See scan.h.
 */
#include "tidepool/relaxed.h"

#include "prediction/bitmap.h"
#include "prediction/history.h"
#include "prediction/patience.h"
#include "prediction/position.h"
#include "prediction/registry.h"

/* A new measurement's weight in the smoothed speed. */
#define WEIGHT 0.25f

/*
 * A measurement counts as at most so many times slower than the scan was so
 * far: one that paused is soon known again for what it is.
 */
#define SLOWDOWN 64

/* Microseconds a block since they were last measured, smoothed. */
static float
smoothed_block_time(const tp_scan *scan, float block_time, uint32_t done,
					uint64_t now)
{
	uint64_t	elapsed = now > scan->measured_at ? now - scan->measured_at : 0;
	float		seen = (float) elapsed / (float) (done - scan->measured_done);
	float		slowest = SLOWDOWN * (block_time > 1 ? block_time : 1);

	return block_time + WEIGHT * ((seen < slowest ? seen : slowest) - block_time);
}

static void
measure(const tp_scans *scans, uint32_t number, uint32_t done, uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_lanes *lanes = &scans->lanes[number / TP_SCAN_LANES];
	uint32_t	lane = number % TP_SCAN_LANES;
	float		usual = scans->header->block_time;

	/* not so if another scan was given the place under our hands */
	if (done > scan->measured_done)
	{
		float		block_time = smoothed_block_time(scan, lanes->block_time[lane], done, now);

		tp_store_float(&lanes->block_time[lane], block_time);
		tp_store_float(&scans->header->block_time, usual + WEIGHT * (block_time - usual));
	}
	tp_store32(&lanes->until[lane], patience_until(now, lanes->block_time[lane]));
	scan->measured_at = now;
	scan->measured_done = done;
}

void
tp_scan_advance(const tp_scans *scans, uint64_t handle, uint32_t block,
				uint64_t now)
{
	uint32_t	number = find_scan(scans, handle);
	uint32_t	lane = number % TP_SCAN_LANES;
	tp_scan_lanes *lanes;
	const tp_scan *scan;
	uint32_t	bitmap;
	uint32_t	position;

	if (number == TP_NONE)
		return;
	scan = &scans->scans[number];
	lanes = &scans->lanes[number / TP_SCAN_LANES];
	bitmap = tp_load32(&scan->bitmap);
	if (bitmap != TP_NONE)
		position = bitmap_position(&scans->bitmaps[bitmap], block,
								   lanes->backward[lane]);
	else
		position = range_position(block, lanes->first[lane], lanes->low[lane],
								  lanes->size[lane], lanes->backward[lane]);
	if (position >= scan->length || position < lanes->done[lane])
		return;
	tp_store32(&lanes->done[lane], position + 1);
	if (position + 1 - scan->measured_done >= STRIDE ||
		is_later(tick_of(now), lanes->until[lane]))
	{
		measure(scans, number, position + 1, now);
		history_pass(scans, number, block, now);
	}
}
