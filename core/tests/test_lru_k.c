/*
 * test_lru_k.c
 *	  Literal states of LRU-K after short sequences.
 *
 * Times in the comments are the numbers of the references.
 */
#include "fixture.h"

static void
new_pages_are_at_infinite_distance(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3",
				 "infinite: 3*1 2*1 1*1 | finite: | passed: | history:");
}

static void
second_reference_makes_the_distance_finite(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1",
				 "infinite: 3*1 2*1 | finite: 1*2 | passed: | history:");
}

static void
infinite_distance_goes_first(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 4",
				 "infinite: 4*1 3*1 | finite: 1*2 | passed: | history: 2");
}

/* 1 was referenced last, but 2 and 3 have the later references but one. */
static void
largest_distance_goes_next(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 2 3 1 4",
				 "infinite: 4*1 | finite: 2*2 3*2 | passed: | history: 1");
}

/* HIST(2) of 1, 2, 3 are 4, 2 and 3 after another reference to 1. */
static void
hits_move_down_the_order(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 2 3 1 4",
				 "infinite: 4*1 | finite: 3*2 1*2 | passed: | history: 2");
}

static void
history_is_retained(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 4");
	fixture_expect(f, "infinite: 4*1 3*1 | finite: 1*2 | passed: | history: 2");
	fixture_run(f, "2");
	fixture_expect(f, "infinite: 4*1 | finite: 1*2 2*2 | passed: | history: 3");
	fixture_free(f);
}

/* HIST(2) of 2 is 2, from its history; of 4 it is 5, of 1 it is 4. */
static void
history_counts_in_the_order(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 4 2 4 1 5",
				 "infinite: 5*1 | finite: 1*2 4*2 | passed: | history: 2 3");
}

static void
history_is_bounded(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 4 5 6 7",
				 "infinite: 7*1 6*1 5*1 | finite: | passed: | history: 4 3 2");
	expect_state("lru_k", "history=0.4", 3, "1 2 3 4 5 6 7",
				 "infinite: 7*1 6*1 5*1 | finite: | passed: | history: 4");
	expect_state("lru_k", "history=0", 3, "1 2 3 4 1",
				 "infinite: 1*1 4*1 3*1 | finite: | passed: | history:");
}

/* The incoming page's own history is used before it can be dropped. */
static void
oldest_history_is_not_lost_on_return(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 4 5 6 1",
				 "infinite: 6*1 5*1 | finite: 1*2 | passed: | history: 4 3 2");
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

/* Evictions without admissions use all four slots up: the oldest goes. */
static void
full_slots_make_room(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6");
	evict(f, 4);
	fixture_expect(f, "infinite: 6*1 5*1 | finite: | passed: | history: 4 3 2 1");
	evict(f, 5);
	fixture_expect(f, "infinite: 6*1 | finite: | passed: | history: 5 4 3 2");
	fixture_free(f);
}

/* The clock is the first word of the state. */
static void
histories_hold_large_times(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 3);

	(void) unused;
	f->pool.header->state[0] = (UINT64_C(1) << 47) - 4;
	fixture_run(f, "1 2 3 1 4 2 4 1 5");
	fixture_expect(f, "infinite: 5*1 | finite: 1*2 4*2 | passed: | history: 2 3");
	fixture_free(f);
}

/* Beyond 32 bits distances count as equal: HIST(1) decides, 2 goes. */
static void
distances_are_clipped(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3");
	f->pool.header->state[0] = UINT64_C(1) << 33;
	fixture_run(f, "2 1 3 4");
	fixture_expect(f, "infinite: 4*1 | finite: 1*2 3*2 | passed: | history: 2");
	fixture_free(f);
}

static void
k_1_is_lru(void **unused)
{
	(void) unused;
	expect_state("lru_k", "k=1", 3, "1 2 3 1 4",
				 "infinite: | finite: 3*1 1*1 4*1 | passed: | history:");
}

