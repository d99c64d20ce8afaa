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
add_misses(tp_advice_sums *sums, double misses, uint32_t group,
		   uint32_t relation)
{
	sums->misses += misses;
	sums->of_group[group] += misses;
	if (relation < TP_ADVICE_RELATIONS)
		sums->of_relation[relation] += misses;
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
		add_misses(&advice->recent.of[policy][size], 1, key % TP_ADVICE_GROUPS,
				   reference->relation);
		if (here > 0)
			add_misses(&advice->recent.here, here, key % TP_ADVICE_GROUPS,
					   reference->relation);
	}
}

void
tp_advice_refer(tp_advice *advice, const tp_advice_reference *references,
				size_t n)
{
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
tp_advice_count(tp_advice *advice, uint64_t requests, uint64_t reads)
{
	advice->requests += (double) requests;
	advice->reads += (double) reads;
}

static void
scale(tp_advice_sums *sums, double share)
{
	sums->misses *= share;
	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
		sums->of_group[i] *= share;
	for (uint32_t i = 0; i < TP_ADVICE_RELATIONS; i++)
		sums->of_relation[i] *= share;
}

static void
scale_totals(tp_advice *advice, double share)
{
	scale(&advice->included.here, share);
	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			scale(&advice->included.of[policy][size], share);
}

/* Move what is recent to what is included, so many times. */
static void
include(tp_advice_sums *included, tp_advice_sums *recent, double times)
{
	included->misses += times * recent->misses;
	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
		included->of_group[i] += times * recent->of_group[i];
	for (uint32_t i = 0; i < TP_ADVICE_RELATIONS; i++)
		included->of_relation[i] += times * recent->of_relation[i];
	memset(recent, 0, sizeof(*recent));
}

void
tp_advice_include(tp_advice *advice, double times)
{
	tp_advice_totals *included = &advice->included;
	tp_advice_totals *recent = &advice->recent;

	include(&included->here, &recent->here, times);
	for (uint32_t policy = 0; policy < advice->policies; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
			include(&included->of[policy][size], &recent->of[policy][size],
					times);
}

void
tp_advice_fade(tp_advice *advice, double share)
{
	advice->requests *= share;
	advice->reads *= share;
	scale_totals(advice, share);
}

void
tp_advice_take_over(tp_advice *advice, const tp_advice *old)
{
	TP_ASSERT(advice->policies == old->policies &&
			  advice->began_with == old->began_with);
	advice->lower = old->lower;
	advice->weight = old->weight;
	advice->requests = old->requests;
	advice->reads = old->reads;
	advice->included = old->included;
	scale_totals(advice, tp_sample_fraction(advice->rate) /
				 tp_sample_fraction(old->rate));
}

static void
drop_relation(tp_advice_totals *totals, uint32_t relation)
{
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

/*
 * The coefficient of the control variate with the least variance: with how many
 * misses of these one of the pool's as it is goes along.
 */
static double
coefficient(const tp_advice *advice, const tp_advice_sums *sums)
{
	double		mean = sums->misses / TP_ADVICE_GROUPS;
	double		mean_here = advice->included.here.misses / TP_ADVICE_GROUPS;
	double		covariance = 0;
	double		variance = 0;

	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
	{
		double		off = advice->included.here.of_group[i] - mean_here;

		covariance += (sums->of_group[i] - mean) * off;
		variance += off * off;
	}
	return variance > 0 ? covariance / variance : 0;
}

double
tp_advice_misses(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	return advice->included.of[policy][size].misses;
}

double
tp_advice_coefficient(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	return coefficient(advice, &advice->included.of[policy][size]);
}

double
tp_advice_reads(const tp_advice *advice, uint32_t policy, uint32_t size)
{
	const tp_advice_sums *sums = &advice->included.of[policy][size];
	double		fraction = tp_sample_fraction(advice->rate);
	double		wrong = advice->included.here.misses / fraction - advice->reads;
	double		reads = sums->misses / fraction -
		coefficient(advice, sums) * wrong;

	return reads < 0 ? 0 : reads > advice->requests ? advice->requests : reads;
}

double
tp_advice_relation_reads(const tp_advice *advice, uint32_t policy,
						 uint32_t size, uint32_t relation)
{
	const tp_advice_sums *sums = &advice->included.of[policy][size];

	if (sums->misses <= 0)
		return 0;
	return tp_advice_reads(advice, policy, size) *
		sums->of_relation[relation] / sums->misses;
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
