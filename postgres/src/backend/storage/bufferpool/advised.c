/*-------------------------------------------------------------------------
 *
 * advised.c
 *	  The simulations of pools in miniature, one for each pool.
 *
 * References of the sample go through them (tidepool/advice/advice.h).  Each second
 * what the server has counted of the pool is added, older sums fade, and the
 * estimates are published.
 *
 * A pool's simulation begins with the pages that are in the pool, the least
 * used first.  It begins anew when the pool has another algorithm, when the
 * settings change, and when the pool has less than half or more than one and a half
 * times the buffers that it had.  In between the pool may be resized: the
 * estimates are of fixed sizes.
 *
 * The sample is as large as the memory admits; the advisor's time is limited by
 * simulating it in bursts (bursts.c).  If references come too fast even so, the
 * sample gets smaller (sample_size.c).  Then the miniatures begin anew and what
 * they have found is kept.
 *
 * src/backend/storage/bufferpool/advised.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_advised.h"
#include "storage/bufferpool_internals.h"
#include "utils/memutils.h"

int			bufferpool_advice_window;

static BufferPoolAdvised *advised[BUFFERPOOL_NUMBERS];

/* Frames that each pool's sample should have; 0: as memory admits. */
static uint32 limited[BUFFERPOOL_NUMBERS];

/* ---- references ---- */

static void
simulate_batch(BufferPoolAdvised *pool)
{
	tp_advice_refer(&pool->advice, pool->batch, pool->count);
	pool->published.samples += pool->count;
	BufferPoolCountSimulated(&pool->burst, pool->count);
	pool->count = 0;
}

static bool
is_of_relation(const BufferPoolAdviceRelation *relation, const BufferTag *page)
{
	return relation->file == page->relNumber &&
		relation->database == page->dbOid && relation->tablespace == page->spcOid;
}

/*
 * The number of the page's relation.  One that is not known takes the place of
 * the one with the fewest references, and inherits its weight, so that one with
 * many does get a place (the space-saving algorithm: Metwally, Agrawal, El
 * Abbadi, ICDT 2005).
 */
static uint32
relation_of(BufferPoolAdvised *pool, const BufferTag *page)
{
	BufferPoolAdviceRelation *relations = pool->published.relations;
	uint32		least = 0;

	for (uint32 i = 0; i < TP_ADVICE_RELATIONS; i++)
	{
		if (is_of_relation(&relations[i], page))
		{
			pool->weights[i]++;
			return i;
		}
		if (pool->weights[i] < pool->weights[least])
			least = i;
	}
	simulate_batch(pool);		/* it may have references of the old one */
	tp_advice_drop_relation(&pool->advice, least);
	MemSet(&relations[least], 0, sizeof(relations[least]));
	relations[least].tablespace = page->spcOid;
	relations[least].database = page->dbOid;
	relations[least].file = page->relNumber;
	pool->weights[least]++;
	return least;
}

/* The time of a sample, of which only the lower bits are known. */
static uint64
time_of(const BufferPoolSample *sample, uint64 now)
{
	return now - (int32) ((uint32) now - sample->time);
}

/* Let a reference go through its pool's miniatures, with others. */
static void
take(const BufferPoolSample *sample, uint64 now)
{
	BufferPoolAdvised *pool = advised[sample->pool];
	tp_advice_reference *reference;
	uint32		relation;

	/* the ring may still have references of a larger sample */
	if (pool == NULL ||
		!tp_page_sampled(BufferPoolSamplePage(&sample->page), pool->advice.rate))
		return;
	relation = relation_of(pool, &sample->page);
	reference = &pool->batch[pool->count];
	reference->page = BufferTagPage(&sample->page);
	reference->access = (tp_access)
	{
		.now = time_of(sample, now), .flags = sample->flags
	};
	reference->kind = sample->kind;
	reference->relation = relation;
	if (++pool->count == BUFFERPOOL_ADVICE_BATCH)
		simulate_batch(pool);
}

/*
 * Let what has come in go through the miniatures, but no more than the ring has
 * room for: references may come in faster than they are simulated.  Returns
 * whether there may be more.
 */
