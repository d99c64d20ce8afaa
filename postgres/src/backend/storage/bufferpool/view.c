/*-------------------------------------------------------------------------
 *
 * view.c
 *	  What pools are, by their definitions in shared memory, and this process's
 *	  view of each.
 *
 * src/backend/storage/bufferpool/view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "tidepool/arrays.h"
#include "utils/guc_tables.h"
#include "utils/json.h"

/* ---- definitions ---- */

void
BufferPoolReadDefinition(const BufferPool *pool,
						 BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	*definition = pool->shared->definition;
	SpinLockRelease(&pool->shared->definition_lock);
}

/*
 * Append a pool as recordings have it, a JSON object (docs/trace-format.md).  One
 * without a name is no more.
 */
void
BufferPoolAppendJson(StringInfo text, const BufferPool *pool,
					 const BufferPoolDefinition *definition, int buffers)
{
	appendStringInfo(text, "{\"number\":%d,\"name\":", BufferPoolNumber(pool));
	escape_json(text, definition->name);
	appendStringInfoString(text, ",\"algorithm\":");
	escape_json(text, definition->running);
	appendStringInfoString(text, ",\"parameters\":");
	escape_json(text, definition->parameters);
	appendStringInfo(text, ",\"buffers\":%d", buffers);
	if (definition->remainder)
		appendStringInfoString(text, ",\"remainder\":true");
	if (definition->least != 0)
		appendStringInfo(text, ",\"least\":%d", definition->least);
	if (definition->most != 0)
		appendStringInfo(text, ",\"most\":%d", definition->most);
	appendStringInfoChar(text, '}');
}

/* While its algorithm is changed, a pool has none; that is not recorded. */
static void
record_definition(const BufferPool *pool,
				  const BufferPoolDefinition *definition)
{
	StringInfoData text;

	if (!BufferPoolRecording() ||
		(definition->running[0] == '\0' && definition->name[0] != '\0'))
		return;
	initStringInfo(&text);
	BufferPoolAppendJson(&text, pool, definition, definition->target);
	BufferPoolRecordDefinition(BufferPoolNumber(pool), text.data);
	pfree(text.data);
}

/* Set a pool's definition.  Processes follow it, each in its time. */
void
BufferPoolDefine(BufferPool *pool, const BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	pool->shared->definition = *definition;
	pool->shared->version++;
	SpinLockRelease(&pool->shared->definition_lock);
	SsdTierPoolChooses(BufferPoolNumber(pool), definition->ssd_tier);
	BufferPoolDefinitionChanged();
	record_definition(pool, definition);
}

/* Likewise if no process need follow: the algorithm is the same. */
void
BufferPoolDescribe(BufferPool *pool, const BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	pool->shared->definition = *definition;
	SpinLockRelease(&pool->shared->definition_lock);
	SsdTierPoolChooses(BufferPoolNumber(pool), definition->ssd_tier);
	record_definition(pool, definition);
}

/* ---- views ---- */

static void
note_activity(void)
{
	BufferPoolActive = BufferPoolAskedForScans = false;
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolActive |= BufferPoolHasAlgorithm(&BufferPools[i]);
		BufferPoolAskedForScans |= (BufferPools[i].flags & TP_ASKS_SCANS) != 0;
	}
}

static bool
is_full_an_error(const tp_policy *policy, const double *params)
{
	int			index = tp_policy_param_find(policy, "on_full");

	return index >= 0 && params[index] == TP_ON_FULL_ERROR;
}

static void
use_policy(BufferPool *pool, const tp_policy *policy, const double *params)
{
	pool->core = BufferPoolCore(pool, policy, params);
	pool->core.services = &BufferPoolServices;
	pool->flags = policy->flags & ~TP_CHOICE_LOCK_FREE;
	if (BufferPoolServices.scans == NULL)
		pool->flags &= ~TP_ASKS_SCANS;
	pool->fails_when_full = is_full_an_error(policy, params);
	if (tp_can_share(&pool->core))
	{
		pool->flags |= TP_CHOICE_LOCK_FREE;
		BufferPoolUseOwnChooser(pool);
	}
}

/*
 * Set up this process's view of a pool.  What it had to report to the former
 * algorithm is dropped.
 */
void
BufferPoolSetView(BufferPool *pool, const BufferPoolDefinition *definition)
{
	const tp_policy *policy;

	BufferPoolDropQueue(pool);
	BufferPoolDropChoice(pool);
	pool->core.policy = NULL;
	pool->flags = TP_HIT_NOTHING;
	pool->fails_when_full = false;
	if (definition->name[0] != '\0' && definition->running[0] != '\0' &&
		!(pool == &DefaultBufferPool &&
		  strcmp(definition->running, BUFFERPOOL_CLOCK) == 0))
	{
		policy = FindBufferPoolPolicy(definition->running, NULL);
		if (policy == NULL)
			elog(FATAL, "replacement algorithm \"%s\" is not known to this process",
				 definition->running);
		use_policy(pool, policy, definition->params);
	}
	note_activity();
}

/* Set it up anew if the definition has changed. */
void
BufferPoolFollowDefinition(BufferPool *pool)
{
	BufferPoolDefinition definition;
	uint32		version;

	SpinLockAcquire(&pool->shared->definition_lock);
	definition = pool->shared->definition;
	version = pool->shared->version;
	SpinLockRelease(&pool->shared->definition_lock);
	if (version == pool->version)
		return;
	pool->version = version;
	BufferPoolSetView(pool, &definition);
}

/* ---- SHOW: the values in use ---- */

const char *
show_bufferpool_algorithm(void)
{
	static BufferPoolDefinition definition;

	if (DefaultBufferPool.shared == NULL)
		return bufferpool_algorithm;
	BufferPoolReadDefinition(&DefaultBufferPool, &definition);
	return definition.running[0] != '\0' ? definition.running :
		definition.algorithm;
}

const char *
show_bufferpool_parameters(void)
{
	static BufferPoolDefinition definition;

	if (DefaultBufferPool.shared == NULL)
		return bufferpool_parameters;
	BufferPoolReadDefinition(&DefaultBufferPool, &definition);
	return definition.parameters;
}
