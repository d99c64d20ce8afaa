/*
 * test_scan.c
 *	  Literal estimates of the scan registry, and what becomes of scans.
 *
 * Unless said otherwise a scan reads 1,000 blocks a second, so that a block
 * takes a millisecond: ms(3) is three blocks away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tidepool/prediction/scan.h"

#define SPEED 1000.0			/* blocks per second */
#define RELATION 7

static uint32_t
ms(uint32_t blocks)
{
	return blocks * 1000;
}

/* ---- a registry that never stays where it was ---- */

static void *block;
static size_t size;
static tp_scans scans;

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

static void
begin_with(uint32_t capacity, uint32_t bitmaps)
{
	size = tp_scans_size(capacity, bitmaps);
	block = aligned_alloc(64, size);
	assert_non_null(block);
	scans = tp_scans_init(capacity, bitmaps, block);
}

/* All invariants hold; and the registry does not care where it lies. */
static void
check(void)
{
	void	   *elsewhere = aligned_alloc(64, size);

	assert_int_equal(tp_scans_check(&scans, report, NULL), 0);
	assert_non_null(elsewhere);
	memcpy(elsewhere, block, size);
	memset(block, 0xa5, size);
	free(block);
	block = elsewhere;
	scans = tp_scans_view(block);
}

static int
setup(void **unused)
{
	(void) unused;
	begin_with(64, 4);
	return 0;
}

static int
teardown(void **unused)
{
	(void) unused;
	check();
	free(block);
	return 0;
}

static tp_scan_spec
range(uint32_t first, uint32_t count, uint32_t relation_size, bool backward)
{
	tp_scan_spec spec = {0};

	spec.relation = RELATION;
	spec.first = first;
	spec.count = count;
	spec.size = relation_size;
	spec.backward = backward;
	spec.speed = SPEED;
	return spec;
}

static uint64_t
begin_at(tp_scan_spec spec, uint64_t now)
{
	uint64_t	handle = tp_scan_begin(&scans, &spec, now);

	check();
	return handle;
}

static uint64_t
begin(tp_scan_spec spec)
{
	return begin_at(spec, 0);
}

static void
advance(uint64_t handle, uint32_t to, uint64_t now)
{
	tp_scan_advance(&scans, handle, to, now);
	check();
}

static void
end(uint64_t handle)
{
	tp_scan_end(&scans, handle);
	check();
}

static void
expect_at(uint32_t page, double wait, uint64_t now)
{
	double		estimate = tp_scan_next_access(&scans,
											   tp_page_make(RELATION, page), now);

	if (estimate != wait)
		fail_msg("block %u: %f us, not %f", page, estimate, wait);
}

static void
expect(uint32_t page, double wait)
{
	expect_at(page, wait, 0);
}

/* ---- range scans ---- */

static void
nothing_is_known_of_no_scan(void **unused)
{
	(void) unused;
	expect(0, TP_NEVER);
}

static void
forward(void **unused)
{
	uint64_t	scan = begin(range(100, 50, 0, false));

	(void) unused;
	assert_int_not_equal(scan, 0);
	expect(99, TP_NEVER);
	expect(100, 0);
	expect(101, ms(1));
	expect(149, ms(49));
	expect(150, TP_NEVER);
	advance(scan, 100, 0);
	expect(100, TP_NEVER);
	expect(101, 0);
	expect(149, ms(48));
	advance(scan, 149, 0);
	expect(149, TP_NEVER);
}

static void
forward_and_wrapping(void **unused)
{
	uint64_t	scan = begin(range(80, 70, 100, false));

	(void) unused;
	expect(80, 0);
	expect(99, ms(19));
	expect(0, ms(20));
	expect(49, ms(69));
	expect(50, TP_NEVER);
	expect(79, TP_NEVER);
	advance(scan, 9, 0);
	expect(99, TP_NEVER);
	expect(9, TP_NEVER);
	expect(10, 0);
	expect(49, ms(39));
}

static void
backward(void **unused)
{
	uint64_t	scan = begin(range(149, 50, 0, true));

	(void) unused;
	expect(150, TP_NEVER);
	expect(149, 0);
	expect(100, ms(49));
	expect(99, TP_NEVER);
	advance(scan, 140, 0);
	expect(140, TP_NEVER);
	expect(139, 0);
}

static void
backward_and_wrapping(void **unused)
{
	uint64_t	scan = begin(range(10, 30, 100, true));

	(void) unused;
	expect(10, 0);
	expect(0, ms(10));
	expect(99, ms(11));
	expect(81, ms(29));
	expect(80, TP_NEVER);
	expect(11, TP_NEVER);
	advance(scan, 99, 0);
	expect(0, TP_NEVER);
	expect(98, 0);
	expect(81, ms(17));
}

