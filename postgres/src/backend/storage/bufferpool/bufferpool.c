/*-------------------------------------------------------------------------
 *
 * bufferpool.c
 *	  Set-up of the buffer pools and their replacement algorithms.
 *
 * src/backend/storage/bufferpool/bufferpool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "storage/shmem.h"
#include "tidepool/arrays.h"
#include "utils/guc_tables.h"

char	   *bufferpool_algorithm;
char	   *bufferpool_parameters;
int			bufferpool_batch_size;
int			bufferpool_batch_threshold;

int			bufferpool_bytes_per_buffer;
int			bufferpool_max_pools;
int			bufferpool_recycle_buffers;

BufferPool	BufferPools[BUFFERPOOL_NUMBERS];
uint8	   *BufferPoolNumbers;
bool	   *BufferPoolsDivided;
BufferPool *RecycleBufferPool;
bool		BufferPoolActive;

static int	npools = 1;			/* that there is memory for */
static tp_arrays arrays;
static LWLock *members_lock;

/* Guards the membership of all pools, in addition to each pool's lock. */
LWLock *
BufferPoolMembersLock(void)
{
	return members_lock;
}

int
BufferPoolsReserved(void)
{
	return npools;
}

/* ---- the configured algorithm ---- */

typedef struct Configured
{
	const tp_policy *policy;	/* NULL: stock replacement */
	const char *name;
	const char *parameters;		/* as configured, or empty */
	double		params[TP_MAX_PARAMS];
} Configured;

static bool
parse_parameters(const tp_policy *policy, double *params, char **problem)
{
	if (strlen(bufferpool_parameters) >= BUFFERPOOL_PARAMETERS_SIZE)
	{
		*problem = psprintf("longer than %d bytes",
							BUFFERPOOL_PARAMETERS_SIZE - 1);
		return false;
	}
	return ParsePolicyParameters(policy, bufferpool_parameters, params,
								 problem);
}

/*
 * The configured algorithm.  Bootstrap and single-user mode always get stock
 * replacement: they have no preloaded libraries, or need no algorithm.
 *
 * Invalid settings must not keep the server from starting: a mistyped name
 * should not make the data inaccessible.
 */
static Configured
configured(bool complain)
{
	Configured	result = {NULL, BUFFERPOOL_CLOCK, ""};
	char	   *problem;

	if (!IsPostmasterEnvironment ||
		pg_strcasecmp(bufferpool_algorithm, BUFFERPOOL_CLOCK) == 0)
		return result;
	result.policy = FindBufferPoolPolicy(bufferpool_algorithm, &result.name);
	if (result.policy == NULL)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("replacement algorithm \"%s\" does not exist, using \"%s\"",
							bufferpool_algorithm, BUFFERPOOL_CLOCK),
					 errhint("Add the library that has it to \"shared_preload_libraries\".")));
		return result;
	}
	if (parse_parameters(result.policy, result.params, &problem))
		result.parameters = bufferpool_parameters;
	else
	{
		tp_policy_defaults(result.policy, result.params);
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameters \"%s\" of replacement algorithm \"%s\" are not used: %s",
							bufferpool_parameters, result.name, problem),
					 errhint("\"tidepool policies\" lists the parameters of each algorithm and their ranges.")));
	}
	return result;
}

/* ---- set-up ---- */

/* Called in the postmaster, after all settings have been read. */
static void
check_settings(void)
{
	struct config_generic *threshold = find_option("bufferpool.batch_threshold",
												   false, true, ERROR);

	MarkGUCPrefixReserved("bufferpool");
	if (bufferpool_batch_threshold > bufferpool_batch_size &&
		threshold != NULL && threshold->source != PGC_S_DEFAULT)
		ereport(WARNING,
				(errmsg("\"%s\" is above \"%s\", using %d",
						"bufferpool.batch_threshold", "bufferpool.batch_size",
						bufferpool_batch_size)));
}

/*
 * What memory there is for.  It is decided at the start; pools may come and go
 * within it.
 */
typedef struct Reservation
{
	int			pools;			/* DEFAULT among them */
	tp_frame_needs needs;		/* what is enough for every algorithm that
								 * memory is reserved for */
} Reservation;

