/*
 * test_arc.c
 *	  Literal states of ARC after short sequences.
 */
#include "fixture.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 2 3", "T1: 3 2 1 | T2: | B1: | B2: | p=0");
}

static void
second_reference_enters_t2(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 2 1 3", "T1: 3 2 | T2: 1 | B1: | B2: | p=0");
}

/* Case IV(A), |T1| = c: the page goes without a ghost. */
static void
full_t1_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 2 3 4", "T1: 4 3 2 | T2: | B1: | B2: | p=0");
}

static void
eviction_from_t1_leaves_a_ghost(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 1 2 3 4",
				 "T1: 4 3 | T2: 1 | B1: 2 | B2: | p=0");
}

/* Case II: a ghost hit in B1 raises p and enters T2. */
static void
ghost_hit_in_b1_raises_p(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 1 2 3 4 2",
				 "T1: 4 | T2: 2 1 | B1: 3 | B2: | p=1");
}

/* Case III: a ghost hit in B2 lowers p by |B1|/|B2|, as before the eviction. */
static void
ghost_hit_in_b2_lowers_p(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 4 2 5");
	fixture_expect(f, "T1: 5 4 | T2: 2 | B1: 3 | B2: 1 | p=1");
	fixture_run(f, "1");
	fixture_expect(f, "T1: 5 | T2: 1 2 | B1: 4 3 | B2: | p=0");
	fixture_free(f);
}

/* At the miss on 3, B1 and B2 are equally long; then 2 joins B2. */
static void
p_moves_by_the_sizes_before_the_eviction(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 4 2 5");
	fixture_expect(f, "T1: 5 4 | T2: 2 | B1: 3 | B2: 1 | p=1");
	fixture_run(f, "3");
	fixture_expect(f, "T1: 5 4 | T2: 3 | B1: | B2: 2 1 | p=2");
	fixture_free(f);
}

/*
 * 3 is evicted and loaded elsewhere, so its ghost has gone from B1 before 2 is
 * loaded into the frame that was 3's.  B1 still counts as one page, 2 itself.
 */
static void
p_counts_the_page_itself_if_the_evicted_one_is_back(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 1 2 3 4 <3 3");
	fixture_expect(f, "T1: 4 | T2: 3 | B1: 2 | B2: 1 | p=1");
	tp_admit(&f->pool, fixture_claimed(f, 3), tp_page_make(0, 2), &access);
	fixture_expect(f, "T1: 4 | T2: 2 3 | B1: | B2: 1 | p=2");
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_free(f);
}

/* REPLACE with |T1| = p = 1: first p has fallen from 2, then risen from 0. */
static void
t1_as_long_as_p_yields_to_a_page_of_b2_only(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 1 3 4 2 3");
	fixture_expect(f, "T1: 4 | T2: 3 2 | B1: | B2: 1 | p=2");
	fixture_run(f, "1");
	fixture_expect(f, "T1: | T2: 1 3 2 | B1: 4 | B2: | p=1");
	fixture_free(f);

	f = fixture_new("arc", NULL, 3);
	fixture_run(f, "1 2 3 2 4 4");
	fixture_expect(f, "T1: 3 | T2: 4 2 | B1: 1 | B2: | p=0");
	fixture_run(f, "1");
	fixture_expect(f, "T1: 3 | T2: 1 4 | B1: | B2: 2 | p=1");
	fixture_free(f);
}

static void
a_proposal_moves_no_target(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 1 2 3 4");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 2), NULL, NULL, &access),
					 tp_list_of(&f->pool, 1)->tail);
	fixture_expect(f, "T1: 4 3 | T2: 1 | B1: 2 | B2: | p=0");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 1 2 3 !2 !3 4",
				 "T1: 4 3^ 2 | T2: | B1: | B2: 1 | p=0");
}

static void
forget_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 1 2 -1 -2 3",
				 "T1: 3 | T2: | B1: | B2: | p=0");
}

/* With 1 back in T1, the directory has no room for the ghost of 2. */
static void
restored_page_takes_its_place_in_the_directory(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 <1 3 4");
	fixture_expect(f, "T1: 4 3 | T2: | B1: 2 | B2: | p=0");
	fixture_run(f, ">1");
	fixture_expect(f, "T1: 4 3 1 | T2: | B1: | B2: | p=0");
	fixture_free(f);
}

/* There is a ghost slot for each frame and a spare one. */
static void
evictions_without_admission_drop_ghosts_of_b2_first(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 4 2 5 <5 <4");
	fixture_expect(f, "T1: | T2: 2 | B1: 4 5 3 | B2: 1 | p=1");
	fixture_run(f, "<2");
	fixture_expect(f, "T1: | T2: | B1: 4 5 3 | B2: 2 | p=1");
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 3, "1 1c 2 2v 1 3 4 2v",
				 "T1: 2 4 | T2: 1 | B1: 3 | B2: | p=0");
}

static void
leaving_frames_shrink_the_directory(void **unused)
{
	(void) unused;
	expect_state("arc", NULL, 4, "1 1 2 3 4 5 6 / /",
				 "T1: 6 | T2: 1 | B1: 5 | B2: | p=0");
}

/* 2c = 2, and |T1| + |B1| is within c. */
static void
leaving_frames_drop_ghosts_of_b2_first(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 2 / 3");
	fixture_expect(f, "T1: 3 | T2: 2 | B1: | B2: 1 | p=0");
	fixture_run(f, "/");
	fixture_expect(f, "T1: | T2: 2 | B1: 3 | B2: | p=0");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 4);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 4");
	fixture_expect_coldest(f, "3 4 1 2");
	fixture_free(f);

	f = fixture_new("arc", NULL, 3);
	fixture_run(f, "1 2 3 1 4 2 5 3");
	fixture_expect(f, "T1: 5 4 | T2: 3 | B1: | B2: 2 1 | p=2");
	fixture_expect_coldest(f, "3 4 5");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(second_reference_enters_t2),
		cmocka_unit_test(full_t1_leaves_no_ghost),
		cmocka_unit_test(eviction_from_t1_leaves_a_ghost),
		cmocka_unit_test(ghost_hit_in_b1_raises_p),
		cmocka_unit_test(ghost_hit_in_b2_lowers_p),
		cmocka_unit_test(p_moves_by_the_sizes_before_the_eviction),
		cmocka_unit_test(p_counts_the_page_itself_if_the_evicted_one_is_back),
		cmocka_unit_test(t1_as_long_as_p_yields_to_a_page_of_b2_only),
		cmocka_unit_test(a_proposal_moves_no_target),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(restored_page_takes_its_place_in_the_directory),
		cmocka_unit_test(evictions_without_admission_drop_ghosts_of_b2_first),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(leaving_frames_shrink_the_directory),
		cmocka_unit_test(leaving_frames_drop_ghosts_of_b2_first),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("arc", tests, NULL, NULL);
}