/* The whole relation, from its middle: every block once. */
static void
all_the_way_round(void **unused)
{
	(void) unused;
	begin(range(50, 100, 100, false));
	expect(50, 0);
	expect(99, ms(49));
	expect(0, ms(50));
	expect(49, ms(99));
}

/* Blocks that came to the relation later would else be its first ones. */
static void
blocks_beyond_the_size_are_not_in_it(void **unused)
{
	uint64_t	scan = begin(range(50, 100, 100, false));

	(void) unused;
	expect(100, TP_NEVER);
	expect(120, TP_NEVER);
	advance(scan, 120, 0);
	expect(50, 0);
	end(scan);
	scan = begin(range(50, 100, 100, true));
	expect(100, TP_NEVER);
	advance(scan, 100, 0);
	expect(50, 0);
}

static void
ends_of_the_block_space(void **unused)
{
	const uint32_t last = UINT32_MAX - 1;
	uint64_t	scan = begin(range(last - 9, 10, 0, false));

	(void) unused;
	expect(last - 9, 0);
	expect(last, ms(9));
	expect(0, TP_NEVER);
	expect(UINT32_MAX, TP_NEVER);
	end(scan);
	assert_int_equal(begin(range(last - 9, 11, 0, false)), 0);

	scan = begin(range(9, 10, 0, true));
	expect(9, 0);
	expect(0, ms(9));
	expect(last, TP_NEVER);
	end(scan);
	assert_int_equal(begin(range(9, 11, 0, true)), 0);

	/* all blocks there can be; beyond 2^31 all are equally far */
	scan = begin(range(0, UINT32_MAX, 0, false));
	assert_int_not_equal(scan, 0);
	expect(1000, ms(1000));
	expect(last, 2147483648e3);
	advance(scan, last, 0);
	expect(last, TP_NEVER);
}

/* Where to go round is more than half of that: only up to the turn. */
static void
no_wrap_of_the_largest_relations(void **unused)
{
	const uint32_t last = UINT32_MAX - 1;
	uint64_t	scan = begin(range(last - 9, 20, UINT32_MAX, false));

	(void) unused;
	expect(last - 9, 0);
	expect(last, ms(9));
	expect(0, TP_NEVER);
	end(scan);
	begin(range(9, 20, UINT32_MAX, true));
	expect(9, 0);
	expect(0, ms(9));
	expect(last, TP_NEVER);
}

static void
what_cannot_be_read_is_not_registered(void **unused)
{
	(void) unused;
	assert_int_equal(begin(range(5, 0, 0, false)), 0);
	assert_int_equal(begin(range(100, 1, 100, false)), 0);
	assert_int_equal(begin(range(5, 101, 100, false)), 0);
	assert_int_equal(scans.header->running, 0);
}

/* A range scan's distance is in blocks, whatever a block group is. */
static void
progress_moves_the_estimate_by_blocks(void **unused)
{
	uint64_t	scan = begin(range(0, 100000, 0, false));

	(void) unused;
	for (uint32_t to = 0; to < 50000; to += 777)
	{
		advance(scan, to, ms(to + 1));
		expect_at(50000, ms(50000 - to - 1), ms(to + 1));
	}
}

static void
order_of_advances(void **unused)
{
	uint64_t	scan = begin(range(100, 50, 0, false));

	(void) unused;
	advance(scan, 109, 0);
	advance(scan, 104, 0);		/* behind it */
	expect(110, 0);
	advance(scan, 99, 0);		/* not its */
	advance(scan, 150, 0);
	expect(110, 0);
	advance(scan, 120, 0);		/* a step */
	expect(115, TP_NEVER);
	expect(121, 0);
}

static void
the_soonest_scan_counts(void **unused)
{
	tp_scan_spec fast = range(0, 1000, 0, false);
	uint64_t	scan[3];

	(void) unused;
	fast.speed = 10 * SPEED;
	scan[0] = begin(range(0, 1000, 0, false));
	scan[1] = begin(range(50, 1000, 0, false));
	expect(60, ms(10));
	expect(40, ms(40));
	scan[2] = begin(fast);
	expect(60, ms(6));
	end(scan[1]);
	expect(60, ms(6));
	end(scan[2]);
	expect(60, ms(60));
	end(scan[0]);
	expect(60, TP_NEVER);
}

