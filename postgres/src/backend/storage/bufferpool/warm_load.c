/*-------------------------------------------------------------------------
 *
 * warm_load.c
 *	  Read the pages of the list back: who reads them, and when.
 *
 * The groups take turns: a free worker goes to the one whose next region has the
 * first level.  Nobody connects to a database that takes no connections.
 *
 * src/backend/storage/bufferpool/warm_load.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_warm.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#define MAX_WORKERS 64
#define POLL_MILLISECONDS 20	/* between two looks at the workers */
#define MOST_FAILURES 3			/* of workers of a group, before it is left */
#define RETRY_SECONDS 1			/* after a failure */

/*
 * A second worker for a group must find this many wants.  Chosen, not measured:
 * a connection takes some milliseconds.
 */
#define WORTH_A_WORKER 256

typedef struct Worker
{
	BackgroundWorkerHandle *handle; /* NULL: none */
	WarmGroup  *group;
	uint32		next;			/* of the group, when the worker was started */
} Worker;

typedef struct Load
{
	WarmPlan	plan;
	Oid			any;			/* a database that takes connections, for the
								 * shared catalogs */
	Worker		workers[MAX_WORKERS];
} Load;

/* ---- databases ---- */

/* Which of the groups' databases take connections; and any that does. */
static void
look_at_databases(Load *load)
{
	MemoryContext context = CurrentMemoryContext;
	const WarmWork *work = load->plan.work;
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tuple;

	load->any = InvalidOid;
	for (uint32 i = 0; i < work->groups; i++)
		WarmGroups(work)[i].skipped = OidIsValid(WarmGroups(work)[i].database);
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (!database->datallowconn || database_is_invalid_form(database))
			continue;
		if (!OidIsValid(load->any) || !database->datistemplate)
			load->any = database->oid;
		for (uint32 i = 0; i < work->groups; i++)
			if (WarmGroups(work)[i].database == database->oid)
				WarmGroups(work)[i].skipped =
					WarmGroups(work)[i].failures >= MOST_FAILURES;
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	CurrentResourceOwner = AuxProcessResourceOwner;
	MemoryContextSwitchTo(context);
}

/* ---- workers ---- */

static uint32
left_in(const WarmWork *work, WarmGroup *group)
{
	uint32		next;

	SpinLockAcquire(&unconstify(WarmWork *, work)->mutex);
	next = group->next;
	SpinLockRelease(&unconstify(WarmWork *, work)->mutex);
	return group->skipped ? 0 : group->end - next;
}

/* The group that a free worker should go to, or NULL. */
static WarmGroup *
neediest(const WarmWork *work)
{
	WarmGroup  *best = NULL;
	int			best_level = 0;

	for (uint32 i = 0; i < work->groups; i++)
	{
		WarmGroup  *group = &WarmGroups(work)[i];
		uint32		left = left_in(work, group);
		int			level;

		if (left <= (uint32) group->workers * WORTH_A_WORKER ||
			GetCurrentTimestamp() < group->not_before)
			continue;
		level = WarmWants(work)[group->end - left].level + WARM_LEVELS * group->workers;
		if (best == NULL || level < best_level)
		{
			best = group;
			best_level = level;
		}
	}
	return best;
}

static bool
start_worker(Load *load, Worker *slot, WarmGroup *group)
{
	BackgroundWorker worker = {0};
	Oid			database = OidIsValid(group->database) ? group->database : load->any;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = Int32GetDatum(group - WarmGroups(load->plan.work));
	memcpy(worker.bgw_extra, &database, sizeof(database));
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "postgres", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "BufferPoolWarmWorkerMain", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer pool warm worker", BGW_MAXLEN);
	strlcpy(worker.bgw_name, worker.bgw_type, BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, &slot->handle))
	{
		slot->handle = NULL;
		return false;
	}
	slot->group = group;
	slot->next = group->next;
	group->workers++;
	WarmCount(WARM_WORKERS, 1);
	return true;
}

/*
 * Forget workers that have ended.  One that has left something has failed, or was
 * in the way of somebody: the next one comes a moment later.  After a few that
 * have done nothing the group is left.  Returns how many run.
 */
