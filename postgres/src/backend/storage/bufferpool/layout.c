/*-------------------------------------------------------------------------
 *
 * layout.c
 *	  How many buffers each pool has, and shall have.
 *
 * DEFAULT has what no other pool has, and never less than its floor.  So the
 * targets of the others add up to no more than the rest, and buffers move
 * between DEFAULT and one other pool: first from those that shrink, then to
 * those that grow.  A pool of the remainder has what targets and floor leave.
 *
 * Called by one statement at a time (commands.c).
 *
 * src/backend/storage/bufferpool/layout.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/*
 * Buffers that move before the pool's size is read again.  Chosen, not
 * measured; it hardly matters, since BufferPoolMove checks for interrupts
 * before each buffer.
 */
#define BUFFERS_PER_STEP 64

/*
 * Before the pinned buffers of a pool are tried again.  Chosen, not measured:
 * most pins last less, but a cursor's may last for hours, and each try
 * searches the pool.
 */
#define PAUSE_MILLISECONDS 10

/* ---- progress ---- */

typedef struct SharedProgress
{
	slock_t		lock;
	BufferPoolProgress progress;
	uint32		size_statements;	/* that have begun */
} SharedProgress;

static SharedProgress *shared_progress;

Size
BufferPoolLayoutShmemSize(void)
{
	return sizeof(SharedProgress);
}

void
BufferPoolLayoutShmemInit(void)
{
	bool		found;

	shared_progress = ShmemInitStruct("Buffer Pool Progress",
									  sizeof(SharedProgress), &found);
	if (found)
		return;
	MemSet(shared_progress, 0, sizeof(SharedProgress));
	SpinLockInit(&shared_progress->lock);
}

static void
set_progress(const BufferPoolProgress *progress)
{
	SpinLockAcquire(&shared_progress->lock);
	shared_progress->progress = *progress;
	SpinLockRelease(&shared_progress->lock);
}

/*
 * What the current statement does.  Returns false if there is none.  (The
 * session of one that has left its mark may have been terminated.)
 */
bool
BufferPoolReadProgress(BufferPoolProgress *progress)
{
	SpinLockAcquire(&shared_progress->lock);
	*progress = shared_progress->progress;
	SpinLockRelease(&shared_progress->lock);
	return progress->stage != BUFFERPOOL_IDLE &&
		BackendPidGetProc(progress->pid) != NULL;
}

/* Is the pool's algorithm being changed?  It may not know all pages then. */
bool
BufferPoolIsSwitching(const BufferPool *pool)
{
	BufferPoolProgress progress;

	return BufferPoolReadProgress(&progress) &&
		progress.stage == BUFFERPOOL_SWITCHING &&
		FindBufferPool(progress.pool) == pool;
}

static void
begin_progress(const BufferPool *pool, const BufferPoolDefinition *definition,
			   BufferPoolStage stage)
{
	BufferPoolProgress progress = {.pid = MyProcPid, .stage = stage};

	strlcpy(progress.pool, definition->name, NAMEDATALEN);
	progress.first = BufferPoolSize(pool);
	progress.target = definition->target;
	progress.since = GetCurrentTimestamp();
	set_progress(&progress);
}

void
BufferPoolBeginProgress(const BufferPool *pool, BufferPoolStage stage)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	begin_progress(pool, &definition, stage);
}

static void
set_stage(BufferPoolStage stage)
{
	SpinLockAcquire(&shared_progress->lock);
	shared_progress->progress.stage = stage;
	SpinLockRelease(&shared_progress->lock);
}

void
BufferPoolEndProgress(void)
{
	BufferPoolProgress none = {0};

	set_progress(&none);
}

/* ---- sizes ---- */

/*
 * DEFAULT keeps an eighth of the buffers, or two for each backend if that is
 * more, but no more than half.  It holds the catalogs, and takes what other
 * pools refuse or have no unpinned buffer for; where it has none either,
 * statements fail.  With two buffers each backend can hold a page and bring in
 * another.  Chosen, not measured: more leaves less to the pools.
 */
