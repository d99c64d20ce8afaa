/*
 * test_lirs.c
 *	  Literal states of LIRS after short sequences.
 *
 * Five frames unless said otherwise: Llirs = 3, Lhirs = 2.
 */
#include "fixture.h"

static void
fills_the_lir_set_first(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5",
				 "LIR: 3 2 1 | Q: 5 4 | HIR: | Llirs=3");
}

static void
hir_takes_its_share(void **unused)
{
	(void) unused;
	expect_state("lirs", "hir=0.6", 5, "1 2 3 4 5",
				 "LIR: 2 1 | Q: 5 4 3 | HIR: | Llirs=2");
}

/* Nothing can be LIR: Q alone is LRU. */
static void
two_frames_are_lru(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 2, "1 2 1 3 1",
				 "LIR: | Q: 1 3 | HIR: | Llirs=0");
}

static void
lir_hit_goes_to_the_top(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 2",
				 "LIR: 2 3 1 | Q: 5 4 | HIR: | Llirs=3");
}

static void
hir_hit_in_s_becomes_lir(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 4",
				 "LIR: 4 3 2 | Q: 1 5 | HIR: | Llirs=3");
}

/* 1 and 2 have left S; the first hit brings 1 back in, the second promotes. */
static void
hir_hit_outside_s_stays_hir(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4 5");
	fixture_expect(f, "LIR: 5 4 3 | Q: 2 1 | HIR: | Llirs=3");
	fixture_run(f, "1");
	fixture_expect(f, "LIR: 5 4 3 | Q: 1 2 | HIR: | Llirs=3");
	fixture_run(f, "2 1");
	fixture_expect(f, "LIR: 1 5 4 | Q: 3 2 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
repeated_references_count_once(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 4 5 5 5",
				 "LIR: 3 2 1 | Q: 5 4 | HIR: | Llirs=3");
}

static void
miss_in_s_becomes_lir(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6");
	fixture_expect(f, "LIR: 3 2 1 | Q: 6 5 | HIR: 4 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 6 | HIR: 5 | Llirs=3");
	fixture_free(f);
}

static void
eviction_outside_s_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 4 5 6",
				 "LIR: 5 4 3 | Q: 6 2 | HIR: | Llirs=3");
}

/* A hit on the bottom of S takes the ghosts below the new bottom away. */
static void
lir_hit_at_the_bottom_prunes(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 2 3");
	fixture_expect(f, "LIR: 3 2 1 | Q: 6 5 | HIR: 4 | Llirs=3");
	fixture_run(f, "1");
	fixture_expect(f, "LIR: 1 3 2 | Q: 6 5 | HIR: | Llirs=3");
	fixture_free(f);
}

/* At most floor(0.5 * 5) = 2, the incoming page's own not counted. */
static void
ghosts_are_bounded(void **unused)
{
	fixture    *f = fixture_new("lirs", "ghosts=0.5", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8 9");
	fixture_expect(f, "LIR: 3 2 1 | Q: 9 8 | HIR: 7 6 | Llirs=3");
	fixture_run(f, "6");
	fixture_expect(f, "LIR: 6 3 2 | Q: 1 9 | HIR: 8 7 | Llirs=3");
	fixture_free(f);
}

static void
without_ghosts_misses_stay_hir(void **unused)
{
	(void) unused;
	expect_state("lirs", "ghosts=0", 5, "1 2 3 4 5 6 4",
				 "LIR: 3 2 1 | Q: 4 6 | HIR: | Llirs=3");
}

static void
evict(fixture *f, uint32_t block)
{
	uint32_t	frame = 0;

	while (!tp_is_resident(&f->pool, frame) ||
		   f->pool.nodes[frame].block != block)
		frame++;
	fixture_evict(f, frame);
}

/* Evictions without admissions use all six slots up: the last ghost goes. */
static void
full_slots_make_room(void **unused)
{
	fixture    *f = fixture_new("lirs", "ghosts=1", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8 9 10");
	fixture_expect(f, "LIR: 3 2 1 | Q: 10 9 | HIR: 8 7 6 5 4 | Llirs=3");
	evict(f, 9);
	fixture_expect(f, "LIR: 3 2 1 | Q: 10 | HIR: 9 8 7 6 5 4 | Llirs=3");
	evict(f, 10);
	fixture_expect(f, "LIR: 3 2 1 | Q: | HIR: 10 9 8 7 6 5 | Llirs=3");
	fixture_run(f, "11");
	fixture_expect(f, "LIR: 3 2 1 | Q: 11 | HIR: 10 9 8 7 6 | Llirs=3");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 !4 6",
				 "LIR: 3 2 1 | Q: 6 4^ | HIR: 5 | Llirs=3");
}

/* The evicted LIR page was the bottom of S; the newcomer takes its place. */
static void
unusable_q_shrinks_the_lir_set(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 !4 !5 6",
				 "LIR: 3 2 | Q: 6 5^ 4 | HIR: | Llirs=2");
	expect_state("lirs", NULL, 5, "1 2 3 4 5 !4 !5 !1 6",
				 "LIR: 3 1^ | Q: 6 5^ 4 | HIR: 2 | Llirs=2");
}

