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

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "storage/shmem.h"
#include "tidepool/arrays.h"
#include "utils/guc_tables.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

char	   *bufferpool_algorithm;
char	   *bufferpool_parameters;
int			bufferpool_batch_size;
int			bufferpool_batch_threshold;

int			bufferpool_max_pools;
int			bufferpool_recycle_buffers;

BufferPool	BufferPools[BUFFERPOOL_NUMBERS];
uint8	   *BufferPoolNumbers;
BufferPool *RecycleBufferPool;
bool		BufferPoolActive;

static int	npools = 1;			/* that there is memory for */
static tp_arrays arrays;
static Size arrays_bytes;
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

/* ---- who has followed ---- */

/*
 * A process that has set up its views notes as of which change.  So a statement
 * can wait until none has an older view.  It does not wait for processes that
 * read no pages: an archiver, say, may be busy for hours.
 */
typedef struct Followers
{
	pg_atomic_uint32 changes;	/* of definitions, so far */
	pg_atomic_uint32 followed[FLEXIBLE_ARRAY_MEMBER];	/* [ProcNumber] */
} Followers;

/* followed of such a process.  (No other one will see so many changes.) */
#define READS_NO_PAGES PG_UINT32_MAX

/* Between two looks at what others have followed. */
#define PAUSE_MILLISECONDS 1

/* Before a word in the log. */
#define PATIENCE_MILLISECONDS 5000

static Followers *followers;

static int
process_count(void)
{
	return MaxBackends + NUM_AUXILIARY_PROCS;
}

static Size
followers_size(void)
{
	return add_size(offsetof(Followers, followed),
					mul_size(process_count(), sizeof(pg_atomic_uint32)));
}

static void
init_followers(void)
{
	bool		found;

	followers = ShmemInitStruct("Buffer Pool Followers", followers_size(),
								&found);
	if (found)
		return;
	pg_atomic_init_u32(&followers->changes, 0);
	for (int i = 0; i < process_count(); i++)
		pg_atomic_init_u32(&followers->followed[i], 0);
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
	tp_frame_needs needs;		/* what is enough for every algorithm */
} Reservation;

/* Named pools that there is memory for if "bufferpool.max_pools" is -1. */
#define USUAL_NAMED_POOLS 16

/* With fewer buffers there are no pools: each has 16, DEFAULT half of all. */
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

