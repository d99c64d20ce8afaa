/*
 * test_lirs2.c
 *	  Literal states of LIRS2 after short sequences.
 *
 * Five frames unless said otherwise: Llirs = 3, Lhirs = 2.  The comments name
 * pages by (before, last), the numbers of their last two references.
 */
#include "fixture.h"

static void
has_the_name_of_the_proposal(void **unused)
{
	(void) unused;
	assert_ptr_equal(tp_policy_find("rcrd"), tp_policy_find("lirs2"));
}

static void
fills_the_lir_set_first(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5",
				 "LIR: 3 2 1 | Q: 5 4 | HIR: | Llirs=3");
	expect_state("lirs2", "hir=0.6", 5, "1 2 3 4 5",
				 "LIR: 2 1 | Q: 5 4 3 | HIR: | Llirs=2");
}

static void
two_frames_are_lru(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 2, "1 2 1 3 1",
				 "LIR: | Q: 1 3 | HIR: | Llirs=0");
}

/* 4 has one reuse distance after its second reference, two at its third. */
static void
third_reference_becomes_lir(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 5 | HIR: | Llirs=3");
	fixture_run(f, "5 4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 5 | HIR: | Llirs=3");
	fixture_free(f);
}

/* 3 is LIR's last by (3, 3), but 1 by (1, 4) is the bottom of S. */
static void
bottom_is_the_oldest_reference_but_one(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 1 2 4 5 4 5");
	fixture_expect(f, "LIR: 2 1 3 | Q: 5 4 | HIR: | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 2 3 | Q: 1 5 | HIR: | Llirs=3");
	fixture_free(f);
}

/* The bottom is 7, of page 1 by (7, 10): 4 must be read twice after that. */
static void
hit_below_the_bottom_stays_hir(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4 1 2 3 1 2 3");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 5 | HIR: | Llirs=3");
	fixture_run(f, "4 5 4");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 5 | HIR: | Llirs=3");
	fixture_run(f, "5 4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 5 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
repeated_references_count_once(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 4 4 4",
				 "LIR: 3 2 1 | Q: 4 5 | HIR: | Llirs=3");
}

/* Ghost 4 has (4, 6), due; ghost 5 has (5, 5), one reference only. */
static void
ghosts_remember_two_references(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4 6 7");
	fixture_expect(f, "LIR: 3 2 1 | Q: 7 6 | HIR: 4 5 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 7 | HIR: 6 5 | Llirs=3");
	fixture_free(f);

	f = fixture_new("lirs2", NULL, 5);
	fixture_run(f, "1 2 3 4 5 4 6 7 5");
	fixture_expect(f, "LIR: 3 2 1 | Q: 5 7 | HIR: 6 4 | Llirs=3");
	fixture_run(f, "7 5");
	fixture_expect(f, "LIR: 5 3 2 | Q: 1 7 | HIR: 6 4 | Llirs=3");
	fixture_free(f);
}

/* The clock is the first word of the state. */
static void
ghosts_hold_large_stamps(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	f->pool.header->state[0] = (UINT64_C(1) << 47) - 5;
	fixture_run(f, "1 2 3 4 5 4 6 7 4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 7 | HIR: 6 5 | Llirs=3");
	fixture_free(f);
}

/*
 * The bottom is 2^39 + 1.  4 by (4, 2^41 + 1) is not due, but its ghost is:
 * the distance is more than 40 bits can say.
 */
static void
ghosts_clip_distances(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	f->pool.header->state[0] = UINT64_C(1) << 39;
	fixture_run(f, "1 2 3 1 2 3");
	f->pool.header->state[0] = UINT64_C(1) << 41;
	fixture_run(f, "4 6 7");
	fixture_expect(f, "LIR: 3 2 1 | Q: 7 6 | HIR: 4 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 1 7 | HIR: 6 | Llirs=3");
	fixture_free(f);
}

/* 4 by (4, 4) is below the bottom, 6. */
static void
eviction_outside_s_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 1 2 3 1 2 3 6",
				 "LIR: 3 2 1 | Q: 6 5 | HIR: | Llirs=3");
}

