/*
 * scan_fixture.h
 *	  A scan registry that never stays where it was, for tests of its estimates.
 *
 * Unless said otherwise a scan reads 1,000 blocks a second, so that a block
 * takes a millisecond: ms(3) is three blocks away.
 */
#ifndef TIDEPOOL_SCAN_FIXTURE_H
#define TIDEPOOL_SCAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tidepool/prediction/scan.h"

#define SPEED 1000.0			/* blocks per second */
#define RELATION 7

extern tp_scans scans;
extern tp_bitmap bitmap;		/* of the last bitmap_scan */

static inline uint32_t
ms(uint32_t blocks)
{
	return blocks * 1000;
}

/* A registry of this size; setup_scans makes one of 64 with 4 bitmaps. */
void		begin_scans(uint32_t capacity, uint32_t bitmaps);

/* All invariants hold; and the registry does not care where it lies. */
void		check_scans(void);

/* For cmocka. */
int			setup_scans(void **unused);
int			teardown_scans(void **unused);

/* A range scan of RELATION. */
tp_scan_spec range_scan(uint32_t first, uint32_t count, uint32_t relation_size,
						bool backward);

/* A scan of the blocks that are in bitmap: none yet. */
tp_scan_spec bitmap_scan(uint32_t relation_size);

/* tp_scan_begin, _advance and _end, and then check_scans.  now is 0 if not given. */
uint64_t	begin_scan_at(tp_scan_spec spec, uint64_t now);
uint64_t	begin_scan(tp_scan_spec spec);
void		advance_scan(uint64_t handle, uint32_t to, uint64_t now);
void		end_scan(uint64_t handle);

/* Asserts in how many microseconds this block of RELATION will be read. */
void		expect_wait_at(uint32_t page, double wait, uint64_t now);
void		expect_wait(uint32_t page, double wait);

#endif							/* TIDEPOOL_SCAN_FIXTURE_H */
