/*-------------------------------------------------------------------------
 *
 * bufferpool.c
 *	  Set-up of the buffer pool and its replacement algorithm.
 *
 * src/backend/storage/bufferpool/bufferpool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/shmem.h"
#include "utils/guc_tables.h"

char	   *bufferpool_algorithm;
char	   *bufferpool_parameters;
int			bufferpool_batch_size;
int			bufferpool_batch_threshold;

BufferPool	DefaultBufferPool;

/* ---- set-up ---- */

/*
 * The configured algorithm, with its parameters; NULL for stock replacement.
 * Bootstrap and single-user mode always get the latter: they have no preloaded
 * libraries, or need no algorithm.
 *
 * Invalid settings must not keep the server from starting: a mistyped name
 * should not make the data inaccessible.
 */
static const BufferPoolRoutine *
configured_routine(const char **parameters, bool complain)
{
	const BufferPoolRoutine *routine;
	char	   *problem = NULL;

	*parameters = "";
	if (!IsPostmasterEnvironment ||
		pg_strcasecmp(bufferpool_algorithm, BUFFERPOOL_CLOCK) == 0)
		return NULL;
	routine = FindBufferPoolRoutine(bufferpool_algorithm);
	if (routine == NULL)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("replacement algorithm \"%s\" does not exist, using \"%s\"",
							bufferpool_algorithm, BUFFERPOOL_CLOCK),
					 errhint("Add the library that has it to \"shared_preload_libraries\".")));
		return NULL;
	}
	if (strlen(bufferpool_parameters) >= BUFFERPOOL_PARAMETERS_SIZE)
		problem = psprintf("longer than %d bytes", BUFFERPOOL_PARAMETERS_SIZE - 1);
	else if (routine->configure == NULL)
		problem = bufferpool_parameters[0] == '\0' ? NULL : "it has none";
	else if (routine->configure(routine, bufferpool_parameters, &problem))
		*parameters = bufferpool_parameters;
	if (problem != NULL)
	{
		if (routine->configure != NULL)
			(void) routine->configure(routine, "", &problem);
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameters \"%s\" of replacement algorithm \"%s\" are not used: %s",
							bufferpool_parameters, routine->name, problem),
					 errhint("\"tidepool policies\" lists the parameters of each algorithm and their ranges.")));
	}
	return routine;
}

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

Size
BufferPoolShmemSize(void)
{
	const char *parameters;
	const BufferPoolRoutine *routine = configured_routine(&parameters, false);
	Size		size = add_size(sizeof(BufferPoolShared) + PG_CACHE_LINE_SIZE,
								BufferPoolStatsShmemSize());

	size = add_size(size, BufferPoolRecorderShmemSize());
	if (routine != NULL)
		size = add_size(size, routine->shmem_size(routine, NBuffers) +
						PG_CACHE_LINE_SIZE);
	return size;
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

/* init: this is the postmaster, at the start or after a crash. */
void
BufferPoolShmemInit(bool init)
{
	BufferPool *pool = &DefaultBufferPool;
	const char *parameters;
	const BufferPoolRoutine *routine = configured_routine(&parameters, init);
	const char *algorithm = routine ? routine->name : BUFFERPOOL_CLOCK;
	bool		found;

	if (init)
		check_settings();
	BufferPoolStatsShmemInit();
	BufferPoolRecorderShmemInit();
	pool->routine = routine;
	pool->flags = routine ? routine->flags : 0;
	pool->shared = ShmemInitStruct("Buffer Pool", sizeof(BufferPoolShared),
								   &found);
	if (!found)
	{
		LWLockInitialize(&pool->shared->lock, LWTRANCHE_BUFFER_POOL);
		pg_atomic_init_u32(&pool->shared->resets, 0);
		pg_atomic_init_u32(&pool->shared->dirty_victims, 0);
		strlcpy(pool->shared->algorithm, algorithm, NAMEDATALEN);
		keep_parameters(pool->shared->parameters, parameters);
	}
	else if (strcmp(pool->shared->algorithm, algorithm) != 0)
		elog(FATAL, "replacement algorithm \"%s\" is not known to this process",
			 pool->shared->algorithm);
	if (routine != NULL)
	{
		void	   *memory = ShmemInitStruct("Buffer Pool Algorithm",
											 routine->shmem_size(routine, NBuffers),
											 &found);

		routine->attach(pool, memory, NBuffers, !found);
	}
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolInitProcess(void)
{
	BufferPoolStatsInitProcess();
	BufferPoolRecorderInitProcess();
	if (BufferPoolActive())
		BufferPoolFollowReset(&DefaultBufferPool);
}

/* ---- SHOW: the values in use ---- */

const char *
show_bufferpool_algorithm(void)
{
	return DefaultBufferPool.shared != NULL ?
		DefaultBufferPool.shared->algorithm : bufferpool_algorithm;
}

const char *
show_bufferpool_parameters(void)
{
	return DefaultBufferPool.shared != NULL ?
		DefaultBufferPool.shared->parameters : bufferpool_parameters;
}

const char *
show_bufferpool_batch_threshold(void)
{
	static char text[12];

	snprintf(text, sizeof(text), "%d",
			 Min(bufferpool_batch_threshold, bufferpool_batch_size));
	return text;
}
