/*
 * advice.h
 *	  What a pool would read with another size or another algorithm.
 *
 * A sample of the pool's pages (sample.h) goes through pools in miniature
 * (miniature.h): one for each of TP_ADVICE_SIZES sizes and each policy, with
 * as many frames as the sample has pages for one of the pool's.  A miss in the
 * miniature stands for 1/R of the pool's.
 *
 * THE ESTIMATE.  What a sample gets wrong for one size and policy it mostly
 * gets wrong for its neighbours, too, and for the pool as it is the truth is
 * known: the caller counts what it reads.  So the pool as it is, in miniature,
 * is a control variate: each estimate is corrected by what the sample gets
 * wrong there, times the coefficient with which the misses of the two move
 * together from one random group of pages to the next.  (J. M. Hammersley, D.
 * C. Handscomb: Monte Carlo methods, 1964, section 5.5.)
 *
 * A group with more references has more misses of all sizes.  The coefficient is
 * that of a regression on the references, too, and so says what goes along beyond
 * that: otherwise, where the pool reads little, an error of little would correct a
 * size that reads much by a large multiple.  But the references are no control
 * variate, although the caller counts them: what the sample lacks of them are
 * those to a few hot pages, which miss nowhere.
 *
 * TIME.  Sums fade: a caller that keeps (1 - t/T) of them in every t has what
 * the last T amounted to.  Where references come faster than they can be
 * simulated, the caller may leave some of the time out, and say for how many of
 * them those stand that it gave (tp_advice_weigh).  The miniatures go on from
 * where they were, so their first misses are to be left out, too.
 *
 * SIZES are fractions of the frames that the pool had at the beginning.  If it
 * changes, the caller says so, and the pool as it is lies between two of them.
 *
 * LOCKING.  None: an advice belongs to one thread.  FAILURE: nothing fails
 * after tp_advice_init.
 */
#ifndef TIDEPOOL_ADVICE_ADVICE_H
#define TIDEPOOL_ADVICE_ADVICE_H

#include "tidepool/advice/miniature.h"
#include "tidepool/advice/sample.h"

/* The sizes, in percent of the pool's at the beginning. */
#define TP_ADVICE_SIZES 10
extern const uint32_t tp_advice_percent[TP_ADVICE_SIZES];

#define TP_ADVICE_POLICIES 4	/* at most; the first is the pool's own */

/*
 * Groups of pages for the coefficients.  Chosen, not measured: a coefficient
 * from 32 groups is within a sixth or so, and it multiplies what is small.
 */
#define TP_ADVICE_GROUPS 32

/* Relations whose misses are told apart, by numbers of the caller's. */
#define TP_ADVICE_RELATIONS 16
#define TP_ADVICE_NO_RELATION TP_ADVICE_RELATIONS

/* What a reference of the sample was. */
typedef enum tp_advice_kind
{
	TP_ADVICE_READ,				/* of a page that exists */
	TP_ADVICE_NEW,				/* of a new page, which is never read */
	TP_ADVICE_PASSING			/* of a page that its reader does not keep: if
								 * it must be read it does not come in */
} tp_advice_kind;

/* A reference of the sample. */
typedef struct tp_advice_reference
{
	tp_page		page;
	tp_access	access;
	tp_advice_kind kind;
	uint32_t	relation;		/* below TP_ADVICE_RELATIONS, or
								 * TP_ADVICE_NO_RELATION */
} tp_advice_reference;

/* A policy to be simulated, with parameters as tp_policy_check_params has
 * accepted them. */
typedef struct tp_advice_policy
{
	const tp_policy *policy;
	double		params[TP_MAX_PARAMS];
} tp_advice_policy;

/*
 * References of the sample, or misses of one size and policy.  All are doubles: a
 * float stops counting by ones at 2^24, which a busy pool reaches within a day.
 */
typedef struct tp_advice_sums
{
	double		all;
	double		of_group[TP_ADVICE_GROUPS];
	double		of_relation[TP_ADVICE_RELATIONS];
} tp_advice_sums;

typedef struct tp_advice_totals
{
	tp_advice_sums references;
	tp_advice_sums here;		/* misses of the pool as it is, in miniature, */
	tp_advice_sums of[TP_ADVICE_POLICIES][TP_ADVICE_SIZES]; /* and of these */
} tp_advice_totals;

typedef struct tp_advice
{
	uint32_t	policies;
	uint32_t	began_with;		/* frames of the pool at the beginning */
	uint32_t	frames;			/* that stand for them in the sample */
	uint32_t	rate;			/* of the sample; for tp_page_sampled */

	/* the pool as it is: between two sizes, so much nearer to the upper */
	uint32_t	lower;
	double		weight;

	/* what the caller has counted of the pool, and what the sample has of it */
	double		requests;
	double		reads;
	tp_advice_totals included;
	double		squares;		/* of weights, over the misses in here */

	/* the same since the last inclusion; each reference stands for so many */
	double		recent_requests;
	double		recent_reads;
	double		times;
	tp_advice_totals recent;
	tp_miniature miniatures[TP_ADVICE_POLICIES][TP_ADVICE_SIZES];
} tp_advice;

