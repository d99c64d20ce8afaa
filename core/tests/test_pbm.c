/*
 * test_pbm.c
 *	  Literal states of predictive buffer management after short sequences.
 *
 * Pools no larger than the sample are looked at whole, so nothing is drawn;
 * all parameters that go beyond the paper are off unless a test is about them.
 * A scan reads a block a microsecond, and a reference takes as long.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "prediction/page_history.h"
#include "tidepool/prediction/trail.h"

/* As the paper has it; 1 is frequency=on, 2 off. */
#define PAPER "remember=0,neighbours=0,scan_history=0,"
#define FORESIGHT PAPER "frequency=2"

/* The same with candidates of which one can be preferred. */
#define CANDIDATES "neighbours=0,scan_history=0,frequency=2"

#define SPEED 1e6

static tp_scans scans;
static tp_trails trails;
static void *scans_block;
static void *trails_block;

static int
setup(void **unused)
{
	(void) unused;
	scans_block = aligned_alloc(64, tp_scans_size(16, 0));
	trails_block = malloc(tp_trails_size(16, 1024));
	assert_non_null(scans_block);
	assert_non_null(trails_block);
	scans = tp_scans_init(16, 0, scans_block);
	trails = tp_trails_init(16, 1024, trails_block);
	return 0;
}

static int
teardown(void **unused)
{
	(void) unused;
	free(scans_block);
	free(trails_block);
	return 0;
}

/* A pool that knows of scans, after these references. */
static fixture *
pool(const char *params, uint32_t frames, const char *text)
{
	fixture    *f = fixture_new("pbm", params, frames);

	f->services.scans = &scans;
	f->services.trails = &trails;
	fixture_run(f, text);
	return f;
}

/*
 * The same, a reference each 0.3 seconds: what makes none of two references in a
 * row.
 */
static fixture *
slow_pool(const char *params, uint32_t frames, const char *text)
{
	fixture    *f = pool(params, frames, "");

	f->pace = 300000;
	fixture_run(f, text);
	return f;
}

static uint64_t
scan_of(const fixture *f, uint32_t first, uint32_t count)
{
	tp_scan_spec spec = {0};

	spec.first = first;
	spec.count = count;
	spec.speed = SPEED;
	return tp_scan_begin(&scans, &spec, f->now);
}

static void
expect_and_free(fixture *f, const char *state)
{
	fixture_expect(f, state);
	fixture_free(f);
}

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
	tp_scan_advance(&scans, scan, 21, f->now);
	fixture_run(f, "23");
	fixture_expect(f, "frames: 23 22 25 | listed=1 | due=1 | next=1");
	tp_scan_end(&scans, scan);
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
		tp_scan_end(&scans, f->scan);
		f->scan = scan_of(f, 1, 2);
		fixture_run(f, "1 2");
		tp_scan_end(&scans, f->scan);
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
	tp_scan_end(&scans, f->scan);
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

static uint64_t
index_scan_to(uint64_t scan, uint64_t from, uint64_t to, uint64_t now)
{
	for (uint64_t tuple = from; tuple < to; tuple++)
		(void) tp_trail_tuple(&trails, scan, tuple, now);
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

		f->scan = tp_trail_begin(&trails, 5, 0, 0);
		index_scan_to(f->scan, 0, 200, 1);
		fixture_run(f, "1 2");
		follower = tp_trail_begin(&trails, 5, 0, 0);
		index_scan_to(follower, 0, 100, 11);
		tp_trail_end(&trails, f->scan); /* which changes nothing */
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
		tp_trail_end(&trails, follower);
		fixture_free(f);
	}
}

/* Twice the delay after it was read, a page is not waited for any more. */
static void
followers_that_do_not_come_are_given_up(void **unused)
{
	fixture    *f = pool(FORESIGHT, 2, "");

	(void) unused;
	f->scan = tp_trail_begin(&trails, 5, 0, 0);
	index_scan_to(f->scan, 0, 200, 1);
	fixture_run(f, "1");
	index_scan_to(tp_trail_begin(&trails, 5, 0, 0), 0, 100, 11);
	f->scan = 0;
	f->now = 18;
	fixture_run(f, "2 3");		/* at 20, 1 is overdue by 9 of 10 */
	fixture_expect(f, "frames: 1 3 | listed=1 | due=1 | next=1");
	fixture_run(f, "4");
	expect_and_free(f, "frames: 4 3 | listed=1 | due=1 | next=1");
}

