/*
 * test_random.c
 *	  Literal states of random replacement after short sequences.
 *
 * The fixture's seed is 1, whose draws, computed apart from the core, are
 *	  below 3:	1 2 2 1 1 2 2 1 0 2 ...
 *	  below 4:	2 2 3 1 1 3 3 2 1 3 ...
 *	  below 64:	36 47 62 28 28 48 56 33 18 50 25 38 29 33 27 10, then 41
 */
#include <string.h>

#include "fixture.h"

static void
hits_change_nothing(void **unused)
{
	(void) unused;
	expect_state("random", NULL, 3, "1 2 3 1 2w 3v 1c", "frames: 1 2 3");
}

static void
victims_are_drawn(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect(f, "frames: 1 2 5 4");
	fixture_run(f, "6v 7c 8");
	fixture_expect(f, "frames: 1 8 6 7");
	fixture_free(f);
}

static void
draws_of_unusable_frames_are_repeated(void **unused)
{
	(void) unused;
	expect_state("random", NULL, 4, "1 2 3 4 !3 5", "frames: 1 2 3 5");
}

/* The free frame is being filled by someone else. */
static void
draws_of_free_frames_are_repeated(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 -3");
	f->pinned[2] = true;
	fixture_run(f, "5");
	fixture_expect(f, "frames: 1 2 5");
	fixture_free(f);
}

/* Fills 64 frames, pins all but these two, and asks for one. */
static uint32_t
frame_taken_but_for(uint32_t usable, uint32_t also_usable)
{
	fixture    *f = fixture_new("random", NULL, 64);
	uint32_t	taken = 0;

	for (uint32_t block = 0; block < 64; block++)
	{
		tp_access	access = {0};

		tp_admit(&f->pool, block, tp_page_make(0, block), &access);
	}
	memset(f->pinned, true, sizeof(f->pinned));
	f->pinned[usable] = f->pinned[also_usable] = false;
	fixture_run(f, "100");
	while (f->pool.nodes[taken].block != 100)
		taken++;
	fixture_free(f);
	return taken;
}

static void
after_sixteen_draws_members_are_searched(void **unused)
{
	(void) unused;
	assert_int_equal(frame_taken_but_for(5, 10), 10);	/* the 16th draw */
	assert_int_equal(frame_taken_but_for(5, 60), 60);	/* up from 41 */
	assert_int_equal(frame_taken_but_for(40, 41), 41);
	assert_int_equal(frame_taken_but_for(5, 40), 5);	/* past the end */
}

static void
any_frame_is_usable_without_a_function(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 4), NULL, NULL, &access), 1);
	fixture_free(f);
}

static void
no_usable_frame_is_no_victim(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "frames: 1 2");
	fixture_free(f);
}

static void
forget_frees_the_frame(void **unused)
{
	(void) unused;
	expect_state("random", NULL, 3, "1 2 3 -2 4", "frames: 1 4 3");
}

/* The last member takes the place of the one that leaves. */
static void
frames_join_and_leave(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 /");
	fixture_expect(f, "frames: 1 2 4");
	fixture_run(f, "+ 5");
	fixture_expect(f, "frames: 1 2 4 5");
	fixture_free(f);
}

static void
coldest_follows_the_members(void **unused)
{
	fixture    *f = fixture_new("random", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 -2 1");
	fixture_expect_coldest(f, "1 3 4");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_change_nothing),
		cmocka_unit_test(victims_are_drawn),
		cmocka_unit_test(draws_of_unusable_frames_are_repeated),
		cmocka_unit_test(draws_of_free_frames_are_repeated),
		cmocka_unit_test(after_sixteen_draws_members_are_searched),
		cmocka_unit_test(any_frame_is_usable_without_a_function),
		cmocka_unit_test(no_usable_frame_is_no_victim),
		cmocka_unit_test(forget_frees_the_frame),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_follows_the_members),
	};

	return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
