/*
 * test_newcomers.c
 *	  When newcomers return, and which references count as one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "prediction/newcomers.h"

#define FRAMES 79				/* a window is 10 pages */

static tp_access
at(uint64_t now)
{
	tp_access	access = {.now = now};

	return access;
}

/* A page whose first reference was at that time. */
static page_history
came(uint64_t now)
{
	tp_access	access = at(now);
	page_history page;

	memset(&page, 0, sizeof(page));
	page_history_begin(&page, &access, access.now, true);
	return page;
}

static bool
referenced(page_history *page, uint64_t now, float period)
{
	tp_access	access = at(now);

	return page_history_add(page, &access, now, true, period);
}

static void
a_newcomer_has_been_referenced_once(void **unused)
{
	page_history page = came(1000);
	tp_access	access = at(1000);

	(void) unused;
	assert_true(page_history_is_newcomer(&page));
	assert_true(referenced(&page, 2000, 0));
	assert_false(page_history_is_newcomer(&page));
	assert_false(referenced(&page, 3000, 0));

	/* by none that counts: no newcomer, and neither after the first that does */
	page_history_begin(&page, &access, access.now, false);
	assert_false(page_history_is_newcomer(&page));
	assert_false(referenced(&page, 2000, 0));
	assert_true(page_history_is_newcomer(&page));
	assert_true(referenced(&page, 3000, 0));
}

/*
 * What matters is the time since the last reference that counts; for those that
 * do not, since the last one.  Nothing else is noted.
 */
static void
references_within_the_period_are_one(void **unused)
{
	page_history page = came(1000);
	tp_access	scan = at(1150);

	(void) unused;
	assert_false(referenced(&page, 1060, 100));
	assert_true(page_history_is_newcomer(&page));
	assert_int_equal(page.last, 1000);
	assert_false(page_history_add(&page, &scan, scan.now, false, 100));
	assert_int_equal(page.last, 1150);
	scan.now = 1240;
	assert_false(page_history_add(&page, &scan, scan.now, false, 100));
	assert_int_equal(page.last, 1150);
	assert_true(page_history_age(&page, 1160) == 160);
	assert_true(referenced(&page, 1200, 100));
	assert_int_equal(page.last, 1200);
	assert_true(page.interval == 200);
}

/* With a period of 0, none but those at the same time. */
static void
references_at_the_same_time_are_one(void **unused)
{
	page_history page = came(1000);

	(void) unused;
	assert_false(referenced(&page, 1000, 0));
	assert_true(page_history_is_newcomer(&page));
	assert_true(referenced(&page, 1001, 0));
	assert_true(page.interval == 1);
}

static double
expected(const newcomer_stats *all, double age)
{
	newcomer_outlook outlook = newcomers_outlook(all);

	return newcomers_wait(&outlook, age);
}

/* A page was looked at, and was no newcomer if its age is less than 0. */
static void
looked(newcomers_seen *seen, double age)
{
	seen->looked++;
	if (age >= 0)
		newcomers_look(seen, age);
}

/* What the times are after two windows of 10 pages; the second takes 400. */
static newcomer_stats
after_a_window(uint32_t looks_at_others, uint32_t returns)
{
	newcomer_stats all;
	newcomers_seen seen = {0};

	newcomers_init(&all);
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, 1000);
	assert_true(expected(&all, 0) == TP_NEVER);
	assert_true(newcomers_period(&all) == MOST_CORRELATED);
	looked(&seen, 100);
	looked(&seen, 300);
	for (uint32_t i = 0; i < looks_at_others; i++)
		looked(&seen, -1);
	for (uint32_t i = 0; i < returns; i++)
		newcomers_return(&all);
	for (uint32_t i = 0; i < 9; i++)
		newcomers_load(&all, &seen, FRAMES, 1300);
	assert_true(expected(&all, 0) == TP_NEVER);
	newcomers_load(&all, &seen, FRAMES, 1400);
	return all;
}

/* A tenth of 79 frames are newcomers, and 4 return in 400: one does in 790. */
static void
the_wait_is_newcomers_by_returns(void **unused)
{
	newcomer_stats all = after_a_window(18, 4);

	(void) unused;
	assert_true(fabs(expected(&all, 0) - MEAN_DECAY * 790) < 0.01);
	assert_true(newcomers_period(&all) == 50);
}

/* They were 100 and 300 old. */
static void
the_wait_grows_with_the_age(void **unused)
{
	newcomer_stats all = after_a_window(18, 4);

	(void) unused;
	assert_true(fabs(expected(&all, 200) - 2 * MEAN_DECAY * 790) < 0.01);
	assert_true(fabs(expected(&all, 600) - 4 * MEAN_DECAY * 790) < 0.01);
}

static void
if_none_returns_half_of_one_does(void **unused)
{
	newcomer_stats all = after_a_window(18, 0);

	(void) unused;
	assert_true(fabs(expected(&all, 0) - 8 * MEAN_DECAY * 790) < 0.1);
}

/* Another process has told how many were newcomers, not yet of how many. */
static void
what_is_told_by_halves_is_not_used(void **unused)
{
	newcomer_stats all = after_a_window(18, 4);
	newcomers_seen seen = {0};

	(void) unused;
	all.ages = 500;
	all.waiting = 5;
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, 2000);
	assert_true(fabs(expected(&all, 0) - MEAN_DECAY * 790) < 0.01);
	all.wait = 0;
	assert_true(expected(&all, 0) == TP_NEVER);
}

/* Hours without a miss do not make everything one reference. */
static void
the_period_is_bounded(void **unused)
{
	newcomer_stats all;
	newcomers_seen seen = {0};

	(void) unused;
	newcomers_init(&all);
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, 1000);
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, UINT64_C(36000000000));
	assert_true(newcomers_period(&all) == MOST_CORRELATED);
}

/* Processors' clocks may disagree. */
static void
time_may_go_back(void **unused)
{
	newcomer_stats all;
	newcomers_seen seen = {0};

	(void) unused;
	newcomers_init(&all);
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, 1000);
	looked(&seen, 0);
	for (uint32_t i = 0; i < 10; i++)
		newcomers_load(&all, &seen, FRAMES, 900);
	assert_true(newcomers_period(&all) < 1);
	assert_true(expected(&all, 0) == TP_NEVER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_newcomer_has_been_referenced_once),
		cmocka_unit_test(references_within_the_period_are_one),
		cmocka_unit_test(references_at_the_same_time_are_one),
		cmocka_unit_test(the_wait_is_newcomers_by_returns),
		cmocka_unit_test(the_wait_grows_with_the_age),
		cmocka_unit_test(if_none_returns_half_of_one_does),
		cmocka_unit_test(what_is_told_by_halves_is_not_used),
		cmocka_unit_test(the_period_is_bounded),
		cmocka_unit_test(time_may_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
