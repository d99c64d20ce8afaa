/*
 * test_search.c
 *	  Searches of linked lists past unusable frames: what they find, what they
 *	  remember, what they look at.  With LRU, whose list they go through.
 *
 * In the states ^ follows the last passed frame, @ the one under the hand.
 */
#include "fixture.h"

#define RECENT 1				/* LRU's list */

/* 5 goes: 1 to 4 are passed.  And the search after that. */
#define FOUR_PASSED "1 2 3 4 5 6 7 !1 !2 !3 !4 8"
#define HAND_AT_3 FOUR_PASSED " 9"

static void
expect_lru(uint32_t frames, const char *text, const char *state)
{
	expect_state("lru", NULL, frames, text, state);
}

static void
unusable_frames_at_the_tail_are_passed(void **unused)
{
	(void) unused;
	expect_lru(5, "1 2 3 4 5 !1 !2 6", "recent: 6 5 4 2^ 1");
	expect_lru(5, "1 2 3 4 5 !1 !3 6", "recent: 6 5 4 3 1^");
	expect_lru(5, "1 2 3 4 5 !2 6", "recent: 6 5 4 3 2");
	expect_lru(5, "1 2 3 4 5 !1 !2 6 !4 7", "recent: 7 6 4^ 2 1");
}

static void
a_usable_tail_goes_first(void **unused)
{
	(void) unused;
	expect_lru(5, "1 2 3 4 5 !1 !2 6 ?1 7", "recent: 7 6 5 4 2^");
	expect_lru(5, "1 2 3 4 5 !1 !2 6 ?1 ?2 7 8", "recent: 8 7 6 5 4");
}

static void
the_hand_goes_round(void **unused)
{
	(void) unused;
	expect_lru(7, FOUR_PASSED, "recent: 8 7 6 4^ 3 2 1");
	expect_lru(7, FOUR_PASSED " 9", "recent: 9 8 7 4^ 3@ 2 1");
	expect_lru(7, FOUR_PASSED " 9 10", "recent: 10 9 8 4^@ 3 2 1");
	expect_lru(7, FOUR_PASSED " 9 10 11", "recent: 11 10 9 4^ 3 2 1");
	expect_lru(7, FOUR_PASSED " 9 10 11 12", "recent: 12 11 10 4^ 3@ 2 1");
}

/* 2 has become usable behind the hand, which comes round to it. */
static void
what_the_hand_finds_goes(void **unused)
{
	(void) unused;
	expect_lru(7, HAND_AT_3 " ?3 10", "recent: 10 9 8 7 4^@ 2 1");
	expect_lru(7, HAND_AT_3 " ?2 10", "recent: 10 9 8 4^@ 3 2 1");
	expect_lru(7, HAND_AT_3 " ?2 10 11", "recent: 11 10 9 4^ 3 2 1");
	expect_lru(7, HAND_AT_3 " ?2 10 11 12", "recent: 12 11 10 9 4^ 3@ 1");
}

static void
a_hand_at_the_tail_starts_anew(void **unused)
{
	(void) unused;
	expect_lru(7, HAND_AT_3 " ?1 10 ?2 11", "recent: 11 10 9 8 7 4^ 3@");
	expect_lru(7, HAND_AT_3 " ?1 10 ?2 11 12", "recent: 12 11 10 9 8 4^ 3");
	expect_lru(7, HAND_AT_3 " ?1 10 ?2 11 ?4 12", "recent: 12 11 10 9 8 7 3^");
}