static int
reap_workers(Load *load)
{
	int			running = 0;

	for (int i = 0; i < MAX_WORKERS; i++)
	{
		Worker	   *worker = &load->workers[i];
		pid_t		pid;

		if (worker->handle == NULL)
			continue;
		if (GetBackgroundWorkerPid(worker->handle, &pid) != BGWH_STOPPED)
		{
			running++;
			continue;
		}
		worker->group->workers--;
		if (left_in(load->plan.work, worker->group) > 0)
		{
			worker->group->failures =
				worker->group->next == worker->next ? worker->group->failures + 1 : 1;
			worker->group->not_before = GetCurrentTimestamp() +
				RETRY_SECONDS * USECS_PER_SEC;
			if (worker->group->failures >= MOST_FAILURES)
				worker->group->skipped = true;
		}
		pfree(worker->handle);
		worker->handle = NULL;
	}
	return running;
}

static void
end_workers(Load *load)
{
	for (int i = 0; i < MAX_WORKERS; i++)
		if (load->workers[i].handle != NULL)
			TerminateBackgroundWorker(load->workers[i].handle);
}

/* Is there anything that a worker could still do? */
static bool
is_something_left(const WarmWork *work)
{
	for (uint32 i = 0; i < work->groups; i++)
		if (left_in(work, &WarmGroups(work)[i]) > 0)
			return true;
	return false;
}

/* Returns whether there may be more to do. */
static bool
employ_workers(Load *load)
{
	static bool warned = false;
	int			running = reap_workers(load);
	int			wanted = ShutdownRequestPending ? 0 :
		Min(bufferpool_warm_workers, MAX_WORKERS);

	for (int i = 0; i < MAX_WORKERS && running < wanted; i++)
	{
		WarmGroup  *group = neediest(load->plan.work);

		if (load->workers[i].handle != NULL)
			continue;
		if (group == NULL)
			break;
		if (group->failures > 0)
			look_at_databases(load);
		if (!OidIsValid(group->database) && !OidIsValid(load->any))
			group->skipped = true;
		if (group->skipped)
			continue;
		if (start_worker(load, &load->workers[i], group))
			running++;
		else
		{
			if (!warned && running == 0)
				ereport(WARNING,
						(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
						 errmsg("no background worker slot for the warm start"),
						 errdetail("It waits for one."),
						 errhint("Raise \"max_worker_processes\".")));
			warned = true;
			break;
		}
	}
	if (ShutdownRequestPending)
		end_workers(load);
	return running > 0 ||
		(!ShutdownRequestPending && is_something_left(load->plan.work));
}

/* ---- the whole ---- */

static void
set_phase(WarmPhase phase)
{
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->phase = phase;
	SpinLockRelease(&BufferPoolWarm->mutex);
}

/* What the algorithms learn of a list: its pages' places, or their order. */
static void
tell_algorithm(Load *load, uint32 i)
{
	const WarmList *list = &load->plan.list;
	const int32 *results = WarmResults(load->plan.work) + load->plan.first[i];

	if (load->plan.work->follow)
		ReferenceWarmPages(load->plan.pools[i], &list->pools[i],
						   list->relations, results);
	else
		PlaceWarmPages(load->plan.pools[i], &list->pools[i], list->relations,
					   results);
}

/* Reference what is in memory, lest it be evicted for what will be read. */
static void
keep_present(Load *load)
{
	for (uint32 i = 0; i < load->plan.list.header.pools; i++)
	{
		tell_algorithm(load, i);
		load->plan.placed[i] =
			pg_atomic_read_u32(&load->plan.work->left[i]) == 0;
	}
}

/* Place the pages of the lists that are done, or of all. */
static void
place(Load *load, bool all)
{
	for (uint32 i = 0; i < load->plan.list.header.pools; i++)
	{
		if (load->plan.placed[i] ||
			(!all && pg_atomic_read_u32(&load->plan.work->left[i]) > 0))
			continue;
		load->plan.placed[i] = true;
		tell_algorithm(load, i);
	}
}

