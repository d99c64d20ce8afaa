/*
 * budget.h
 *	  How much may be written to an SSD, and what a write must be worth for it.
 *
 * Flash wears, so there may be a budget: pages a second, and pages a day.  A
 * copy of a page on the SSD saves so many microseconds by its temperature
 * (extents.h); while much of the budget is left every write is welcome, and as
 * it is used up a write has a price in the same currency.  A page is admitted
 * only if it is warmer than the one that it replaces by at least the price, and
 * a page that memory writes is copied again only if it is as warm as the price.
 *
 * The price is what makes the sum come out right: it rises until so few pages
 * are worth it that no more is written than is allowed.  It rises smoothly, and
 * without a bound, so the warmest pages come in last of all to be refused.
 * (Maximising what is saved with a bound on what is spent: the price is the
 * Lagrange multiplier, found by how full the purse is.)
 *
 * A purse for seconds: it fills at the rate that is allowed, up to what
 * TP_BUDGET_SECONDS bring.  A purse for the day: what is allowed less what was
 * written in this hour and the 23 before it.  A purse more than half full asks
 * nothing.  From there on
 *	  price = unit * (2^x - 1), x = TP_BUDGET_STEEPNESS * (1 / (2 * fill) - 1)
 * with fill the share that is left, and unit what one random read saves.  Of two
 * purses the higher price counts.  In the long run no more than the rate is
 * written, and in any 24 hours of the clock no more than the day's pages, save
 * for writes that are not asked for their price (pages to be kept: tier.h).
 *
 * 2^x is linear between whole x: no mathematical library.
 *
 * TIME.  The caller says how late it is (tp_budget_advance) before it asks; the
 * clock may stand still and jump.  Microseconds; whole hours of it are the hours
 * of the day's purse, so a caller that keeps the budget from run to run uses a
 * clock that goes on.
 *
 * MEMORY.  The struct, without pointers.  COSTS: O(1); a new hour O(24).
 */
#ifndef TIDEPOOL_BUDGET_H
#define TIDEPOOL_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define TP_BUDGET_HOURS 24

/* Seconds' worth of writes that may come at once.  Chosen, not measured. */
#define TP_BUDGET_SECONDS 10

/*
 * See above.  A purse a quarter full asks for 255 random reads, which is what
 * the pages of an extent have in common that is read well more than others.
 * Chosen, not measured: the price settles where it must, and this decides how
 * full the purse is then.
 */
#define TP_BUDGET_STEEPNESS 8

typedef struct tp_budget
{
	double		rate;			/* pages a second; 0: no limit */
	double		per_day;		/* pages; 0: no limit */
	double		purse;			/* pages that may be written, at most
								 * TP_BUDGET_SECONDS * rate; may be negative */
	uint64_t	now;			/* microseconds */
	uint64_t	hour;			/* of now */
	uint32_t	written[TP_BUDGET_HOURS];	/* pages, by hour modulo 24 */
	uint64_t	day;			/* their sum */
} tp_budget;

/* No limits, nothing written. */
void		tp_budget_init(tp_budget *budget);

/*
 * From now on these limits hold, 0 for none.  Neither may be negative.  What was
 * written today stays written.  A purse that had no limit is full.
 */
void		tp_budget_set(tp_budget *budget, double rate, double per_day);

/* Is there a limit?  If not nothing has a price, and the time need not be told. */
static inline bool
tp_budget_is_limited(const tp_budget *budget)
{
	return budget->rate > 0 || budget->per_day > 0;
}

/*
 * It is this late.  An earlier time than before counts as no time.  If it is more
 * than a minute earlier, the clock was set: time goes on from there, and what was
 * written keeps its age, to within an hour or two.
 */
void		tp_budget_advance(tp_budget *budget, uint64_t now);

/* A page is to be written. */
void		tp_budget_spend(tp_budget *budget);

/* What a write must save at least, in units of one random read's saving. */
double		tp_budget_price(const tp_budget *budget);

/* So many pages were written in this hour: a caller that has kept `written`. */
void		tp_budget_restore(tp_budget *budget, uint64_t hour,
							  uint32_t written);

#endif							/* TIDEPOOL_BUDGET_H */
