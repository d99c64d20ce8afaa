/*
 * test_pbm.c
 *	  Literal states of predictive buffer management after short sequences: when
 *	  pages are expected.  Which of them are chosen: test_pbm_choice.c.
 */
#include <stdio.h>

#include "pbm_fixture.h"
#include "prediction/page_history.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT, 3, "1 2 3",
				 "frames: 1 2 3 | listed=0 | due=0 | next=0");
}

static void
without_scans_the_least_recently_used_goes(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT, 3, "1 2 3 1 4",
				 "frames: 1 4 3 | listed=1 | due=1 | next=1");
}

static void
without_the_fallback_the_first_one_goes(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT ",lru_fallback=0", 3, "1 2 3 1 4",
				 "frames: 4 2 3 | listed=1 | due=1 | next=1");
}

/* 12 is not wanted, 25 last of those that are */
static void
what_scans_want_last_goes(void **unused)
{
	fixture    *f = pool(FORESIGHT, 4, "22 12 21 25");

	(void) unused;
	scan_of(f, 20, 10);
	fixture_run(f, "1");
	fixture_expect(f, "frames: 22 1 21 25 | listed=1 | due=1 | next=1");
	fixture_run(f, "21 22 23");
	expect_and_free(f, "frames: 22 23 21 25 | listed=1 | due=1 | next=1");
}

/* A scan moves on: what was next is behind it. */
static void
estimates_follow_the_scan(void **unused)
{
	fixture    *f = pool(FORESIGHT, 3, "21 22 25");
	uint64_t	scan = scan_of(f, 20, 10);

	(void) unused;
	tp_scan_advance(&known_scans, scan, 21, f->now);
	fixture_run(f, "23");
	fixture_expect(f, "frames: 23 22 25 | listed=1 | due=1 | next=1");
	tp_scan_end(&known_scans, scan);
	fixture_run(f, "24");
	expect_and_free(f, "frames: 23 24 25 | listed=1 | due=1 | next=1");
}

/*
 * Intervals: 1 about 2, 2 about 1, 3 unknown.  Without frequency 1 would go,
 * with it 3, although it is the last.
 */
static void
frequency_keeps_what_returns(void **unused)
{
	(void) unused;
	expect_and_free(slow_pool(FORESIGHT, 3, "1 2 1 2 2 3 4"),
					"frames: 4 2 3 | listed=1 | due=1 | next=1");
	expect_and_free(slow_pool(PAPER "frequency=0", 3, "1 2 1 2 2 3 4"),
					"frames: 1 2 4 | listed=1 | due=1 | next=1");
}

/* Time since the last reference takes over: 1 (interval 1) is 8 ago, 2
 * (interval 6) is 1 ago. */
static void
what_has_not_returned_for_long_goes(void **unused)
{
	(void) unused;
	expect_and_free(slow_pool(PAPER "frequency=0", 2, "1 1 2 2c 2c 2c 2c 2c 2 3"),
					"frames: 3 2 | listed=1 | due=1 | next=1");
}

static void
vacuum_and_repetition_do_not_count(void **unused)
{
	(void) unused;
	expect_and_free(slow_pool(PAPER "frequency=0", 3, "1 2 3 2 1c 1v 4"),
					"frames: 4 2 3 | listed=1 | due=1 | next=1");
}

/* Otherwise 1 would be expected as soon as it is old. */
static void
references_at_the_same_time_count_as_one(void **unused)
{
	fixture    *f = slow_pool(PAPER "frequency=0", 2, "1");

	(void) unused;
	f->now -= f->pace;
	fixture_run(f, "1 2 3");
	expect_and_free(f, "frames: 3 2 | listed=1 | due=1 | next=1");
}

/* 1 and 2 were read twice by scans, 3 once by nobody known. */
static void
references_through_registered_scans_do_not_count(void **unused)
{
	const char *const frequencies[] = {
		PAPER "frequency=0", PAPER "frequency=1"
	};

	(void) unused;
	for (int on = 0; on < 2; on++)
	{
		fixture    *f = slow_pool(frequencies[on], 3, "");

		f->scan = scan_of(f, 1, 2);
		fixture_run(f, "1 2");
		tp_scan_end(&known_scans, f->scan);
		f->scan = scan_of(f, 1, 2);
		fixture_run(f, "1 2");
		tp_scan_end(&known_scans, f->scan);
		f->scan = 0;
		fixture_run(f, "3 4");
		expect_and_free(f, on ? "frames: 1 2 4 | listed=1 | due=1 | next=1" :
						"frames: 4 2 3 | listed=1 | due=1 | next=1");
	}
}