/*
 * Named pools that there is memory for if "bufferpool.max_pools" is -1.
 * Chosen, not measured: each takes a few kilobytes, so memory hardly limits
 * them; more than these need a setting and a restart.
 */
#define USUAL_NAMED_POOLS 16

/*
 * With fewer buffers there are no pools.  DEFAULT may need half of them
 * (BufferPoolFloorOfDefault), which leaves four pools of the least size.
 */
#define LEAST_BUFFERS_FOR_POOLS 128

static int
named_pools(void)
{
	if (!IsPostmasterEnvironment || NBuffers < LEAST_BUFFERS_FOR_POOLS)
		return 0;
	if (bufferpool_max_pools >= 0)
		return bufferpool_max_pools;
	return HasLibraryBufferPoolPolicies() ? USUAL_NAMED_POOLS : 0;
}

static bool
has_recycle_pool(void)
{
	return IsPostmasterEnvironment && NBuffers >= LEAST_BUFFERS_FOR_POOLS &&
		bufferpool_recycle_buffers > 0;
}

static void
reserve_for(Reservation *reserved, const tp_policy *policy, const double *params)
{
	reserved->needs = tp_needs_of_both(reserved->needs,
									   tp_policy_needs(policy, params));
}

/* For those that need few enough bytes with their default parameters. */
static void
reserve_for_loaded_algorithms(Reservation *reserved)
{
	const char *name;
	int			position = 0;

	while ((name = NextBufferPoolPolicy(&position)) != NULL)
	{
		const tp_policy *policy = FindBufferPoolPolicy(name, NULL);

		if (tp_needs_bytes(tp_policy_needs(policy, NULL)) <=
			(uint32) bufferpool_bytes_per_buffer)
			reserve_for(reserved, policy, NULL);
	}
}

/*
 * For the pools of the file, so that a restart keeps them.  What is wrong with
 * the file is reported when they are made (restore.c).
 */
static void
reserve_for_defined_pools(Reservation *reserved)
{
	BufferPoolDefinition *definitions = palloc_array(BufferPoolDefinition,
													 BUFFERPOOL_MAX_NAMED);
	int			count = ReadBufferPoolDefinitions(definitions,
												  BUFFERPOOL_MAX_NAMED, DEBUG1);

	for (int i = 0; i < count; i++)
	{
		BufferPoolDefinition *definition = &definitions[i];
		const tp_policy *policy = FindBufferPoolPolicy(definition->algorithm,
													   NULL);
		char	   *problem;

		if (policy == NULL)
			continue;
		if (!ParsePolicyParameters(policy, definition->parameters,
								   definition->params, &problem))
			tp_policy_defaults(policy, definition->params);
		reserve_for(reserved, policy, definition->params);
	}
	pfree(definitions);
}

static Reservation
reservation(const Configured *algorithm)
{
	Reservation result = {1 + has_recycle_pool() + named_pools()};

	if (algorithm->policy != NULL)
		reserve_for(&result, algorithm->policy, algorithm->params);
	if (named_pools() > 0)
	{
		reserve_for_loaded_algorithms(&result);
		reserve_for_defined_pools(&result);
	}
	return result;
}

/* Are there nodes of buffers? */
static bool
has_arrays(const Configured *algorithm, const Reservation *reserved)
{
	return reserved->pools > 1 || algorithm->policy != NULL;
}

static Size
arrays_size(const Reservation *reserved)
{
	Size		size = tp_arrays_size(NBuffers, reserved->pools,
									  reserved->needs);

	if (size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("\"shared_buffers\" is too large for the replacement algorithms")));
	return size;
}

typedef union PaddedPool
{
	BufferPoolShared pool;
	char		pad[TYPEALIGN(PG_CACHE_LINE_SIZE, sizeof(BufferPoolShared))];
} PaddedPool;

