/*
 * test_lean_evict.c
 *	  Literal states of LeanEvict after short sequences.
 *
 * Members are drawn with seed 1: 2 2 3 1 1 ... of 4, 1 1 1 0 0 1 ... of 2.
 */
#include "fixture.h"
#include "tidepool/parts/random.h"

/* Let the policy propose a victim, and nothing come of it. */
static void
propose(fixture *f)
{
	tp_access	access = {0};

	tp_victim(&f->pool, tp_page_make(0, 99), NULL, NULL, &access);
}

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4",
				 "hot: 1 2 3 4 | cooling: | target=2");
}

/* 3 and, two draws later, 4 begin to cool. */
static void
oldest_of_the_cooling_goes(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect(f, "hot: 1 2 5 | cooling: 4 | target=2");
	fixture_run(f, "6");
	fixture_expect(f, "hot: 1 5 6 | cooling: 2 | target=2");
	fixture_free(f);
}

static void
hit_warms_a_cooling_page(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 4 1",
				 "hot: 1 2 5 4 | cooling: | target=2");
}

static void
vacuum_and_repetition_do_not_warm(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 4v 4c",
				 "hot: 1 2 5 | cooling: 4 | target=2");
	expect_state("lean_evict", "cooling=0.5", 4, "1v 2c",
				 "hot: 1 2 | cooling: | target=2");
}

static void
a_proposal_can_be_repeated(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	propose(f);
	propose(f);
	fixture_expect(f, "hot: 1 2 | cooling: 4 3 | target=2");
	fixture_free(f);
}

/* 3 cannot be cooled; the draws go on to 4 and 2. */
static void
unusable_pages_are_not_cooled(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 !3 5",
				 "hot: 1 3 5 | cooling: 2 | target=2");
}

static void
unusable_cooling_pages_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 !4 6",
				 "hot: 1 6 5 | cooling: 4 | target=2");
}

/* 2 is all that may cool; the second draw is where the search starts. */
static void
a_hot_page_is_the_last_resort(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 2);

	(void) unused;
	fixture_run(f, "1 2");
	propose(f);
	fixture_expect(f, "hot: 1 | cooling: 2 | target=1");
	fixture_run(f, "!2 3");
	fixture_expect(f, "hot: 3 | cooling: 2 | target=1");
	fixture_free(f);
}

static void
no_victim_if_all_are_unusable(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "hot: 1 2 | cooling: | target=1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 64 in vain to cool a page, and one for where a hot one is looked for. */
static void
draws_for_a_victim_are_bounded(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 !1 !2 !3 !4 5");
	assert_int_equal(f->refused, 1);
	assert_int_equal(f->pool.chooser->random_state, 1 + 65 * TP_RANDOM_STEP);
	fixture_free(f);
}

static void
all_pages_may_be_cooling(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=1", 2);

	(void) unused;
	fixture_run(f, "1 2");
	propose(f);
	fixture_expect(f, "hot: | cooling: 1 2 | target=2");
	fixture_free(f);

	f = fixture_new("lean_evict", "cooling=1", 2);
	fixture_run(f, "1 2 -2");
	f->pinned[1] = true;
	fixture_run(f, "3");
	fixture_expect(f, "hot: 3 | cooling: | target=2");
	fixture_free(f);
}

static void
forget_leaves_either_list(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 -4 -1",
				 "hot: 2 5 | cooling: | target=2");
}

static void
restored_page_is_cooling_if_the_stage_has_room(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 <4 >4");
	fixture_expect(f, "hot: 1 2 5 | cooling: 4 | target=2");
	fixture_run(f, "<4");
	propose(f);
	fixture_run(f, ">4");
	fixture_expect(f, "hot: 1 4 | cooling: 5 2 | target=2");
	fixture_free(f);
}

/* Frame 0 leaves, 3 takes its place in members; 2 was the last to cool. */
static void
leaving_frames_warm_the_last_to_cool(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	propose(f);
	fixture_expect(f, "hot: 1 5 | cooling: 2 4 | target=2");
	fixture_run(f, "-1 /");
	fixture_expect(f, "hot: 2 5 | cooling: 4 | target=1");
	fixture_run(f, "+");
	fixture_expect(f, "hot: 2 5 | cooling: 4 | target=2");
	fixture_free(f);
}

static void
at_least_one_page_cools(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0", 2, "1 2 3",
				 "hot: 1 3 | cooling: | target=1");
	expect_state("lean_evict", "cooling=0", 1, "/",
				 "hot: | cooling: | target=0");
}

static void
coldest_names_the_cooling_first(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	propose(f);
	fixture_expect_coldest(f, "4 2 1 5");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(oldest_of_the_cooling_goes),
		cmocka_unit_test(hit_warms_a_cooling_page),
		cmocka_unit_test(vacuum_and_repetition_do_not_warm),
		cmocka_unit_test(a_proposal_can_be_repeated),
		cmocka_unit_test(unusable_pages_are_not_cooled),
		cmocka_unit_test(unusable_cooling_pages_are_passed_over),
		cmocka_unit_test(a_hot_page_is_the_last_resort),
		cmocka_unit_test(no_victim_if_all_are_unusable),
		cmocka_unit_test(draws_for_a_victim_are_bounded),
		cmocka_unit_test(all_pages_may_be_cooling),
		cmocka_unit_test(forget_leaves_either_list),
		cmocka_unit_test(restored_page_is_cooling_if_the_stage_has_room),
		cmocka_unit_test(leaving_frames_warm_the_last_to_cool),
		cmocka_unit_test(at_least_one_page_cools),
		cmocka_unit_test(coldest_names_the_cooling_first),
	};

	return cmocka_run_group_tests_name("lean_evict", tests, NULL, NULL);
}