/* A scan between two point reads neither shortens nor breaks the interval. */
static void
intervals_span_references_that_do_not_count(void **unused)
{
	fixture    *f = slow_pool(PAPER "frequency=0", 2, "1 2 2 1");

	(void) unused;
	f->scan = scan_of(f, 1, 1);
	fixture_run(f, "1");
	tp_scan_end(&known_scans, f->scan);
	f->scan = 0;
	fixture_run(f, "2");		/* of 0.3 s: 2: 1 + (3 - 1) / 4 = 1.5; 1: 3, 2
								 * ago */
	fixture_run(f, "3");
	expect_and_free(f, "frames: 3 2 | listed=1 | due=1 | next=1");
}

/*
 * 1 and 2 were frequent once.  What comes later is referenced again after two
 * others have come, and then not any more.  The paper's keeps 1 and 2 for ever.
 */
static void
what_was_frequent_goes_before_newcomers_that_return(void **unused)
{
	const char *const frequencies[] = {
		PAPER "frequency=0,samples=16", PAPER "frequency=1,samples=16"
	};

	(void) unused;
	for (int on = 0; on < 2; on++)
	{
		fixture    *f = slow_pool(frequencies[on], 16, "1 2 1 2 1 2");
		char		text[32];

		f->now += 100000;
		for (int i = 100; i < 160; i++)
		{
			snprintf(text, sizeof(text), "%d %d", i, i - 2);
			fixture_run(f, text);
		}
		f->hits = 0;
		fixture_run(f, "1 2");
		assert_int_equal(f->hits, on ? 2 : 0);
		fixture_free(f);
	}
}

/*
 * Each page is referenced three times in a row: once, when the pool has come to
 * know how fast pages come in.  One of them again, after others have come.
 */
static void
references_in_a_row_are_one(void **unused)
{
	fixture    *f = pool(PAPER "frequency=0,samples=64", 64, "");
	char		text[32];

	(void) unused;
	for (int i = 0; i < 64; i++)
	{
		snprintf(text, sizeof(text), "%d %d %d", i, i, i);
		fixture_run(f, text);
	}
	for (int i = 30; i < 64; i++)
		assert_true(page_history_is_newcomer(page_history_of(&f->pool, i)));
	fixture_run(f, "40");
	assert_false(page_history_is_newcomer(page_history_of(&f->pool, 40)));
	fixture_free(f);
}

/*
 * 1 is referenced often; then nobody does anything for an hour.  That says nothing of
 * 1, so what comes then goes again before it.
 */
static void
pauses_say_nothing(void **unused)
{
	fixture    *f = pool(PAPER "frequency=0,samples=8", 8, "");

	(void) unused;
	f->pace = 30000;
	for (int i = 0; i < 20; i++)
		fixture_run(f, i % 4 == 0 ? "1 3 4" : "1 5 6 7 8");
	f->now += UINT64_C(3600) * 1000000;
	fixture_run(f, "11 12 13 14 15 16 17 18 19 20");
	f->hits = 0;
	fixture_run(f, "1");
	assert_int_equal(f->hits, 1);
	fixture_free(f);
}

static uint64_t
index_scan_to(uint64_t scan, uint64_t from, uint64_t to, uint64_t now)
{
	for (uint64_t tuple = from; tuple < to; tuple++)
		(void) tp_trail_tuple(&known_trails, scan, tuple, now);
	return scan;
}

/*
 * A leader reads 1 at time 1, 2 at 2; 3 is read at 3 by someone else.  Its
 * follower is 10 behind, so 1 and 2 are kept though 3 is the last.
 */
