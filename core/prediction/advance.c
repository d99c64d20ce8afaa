/*
 * advance.c
 *	  Scans make progress.  See scan.h.
 *
 * A scan's owner runs this without a lock while other processes read the scan
 * and advance their own.  Every field shared with them is a relaxed atomic; see
 * LOCKING in scan.h for what may be lost.
 */
#include "tidepool/relaxed.h"

#include "prediction/history.h"
#include "prediction/timeout.h"
#include "prediction/position.h"

/*
 * A new measurement's weight in the smoothed speed.  With 1/16 and 1 misses
 * differ by -1.2 to +0.8 % (bench/constants.py, as for the next).
 */
#define WEIGHT 0.25f

/*
 * Upper limit of a measurement, as a multiple of the time a block took before,
 * so that a pause is soon forgotten.  With 4 and 1,024 misses differ by -1.2 to
 * +0.3 %.
 */
#define SLOWDOWN 64

/* Microseconds a block since the last measurement, smoothed. */
static float
smoothed_block_time(const tp_scan *scan, float block_time, uint32_t blocks,
					uint64_t now)
{
	uint64_t	measured_at = tp_load64(&scan->measured_at);
	uint64_t	elapsed = now > measured_at ? now - measured_at : 0;
	float		seen = (float) elapsed / (float) blocks;
	float		slowest = SLOWDOWN * (block_time > 1 ? block_time : 1);

	return block_time + WEIGHT * ((seen < slowest ? seen : slowest) - block_time);
}

/* The scan has read `done` blocks: measure its speed, and restart its timeout. */
static void
measure(const tp_scans *scans, uint32_t number, uint32_t done, uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	uint32_t	measured_done = tp_load32(&scan->measured_done);
	float		block_time = tp_load_float(&lanes->block_time[lane]);

	/* false if another scan has taken the place in the meantime */
	if (done > measured_done)
	{
		float		usual = tp_load_float(&scans->header->block_time);

		block_time = smoothed_block_time(scan, block_time, done - measured_done,
										 now);
		tp_store_float(&lanes->block_time[lane], block_time);
		tp_store_float(&scans->header->block_time,
					   usual + WEIGHT * (block_time - usual));
	}
	tp_store32(&lanes->until[lane], timeout_tick(now, block_time));
	tp_store64(&scan->measured_at, now);
	tp_store32(&scan->measured_done, done);
}

/* The scan has read this block, which has that position in its order. */
static void
go_on(const tp_scans *scans, uint32_t number, uint32_t block, uint32_t position)
{
	tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	tp_bitmap  *bitmap = bitmap_of(scans, number);

	if (bitmap != NULL)
	{
		uint32_t	length = tp_load32(&lanes->length[lane]);

		tp_store32(&bitmap->done, position + 1);
		position = lane_position(scans, number, block);
		/* beyond a range that ends where the scan wraps: avoid_far_wrap */
		if (position >= length)
			position = length - 1;
	}
	tp_store32(&lanes->done[lane], position + 1);
}

bool
tp_scan_step(const tp_scans *scans, uint64_t handle, uint32_t block,
			 uint64_t lately)
{
	uint32_t	number = find_scan(scans, handle);
	uint32_t	lane = number % TP_SCAN_LANES;
	tp_scan_lanes *lanes;
	const tp_scan *scan;
	uint32_t	position;

	if (number == TP_NONE)
		return false;
	scan = &scans->scans[number];
	lanes = lanes_of(scans, number);
	position = scan_position(scans, number, block);
	if (position >= tp_load32(&scan->length) ||
		position < scan_done(scans, number))
		return false;
	go_on(scans, number, block, position);
	return position + 1 - tp_load32(&scan->measured_done) >= STRIDE ||
		is_later(tick_of(lately), tp_load32(&lanes->until[lane]));
}

void
tp_scan_measure(const tp_scans *scans, uint64_t handle, uint32_t block,
				uint64_t now)
{
	uint32_t	number = find_scan(scans, handle);

	if (number == TP_NONE)
		return;
	measure(scans, number, scan_done(scans, number), now);
	history_pass(scans, number, block, now);
}

void
tp_scan_advance(const tp_scans *scans, uint64_t handle, uint32_t block,
				uint64_t now)
{
	if (tp_scan_step(scans, handle, block, now))
		tp_scan_measure(scans, handle, block, now);
}
