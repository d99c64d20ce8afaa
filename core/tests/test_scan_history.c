/*
 * test_scan_history.c
 *	  Expectations of scans that have not begun, and where to begin so as to
 *	  meet one that has.
 *
 * Scans read 1,000 blocks a second: a block takes a millisecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tidepool/prediction/scan.h"

#define RELATION 7
#define MS 1000					/* microseconds */

static void *block;
static tp_scans scans;

static int
setup(void **unused)
{
	(void) unused;
	block = aligned_alloc(64, tp_scans_size(16, 2));
	assert_non_null(block);
	scans = tp_scans_init(16, 2, block);
	return 0;
}

static int
teardown(void **unused)
{
	(void) unused;
	assert_int_equal(tp_scans_check(&scans, NULL, NULL), 0);
	free(block);
	return 0;
}

static tp_scan_spec
range(uint64_t relation, uint32_t first, uint32_t count, uint32_t size)
{
	tp_scan_spec spec = {0};

	spec.relation = relation;
	spec.first = first;
	spec.count = count;
	spec.size = size;
	spec.speed = 1000;
	return spec;
}

/* Begin at this time, read everything, end. */
static void
run(tp_scan_spec spec, uint64_t now)
{
	uint64_t	handle = tp_scan_begin(&scans, &spec, now);

	for (uint32_t i = 0; i < spec.count; i++)
		tp_scan_advance(&scans, handle, spec.first + i, now + i * MS);
	tp_scan_end(&scans, handle);
}

static double
expected_of(uint64_t relation, uint32_t at, uint64_t now)
{
	tp_scan_found found = {0};

	return tp_scan_expected_access(&scans, &found, tp_page_make(relation, at), 0,
								   now);
}

static double
expected(uint32_t at, uint64_t now)
{
	return expected_of(RELATION, at, now);
}

static void
assert_about(double value, double wanted)
{
	assert_true(value > 0.8 * wanted && value < 1.25 * wanted);
}

static void
no_past_no_expectation(void **unused)
{
	(void) unused;
	assert_true(expected(0, 0) == TP_NEVER);
	run(range(RELATION, 0, 1024, 16384), 0);
	/* one scan has no interval to the next */
	assert_true(expected(0, 2000 * MS) == TP_NEVER);
}

/* A scan of blocks 0 .. 1023 every 10 s, every fifth goes on to 16383. */
static uint64_t
make_history(void)
{
	uint64_t	now = 0;

	for (uint32_t i = 0; i < 500; i++, now += 10000 * MS)
		run(range(RELATION, 0, i % 5 == 4 ? 16384 : 1024, 16384), now);
	return now;
}

static void
regions_are_expected_as_often_as_they_were_visited(void **unused)
{
	uint64_t	now = make_history();
	double		lead_time = (double) scans.header->lead_time;

	(void) unused;
	assert_about(expected(100, now) - lead_time, 10000.0 * MS);
	assert_about(expected(16000, now) - lead_time, 50000.0 * MS);
}

/* Of two relations that one is expected later which is scanned less often,
 * however long its scans take. */
static void
relations_compare_by_how_often_they_are_scanned(void **unused)
{
	uint64_t	now = 0;

	(void) unused;
	for (uint32_t i = 0; i < 40; i++, now += 10000 * MS)
	{
		run(range(RELATION, 0, 8192, 8192), now);
		if (i % 4 == 0)
			run(range(RELATION + 1, 0, 128, 128), now);
	}
	assert_true(expected(8000, now) <
				expected_of(RELATION + 1, 0, now));
}

static void
running_scans_bring_it_forward(void **unused)
{
	uint64_t	now = make_history();
	tp_scan_spec spec = range(RELATION, 0, 16384, 16384);
	double		alone = expected(16000, now);
	uint64_t	handle = tp_scan_begin(&scans, &spec, now);

	(void) unused;
	/* what is near is known exactly */
	assert_about(expected(200, now), 200.0 * MS);
	/* what is far is not expected later than known */
	assert_true(expected(16000, now) <= 16000.0 * MS);
	assert_true(expected(16000, now) < alone);
	tp_scan_end(&scans, handle);
}

