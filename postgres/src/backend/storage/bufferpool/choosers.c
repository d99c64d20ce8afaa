/*-------------------------------------------------------------------------
 *
 * choosers.c
 *	  What each process keeps from choice to choice, if choices need no lock.
 *
 * Each process has random numbers of its own.  A process that begins gets the number
 * of one that has ended.  Had it that one's random numbers as well, sessions that end
 * soon would look at the same few buffers one after the other, and the pages in all
 * others would never leave.  So the numbers depend on how many processes have had the
 * process number before, too.
 *
 * src/backend/storage/bufferpool/choosers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/shmem.h"

/* [ProcNumber]: processes that have begun with it.  Each writes its own. */
static uint32 *begun;

static tp_chooser choosers[BUFFERPOOL_NUMBERS];

Size
BufferPoolChoosersShmemSize(void)
{
	return mul_size(BufferPoolProcessCount(), sizeof(uint32));
}

void
BufferPoolChoosersShmemInit(void)
{
	bool		found;

	begun = ShmemInitStruct("Buffer Pool Choosers", BufferPoolChoosersShmemSize(), &found);
	if (!found)
		memset(begun, 0, BufferPoolChoosersShmemSize());
}

/* Called when a process begins to use shared buffers; it has a PGPROC. */
void
BufferPoolChoosersInitProcess(void)
{
	if (MyProcNumber >= 0 && MyProcNumber < BufferPoolProcessCount())
		begun[MyProcNumber]++;
}

/* How many processes have had this process's number before. */
uint32
BufferPoolFormerProcesses(void)
{
	return MyProcNumber >= 0 && MyProcNumber < BufferPoolProcessCount() ?
		begun[MyProcNumber] - 1 : 0;
}

/* This process's view of the pool gets a chooser of its own, yet to be initialized. */
void
BufferPoolUseOwnChooser(BufferPool *pool)
{
	pool->core.chooser = &choosers[BufferPoolNumber(pool)];
	pool->followed_resets = false;
}

/*
 * Reset what this process remembers of its choices, if the pool has been reset
 * since the last call, or if this is the first.
 */
void
BufferPoolFollowReset(BufferPool *pool)
{
	uint32		resets = pg_atomic_read_u32(&pool->shared->resets);

	if (pool->followed_resets && pool->resets == resets)
		return;
	pool->followed_resets = true;
	pool->resets = resets;
	if (pool->flags & TP_CHOICE_LOCK_FREE)
		tp_chooser_init(&pool->core, BUFFERPOOL_SEED, MyProcNumber,
						BufferPoolFormerProcesses());
}
