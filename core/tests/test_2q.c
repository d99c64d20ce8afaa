/*
 * test_2q.c
 *	  Literal states of 2Q after short sequences.
 *
 * With 4 frames Kin is 1 and Kout is 2.
 */
#include "fixture.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4",
				 "A1in: 4 3 2 1 | Am: | A1out: | Kin=1 | Kout=2");
}

static void
hit_on_a1in_changes_nothing(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 1 1 2",
				 "A1in: 3 2 1 | Am: | A1out: | Kin=1 | Kout=2");
}

static void
eviction_from_a1in_leaves_a_ghost(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 1 5",
				 "A1in: 5 4 3 2 | Am: | A1out: 1 | Kin=1 | Kout=2");
}

static void
page_in_a1out_enters_am(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 1",
				 "A1in: 5 4 3 | Am: 1 | A1out: 2 | Kin=1 | Kout=2");
}

/* X is found before the eviction for X pushes it out of A1out. */
static void
page_about_to_leave_a1out_enters_am(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 6 1",
				 "A1in: 6 5 4 | Am: 1 | A1out: 3 2 | Kin=1 | Kout=2");
}

/* The eviction for 2 makes A1out 3 2 1: 1 is dropped, then 2 leaves. */
static void
a1out_is_trimmed_before_the_page_leaves_it(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 6 2",
				 "A1in: 6 5 4 | Am: 2 | A1out: 3 | Kin=1 | Kout=2");
}

static void
page_gone_from_a1out_enters_a1in(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 6 7 1",
				 "A1in: 1 7 6 5 | Am: | A1out: 4 3 | Kin=1 | Kout=2");
}

/* |A1in| is no more than Kin: Am yields, and leaves no ghost. */
static void
eviction_from_am_leaves_no_ghost(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1 2 3");
	fixture_expect(f, "A1in: 5 | Am: 3 2 1 | A1out: 4 | Kin=1 | Kout=2");
	fixture_run(f, "6");
	fixture_expect(f, "A1in: 6 5 | Am: 3 2 | A1out: 4 | Kin=1 | Kout=2");
	fixture_run(f, "7");
	fixture_expect(f, "A1in: 7 6 | Am: 3 2 | A1out: 5 4 | Kin=1 | Kout=2");
	fixture_free(f);
}

static void
hit_on_am_moves_to_the_head(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 1 2 3 1",
				 "A1in: 5 | Am: 1 3 2 | A1out: 4 | Kin=1 | Kout=2");
}

/* With one frame Kin is 1, so A1in never has too many; Am is empty. */
static void
empty_am_makes_a1in_yield(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 1);

	(void) unused;
	fixture_run(f, "1 2");
	fixture_expect(f, "A1in: 2 | Am: | A1out: 1 | Kin=1 | Kout=1");
	fixture_run(f, "1");
	fixture_expect(f, "A1in: | Am: 1 | A1out: 2 | Kin=1 | Kout=1");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1 2 !4 6");
	fixture_expect(f, "A1in: 6 4^ | Am: 2 1 | A1out: 5 3 | Kin=1 | Kout=2");
	fixture_run(f, "!6 7");		/* none on A1in: Am's */
	fixture_expect(f, "A1in: 7 6^ 4 | Am: 2 | A1out: 5 3 | Kin=1 | Kout=2");
	fixture_free(f);
}

static void
unusable_am_makes_a1in_yield(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 1 2 3 !1 !2 !3 6",
				 "A1in: 6 | Am: 3^ 2 1 | A1out: 5 4 | Kin=1 | Kout=2");
}

static void
no_usable_frame_is_no_victim(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "A1in: 2^ 1 | Am: | A1out: | Kin=1 | Kout=1");
	fixture_free(f);
}

static void
forget_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("2q", NULL, 4, "1 2 3 4 5 1 -1 -4 6",
				 "A1in: 6 5 3 | Am: | A1out: 2 | Kin=1 | Kout=2");
}

