/*
 * test_clock.c
 *	  Literal states of the clock after short sequences.
 */
#include "fixture.h"

static void
pages_come_in_at_one(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 2 3", "ring: 1*1 2*1 3*1 | hand=0");
}

static void
pages_come_in_at_zero_if_told_so(void **unused)
{
	(void) unused;
	expect_state("clock", "initial=0", 3, "1 2 3 2 4",
				 "ring: 4 2*1 3 | hand=1");
}

static void
hits_raise_the_count_to_the_maximum(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 2, "1 1 1 1 1 1 1", "ring: 1*5 | hand=0");
	expect_state("clock", "max_usage=2", 2, "1 1 1", "ring: 1*2 | hand=0");
}

static void
sweep_lowers_by_one(void **unused)
{
	fixture    *f = fixture_new("clock", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	fixture_expect(f, "ring: 4*1 2 3 | hand=1");
	fixture_run(f, "5");
	fixture_expect(f, "ring: 4*1 5*1 3 | hand=2");
	fixture_free(f);
}

/* The hand goes round until a count has come down to zero. */
static void
referenced_pages_outlast_others(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 2 3 1 4", "ring: 1 4*1 3 | hand=2");
	expect_state("clock", NULL, 2, "1 1 1 1 1 2 2 2 3",
				 "ring: 1*1 3*1 | hand=0");
}

static void
unusable_frames_keep_their_count(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 2 3 !1 4", "ring: 1*1 4*1 3 | hand=2");
}

static void
free_frames_are_passed(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 2 3 !2 -2 4", "ring: 4*1 3 | hand=1");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("clock", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "ring: 1*1 2*1 | hand=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_moves_no_hand(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 2 3 4 -3 -2 5",
				 "ring: 4*1 5*1 | hand=1");
}

static void
restored_page_keeps_its_count(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 3, "1 1 1 2 3 <1 >1",
				 "ring: 1*3 2*1 3*1 | hand=0");
}

static void
repetition_counts(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 2, "1 1c", "ring: 1*2 | hand=0");
}

/* VACUUM makes a page referenced once, and no more than that. */
static void
vacuum_counts_up_to_one(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 2, "1v 1v", "ring: 1*1 | hand=0");
	expect_state("clock", NULL, 2, "1 1 1v", "ring: 1*2 | hand=0");
	expect_state("clock", NULL, 2, "1 2 3 2v", "ring: 3*1 2*1 | hand=1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("clock", NULL, 2, "1 2 + 3 4", "ring: 4*1 2 3 | hand=1");

	/* the last member takes the place of the one that leaves */
	expect_state("clock", NULL, 4, "1 2 3 4 5 /", "ring: 5*1 4 3 | hand=2");

	/* the hand was at the last member */
	expect_state("clock", NULL, 3, "1 2 3 4 /", "ring: 4*1 3 | hand=0");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("clock", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4 2");
	fixture_expect(f, "ring: 4*1 2*1 3 | hand=1");
	fixture_expect_coldest(f, "3 2 4");
	fixture_free(f);
}

/* Hits every frame it is asked about, as other backends might meanwhile. */
static bool
hit_while_asked(void *arg, uint32_t frame)
{
	const fixture *f = arg;
	tp_access	access = {0};

	tp_hit(&f->pool, frame, &access);
	return true;
}

/* Three rounds, then the last frame that was passed. */
static void
racing_hits_do_not_prolong_the_search(void **unused)
{
	fixture    *f = fixture_new("clock", "max_usage=2", 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), hit_while_asked, f,
							   &access), 2);
	fixture_expect(f, "ring: 1*1 2*1 3*1 | hand=0");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_at_one),
		cmocka_unit_test(pages_come_in_at_zero_if_told_so),
		cmocka_unit_test(hits_raise_the_count_to_the_maximum),
		cmocka_unit_test(sweep_lowers_by_one),
		cmocka_unit_test(referenced_pages_outlast_others),
		cmocka_unit_test(unusable_frames_keep_their_count),
		cmocka_unit_test(free_frames_are_passed),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(forget_moves_no_hand),
		cmocka_unit_test(restored_page_keeps_its_count),
		cmocka_unit_test(repetition_counts),
		cmocka_unit_test(vacuum_counts_up_to_one),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(racing_hits_do_not_prolong_the_search),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