static void
lir_hit_at_the_bottom_prunes(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 1 2 3 1 2");
	fixture_expect(f, "LIR: 2 1 3 | Q: 6 5 | HIR: 4 | Llirs=3");
	fixture_run(f, "3");
	fixture_expect(f, "LIR: 3 2 1 | Q: 6 5 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
ghosts_are_bounded(void **unused)
{
	(void) unused;
	expect_state("lirs2", "ghosts=0.5", 5, "1 2 3 4 5 6 7 8 9",
				 "LIR: 3 2 1 | Q: 9 8 | HIR: 7 6 | Llirs=3");
	expect_state("lirs2", "ghosts=0", 5, "1 2 3 4 5 4 6 7 4",
				 "LIR: 3 2 1 | Q: 4 7 | HIR: | Llirs=3");
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
	fixture    *f = fixture_new("lirs2", "ghosts=1", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8 9 10");
	evict(f, 9);
	evict(f, 10);
	fixture_expect(f, "LIR: 3 2 1 | Q: | HIR: 10 9 8 7 6 5 | Llirs=3");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 !4 6",
				 "LIR: 3 2 1 | Q: 6 4^ | HIR: 5 | Llirs=3");
}

/* Of the LIR pages the least recently used goes: 2, in S above 1 by (1, 4). */
static void
unusable_q_shrinks_the_lir_set(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 !4 !5 6",
				 "LIR: 3 2 | Q: 6 5^ 4 | HIR: | Llirs=2");
	expect_state("lirs2", NULL, 5, "1 2 3 1 4 5 !4 !5 6",
				 "LIR: 1 3 | Q: 6 5^ 4 | HIR: 2 | Llirs=2");
}

static void
each_promotion_enlarges_a_shrunk_lir_set(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 !4 !5 6 5 4");
	fixture_expect(f, "LIR: 3 2 | Q: 4 5 6 | HIR: | Llirs=2");
	fixture_run(f, "5");
	fixture_expect(f, "LIR: 5 3 2 | Q: 4 6 | HIR: | Llirs=3");
	fixture_free(f);

	f = fixture_new("lirs2", NULL, 5);
	fixture_run(f, "1 2 3 4 5 !4 !5 6 4 ?4 ?5 7 8 9");
	fixture_expect(f, "LIR: 3 2 | Q: 9 8 7 | HIR: 4 6 5 | Llirs=2");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 9 8 | HIR: 7 6 5 | Llirs=3");
	fixture_free(f);
}

static void
nothing_usable_is_refused(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 !1 !2 !3 4");
	fixture_expect(f, "LIR: 1^ | Q: 3^ 2 | HIR: | Llirs=1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 4 by (4, 4) is evicted after 5 but has left S before it: the bottom is 6. */
static void
ghost_out_of_turn_counts_by_its_stamp(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 2 3 5 !4 6 ?4 7 2 3 1 2 1");
	fixture_expect(f, "LIR: 1 2 3 | Q: 7 6 | HIR: 4 5 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 1 2 3 | Q: 4 7 | HIR: 6 5 | Llirs=3");
	fixture_free(f);
}

static void
restored_lir_page_becomes_hir(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 <2 >2",
				 "LIR: 3 1 | Q: 5 4 2 | HIR: | Llirs=2");
}

/* Without ghosts both references to 5 are outside S when it is hit. */
static void
restored_page_is_in_s_as_its_ghost_was(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 4 5 <5 >5 4 5",
				 "LIR: 5 4 3 | Q: 2 1 | HIR: | Llirs=3");
	expect_state("lirs2", "ghosts=0", 5, "1 2 3 4 5 4 5 <5 >5 4 5",
				 "LIR: 4 3 2 | Q: 5 1 | HIR: | Llirs=3");
}

/*
 * The LIR set is short of pages: 4 enters it from its ghost (4, 4), so its
 * before is 4, and 2 by (2, 2) is still the bottom when 6 is due.
 */
static void
forget_leaves_room_in_the_lir_set(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 -1");
	fixture_expect(f, "LIR: 3 2 | Q: 6 5 | HIR: 4 | Llirs=3");
	fixture_run(f, "4");
	fixture_expect(f, "LIR: 4 3 2 | Q: 6 5 | HIR: | Llirs=3");
	fixture_run(f, "6 5 6");
	fixture_expect(f, "LIR: 6 4 3 | Q: 2 5 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
without_lir_pages_s_is_empty(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 5 -1 -3 -2");
	fixture_expect(f, "LIR: | Q: 5 6 | HIR: | Llirs=3");
	fixture_run(f, "7 6 5");
	fixture_expect(f, "LIR: 7 | Q: 5 6 | HIR: | Llirs=3");
	fixture_free(f);
}

/* After the load by VACUUM, 4 is a page with one reference, (9, 9). */
static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 4 5v 4c 6 7 4v");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 7 | HIR: 6 5 | Llirs=3");
	fixture_run(f, "7 4");
	fixture_expect(f, "LIR: 3 2 1 | Q: 4 7 | HIR: 6 5 | Llirs=3");
	fixture_free(f);
}

static void
joining_frames_enlarge_the_lir_set(void **unused)
{
	(void) unused;
	expect_state("lirs2", NULL, 5, "1 2 3 4 5 + 6 7",
				 "LIR: 6 3 2 1 | Q: 7 5 | HIR: 4 | Llirs=4");
}

static void
leaving_frames_shrink_the_lir_set(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 2 4 5 6 /");
	fixture_expect(f, "LIR: 2 3 | Q: 1 6 | HIR: 5 4 | Llirs=2");
	fixture_run(f, "/");
	fixture_expect(f, "LIR: 3 | Q: 2 1 | HIR: 6 5 4 | Llirs=1");
	fixture_run(f, "/");
	fixture_expect(f, "LIR: | Q: 3 2 | HIR: | Llirs=0");
	fixture_free(f);
}

/* The first frame leaves, and with it cell 0 of the heap. */
static void
the_heap_survives_a_leaving_frame(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 6);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 -1 /");
	fixture_expect(f, "LIR: 4 3 2 | Q: 6 5 | HIR: | Llirs=3");
	fixture_run(f, "5 6 5");
	fixture_expect(f, "LIR: 5 4 3 | Q: 2 6 | HIR: | Llirs=3");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("lirs2", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1");
	fixture_expect_coldest(f, "4 5 2 3 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_name_of_the_proposal),
		cmocka_unit_test(fills_the_lir_set_first),
		cmocka_unit_test(two_frames_are_lru),
		cmocka_unit_test(third_reference_becomes_lir),
		cmocka_unit_test(bottom_is_the_oldest_reference_but_one),
		cmocka_unit_test(hit_below_the_bottom_stays_hir),
		cmocka_unit_test(repeated_references_count_once),
		cmocka_unit_test(ghosts_remember_two_references),
		cmocka_unit_test(ghosts_hold_large_stamps),
		cmocka_unit_test(ghosts_clip_distances),
		cmocka_unit_test(eviction_outside_s_leaves_no_ghost),
		cmocka_unit_test(lir_hit_at_the_bottom_prunes),
		cmocka_unit_test(ghosts_are_bounded),
		cmocka_unit_test(full_slots_make_room),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(unusable_q_shrinks_the_lir_set),
		cmocka_unit_test(each_promotion_enlarges_a_shrunk_lir_set),
		cmocka_unit_test(nothing_usable_is_refused),
		cmocka_unit_test(ghost_out_of_turn_counts_by_its_stamp),
		cmocka_unit_test(restored_lir_page_becomes_hir),
		cmocka_unit_test(restored_page_is_in_s_as_its_ghost_was),
		cmocka_unit_test(forget_leaves_room_in_the_lir_set),
		cmocka_unit_test(without_lir_pages_s_is_empty),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(joining_frames_enlarge_the_lir_set),
		cmocka_unit_test(leaving_frames_shrink_the_lir_set),
		cmocka_unit_test(the_heap_survives_a_leaving_frame),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("lirs2", tests, NULL, NULL);
}