static void
restored_page_leaves_no_ghost(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 <2");
	fixture_expect(f, "A1in: 4 3 1 | Am: | A1out: 2 | Kin=1 | Kout=2");
	fixture_run(f, ">2");
	fixture_expect(f, "A1in: 4 3 2 1 | Am: | A1out: | Kin=1 | Kout=2");
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 2v");
	fixture_expect(f, "A1in: 2 6 5 4 | Am: | A1out: 3 | Kin=1 | Kout=2");
	fixture_run(f, "3c");
	fixture_expect(f, "A1in: 3 2 6 5 | Am: | A1out: 4 | Kin=1 | Kout=2");
	fixture_run(f, "4 5 4c 4v");
	fixture_expect(f, "A1in: 3 2 | Am: 5 4 | A1out: 6 | Kin=1 | Kout=2");
	fixture_free(f);
}

static void
bounds_follow_the_frames(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 + + + +");
	fixture_expect(f, "A1in: 6 5 4 3 | Am: | A1out: 2 1 | Kin=2 | Kout=4");
	fixture_run(f, "/ / / / /");
	fixture_expect(f, "A1in: 6 5 4 | Am: | A1out: 3 | Kin=1 | Kout=1");
	fixture_free(f);
}

static void
parameters_set_the_bounds(void **unused)
{
	(void) unused;
	expect_state("2q", "kin=0.5,kout=1.5", 5, "1",
				 "A1in: 1 | Am: | A1out: | Kin=2 | Kout=7");
	expect_state("2q", "kin=0.01,kout=0.01", 5, "1",
				 "A1in: 1 | Am: | A1out: | Kin=1 | Kout=1");
}

/* Evictions without admissions fill the slots: two of frames, one spare. */
static void
full_ghost_slots_drop_the_oldest(void **unused)
{
	fixture    *f = fixture_new("2q", "kout=1", 2);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	fixture_expect(f, "A1in: 4 3 | Am: | A1out: 2 1 | Kin=1 | Kout=2");
	fixture_evict(f, tp_list_of(&f->pool, 1)->tail);
	fixture_evict(f, tp_list_of(&f->pool, 1)->tail);
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_expect(f, "A1in: | Am: | A1out: 4 3 2 | Kin=1 | Kout=2");
	fixture_run(f, "2");
	fixture_expect(f, "A1in: | Am: 2 | A1out: 4 3 | Kin=1 | Kout=2");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1 2");
	fixture_expect_coldest(f, "4 5 1 2");	/* A1in yields */
	fixture_run(f, "3");
	fixture_expect_coldest(f, "1 2 3 5");	/* Am yields */
	fixture_free(f);
}

static void
upcoming_names_the_tails_of_both_lists(void **unused)
{
	fixture    *f = fixture_new("2q", NULL, 4);
	tp_lookahead ahead = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1 2");
	fixture_expect_upcoming(f, &ahead, 1, "4 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(hit_on_a1in_changes_nothing),
		cmocka_unit_test(eviction_from_a1in_leaves_a_ghost),
		cmocka_unit_test(page_in_a1out_enters_am),
		cmocka_unit_test(page_about_to_leave_a1out_enters_am),
		cmocka_unit_test(a1out_is_trimmed_before_the_page_leaves_it),
		cmocka_unit_test(page_gone_from_a1out_enters_a1in),
		cmocka_unit_test(eviction_from_am_leaves_no_ghost),
		cmocka_unit_test(hit_on_am_moves_to_the_head),
		cmocka_unit_test(empty_am_makes_a1in_yield),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(unusable_am_makes_a1in_yield),
		cmocka_unit_test(no_usable_frame_is_no_victim),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(restored_page_leaves_no_ghost),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(bounds_follow_the_frames),
		cmocka_unit_test(parameters_set_the_bounds),
		cmocka_unit_test(full_ghost_slots_drop_the_oldest),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(upcoming_names_the_tails_of_both_lists),
	};

	return cmocka_run_group_tests_name("2q", tests, NULL, NULL);
}