static void
wait_a_moment(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 POLL_MILLISECONDS, WAIT_EVENT_BUFFER_POOL_WARM_MAIN);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/*
 * Note how many pages the list has, before anything can fail: a server that does
 * not get to read them back leaves the list alone until it has as many.
 */
static void
note_old_pages(void)
{
	WarmHeader	header;
	WarmPool   *pools;
	uint64		pages = 0;

	if (!ReadWarmHeads(&header, &pools, DEBUG1))
		return;
	for (uint32 i = 0; i < header.pools; i++)
		pages += pools[i].pages;
	pfree(pools);
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->old_pages = Min(pages, (uint64) NBuffers);
	SpinLockRelease(&BufferPoolWarm->mutex);
}

/* The counters are those of this list. */
static void
begin_loading(const Load *load)
{
	const WarmPlan *plan = &load->plan;
	bool		planned = plan->segment != NULL;

	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->old_pages = plan->pages;
	BufferPoolWarm->list_of = plan->list.header.saved_at;
	BufferPoolWarm->work = planned ? dsm_segment_handle(plan->segment) :
		DSM_HANDLE_INVALID;
	SpinLockRelease(&BufferPoolWarm->mutex);
	for (int i = 0; i <= WARM_RECALLED; i++)
		pg_atomic_write_u64(&BufferPoolWarm->counters[i], 0);
	WarmCount(WARM_WANTED, plan->pages);
	WarmCount(WARM_LEFT, plan->pages - plan->planned);
	WarmCount(WARM_PRESENT, planned ? plan->planned - plan->work->wants : 0);
}

/* What nobody has tried. */
static void
count_rest(const WarmWork *work)
{
	uint64		rest = 0;

	for (uint32 i = 0; i < work->groups; i++)
		rest += WarmGroups(work)[i].end - WarmGroups(work)[i].next;
	WarmCount(WARM_LEFT, rest);
}

static void
log_result(int elevel)
{
	uint64		counts[WARM_NUM_COUNTERS];

	for (int i = 0; i < WARM_NUM_COUNTERS; i++)
		counts[i] = pg_atomic_read_u64(&BufferPoolWarm->counters[i]);
	ereport(elevel,
			(errmsg("warm start: read " UINT64_FORMAT " of " UINT64_FORMAT " pages",
					counts[WARM_READ], counts[WARM_WANTED]),
			 errdetail(UINT64_FORMAT " were there already, " UINT64_FORMAT " are gone, for "
					   UINT64_FORMAT " there was no room, " UINT64_FORMAT " were left out.",
					   counts[WARM_PRESENT], counts[WARM_GONE],
					   counts[WARM_NO_ROOM], counts[WARM_LEFT])));
}

/*
 * Read the list in the file, and the pages that are on it.  Returns whether that
 * has come to its end.
 */
static bool
load_list(Load *load, bool follow)
{
	note_old_pages();
	if (!ReadWarmList(&load->plan.list))
		return true;			/* there is nothing to come back */
	MakeWarmPlan(&load->plan, follow);
	begin_loading(load);
	if (load->plan.segment == NULL)
		return false;
	look_at_databases(load);
	if (follow)
		keep_present(load);
	while (employ_workers(load))
	{
		place(load, false);
		wait_a_moment();
	}
	set_phase(WARM_PLACING);
	place(load, true);
	count_rest(load->plan.work);
	dsm_detach(load->plan.segment);
	log_result(follow ? DEBUG1 : LOG);
	return load->plan.planned == load->plan.pages && !ShutdownRequestPending;
}

static void
load_in_context(bool follow)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "warm start",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		ended = load_list(palloc0_object(Load), follow);

	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->interrupted = !ended;
	BufferPoolWarm->work = DSM_HANDLE_INVALID;
	SpinLockRelease(&BufferPoolWarm->mutex);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Read the list back, if there is one.  Ends early at a shutdown. */
void
BufferPoolLoadWarmList(void)
{
	load_in_context(false);
}

/*
 * Read what is on the list and not in memory, in the place of other pages, and
 * tell the algorithms in which order the list has its pages.
 */
void
BufferPoolFollowWarmList(void)
{
	load_in_context(true);
}
