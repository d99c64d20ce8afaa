/*
 * test_busy_time.c
 *	  What pauses take off the time of a pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "prediction/busy_time.h"

#define PAUSE (LONGEST_PAUSE * 1024)
#define LEAST ((LONGEST_PAUSE - 1) * 1024)	/* that a pause so long counts */
#define STEP 32768				/* what is taken off is a multiple of this */
#define BEGIN 5000000000		/* some time, in microseconds */

static void
a_pool_in_use_has_the_time_of_the_wall(void **unused)
{
	busy_clock	clock = {0};

	(void) unused;
	for (uint64_t now = BEGIN; now < BEGIN + 100 * PAUSE; now += PAUSE)
		assert_int_equal(busy_time_now(&clock, now), now);
}

static void
a_pause_counts_but_for_the_most_part(void **unused)
{
	(void) unused;
	for (uint64_t pause = PAUSE; pause < 50 * STEP; pause += 1000)
	{
		busy_clock	clock = {0};
		uint64_t	at_first = busy_time_now(&clock, BEGIN);
		uint64_t	then = busy_time_at(&clock, BEGIN + pause);

		assert_in_range(then - at_first, LEAST, PAUSE + STEP);
		assert_int_equal((pause - (then - at_first)) % STEP, 0);
		assert_int_equal(busy_time_now(&clock, BEGIN + pause), then);
		/* it is over, so what follows is time */
		assert_int_equal(busy_time_now(&clock, BEGIN + pause + 5000), then + 5000);
	}
}

/* From the first microseconds on, and the longest of which the clock knows. */
static void
pauses_add_up(void **unused)
{
	const uint64_t pause = UINT64_C(20) * 24 * 3600 * 1000000;	/* 20 days */
	busy_clock	clock = {0};

	(void) unused;
	for (uint64_t i = 0; i < 70; i++)	/* almost four years */
		assert_in_range(busy_time_now(&clock, i * pause), i * LEAST,
						i * (PAUSE + STEP));
}

/* Looking at a clock does not make the pool one in use. */
static void
looking_is_no_use(void **unused)
{
	busy_clock	clock = {0};

	(void) unused;
	(void) busy_time_now(&clock, BEGIN);
	(void) busy_time_at(&clock, BEGIN + PAUSE);
	assert_in_range(busy_time_now(&clock, BEGIN + 2 * PAUSE) - BEGIN, LEAST,
					PAUSE + STEP);
}

/* Processors' clocks may disagree, and a process may have read its own long ago. */
static void
late_readings_change_nothing(void **unused)
{
	busy_clock	clock = {0};

	(void) unused;
	(void) busy_time_now(&clock, BEGIN);
	assert_int_equal(busy_time_now(&clock, BEGIN - 30000), BEGIN - 30000);
	assert_int_equal(busy_time_now(&clock, BEGIN + 1000), BEGIN + 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_in_use_has_the_time_of_the_wall),
		cmocka_unit_test(a_pause_counts_but_for_the_most_part),
		cmocka_unit_test(pauses_add_up),
		cmocka_unit_test(looking_is_no_use),
		cmocka_unit_test(late_readings_change_nothing),
	};

	return cmocka_run_group_tests_name("busy_time", tests, NULL, NULL);
}
