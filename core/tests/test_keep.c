/*
 * test_keep.c
 *	  Literal states of KEEP after short sequences.
 */
#include "fixture.h"

static void
refuses_when_full(void **unused)
{
	fixture    *f = fixture_new("keep", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 3 4 1");
	fixture_expect(f, "kept: 2 1");
	assert_int_equal(f->refused, 2);
	assert_int_equal(f->hits, 1);
	fixture_free(f);
}

static void
hits_change_nothing(void **unused)
{
	(void) unused;
	expect_state("keep", NULL, 3, "1 2 3 1 2w 1c 2v", "kept: 3 2 1");
}

static void
vacuum_and_repetition_enter_as_others(void **unused)
{
	(void) unused;
	expect_state("keep", NULL, 3, "1v 2c 3", "kept: 3 2 1");
}

static void
forget_makes_room(void **unused)
{
	(void) unused;
	expect_state("keep", NULL, 2, "1 2 -1 3", "kept: 3 2");
}

static void
unusable_free_frames_are_no_room(void **unused)
{
	fixture    *f = fixture_new("keep", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 -1 3");
	fixture_expect(f, "kept: 2");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
frames_join_and_free_ones_leave(void **unused)
{
	(void) unused;
	expect_state("keep", NULL, 2, "1 2 + 3", "kept: 3 2 1");
	expect_state("keep", NULL, 3, "1 2 / 3", "kept: 2 1");
}

/* How a caller shrinks the pool, since victim proposes nothing. */
static void
evicted_in_the_order_of_coldest(void **unused)
{
	fixture    *f = fixture_new("keep", NULL, 3);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 1");
	fixture_expect_coldest(f, "1 2 3");
	fixture_evict(f, tp_coldest(&f->pool, &cursor));
	fixture_expect(f, "kept: 3 2");
	fixture_run(f, "/ 4");
	fixture_expect(f, "kept: 3 2");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_when_full),
		cmocka_unit_test(hits_change_nothing),
		cmocka_unit_test(vacuum_and_repetition_enter_as_others),
		cmocka_unit_test(forget_makes_room),
		cmocka_unit_test(unusable_free_frames_are_no_room),
		cmocka_unit_test(frames_join_and_free_ones_leave),
		cmocka_unit_test(evicted_in_the_order_of_coldest),
	};

	return cmocka_run_group_tests_name("keep", tests, NULL, NULL);
}