static void
k_3_wants_three_references(void **unused)
{
	fixture    *f = fixture_new("lru_k", "k=3", 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 2 1 4");
	fixture_expect(f, "infinite: 4*1 2*2 | finite: 1*3 | passed: | history: 3");
	fixture_run(f, "5");
	fixture_expect(f, "infinite: 5*1 4*1 | finite: 1*3 | passed: | history: 2 3");
	fixture_run(f, "2");
	fixture_expect(f, "infinite: 5*1 | finite: 1*3 2*3 | passed: | history: 4 3");
	fixture_free(f);
}

/* HIST(3) of 1, 2, 3 are 1, 2, 3, but HIST(2) are 8, 4, 6. */
static void
k_3_orders_by_the_third_reference(void **unused)
{
	(void) unused;
	expect_state("lru_k", "k=3", 3, "1 2 3 2 2 3 3 1 1 4",
				 "infinite: 4*1 | finite: 2*3 3*3 | passed: | history: 1");
}

/* crp = 2: the second reference to 1 comes too soon, the third does not. */
static void
correlated_references_count_once(void **unused)
{
	fixture    *f = fixture_new("lru_k", "crp=2", 3);

	(void) unused;
	fixture_run(f, "1 2 1 2");
	fixture_expect(f, "infinite: 2*1 1*1 | finite: | passed: | history:");
	fixture_run(f, "3 1");
	fixture_expect(f, "infinite: 3*1 2*1 | finite: 1*2 | passed: | history:");
	fixture_free(f);
}

/* HIST(2) of 1 is 1 + (3 - 1): later than that of 2. */
static void
the_correlated_period_is_left_out(void **unused)
{
	(void) unused;
	expect_state("lru_k", "crp=2", 3, "1 2 1 3 2 1 3 4",
				 "infinite: 4*1 | finite: 1*2 3*2 | passed: | history: 2");
}

/* HIST(3) of 1 is 1 + (2 - 1) + (7 - 5) = 4, as of 2; LAST is 10 and 11. */
static void
last_reference_breaks_ties(void **unused)
{
	(void) unused;
	expect_state("lru_k", "k=3,crp=2", 3, "1 1 3 2 1 3 1 2 3 1 2 3 4",
				 "infinite: 4*1 | finite: 2*3 3*3 | passed: | history: 1");
}

static void
pages_just_referenced_are_not_eligible(void **unused)
{
	(void) unused;

	/* infinite's page is not, finite's is */
	expect_state("lru_k", "crp=2", 2, "1 2 2 1 2 2 3",
				 "infinite: 3*1 2*1 | finite: | passed: | history: 1");

	/* the first of finite is not, the second is */
	expect_state("lru_k", "crp=2", 2, "1 2 1 2 2 1 1 2 1 1 3",
				 "infinite: 3*1 | finite: 1*2 | passed: | history: 2");
}

static void
if_nothing_is_eligible_the_first_goes(void **unused)
{
	(void) unused;
	expect_state("lru_k", "crp=2", 2, "1 2 2 1 3",
				 "infinite: 3*1 | finite: 1*2 | passed: | history: 2");
	expect_state("lru_k", "crp=2", 2, "1 2 1 2 2 1 1 2 3",
				 "infinite: 3*1 | finite: 2*2 | passed: | history: 1");
}

/*
 * 1 .. 34 are read once, 1 .. 32 and 34 again within crp: at time 74 only 33
 * is eligible, and that is the 33rd page in the order of HIST(1).  With 1
 * pinned it is the 32nd.
 */
static void
looks_for_an_eligible_page_are_bounded(void **unused)
{
	(void) unused;
	for (int pinned = 0; pinned <= 1; pinned++)
	{
		fixture    *f = fixture_new("lru_k", "k=1,crp=40", 34);

		fixture_run(f, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 "
					"22 23 24 25 26 27 28 29 30 31 32 33 34");
		fixture_run(f, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 "
					"22 23 24 25 26 27 28 29 30 31 32 34 34 34 34 34 34 34");
		fixture_run(f, pinned ? "!1 35" : "35");
		assert_int_equal(f->pool.nodes[pinned ? 32 : 0].block, 35);
		fixture_free(f);
	}
}

/* A run longer than 16 bits can say is cut: the next reference counts. */
static void
long_runs_are_cut(void **unused)
{
	fixture    *f = fixture_new("lru_k", "crp=40000", 3);

	(void) unused;
	fixture_run(f, "1");
	f->pool.header->state[0] = 39999;
	fixture_run(f, "1");
	f->pool.header->state[0] = 79999;
	fixture_run(f, "1");
	fixture_expect(f, "infinite: 1*1 | finite: | passed: | history:");
	f->pool.header->state[0] = 119999;
	fixture_run(f, "1");
	fixture_expect(f, "infinite: | finite: 1*2 | passed: | history:");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 !2 4",
				 "infinite: 4*1 2*1^ | finite: 1*2 | passed: | history: 3");
	expect_state("lru_k", NULL, 3, "1 2 3 1 !2 !3 4",
				 "infinite: 4*1 3*1^ 2*1 | finite: | passed: | history: 1");
	expect_state("lru_k", NULL, 3, "1 2 3 1 2 3 !1 4",
				 "infinite: 4*1 | finite: 3*2 | passed: 1*2 | history: 2");
}

