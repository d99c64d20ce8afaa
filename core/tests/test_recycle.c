/*
 * test_recycle.c
 *	  Literal states of the one-chance clock after short sequences.
 */
#include "fixture.h"

static void
sweep_clears_the_count(void **unused)
{
	fixture    *f = fixture_new("recycle", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 1 2 3");
	fixture_expect(f, "ring: 1*1 2*1 3*1 | hand=0");
	fixture_run(f, "4");
	fixture_expect(f, "ring: 4*1 2 3 | hand=1");
	fixture_free(f);
}

static void
one_reference_is_one_chance(void **unused)
{
	(void) unused;
	expect_state("recycle", NULL, 3, "1 2 3 4 2 5", "ring: 4*1 2 5*1 | hand=0");
}

static void
unusable_frames_keep_their_count(void **unused)
{
	(void) unused;
	expect_state("recycle", NULL, 3, "1 2 3 !1 4", "ring: 1*1 4*1 3 | hand=2");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("recycle", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "ring: 1*1 2*1 | hand=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
forget_frees_the_frame(void **unused)
{
	(void) unused;
	expect_state("recycle", NULL, 3, "1 2 3 4 -2 5",
				 "ring: 4*1 5*1 3 | hand=1");
}

static void
vacuum_and_repetition_count(void **unused)
{
	(void) unused;
	expect_state("recycle", NULL, 3, "1 2 3 4 2v 3c",
				 "ring: 4*1 2*1 3*1 | hand=1");
}

static void
frames_join_and_leave(void **unused)
{
	(void) unused;
	expect_state("recycle", NULL, 2, "1 2 + 3 4", "ring: 4*1 2 3 | hand=1");
	expect_state("recycle", NULL, 3, "1 2 3 4 /", "ring: 4*1 3 | hand=0");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("recycle", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 4 2");
	fixture_expect_coldest(f, "3 2 4");
	fixture_free(f);
}

/* What recycle.c claims of itself. */
static void
equals_the_one_bit_clock(void **unused)
{
	const char *text = "1 2 3 1 4 2w 2c 5 !4 6 7 -6 + 3v 8 1 / 9 ?4 3 2 1";
	fixture    *f = fixture_new("recycle", NULL, 3);
	fixture    *clock = fixture_new("clock", "max_usage=1", 3);
	char		state[256];

	(void) unused;
	fixture_run(f, text);
	fixture_run(clock, text);
	tp_describe(&clock->pool, state, sizeof(state));
	fixture_expect(f, state);
	assert_int_equal(f->misses, clock->misses);
	fixture_free(clock);
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweep_clears_the_count),
		cmocka_unit_test(one_reference_is_one_chance),
		cmocka_unit_test(unusable_frames_keep_their_count),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(forget_frees_the_frame),
		cmocka_unit_test(vacuum_and_repetition_count),
		cmocka_unit_test(frames_join_and_leave),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(equals_the_one_bit_clock),
	};

	return cmocka_run_group_tests_name("recycle", tests, NULL, NULL);
}