static void
each_promotion_enlarges_a_shrunk_lir_set(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 !4 !5 6 5");
	fixture_expect(f, "LIR: 5 3 2 | Q: 6 4^ | HIR: | Llirs=3");
	fixture_run(f, "?4 4");
	fixture_expect(f, "LIR: 4 5 3 | Q: 2 6 | HIR: | Llirs=3");
	fixture_free(f);

	f = fixture_new("lirs", NULL, 5);
	fixture_run(f, "1 2 3 4 5 !4 !5 6 ?4 ?5 7");
	fixture_expect(f, "LIR: 3 2 | Q: 7 6 5^ | HIR: 4 | Llirs=2");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 7 6 | HIR: 5 | Llirs=3");
	fixture_free(f);
}

/* One of three at most: then a newcomer is LIR. */
static void
lir_set_shrinks_to_half_at_most(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 !4 !5 6 !6 7");
	fixture_expect(f, "LIR: 7 3 | Q: 6^ 5 4 | HIR: | Llirs=2");
	fixture_free(f);
}

static void
lir_set_stays_shrunk_when_frames_leave_and_join(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 !4 !5 6 ?4 ?5 /");
	fixture_expect(f, "LIR: 3 | Q: 2 6 5^ | HIR: 4 | Llirs=1");
	fixture_run(f, "+ 7 8");
	fixture_expect(f, "LIR: 7 3 | Q: 8 2 6 | HIR: 5 4 | Llirs=2");
	fixture_free(f);
}

static void
nothing_usable_is_refused(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 !1 !2 !3 4");
	fixture_expect(f, "LIR: 1^ | Q: 3^ 2 | HIR: | Llirs=1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 4, pinned at first, is evicted after 5 but has left S before it. */
static void
ghost_out_of_turn_counts_by_its_stamp(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 2 3 5 !4 6 ?4 7");
	fixture_expect(f, "LIR: 3 2 1 | Q: 7 6 | HIR: 4 5 | Llirs=3");
	fixture_run(f, "1");
	fixture_expect(f, "LIR: 1 3 2 | Q: 7 6 | HIR: 4 5 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 1 3 2 | Q: 4 7 | HIR: 6 5 | Llirs=3");
	fixture_free(f);
}

static void
restored_lir_page_becomes_hir(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 <2 >2",
				 "LIR: 3 1 | Q: 5 4 2 | HIR: | Llirs=2");
}

/* Without ghosts 5 is outside S when it is hit. */
static void
restored_page_is_in_s_as_its_ghost_was(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 <5 >5 4 5",
				 "LIR: 5 4 3 | Q: 2 1 | HIR: | Llirs=3");
	expect_state("lirs", "ghosts=0", 5, "1 2 3 4 5 <5 >5 4 5",
				 "LIR: 4 3 2 | Q: 5 1 | HIR: | Llirs=3");
}

