/*
 * budget.c
 *	  What a write to the SSD must be worth.  See budget.h.
 */
#include <string.h>

#include "tidepool/tier/budget.h"

#define SECOND UINT64_C(1000000)
#define HOUR (3600 * SECOND)

/* A clock that is back by less, time will bring to where it was. */
#define PATIENCE (60 * SECOND)

/* Prices end here: 2^MOST_DOUBLINGS random reads.  No page is that warm. */
#define MOST_DOUBLINGS 60

/* An emptier purse asks no more: this is the highest price. */
#define LEAST_FILL 0.01

void
tp_budget_init(tp_budget *budget)
{
	memset(budget, 0, sizeof(*budget));
}

static double
most_in_purse(const tp_budget *budget)
{
	double		most = budget->rate * TP_BUDGET_SECONDS;

	/* a purse that no page fits into would never be half full */
	return most < 2 ? 2 : most;
}

void
tp_budget_set(tp_budget *budget, double rate, double per_day)
{
	bool		anew = budget->rate == 0;

	budget->rate = rate;
	budget->per_day = per_day;
	if (anew || budget->purse > most_in_purse(budget))
		budget->purse = most_in_purse(budget);
}

/* Hours that the day ending with `hour` does not have any more are forgotten. */
static void
turn_to(tp_budget *budget, uint64_t hour)
{
	uint64_t	passed = hour - budget->hour;

	if (passed > TP_BUDGET_HOURS)
		passed = TP_BUDGET_HOURS;
	for (uint64_t i = 0; i < passed; i++)
	{
		uint32_t   *oldest = &budget->written[(hour - i) % TP_BUDGET_HOURS];

		budget->day -= *oldest;
		*oldest = 0;
	}
	budget->hour = hour;
}

/*
 * The clock was set back.  What was written keeps its age, unless the hour is the
 * same or comes soon.
 */
static void
set_back(tp_budget *budget, uint64_t now)
{
	uint32_t	written[TP_BUDGET_HOURS];
	uint64_t	hour = now / HOUR;

	budget->now = now;
	if (hour + 1 >= budget->hour)
		return;
	memcpy(written, budget->written, sizeof(written));
	for (uint64_t age = 0; age < TP_BUDGET_HOURS; age++)
		budget->written[(hour + TP_BUDGET_HOURS - age) % TP_BUDGET_HOURS] =
			written[(budget->hour - age) % TP_BUDGET_HOURS];
	budget->hour = hour;
}

void
tp_budget_advance(tp_budget *budget, uint64_t now)
{
	if (now + PATIENCE < budget->now || now / HOUR + 1 < budget->hour)
		set_back(budget, now);
	if (now <= budget->now)
		return;
	budget->purse += (double) (now - budget->now) / SECOND * budget->rate;
	if (budget->purse > most_in_purse(budget))
		budget->purse = most_in_purse(budget);
	budget->now = now;
	if (now / HOUR > budget->hour)
		turn_to(budget, now / HOUR);
}

void
tp_budget_spend(tp_budget *budget)
{
	uint32_t   *hour = &budget->written[budget->hour % TP_BUDGET_HOURS];

	budget->purse -= budget->rate > 0;
	if (*hour == UINT32_MAX)
		return;
	(*hour)++;
	budget->day++;
}

/* 2^x for x >= 0, linear between whole x. */
static double
power_of_two(double x)
{
	uint32_t	whole;

	if (x > MOST_DOUBLINGS)
		x = MOST_DOUBLINGS;
	whole = (uint32_t) x;
	return (double) (UINT64_C(1) << whole) * (1 + x - whole);
}

static double
price_of(double fill)
{
	if (fill >= 0.5)
		return 0;
	if (fill < LEAST_FILL)
		fill = LEAST_FILL;
	return power_of_two(TP_BUDGET_STEEPNESS * (0.5 / fill - 1)) - 1;
}

double
tp_budget_price(const tp_budget *budget)
{
	double		price = 0;

	if (budget->rate > 0)
		price = price_of(budget->purse / most_in_purse(budget));
	if (budget->per_day > 0)
	{
		double		other = price_of(1 - (double) budget->day / budget->per_day);

		if (other > price)
			price = other;
	}
	return price;
}

void
tp_budget_restore(tp_budget *budget, uint64_t hour, uint32_t written)
{
	uint32_t   *place = &budget->written[hour % TP_BUDGET_HOURS];

	if (hour > budget->hour)
		turn_to(budget, hour);
	if (budget->hour - hour >= TP_BUDGET_HOURS)
		return;
	budget->day += written - (uint64_t) *place;
	*place = written;
}