static void
relations_do_not_mix(void **unused)
{
	tp_scan_spec other = range(0, 1000, 0, false);

	(void) unused;
	other.relation = RELATION + 1;
	begin(other);
	expect(3, TP_NEVER);
	begin(range(1, 1000, 0, false));
	expect(3, ms(2));
}

/* More scans than stand side by side. */
static void
many_scans_of_one_relation(void **unused)
{
	uint64_t	scan[40];

	(void) unused;
	for (uint32_t i = 0; i < 40; i++)
		scan[i] = begin(range(100 * i, 100, 0, false));
	for (uint32_t i = 0; i < 40; i++)
		expect(100 * i + 7, ms(7));
	for (uint32_t i = 0; i < 40; i += 2)
		end(scan[i]);
	for (uint32_t i = 0; i < 40; i++)
		expect(100 * i + 7, i % 2 == 0 ? TP_NEVER : ms(7));
	assert_int_equal(scans.header->running, 20);
}

/* ---- bitmap scans ---- */

static tp_bitmap bitmap;

static tp_scan_spec
bitmap_scan(uint32_t relation_size)
{
	tp_scan_spec spec = range(0, 0, 0, false);

	tp_bitmap_init(&bitmap, relation_size);
	spec.bitmap = &bitmap;
	return spec;
}

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
	scan = begin(spec);
	expect(71 * 128 - 1, 0);
	expect(70 * 128, ms(127));
	expect(511, ms(128));
	expect(384, ms(255));
	expect(255, ms(256));
	expect(128, ms(383));
	expect(256, TP_NEVER);
	advance(scan, 500, ms(140));
	expect(70 * 128, TP_NEVER);
	expect(511, TP_NEVER);
	expect(499, 0);
	expect(128, ms(243));
	end(scan);
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
	scan = begin(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 0);
	expect(127, TP_NEVER);
	expect(128, 0);
	expect(255, ms(127));
	expect(256, TP_NEVER);
	expect(384, ms(128));
	expect(639, ms(383));
	expect(640, TP_NEVER);
	expect(70 * 128, ms(384));
	expect(70 * 128 + 127, ms(511));
	expect(71 * 128, TP_NEVER);
	expect(TP_BITMAP_GROUPS * 128, TP_NEVER);
	advance(scan, 300, 0);		/* not its */
	expect(128, 0);
	advance(scan, 400, ms(145));
	expect(200, TP_NEVER);
	expect(401, 0);
	expect(70 * 128, ms(239));
	advance(scan, 200, ms(145));
	expect(401, 0);
	end(scan);
	expect(401, TP_NEVER);
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
	scan = begin(spec);
	expect(255, ms(255));
	expect(256, TP_NEVER);
	expect(512, ms(256));
	end(scan);

	spec = bitmap_scan(UINT32_MAX);
	assert_int_equal(bitmap.shift, 20);
	tp_bitmap_add(&bitmap, 0, 1);
	tp_bitmap_add(&bitmap, UINT32_MAX - 1, 1);
	scan = begin(spec);
	expect(UINT32_MAX - 1, (float) ms((2 << 20) - 2));
	end(scan);

	/* as many blocks as a number can tell */
	spec = bitmap_scan(UINT32_MAX);
	tp_bitmap_add(&bitmap, 0, UINT32_MAX);
	scan = begin(spec);
	assert_int_not_equal(scan, 0);
	expect(5, ms(5));
	advance(scan, UINT32_MAX - 1, 0);
	expect(5, TP_NEVER);
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
		scan[i] = begin(spec);
	scan[4] = begin(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 1);
	for (int i = 0; i < 4; i++)
		end(scan[i]);
	expect(127, TP_NEVER);
	expect(300, ms(172));
	expect(639, ms(511));
	expect(640, TP_NEVER);
	scan[0] = begin(spec);
	assert_int_equal(scans.header->counts.bitmaps_short, 1);
	end(scan[4]);
	expect(300, TP_NEVER);

	/* the ends of the block space, also so */
	for (int i = 0; i < 3; i++)
		begin(spec);
	spec = bitmap_scan(UINT32_MAX);
	tp_bitmap_add(&bitmap, 1 << 20, UINT32_MAX);
	assert_int_not_equal(begin(spec), 0);
	expect(UINT32_MAX - 1, 2147483648e3);
	expect(0, TP_NEVER);
}

static void
an_empty_bitmap_is_not_registered(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);

	(void) unused;
	for (int i = 0; i < 5; i++)
		assert_int_equal(begin(spec), 0);
	tp_bitmap_add(&bitmap, 1, 1);
	for (int i = 0; i < 4; i++)
		begin(spec);
	spec = bitmap_scan(10000);
	assert_int_equal(begin(spec), 0);	/* no bitmap is free */
	assert_int_equal(scans.header->running, 4);
}

