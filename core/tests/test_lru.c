/*
 * test_lru.c
 *	  Literal states of LRU after short sequences.
 */
#include "fixture.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3", "recent: 3 2 1");
}

static void
hit_moves_to_the_head(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3 1", "recent: 1 3 2");
	expect_state("lru", NULL, 3, "1 2 3 2", "recent: 2 3 1");
	expect_state("lru", NULL, 3, "1 2 3 3", "recent: 3 2 1");
}

static void
evicts_the_tail(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3 1 4", "recent: 4 1 3");
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3 !1 4", "recent: 4 3 1^");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "recent: 2^ 1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_frees_the_frame(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3 -2 4", "recent: 4 3 1");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 3, "1 2 3v 1v 2c", "recent: 3 2 1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("lru", NULL, 2, "1 2 + 3", "recent: 3 2 1");
	expect_state("lru", NULL, 3, "1 2 3 1 /", "recent: 1 3");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1");
	fixture_expect_coldest(f, "2 3 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(hit_moves_to_the_head),
		cmocka_unit_test(evicts_the_tail),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(forget_frees_the_frame),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("lru", tests, NULL, NULL);
}
