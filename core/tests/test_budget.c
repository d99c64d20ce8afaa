/*
 * test_budget.c
 *	  What a write to the SSD must be worth, as its budget is used up.
 */
#include <math.h>
#include <stdlib.h>

#include "fixture.h"
#include "tidepool/tier/budget.h"

#define SECOND UINT64_C(1000000)
#define HOUR (3600 * SECOND)

/* A time like a server's. */
#define TODAY (UINT64_C(490000) * HOUR)

static tp_budget
budget_of(double rate, double per_day)
{
	tp_budget	budget;

	tp_budget_init(&budget);
	tp_budget_set(&budget, rate, per_day);
	tp_budget_advance(&budget, TODAY);
	return budget;
}

static void
spend(tp_budget *budget, int pages)
{
	for (int i = 0; i < pages; i++)
		tp_budget_spend(budget);
}

static void
without_a_limit_nothing_has_a_price(void **unused)
{
	tp_budget	budget = budget_of(0, 0);

	(void) unused;
	assert_false(tp_budget_is_limited(&budget));
	spend(&budget, 1000000);
	assert_true(tp_budget_price(&budget) == 0);
	assert_int_equal(budget.day, 1000000);
}

static void
half_of_the_purse_is_free(void **unused)
{
	tp_budget	budget = budget_of(10, 0);

	(void) unused;
	assert_true(tp_budget_is_limited(&budget));
	assert_true(budget.purse == 10 * TP_BUDGET_SECONDS);
	spend(&budget, 5 * TP_BUDGET_SECONDS);
	assert_true(tp_budget_price(&budget) == 0);
	spend(&budget, 1);
	assert_true(tp_budget_price(&budget) > 0);
}

/* With 1/(2 * fill) - 1 = 1/4, 1/2 and 1, x is 2, 4 and 8. */
static void
the_price_doubles(void **unused)
{
	tp_budget	budget = budget_of(0, 1000);

	(void) unused;
	assert_int_equal(TP_BUDGET_STEEPNESS, 8);
	spend(&budget, 600);
	assert_true(fabs(tp_budget_price(&budget) - 3) < 1e-9);
	budget.per_day = 1500;
	spend(&budget, 400);
	assert_true(fabs(tp_budget_price(&budget) - 15) < 1e-9);
	budget.per_day = 4000;
	spend(&budget, 2000);
	assert_true(fabs(tp_budget_price(&budget) - 255) < 1e-9);
}

/* No step is larger than what one page of so few makes, and it never falls. */
static void
the_price_rises_smoothly_and_without_end(void **unused)
{
	tp_budget	budget = budget_of(0, 100000);
	double		last = 0;

	(void) unused;
	for (int i = 0; i < 97000; i++)
	{
		double		price;

		tp_budget_spend(&budget);
		price = tp_budget_price(&budget);
		assert_true(price >= last);
		assert_true(price <= last * 1.08 + 0.01);
		last = price;
	}
	assert_true(last > 1e15);
	spend(&budget, 200000);
	assert_true(tp_budget_price(&budget) >= last);
}

static void
time_fills_the_purse(void **unused)
{
	tp_budget	budget = budget_of(100, 0);
	double		before;

	(void) unused;
	spend(&budget, 100 * TP_BUDGET_SECONDS);
	before = tp_budget_price(&budget);
	tp_budget_advance(&budget, TODAY + SECOND);
	assert_true(tp_budget_price(&budget) < before);
	assert_true(fabs(budget.purse - 100) < 1e-6);
	tp_budget_advance(&budget, TODAY + 10000 * SECOND);
	assert_true(budget.purse == 100 * TP_BUDGET_SECONDS);
	assert_true(tp_budget_price(&budget) == 0);
}

static void
a_clock_that_is_late_is_waited_for(void **unused)
{
	tp_budget	budget = budget_of(100, 1000);

	(void) unused;
	spend(&budget, 700);
	tp_budget_advance(&budget, TODAY - 50 * SECOND);
	tp_budget_advance(&budget, TODAY - 40 * SECOND);
	assert_true(budget.purse == 300);
	assert_int_equal(budget.day, 700);
	tp_budget_advance(&budget, TODAY + SECOND);
	assert_true(fabs(budget.purse - 400) < 1e-6);
}

/* Time goes on from there; the hours of the day keep their age. */
static void
a_clock_may_be_set_back(void **unused)
{
	const uint64_t times[] = {
		TODAY + HOUR - 2 * 60 * SECOND, TODAY, TODAY - 5 * HOUR,
		TODAY - 30 * HOUR, TODAY / 2 + 7 * HOUR, 3 * HOUR
	};

	(void) unused;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
	{
		tp_budget	budget = budget_of(100, 1000);

		spend(&budget, 300);
		tp_budget_advance(&budget, TODAY + HOUR);
		spend(&budget, 500);
		budget.purse = 0;
		tp_budget_advance(&budget, times[i]);
		assert_true(budget.purse == 0);
		assert_int_equal(budget.day, 800);
		tp_budget_advance(&budget, times[i] + SECOND);
		assert_true(fabs(budget.purse - 100) < 1e-6);
		tp_budget_advance(&budget, times[i] + 22 * HOUR);
		assert_int_equal(budget.day, 800);
		tp_budget_advance(&budget, times[i] + 26 * HOUR);
		assert_int_equal(budget.day, 0);
	}
}