/* The second scan of a relation, much slower than the first, has just begun. */
static void
what_a_running_scan_will_read_comes_before_what_it_has_read(void **unused)
{
	uint64_t	now = 8200 * MS;
	tp_scan_spec slow = range(RELATION, 0, 8192, 8192);
	uint64_t	handle;

	(void) unused;
	run(range(RELATION, 0, 8192, 8192), 0);
	slow.speed = 100;
	handle = tp_scan_begin(&scans, &slow, now);
	for (uint32_t i = 0; i < 256; i++, now += 10 * MS)
		tp_scan_advance(&scans, handle, i, now);
	assert_true(expected(8191, now) < expected(0, now));
	tp_scan_end(&scans, handle);
}

static void
history_fades_when_scans_cease(void **unused)
{
	uint64_t	now = make_history();

	(void) unused;
	assert_true(expected(100, now + 1000000u * (uint64_t) MS) >
				5 * expected(100, now));
}

static void
other_regions_are_never_expected(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 10; i++)
		run(range(RELATION, 0, 1024, 16384), i * UINT64_C(10000000));
	assert_true(expected(8000, 100000000) == TP_NEVER);
}

static void
what_is_forgotten_is_not_expected(void **unused)
{
	uint64_t	now = make_history();

	(void) unused;
	tp_scans_forget(&scans);
	assert_true(expected(100, now) == TP_NEVER);

	/* from then on as if nothing had been before */
	run(range(RELATION, 0, 1024, 16384), now);
	assert_true(expected(100, now + 2000 * MS) == TP_NEVER);
	run(range(RELATION, 0, 1024, 16384), now + 10000 * MS);
	assert_about(expected(100, now + 12000 * MS) -
				 (double) scans.header->lead_time, 10000.0 * MS);
}

static void
history_survives_growth(void **unused)
{
	uint64_t	now = make_history();
	double		before = expected(100, now - 1);

	(void) unused;
	run(range(RELATION, 0, 1024, 65536), now);
	assert_about(expected(100, now + 1024 * MS), before);
}

static void
the_longest_unseen_relation_gives_way(void **unused)
{
	(void) unused;
	for (uint64_t relation = 100; relation < 200; relation++)
	{
		run(range(relation, 0, 256, 256), relation * 1000000);
		run(range(relation, 0, 256, 256), relation * 1000000 + 500000);
		assert_true(expected_of(relation, 0, relation * 1000000 + 900000) <
					TP_NEVER);
	}
}

/* ---- meeting ---- */

static uint64_t met;			/* the scan that the last one met */

static uint32_t
meet(tp_scan_spec spec)
{
	return tp_scan_meet(&scans, &spec, 0, &met);
}

static uint64_t
begin_at(uint32_t first, uint32_t count, uint32_t done)
{
	tp_scan_spec spec = range(RELATION, first, count, 0);
	uint64_t	handle = tp_scan_begin(&scans, &spec, 0);

	if (done > 0)
		tp_scan_advance(&scans, handle, first + done - 1, 0);
	return handle;
}

static void
alone_at_the_beginning(void **unused)
{
	(void) unused;
	assert_int_equal(meet(range(RELATION, 100, 50, 0)), 100);
	assert_int_equal(met, 0);
	begin_at(500, 100, 10);
	assert_int_equal(meet(range(RELATION, 100, 50, 0)), 100);
	assert_int_equal(met, 0);
}

static void
where_most_is_to_be_shared(void **unused)
{
	uint64_t	a = begin_at(0, 1000, 900); /* at 900, 100 to come */
	uint64_t	b = begin_at(0, 1000, 400); /* at 400, 600 to come */

	(void) unused;
	begin_at(0, 1000, 50);		/* at 50, before the range */
	assert_int_equal(meet(range(RELATION, 100, 900, 0)), 400);
	assert_int_equal(met, b);
	assert_int_equal(meet(range(RELATION, 800, 200, 0)), 900);
	assert_int_equal(met, a);
}

