/*
 * test_hyperbolic.c
 *	  Literal states of hyperbolic caching after short sequences.
 *
 * Priorities in the comments are references / age at the time of the miss.  The
 * clock stands still until a page has 16 references, or leaves.
 * Pools no larger than the sample are looked at whole, so nothing is drawn;
 * where sample=1, members are drawn with seed 1: 2 2 3 1 1 ... of 4.
 */
#include "fixture.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 2 3", "frames: 1 2 3 | clock=0");
}

/* 1: 3/1, 2: 1/1, 3: 2/1 */
static void
lowest_priority_goes(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 1 2 3 3 4",
				 "frames: 1 4 3 | clock=1");
}

/* All 1/1. */
static void
first_of_equals_goes(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 2 3 4", "frames: 4 2 3 | clock=1");
}

/* 1: 3/17, 2: 16/17, 3: 2/1 */
static void
popularity_decays_with_age(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 1 "
				 "2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 3 3 4",
				 "frames: 4 2 3 | clock=19");
}

/* 1: 1/1, 2: 2/1, 3: 2/1 */
static void
vacuum_and_repetition_do_not_count(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1c 1v 2 2 3 3 4",
				 "frames: 4 2 3 | clock=1");
	expect_state("hyperbolic", NULL, 3, "1 2v 3c", "frames: 1 2 3 | clock=0");
}

/* The clock is the first word of the state, references are a word's lower bits. */
static void
references_that_stop_are_halved_with_the_age(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2");
	f->pool.header->state[0] = 1001;
	f->pool.nodes[0].word |= (1 << 24) - 1;
	fixture_run(f, "1");
	assert_int_equal(f->pool.nodes[0].word >> 24, 501);
	assert_int_equal(f->pool.nodes[0].word & ((1 << 24) - 1), 1 << 23);
	fixture_free(f);
}

/* 1: 18/17, 2: 1/1, 3: 2/1, though a clock of 2^40 is stored as 0. */
static void
a_page_may_stay_while_the_clock_wraps(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 3);

	(void) unused;
	f->pool.header->state[0] = (UINT64_C(1) << 40) - 3;
	fixture_run(f, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 2 3 3 4");
	fixture_expect(f, "frames: 1 4 3 | clock=1099511627790");
	fixture_free(f);
}

static void
references_advance_time_sixteen_at_once(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 1);

	(void) unused;
	fixture_run(f, "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
	fixture_expect(f, "frames: 1 | clock=0");
	fixture_run(f, "1");
	fixture_expect(f, "frames: 1 | clock=16");
	fixture_run(f, "1 2");
	fixture_expect(f, "frames: 2 | clock=17");
	fixture_run(f, "-2");
	fixture_expect(f, "frames: | clock=18");
	fixture_free(f);
}

/* 1: 3/1, 2: 1/1 but pinned, 3: 2/1 */
static void
unusable_frames_are_passed_over(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 1 2 3 3 !2 4");
	fixture_expect(f, "frames: 1 2 4 | clock=2");
	fixture_run(f, "!1 !4 5");
	fixture_expect(f, "frames: 1 2 4 | clock=2");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 3 is in the frame that was 1's.  3: 1/1, 2: 8/4 */
static void
forget_clears_the_references(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 2, "1 1 1 2 2 2 2 2 2 2 2 -1 3 4",
				 "frames: 4 2 | clock=4");
}

static void
samples_are_drawn_from_larger_pools(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 5",
				 "frames: 1 2 5 4 | clock=1");
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 5 6",
				 "frames: 1 2 6 4 | clock=2");
}

/* Two draws hit frame 2, the third frame 3. */
static void
unusable_and_free_frames_are_drawn_again(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", "sample=1", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 -3");
	f->pinned[2] = true;
	fixture_run(f, "5");
	fixture_expect(f, "frames: 1 2 5 | clock=2");
	fixture_free(f);
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 !3 5",
				 "frames: 1 2 3 5 | clock=1");
}

/* Four draws hit pinned frames; the fifth starts a search at index 1. */
static void
the_first_usable_frame_is_the_last_resort(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 !2 !3 !4 5",
				 "frames: 5 2 3 4 | clock=1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 2 3 3 /", "frames: 1 3 | clock=1");
	expect_state("hyperbolic", NULL, 2, "1 2 + 3", "frames: 1 2 3 | clock=0");
}

/*
 * Age / references, and the band 5 - log2 of that in a pool of 4: 1 in band 5
 * for page 1, 4 in band 3 for the others.
 */
static void
coldest_goes_by_bands_of_priority(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 4);

	(void) unused;
	fixture_run(f, "1 1 1 1 2 3 4");
	f->pool.header->state[0] = 3;
	fixture_expect_coldest(f, "2 3 4 1");
	fixture_free(f);
}

/*
 * 71 references later 3 and 4, referenced once in 35 and in 71, are in the first
 * band, which begins at 32; 2, once in 23, is in the second.
 */
static void
coldest_has_a_first_band(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 2 2 3 3 4");
	for (int i = 0; i < 70; i++)
		fixture_run(f, "1");
	f->pool.header->state[0] = 70;
	fixture_expect_coldest(f, "3 4 2 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(lowest_priority_goes),
		cmocka_unit_test(first_of_equals_goes),
		cmocka_unit_test(popularity_decays_with_age),
		cmocka_unit_test(vacuum_and_repetition_do_not_count),
		cmocka_unit_test(references_that_stop_are_halved_with_the_age),
		cmocka_unit_test(a_page_may_stay_while_the_clock_wraps),
		cmocka_unit_test(references_advance_time_sixteen_at_once),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(forget_clears_the_references),
		cmocka_unit_test(samples_are_drawn_from_larger_pools),
		cmocka_unit_test(unusable_and_free_frames_are_drawn_again),
		cmocka_unit_test(the_first_usable_frame_is_the_last_resort),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_goes_by_bands_of_priority),
		cmocka_unit_test(coldest_has_a_first_band),
	};

	return cmocka_run_group_tests_name("hyperbolic", tests, NULL, NULL);
}
