/*
 * test_lean_evict.c
 *	  Literal states of LeanEvict after short sequences.
 *
 * Frames are drawn with seed 1: 2 2 3 1 1 3 3 2 of 4, 1 1 1 0 0 1 of 2.  With
 * four frames, cooling=0.5 is a queue of two draws, each an epoch: a page goes
 * if the draw is the second since its last reference, or a later one.
 */
#include "fixture.h"
#include "tidepool/parts/random.h"

/* Let the policy propose a victim, and nothing come of it. */
static uint32_t
propose(fixture *f)
{
	tp_access	access = {0};

	return tp_victim(&f->pool, tp_page_make(0, 99), NULL, NULL, &access);
}

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4",
				 "frames: 1 2 3 4 | draws=0 | epoch=0");
}

/* The first draw is 3, too early; the second is 3 again. */
static void
page_goes_when_it_was_idle_for_the_length_of_the_queue(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect(f, "frames: 1 2 5 4 | draws=2 | epoch=2");
	fixture_run(f, "6");
	fixture_expect(f, "frames: 1 2 5 6 | draws=3 | epoch=3");
	fixture_free(f);
}

/* Without the hit, 4 would go at the third draw; 2 goes at the fourth. */
static void
hit_warms_a_page(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 4 6",
				 "frames: 1 6 5 4 | draws=4 | epoch=4");
}

static void
vacuum_and_repetition_do_not_warm(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 4v 4c 6",
				 "frames: 1 2 5 6 | draws=3 | epoch=3");
}

static void
a_proposal_is_a_draw(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	assert_int_equal(propose(f), 2);
	assert_int_equal(propose(f), 3);
	fixture_expect(f, "frames: 1 2 3 4 | draws=3 | epoch=3");
	fixture_free(f);
}

/* 3 is drawn twice, then 4. */
static void
unusable_pages_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 !3 5",
				 "frames: 1 2 3 5 | draws=3 | epoch=3");
}

/*
 * Queues of four draws and of two.  2 is referenced after each proposal, and so
 * never cools; nothing else is usable.
 */
static void
page_that_has_not_cooled_is_the_last_resort(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=1", 4, "1 2 3 4 !1 !3 !4 5",
				 "frames: 1 5 3 4 | draws=4 | epoch=4");
}

static void
draws_for_a_victim_are_bounded(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 !1 !2 !3 !4 5");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "frames: 1 2 3 4 | draws=64 | epoch=64");
	fixture_free(f);
}

/* 20 frames, a queue of 20 draws: two draws are an epoch.  The 20th is 18. */
static void
a_long_queue_counts_in_epochs(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=1", 20);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21");
	fixture_expect(f, "frames: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 21 19 20"
				   " | draws=20 | epoch=10");
	fixture_free(f);
}

static void
forgotten_page_is_free(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 -4 -1",
				 "frames: 2 5 | draws=2 | epoch=2");
}

/* 4 is restored as cold as it was, and goes at the next draw but one. */
static void
restored_page_is_as_cold_as_before(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0.5", 4, "1 2 3 4 5 <4 >4 6",
				 "frames: 1 2 5 6 | draws=3 | epoch=3");
}

/* A queue of one draw: what is drawn goes, unless it has just come. */
static void
queue_has_one_place_at_least(void **unused)
{
	(void) unused;
	expect_state("lean_evict", "cooling=0", 2, "1 2 3 4",
				 "frames: 1 4 | draws=2 | epoch=2");
	expect_state("lean_evict", "cooling=0", 1, "/",
				 "frames: | draws=0 | epoch=0");
}

static void
length_follows_the_size(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=1", 2);

	(void) unused;
	fixture_run(f, "1 2");
	assert_int_equal(propose(f), 1);
	fixture_expect(f, "frames: 1 2 | draws=2 | epoch=2");
	fixture_run(f, "+ + 3 4");
	fixture_expect_coldest(f, "1 2 3 4");
	assert_int_equal(propose(f), 1);
	fixture_expect(f, "frames: 1 2 3 4 | draws=4 | epoch=4");
	fixture_free(f);
}

static void
coldest_goes_by_idleness(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 4 1");
	fixture_expect_coldest(f, "5 6 1 4");
	fixture_free(f);
}

/* Of the next four, frames 1 1 3 3, the first two have cooled. */
static void
upcoming_are_the_next_draws(void **unused)
{
	fixture    *f = fixture_new("lean_evict", "cooling=0.5", 4);
	tp_lookahead ahead = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6");
	fixture_expect_upcoming(f, &ahead, 4, "2 2");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(page_goes_when_it_was_idle_for_the_length_of_the_queue),
		cmocka_unit_test(hit_warms_a_page),
		cmocka_unit_test(vacuum_and_repetition_do_not_warm),
		cmocka_unit_test(a_proposal_is_a_draw),
		cmocka_unit_test(unusable_pages_are_passed_over),
		cmocka_unit_test(page_that_has_not_cooled_is_the_last_resort),
		cmocka_unit_test(draws_for_a_victim_are_bounded),
		cmocka_unit_test(a_long_queue_counts_in_epochs),
		cmocka_unit_test(forgotten_page_is_free),
		cmocka_unit_test(restored_page_is_as_cold_as_before),
		cmocka_unit_test(queue_has_one_place_at_least),
		cmocka_unit_test(length_follows_the_size),
		cmocka_unit_test(coldest_goes_by_idleness),
		cmocka_unit_test(upcoming_are_the_next_draws),
	};

	return cmocka_run_group_tests_name("lean_evict", tests, NULL, NULL);
}