static void
pages_wait_for_trailing_index_scans(void **unused)
{
	const char *const index_scans[] = {
		FORESIGHT ",index_scans=0", FORESIGHT
	};

	(void) unused;
	for (int on = 0; on < 2; on++)
	{
		fixture    *f = pool(index_scans[on], 3, "");
		uint64_t	follower;

		f->scan = tp_trail_begin(&known_trails, 5, 0, 0);
		index_scan_to(f->scan, 0, 200, 1);
		fixture_run(f, "1 2");
		follower = tp_trail_begin(&known_trails, 5, 0, 0);
		index_scan_to(follower, 0, 100, 11);
		tp_trail_end(&known_trails, f->scan);	/* which changes nothing */
		f->scan = 0;
		fixture_run(f, "3 4");
		fixture_expect(f, on ? "frames: 1 2 4 | listed=1 | due=1 | next=1" :
					   "frames: 4 2 3 | listed=1 | due=1 | next=1");

		/* at 5, 2 is awaited in 7, 1 in 6, 4 never */
		if (on)
		{
			fixture_run(f, "5");
			fixture_expect(f, "frames: 1 2 5 | listed=1 | due=1 | next=1");
		}
		tp_trail_end(&known_trails, follower);
		fixture_free(f);
	}
}

/* Twice the delay after it was read, a page is not waited for any more. */
static void
followers_that_do_not_come_are_given_up(void **unused)
{
	fixture    *f = pool(FORESIGHT, 2, "");

	(void) unused;
	f->scan = tp_trail_begin(&known_trails, 5, 0, 0);
	index_scan_to(f->scan, 0, 200, 1);
	fixture_run(f, "1");
	index_scan_to(tp_trail_begin(&known_trails, 5, 0, 0), 0, 100, 11);
	f->scan = 0;
	f->now = 18;
	fixture_run(f, "2 3");		/* at 20, 1 is overdue by 9 of 10 */
	fixture_expect(f, "frames: 1 3 | listed=1 | due=1 | next=1");
	fixture_run(f, "4");
	expect_and_free(f, "frames: 4 3 | listed=1 | due=1 | next=1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT, 3, "1 2 3 1 /",
				 "frames: 1 3 | listed=1 | due=1 | next=1");
	expect_state("pbm", FORESIGHT, 2, "1 2 + 3",
				 "frames: 1 2 3 | listed=0 | due=0 | next=0");
	expect_state("pbm", NULL, 2, "1 2 3 -3 4 -2 -4 5",
				 "frames: 5 | listed=2 | due=1 | next=1");
}

/*
 * 20001 was referenced 2^25 microseconds before the last miss, 20002 2^20;
 * 10 and 5000 are read in 10 and 5,000 microseconds.
 */
static void
coldest_goes_by_the_estimate(void **unused)
{
	fixture    *f = pool(FORESIGHT, 5, "");

	(void) unused;
	fixture_run(f, "20001");
	f->now += 1 << 25;
	fixture_run(f, "20002");
	f->now += 1 << 20;
	scan_of(f, 0, 10000);
	fixture_run(f, "10 5000 12345");
	fixture_expect_coldest(f, "20001 20002 12345 5000 10");
	fixture_free(f);
}

/* Of a hit that comes when the page is gone, the frame's next page knows nothing. */
static void
late_hits_do_no_harm(void **unused)
{
	fixture    *f = pool(FORESIGHT, 2, "1 2 <1");
	tp_access	late = {.now = f->now + 1000};
	uint32_t	frame = fixture_claimed(f, 1);

	(void) unused;
	assert_true(f->pool.policy->flags & TP_HIT_IN_EXTRA);
	tp_hit(&f->pool, frame, &late);
	tp_release(&f->pool, frame);
	fixture_run(f, "3 2 4");
	expect_and_free(f, "frames: 4 2 | listed=1 | due=1 | next=1");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pbm, teardown_pbm)
	const struct CMUnitTest tests[] = {
		TEST(fills_free_frames_first),
		TEST(without_scans_the_least_recently_used_goes),
		TEST(without_the_fallback_the_first_one_goes),
		TEST(what_scans_want_last_goes),
		TEST(estimates_follow_the_scan),
		TEST(frequency_keeps_what_returns),
		TEST(what_has_not_returned_for_long_goes),
		TEST(vacuum_and_repetition_do_not_count),
		TEST(references_at_the_same_time_count_as_one),
		TEST(references_through_registered_scans_do_not_count),
		TEST(intervals_span_references_that_do_not_count),
		TEST(what_was_frequent_goes_before_newcomers_that_return),
		TEST(references_in_a_row_are_one),
		TEST(pauses_say_nothing),
		TEST(pages_wait_for_trailing_index_scans),
		TEST(followers_that_do_not_come_are_given_up),
		TEST(frames_join_and_leave),
		TEST(coldest_goes_by_the_estimate),
		TEST(late_hits_do_no_harm),
	};

	return cmocka_run_group_tests_name("pbm", tests, NULL, NULL);
}