bool
BufferPoolTakeSamples(void)
{
	uint64		now = BufferPoolNow();

	for (int i = 0; i < BUFFERPOOL_SAMPLES; i++)
	{
		BufferPoolSample sample;

		if (i % BUFFERPOOL_ADVICE_BATCH == 0)
			CHECK_FOR_INTERRUPTS();
		if (!BufferPoolTakeSample(&sample))
			return false;
		take(&sample, now);
	}
	return true;
}

/* ---- a simulation begins ---- */

static void
read_counts(const BufferPool *pool, BufferPoolCounted *counted)
{
	pg_atomic_uint64 *counters = pool->shared->counters;

	counted->offered = pg_atomic_read_u64(&counters[BUFFERPOOL_OFFERED]);
	counted->reads = pg_atomic_read_u64(&counters[BUFFERPOOL_READS]);
	counted->requests = counted->reads +
		pg_atomic_read_u64(&counters[BUFFERPOOL_HITS]) +
		pg_atomic_read_u64(&counters[BUFFERPOOL_EXTENDS]);
}

/* Let others see what is known of the pool so far. */
static void
publish(BufferPoolAdvised *pool, int number)
{
	BufferPoolAdvice *published = &pool->published;
	const tp_advice *advice = &pool->advice;

	published->requests = tp_advice_counted_requests(advice);
	published->reads = tp_advice_counted_reads(advice);
	published->seconds = Min(pool->seconds + (BufferPoolNow() - pool->included) / 1e6,
							 bufferpool_advice_window);
	published->page_time = pool->timed_pages > 0 ?
		pool->timed_milliseconds / pool->timed_pages : -1;
	for (uint32 policy = 0; policy < advice->policies; policy++)
		for (uint32 size = 0; size < TP_ADVICE_SIZES; size++)
		{
			published->estimates[policy][size] =
				tp_advice_reads(advice, policy, size);
			for (int i = 0; i < TP_ADVICE_RELATIONS; i++)
				published->relations[i].reads[policy][size] =
					tp_advice_relation_reads(advice, policy, size, i);
		}
	for (int i = 0; i < TP_ADVICE_RELATIONS; i++)
		published->relations[i].requests = tp_advice_relation_requests(advice, i);
	BufferPoolPublishAdvice(number, published);
}

/* There is no advice on this pool. */
static void
unpublish(int number)
{
	BufferPoolAdvice none = {0};

	BufferPoolSetSampleRate(number, 0);
	BufferPoolPublishAdvice(number, &none);
	BufferPoolForgetReads(number);
}

/* End the simulation of a pool. */
void
BufferPoolForgetAdvice(int number)
{
	BufferPoolAdvised *pool = advised[number];

	if (pool == NULL)
		return;
	unpublish(number);
	advised[number] = NULL;
	MemoryContextDelete(pool->context);
}

/* Let references to the pool's pages come in. */
static void
begin(BufferPoolAdvised *pool, int number)
{
	BufferPoolSeedAdvised(pool, number);
	advised[number] = pool;
	publish(pool, number);
	BufferPoolSetSampleRate(number, pool->advice.rate);
}

static void
begin_pool(BufferPool *buffer_pool, const BufferPoolDefinition *definition)
{
	int			number = BufferPoolNumber(buffer_pool);
	BufferPoolAdvised *pool = BufferPoolMakeAdvised(buffer_pool, definition,
													BufferPoolSize(buffer_pool),
													&limited[number]);

	if (pool == NULL)
		return;
	read_counts(buffer_pool, &pool->included_counts);
	begin(pool, number);
}

/* ---- each second ---- */

/* May this pool be simulated?  Not while it is changed. */
static bool
is_stable(const BufferPoolDefinition *definition)
{
	return definition->name[0] != '\0' && definition->running[0] != '\0' &&
		!definition->leaving &&
		BufferPoolCanSimulate(FindBufferPoolPolicy(definition->running, NULL));
}