Size
BufferPoolShmemSize(void)
{
	Configured	algorithm = configured(false);
	Reservation reserved = reservation(&algorithm);
	Size		size = mul_size(reserved.pools, sizeof(PaddedPool));

	npools = reserved.pools;
	size = add_size(size, BufferPoolStatsShmemSize());
	size = add_size(size, BufferPoolRelationShmemSize());
	size = add_size(size, BufferPoolLayoutShmemSize());
	size = add_size(size, BufferPoolFollowersShmemSize());
	size = add_size(size, BufferPoolChoosersShmemSize());
	size = add_size(size, BufferPoolRecorderShmemSize());
	size = add_size(size, BufferPoolSamplingShmemSize());
	size = add_size(size, BufferPoolTuningShmemSize());
	size = add_size(size, BufferPoolWarmShmemSize());
	size = add_size(size, BufferPoolScansShmemSize(has_arrays(&algorithm,
															  &reserved)));
	if (reserved.pools > 1)
		size = add_size(size, mul_size(NBuffers, sizeof(uint8)));
	if (has_arrays(&algorithm, &reserved))
		size = add_size(size, arrays_size(&reserved));
	return add_size(size, 6 * PG_CACHE_LINE_SIZE);
}

/* Copy the parameters without white space, for SHOW, views and recordings. */
static void
keep_parameters(char *kept, const char *parameters)
{
	for (; *parameters != '\0'; parameters++)
		if (!isspace((unsigned char) *parameters))
			*kept++ = *parameters;
	*kept = '\0';
}

static void
init_pool(BufferPoolShared *shared)
{
	LWLockInitialize(&shared->lock, LWTRANCHE_BUFFER_POOL);
	pg_atomic_init_u32(&shared->resets, 0);
	pg_atomic_init_u32(&shared->dirty_victims, 0);
	pg_atomic_init_u32(&shared->allocations, 0);
	pg_atomic_init_u32(&shared->buffers, 0);
	pg_atomic_init_u32(&shared->writer, 0);
	SpinLockInit(&shared->definition_lock);
	shared->version = 1;
	MemSet(&shared->definition, 0, sizeof(shared->definition));
	SpinLockInit(&shared->free_lock);
	shared->first_free = FREENEXT_END_OF_LIST;
	BufferPoolInitCounters(shared);
}

static void
define_default(const Configured *algorithm)
{
	BufferPoolDefinition definition = {0};

	strlcpy(definition.name, BUFFERPOOL_DEFAULT_NAME, NAMEDATALEN);
	strlcpy(definition.algorithm, algorithm->name, NAMEDATALEN);
	strlcpy(definition.running, algorithm->name, NAMEDATALEN);
	keep_parameters(definition.parameters, algorithm->parameters);
	memcpy(definition.params, algorithm->params, sizeof(definition.params));
	definition.target = NBuffers;
	pg_atomic_write_u32(&DefaultBufferPool.shared->buffers, NBuffers);
	BufferPoolDefine(&DefaultBufferPool, &definition);
}

/*
 * Begin an empty pool, of the buffers that belong to it.  The server keeps free
 * buffers itself, so all are claimed.  Processes that look without the lock
 * meanwhile find nodes that are claimed, free or in their former state.
 */
void
BufferPoolBegin(BufferPool *pool)
{
	const tp_pool *core = &pool->core;

	tp_disband(core);
	tp_pool_init(core, pool->shared->definition.params, BUFFERPOOL_SEED);
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
		if (BufferPoolOf(buf_id) == pool)
			tp_join_claimed(core, buf_id);
	if (pool->flags & TP_CHOICE_LOCK_FREE)
		tp_share(core);
}

static void
attach_arrays(const Reservation *reserved)
{
	Size		size = arrays_size(reserved);
	bool		found;
	void	   *memory = ShmemInitStruct("Buffer Pool Arrays", size, &found);

	arrays = tp_arrays_place(NBuffers, reserved->pools, reserved->needs, memory);
	if (!found)
	{
		memset(memory, 0, size);
		tp_arrays_init(&arrays);
	}
}