int
BufferPoolFloorOfDefault(void)
{
	return Max(NBuffers / 8, Min(NBuffers / 2, 2 * MaxBackends));
}

/* The pool of the remainder, or NULL. */
BufferPool *
BufferPoolRemainder(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] != '\0' && definition.remainder &&
			!definition.leaving)
			return &BufferPools[i];
	}
	return NULL;
}

/*
 * Buffers that pool (NULL: a new one) may have: what the other pools and
 * DEFAULT's floor leave.  A pool of the remainder can be made as small as
 * pools get.
 */
static int
most_buffers(const BufferPool *pool)
{
	int			left = NBuffers - BufferPoolFloorOfDefault();

	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (&BufferPools[i] == pool || definition.name[0] == '\0' ||
			definition.leaving)
			continue;
		left -= definition.remainder ? BUFFERPOOL_LEAST_BUFFERS :
			BufferPoolDefinedSize(&definition);
	}
	return Max(left, 0);
}

/* "hot 1000, cold 200": who has the buffers. */
static char *
sizes_of_pools(void)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] != '\0')
			appendStringInfo(&text, "%s%s %d", text.len > 0 ? ", " : "",
							 definition.name, BufferPoolSize(&BufferPools[i]));
	}
	return text.data;
}

/* Raise an error if pool (NULL: a new one) cannot have so many buffers. */
void
BufferPoolCheckSize(const BufferPool *pool, const char *name, int buffers)
{
	int			most = most_buffers(pool);

	if (buffers < BUFFERPOOL_LEAST_BUFFERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("buffer pool \"%s\" is too small", name),
				 errdetail("It would have %d buffers of %d bytes; the minimum is %d.",
						   buffers, BLCKSZ, BUFFERPOOL_LEAST_BUFFERS)));
	if (buffers > most)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("not enough shared buffers for buffer pool \"%s\"", name),
				 errdetail("It would have %d buffers, %d more than other pools and the %d that DEFAULT keeps leave.  Of %d buffers, the pools have: %s.",
						   buffers, buffers - most, BufferPoolFloorOfDefault(),
						   NBuffers, sizes_of_pools()),
				 errhint("Make the pool or another one smaller, or raise \"shared_buffers\".")));
}

static void
set_target(BufferPool *pool, int target)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	definition.target = target;
	BufferPoolDescribe(pool, &definition);
}

/* Set the target of DEFAULT: what the others leave. */
static void
set_target_of_default(void)
{
	int			left = NBuffers;

	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		left -= definition.target;
	}
	set_target(&DefaultBufferPool, left);
}

/* ---- moving ---- */

/* Between two requests for reports. */
#define PATIENCE_MILLISECONDS 1000

/* Wait until others have unpinned pages, or reported those that they have queued. */
static void
wait_for_pins(void)
{
	static TimestampTz asked;
	TimestampTz now = GetCurrentTimestamp();

	if (TimestampDifferenceExceeds(asked, now, PATIENCE_MILLISECONDS))
	{
		asked = now;
		BufferPoolAskForReports();
	}
	set_stage(BUFFERPOOL_WAITING);
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 PAUSE_MILLISECONDS, WAIT_EVENT_BUFFER_POOL_RESIZE);
	ResetLatch(MyLatch);
	set_stage(BUFFERPOOL_MOVING);
}

/*
 * Give the pool as many buffers as its target, from DEFAULT or to it.  Waits
 * until enough are not pinned.
 */
static void
reach_target(BufferPool *pool, int target)
{
	for (;;)
	{
		int			missing = target - BufferPoolSize(pool);
		int			moved;

		if (missing == 0)
			return;
		moved = missing > 0 ?
			BufferPoolMove(&DefaultBufferPool, pool,
						   Min(missing, BUFFERS_PER_STEP)) :
			BufferPoolMove(pool, &DefaultBufferPool,
						   Min(-missing, BUFFERS_PER_STEP));
		CHECK_FOR_INTERRUPTS();
		if (moved == 0)
			wait_for_pins();
	}
}

