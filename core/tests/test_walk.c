/*
 * test_walk.c
 *	  Walks that pause, and looks ahead, with a policy of each kind.
 */
#include "fixture.h"

/* A look ahead by somebody who has not looked before. */
static void
expect_upcoming(const char *policy, const char *params, uint32_t frames,
				const char *text, uint32_t victims, const char *blocks)
{
	fixture    *f = fixture_new(policy, params, frames);
	tp_lookahead ahead = {0};

	fixture_run(f, text);
	fixture_expect_upcoming(f, &ahead, victims, blocks);
	fixture_free(f);
}

/* ---- pauses ---- */

static void
a_walk_pauses_and_goes_on(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 5);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect_slice(f, &cursor, 2, "1 2");
	fixture_expect_slice(f, &cursor, 3, "3 4 5");
	assert_false(cursor.over);	/* that there are no more is to be seen */
	fixture_expect_slice(f, &cursor, 1, "");
	assert_true(cursor.over);
	assert_int_equal(cursor.looks, 5);
	fixture_run(f, "6");
	fixture_expect_slice(f, &cursor, 1, "");
	fixture_free(f);
}

/*
 * 3 would have been next.  Its frame holds another page, at the head, and is
 * before that of 2 again, since frames came to be used in the same order.
 */
static void
where_pages_were_evicted_a_list_begins_anew(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 5);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect_slice(f, &cursor, 2, "1 2");
	fixture_run(f, "6 7 8");
	fixture_expect_slice(f, &cursor, 10, "4 5 6");
	assert_true(cursor.over);	/* five looks, as many as there were pages */
	fixture_free(f);
}

/* 3 would have been next, but is at the head now. */
static void
where_a_page_was_referenced_a_list_begins_anew(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4");
	fixture_expect_slice(f, &cursor, 2, "1 2");
	fixture_run(f, "3");
	fixture_expect_slice(f, &cursor, 10, "1 2");
	assert_true(cursor.over);
	fixture_free(f);
}

static void
pages_behind_the_walk_do_not_matter(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 5);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect_slice(f, &cursor, 2, "1 2");
	fixture_run(f, "6 5");
	fixture_expect_slice(f, &cursor, 10, "3 4 6");
	fixture_free(f);
}

static void
the_frame_that_would_be_next_has_left(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4");
	fixture_expect_slice(f, &cursor, 1, "1");
	fixture_run(f, "1 /");
	fixture_expect(f, "recent: 1 4 3");
	fixture_expect_slice(f, &cursor, 10, "3 4 1");
	fixture_free(f);
}

/* The hand has come by 3 and is at 4, with the other half of the walk to do. */
static void
bands_go_on_from_where_the_hand_is(void **unused)
{
	fixture    *f = fixture_new("clock", "initial=0", 4);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 2 5");
	fixture_expect(f, "ring: 5 2*1 3 4 | hand=1");
	fixture_expect_slice(f, &cursor, 2, "3");
	fixture_run(f, "6");
	fixture_expect(f, "ring: 5 2 6 4 | hand=3");
	fixture_expect_slice(f, &cursor, 2, "2 6");
	fixture_expect_slice(f, &cursor, 100, "");
	assert_true(cursor.over);
	fixture_free(f);
}

static void
a_block_group_goes_on_with_what_is_left_of_it(void **unused)
{
	fixture    *f = fixture_new("pbm_pq", NULL, 5);
	tp_cursor	cursor = {0};

	(void) unused;
	fixture_run(f, "1 2 3 128 129");
	fixture_expect_slice(f, &cursor, 1, "3");
	fixture_run(f, "-2 -3");
	fixture_expect_slice(f, &cursor, 10, "1 129 128");
	assert_true(cursor.over);
	fixture_free(f);
}

/* ---- looks ahead ---- */

static void
lists_from_the_tail(void **unused)
{
	(void) unused;
	expect_upcoming("lru", NULL, 4, "1 2 3 4", 3, "1 2 3");
	expect_upcoming("lru", NULL, 4, "1 2 3 4", 9, "1 2 3 4");
	expect_upcoming("mru", NULL, 4, "1 2 3 4", 2, "4 3");
	expect_upcoming("lean_evict", "cooling=0", 4, "1 2 3 4", 2, "");
}