/* Is this still the pool that the simulation began with? */
static bool
is_same(const BufferPoolAdvised *pool, const BufferPool *buffer_pool,
		const BufferPoolDefinition *definition)
{
	double		grown = (double) BufferPoolSize(buffer_pool) /
		pool->published.began_with;

	return strcmp(pool->algorithm, definition->running) == 0 &&
		(!BufferPoolHasAlgorithm(buffer_pool) ||
		 memcmp(pool->params, definition->params, sizeof(pool->params)) == 0) &&
		grown >= 0.5 && grown <= 1.5;
}

/* Begin, end or begin anew the simulation of a pool. */
void
BufferPoolFollowAdvised(int number)
{
	BufferPool *buffer_pool = &BufferPools[number];
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(buffer_pool, &definition);
	if (advised[number] != NULL &&
		!(is_stable(&definition) &&
		  is_same(advised[number], buffer_pool, &definition)))
		BufferPoolForgetAdvice(number);
	if (advised[number] == NULL && is_stable(&definition) &&
		BufferPoolSize(buffer_pool) >= BUFFERPOOL_LEAST_BUFFERS)
		begin_pool(buffer_pool, &definition);
}

/* Let sums fade so that they amount to those of the last window. */
static void
fade(BufferPoolAdvised *pool, double seconds)
{
	double		share;

	pool->seconds += seconds;
	if (pool->seconds <= bufferpool_advice_window)
		return;
	share = bufferpool_advice_window / pool->seconds;
	pool->seconds = bufferpool_advice_window;
	tp_advice_fade(&pool->advice, share);
	pool->timed_pages *= share;
	pool->timed_milliseconds *= share;
	for (int i = 0; i < TP_ADVICE_RELATIONS; i++)
		pool->weights[i] *= share;
}

/*
 * Weigh what has been simulated since the last inclusion by what the server has
 * counted since then, if it can be.
 */
static void
weigh(BufferPoolAdvised *pool, int number)
{
	const BufferPoolCounted *last = &pool->included_counts;
	BufferPoolCounted *now = &pool->counts;
	uint64		requests;

	simulate_batch(pool);
	read_counts(&BufferPools[number], now);
	requests = now->requests - last->requests;
	if (BufferPoolBurstCounts(&pool->burst))
		tp_advice_weigh(&pool->advice,
						BufferPoolBurstTimes(&pool->burst, requests,
											 now->offered - last->offered,
											 pool->advice.rate == TP_SAMPLE_ALL),
						requests, now->reads - last->reads);
}

/* Include it for good, as weighed, and let older sums fade. */
static void
include(BufferPoolAdvised *pool, int number)
{
	uint64		now = BufferPoolNow();

	BufferPoolNoteReads(number, &pool->advice);
	tp_advice_include(&pool->advice);
	BufferPoolBurstIncluded(&pool->burst);
	pool->included_counts = pool->counts;
	fade(pool, (now - pool->included) / 1e6);
	pool->included = now;
	BufferPoolRememberSums(number, &pool->advice);
}

static void
add_read_times(BufferPoolAdvised *pool, int number)
{
	uint64		pages;
	uint64		nanoseconds;

	BufferPoolTakeReadTimes(number, &pages, &nanoseconds);
	pool->timed_pages += pages;
	pool->timed_milliseconds += nanoseconds / 1e6;
}

/*
 * Each second.  What has been simulated is not included for good before the rest
 * that follows is over: it stands for that, too.
 */
void
BufferPoolPublishAdvised(int number)
{
	BufferPoolAdvised *pool = advised[number];

	if (pool == NULL)
		return;
	weigh(pool, number);
	if (pool->burst.state == BUFFERPOOL_BURST_LASTING &&
		BufferPoolBurstCounts(&pool->burst))
		include(pool, number);
	else
		BufferPoolNoteReads(number, &pool->advice);
	add_read_times(pool, number);
	tp_advice_resized(&pool->advice, BufferPoolSize(&BufferPools[number]));
	publish(pool, number);
}

/* Milliseconds that the pool's reads take; negative: unknown. */
double
BufferPoolAdvisedPageTime(int number)
{
	return advised[number] != NULL ? advised[number]->published.page_time : -1;
}

/* ---- bursts ---- */

static uint32
count_miniatures(const BufferPoolAdvised *pool)
{
	return pool->advice.policies * TP_ADVICE_SIZES;
}

