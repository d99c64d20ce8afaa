/*-------------------------------------------------------------------------
 *
 * advised_start.c
 *	  What the simulation of a pool begins with: policies, memory, pages.
 *
 * src/backend/storage/bufferpool/advised_start.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_advised.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

char	   *bufferpool_advice_algorithms;
int			bufferpool_advice_memory;

/* ---- policies ---- */

/* Is the policy for miniatures?  Some ask what is not known of them. */
bool
BufferPoolCanSimulate(const tp_policy *policy)
{
	return policy != NULL && (policy->flags & TP_READS_EXTENTS) == 0;
}

static bool
is_listed(const tp_advice_policy *policies, int n, const tp_policy *policy)
{
	for (int i = 0; i < n; i++)
		if (policies[i].policy == policy)
			return true;
	return false;
}

/*
 * The policies to be simulated: the pool's own, and those of the setting that
 * the server has.  Returns how many.
 */
static int
choose_policies(BufferPoolAdvised *pool, tp_advice_policy *policies)
{
	char	   *list = pstrdup(bufferpool_advice_algorithms);
	char		(*names)[NAMEDATALEN] = pool->published.algorithms;
	List	   *others = NIL;
	ListCell   *cell;
	int			n = 1;

	policies[0].policy = FindBufferPoolPolicy(pool->algorithm, NULL);
	memcpy(policies[0].params, pool->params, sizeof(policies[0].params));
	strlcpy(names[0], pool->algorithm, NAMEDATALEN);
	if (!SplitIdentifierString(list, ',', &others))
		return n;
	foreach(cell, others)
	{
		const char *name;
		const tp_policy *policy = FindBufferPoolPolicy(lfirst(cell), &name);

		if (n == TP_ADVICE_POLICIES || !BufferPoolCanSimulate(policy) ||
			is_listed(policies, n, policy))
			continue;
		policies[n].policy = policy;
		tp_policy_defaults(policy, policies[n].params);
		strlcpy(names[n++], name, NAMEDATALEN);
	}
	return n;
}

/* What policies may ask.  The frames of a miniature are not buffers. */
static const tp_services *
services(void)
{
	static tp_services known;

	known = BufferPoolServices;
	known.is_dirty = NULL;
	known.expect_frame = NULL;
	known.extents = NULL;
	return &known;
}

/* ---- memory ---- */

/* Bytes that a pool may have for its miniatures. */
static Size
memory_for_miniatures(void)
{
	Size		all = (Size) bufferpool_advice_memory * 1024;

	return all - sizeof(BufferPoolAdvised) - sizeof(BufferPoolAdvice) -
		BufferPoolSamplingMemory();
}

/*
 * Make a simulation of the pool in which nothing has happened yet.  buffers:
 * those that are 100 %.  *limit: so many frames at most, or 0; 0 afterwards if
 * memory admits no more.  NULL if there is not enough memory.
 */
BufferPoolAdvised *
BufferPoolMakeAdvised(BufferPool *buffer_pool,
					  const BufferPoolDefinition *definition, int buffers,
					  uint32 *limit)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "buffer pool advice",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	BufferPoolAdvised *pool = palloc0_object(BufferPoolAdvised);
	tp_advice_policy policies[TP_ADVICE_POLICIES];
	uint32		most;			/* frames that memory admits */
	uint32		frames;
	Size		memory;
	int			n;

	pool->context = context;
	strlcpy(pool->algorithm, definition->running, NAMEDATALEN);
	memcpy(pool->params, definition->params, sizeof(pool->params));
	if (!BufferPoolHasAlgorithm(buffer_pool))
		tp_policy_defaults(FindBufferPoolPolicy(BUFFERPOOL_CLOCK, NULL),
						   pool->params);
	n = choose_policies(pool, policies);
	most = tp_advice_frames(policies, n, buffers, buffers,
							memory_for_miniatures());
	if (*limit >= most)
		*limit = 0;				/* it is the memory that limits it */
	frames = *limit == 0 ? most :
		tp_advice_frames(policies, n, buffers, *limit,
						 memory_for_miniatures());
	if (frames == 0)
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		return NULL;
	}
	memory = tp_advice_memory(policies, n, frames);
	tp_advice_init(&pool->advice, policies, n, buffers, frames, BUFFERPOOL_SEED,
				   services(), palloc(memory));
	pool->included = BufferPoolNow();
	BufferPoolBeginBursts(&pool->burst, pool->included);
	pool->published.valid = true;
	pool->published.since = GetCurrentTimestamp();
	pool->published.frames = frames;
	pool->published.sample_rate = tp_sample_fraction(pool->advice.rate);
	pool->published.memory = memory + sizeof(BufferPoolAdvised) + sizeof(BufferPoolAdvice);
	pool->published.began_with = buffers;
	pool->published.policies = n;
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
		pool->published.buffers[size] = tp_advice_size(&pool->advice, size);
	MemoryContextSwitchTo(old);
	return pool;
}

/* ---- pages ---- */

/* A resident page of the sample. */
typedef struct SeedPage
{
	tp_page		page;
	uint32		usage;			/* as the clock has it */
} SeedPage;

static int
compare_seeds(const void *a, const void *b)
{
	const SeedPage *x = a;
	const SeedPage *y = b;

	return (x->usage > y->usage) - (x->usage < y->usage);
}

/* Let the pages in that are in the pool, the least used first. */
void
BufferPoolSeedAdvised(BufferPoolAdvised *pool, int number)
{
	int			most = 2 * pool->advice.frames + BUFFERPOOL_LEAST_SAMPLE;
	SeedPage   *seeds = palloc_array(SeedPage, most);
	tp_access	access = BufferPoolAccessAt(BufferPoolNow(), 0);
	int			n = 0;

	for (int buf_id = 0; buf_id < NBuffers && n < most; buf_id++)
	{
		BufferDesc *buf = GetBufferDescriptor(buf_id);
		uint32		buf_state;
		BufferTag	tag;

		/* most are not in the sample, which can be seen without the lock */
		if (BufferPoolNumber(BufferPoolOf(buf_id)) != number ||
			!tp_page_sampled(BufferPoolSamplePage(&buf->tag), pool->advice.rate))
			continue;
		buf_state = LockBufHdr(buf);
		tag = buf->tag;
		UnlockBufHdr(buf, buf_state);
		if (!(buf_state & BM_TAG_VALID))
			continue;
		seeds[n].page = BufferTagPage(&tag);
		seeds[n++].usage = BUF_STATE_GET_USAGECOUNT(buf_state);
	}
	qsort(seeds, n, sizeof(SeedPage), compare_seeds);
	for (int i = 0; i < n; i++)
		tp_advice_seed(&pool->advice, seeds[i].page, &access);
	pfree(seeds);
}