static void
frames_that_leave_are_no_longer_passed(void **unused)
{
	(void) unused;

	/* hits */
	expect_lru(7, FOUR_PASSED " 4", "recent: 4 8 7 6 3^ 2 1");
	expect_lru(7, FOUR_PASSED " 2", "recent: 2 8 7 6 4^ 3 1");
	expect_lru(7, HAND_AT_3 " 3", "recent: 3 9 8 7 4^@ 2 1");
	expect_lru(7, HAND_AT_3 " 10 4", "recent: 4 10 9 8 3^ 2 1");
	expect_lru(3, "1 2 3 !1 4 1", "recent: 1 4 3");

	/* pages that cease to exist */
	expect_lru(7, FOUR_PASSED " -4", "recent: 8 7 6 3^ 2 1");
	expect_lru(7, FOUR_PASSED " -1", "recent: 8 7 6 4^ 3 2");
	expect_lru(7, HAND_AT_3 " -3", "recent: 9 8 7 4^@ 2 1");
	expect_lru(7, HAND_AT_3 " 10 -4", "recent: 10 9 8 3^ 2 1");
	expect_lru(7, FOUR_PASSED " -1 -2 -3 -4", "recent: 8 7 6");

	/* frames */
	expect_lru(3, "1 2 3 !1 /", "recent: 3 1^");
	expect_lru(3, "1 2 3 !1 / ?1 /", "recent: 3");
}

static void
a_hit_at_the_head_changes_nothing(void **unused)
{
	(void) unused;
	expect_lru(2, "1 2 !1 !2 3 2", "recent: 2^ 1");
	expect_lru(2, "1 2 !1 !2 3 1", "recent: 1 2^");
}

/* All are passed; the hand is at 2, then at 3, when 3 is looked for. */
static void
at_last_all_passed_frames_are_looked_at(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 !1 !2 !3 !4 5");
	fixture_expect(f, "recent: 4^ 3 2 1");
	assert_int_equal(f->refused, 1);
	fixture_run(f, "?3 5");
	fixture_expect(f, "recent: 5 4^@ 2 1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* Evictions that are undone: tp_list_put_back. */
static void
restored_frames_stand_between_their_old_neighbours(void **unused)
{
	(void) unused;
	expect_lru(4, "1 2 3 4 <2 >2", "recent: 4 3 2 1");
	expect_lru(4, "1 2 3 4 <4 >4", "recent: 4 3 2 1");
	expect_lru(4, "1 2 3 4 <1 >1", "recent: 4 3 2 1");
}

static void
restored_frames_are_at_the_tail_if_those_have_parted(void **unused)
{
	(void) unused;
	expect_lru(4, "1 2 3 4 <2 3 >2", "recent: 3 4 1 2");
	expect_lru(4, "1 2 3 4 <2 1 >2", "recent: 1 4 3 2");
}

/* At the tail nothing is passed any more. */
static void
restored_frames_are_passed_between_passed_ones(void **unused)
{
	(void) unused;
	expect_lru(5, "1 2 3 4 5 !1 !2 !3 6", "recent: 6 5 3^ 2 1");
	expect_lru(5, "1 2 3 4 5 !1 !2 !3 6 <2 >2", "recent: 6 5 3^ 2 1");
	expect_lru(5, "1 2 3 4 5 !1 !2 !3 6 <3 >3", "recent: 6 5 3 2^ 1");
	expect_lru(5, "1 2 3 4 5 !1 !2 !3 6 <1 >1", "recent: 6 5 3 2 1");
}

static void
what_comes_to_the_tail_is_not_passed(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);
	uint32_t	head;

	(void) unused;
	fixture_run(f, "1 2 3 4 !1 !2 5 6");
	fixture_expect(f, "recent: 6 5 2^ 1");
	head = tp_list_of(&f->pool, RECENT)->head;
	tp_list_remove(&f->pool, head);
	tp_list_push_tail(&f->pool, RECENT, head);
	fixture_expect(f, "recent: 5 2 1 6");
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_free(f);
}

/* ---- what is looked at ---- */

typedef struct look_counter
{
	uint32_t	usable_from;	/* first frame that is */
	uint32_t	count;
} look_counter;

static bool
look(void *arg, uint32_t frame)
{
	look_counter *l = arg;

	l->count++;
	return frame >= l->usable_from;
}

static uint32_t
propose(const fixture *f, look_counter *l)
{
	tp_access	access = {0};

	l->count = 0;
	return tp_victim(&f->pool, tp_page_make(0, UINT32_MAX), look, l, &access);
}

/* Pages 0, 1, .. are in frames 0, 1, ..; those from 8 on are usable. */
static void
unusable_frames_are_met_once(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 10);
	look_counter l = {.usable_from = 8};

	(void) unused;
	fixture_run(f, "0 1 2 3 4 5 6 7 8 9");
	assert_int_equal(propose(f, &l), 8);
	assert_int_equal(l.count, 9);
	for (int i = 0; i < 20; i++)
	{
		assert_int_equal(propose(f, &l), 8);
		assert_int_equal(l.count, 3);
	}

	/* 3 is new again once it has been at the head */
	fixture_run(f, "3 8 9");
	assert_int_equal(propose(f, &l), 8);
	assert_int_equal(l.count, 4);
	assert_int_equal(propose(f, &l), 8);
	assert_int_equal(l.count, 3);
	fixture_free(f);
}

