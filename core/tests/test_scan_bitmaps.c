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

/* Groups 3 and 70, then 1. */
static void
bitmap_scan_from_the_middle(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan;

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 390, 1);
	tp_bitmap_add(&bitmap, 70 * 128, 1);
	spec.first = 256;			/* of group 2, which it does not read */
	scan = begin_scan(spec);
	expect_wait(384, 0);
	expect_wait(70 * 128, ms(128));
	expect_wait(128, ms(256));
	advance_scan(scan, 70 * 128, ms(129));
	expect_wait(511, TP_NEVER);
	expect_wait(128, ms(127));
	end_scan(scan);
	spec.backward = true;
	spec.first = 256;			/* so it begins with group 1 */
	scan = begin_scan(spec);
	expect_wait(255, 0);
	expect_wait(71 * 128 - 1, ms(128));
	expect_wait(511, ms(256));
	end_scan(scan);
	spec.backward = false;
	spec.first = 71 * 128;		/* past all of them */
	scan = begin_scan(spec);
	expect_wait(128, 0);
	end_scan(scan);
}

/* Without a bitmap it is a range of groups 1 to 70 that begins with group 2. */
static void
range_from_the_middle_of_a_bitmap(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	others[4];
	uint64_t	scan;

	(void) unused;
	tp_bitmap_add(&bitmap, 9000, 1);
	for (int i = 0; i < 4; i++)
		others[i] = begin_scan(spec);
	for (int i = 0; i < 4; i++)
		advance_scan(others[i], 71 * 128 - 1, 0);
	tp_bitmap_add(&bitmap, 130, 1);
	spec.first = 300;
	scan = begin_scan(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 1);
	expect_wait(256, 0);
	expect_wait(70 * 128, ms(68 * 128));
	expect_wait(128, ms(69 * 128));
	end_scan(scan);
	spec.backward = true;
	scan = begin_scan(spec);
	expect_wait(383, 0);
	expect_wait(128, ms(255));
	expect_wait(71 * 128 - 1, ms(256));
	end_scan(scan);
	for (int i = 0; i < 4; i++)
		end_scan(others[i]);
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

/* ---- meeting ---- */

/* A bitmap of these groups, as the fixture's. */
static tp_scan_spec
scan_of_groups(uint32_t from, uint32_t to)
{
	tp_scan_spec spec = bitmap_scan(100000);

	tp_bitmap_add(&bitmap, from * 128, (to - from) * 128);
	return spec;
}

static uint32_t
meet(tp_scan_spec spec)
{
	return tp_scan_meet(&scans, &spec, 0, NULL);
}

/* Where the running scan is, or the next group that the new one has. */
static void
bitmap_scans_meet(void **unused)
{
	uint64_t	scan = begin_scan(scan_of_groups(100, 300));
	tp_scan_spec spec;

	(void) unused;
	assert_int_equal(meet(scan_of_groups(50, 200)), 100 * 128);
	advance_scan(scan, 120 * 128 + 5, 0);
	assert_int_equal(meet(scan_of_groups(50, 200)), 120 * 128);
	assert_int_equal(meet(scan_of_groups(150, 200)), 150 * 128);
	/* it has nothing in common with what is left */
	spec = scan_of_groups(50, 110);
	spec.first = 50 * 128;
	assert_int_equal(meet(spec), 50 * 128);
	spec = scan_of_groups(50, 200);
	spec.backward = true;
	spec.first = 200 * 128 - 1;
	assert_int_equal(meet(spec), 200 * 128 - 1);
	end_scan(scan);
}

static void
bitmap_scans_meet_where_most_is_shared(void **unused)
{
	uint64_t	first = begin_scan(scan_of_groups(0, 100));
	uint64_t	second = begin_scan(scan_of_groups(0, 200));
	tp_scan_spec third;

	(void) unused;
	advance_scan(first, 90 * 128, 0);
	advance_scan(second, 150 * 128, 0);
	assert_int_equal(meet(scan_of_groups(80, 300)), 150 * 128);
	assert_int_equal(meet(scan_of_groups(0, 160)), 90 * 128);
	/* one that comes round again: groups 180 to 199, then 0 to 179 */
	third = scan_of_groups(0, 200);
	third.first = 180 * 128;
	begin_scan(third);
	assert_int_equal(meet(scan_of_groups(0, 160)), 0);
	end_scan(first);
	end_scan(second);
}

static void
ranges_and_bitmaps_meet(void **unused)
{
	uint64_t	range = begin_scan(range_scan(1000, 40000, 100000, false));
	uint64_t	groups;

	(void) unused;
	advance_scan(range, 20000, 0);
	assert_int_equal(meet(scan_of_groups(10, 200)), 20001 / 128 * 128);
	assert_int_equal(meet(scan_of_groups(200, 210)), 200 * 128);
	end_scan(range);
	groups = begin_scan(scan_of_groups(10, 200));
	advance_scan(groups, 50 * 128 + 5, 0);
	assert_int_equal(meet(range_scan(0, 100000, 100000, false)), 50 * 128);
	/* the groups lie outside of this range, or are behind the scan */
	assert_int_equal(meet(range_scan(30000, 1000, 100000, false)), 30000);
	assert_int_equal(meet(range_scan(2000, 1000, 100000, false)), 2000);
	end_scan(groups);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup_scans, teardown_scans)
	const struct CMUnitTest tests[] = {
		TEST(bits_suffice_for_as_many_groups),
		TEST(bitmap_scan_backward),
		TEST(bitmap_scan_from_the_middle),
		TEST(range_from_the_middle_of_a_bitmap),
		TEST(bitmap_of_block_groups),
		TEST(bitmap_of_larger_groups),
		TEST(without_a_free_bitmap_a_range_serves),
		TEST(an_empty_bitmap_is_not_registered),
		TEST(bitmap_scans_meet),
		TEST(bitmap_scans_meet_where_most_is_shared),
		TEST(ranges_and_bitmaps_meet),
	};

	return cmocka_run_group_tests_name("scan_bitmaps", tests, NULL, NULL);
}
