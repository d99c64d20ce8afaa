/*-------------------------------------------------------------------------
 *
 * restore.c
 *	  Make the pools at server start: those of the file, and RECYCLE.
 *
 * Nothing here may keep the server from starting.  What the file asks for and
 * cannot be had, as much of it as can be is made, with a warning.
 *
 * src/backend/storage/bufferpool/restore.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"

/* Buffers that pools other than DEFAULT may have, all together. */
static int
most_buffers(void)
{
	return NBuffers - BufferPoolFloorOfDefault();
}

/*
 * Make pools of fixed sizes fit into so many buffers: in proportion, but none
 * smaller than least, or than it was.
 */
static void
scale_targets(BufferPoolDefinition *definitions, int count, int buffers,
			  int least)
{
	bool		is_least[BUFFERPOOL_MAX_NAMED] = {0};
	double		wanted = 0;		/* by the others */
	double		room = buffers; /* for them */
	bool		found;

	for (int i = 0; i < count; i++)
		if (!definitions[i].remainder)
			wanted += definitions[i].target;
	do
	{
		found = false;
		for (int i = 0; i < count; i++)
			if (!definitions[i].remainder && !is_least[i] &&
				definitions[i].target * room <= least * wanted)
			{
				is_least[i] = found = true;
				wanted -= definitions[i].target;
				definitions[i].target = Min(definitions[i].target, least);
				room -= definitions[i].target;
			}
	} while (found);
	for (int i = 0; i < count; i++)
		if (!definitions[i].remainder && !is_least[i])
			definitions[i].target = (int) (definitions[i].target * room / wanted);
}

/*
 * Make the pools fit into most buffers, if shared_buffers has become too small.
 * The remainder, if a pool has it, is what is left.
 */
static void
fit_targets(BufferPoolDefinition *definitions, int count, int most)
{
	int			least = Min(BUFFERPOOL_LEAST_BUFFERS, most / Max(count, 1));
	double		wanted = 0;
	BufferPoolDefinition *remainder = NULL;

	for (int i = 0; i < count; i++)
		if (definitions[i].remainder)
			remainder = &definitions[i];
		else
			wanted += definitions[i].target;
	if (remainder != NULL)
		wanted += BUFFERPOOL_LEAST_BUFFERS;
	if (wanted > most)
	{
		ereport(WARNING,
				(errmsg("buffer pools are larger than \"shared_buffers\" has become, making them smaller"),
				 errdetail("They have %.0f buffers, of %d that pools other than DEFAULT may have.",
						   wanted, most)));
		scale_targets(definitions, count,
					  remainder != NULL ? most - least : most, least);
	}
	if (remainder == NULL)
		return;
	remainder->target = most;
	for (int i = 0; i < count; i++)
		if (!definitions[i].remainder)
			remainder->target -= definitions[i].target;
}

/*
 * Find the algorithm that a pool of the file runs with.  One that is missing, or
 * options that it does not have, must not cost the pool: its relations would
 * lose their memory, and the next statement would write a file without it.
 */
static void
choose_running(BufferPoolDefinition *definition)
{
	const char *registered = BUFFERPOOL_CLOCK;
	const tp_policy *policy = FindBufferPoolPolicy(definition->algorithm,
												   &registered);
	char	   *problem;

	if (policy == NULL)
	{
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("replacement algorithm \"%s\" of buffer pool \"%s\" does not exist, using \"%s\"",
						definition->algorithm, definition->name, BUFFERPOOL_CLOCK),
				 errhint("Add the library that has it to \"shared_preload_libraries\".")));
		policy = FindBufferPoolPolicy(BUFFERPOOL_CLOCK, NULL);
		tp_policy_defaults(policy, definition->params);
	}
	else if (!ParsePolicyParameters(policy, definition->parameters,
									definition->params, &problem) ||
			 !BufferPoolHasMemoryFor(policy, definition->params))
	{
		ereport(WARNING,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of buffer pool \"%s\" are not used: \"%s\"",
						definition->name, definition->parameters)));
		tp_policy_defaults(policy, definition->params);
	}
	strlcpy(definition->running, registered, NAMEDATALEN);
}

/* Make a pool, of the buffers from first on. */
static void
make_pool(BufferPool *pool, const BufferPoolDefinition *definition, int first)
{
	*BufferPoolsDivided = true;
	memset(&BufferPoolNumbers[first], BufferPoolNumber(pool),
		   definition->target);
	pg_atomic_write_u32(&pool->shared->buffers, definition->target);
	BufferPoolDefine(pool, definition);
	BufferPoolFollowDefinition(pool);
	BufferPoolBegin(pool);
}

/* RECYCLE, in the place of all rings. */
static int
make_recycle_pool(void)
{
	BufferPoolDefinition definition = {0};

	strlcpy(definition.name, BUFFERPOOL_RECYCLE_NAME, NAMEDATALEN);
	strlcpy(definition.algorithm, "recycle", NAMEDATALEN);
	choose_running(&definition);
	definition.target = Min(bufferpool_recycle_buffers, most_buffers() / 2);
	if (definition.target < bufferpool_recycle_buffers)
		ereport(WARNING,
				(errmsg("\"%s\" is too large for \"shared_buffers\", using %d",
						"bufferpool.recycle_buffers", definition.target)));
	make_pool(RecycleBufferPool, &definition, NBuffers - definition.target);
	return definition.target;
}

/* Make the pools that the file defines.  DEFAULT has the first buffers. */
void
BufferPoolMakePools(void)
{
	int			first_named = RecycleBufferPool != NULL ? 2 : 1;
	BufferPoolDefinition *definitions;
	int			first = NBuffers;
	int			count;

	if (!IsPostmasterEnvironment)
		return;
	if (RecycleBufferPool != NULL)
		first -= make_recycle_pool();
	definitions = palloc_array(BufferPoolDefinition, BUFFERPOOL_MAX_NAMED);
	count = ReadBufferPoolDefinitions(definitions, BUFFERPOOL_MAX_NAMED,
									  WARNING);
	count = Max(count, 0);
	if (count > BufferPoolMostNamed())
	{
		ereport(WARNING,
				(errmsg("there is memory for %d buffer pools, of %d that are defined",
						BufferPoolMostNamed(), count),
				 errhint("Set \"bufferpool.max_pools\", or add the libraries with their replacement algorithms to \"shared_preload_libraries\".")));
		count = BufferPoolMostNamed();
	}
	fit_targets(definitions, count, most_buffers() - (NBuffers - first));
	for (int i = 0; i < count; i++)
	{
		choose_running(&definitions[i]);
		first -= definitions[i].target;
		make_pool(&BufferPools[first_named + i], &definitions[i], first);
	}
	pg_atomic_write_u32(&DefaultBufferPool.shared->buffers, first);
	DefaultBufferPool.shared->definition.target = first;
	if (first < NBuffers)
		StrategyReset();
	pfree(definitions);
}