/* 1, 2 and 3 are chosen at once; 2 is referenced before its turn. */
static void
victims_are_chosen_in_bulk(void **unused)
{
	fixture    *f = pool(FORESIGHT ",victims=3", 4, "1 2 3 4 5");

	(void) unused;
	fixture_expect(f, "frames: 5 2 3 4 | listed=3 | due=3 | next=1");
	fixture_run(f, "2 6");
	fixture_expect(f, "frames: 5 2 6 4 | listed=3 | due=3 | next=2");
	fixture_run(f, "7");		/* none is due: 4, 5, 2 */
	expect_and_free(f, "frames: 5 2 6 7 | listed=3 | due=3 | next=1");
}

static void
unusable_frames_are_passed_over(void **unused)
{
	fixture    *f = pool(FORESIGHT ",victims=3", 4, "1 2 3 4 5 !2 6");

	(void) unused;
	fixture_expect(f, "frames: 5 2 6 4 | listed=3 | due=3 | next=2");
	fixture_run(f, "!5 !4 7 !7 8");
	fixture_expect(f, "frames: 5 2 7 4 | listed=0 | due=0 | next=1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* With one sample, members drawn with seed 1: 2 2 3 1 1 ... of 4. */
static void
what_was_looked_at_is_remembered(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT ",samples=1", 4, "1 2 3 4 5 6",
				 "frames: 1 2 6 4 | listed=1 | due=1 | next=1");
	expect_state("pbm", "neighbours=0,frequency=2,samples=2,remember=1", 4,
				 "1 2 3 4 5", "frames: 1 2 5 4 | listed=1 | due=1 | next=1");
	expect_state("pbm", "neighbours=0,frequency=2,samples=2,remember=1", 4,
				 "1 2 3 4 5 6", "frames: 1 6 5 4 | listed=2 | due=1 | next=1");
	expect_state("pbm", "neighbours=0,frequency=2,samples=2,remember=1", 4,
				 "1 2 3 4 5 6 7", "frames: 1 6 5 7 | listed=2 | due=1 | next=1");
}

/* Not all that is remembered is as far as it was. */
static void
the_remembered_are_estimated_anew(void **unused)
{
	fixture    *f = pool("neighbours=0,scan_history=0,frequency=2,remember=2", 4,
						 "21 22 23 24 1");

	(void) unused;
	fixture_expect(f, "frames: 1 22 23 24 | listed=3 | due=1 | next=1");
	scan_of(f, 22, 1);
	fixture_run(f, "2");
	expect_and_free(f, "frames: 1 22 2 24 | listed=3 | due=1 | next=1");
}

/*
 * 22 is remembered when its frame gets 50, which no scan reads; all others are
 * read.
 */
static void
what_is_remembered_of_another_page_is_replaced(void **unused)
{
	fixture    *f = pool("neighbours=0,scan_history=0,frequency=2,remember=1", 4,
						 "21 22 23 24 25");

	(void) unused;
	fixture_expect(f, "frames: 25 22 23 24 | listed=2 | due=1 | next=1");
	scan_of(f, 20, 10);
	fixture_run(f, "-22 50 2");
	expect_and_free(f, "frames: 25 2 23 24 | listed=2 | due=1 | next=1");
}

/* Drawn: 3, then 3 again, which is pinned, and 4. */
static void
if_all_candidates_are_pinned_usable_frames_are_drawn(void **unused)
{
	(void) unused;
	expect_state("pbm", FORESIGHT ",samples=1", 4, "1 2 3 4 !3 5",
				 "frames: 1 2 3 5 | listed=1 | due=1 | next=1");
}

/*
 * The frame of 3 is drawn twice.  A scan has loaded 2 just before 3, and 4
 * just after: both are candidates then, and 2 is the least recently used.
 */
static void
pages_loaded_next_to_the_last_victim_are_candidates(void **unused)
{
	static const struct
	{
		const char *params;
		bool		index_scan;
		const char *state;
	}			cases[] = {
		{FORESIGHT ",samples=1", false,
			"frames: 1 2 6 4 | listed=1 | due=1 | next=1"},
		{FORESIGHT ",samples=1,neighbours=1", false,
			"frames: 1 6 5 4 | listed=1 | due=1 | next=1"},
		{FORESIGHT ",samples=1,neighbours=1", true,
			"frames: 1 2 6 4 | listed=1 | due=1 | next=1"},
	};

	(void) unused;
	for (int i = 0; i < 3; i++)
	{
		fixture    *f = pool(cases[i].params, 4, "");

		f->scan = cases[i].index_scan ? tp_trail_begin(&trails, 5, 0, 0) :
			scan_of(f, 1, 4);
		fixture_run(f, "1 2 3 4");
		tp_scan_end(&scans, f->scan);
		f->scan = 0;
		fixture_run(f, "5 6");
		expect_and_free(f, cases[i].state);
	}
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

/* 2 is as far as 1, and need not be written; nor need 1 when it has been. */
static void
clean_pages_go_before_dirty_ones(void **unused)
{
	fixture    *f = pool(CANDIDATES, 3, "1w 2 3w 4");

	(void) unused;
	fixture_expect(f, "frames: 1 4 3 | listed=3 | due=1 | next=1");
	fixture_run(f, "=1 5");
	fixture_expect(f, "frames: 5 4 3 | listed=3 | due=1 | next=1");
	fixture_run(f, "4w 5w 6");	/* all are dirty: 3 is the oldest */
	fixture_expect(f, "frames: 5 4 6 | listed=3 | due=1 | next=1");
	fixture_run(f, "!6 7");		/* the only clean one is pinned */
	expect_and_free(f, "frames: 5 7 6 | listed=2 | due=1 | next=1");
}

/* 21 is read before 25, so 25 goes, dirty or not. */
static void
a_dirty_page_that_is_further_goes(void **unused)
{
	fixture    *f = pool(CANDIDATES, 2, "21 25w");

	(void) unused;
	scan_of(f, 20, 10);
	fixture_run(f, "1");
	expect_and_free(f, "frames: 21 1 | listed=2 | due=1 | next=1");
}

/* All three victims are clean, although the dirty ones are older. */
static void
a_bulk_takes_clean_pages_first(void **unused)
{
	fixture    *f = pool(CANDIDATES ",victims=3", 6, "1w 2 3w 4 5w 6 7");

	(void) unused;
	fixture_run(f, "8 9");
	expect_and_free(f, "frames: 1 7 3 8 5 9 | listed=6 | due=3 | next=2");
}

static void
expect_reason(fixture *f, const char *text, tp_reason reason, bool soon)
{
	fixture_run(f, text);
	assert_int_equal(f->pool.chooser->reason, reason);
	assert_int_equal(f->pool.chooser->wanted_soon, soon);
}

/*
 * 5 is of a relation that no scan reads, 99999999 of one that a scan reads
 * elsewhere, 3000000 is read in 3 seconds, 500000 in half of one.
 */
static void
a_proposal_has_a_reason(void **unused)
{
	fixture    *f = pool(FORESIGHT, 4, "1:5 99999999 3000000 500000");

	(void) unused;
	scan_of(f, 0, 10000000);
	expect_reason(f, "20", TP_BY_RECENCY, false);
	expect_reason(f, "21", TP_BY_PREDICTION, false);
	expect_reason(f, "22", TP_BY_PREDICTION, false);
	expect_reason(f, "23", TP_BY_PREDICTION, true);
	fixture_free(f);

	f = slow_pool(PAPER "frequency=0", 2, "1:1 1:1 1:2 1:2");
	expect_reason(f, "1:3", TP_BY_FREQUENCY, false);
	fixture_free(f);
}

/* Of three chosen at once the second has a frequency, the third a scan. */
static void
each_of_a_bulk_has_its_reason(void **unused)
{
	fixture    *f = slow_pool(PAPER "frequency=0,victims=3", 4, "1:1 1:2 5 9");

	(void) unused;
	fixture_run(f, "1:2");
	scan_of(f, 0, 10);
	expect_reason(f, "2:1", TP_BY_RECENCY, false);
	expect_reason(f, "2:2", TP_BY_FREQUENCY, false);
	expect_reason(f, "2:3", TP_BY_PREDICTION, true);
	fixture_free(f);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
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
		TEST(pages_wait_for_trailing_index_scans),
		TEST(followers_that_do_not_come_are_given_up),
		TEST(victims_are_chosen_in_bulk),
		TEST(unusable_frames_are_passed_over),
		TEST(what_was_looked_at_is_remembered),
		TEST(the_remembered_are_estimated_anew),
		TEST(what_is_remembered_of_another_page_is_replaced),
		TEST(if_all_candidates_are_pinned_usable_frames_are_drawn),
		TEST(pages_loaded_next_to_the_last_victim_are_candidates),
		TEST(frames_join_and_leave),
		TEST(clean_pages_go_before_dirty_ones),
		TEST(a_dirty_page_that_is_further_goes),
		TEST(a_bulk_takes_clean_pages_first),
		TEST(a_proposal_has_a_reason),
		TEST(each_of_a_bulk_has_its_reason),
		TEST(coldest_goes_by_the_estimate),
		TEST(late_hits_do_no_harm),
	};

	return cmocka_run_group_tests_name("pbm", tests, NULL, NULL);
}