static void
follow_burst(BufferPoolAdvised *pool, int number, double passages)
{
	uint64		now = BufferPoolNow();
	BufferPoolBurst *burst = &pool->burst;

	weigh(pool, number);
	switch (BufferPoolFollowBurst(burst, pool->advice.frames,
								  count_miniatures(pool), passages, now))
	{
		case BUFFERPOOL_BURST_GOES_ON:
			break;
		case BUFFERPOOL_BURST_BEGINS:
			include(pool, number);
			BufferPoolSetSampleRate(number, pool->advice.rate);
			break;
		case BUFFERPOOL_BURST_COUNTS:
			tp_advice_include(&pool->advice);
			break;
		case BUFFERPOOL_BURST_ENDS:
			BufferPoolSetSampleRate(number, 0);
			break;
	}
}

/* After each look at the ring.  Returns whether a pool rests. */
bool
BufferPoolFollowBursts(void)
{
	double		passages[BUFFERPOOL_NUMBERS];
	bool		resting = false;

	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		passages[i] = advised[i] == NULL ? 0 : advised[i]->burst.passages;
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		if (advised[i] != NULL)
		{
			follow_burst(advised[i], i,
						 BufferPoolPassagesOf(i, passages, BUFFERPOOL_NUMBERS));
			resting |= advised[i]->burst.state == BUFFERPOOL_BURST_RESTING;
		}
	return resting;
}

/* ---- the sample's size ---- */

/* Go on with what another sample of the same pool has found. */
static void
take_over(BufferPoolAdvised *pool, const BufferPoolAdvised *old, int number)
{
	BufferPoolAdvice *published = &pool->published;
	double		share = published->sample_rate / old->published.sample_rate;

	tp_advice_take_over(&pool->advice, &old->advice);
	published->since = old->published.since;
	pool->seconds = old->seconds;
	published->samples = old->published.samples;
	memcpy(published->relations, old->published.relations,
		   sizeof(published->relations));
	for (int i = 0; i < TP_ADVICE_RELATIONS; i++)
		pool->weights[i] = old->weights[i] * share;
	pool->included = old->included;
	pool->included_counts = old->included_counts;
	pool->timed_pages = old->timed_pages;
	pool->timed_milliseconds = old->timed_milliseconds;
	pool->burst.followed = old->burst.followed;
	pool->burst.unused = old->burst.unused;
	BufferPoolScaleReads(number, share);
}

/* The size of the pool's sample; all 0 if the pool is not simulated. */
void
BufferPoolReadSampleSize(int number, BufferPoolSampleSize *size)
{
	BufferPoolAdvised *pool = advised[number];

	MemSet(size, 0, sizeof(*size));
	if (pool == NULL)
		return;
	size->frames = pool->advice.frames;
	size->began_with = pool->advice.began_with;
	size->limited = limited[number] != 0;
	size->passages = pool->burst.passages;
}

/*
 * Simulate the pool with so many frames at most; 0: as memory admits.  The
 * miniatures begin anew, and the sums go on: otherwise load that comes and goes
 * would leave no advice.
 */
void
BufferPoolLimitSample(int number, uint32 frames)
{
	BufferPool *buffer_pool = &BufferPools[number];
	BufferPoolDefinition definition;
	BufferPoolAdvised *pool;
	BufferPoolAdvised *old;

	limited[number] = frames;
	BufferPoolReadDefinition(buffer_pool, &definition);
	if (!is_stable(&definition) ||
		!is_same(advised[number], buffer_pool, &definition))
	{
		BufferPoolForgetAdvice(number);
		return;
	}
	weigh(advised[number], number);
	include(advised[number], number);
	old = palloc_object(BufferPoolAdvised);
	*old = *advised[number];
	advised[number] = NULL;
	MemoryContextDelete(old->context);	/* there is memory for one of them */
	pool = BufferPoolMakeAdvised(buffer_pool, &definition,
								 old->published.began_with, &limited[number]);
	if (pool != NULL)
	{
		take_over(pool, old, number);
		begin(pool, number);
	}
	else
		unpublish(number);
	pfree(old);
}
