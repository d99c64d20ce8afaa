/*
 * test_car.c
 *	  Literal states of CAR after short sequences.
 */
#include "fixture.h"

/* A state with something on every list, built up step by step in
 * ghost_hits_in_b1 and t2_gives_when_t1_is_below_p. */
#define ALL_LISTS "1 1 2 3 4 2 5 3 6"
#define ALL_LISTS_STATE "T1: 6 | T2: 3 2 | B1: 5 4 | B2: 1 | p=2"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 2 3", "T1: 3 2 1 | T2: | B1: | B2: | p=0");
}

static void
hit_sets_the_bit_and_moves_nothing(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 2 1 1",
				 "T1: 2 1*1 | T2: | B1: | B2: | p=0");
}

/* Lines 6 and 7: |T1| + |B1| = c. */
static void
full_l1_drops_the_tail_of_b1(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 2 3 4",
				 "T1: 4 3 2 | T2: | B1: | B2: | p=0");
}

/* Lines 25 to 30. */
static void
referenced_page_goes_on_to_t2(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1 2 3 4",
				 "T1: 4 3 | T2: 1 | B1: 2 | B2: | p=0");
}

/* Lines 14 to 16. */
static void
ghost_hits_in_b1(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 4 2");
	fixture_expect(f, "T1: 4 | T2: 2 1 | B1: 3 | B2: | p=1");
	fixture_run(f, "5");
	fixture_expect(f, "T1: 5 | T2: 2 1 | B1: 4 3 | B2: | p=1");
	fixture_run(f, "3");
	fixture_expect(f, "T1: | T2: 3 2 1 | B1: 5 4 | B2: | p=2");
	fixture_free(f);
}

/* Lines 31 to 34, then 17 to 19. */
static void
t2_gives_when_t1_is_below_p(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, ALL_LISTS);
	fixture_expect(f, ALL_LISTS_STATE);
	fixture_run(f, "1");
	fixture_expect(f, "T1: 6 | T2: 1 3 | B1: 5 4 | B2: 2 | p=1");
	fixture_free(f);
}

/* Line 36. */
static void
referenced_page_of_t2_goes_round(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, ALL_LISTS " 2 7",
				 "T1: 7 6 | T2: 2 | B1: 5 | B2: 3 1 | p=2");
}

/* Lines 8 and 9. */
static void
full_directory_drops_the_tail_of_b2(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, ALL_LISTS " 1 5");
	fixture_expect(f, "T1: | T2: 5 1 3 | B1: 6 4 | B2: 2 | p=2");
	fixture_run(f, "7");
	fixture_expect(f, "T1: 7 | T2: 5 1 | B1: 6 4 | B2: 3 | p=2");
	fixture_free(f);
}

/* |B2| / |B1| = 2 with the ghost that the miss itself has left. */
static void
p_rises_by_the_ratio(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 3 4 5 5 2");
	fixture_expect(f, "T1: | T2: 2 5 3 | B1: 4 | B2: 1 | p=1");
	fixture_run(f, "4");
	fixture_expect(f, "T1: | T2: 4 2 5 | B1: | B2: 3 1 | p=3");
	fixture_free(f);
}

/* |B1| / |B2| = 3 / 2, likewise. */
static void
p_falls_by_a_fraction(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 1 3 4 5 5 2 6 4 7 8");
	fixture_expect(f, "T1: 8 7 | T2: 4 5 | B1: 6 3 | B2: 2 1 | p=2");
	fixture_run(f, "2");
	fixture_expect(f, "T1: 8 | T2: 2 4 5 | B1: 7 6 3 | B2: 1 | p=0.5");
	fixture_free(f);
}

static void
p_stays_within_0_and_c(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 3 4");
	fixture_expect(f, "T1: 4 | T2: 3 2 | B1: | B2: 1 | p=0");
	fixture_run(f, "1");
	fixture_expect(f, "T1: | T2: 1 3 2 | B1: 4 | B2: | p=0");
	fixture_free(f);

	f = fixture_new("car", NULL, 2);
	fixture_run(f, "1 1 2 3 2 4 3");
	fixture_expect(f, "T1: | T2: 3 2 | B1: 4 | B2: 1 | p=2");
	fixture_run(f, "4");
	fixture_expect(f, "T1: | T2: 4 3 | B1: | B2: 2 1 | p=2");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1 2 3 !1 4",
				 "T1: 4 3 1*1^ | T2: | B1: | B2: | p=0");
	expect_state("car", NULL, 3, ALL_LISTS " !2 7",
				 "T1: 7 6 | T2: 2^ | B1: 5 | B2: 3 1 | p=2");
}

static void
unusable_t1_makes_t2_give(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1 2 3 4 !3 !4 5",
				 "T1: 5 4^ 3 | T2: | B1: | B2: 1 | p=0");
}

