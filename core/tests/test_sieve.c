/*
 * test_sieve.c
 *	  Literal states of SIEVE after short sequences.
 */
#include "fixture.h"

static void
pages_come_in_unvisited_at_the_head(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 2 3", "queue: 3 2 1");
}

static void
hit_sets_the_bit_and_moves_nothing(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 2 3 1 1", "queue: 3 2 1*1");
}

/* The hand, shown by the mark, goes on towards the head. */
static void
hand_begins_at_the_tail(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 2 3 4", "queue: 4 3 2!1");
}

static void
survivors_keep_their_place(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 4");
	fixture_expect(f, "queue: 4 3!1 1");
	fixture_run(f, "5");
	fixture_expect(f, "queue: 5 4!1 1");
	fixture_free(f);
}

static void
search_wraps_from_head_to_tail(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 2 3 1 2 3 4", "queue: 4 3 2!1");
	expect_state("sieve", NULL, 3, "1 2 3 1 4 3 4 5", "queue: 5 4 3!1");
}

/* The next search begins at the tail, whatever has come in meanwhile. */
static void
hand_leaves_the_head_for_nowhere(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 1 2 4");
	fixture_expect(f, "queue: 4 2 1");
	fixture_run(f, "5");
	fixture_expect(f, "queue: 5 4 2!1");
	fixture_free(f);
}

static void
hand_rests_on_a_proposal(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), NULL, NULL, &access),
					 0);
	fixture_expect(f, "queue: 3 2 1!1");
	fixture_run(f, "1 4");
	fixture_expect(f, "queue: 4 3!1 1");
	fixture_free(f);
}

static void
unusable_frames_keep_their_bit(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 2 3 1 !1 !2 4", "queue: 4 2 1*1");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 3 2 !2 !3 4");
	fixture_expect(f, "queue: 3 2*1!1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_moves_the_hand_on(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4 -3");
	fixture_expect(f, "queue: 4 2!1");
	fixture_run(f, "-2");
	fixture_expect(f, "queue: 4!1");
	fixture_run(f, "-4");
	fixture_expect(f, "queue:");
	fixture_run(f, "5 6 7 8");
	fixture_expect(f, "queue: 8 7 6!1");
	fixture_free(f);
}

/* The hand had moved on when 2 was evicted. */
static void
restored_page_is_behind_the_hand(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect(f, "queue: 5 4 3 2!1");
	fixture_run(f, "<2 >2");
	fixture_expect(f, "queue: 5 4 3!1 2");
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_visit(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 3, "1 1c 2 2v 3v", "queue: 3 2 1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("sieve", NULL, 2, "1 2 3 + 4 5", "queue: 5 4 3!1");
	expect_state("sieve", NULL, 3, "1 2 3 1 /", "queue: 3!1 1");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 2");
	fixture_expect_coldest(f, "1 3 4 2");
	fixture_run(f, "1 5 4 1");
	fixture_expect(f, "queue: 5 4*1!1 2 1*1");
	fixture_expect_coldest(f, "5 2 4 1");
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

/* Two rounds, then the tail. */
static void
racing_hits_do_not_prolong_the_search(void **unused)
{
	fixture    *f = fixture_new("sieve", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), hit_while_asked, f,
							   &access), 0);
	fixture_expect(f, "queue: 3 2 1*1!1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_unvisited_at_the_head),
		cmocka_unit_test(hit_sets_the_bit_and_moves_nothing),
		cmocka_unit_test(hand_begins_at_the_tail),
		cmocka_unit_test(survivors_keep_their_place),
		cmocka_unit_test(search_wraps_from_head_to_tail),
		cmocka_unit_test(hand_leaves_the_head_for_nowhere),
		cmocka_unit_test(hand_rests_on_a_proposal),
		cmocka_unit_test(unusable_frames_keep_their_bit),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(forget_moves_the_hand_on),
		cmocka_unit_test(restored_page_is_behind_the_hand),
		cmocka_unit_test(vacuum_and_repetition_do_not_visit),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(racing_hits_do_not_prolong_the_search),
	};

	return cmocka_run_group_tests_name("sieve", tests, NULL, NULL);
}