/* ---- speed ---- */

/* Measured every 32 blocks, a quarter of the difference is taken over. */
static void
speed_is_smoothed(void **unused)
{
	uint64_t	scan = begin(range(0, 1000, 0, false));

	(void) unused;
	advance(scan, 30, ms(62));
	expect_at(31, 0, ms(62));
	expect_at(131, ms(100), ms(62));
	advance(scan, 31, ms(64));	/* 2 ms a block: 1 + 1/4 */
	expect_at(132, 1250 * 100, ms(64));
	advance(scan, 63, ms(64));	/* no time at all: 3/4 of 1.25 */
	expect_at(164, 937.5 * 100, ms(64));
}

static void
a_pause_is_not_taken_for_slowness(void **unused)
{
	uint64_t	scan = begin(range(0, 1000, 0, false));

	(void) unused;
	advance(scan, 31, ms(3600000)); /* 64 times slower at most: 1 + 63/4 */
	expect_at(132, 16750 * 100, ms(3600000));
}

static void
unknown_speed_is_as_before(void **unused)
{
	tp_scan_spec unknown = range(0, 1000, 0, false);
	uint64_t	scan;

	(void) unused;
	unknown.speed = 0;
	begin(unknown);
	expect(100, 20 * 100);		/* what nothing is known of */
	scan = begin(range(0, 100, 0, false));
	advance(scan, 31, ms(32));	/* 20 us, a quarter of the way to 1 ms */
	end(scan);
	unknown.relation = RELATION + 1;
	begin_at(unknown, ms(32));
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION + 1, 100),
									ms(32)) == 265 * 100);
}

/* ---- scans that come to no good end ---- */

static void
silence_counts_as_gone(void **unused)
{
	uint64_t	scan = begin(range(0, 1000, 0, false));

	(void) unused;
	expect_at(500, ms(500), 999000);
	expect_at(500, TP_NEVER, 1200000);
	advance(scan, 0, 1200000);
	expect_at(1, 0, 1200000);
	expect_at(1, TP_NEVER, 20000000);
}

/* One that needs ten seconds for a block must have more patience. */
static void
slow_scans_have_more_time(void **unused)
{
	tp_scan_spec slow = range(0, 1000, 0, false);
	tp_scan_spec unknown = slow;
	uint64_t	scan;

	(void) unused;
	slow.speed = 0.1;
	scan = begin(slow);
	expect_at(100, 1e9, UINT64_C(5000000000));
	expect_at(100, TP_NEVER, UINT64_C(5300000000));
	end(scan);
	unknown.speed = 0;
	scan = begin(unknown);
	for (uint32_t i = 0; i < 100; i++)
		advance(scan, i, UINT64_C(10000000) * (i + 1));
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
	begin(spec);
	expect_at(500, ms(500), 999000);
	expect_at(500, TP_NEVER, 1200000);
}

static void
handles_of_ended_scans_do_nothing(void **unused)
{
	uint64_t	ended = begin(range(0, 100, 0, false));
	uint64_t	other;

	(void) unused;
	end(ended);
	other = begin(range(0, 100, 0, false));
	assert_int_not_equal(other, ended);
	advance(ended, 50, 0);
	advance(0, 50, 0);
	advance(other + 1, 50, 0);
	advance(UINT64_MAX, 50, 0);
	expect(0, 0);
	end(ended);
	end(0);
	end(UINT64_MAX);
	expect(0, 0);
	assert_int_equal(scans.header->running, 1);
	assert_int_equal(scans.header->counts.ended, 1);
}

static void
owners_leave_nothing_behind(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 30; i++)
	{
		tp_scan_spec spec = range(100 * i, 100, 0, false);

		spec.owner = i % 3;
		spec.relation = i % 5;
		begin(spec);
	}
	assert_int_equal(tp_scan_end_owner(&scans, 1), 10);
	check();
	assert_int_equal(tp_scan_end_owner(&scans, 1), 0);
	assert_int_equal(tp_scan_end_owner(&scans, 3), 0);
	assert_int_equal(scans.header->running, 20);
	assert_int_equal(scans.header->counts.abandoned, 10);
	for (uint32_t i = 0; i < 30; i++)
		assert_true(tp_scan_next_access(&scans, tp_page_make(i % 5, 100 * i), 0)
					== (i % 3 == 1 ? TP_NEVER : 0));
}

