/*
 * test_scan_speed.c
 *	  The speed that a scan is taken to have, and the silence after which it
 *	  counts as gone.
 */
#include "scan_fixture.h"

/* ---- speed ---- */

/* Measured every 32 blocks, a quarter of the difference is taken over. */
static void
speed_is_smoothed(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(0, 1000, 0, false));

	(void) unused;
	advance_scan(scan, 30, ms(62));
	expect_wait_at(31, 0, ms(62));
	expect_wait_at(131, ms(100), ms(62));
	advance_scan(scan, 31, ms(64)); /* 2 ms a block: 1 + 1/4 */
	expect_wait_at(132, 1250 * 100, ms(64));
	advance_scan(scan, 63, ms(64)); /* no time at all: 3/4 of 1.25 */
	expect_wait_at(164, 937.5 * 100, ms(64));
}

static void
a_pause_is_not_taken_for_slowness(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(0, 1000, 0, false));

	(void) unused;
	/* 64 times slower at most: 1 + 63/4 */
	advance_scan(scan, 31, ms(3600000));
	expect_wait_at(132, 16750 * 100, ms(3600000));
}

static void
unknown_speed_is_as_before(void **unused)
{
	tp_scan_spec unknown = range_scan(0, 1000, 0, false);
	uint64_t	scan;

	(void) unused;
	unknown.speed = 0;
	begin_scan(unknown);
	expect_wait(100, 20 * 100); /* what nothing is known of */
	scan = begin_scan(range_scan(0, 100, 0, false));
	advance_scan(scan, 31, ms(32)); /* 20 us, a quarter of the way to 1 ms */
	end_scan(scan);
	unknown.relation = RELATION + 1;
	begin_scan_at(unknown, ms(32));
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION + 1, 100),
									ms(32)) == 265 * 100);
}

/* ---- silence ---- */

static void
silence_counts_as_gone(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(0, 1000, 0, false));

	(void) unused;
	expect_wait_at(500, ms(500), 999000);
	expect_wait_at(500, TP_NEVER, 1200000);
	advance_scan(scan, 0, 1200000);
	expect_wait_at(1, 0, 1200000);
	expect_wait_at(1, TP_NEVER, 20000000);
}

/* One that needs ten seconds for a block must have a longer timeout. */
static void
slow_scans_have_more_time(void **unused)
{
	tp_scan_spec slow = range_scan(0, 1000, 0, false);
	tp_scan_spec unknown = slow;
	uint64_t	scan;

	(void) unused;
	slow.speed = 0.1;
	scan = begin_scan(slow);
	expect_wait_at(100, 1e9, UINT64_C(5000000000));
	expect_wait_at(100, TP_NEVER, UINT64_C(5300000000));
	end_scan(scan);
	unknown.speed = 0;
	scan = begin_scan(unknown);
	for (uint32_t i = 0; i < 100; i++)
		advance_scan(scan, i, UINT64_C(10000000) * (i + 1));
	/* 10 seconds a block, to be told from no more than a hundred of them */
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION, 200),
									UINT64_C(1000000000)) > 3e8);
}

static void
silence_of_bitmap_scans(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);

	(void) unused;
	tp_bitmap_add(&bitmap, 0, 1000);
	begin_scan(spec);
	expect_wait_at(500, ms(500), 999000);
	expect_wait_at(500, TP_NEVER, 1200000);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup_scans, teardown_scans)
	const struct CMUnitTest tests[] = {
		TEST(speed_is_smoothed),
		TEST(a_pause_is_not_taken_for_slowness),
		TEST(unknown_speed_is_as_before),
		TEST(silence_counts_as_gone),
		TEST(slow_scans_have_more_time),
		TEST(silence_of_bitmap_scans),
	};

	return cmocka_run_group_tests_name("scan_speed", tests, NULL, NULL);
}
