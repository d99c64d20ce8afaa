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

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 4);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 4");
	fixture_expect_coldest(f, "3 4 1 2");
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
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(leaving_frames_shrink_the_directory),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("arc", tests, NULL, NULL);
}