/* init: this is the postmaster, at the start or after a crash. */
void
BufferPoolShmemInit(bool init)
{
	Configured	algorithm = configured(init);
	Reservation *reserved;
	PaddedPool *shared;
	bool		found;

	members_lock = ShmemInitStruct("Buffer Pool Members", sizeof(LWLock),
								   &found);
	if (!found)
		LWLockInitialize(members_lock, LWTRANCHE_BUFFER_POOL_MEMBERS);
	if (init)
		check_settings();
	/* read once, since the file may change */
	reserved = ShmemInitStruct("Buffer Pool Reservation", sizeof(Reservation),
							   &found);
	if (!found)
		*reserved = reservation(&algorithm);
	npools = reserved->pools;
	BufferPoolStatsShmemInit();
	BufferPoolRecorderShmemInit();
	BufferPoolSamplingShmemInit();
	BufferPoolTuningShmemInit();
	BufferPoolRelationShmemInit();
	BufferPoolLayoutShmemInit();
	BufferPoolFollowersShmemInit();
	BufferPoolChoosersShmemInit();
	BufferPoolWarmShmemInit();
	BufferPoolScansShmemInit(has_arrays(&algorithm, reserved));
	RecycleBufferPool = has_recycle_pool() ? &BufferPools[1] : NULL;
	shared = ShmemInitStruct("Buffer Pools", npools * sizeof(PaddedPool),
							 &found);
	for (int i = 0; i < npools; i++)
	{
		BufferPools[i].shared = &shared[i].pool;
		BufferPools[i].version = 0;
		if (!found)
			init_pool(&shared[i].pool);
	}
	BufferPoolNumbers = NULL;
	BufferPoolsDivided = ShmemInitStruct("Buffer Pools Divided",
										 PG_CACHE_LINE_SIZE, &found);
	if (!found)
		*BufferPoolsDivided = false;
	if (npools > 1)
	{
		BufferPoolNumbers = ShmemInitStruct("Buffer Pool Numbers",
											NBuffers * sizeof(uint8), &found);
		if (!found)
			memset(BufferPoolNumbers, BUFFERPOOL_DEFAULT, NBuffers);
	}
	if (has_arrays(&algorithm, reserved))
		attach_arrays(reserved);
	if (init)
		define_default(&algorithm);
	for (int i = 0; i < npools; i++)
		BufferPoolFollowDefinition(&BufferPools[i]);
	if (!init)
		return;
	BufferPoolMakePools();
	if (BufferPoolHasAlgorithm(&DefaultBufferPool))
		BufferPoolBegin(&DefaultBufferPool);
	BufferPoolResumeWarm();
}

/* ---- memory ---- */

/* A view of the pool's part of the arrays, with this policy. */
tp_pool
BufferPoolCore(const BufferPool *pool, const tp_policy *policy,
			   const double *params)
{
	return tp_arrays_pool(&arrays, BufferPoolNumber(pool), policy, params);
}

/* Is the memory enough for a pool with this algorithm? */
bool
BufferPoolHasMemoryFor(const tp_policy *policy, const double *params)
{
	return arrays.capacity > 0 &&
		tp_needs_suffice(arrays.needs, tp_policy_needs(policy, params));
}

/* Bytes that algorithms have for each buffer, whichever pool it is in. */
int
BufferPoolFrameBytes(void)
{
	return arrays.capacity > 0 ? (int) tp_needs_bytes(arrays.needs) : 0;
}

/*
 * The share that so many buffers have in all the memory of pools: the arrays,
 * with each pool's header and chunks, the pools themselves, and their numbers.
 */
uint64
BufferPoolMemory(int buffers)
{
	uint64		bytes;

	if (arrays.capacity == 0)
		return 0;
	bytes = tp_arrays_size(arrays.capacity, arrays.pools, arrays.needs) +
		npools * sizeof(PaddedPool);
	if (BufferPoolNumbers != NULL)
		bytes += NBuffers * sizeof(uint8);
	return bytes * buffers / NBuffers;
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolInitProcess(void)
{
	BufferPoolStatsInitProcess();
	BufferPoolChoosersInitProcess();
	BufferPoolRecorderInitProcess();
	BufferPoolFollowDefinitions();
	for (int i = 0; i < npools; i++)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			BufferPoolFollowReset(&BufferPools[i]);
}

/* SHOW: the value in use. */
const char *
show_bufferpool_batch_threshold(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d",
			 Min(bufferpool_batch_threshold, bufferpool_batch_size));
	return text;
}