/* The hand is at 1, and comes to 7 after 6 searches. */
static void
what_becomes_usable_is_found(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 10);
	look_counter l = {.usable_from = 8};
	int			searches = 0;

	(void) unused;
	fixture_run(f, "0 1 2 3 4 5 6 7 8 9");
	assert_int_equal(propose(f, &l), 8);
	l.usable_from = 7;
	while (propose(f, &l) != 7)
		searches++;
	assert_int_equal(searches, 6);
	assert_int_equal(l.count, 2);
	fixture_free(f);
}

/* Whoever can take any frame need not look. */
static void
without_a_function_the_tail_goes(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 7);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, FOUR_PASSED);
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), NULL, NULL, &access), 0);
	fixture_expect(f, "recent: 8 7 6 4^ 3 2 1");
	fixture_free(f);
}

/* ---- verification ---- */

static void
check_knows_the_passed_frames(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 8);
	tp_passed  *passed;
	uint32_t	last;

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 !1 !2 !3 !4 8 9");
	passed = &f->pool.header->passed[RECENT];
	last = passed->last;
	passed->last = TP_NONE;
	passed->hand = last;
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 1);
	passed->hand = TP_NONE;
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	passed->last = last;
	passed->hand = tp_list_of(&f->pool, RECENT)->head;
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 1);
	passed->hand = last;
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_free(f);
}

static void
check_knows_a_passed_frame_that_is_gone(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 3);
	uint32_t	frame;

	(void) unused;
	fixture_run(f, "1 2 3");
	frame = tp_list_of(&f->pool, RECENT)->head;
	tp_forget(&f->pool, frame);
	f->pool.header->passed[RECENT].last = frame;
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 1);
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unusable_frames_at_the_tail_are_passed),
		cmocka_unit_test(a_usable_tail_goes_first),
		cmocka_unit_test(the_hand_goes_round),
		cmocka_unit_test(what_the_hand_finds_goes),
		cmocka_unit_test(a_hand_at_the_tail_starts_anew),
		cmocka_unit_test(frames_that_leave_are_no_longer_passed),
		cmocka_unit_test(a_hit_at_the_head_changes_nothing),
		cmocka_unit_test(at_last_all_passed_frames_are_looked_at),
		cmocka_unit_test(restored_frames_stand_between_their_old_neighbours),
		cmocka_unit_test(restored_frames_are_at_the_tail_if_those_have_parted),
		cmocka_unit_test(restored_frames_are_passed_between_passed_ones),
		cmocka_unit_test(what_comes_to_the_tail_is_not_passed),
		cmocka_unit_test(unusable_frames_are_met_once),
		cmocka_unit_test(what_becomes_usable_is_found),
		cmocka_unit_test(without_a_function_the_tail_goes),
		cmocka_unit_test(check_knows_the_passed_frames),
		cmocka_unit_test(check_knows_a_passed_frame_that_is_gone),
	};

	return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
