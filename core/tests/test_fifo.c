/*
 * test_fifo.c
 *	  Literal states of first in, first out after short sequences.
 */
#include "fixture.h"

static void
hits_change_nothing(void **unused)
{
	(void) unused;
	expect_state("fifo", NULL, 3, "1 2 3 1 2w 1", "queue: 3 2 1");
}

static void
oldest_goes_first(void **unused)
{
	(void) unused;
	expect_state("fifo", NULL, 3, "1 2 3 1 4", "queue: 4 3 2");
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("fifo", NULL, 3, "1 2 3 !1 !2 4 ?1 5", "queue: 5 4 2^");
}

static void
no_usable_frame_is_no_victim(void **unused)
{
	fixture    *f = fixture_new("fifo", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "queue: 2^ 1");
	fixture_free(f);
}

static void
forget_frees_the_frame(void **unused)
{
	(void) unused;
	expect_state("fifo", NULL, 3, "1 2 3 -2 4", "queue: 4 3 1");
}

static void
vacuum_and_repetition_are_ordinary(void **unused)
{
	(void) unused;
	expect_state("fifo", NULL, 2, "1v 2c 1v 3v", "queue: 3 2");
}

static void
frames_join_and_leave(void **unused)
{
	fixture    *f = fixture_new("fifo", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 /");
	fixture_expect(f, "queue: 3 2");
	fixture_run(f, "+ 4 5");
	fixture_expect(f, "queue: 5 4 3");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("fifo", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1");
	fixture_expect_coldest(f, "1 2 3");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_change_nothing),
		cmocka_unit_test(oldest_goes_first),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(no_usable_frame_is_no_victim),
		cmocka_unit_test(forget_frees_the_frame),
		cmocka_unit_test(vacuum_and_repetition_are_ordinary),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("fifo", tests, NULL, NULL);
}
