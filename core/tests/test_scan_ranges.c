/*
 * test_scan_ranges.c
 *	  Literal estimates for range scans.
 */
#include "scan_fixture.h"

static void
nothing_is_known_of_no_scan(void **unused)
{
	(void) unused;
	expect_wait(0, TP_NEVER);
}

static void
forward(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(100, 50, 0, false));

	(void) unused;
	assert_int_not_equal(scan, 0);
	expect_wait(99, TP_NEVER);
	expect_wait(100, 0);
	expect_wait(101, ms(1));
	expect_wait(149, ms(49));
	expect_wait(150, TP_NEVER);
	advance_scan(scan, 100, 0);
	expect_wait(100, TP_NEVER);
	expect_wait(101, 0);
	expect_wait(149, ms(48));
	advance_scan(scan, 149, 0);
	expect_wait(149, TP_NEVER);
}

static void
forward_and_wrapping(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(80, 70, 100, false));

	(void) unused;
	expect_wait(80, 0);
	expect_wait(99, ms(19));
	expect_wait(0, ms(20));
	expect_wait(49, ms(69));
	expect_wait(50, TP_NEVER);
	expect_wait(79, TP_NEVER);
	advance_scan(scan, 9, 0);
	expect_wait(99, TP_NEVER);
	expect_wait(9, TP_NEVER);
	expect_wait(10, 0);
	expect_wait(49, ms(39));
}

static void
backward(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(149, 50, 0, true));

	(void) unused;
	expect_wait(150, TP_NEVER);
	expect_wait(149, 0);
	expect_wait(100, ms(49));
	expect_wait(99, TP_NEVER);
	advance_scan(scan, 140, 0);
	expect_wait(140, TP_NEVER);
	expect_wait(139, 0);
}

static void
backward_and_wrapping(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(10, 30, 100, true));

	(void) unused;
	expect_wait(10, 0);
	expect_wait(0, ms(10));
	expect_wait(99, ms(11));
	expect_wait(81, ms(29));
	expect_wait(80, TP_NEVER);
	expect_wait(11, TP_NEVER);
	advance_scan(scan, 99, 0);
	expect_wait(0, TP_NEVER);
	expect_wait(98, 0);
	expect_wait(81, ms(17));
}

/* The whole relation, from its middle: every block once. */
static void
all_the_way_round(void **unused)
{
	(void) unused;
	begin_scan(range_scan(50, 100, 100, false));
	expect_wait(50, 0);
	expect_wait(99, ms(49));
	expect_wait(0, ms(50));
	expect_wait(49, ms(99));
}

/* Blocks that came to the relation later would else be its first ones. */
static void
blocks_beyond_the_size_are_not_in_it(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(50, 100, 100, false));

	(void) unused;
	expect_wait(100, TP_NEVER);
	expect_wait(120, TP_NEVER);
	advance_scan(scan, 120, 0);
	expect_wait(50, 0);
	end_scan(scan);
	scan = begin_scan(range_scan(50, 100, 100, true));
	expect_wait(100, TP_NEVER);
	advance_scan(scan, 100, 0);
	expect_wait(50, 0);
}

static void
ends_of_the_block_space(void **unused)
{
	const uint32_t last = UINT32_MAX - 1;
	uint64_t	scan = begin_scan(range_scan(last - 9, 10, 0, false));

	(void) unused;
	expect_wait(last - 9, 0);
	expect_wait(last, ms(9));
	expect_wait(0, TP_NEVER);
	expect_wait(UINT32_MAX, TP_NEVER);
	end_scan(scan);
	assert_int_equal(begin_scan(range_scan(last - 9, 11, 0, false)), 0);

	scan = begin_scan(range_scan(9, 10, 0, true));
	expect_wait(9, 0);
	expect_wait(0, ms(9));
	expect_wait(last, TP_NEVER);
	end_scan(scan);
	assert_int_equal(begin_scan(range_scan(9, 11, 0, true)), 0);

	/* all blocks there can be; beyond 2^31 all are equally far */
	scan = begin_scan(range_scan(0, UINT32_MAX, 0, false));
	assert_int_not_equal(scan, 0);
	expect_wait(1000, ms(1000));
	expect_wait(last, 2147483648e3);
	advance_scan(scan, last, 0);
	expect_wait(last, TP_NEVER);
}

