/*
 * test_pbm_choice.c
 *	  Literal states of predictive buffer management after short sequences: which
 *	  frames are looked at, which are chosen, and for what reason.
 */
#include "pbm_fixture.h"

/* Candidates of which one can be preferred. */
#define CANDIDATES "neighbours=0,scan_history=0,frequency=2"

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

		f->scan = cases[i].index_scan ? tp_trail_begin(&known_trails, 5, 0, 0) :
			scan_of(f, 1, 4);
		fixture_run(f, "1 2 3 4");
		tp_scan_end(&known_scans, f->scan);
		f->scan = 0;
		fixture_run(f, "5 6");
		expect_and_free(f, cases[i].state);
	}
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

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pbm, teardown_pbm)
	const struct CMUnitTest tests[] = {
		TEST(victims_are_chosen_in_bulk),
		TEST(unusable_frames_are_passed_over),
		TEST(what_was_looked_at_is_remembered),
		TEST(the_remembered_are_estimated_anew),
		TEST(what_is_remembered_of_another_page_is_replaced),
		TEST(if_all_candidates_are_pinned_usable_frames_are_drawn),
		TEST(pages_loaded_next_to_the_last_victim_are_candidates),
		TEST(clean_pages_go_before_dirty_ones),
		TEST(a_dirty_page_that_is_further_goes),
		TEST(a_bulk_takes_clean_pages_first),
		TEST(a_proposal_has_a_reason),
		TEST(each_of_a_bulk_has_its_reason),
	};

	return cmocka_run_group_tests_name("pbm_choice", tests, NULL, NULL);
}