/* ARC's T1 and T2; S and M of S3-FIFO, without pages referenced again. */
static void
lists_that_take_turns(void **unused)
{
	(void) unused;
	expect_upcoming("arc", NULL, 4, "1 1 2 2 3 4", 1, "3 1");
	expect_upcoming("arc", NULL, 4, "1 1 2 2 3 4", 2, "3 4 1 2");
	expect_upcoming("s3fifo", NULL, 4, "1 2 3 4 2 2 2 5 6 5 5", 9, "4 6 2");
	expect_upcoming("w_tinylfu", NULL, 4, "1 2 3 4", 1, "4 1");
}

static void
rings_from_the_hand(void **unused)
{
	(void) unused;
	expect_upcoming("clock", "initial=0", 4, "1 2 3 4 2 5", 2, "3 4");
	expect_upcoming("clock", "initial=0", 4, "1 2 3 4 2 5", 9, "3 4 5");
	expect_upcoming("sieve", NULL, 4, "1 2 3 4 2 5", 1, "3");
	expect_upcoming("sieve", NULL, 4, "1 2 3 4 2 5", 9, "3 4 5");
}

/* The cool ones of two pages of each partition, from their hands on. */
static void
every_partition_is_looked_at(void **unused)
{
	(void) unused;
	expect_upcoming("osic", "partitions=2", 6, "1 2 3 4 5 6 7 3", 2, "2");
	expect_upcoming("osic", "partitions=2", 6, "1 2 3 4 5 6 7 3", 3, "2");
}

/* Not pages whose keys are stale, as that of 1 in the end. */
static void
heaps_from_the_top(void **unused)
{
	(void) unused;
	expect_upcoming("lru_k", NULL, 4, "1 2 3 4 1 4 2", 9, "3 1 4 2");
	expect_upcoming("lru_k", NULL, 4, "1 2 3 4 1 4 2", 2, "3 1");
	expect_upcoming("lru_k", NULL, 4, "1 2 3 4 1 4 2 1", 9, "3 4 2");
}

static void
nothing_where_nothing_goes(void **unused)
{
	(void) unused;
	expect_upcoming("keep", NULL, 2, "1 2", 2, "");
}

/*
 * Values as in test_watt.c.  1 is in the coldest band and 3 in the next; that
 * is a quarter and the half, 2.3 / 8 + 1 / 16 is what is wanted.  So 1 is
 * found in every round but the first, and 3 in 4 of 10, when it comes to 1.
 */
static void
sweeps_learn_what_is_cold(void **unused)
{
	fixture    *f = fixture_new("watt", NULL, 4);
	tp_lookahead ahead = {0};

	(void) unused;
	fixture_run(f, "5 2 1 4 3 2w");
	fixture_run(f, "4");
	fixture_expect(f, "frames: 3*1 2*2!1 1*1 4*2 | history: | "
				   "epoch=1 | evictions=0");
	fixture_expect_upcoming(f, &ahead, 4, "");
	fixture_expect_upcoming(f, &ahead, 4, "1");
	fixture_expect_upcoming(f, &ahead, 4, "1");
	fixture_expect_upcoming(f, &ahead, 4, "3 1");
	fixture_free(f);
}

static void
a_sweep_goes_on_in_the_next_round(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 5);
	tp_lookahead ahead = {0};

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect_upcoming(f, &ahead, 9, "5");
	fixture_expect_upcoming(f, &ahead, 2, "1 2");
	fixture_expect_upcoming(f, &ahead, 2, "3 4");
	fixture_run(f, "!5 -2");
	fixture_expect_upcoming(f, &ahead, 2, "1 3");
	fixture_run(f, "?5");
	fixture_expect_upcoming(f, &ahead, 9, "4 5 1 3");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_pauses_and_goes_on),
		cmocka_unit_test(where_pages_were_evicted_a_list_begins_anew),
		cmocka_unit_test(where_a_page_was_referenced_a_list_begins_anew),
		cmocka_unit_test(pages_behind_the_walk_do_not_matter),
		cmocka_unit_test(the_frame_that_would_be_next_has_left),
		cmocka_unit_test(bands_go_on_from_where_the_hand_is),
		cmocka_unit_test(a_block_group_goes_on_with_what_is_left_of_it),
		cmocka_unit_test(lists_from_the_tail),
		cmocka_unit_test(lists_that_take_turns),
		cmocka_unit_test(rings_from_the_hand),
		cmocka_unit_test(every_partition_is_looked_at),
		cmocka_unit_test(heaps_from_the_top),
		cmocka_unit_test(nothing_where_nothing_goes),
		cmocka_unit_test(sweeps_learn_what_is_cold),
		cmocka_unit_test(a_sweep_goes_on_in_the_next_round),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