/* Cancelled without a word, their backend gone; and the registry's empty. */
static void
cancelled_scans_leave_nothing_behind(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 2200; i++)
	{
		tp_scan_spec spec = i % 3 == 0 ? bitmap_scan(10000) :
			range(i, 1000, 0, false);

		spec.relation = i % 50;
		spec.owner = i;
		if (spec.bitmap != NULL)
			tp_bitmap_add(&bitmap, i, 1);
		assert_int_not_equal(begin(spec), 0);
		assert_int_equal(tp_scan_end_owner(&scans, i), 1);
		if (i == 400)
			assert_int_equal(scans.header->running, 0);
	}
	assert_int_equal(scans.header->running, 0);
	assert_int_equal(scans.header->counts.refused, 0);
	assert_int_equal(scans.header->counts.bitmaps_short, 0);
	for (uint32_t i = 0; i < 50; i++)
		assert_true(tp_scan_next_access(&scans, tp_page_make(i, 2000), 0)
					== TP_NEVER);
}

/* Their owners live on, and nobody says that the scans are over. */
static void
forgotten_scans_give_up_their_places(void **unused)
{
	uint64_t	now = 0;

	(void) unused;
	for (uint32_t i = 0; i < 2200; i++)
	{
		tp_scan_spec spec = range(0, 1000, 0, false);

		spec.relation = i % 70;
		assert_int_not_equal(begin_at(spec, now), 0);
		now += 100000;
		assert_true(scans.header->running <= 64 * TP_SCAN_LANES);
	}
	assert_true(scans.header->counts.reclaimed > 1500);
	assert_int_equal(scans.header->counts.refused, 0);
}

static void
places_run_out(void **unused)
{
	uint64_t	first;

	(void) unused;
	teardown(NULL);
	begin_with(2, 0);
	first = begin(range(0, 100, 0, false));
	for (int i = 1; i < 2 * TP_SCAN_LANES; i++)
		assert_int_not_equal(begin(range(0, 100, 0, false)), 0);
	assert_int_equal(begin(range(0, 100, 0, false)), 0);
	assert_int_equal(scans.header->counts.refused, 1);
	end(first);
	assert_int_not_equal(begin(range(50, 100, 0, false)), 0);

	/* those that are gone make room, those that are not keep theirs */
	first = begin_at(range(0, 100, 0, false), 2000000);
	assert_int_not_equal(first, 0);
	assert_int_equal(scans.header->counts.reclaimed, 2 * TP_SCAN_LANES);
	assert_int_equal(scans.header->running, 1);
	assert_int_equal(begin(range(0, 0, 0, false)), 0);
}

/* So many relations as there are scans all find a place. */
static void
each_of_another_relation(void **unused)
{
	(void) unused;
	for (uint64_t i = 0; i < 64; i++)
	{
		tp_scan_spec spec = range(0, 100, 0, false);

		spec.relation = UINT64_C(1) << i;
		assert_int_not_equal(begin(spec), 0);
	}
	for (uint64_t i = 0; i < 64; i++)
		assert_true(tp_scan_next_access(&scans,
										tp_page_make(UINT64_C(1) << i, 10), 0)
					== ms(10));
	assert_int_equal(begin(range(0, 100, 0, false)), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_known_of_no_scan),
		TEST(forward),
		TEST(forward_and_wrapping),
		TEST(backward),
		TEST(backward_and_wrapping),
		TEST(all_the_way_round),
		TEST(blocks_beyond_the_size_are_not_in_it),
		TEST(ends_of_the_block_space),
		TEST(no_wrap_of_the_largest_relations),
		TEST(what_cannot_be_read_is_not_registered),
		TEST(progress_moves_the_estimate_by_blocks),
		TEST(order_of_advances),
		TEST(the_soonest_scan_counts),
		TEST(relations_do_not_mix),
		TEST(many_scans_of_one_relation),
		TEST(bits_suffice_for_as_many_groups),
		TEST(bitmap_scan_backward),
		TEST(bitmap_of_block_groups),
		TEST(bitmap_of_larger_groups),
		TEST(without_a_free_bitmap_a_range_serves),
		TEST(an_empty_bitmap_is_not_registered),
		TEST(speed_is_smoothed),
		TEST(a_pause_is_not_taken_for_slowness),
		TEST(unknown_speed_is_as_before),
		TEST(silence_counts_as_gone),
		TEST(slow_scans_have_more_time),
		TEST(silence_of_bitmap_scans),
		TEST(handles_of_ended_scans_do_nothing),
		TEST(owners_leave_nothing_behind),
		TEST(cancelled_scans_leave_nothing_behind),
		TEST(forgotten_scans_give_up_their_places),
		TEST(places_run_out),
		TEST(each_of_another_relation),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
