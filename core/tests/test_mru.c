/*
 * test_mru.c
 *	  Literal states of most recently used after short sequences.
 */
#include "fixture.h"

static void
hits_move_to_the_head(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 3 1", "recent: 1 3 2 | passed:");
}

static void
most_recent_goes_first(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 3 1 4", "recent: 4 3 2 | passed:");
}

/* On a loop over n + 1 pages MRU misses one reference in n, LRU all. */
static void
loops_stay_resident(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4 1 2 3 4 1 2 3 4");
	fixture_expect(f, "recent: 4 3 2 | passed:");
	assert_int_equal(f->misses, 6);
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 3 !3 !2 4", "recent: 4 | passed: 2 3");
	expect_state("mru", NULL, 3, "1 2 3 !3 !2 4 ?2 !4 5",
				 "recent: 5 4 | passed: 3");
}

/* Two looks a search: 1 and 2, then 3 and 1, which is usable by then. */
static void
passed_pages_are_looked_at_again(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 5);

	(void) unused;
	fixture_run(f, "5 4 3 2 1 !1 !2 !3 6");
	fixture_expect(f, "recent: 6 5 | passed: 3 2 1");
	fixture_run(f, "7");
	fixture_expect(f, "recent: 7 5 | passed: 2 1 3");
	fixture_run(f, "?1 8");
	fixture_expect(f, "recent: 8 7 5 | passed: 3 2");
	fixture_run(f, "3");
	fixture_expect(f, "recent: 3 8 7 5 | passed: 2");
	fixture_expect_coldest(f, "2 3 8 7 5");
	fixture_free(f);
}

static void
any_frame_is_usable_without_a_function(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 4), NULL, NULL, &access), 2);
	fixture_free(f);
}

static void
no_usable_frame_is_no_victim(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "recent: | passed: 1 2");
	fixture_free(f);
}

/* Not at the tail, where pages stay for longest. */
static void
restored_page_is_the_next_victim(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 <2 3 >2", "recent: 2 3 1 | passed:");
	expect_state("mru", NULL, 3, "1 2 <2 >2 3", "recent: 3 2 1 | passed:");
	expect_state("mru", NULL, 4, "1 2 3 4 !4 5 <1 >1", "recent: 1 5 2 | passed: 4");
	expect_state("mru", NULL, 4, "1 2 3 4 !4 !3 5 ?4 <4 >4", "recent: 5 1 | passed: 3 4");
}

static void
forget_frees_the_frame(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 3 -2 4", "recent: 4 3 1 | passed:");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("mru", NULL, 3, "1 2 1v 1c 3v", "recent: 3 2 1 | passed:");
}

static void
frames_join_and_leave(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 /");
	fixture_expect(f, "recent: 2 1 | passed:");
	fixture_run(f, "+ 4 5");
	fixture_expect(f, "recent: 5 2 1 | passed:");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("mru", NULL, 3);

	(void) unused;
	fixture_expect_coldest(f, "");
	fixture_run(f, "1 2 3 1");
	fixture_expect_coldest(f, "1 3 2");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_move_to_the_head),
		cmocka_unit_test(most_recent_goes_first),
		cmocka_unit_test(loops_stay_resident),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(passed_pages_are_looked_at_again),
		cmocka_unit_test(any_frame_is_usable_without_a_function),
		cmocka_unit_test(no_usable_frame_is_no_victim),
		cmocka_unit_test(restored_page_is_the_next_victim),
		cmocka_unit_test(forget_frees_the_frame),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("mru", tests, NULL, NULL);
}
