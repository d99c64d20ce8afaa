/*
 * sample.h
 *	  A spatial sample of pages, stratified by place.
 *
 * All references to a page are in the sample or none, as in SHARDS
 * (Waldspurger et al., FAST 2015), whose sample is the pages with a low hash.
 * Here a relation's blocks are divided into groups of neighbours, 1/R of them
 * each, and a hash chooses one of each group.  So of any run of n blocks the
 * sample has n R, give or take one, where independent draws would be off by
 * the square root of n R.  That matters where a pool's misses hang on whether a
 * run just fits: a loop over n blocks, a table that fills the pool.  Which one
 * of the group it is does not matter, and is not to be guessed.
 *
 * COSTS.  A multiplication and a mix for each page; a group need not be a
 * power of two.
 */
#ifndef TIDEPOOL_ADVICE_SAMPLE_H
#define TIDEPOOL_ADVICE_SAMPLE_H

#include "tidepool/page.h"

#define TP_SAMPLE_ALL UINT32_MAX	/* the rate of a sample of all pages */

/*
 * The share of the pages in a sample of this rate.  A block that reaches over
 * the end of a group may be chosen by both groups' points; that is rate^2 / 6
 * of the choices.
 */
static inline double
tp_sample_fraction(uint32_t rate)
{
	double		r = rate / 4294967296.0;

	return rate == TP_SAMPLE_ALL ? 1 : r * (1 - r * r / 6);
}

/*
 * The rate with which so many frames of a sample stand for so many: for all of
 * them, or for at least 4/3 as many.
 */
static inline uint32_t
tp_sample_rate(uint32_t frames, uint32_t of)
{
	double		share = (double) frames / of;
	double		r = share;

	if (frames >= of)
		return TP_SAMPLE_ALL;
	for (int i = 0; i < 8; i++)
		r = share / (1 - r * r / 6);
	return (uint32_t) (r * 4294967296.0);
}

/* The point in a group, in units of 2^-32 of it. */
static inline uint32_t
tp_sample_point(uint64_t relation, uint64_t group)
{
	return (uint32_t) tp_mix64(relation + group * UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * Is the page in the sample of this rate?  block * rate is its place: the
 * number of its group above the point, and how far in it below.  A block covers
 * the line from the one before it to its own place, and is chosen if a group's
 * point is there: so each point chooses one block.
 */
static inline bool
tp_page_sampled(tp_page page, uint32_t rate)
{
	uint64_t	place = (uint64_t) page.block * rate;
	uint64_t	group = place >> 32;
	uint32_t	within = (uint32_t) place;
	uint32_t	point = tp_sample_point(page.relation, group);

	/* most are not; rate is not TP_SAMPLE_ALL then */
	if (__builtin_expect(within - point >= rate && within > rate, 1))
		return false;
	if (rate == TP_SAMPLE_ALL || (within >= point && within - point < rate))
		return true;
	if (within >= rate)
		return false;
	/* the block reaches back into the group before */
	point = tp_sample_point(page.relation, group - 1);
	return point > UINT32_MAX - (rate - within);
}

#endif							/* TIDEPOOL_ADVICE_SAMPLE_H */
