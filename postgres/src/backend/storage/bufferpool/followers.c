/*-------------------------------------------------------------------------
 *
 * followers.c
 *	  Who has followed the definitions of pools.
 *
 * A process that has set up its views notes as of which change.  So a statement
 * can wait until none has an older view.  It does not wait for processes that
 * read no pages: an archiver, say, may be busy for hours.
 *
 * src/backend/storage/bufferpool/followers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/bufferpool_internals.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procsignal.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

typedef struct Followers
{
	pg_atomic_uint32 changes;	/* of definitions, so far */
	pg_atomic_uint32 followed[FLEXIBLE_ARRAY_MEMBER];	/* [ProcNumber] */
} Followers;

/* followed of such a process.  (No other one will see so many changes.) */
#define READS_NO_PAGES PG_UINT32_MAX

/*
 * Between two looks at what others have followed.  The statement goes on at
 * most so long after the last process has followed; each look goes through all
 * processes.
 */
#define PAUSE_MILLISECONDS 1

/* Before a word in the log: as in WaitForProcSignalBarrier. */
#define PATIENCE_MILLISECONDS 5000

static Followers *followers;

Size
BufferPoolFollowersShmemSize(void)
{
	return add_size(offsetof(Followers, followed),
					mul_size(BufferPoolProcessCount(), sizeof(pg_atomic_uint32)));
}

void
BufferPoolFollowersShmemInit(void)
{
	bool		found;

	followers = ShmemInitStruct("Buffer Pool Followers", BufferPoolFollowersShmemSize(),
								&found);
	if (found)
		return;
	pg_atomic_init_u32(&followers->changes, 0);
	for (int i = 0; i < BufferPoolProcessCount(); i++)
		pg_atomic_init_u32(&followers->followed[i], 0);
}

/* A definition has changed. */
void
BufferPoolDefinitionChanged(void)
{
	pg_atomic_fetch_add_u32(&followers->changes, 1);
}

/*
 * A background worker without a database connection takes part in no barrier, so
 * it could never follow.  Nor can it read pages: PostgreSQL's own barriers, which
 * close files that are about to be removed, do not reach it either.
 */
static bool
takes_part_in_no_barrier(void)
{
	return MyBgworkerEntry != NULL &&
		(MyBgworkerEntry->bgw_flags & BGWORKER_BACKEND_DATABASE_CONNECTION) == 0;
}

static bool
reads_no_pages(void)
{
	return takes_part_in_no_barrier() || AmArchiverProcess() || AmCheckpointerProcess() ||
		AmIoWorkerProcess() || AmWalReceiverProcess() ||
		AmWalSummarizerProcess() || AmWalWriterProcess();
}

/* Follow all definitions.  Not while an operation on a pool is under way. */
void
BufferPoolFollowDefinitions(void)
{
	uint32		changes = pg_atomic_read_membarrier_u32(&followers->changes);

	for (int i = 0; i < BufferPoolsReserved(); i++)
		if (BufferPools[i].shared != NULL)
			BufferPoolFollowDefinition(&BufferPools[i]);
	if (MyProcNumber >= 0 && MyProcNumber < BufferPoolProcessCount())
		pg_atomic_write_membarrier_u32(&followers->followed[MyProcNumber],
									   reads_no_pages() ? READS_NO_PAGES :
									   changes);
}

/* A process that has not followed the last change; -1: none. */
static int
find_straggler(uint32 changes)
{
	for (int i = 0; i < BufferPoolProcessCount(); i++)
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
	pg_memory_barrier();		/* what they did before they followed is seen */
	RESUME_INTERRUPTS();
}

/*
 * Ask all processes to report what they have queued: until then nobody can evict
 * the pages that they have brought in.  Does not wait.
 */
void
BufferPoolAskForReports(void)
{
	(void) EmitProcSignalBarrier(PROCSIGNAL_BARRIER_BUFFER_POOLS);
	if (RecoveryInProgress())
		WakeupRecovery();
}

/*
 * A process takes part in the barrier.  One that is changing the pools reports
 * when it has.
 */
bool
ProcessBarrierBufferPools(void)
{
	BufferPoolFollowDefinitions();
	if (InterruptHoldoffCount == 0)
		ProcessBufferPoolCommitInterrupt();
	return true;
}