static Reservation
reservation(const Configured *algorithm)
{
	Reservation result = {1 + has_recycle_pool() + named_pools()};
	const char *name;
	int			position = 0;

	if (algorithm->policy != NULL)
		result.needs = tp_policy_needs(algorithm->policy, algorithm->params);
	if (named_pools() == 0)
		return result;
	while ((name = NextBufferPoolPolicy(&position)) != NULL)
		result.needs = tp_needs_of_both(result.needs,
										tp_policy_needs(FindBufferPoolPolicy(name, NULL),
														NULL));
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
	size = add_size(size, followers_size());
	size = add_size(size, BufferPoolRecorderShmemSize());
	if (reserved.pools > 1)
		size = add_size(size, mul_size(NBuffers, sizeof(uint8)));
	if (has_arrays(&algorithm, &reserved))
		size = add_size(size, arrays_size(&reserved));
	return add_size(size, 4 * PG_CACHE_LINE_SIZE);
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
	shared->version = 0;
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

/* ---- the pools of the file ---- */

/* Buffers that pools other than DEFAULT may have, all together. */
static int
most_buffers(void)
{
	return NBuffers - BufferPoolFloorOfDefault();
}

/*
 * Make the pools' targets fit into most buffers: in proportion, if shared_buffers
 * has become too small.  The remainder, if a pool has it, is what is left.
 */
static void
fit_targets(BufferPoolDefinition *definitions, int count, int most)
{
	double		wanted = 0;
	double		factor;
	int			left = most;

	for (int i = 0; i < count; i++)
		wanted += definitions[i].remainder ? BUFFERPOOL_LEAST_BUFFERS :
			definitions[i].target;
	factor = wanted > most ? most / wanted : 1;
	if (factor < 1)
		ereport(WARNING,
				(errmsg("buffer pools are larger than \"shared_buffers\" has become, making them smaller"),
				 errdetail("They have %.0f buffers, of %d that pools other than DEFAULT may have.",
						   wanted, most)));
	for (int i = 0; i < count; i++)
		if (!definitions[i].remainder)
		{
			definitions[i].target = Min(left, Max((int) (definitions[i].target * factor),
												  Min(BUFFERPOOL_LEAST_BUFFERS, most / count)));
			left -= definitions[i].target;
		}
	for (int i = 0; i < count; i++)
		if (definitions[i].remainder)
			definitions[i].target = left;
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
static void
make_pools(void)
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
	count = ReadBufferPoolDefinitions(definitions, BUFFERPOOL_MAX_NAMED);
	count = Max(count, 0);
	if (count > npools - first_named)
	{
		ereport(WARNING,
				(errmsg("there is memory for %d buffer pools, of %d that are defined",
						npools - first_named, count),
				 errhint("Set \"bufferpool.max_pools\", or add the libraries with their replacement algorithms to \"shared_preload_libraries\".")));
		count = npools - first_named;
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

static void
attach_arrays(const Reservation *reserved)
{
	Size		size = arrays_size(reserved);
	bool		found;
	void	   *memory = ShmemInitStruct("Buffer Pool Arrays", size, &found);

	arrays_bytes = size;
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
	Reservation reserved = reservation(&algorithm);
	PaddedPool *shared;
	bool		found;

	members_lock = ShmemInitStruct("Buffer Pool Members", sizeof(LWLock),
								   &found);
	if (!found)
		LWLockInitialize(members_lock, LWTRANCHE_BUFFER_POOL_MEMBERS);
	if (init)
		check_settings();
	npools = reserved.pools;
	BufferPoolStatsShmemInit();
	BufferPoolRecorderShmemInit();
	BufferPoolRelationShmemInit();
	BufferPoolLayoutShmemInit();
	init_followers();
	RecycleBufferPool = has_recycle_pool() ? &BufferPools[1] : NULL;
	shared = ShmemInitStruct("Buffer Pools", npools * sizeof(PaddedPool),
							 &found);
	for (int i = 0; i < npools; i++)
	{
		BufferPools[i].shared = &shared[i].pool;
		if (!found)
			init_pool(&shared[i].pool);
	}
	BufferPoolNumbers = NULL;
	if (npools > 1)
	{
		BufferPoolNumbers = ShmemInitStruct("Buffer Pool Numbers",
											NBuffers * sizeof(uint8), &found);
		if (!found)
			memset(BufferPoolNumbers, BUFFERPOOL_DEFAULT, NBuffers);
	}
	if (has_arrays(&algorithm, &reserved))
		attach_arrays(&reserved);
	if (init)
		define_default(&algorithm);
	for (int i = 0; i < npools; i++)
		BufferPoolFollowDefinition(&BufferPools[i]);
	if (!init)
		return;
	make_pools();
	if (BufferPoolHasAlgorithm(&DefaultBufferPool))
		BufferPoolBegin(&DefaultBufferPool);
}

/* ---- definitions ---- */

void
BufferPoolReadDefinition(const BufferPool *pool,
						 BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	*definition = pool->shared->definition;
	SpinLockRelease(&pool->shared->definition_lock);
}

/* Set a pool's definition.  Processes follow it, each in its time. */
void
BufferPoolDefine(BufferPool *pool, const BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	pool->shared->definition = *definition;
	pool->shared->version++;
	SpinLockRelease(&pool->shared->definition_lock);
	pg_atomic_fetch_add_u32(&followers->changes, 1);
}

/* Likewise if no process need follow: the algorithm is the same. */
void
BufferPoolDescribe(BufferPool *pool, const BufferPoolDefinition *definition)
{
	SpinLockAcquire(&pool->shared->definition_lock);
	pool->shared->definition = *definition;
	SpinLockRelease(&pool->shared->definition_lock);
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
	return arrays.capacity > 0 ?
		(int) (arrays_bytes / arrays.capacity) : 0;
}

static void
note_activity(void)
{
	BufferPoolActive = false;
	for (int i = 0; i < npools; i++)
		BufferPoolActive |= BufferPoolHasAlgorithm(&BufferPools[i]);
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
	static tp_chooser choosers[BUFFERPOOL_NUMBERS];

	pool->core = tp_arrays_pool(&arrays, BufferPoolNumber(pool), policy, params);
	pool->flags = policy->flags & ~TP_CHOICE_LOCK_FREE;
	pool->fails_when_full = is_full_an_error(policy, params);
	if (tp_can_share(&pool->core))
	{
		pool->flags |= TP_CHOICE_LOCK_FREE;
		pool->core.chooser = &choosers[BufferPoolNumber(pool)];
		pool->followed_resets = false;
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
	if (version == pool->version && pool->flags != 0)
		return;
	pool->version = version;
	BufferPoolSetView(pool, &definition);
}

/* ---- following ---- */

static bool
reads_no_pages(void)
{
	return AmArchiverProcess() || AmCheckpointerProcess() ||
		AmIoWorkerProcess() || AmWalReceiverProcess() ||
		AmWalSummarizerProcess() || AmWalWriterProcess();
}

/* Follow all definitions.  Not while an operation on a pool is under way. */
void
BufferPoolFollowDefinitions(void)
{
	uint32		changes = pg_atomic_read_membarrier_u32(&followers->changes);

	for (int i = 0; i < npools; i++)
		if (BufferPools[i].shared != NULL)
			BufferPoolFollowDefinition(&BufferPools[i]);
	if (MyProcNumber >= 0 && MyProcNumber < process_count())
		pg_atomic_write_membarrier_u32(&followers->followed[MyProcNumber],
									   reads_no_pages() ? READS_NO_PAGES :
									   changes);
}

/* A process that has not followed the last change; -1: none. */
static int
find_straggler(uint32 changes)
{
	for (int i = 0; i < process_count(); i++)
	{
		uint32		followed = pg_atomic_read_u32(&followers->followed[i]);

		if (GetPGProcByNumber(i)->pid != 0 && followed != READS_NO_PAGES &&
			followed < changes)
			return i;
	}
	return -1;
}

/*
 * Wait until all processes have followed the definitions.  Cannot be canceled:
 * the caller is in the middle of a change.  Processes take part wherever they
 * can be interrupted, and while they wait for a client.
 */
void
BufferPoolAwaitFollowers(void)
{
	uint32		changes = pg_atomic_read_u32(&followers->changes);
	TimestampTz start = GetCurrentTimestamp();
	bool		logged = false;
	int			straggler;

	HOLD_INTERRUPTS();
	BufferPoolFollowDefinitions();
	(void) EmitProcSignalBarrier(PROCSIGNAL_BARRIER_BUFFER_POOLS);
	while ((straggler = find_straggler(changes)) >= 0)
	{
		/* a startup process that waits for WAL wakes up for nothing else */
		if (RecoveryInProgress())
			WakeupRecovery();
		if (!logged && TimestampDifferenceExceeds(start, GetCurrentTimestamp(),
												  PATIENCE_MILLISECONDS))
		{
			logged = true;
			ereport(LOG,
					(errmsg("still waiting for process %d to follow a change of buffer pools",
							GetPGProcByNumber(straggler)->pid)));
		}
		/* others may wait for this process in turn */
		if (ProcSignalBarrierPending)
			ProcessProcSignalBarrier();
		(void) WaitLatch(MyLatch, WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 PAUSE_MILLISECONDS, WAIT_EVENT_BUFFER_POOL_CHANGE);
	}
	RESUME_INTERRUPTS();
}

/* A process takes part in the barrier. */
bool
ProcessBarrierBufferPools(void)
{
	BufferPoolFollowDefinitions();
	return true;
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolInitProcess(void)
{
	BufferPoolStatsInitProcess();
	BufferPoolRecorderInitProcess();
	BufferPoolFollowDefinitions();
	for (int i = 0; i < npools; i++)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			BufferPoolFollowReset(&BufferPools[i]);
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

const char *
show_bufferpool_batch_threshold(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d",
			 Min(bufferpool_batch_threshold, bufferpool_batch_size));
	return text;
}