/* 1 and 2 are looked at again; 1 goes when it has become usable. */
static void
passed_pages_are_looked_at_again(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 1 2 3 4 !1 !2 5");
	fixture_expect(f, "infinite: 5*1 | finite: 4*2 | passed: 2*2 1*2 | history: 3");
	fixture_run(f, "!5 6");
	fixture_expect(f, "infinite: 6*1 5*1^ | finite: | passed: 2*2 1*2 | history: 4 3");
	fixture_run(f, "!6 ?1 1 7");
	fixture_expect(f, "infinite: 7*1 6*1^ 5*1 | finite: | passed: 2*2 | history: 1 4 3");
	fixture_run(f, "-2");
	fixture_expect(f, "infinite: 7*1 6*1^ 5*1 | finite: | passed: | history: 1 4 3");
	fixture_free(f);
}

static void
nothing_usable_is_refused(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 2 !1 !2 !3 4");
	fixture_expect(f, "infinite: 3*1^ | finite: | passed: 2*2 1*2 | history:");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_leaves_no_history(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 -1 -2 4 1",
				 "infinite: 1*1 4*1 3*1 | finite: | passed: | history:");
}

/* HIST(2) of 1 is 1, the least, before the eviction and after. */
static void
restored_page_keeps_its_history(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 4, "1 2 3 4 1 2 3 <1 >1 4 5",
				 "infinite: 5*1 | finite: 2*2 3*2 4*2 | passed: | history: 1");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1c 2v",
				 "infinite: 3*1 2*1 1*1 | finite: | passed: | history:");
	expect_state("lru_k", NULL, 3, "1 2 3 4 1v",
				 "infinite: 1*1 4*1 3*1 | finite: | passed: | history: 2");
	expect_state("lru_k", NULL, 3, "1 2 3 4 1c",
				 "infinite: 1*1 4*1 3*1 | finite: | passed: | history: 2");
}

static void
joining_frames_are_used(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 1 + 4",
				 "infinite: 4*1 3*1 2*1 | finite: 1*2 | passed: | history:");
}

/* The first frame leaves, and with it cell 0 of the heap. */
static void
the_heap_survives_a_leaving_frame(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 1 2 3 4 /");
	fixture_expect(f, "infinite: | finite: 2*2 4*2 3*2 | passed: | history: 1");
	fixture_run(f, "5");
	fixture_expect(f, "infinite: 5*1 | finite: 3*2 4*2 | passed: | history: 2 1");
	fixture_free(f);
}

static void
leaving_frames_take_history_along(void **unused)
{
	(void) unused;
	expect_state("lru_k", NULL, 3, "1 2 3 4 5 6 /",
				 "infinite: 6*1 5*1 | finite: | passed: | history: 4 3");
}

/* Distances of 1, 2, 4 at time 7: 6, 5, 3; the first two have three digits. */
static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("lru_k", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 1 4 2");
	fixture_expect_coldest(f, "3 1 2 4");
	fixture_free(f);

	f = fixture_new("lru_k", "k=1", 4);
	fixture_run(f, "4 3 2 1 4");
	fixture_expect_coldest(f, "3 2 1 4");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_pages_are_at_infinite_distance),
		cmocka_unit_test(second_reference_makes_the_distance_finite),
		cmocka_unit_test(infinite_distance_goes_first),
		cmocka_unit_test(largest_distance_goes_next),
		cmocka_unit_test(hits_move_down_the_order),
		cmocka_unit_test(history_is_retained),
		cmocka_unit_test(history_counts_in_the_order),
		cmocka_unit_test(history_is_bounded),
		cmocka_unit_test(oldest_history_is_not_lost_on_return),
		cmocka_unit_test(full_slots_make_room),
		cmocka_unit_test(histories_hold_large_times),
		cmocka_unit_test(distances_are_clipped),
		cmocka_unit_test(k_1_is_lru),
		cmocka_unit_test(k_3_wants_three_references),
		cmocka_unit_test(k_3_orders_by_the_third_reference),
		cmocka_unit_test(correlated_references_count_once),
		cmocka_unit_test(the_correlated_period_is_left_out),
		cmocka_unit_test(last_reference_breaks_ties),
		cmocka_unit_test(pages_just_referenced_are_not_eligible),
		cmocka_unit_test(if_nothing_is_eligible_the_first_goes),
		cmocka_unit_test(looks_for_an_eligible_page_are_bounded),
		cmocka_unit_test(long_runs_are_cut),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(passed_pages_are_looked_at_again),
		cmocka_unit_test(nothing_usable_is_refused),
		cmocka_unit_test(forget_leaves_no_history),
		cmocka_unit_test(restored_page_keeps_its_history),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(joining_frames_are_used),
		cmocka_unit_test(the_heap_survives_a_leaving_frame),
		cmocka_unit_test(leaving_frames_take_history_along),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("lru_k", tests, NULL, NULL);
}