/* Frames of the pool of this size, number 0 .. TP_ADVICE_SIZES - 1. */
static inline uint32_t
tp_advice_size(const tp_advice *advice, uint32_t size)
{
	return (uint32_t) ((uint64_t) advice->began_with *
					   tp_advice_percent[size] / 100);
}

/*
 * Bytes of all miniatures, if so many frames stand for the pool's; 0: they
 * cannot be numbered.
 */
size_t		tp_advice_memory(const tp_advice_policy *policies, uint32_t n,
							 uint32_t frames);

/*
 * The frames of a sample: at most `most`, as many as so many bytes are enough
 * for, and the pool's or at most three quarters of them.  All sizes are whole
 * numbers, unless they are the pool's.  0: not enough.
 */
uint32_t	tp_advice_frames(const tp_advice_policy *policies, uint32_t n,
							 uint32_t pool_frames, uint32_t most,
							 size_t bytes);

/*
 * Begin with empty miniatures, for a pool that has pool_frames.  frames: as
 * returned by tp_advice_frames; memory: as much as tp_advice_memory
 * says, 8-aligned, for as long as the advice is used.
 */
void		tp_advice_init(tp_advice *advice, const tp_advice_policy *policies,
						   uint32_t n, uint32_t pool_frames, uint32_t frames,
						   uint64_t seed, const tp_services *services,
						   void *memory);

/* The pool has so many frames now. */
void		tp_advice_resized(tp_advice *advice, uint32_t pool_frames);

/*
 * References of the sample, in order.  Several at a time are cheaper: each
 * miniature is then in the processor's cache for all of them.
 */
void		tp_advice_refer(tp_advice *advice,
							const tp_advice_reference *references, size_t n);

/*
 * Each reference since the last inclusion stands for so many; 0: for none, not
 * even for itself, which is so at the beginning and after an inclusion.  The pool
 * has had so many requests since then, and has read so many pages.  The next call
 * may say otherwise.
 */
void		tp_advice_weigh(tp_advice *advice, double times, uint64_t requests,
							uint64_t reads);

/* Include the references so far for good, as weighed. */
void		tp_advice_include(tp_advice *advice);

/*
 * A page of the sample that is in the pool already, before the first
 * reference: the next one is hotter.  Not counted.
 */
void		tp_advice_seed(tp_advice *advice, tp_page page,
						   const tp_access *access);

/* The sums fade to this share of themselves, but for what is not included. */
void		tp_advice_fade(tp_advice *advice, double share);

/*
 * Go on with the sums of an advice of the same policies and the same sizes, whose
 * sample was another one: the estimates are what they were.  Before the first
 * reference.  What is not included in the old one is lost.
 */
void		tp_advice_take_over(tp_advice *advice, const tp_advice *old);

/* The relation's number is another's from now on. */
void		tp_advice_drop_relation(tp_advice *advice, uint32_t relation);

/* What the pool has had, as counted. */
double		tp_advice_counted_requests(const tp_advice *advice);
double		tp_advice_counted_reads(const tp_advice *advice);

/* The pages that the pool would have read: estimates for one policy and size. */
double		tp_advice_reads(const tp_advice *advice, uint32_t policy,
							uint32_t size);

/*
 * The same as a change of what a caller knows: the sample's misses so far, as
 * weighed (they fade like all sums), those of the pool as it is, and the
 * coefficient by which what the sample gets wrong about these corrects them.
 */
double		tp_advice_misses(const tp_advice *advice, uint32_t policy,
							 uint32_t size);
double		tp_advice_misses_here(const tp_advice *advice);
double		tp_advice_coefficient(const tp_advice *advice, uint32_t policy,
								  uint32_t size);

/*
 * The variance of tp_advice_misses_here, if misses are independent of each other:
 * one that stands for w others adds w squared.  Fades with the square of a share.
 */
double		tp_advice_variance_here(const tp_advice *advice);

/* Of the reads, and of the requests, the relation's. */
double		tp_advice_relation_reads(const tp_advice *advice, uint32_t policy,
									 uint32_t size, uint32_t relation);
double		tp_advice_relation_requests(const tp_advice *advice,
										uint32_t relation);

/* As tp_check, of all miniatures. */
int			tp_advice_check(const tp_advice *advice, tp_report report,
							void *arg);

#endif							/* TIDEPOOL_ADVICE_ADVICE_H */
