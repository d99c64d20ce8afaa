/*
 * test_clock2q_plus.c
 *	  Literal states of Clock2Q+ after short sequences.
 *
 * With four frames and small=50% the small queue is to have two pages, and the
 * window is the newest of them.
 */
#include "fixture.h"

#define HALF "small=0.5"

static void
references_in_the_window_do_not_count(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", HALF, 4, "1 1 1",
				 "small: 1 | main: | ghost: | target=2 | window=1");
	expect_state("clock2q_plus", HALF, 4, "1 2 2 1",
				 "small: 2 1*1 | main: | ghost: | target=2 | window=1");
}

static void
without_a_window_all_count(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", "window=0", 4, "1 1",
				 "small: 1*1 | main: | ghost: | target=1 | window=0");
}

static void
a_referenced_page_moves_to_main(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", HALF, 4, "1 2 1 3 4 5",
				 "small: 5 4 3 | main: 1 | ghost: 2 | target=2 | window=1");
}

static void
a_remembered_page_enters_main(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", HALF, 4, "1 2 1 3 4 5 2",
				 "small: 5 4 | main: 2 1 | ghost: 3 | target=2 | window=1");
}

static void
main_gives_its_pages_a_second_chance(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", "small=0.75", 4, "1 2 1 3 4 5 2 1 6",
				 "small: 6 5 4 | main: 1 | ghost: 3 | target=3 | window=1");
}

static void
main_gives_the_victim_if_all_of_small_is_pinned(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", HALF, 4, "1 2 1 3 4 5 !5 !4 !3 6",
				 "small: 6 5^ 4 3 | main: | ghost: 2 | target=2 | window=1");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("clock2q_plus", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "small: 2^ 1 | main: | ghost: | target=1 | window=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", NULL, 3, "1 1v 1c",
				 "small: 1 | main: | ghost: | target=1 | window=0");
	expect_state("clock2q_plus", NULL, 3, "1 2 3 4 1c",
				 "small: 1 4 3 | main: | ghost: 2 | target=1 | window=0");
}

static void
sizes_follow_the_pool(void **unused)
{
	(void) unused;
	expect_state("clock2q_plus", HALF, 3, "1 2 3 + 4",
				 "small: 4 3 2 1 | main: | ghost: | target=2 | window=1");
	expect_state("clock2q_plus", HALF, 4, "1 2 3 4 5 6 7 / / /",
				 "small: 7 | main: | ghost: | target=1 | window=0");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("clock2q_plus", HALF, 4);

	(void) unused;
	fixture_run(f, "1 2 1 3 4 5 4");
	fixture_expect_coldest(f, "3 5 1 4");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_in_the_window_do_not_count),
		cmocka_unit_test(without_a_window_all_count),
		cmocka_unit_test(a_referenced_page_moves_to_main),
		cmocka_unit_test(a_remembered_page_enters_main),
		cmocka_unit_test(main_gives_its_pages_a_second_chance),
		cmocka_unit_test(main_gives_the_victim_if_all_of_small_is_pinned),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(sizes_follow_the_pool),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("clock2q_plus", tests, NULL, NULL);
}
