/*
 * test_jam.c
 *	  Literal states of the fast-decaying clock after short sequences.
 */
#include "fixture.h"

static void
hits_raise_the_count_to_the_maximum(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 2, "1 2 2 2 2 2", "ring: 1*1 2*3 | hand=0");
	expect_state("jam", "max_usage=2", 2, "1 1 1 1", "ring: 1*2 | hand=0");
}

/* 3 2 1 become 1 1 0, then 0 0 and the third is taken. */
static void
sweep_halves_the_count(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 3, "1 1 1 2 2 3 4", "ring: 1 2 4*1 | hand=0");
	expect_state("jam", "max_usage=7", 2, "1 1 1 1 1 1 1 2 3",
				 "ring: 1*1 3*1 | hand=0");
}

static void
unusable_frames_keep_their_count(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 3, "1 1 1 2 3 !1 4", "ring: 1*3 4*1 3 | hand=2");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("jam", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2w !1 !2 3");
	fixture_expect(f, "ring: 1*1 2*1!1 | hand=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
writes_leave_a_mark(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 3, "1w 1 2 2w 3", "ring: 1*2!1 2*2!1 3*1 | hand=0");
}

static void
mark_goes_with_the_page(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 2, "1w 2 3", "ring: 3*1 2 | hand=1");
	expect_state("jam", NULL, 2, "1w 2 -1 3", "ring: 3*1 2*1 | hand=0");
}

/* VACUUM counts up to one, but what it writes is written. */
static void
vacuum_and_repetition(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 2, "1 1vw 2 2c", "ring: 1*1!1 2*2 | hand=0");
}

static void
becoming_dirty_is_a_write_but_no_reference(void **unused)
{
	fixture    *f = fixture_new("jam", NULL, 2);
	tp_access	access = {.flags = TP_DIRTIED | TP_WRITE};

	(void) unused;
	fixture_run(f, "1 2");
	tp_hit(&f->pool, 0, &access);
	fixture_expect(f, "ring: 1*1!1 2*1 | hand=0");
	fixture_free(f);
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("jam", NULL, 2, "1 2 + 3 4", "ring: 4*1 2 3 | hand=1");
	expect_state("jam", NULL, 3, "1 2 3w 4 /", "ring: 4*1 3!1 | hand=0");
}

static void
coldest_yields_written_pages_at_zero_first(void **unused)
{
	fixture    *f = fixture_new("jam", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2w 3 4w 5");
	fixture_expect(f, "ring: 5*1 2!1 3 4!1 | hand=1");
	fixture_expect_coldest(f, "2 4 3 5");
	fixture_free(f);
}

/* A count of 3 takes as many halvings as one of 2. */
static void
coldest_counts_halvings(void **unused)
{
	fixture    *f = fixture_new("jam", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 5 3 3 3 4");
	fixture_expect(f, "ring: 5*2 2 3*3 4*1 | hand=1");
	fixture_expect_coldest(f, "2 4 3 5");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_raise_the_count_to_the_maximum),
		cmocka_unit_test(sweep_halves_the_count),
		cmocka_unit_test(unusable_frames_keep_their_count),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(writes_leave_a_mark),
		cmocka_unit_test(mark_goes_with_the_page),
		cmocka_unit_test(vacuum_and_repetition),
		cmocka_unit_test(becoming_dirty_is_a_write_but_no_reference),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_yields_written_pages_at_zero_first),
		cmocka_unit_test(coldest_counts_halvings),
	};

	return cmocka_run_group_tests_name("jam", tests, NULL, NULL);
}
