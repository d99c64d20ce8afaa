/*
 * advice.c
 *	  See advice.h.
 */
#include "tidepool/advice/advice.h"

#include <string.h>

#include "tidepool/assertion.h"

/* Close together where an operator would go next, and where tuning does. */
const uint32_t tp_advice_percent[TP_ADVICE_SIZES] =
{
	10, 25, 50, 75, 90, 100, 110, 125, 150, 200
};

/* The number of 100 %. */
#define HERE 5

/*
 * If references and misses of the pool as it is go along so closely, from group to
 * group, that the square of their correlation is above 1 less this, what goes along
 * with either cannot be told apart.  Chosen, not measured.
 */
#define LEAST_DETERMINANT 0.001

/* Frames for each of which all sizes are whole numbers. */
#define WHOLE 20

/* ---- memory ---- */

static uint32_t
frames_of_size(uint32_t frames, uint32_t size)
{
	uint32_t	n = (uint32_t) ((uint64_t) frames * tp_advice_percent[size] / 100);

	return n > 0 ? n : 1;
}

static size_t
memory_of(const tp_advice_policy *policy, uint32_t frames, uint32_t size)
{
	return tp_miniature_size(policy->policy, policy->params,
							 frames_of_size(frames, size));
}

size_t
tp_advice_memory(const tp_advice_policy *policies, uint32_t n, uint32_t frames)
{
	size_t		sum = 0;

	for (uint32_t policy = 0; policy < n; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
		{
			size_t		bytes = memory_of(&policies[policy], frames, size);

			if (bytes == 0)
				return 0;
			sum += bytes;
		}
	return sum;
}

static bool
fits(const tp_advice_policy *policies, uint32_t n, uint32_t frames, size_t bytes)
{
	size_t		needed = tp_advice_memory(policies, n, frames);

	return needed != 0 && needed <= bytes;
}

uint32_t
tp_advice_frames(const tp_advice_policy *policies, uint32_t n,
				 uint32_t pool_frames, uint32_t most, size_t bytes)
{
	uint32_t	part = pool_frames / 4 * 3; /* what tp_sample_rate takes */
	uint32_t	low = 0;		/* enough memory for WHOLE times this, */
	uint32_t	high = (most < part ? most : part) / WHOLE + 1; /* not for this */

	if (most >= pool_frames && fits(policies, n, pool_frames, bytes))
		return pool_frames;
	while (low + 1 < high)
	{
		uint32_t	middle = low + (high - low) / 2;

		if (fits(policies, n, middle * WHOLE, bytes))
			low = middle;
		else
			high = middle;
	}
	return low * WHOLE;
}

void
tp_advice_init(tp_advice *advice, const tp_advice_policy *policies, uint32_t n,
			   uint32_t pool_frames, uint32_t frames, uint64_t seed,
			   const tp_services *services, void *memory)
{
	unsigned char *next = memory;

	TP_ASSERT(n >= 1 && n <= TP_ADVICE_POLICIES && frames >= 1);
	memset(advice, 0, sizeof(*advice));
	advice->policies = n;
	advice->began_with = pool_frames;
	advice->frames = frames;
	advice->rate = tp_sample_rate(frames, pool_frames);
	advice->lower = HERE;
	for (uint32_t policy = 0; policy < n; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
		{
			tp_miniature_init(&advice->miniatures[policy][size],
							  policies[policy].policy, policies[policy].params,
							  frames_of_size(frames, size), seed, services,
							  next);
			next += memory_of(&policies[policy], frames, size);
		}
}

void
tp_advice_resized(tp_advice *advice, uint32_t pool_frames)
{
	double		percent = 100.0 * pool_frames / advice->began_with;
	uint32_t	lower = 0;
	double		width;

	while (lower + 2 < TP_ADVICE_SIZES && tp_advice_percent[lower + 1] <= percent)
		lower++;
	width = tp_advice_percent[lower + 1] - tp_advice_percent[lower];
	advice->lower = lower;
	advice->weight = (percent - tp_advice_percent[lower]) / width;
	if (advice->weight < 0)
		advice->weight = 0;
	if (advice->weight > 1)
		advice->weight = 1;
}

/* ---- references ---- */

static inline void
add(tp_advice_sums *sums, double n, uint32_t group, uint32_t relation)
{
	sums->all += n;
	sums->of_group[group] += n;
	if (relation < TP_ADVICE_RELATIONS)
		sums->of_relation[relation] += n;
}

/* What a miss in this miniature is of the pool as it is. */
static double
weight_here(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	if (policy != 0)
		return 0;
	return size == advice->lower ? 1 - advice->weight :
		size == advice->lower + 1 ? advice->weight : 0;
}

static void
refer(tp_advice *advice, uint32_t policy, uint32_t size,
	  const tp_advice_reference *references, size_t n)
{
	tp_miniature *miniature = &advice->miniatures[policy][size];
	double		here = weight_here(advice, policy, size);

	for (size_t i = 0; i < n; i++)
	{
		const tp_advice_reference *reference = &references[i];
		uint64_t	key = tp_page_key(reference->page);

		if (tp_miniature_reference(miniature, reference->page, key,
								   reference->kind != TP_ADVICE_PASSING,
								   &reference->access) ||
			reference->kind == TP_ADVICE_NEW)
			continue;
		add(&advice->recent.of[policy][size], 1, key % TP_ADVICE_GROUPS,
			reference->relation);
		if (here > 0)
			add(&advice->recent.here, here, key % TP_ADVICE_GROUPS,
				reference->relation);
	}
}

void
tp_advice_refer(tp_advice *advice, const tp_advice_reference *references,
				size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(&advice->recent.references, 1,
			tp_page_key(references[i].page) % TP_ADVICE_GROUPS,
			references[i].relation);
	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			refer(advice, policy, size, references, n);
}

void
tp_advice_seed(tp_advice *advice, tp_page page, const tp_access *access)
{
	uint64_t	key = tp_page_key(page);

	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			(void) tp_miniature_reference(&advice->miniatures[policy][size], page,
										  key, true, access);
}

void
tp_advice_weigh(tp_advice *advice, double times, uint64_t requests,
				uint64_t reads)
{
	advice->times = times;
	advice->recent_requests = (double) requests;
	advice->recent_reads = (double) reads;
}

static void
scale(tp_advice_sums *sums, double share)
{
	sums->all *= share;
	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
		sums->of_group[i] *= share;
	for (uint32_t i = 0; i < TP_ADVICE_RELATIONS; i++)
		sums->of_relation[i] *= share;
}

static void
scale_totals(tp_advice *advice, double share)
{
	scale(&advice->included.references, share);
	scale(&advice->included.here, share);
	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			scale(&advice->included.of[policy][size], share);
}

/* What is included, and what is recent, as weighed. */
static tp_advice_sums
sum_up(const tp_advice *advice, const tp_advice_sums *included,
	   const tp_advice_sums *recent)
{
	double		times = advice->times;
	tp_advice_sums sums = *included;

	sums.all += times * recent->all;
	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
		sums.of_group[i] += times * recent->of_group[i];
	for (uint32_t i = 0; i < TP_ADVICE_RELATIONS; i++)
		sums.of_relation[i] += times * recent->of_relation[i];
	return sums;
}

static tp_advice_sums
all_references(const tp_advice *advice)
{
	return sum_up(advice, &advice->included.references,
				  &advice->recent.references);
}

static tp_advice_sums
misses_here(const tp_advice *advice)
{
	return sum_up(advice, &advice->included.here, &advice->recent.here);
}

static tp_advice_sums
misses_of(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	return sum_up(advice, &advice->included.of[policy][size],
				  &advice->recent.of[policy][size]);
}

void
tp_advice_include(tp_advice *advice)
{
	tp_advice_totals *included = &advice->included;

	advice->squares = tp_advice_variance_here(advice);
	included->references = all_references(advice);
	included->here = misses_here(advice);
	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			included->of[policy][size] = misses_of(advice, policy, size);
	advice->requests += advice->recent_requests;
	advice->reads += advice->recent_reads;
	memset(&advice->recent, 0, sizeof(advice->recent));
	tp_advice_weigh(advice, 0, 0, 0);
}

void
tp_advice_fade(tp_advice *advice, double share)
{
	advice->requests *= share;
	advice->reads *= share;
	advice->squares *= share * share;
	scale_totals(advice, share);
}

void
tp_advice_take_over(tp_advice *advice, const tp_advice *old)
{
	double		share = tp_sample_fraction(advice->rate) /
		tp_sample_fraction(old->rate);

	TP_ASSERT(advice->policies == old->policies &&
			  advice->began_with == old->began_with);
	advice->lower = old->lower;
	advice->weight = old->weight;
	advice->requests = old->requests;
	advice->reads = old->reads;
	advice->included = old->included;
	advice->squares = old->squares * share * share;
	scale_totals(advice, share);
}

static void
drop_relation(tp_advice_totals *totals, uint32_t relation)
{
	totals->references.of_relation[relation] = 0;
	totals->here.of_relation[relation] = 0;
	for (uint32_t policy = 0; policy < TP_ADVICE_POLICIES; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			totals->of[policy][size].of_relation[relation] = 0;
}

void
tp_advice_drop_relation(tp_advice *advice, uint32_t relation)
{
	drop_relation(&advice->included, relation);
	drop_relation(&advice->recent, relation);
}

/* ---- estimates ---- */

/* The sum of both sums' deviations from their means, multiplied, over the groups. */
static double
covariation(const tp_advice_sums *a, const tp_advice_sums *b)
{
	double		mean_a = a->all / TP_ADVICE_GROUPS;
	double		mean_b = b->all / TP_ADVICE_GROUPS;
	double		sum = 0;

	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
		sum += (a->of_group[i] - mean_a) * (b->of_group[i] - mean_b);
	return sum;
}

double
tp_advice_counted_requests(const tp_advice *advice)
{
	return advice->requests + advice->recent_requests;
}

double
tp_advice_counted_reads(const tp_advice *advice)
{
	return advice->reads + advice->recent_reads;
}

double
tp_advice_misses(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	return misses_of(advice, policy, size).all;
}

double
tp_advice_misses_here(const tp_advice *advice)
{
	return misses_here(advice).all;
}

double
tp_advice_variance_here(const tp_advice *advice)
{
	return advice->squares +
		advice->times * advice->times * advice->recent.here.all;
}

double
tp_advice_coefficient(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	const tp_advice_sums misses = misses_of(advice, policy, size);
	const tp_advice_sums references = all_references(advice);
	const tp_advice_sums here = misses_here(advice);
	double		references2 = covariation(&references, &references);
	double		here2 = covariation(&here, &here);
	double		both = covariation(&references, &here);
	double		of_here = covariation(&misses, &here);
	double		determinant = references2 * here2 - both * both;

	if (determinant > LEAST_DETERMINANT * references2 * here2)
		return (of_here * references2 -
				covariation(&misses, &references) * both) / determinant;
	return here2 > 0 ? of_here / here2 : 0;
}

double
tp_advice_reads(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	double		fraction = tp_sample_fraction(advice->rate);
	double		requests = tp_advice_counted_requests(advice);
	double		wrong = tp_advice_misses_here(advice) / fraction -
		tp_advice_counted_reads(advice);
	double		reads = tp_advice_misses(advice, policy, size) / fraction -
		tp_advice_coefficient(advice, policy, size) * wrong;

	return reads < 0 ? 0 : reads > requests ? requests : reads;
}

double
tp_advice_relation_reads(const tp_advice *advice, uint32_t policy,
						 uint32_t size, uint32_t relation)
{
	const tp_advice_sums misses = misses_of(advice, policy, size);

	if (misses.all <= 0)
		return 0;
	return tp_advice_reads(advice, policy, size) *
		misses.of_relation[relation] / misses.all;
}

double
tp_advice_relation_requests(const tp_advice *advice, uint32_t relation)
{
	return all_references(advice).of_relation[relation] /
		tp_sample_fraction(advice->rate);
}

int
tp_advice_check(const tp_advice *advice, tp_report report, void *arg)
{
	int			bad = 0;

	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			bad += tp_miniature_check(&advice->miniatures[policy][size], report,
									  arg);
	return bad;
}