static void
equal_speed_counts_more(void **unused)
{
	tp_scan_spec slow = range(RELATION, 0, 1000, 0);

	(void) unused;
	slow.speed = 100;
	tp_scan_begin(&scans, &slow, 0);
	begin_at(0, 1000, 500);
	assert_int_equal(meet(range(RELATION, 0, 1000, 0)), 500);
}

static void
one_that_comes_round(void **unused)
{
	tp_scan_spec round = range(RELATION, 900, 1000, 1000);

	(void) unused;
	tp_scan_begin(&scans, &round, 0);
	/* 900 .. 999, then 0 .. 799: 100 + 800 in common */
	begin_at(0, 800, 100);
	assert_int_equal(meet(range(RELATION, 0, 1000, 0)), 900);
}

/* The scan that was advised reads its part of the relation from the middle. */
static void
a_part_is_read_round(void **unused)
{
	tp_scan_spec part = range(RELATION, 400, 900, 900);

	(void) unused;
	part.low = 100;
	tp_scan_begin(&scans, &part, 0);
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION, 399), 0) ==
				899.0 * MS);
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION, 100), 0) ==
				600.0 * MS);
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION, 99), 0) ==
				TP_NEVER);
	assert_true(tp_scan_next_access(&scans, tp_page_make(RELATION, 1000), 0) ==
				TP_NEVER);
}

/* Asked only whether a page is expected before `from`, it need not say when. */
static void
before_from_any_number_will_do(void **unused)
{
	tp_scan_spec spec = range(RELATION, 0, 16384, 16384);
	const uint64_t now = make_history();
	tp_scan_found found = {0};
	uint32_t	both = 0;
	tp_bitmap	groups;

	(void) unused;
	tp_scan_advance(&scans, tp_scan_begin(&scans, &spec, now), 9000, now);
	tp_bitmap_init(&groups, 16384);
	for (uint32_t at = 2048; at < 16384; at += 512)
		tp_bitmap_add(&groups, at, 384);
	spec.bitmap = &groups;
	spec.first = 2048;
	spec.speed = 100;
	tp_scan_begin(&scans, &spec, now);

	/*
	 * the bitmap has three quarters of these; the last lie where few scans
	 * come
	 */
	for (uint32_t at = 0; at < 16384; at += 100)
	{
		double		wait = expected(at, now);

		for (double from = 1000.0 * MS; from < 1e9 * MS; from *= 1.1)
		{
			double		rough = tp_scan_expected_access(&scans, &found,
														tp_page_make(RELATION, at),
														from, now);

			both |= wait < from ? 1 : 2;
			if (wait >= from ? rough != wait : rough < wait || rough >= from)
				fail_msg("block %u, from %f: %f us, not %f", at, from, rough, wait);
		}
		/* nothing is later than never */
		assert_true(tp_scan_expected_access(&scans, &found,
											tp_page_make(RELATION, at), TP_NEVER,
											now) >= wait);
	}
	assert_int_equal(both, 3);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(no_past_no_expectation),
		TEST(regions_are_expected_as_often_as_they_were_visited),
		TEST(relations_compare_by_how_often_they_are_scanned),
		TEST(running_scans_bring_it_forward),
		TEST(what_a_running_scan_will_read_comes_before_what_it_has_read),
		TEST(history_fades_when_scans_cease),
		TEST(before_from_any_number_will_do),
		TEST(other_regions_are_never_expected),
		TEST(what_is_forgotten_is_not_expected),
		TEST(history_survives_growth),
		TEST(the_longest_unseen_relation_gives_way),
		TEST(alone_at_the_beginning),
		TEST(where_most_is_to_be_shared),
		TEST(equal_speed_counts_more),
		TEST(one_that_comes_round),
		TEST(a_part_is_read_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