/* Where to go round is more than half of that: only up to the turn. */
static void
no_wrap_of_the_largest_relations(void **unused)
{
	const uint32_t last = UINT32_MAX - 1;
	uint64_t	scan = begin_scan(range_scan(last - 9, 20, UINT32_MAX, false));

	(void) unused;
	expect_wait(last - 9, 0);
	expect_wait(last, ms(9));
	expect_wait(0, TP_NEVER);
	end_scan(scan);
	begin_scan(range_scan(9, 20, UINT32_MAX, true));
	expect_wait(9, 0);
	expect_wait(0, ms(9));
	expect_wait(last, TP_NEVER);
}

static void
what_cannot_be_read_is_not_registered(void **unused)
{
	(void) unused;
	assert_int_equal(begin_scan(range_scan(5, 0, 0, false)), 0);
	assert_int_equal(begin_scan(range_scan(100, 1, 100, false)), 0);
	assert_int_equal(begin_scan(range_scan(5, 101, 100, false)), 0);
	assert_int_equal(scans.header->running, 0);
}

/* A range scan's distance is in blocks, whatever a block group is. */
static void
progress_moves_the_estimate_by_blocks(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(0, 100000, 0, false));

	(void) unused;
	for (uint32_t to = 0; to < 50000; to += 777)
	{
		advance_scan(scan, to, ms(to + 1));
		expect_wait_at(50000, ms(50000 - to - 1), ms(to + 1));
	}
}

static void
order_of_advances(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(100, 50, 0, false));

	(void) unused;
	advance_scan(scan, 109, 0);
	advance_scan(scan, 104, 0); /* behind it */
	expect_wait(110, 0);
	advance_scan(scan, 99, 0);	/* not its */
	advance_scan(scan, 150, 0);
	expect_wait(110, 0);
	advance_scan(scan, 120, 0); /* a step */
	expect_wait(115, TP_NEVER);
	expect_wait(121, 0);
}

static void
the_soonest_scan_counts(void **unused)
{
	tp_scan_spec fast = range_scan(0, 1000, 0, false);
	uint64_t	scan[3];

	(void) unused;
	fast.speed = 10 * SPEED;
	scan[0] = begin_scan(range_scan(0, 1000, 0, false));
	scan[1] = begin_scan(range_scan(50, 1000, 0, false));
	expect_wait(60, ms(10));
	expect_wait(40, ms(40));
	scan[2] = begin_scan(fast);
	expect_wait(60, ms(6));
	end_scan(scan[1]);
	expect_wait(60, ms(6));
	end_scan(scan[2]);
	expect_wait(60, ms(60));
	end_scan(scan[0]);
	expect_wait(60, TP_NEVER);
}

static void
relations_do_not_mix(void **unused)
{
	tp_scan_spec other = range_scan(0, 1000, 0, false);

	(void) unused;
	other.relation = RELATION + 1;
	begin_scan(other);
	expect_wait(3, TP_NEVER);
	begin_scan(range_scan(1, 1000, 0, false));
	expect_wait(3, ms(2));
}

/* More scans than stand side by side. */
static void
many_scans_of_one_relation(void **unused)
{
	uint64_t	scan[40];

	(void) unused;
	for (uint32_t i = 0; i < 40; i++)
		scan[i] = begin_scan(range_scan(100 * i, 100, 0, false));
	for (uint32_t i = 0; i < 40; i++)
		expect_wait(100 * i + 7, ms(7));
	for (uint32_t i = 0; i < 40; i += 2)
		end_scan(scan[i]);
	for (uint32_t i = 0; i < 40; i++)
		expect_wait(100 * i + 7, i % 2 == 0 ? TP_NEVER : ms(7));
	assert_int_equal(scans.header->running, 20);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup_scans, teardown_scans)
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
	};

	return cmocka_run_group_tests_name("scan_ranges", tests, NULL, NULL);
}