/* The second time 6 has its bit set, moves to T2, and is found there. */
static void
unusable_t2_makes_t1_give(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, ALL_LISTS " !2 !3 7",
				 "T1: 7 | T2: 3^ 2 | B1: 6 5 | B2: 1 | p=2");
	expect_state("car", NULL, 3, ALL_LISTS " 6 !2 !3 7",
				 "T1: 7 | T2: 3^ 2 | B1: 5 4 | B2: 6 | p=2");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 4 !1 !3 !4 5");
	fixture_expect(f, "T1: 4^ 3 | T2: 1^ | B1: 2 | B2: | p=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1 2 3 4 -1 -4 5",
				 "T1: 5 3 | T2: | B1: 2 | B2: | p=0");
}

static void
admission_into_a_free_frame_keeps_the_bounds(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, ALL_LISTS " -3 7",
				 "T1: 7 6 | T2: 2 | B1: 5 | B2: 1 | p=2");
}

static void
restored_page_keeps_its_bit(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1 2 3 <1 >1",
				 "T1: 3 2 1*1 | T2: | B1: | B2: | p=0");
}

/* With 1 back in T1, the directory has no room for the ghost of 2. */
static void
restored_page_takes_its_place_in_the_directory(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 <1 3 4");
	fixture_expect(f, "T1: 4 3 | T2: | B1: 2 | B2: | p=0");
	fixture_run(f, ">1");
	fixture_expect(f, "T1: 4 3 1 | T2: | B1: | B2: | p=0");
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("car", NULL, 3, "1 1c 2 2v 3",
				 "T1: 3 2 1 | T2: | B1: | B2: | p=0");
	expect_state("car", NULL, 3, "1 1 2 3 4 2v",
				 "T1: 2 4 | T2: 1 | B1: 3 | B2: | p=0");
}

static void
evict(fixture *f, uint32_t block)
{
	tp_access	access = {0};

	for (uint32_t frame = 0; frame < f->pool.header->frames; frame++)
		if (tp_is_resident(&f->pool, frame) && f->pool.nodes[frame].block == block)
		{
			tp_evict(&f->pool, frame, &access);
			return;
		}
	fail_msg("block %u is not resident", block);
}

/* There is a ghost slot for each frame and a spare one. */
static void
evictions_without_admission_drop_ghosts(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, ALL_LISTS);
	evict(f, 2);
	fixture_expect(f, "T1: 6 | T2: 3 | B1: 5 4 | B2: 2 1 | p=2");
	evict(f, 3);
	fixture_expect(f, "T1: 6 | T2: | B1: 5 4 | B2: 3 2 | p=2");
	evict(f, 6);
	fixture_expect(f, "T1: | T2: | B1: 6 5 4 | B2: 3 | p=2");
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_free(f);
}

static void
leaving_frames_shrink_the_directory(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, ALL_LISTS " /");
	fixture_expect(f, "T1: 6 | T2: 3 | B1: 5 | B2: 2 | p=2");
	fixture_run(f, "/");
	fixture_expect(f, "T1: 6 | T2: | B1: | B2: 3 | p=1");
	fixture_run(f, "+ 7");
	fixture_expect(f, "T1: 7 6 | T2: | B1: | B2: 3 | p=1");
	fixture_free(f);
	expect_state("car", NULL, 1, "1 /", "T1: | T2: | B1: | B2: | p=0");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 2 3");
	fixture_expect_coldest(f, "1 3 2");
	fixture_free(f);

	f = fixture_new("car", NULL, 3);
	fixture_run(f, ALL_LISTS " 2");
	fixture_expect_coldest(f, "3 6 2");
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

/* Seven looks, three of which move pages to T2, then the tail of T2. */
static void
racing_hits_do_not_prolong_the_search(void **unused)
{
	fixture    *f = fixture_new("car", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), hit_while_asked, f,
							   &access), 1);
	fixture_expect(f, "T1: | T2: 1 3 2*1 | B1: | B2: | p=0");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(hit_sets_the_bit_and_moves_nothing),
		cmocka_unit_test(full_l1_drops_the_tail_of_b1),
		cmocka_unit_test(referenced_page_goes_on_to_t2),
		cmocka_unit_test(ghost_hits_in_b1),
		cmocka_unit_test(t2_gives_when_t1_is_below_p),
		cmocka_unit_test(referenced_page_of_t2_goes_round),
		cmocka_unit_test(full_directory_drops_the_tail_of_b2),
		cmocka_unit_test(p_rises_by_the_ratio),
		cmocka_unit_test(p_falls_by_a_fraction),
		cmocka_unit_test(p_stays_within_0_and_c),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(unusable_t1_makes_t2_give),
		cmocka_unit_test(unusable_t2_makes_t1_give),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(admission_into_a_free_frame_keeps_the_bounds),
		cmocka_unit_test(restored_page_keeps_its_bit),
		cmocka_unit_test(restored_page_takes_its_place_in_the_directory),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(evictions_without_admission_drop_ghosts),
		cmocka_unit_test(leaving_frames_shrink_the_directory),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(racing_hits_do_not_prolong_the_search),
	};

	return cmocka_run_group_tests_name("car", tests, NULL, NULL);
}
