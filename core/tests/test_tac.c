/*
 * test_tac.c
 *	  Literal states of TAC after short sequences.
 *
 * Extents are of 4 pages, and unless a test is about it no read is ever
 * sequential, so that every reference warms its extent by FIXTURE_RANDOM = 8.
 */
#include <stdlib.h>

#include "fixture.h"

#define RANDOM_ONLY "extent=4,window=1,sequential_above=1"
#define NONE_PASSED " | passed:"

static void
all_is_admitted_while_there_is_room(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY, 3, "0 8 16", "cached: 0 8 16" NONE_PASSED);
}

static void
the_equally_cold_are_refused(void **unused)
{
	fixture    *f = fixture_new("tac", RANDOM_ONLY, 2);

	(void) unused;
	fixture_run(f, "0 8 16");
	fixture_expect(f, "cached: 0 8" NONE_PASSED);
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* Also where no margin is asked for. */
static void
a_page_must_be_warmer(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY ",admit_margin=0", 2, "0 8 16",
				 "cached: 0 8" NONE_PASSED);
}

static void
a_warmer_page_replaces_the_coldest(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY, 2, "0 8 0 16 16", "cached: 0 16" NONE_PASSED);
}

static void
of_equals_the_lower_frame_goes(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY, 2, "0 8 16 16", "cached: 8 16" NONE_PASSED);
}

/* Page 1 has warmed page 0, which was noted as 8. */
static void
neighbours_warm_each_other(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY, 2, "0 8 1", "cached: 0 1" NONE_PASSED);
}

/* Without a second look page 0 is the choice, which is as warm as page 1. */
static void
looks_are_limited(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY ",heap_refresh=0", 2, "0 8 1",
				 "cached: 0 8" NONE_PASSED);
	expect_state("tac", RANDOM_ONLY ",heap_refresh=1", 2, "0 8 1",
				 "cached: 0 1" NONE_PASSED);
}

static void
the_margin_is_asked_for(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY ",admit_margin=1", 2, "0 8 1 1 9",
				 "cached: 0 1" NONE_PASSED);
	expect_state("tac", RANDOM_ONLY ",admit_margin=1.5", 2, "0 8 1",
				 "cached: 8 0" NONE_PASSED);
}

/*
 * Blocks 1 .. 3 warm their extent by 24, blocks 4 .. 7 theirs by 4 if they are
 * seen to be sequential, by 32 if not.
 */
static void
sequential_reads_warm_little(void **unused)
{
	(void) unused;
	expect_state("tac", "extent=4,sequential_above=2", 1, "1 2 3 4 5 6 7",
				 "cached: 1" NONE_PASSED);
	expect_state("tac", RANDOM_ONLY, 1, "1 2 3 4 5 6 7", "cached: 7" NONE_PASSED);
}

/* After two reads each temperature halves: 8/2 and 16/4 against 8 + 8/2. */
static void
what_was_warm_cools(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY ",aging=1", 2, "0 0 8 8 16",
				 "cached: 8 16" NONE_PASSED);
	expect_state("tac", RANDOM_ONLY ",aging=100", 2, "0 0 8 8 16",
				 "cached: 0 8" NONE_PASSED);
}

static void
pinned_pages_are_passed_over(void **unused)
{
	fixture    *f = fixture_new("tac", RANDOM_ONLY, 3);

	(void) unused;
	fixture_run(f, "0 8 16 !0 !8 24 24 ?0 32 32");
	fixture_expect(f, "cached: 32 24 | passed: 8");
	fixture_run(f, "!32 !24 !8 40 40 40 40");
	fixture_expect(f, "cached: | passed: 24 32 8");
	fixture_run(f, "?8 48 48 48 48 48");	/* 8 is colder than 32, which is
											 * passed */
	fixture_expect(f, "cached: 48 | passed: 32 24");
	fixture_free(f);
}

static void
frames_come_and_go(void **unused)
{
	(void) unused;
	expect_state("tac", RANDOM_ONLY, 3, "0 8 16 -8 / 24 24",
				 "cached: 16 24" NONE_PASSED);
	expect_state("tac", RANDOM_ONLY, 1, "0 + 8 16 16",
				 "cached: 8 16" NONE_PASSED);
}

static void
coldest_by_heap(void **unused)
{
	fixture    *f = fixture_new("tac", RANDOM_ONLY, 3);

	(void) unused;
	fixture_run(f, "0 0 0 0 8 16 16");
	fixture_expect_coldest(f, "0 8 16");	/* all were noted as 8 */
	fixture_run(f, "24");		/* is refused, but 0 is noted as 32 now */
	fixture_expect_coldest(f, "8 16 0");
	fixture_run(f, "24");		/* replaces 8 */
	fixture_expect_coldest(f, "16 24 0");
	fixture_free(f);
}

/* Whoever keeps no temperatures gets a pool that never replaces a page. */
static void
without_temperatures_all_pages_are_cold(void **unused)
{
	fixture    *f = fixture_new("tac", NULL, 2);

	(void) unused;
	free(f->extents);
	f->extents = NULL;
	f->services.extents = NULL;
	fixture_run(f, "1 2 3 3 3");
	fixture_expect(f, "cached: 1 2" NONE_PASSED);
	fixture_expect_coldest(f, "1 2");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_admitted_while_there_is_room),
		cmocka_unit_test(the_equally_cold_are_refused),
		cmocka_unit_test(a_page_must_be_warmer),
		cmocka_unit_test(a_warmer_page_replaces_the_coldest),
		cmocka_unit_test(of_equals_the_lower_frame_goes),
		cmocka_unit_test(neighbours_warm_each_other),
		cmocka_unit_test(looks_are_limited),
		cmocka_unit_test(the_margin_is_asked_for),
		cmocka_unit_test(sequential_reads_warm_little),
		cmocka_unit_test(what_was_warm_cools),
		cmocka_unit_test(pinned_pages_are_passed_over),
		cmocka_unit_test(frames_come_and_go),
		cmocka_unit_test(coldest_by_heap),
		cmocka_unit_test(without_temperatures_all_pages_are_cold),
	};

	return cmocka_run_group_tests_name("tac", tests, NULL, NULL);
}
