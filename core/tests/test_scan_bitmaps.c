/*
 * test_scan_bitmaps.c
 *	  Literal estimates for bitmap scans.
 */
#include "scan_fixture.h"

static void
bits_suffice_for_as_many_groups(void **unused)
{
	(void) unused;
	tp_bitmap_init(&bitmap, TP_BITMAP_GROUPS * TP_BLOCK_GROUP);
	assert_int_equal(bitmap.shift, 7);
	tp_bitmap_init(&bitmap, TP_BITMAP_GROUPS * TP_BLOCK_GROUP + 1);
	assert_int_equal(bitmap.shift, 8);
	tp_bitmap_init(&bitmap, 0);
	assert_int_equal(bitmap.shift, 7);
}

/* Groups 70, 3 and 1, each from its last block on. */
static void
bitmap_scan_backward(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan;

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 390, 1);
	tp_bitmap_add(&bitmap, 70 * 128, 1);
	spec.backward = true;
	scan = begin_scan(spec);
	expect_wait(71 * 128 - 1, 0);
	expect_wait(70 * 128, ms(127));
	expect_wait(511, ms(128));
	expect_wait(384, ms(255));
	expect_wait(255, ms(256));
	expect_wait(128, ms(383));
	expect_wait(256, TP_NEVER);
	advance_scan(scan, 500, ms(140));
	expect_wait(70 * 128, TP_NEVER);
	expect_wait(511, TP_NEVER);
	expect_wait(499, 0);
	expect_wait(128, ms(243));
	end_scan(scan);
}

/* Groups 1, 3, 4, and 70, which is in another word. */
static void
bitmap_of_block_groups(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan;

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 500, 20);
	tp_bitmap_add(&bitmap, 70 * 128 + 127, 1);
	scan = begin_scan(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 0);
	expect_wait(127, TP_NEVER);
	expect_wait(128, 0);
	expect_wait(255, ms(127));
	expect_wait(256, TP_NEVER);
	expect_wait(384, ms(128));
	expect_wait(639, ms(383));
	expect_wait(640, TP_NEVER);
	expect_wait(70 * 128, ms(384));
	expect_wait(70 * 128 + 127, ms(511));
	expect_wait(71 * 128, TP_NEVER);
	expect_wait(TP_BITMAP_GROUPS * 128, TP_NEVER);
	advance_scan(scan, 300, 0); /* not its */
	expect_wait(128, 0);
	advance_scan(scan, 400, ms(145));
	expect_wait(200, TP_NEVER);
	expect_wait(401, 0);
	expect_wait(70 * 128, ms(239));
	advance_scan(scan, 200, ms(145));
	expect_wait(401, 0);
	end_scan(scan);
	expect_wait(401, TP_NEVER);
}

static void
bitmap_of_larger_groups(void **unused)
{
	tp_scan_spec spec = bitmap_scan(TP_BITMAP_GROUPS * 128 + 1);
	uint64_t	scan;

	(void) unused;
	assert_int_equal(bitmap.shift, 8);
	tp_bitmap_add(&bitmap, 200, 1);
	tp_bitmap_add(&bitmap, 600, 1);
	scan = begin_scan(spec);
	expect_wait(255, ms(255));
	expect_wait(256, TP_NEVER);
	expect_wait(512, ms(256));
	end_scan(scan);

	spec = bitmap_scan(UINT32_MAX);
	assert_int_equal(bitmap.shift, 20);
	tp_bitmap_add(&bitmap, 0, 1);
	tp_bitmap_add(&bitmap, UINT32_MAX - 1, 1);
	scan = begin_scan(spec);
	expect_wait(UINT32_MAX - 1, (float) ms((2 << 20) - 2));
	end_scan(scan);

	/* as many blocks as a number can tell */
	spec = bitmap_scan(UINT32_MAX);
	tp_bitmap_add(&bitmap, 0, UINT32_MAX);
	scan = begin_scan(spec);
	assert_int_not_equal(scan, 0);
	expect_wait(5, ms(5));
	advance_scan(scan, UINT32_MAX - 1, 0);
	expect_wait(5, TP_NEVER);
}

static void
without_a_free_bitmap_a_range_serves(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan[5];

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 500, 20);
	for (int i = 0; i < 4; i++)
		scan[i] = begin_scan(spec);
	scan[4] = begin_scan(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 1);
	for (int i = 0; i < 4; i++)
		end_scan(scan[i]);
	expect_wait(127, TP_NEVER);
	expect_wait(300, ms(172));
	expect_wait(639, ms(511));
	expect_wait(640, TP_NEVER);
	scan[0] = begin_scan(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 1);
	end_scan(scan[4]);
	expect_wait(300, TP_NEVER);

	/* the ends of the block space, also so */
	for (int i = 0; i < 3; i++)
		begin_scan(spec);
	spec = bitmap_scan(UINT32_MAX);
	tp_bitmap_add(&bitmap, 1 << 20, UINT32_MAX);
	assert_int_not_equal(begin_scan(spec), 0);
	expect_wait(UINT32_MAX - 1, 2147483648e3);
	expect_wait(0, TP_NEVER);
}

static void
an_empty_bitmap_is_not_registered(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);

	(void) unused;
	for (int i = 0; i < 5; i++)
		assert_int_equal(begin_scan(spec), 0);
	tp_bitmap_add(&bitmap, 1, 1);
	for (int i = 0; i < 4; i++)
		begin_scan(spec);
	spec = bitmap_scan(10000);
	assert_int_equal(begin_scan(spec), 0);	/* no bitmap is free */
	assert_int_equal(scans.header->running, 4);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup_scans, teardown_scans)
	const struct CMUnitTest tests[] = {
		TEST(bits_suffice_for_as_many_groups),
		TEST(bitmap_scan_backward),
		TEST(bitmap_of_block_groups),
		TEST(bitmap_of_larger_groups),
		TEST(without_a_free_bitmap_a_range_serves),
		TEST(an_empty_bitmap_is_not_registered),
	};

	return cmocka_run_group_tests_name("scan_bitmaps", tests, NULL, NULL);
}