static void
forget_leaves_no_ghost(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 -1 -6");
	fixture_expect(f, "LIR: 3 2 | Q: 5 | HIR: 4 | Llirs=3");
	fixture_run(f, "7");
	fixture_expect(f, "LIR: 7 3 2 | Q: 5 | HIR: 4 | Llirs=3");
	fixture_free(f);
}

static void
without_lir_pages_s_is_empty(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 -1 -2 -3");
	fixture_expect(f, "LIR: | Q: 6 5 | HIR: | Llirs=3");
	fixture_run(f, "7 5");
	fixture_expect(f, "LIR: 7 | Q: 5 6 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4c 4v 1v");
	fixture_expect(f, "LIR: 3 2 1 | Q: 5 4 | HIR: | Llirs=3");
	fixture_run(f, "6 4v");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 6 | HIR: 5 | Llirs=3");
	fixture_run(f, "7 6c");
	fixture_expect(f, "LIR: 3 2 1 | Q: 6 7 | HIR: 4 5 | Llirs=3");
	fixture_free(f);
}

static void
joining_frames_enlarge_the_lir_set(void **unused)
{
	(void) unused;
	expect_state("lirs", NULL, 5, "1 2 3 4 5 + 6 7",
				 "LIR: 6 3 2 1 | Q: 7 5 | HIR: 4 | Llirs=4");
}

static void
leaving_frames_shrink_the_lir_set(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 /");
	fixture_expect(f, "LIR: 3 2 | Q: 1 6 | HIR: 5 4 | Llirs=2");
	fixture_run(f, "/");
	fixture_expect(f, "LIR: 3 | Q: 2 1 | HIR: 6 5 4 | Llirs=1");
	fixture_run(f, "/");
	fixture_expect(f, "LIR: | Q: 3 2 | HIR: | Llirs=0");
	fixture_free(f);
}

static void
leaving_frames_take_ghosts_along(void **unused)
{
	(void) unused;
	expect_state("lirs", "ghosts=1", 5, "1 2 3 4 5 6 7 8 9 10 /",
				 "LIR: 3 2 | Q: 1 10 | HIR: 9 8 7 6 | Llirs=2");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("lirs", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1");
	fixture_expect_coldest(f, "4 5 2 3 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_the_lir_set_first),
		cmocka_unit_test(hir_takes_its_share),
		cmocka_unit_test(two_frames_are_lru),
		cmocka_unit_test(lir_hit_goes_to_the_top),
		cmocka_unit_test(hir_hit_in_s_becomes_lir),
		cmocka_unit_test(hir_hit_outside_s_stays_hir),
		cmocka_unit_test(repeated_references_count_once),
		cmocka_unit_test(miss_in_s_becomes_lir),
		cmocka_unit_test(eviction_outside_s_leaves_no_ghost),
		cmocka_unit_test(lir_hit_at_the_bottom_prunes),
		cmocka_unit_test(ghosts_are_bounded),
		cmocka_unit_test(without_ghosts_misses_stay_hir),
		cmocka_unit_test(full_slots_make_room),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(unusable_q_shrinks_the_lir_set),
		cmocka_unit_test(each_promotion_enlarges_a_shrunk_lir_set),
		cmocka_unit_test(lir_set_shrinks_to_half_at_most),
		cmocka_unit_test(lir_set_stays_shrunk_when_frames_leave_and_join),
		cmocka_unit_test(nothing_usable_is_refused),
		cmocka_unit_test(ghost_out_of_turn_counts_by_its_stamp),
		cmocka_unit_test(restored_lir_page_becomes_hir),
		cmocka_unit_test(restored_page_is_in_s_as_its_ghost_was),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(without_lir_pages_s_is_empty),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(joining_frames_enlarge_the_lir_set),
		cmocka_unit_test(leaving_frames_shrink_the_lir_set),
		cmocka_unit_test(leaving_frames_take_ghosts_along),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("lirs", tests, NULL, NULL);
}