/* A caller has kept the hours of a clock that was years ahead. */
static void
restored_hours_may_be_ahead(void **unused)
{
	tp_budget	budget;

	(void) unused;
	tp_budget_init(&budget);
	tp_budget_set(&budget, 0, 1000);
	tp_budget_restore(&budget, 2 * TODAY / HOUR, 700);
	tp_budget_advance(&budget, TODAY);
	assert_int_equal(budget.day, 700);
	spend(&budget, 100);
	tp_budget_advance(&budget, TODAY + 23 * HOUR);
	assert_int_equal(budget.day, 800);
	tp_budget_advance(&budget, TODAY + 24 * HOUR);
	assert_int_equal(budget.day, 0);
}

static void
hours_pass_out_of_the_day(void **unused)
{
	tp_budget	budget = budget_of(0, 1000);

	(void) unused;
	spend(&budget, 300);
	tp_budget_advance(&budget, TODAY + HOUR);
	spend(&budget, 500);
	assert_int_equal(budget.day, 800);
	tp_budget_advance(&budget, TODAY + 23 * HOUR);
	assert_int_equal(budget.day, 800);
	tp_budget_advance(&budget, TODAY + 24 * HOUR);
	assert_int_equal(budget.day, 500);
	tp_budget_advance(&budget, TODAY + 100 * HOUR);
	assert_int_equal(budget.day, 0);
	assert_true(tp_budget_price(&budget) == 0);
}

/* Whatever pages are worth, no more is written in the long run. */
static void
what_is_worth_its_price_keeps_to_the_rate(void **unused)
{
	for (double worth = 1; worth < 1e6; worth *= 100)
	{
		tp_budget	budget = budget_of(50, 0);
		int			written = 0;

		(void) unused;
		for (uint64_t i = 1; i <= 1000000; i++)
		{
			/* a thousand offers a second for a thousand seconds */
			tp_budget_advance(&budget, TODAY + i * 1000);
			if (worth * (double) (i * 7919 % 1000) / 1000 < tp_budget_price(&budget))
				continue;
			tp_budget_spend(&budget);
			written++;
		}
		assert_true(written <= 50 * (1000 + TP_BUDGET_SECONDS));
		assert_true(written >= 50 * 1000);
	}
}

static void
limits_change(void **unused)
{
	tp_budget	budget = budget_of(100, 0);

	(void) unused;
	spend(&budget, 200);
	tp_budget_set(&budget, 10, 0);
	assert_true(budget.purse == 100);
	tp_budget_set(&budget, 0, 0);
	assert_true(tp_budget_price(&budget) == 0);
	spend(&budget, 1000);
	tp_budget_set(&budget, 20, 0);
	assert_true(budget.purse == 200);
	tp_budget_set(&budget, 20, 1300);
	assert_true(tp_budget_price(&budget) > 1);
}

static void
a_day_is_restored(void **unused)
{
	tp_budget	old = budget_of(0, 1000);
	tp_budget	budget;

	(void) unused;
	for (int hour = 0; hour < 30; hour++)
	{
		tp_budget_advance(&old, TODAY + (uint64_t) hour * HOUR);
		spend(&old, hour);
	}
	tp_budget_init(&budget);
	tp_budget_set(&budget, 0, 1000);
	for (uint64_t i = 0; i < TP_BUDGET_HOURS; i++)
		tp_budget_restore(&budget, old.hour - i,
						  old.written[(old.hour - i) % TP_BUDGET_HOURS]);
	assert_int_equal(budget.day, old.day);
	assert_true(tp_budget_price(&budget) == tp_budget_price(&old));
	tp_budget_advance(&old, TODAY + 40 * HOUR);
	tp_budget_advance(&budget, TODAY + 40 * HOUR);
	assert_int_equal(budget.day, old.day);
	assert_memory_equal(budget.written, old.written, sizeof(old.written));
	tp_budget_restore(&budget, old.hour - 24, 99);
	assert_int_equal(budget.day, old.day);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit_nothing_has_a_price),
		cmocka_unit_test(half_of_the_purse_is_free),
		cmocka_unit_test(the_price_doubles),
		cmocka_unit_test(the_price_rises_smoothly_and_without_end),
		cmocka_unit_test(time_fills_the_purse),
		cmocka_unit_test(a_clock_that_is_late_is_waited_for),
		cmocka_unit_test(a_clock_may_be_set_back),
		cmocka_unit_test(restored_hours_may_be_ahead),
		cmocka_unit_test(hours_pass_out_of_the_day),
		cmocka_unit_test(what_is_worth_its_price_keeps_to_the_rate),
		cmocka_unit_test(limits_change),
		cmocka_unit_test(a_day_is_restored),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