static void
reach_targets(bool shrinking)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;
		int			size = BufferPoolSize(&BufferPools[i]);

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (shrinking ? size <= definition.target : size >= definition.target)
			continue;
		begin_progress(&BufferPools[i], &definition, BUFFERPOOL_MOVING);
		reach_target(&BufferPools[i], definition.target);
	}
}

/*
 * All pools shall have the sizes that operators have given them.  The caller
 * lets the pools reach their targets.
 */
void
BufferPoolUndoTuning(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.tuned == 0)
			continue;
		definition.target = BufferPoolDefinedSize(&definition);
		definition.tuned = 0;
		BufferPoolDescribe(&BufferPools[i], &definition);
	}
	SpinLockAcquire(&shared_progress->lock);
	shared_progress->size_statements++;
	SpinLockRelease(&shared_progress->lock);
}

/* How many statements about sizes there have been. */
uint32
BufferPoolSizeStatements(void)
{
	return shared_progress->size_statements;
}

static void
has_gained(BufferPool *pool, int buffers)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	definition.target += buffers;
	if (pool != &DefaultBufferPool)
		definition.tuned += buffers;
	BufferPoolDescribe(pool, &definition);
}

/*
 * Self-tuning has moved so many buffers: they are what the pools should have.
 * The caller has the lock on definitions.
 */
void
BufferPoolHasMoved(BufferPool *from, BufferPool *to, int buffers)
{
	has_gained(from, -buffers);
	has_gained(to, buffers);
}

/*
 * Let the pool's target be what it has, and say so.  A pool that has less than
 * pools must have is given the rest by the next statement, or the next start.
 */
static void
keep_size(BufferPool *pool)
{
	BufferPoolDefinition definition;
	int			size = BufferPoolSize(pool);
	int			target = size == 0 ? 0 : Max(size, BUFFERPOOL_LEAST_BUFFERS);

	BufferPoolReadDefinition(pool, &definition);
	if (definition.target == target)
		return;
	if (size == 0)
		ereport(WARNING,
				(errmsg("buffer pool \"%s\" has reached no buffer, and is dropped",
						definition.name)));
	else
		ereport(WARNING,
				(errmsg("buffer pool \"%s\" keeps the %d buffers that it has reached, of %d",
						definition.name, size, definition.target),
				 size == target ? 0 :
				 errdetail("It will have %d, the minimum, after the next change of a pool.",
						   target)));
	definition.target = target;
	definition.leaving = target == 0;
	BufferPoolDescribe(pool, &definition);
}

static void
keep_sizes(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
		keep_size(&BufferPools[i]);
	set_target_of_default();
	BufferPoolNamesChanged();
	BufferPoolWriteDefinitions(NULL, NULL);
}

/*
 * Move buffers until all pools have as many as their targets.  If that is
 * canceled or fails, the pools keep what they have reached.  From now on no
 * page comes into a pool whose target is 0.
 */
void
BufferPoolReachTargets(void)
{
	BufferPool *remainder = BufferPoolRemainder();

	if (remainder != NULL)
		set_target(remainder, most_buffers(remainder));
	set_target_of_default();
	BufferPoolNamesChanged();
	PG_TRY();
	{
		reach_targets(true);
		reach_targets(false);
	}
	PG_CATCH();
	{
		BufferPoolEndProgress();
		keep_sizes();
		PG_RE_THROW();
	}
	PG_END_TRY();
	BufferPoolEndProgress();
}

/* ---- the file ---- */

/*
 * Write the file as it is, or, if changed is not NULL, as it is when that pool
 * has this definition.
 */
void
BufferPoolWriteDefinitions(const BufferPool *changed,
						   const BufferPoolDefinition *definition)
{
	BufferPoolDefinition *all = palloc_array(BufferPoolDefinition,
											 BUFFERPOOL_MAX_NAMED);
	int			count = 0;

	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition *next = &all[count];

		if (&BufferPools[i] == RecycleBufferPool)
			continue;
		if (&BufferPools[i] == changed)
			*next = *definition;
		else
			BufferPoolReadDefinition(&BufferPools[i], next);
		if (next->name[0] != '\0' && !next->leaving)
			count++;
	}
	WriteBufferPoolDefinitions(all, count);
	pfree(all);
}
