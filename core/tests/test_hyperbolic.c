/*
 * test_hyperbolic.c
 *	  Literal states of hyperbolic caching after short sequences.
 *
 * Priorities in the comments are references / age at the time of the miss.
 * Pools no larger than the sample are looked at whole, so nothing is drawn;
 * where sample=1, members are drawn with seed 1: 2 2 3 1 1 ... of 4.
 */
#include "fixture.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 2 3", "frames: 1 2 3 | clock=3");
}

/* 1: 3/5, 2: 1/2, 3: 1/1 */
static void
lowest_priority_goes(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 1 2 3 4",
				 "frames: 1 4 3 | clock=6");
}

/* 1: 2/4, 2: 1/2, 3: 1/1 */
static void
first_of_equals_goes(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 2 3 4", "frames: 4 2 3 | clock=5");
}

/* 1: 3/11, 2: 4/8, 3: 4/6 */
static void
popularity_decays_with_age(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 1 2 2 3 3 2 3 2 3 4",
				 "frames: 4 2 3 | clock=12");
}

/* As lowest_priority_goes, had 1 been referenced once: 1: 1/3, 2: 1/2 */
static void
vacuum_and_repetition_do_not_count(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1c 1v 2 3 4",
				 "frames: 4 2 3 | clock=4");
	expect_state("hyperbolic", NULL, 3, "1 2v 3c", "frames: 1 2 3 | clock=1");
}

/* The clock is the first word of the state, references the third of a page. */
static void
references_stop_at_their_highest_number(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2");
	f->pool.header->state[0] = UINT64_C(1) << 33;
	((uint32_t *) tp_extra(&f->pool, 0))[2] = UINT32_MAX;
	fixture_run(f, "1 3");
	fixture_expect(f, "frames: 1 3 | clock=8589934594");
	fixture_free(f);
}

/* 1: 3/5, 2: 1/2 but pinned, 3: 1/1 */
static void
unusable_frames_are_passed_over(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 1 2 3 !2 4");
	fixture_expect(f, "frames: 4 2 3 | clock=6");
	fixture_run(f, "!3 !4 5");
	fixture_expect(f, "frames: 4 2 3 | clock=6");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 3 is in the frame that was 1's.  3: 1/1, 2: 1/2 */
static void
forget_clears_the_references(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 2, "1 1 1 2 -1 3 4",
				 "frames: 3 4 | clock=6");
}

static void
samples_are_drawn_from_larger_pools(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 5",
				 "frames: 1 2 5 4 | clock=5");
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 5 6",
				 "frames: 1 2 6 4 | clock=6");
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
	fixture_expect(f, "frames: 1 2 5 | clock=5");
	fixture_free(f);
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 !3 5",
				 "frames: 1 2 3 5 | clock=5");
}

/* Four draws hit pinned frames; the fifth starts a search at index 1. */
static void
the_first_usable_frame_is_the_last_resort(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", "sample=1", 4, "1 2 3 4 !2 !3 !4 5",
				 "frames: 5 2 3 4 | clock=5");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("hyperbolic", NULL, 3, "1 1 2 3 /", "frames: 3 2 | clock=4");
	expect_state("hyperbolic", NULL, 2, "1 2 + 3", "frames: 1 2 3 | clock=3");
}

/*
 * Age / references, and the band 5 - log2 of that in a pool of 4:
 * 1: 7/4 in band 5, 2: 3 in 4, 3: 2 in 4, 4: 1 in 5.
 */
static void
coldest_goes_by_bands_of_priority(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 4);

	(void) unused;
	fixture_run(f, "1 1 1 1 2 3 4");
	fixture_expect_coldest(f, "2 3 1 4");
	fixture_free(f);
}

/*
 * In the end 3 and 4, referenced once in 36 and in 71 references, are in the
 * first band, which begins at 32; 2, once in 25, is in the second.
 */
static void
coldest_has_a_first_band(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 2 2 3 3 4");
	for (int i = 0; i < 70; i++)
		fixture_run(f, "1");
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
		cmocka_unit_test(references_stop_at_their_highest_number),
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
