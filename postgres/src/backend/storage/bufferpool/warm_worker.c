/*-------------------------------------------------------------------------
 *
 * warm_worker.c
 *	  Workers of a warm start: each reads pages of one database.
 *
 * A worker claims the next run of pages of one relation's fork (warm_plan.c), and
 * reads it through a read stream.  Each page gets a buffer that was free: the
 * worker takes it off the pool's freelist before it asks for the page.  So no page
 * is evicted, and a page goes to the pool that had it.  Only a standby that
 * follows its primary reads as queries do, and evicts what the algorithm chooses.
 *
 * Pages of the list lie near each other, but not side by side.  What lies between
 * is read on the way, so that a disk need not be asked again for each, and is
 * forgotten at once.
 *
 * A lock on the relation keeps the file from being truncated or dropped; it is
 * held for one run and never waited for.  Nor does a worker stand in the way of
 * those who want the database for themselves: between two runs it looks whether
 * somebody waits, and ends.
 *
 * Queries come first.  After a run a worker pauses for half of the time that the
 * run took if queries wait for reads; and what it reads, many pages at a time,
 * costs a disk little.
 *
 * src/backend/storage/bufferpool/warm_worker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_warm.h"
#include "storage/bufmgr.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/read_stream.h"
#include "storage/smgr.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/relfilenumbermap.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

/* Pages of a run; and with those between them. */
#define RUN_PAGES 64
#define RUN_BLOCKS (RUN_PAGES * (1 + WARM_LONGEST_GAP))

/* In place of a want: read on the way. */
#define ON_THE_WAY (-1)

/* The longest pause for queries. */
#define PAUSE_MILLISECONDS 100

/* After which a worker that pauses looks whether it is in the way. */
#define LONGEST_WAIT_MILLISECONDS 200

bool		BufferPoolHasReserve;

static bool had_settings;		/* the last wait ended with other settings */

/* ---- free buffers for the pages that are about to be read ---- */

/* Pinned by this process. */
static BufferDesc *reserve[RUN_BLOCKS];
static int	reserved;

static bool
reserve_buffer(BufferPool *pool)
{
	Buffer		buffer = TakeFreeBuffer(pool);

	if (!BufferIsValid(buffer))
		return false;
	reserve[reserved++] = GetBufferDescriptor(buffer - 1);
	BufferPoolHasReserve = true;
	return true;
}

/* Called by the buffer manager instead of looking for a victim. */
BufferDesc *
BufferPoolTakeReserved(void)
{
	BufferDesc *buf = reserve[--reserved];

	BufferPoolHasReserve = reserved > 0;
	return buf;
}

static void
release_reserve(void)
{
	while (reserved > 0)
	{
		BufferDesc *buf = BufferPoolTakeReserved();

		ReleaseBuffer(BufferDescriptorGetBuffer(buf));
		StrategyFreeBuffer(buf);
	}
}

/* ---- a run ---- */

typedef struct Run
{
	WarmWork   *work;
	const WarmRelation *relation;
	const WarmWant *wants;
	int			count;
	BlockNumber blocks;			/* of the fork */
	BufferPool *pool;
	int			next;			/* want that the stream asks for next */
	BlockNumber end;			/* after the last block that it has asked for;
								 * 0: none */
	int			asked[RUN_BLOCKS];	/* wants that it has asked for, in order,
									 * or ON_THE_WAY */
	int			nasked;
	int			got;			/* of them, those that have come */
	int			counted;		/* wants that have ended one way or the other */
} Run;

static void
count(Run *run, WarmCounter counter, int pages)
{
	WarmCount(counter, pages);
	run->counted += pages;
}

static int32 *
result_of(const Run *run, int i)
{
	return &WarmResults(run->work)[run->wants[i].number];
}

/*
 * Have a buffer for one more block, and as many as blocks are on their way.  Those
 * are pins that the stream cannot have, so it reads less ahead.  That does no harm:
 * the I/O workers have enough to do.
 */
static bool
make_room(const Run *run)
{
	return run->work->follow || reserved > run->nasked - run->got ||
		reserve_buffer(run->pool);
}

static BlockNumber
ask(Run *run, int want, BlockNumber block)
{
	run->asked[run->nasked++] = want;
	run->end = block + 1;
	return block;
}

/* Shall the next block be read on the way to this one? */
static bool
goes_by_next(const Run *run, BlockNumber block)
{
	return run->end != 0 && block > run->end &&
		block - run->end <= WARM_LONGEST_GAP && !run->work->follow &&
		WarmFindPage(run->relation, run->end) < 0 && make_room(run);
}

/* The stream's next block, for which there is a buffer. */
static BlockNumber
next_block(ReadStream * stream, void *arg, void *per_buffer_data)
{
	Run		   *run = arg;

	for (; run->next < run->count; run->next++)
	{
		const WarmWant *want = &run->wants[run->next];

		if (want->block >= run->blocks)
		{
			count(run, WARM_GONE, 1);
			continue;
		}
		*result_of(run, run->next) = WarmFindPage(run->relation, want->block);
		if (*result_of(run, run->next) >= 0)
		{
			count(run, WARM_PRESENT, 1);
			continue;
		}
		if (goes_by_next(run, want->block))
			return ask(run, ON_THE_WAY, run->end);
		if (!make_room(run))
		{
			count(run, WARM_NO_ROOM, run->count - run->next);
			run->next = run->count;
			break;
		}
		return ask(run, run->next++, want->block);
	}
	return InvalidBlockNumber;
}

/*
 * The usage count of the page in this buffer shall not count that this process
 * has read it.  Returns whether somebody else has used it.
 */
static bool
take_usage_back(Buffer buffer)
{
	BufferDesc *buf = GetBufferDescriptor(buffer - 1);
	uint32		state = LockBufHdr(buf);

	if (BUF_STATE_GET_USAGECOUNT(state) > 0)
		state -= BUF_USAGECOUNT_ONE;
	UnlockBufHdr(buf, state);
	return BUF_STATE_GET_USAGECOUNT(state) > 0;
}

/* The next page of those asked for has been read, by this process if by any. */
static void
take_page(Run *run, Buffer buffer)
{
	int			want = run->asked[run->got++];
	bool		used = take_usage_back(buffer);
	BufferTag	page = GetBufferDescriptor(buffer - 1)->tag;

	ReleaseBuffer(buffer);
	if (want != ON_THE_WAY)
	{
		*result_of(run, want) = buffer - 1;
		count(run, WARM_READ, 1);
	}
	else if (!used)
		DropUnusedPage(&page, buffer - 1);
}

static void
read_run(Run *run, Relation rel)
{
	ReadStream *stream;
	Buffer		buffer;

	if (!smgrexists(RelationGetSmgr(rel), run->relation->fork))
	{
		count(run, WARM_GONE, run->count);
		return;
	}
	run->blocks = RelationGetNumberOfBlocksInFork(rel, run->relation->fork);
	stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE | READ_STREAM_FULL,
										NULL, rel,
										run->relation->fork, next_block, run, 0);
	while (BufferIsValid(buffer = read_stream_next_buffer(stream, NULL)))
		take_page(run, buffer);
	read_stream_end(stream);
	release_reserve();
}

/* The relation that has this file, locked; NULL if there is none, or it is. */
static Relation
open_relation(const RelFileLocator *locator, WarmCounter *why_not)
{
	Oid			oid = RelidByRelfilenumber(locator->spcOid, locator->relNumber);
	Relation	rel;

	*why_not = WARM_GONE;
	if (!OidIsValid(oid))
		return NULL;
	if (!ConditionalLockRelationOid(oid, AccessShareLock))
	{
		*why_not = WARM_LEFT;
		return NULL;
	}
	rel = try_relation_open(oid, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(oid, AccessShareLock);
		return NULL;
	}
	if (RelFileLocatorEquals(rel->rd_locator, *locator) &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
		return rel;
	relation_close(rel, AccessShareLock);
	return NULL;
}

/* A page that cannot be read costs its run, and is in the log. */
static void
do_run(Run *run)
{
	WarmCounter why_not;

	PG_TRY();
	{
		Relation	rel;

		StartTransactionCommand();
		rel = open_relation(&run->relation->locator, &why_not);
		if (rel == NULL)
			count(run, why_not, run->count);
		else
		{
			read_run(run, rel);
			relation_close(rel, AccessShareLock);
		}
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		reserved = 0;			/* the pins are gone with the transaction */
		BufferPoolHasReserve = false;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
}

/* What has not been read by now is left. */
static void
end_run(Run *run)
{
	count(run, WARM_LEFT, run->count - run->counted);
	pg_atomic_fetch_sub_u32(&run->work->left[run->wants->list], run->count);
	run->count = 0;
}

/* Somebody has ended the worker in the middle of it, unless it has no pages. */
static void
end_run_at_exit(int code, Datum arg)
{
	Run		   *run = (Run *) DatumGetPointer(arg);

	if (run->count > 0)
		end_run(run);
}

/* ---- which run ---- */

static bool
belongs(const WarmWant *a, const WarmWant *b)
{
	return a->relation == b->relation && a->level == b->level &&
		a->pool == b->pool && a->list == b->list;
}

/* Claim the next run of this group; returns false if there is none. */
static bool
claim_run(WarmWork *work, WarmGroup *group, Run *run)
{
	const WarmWant *wants = WarmWants(work);

	memset(run, 0, sizeof(*run));
	SpinLockAcquire(&work->mutex);
	run->work = work;
	run->wants = &wants[group->next];
	while (group->next < group->end && run->count < RUN_PAGES &&
		   belongs(&wants[group->next], run->wants))
	{
		group->next++;
		run->count++;
	}
	SpinLockRelease(&work->mutex);
	if (run->count == 0)
		return false;
	run->relation = &WarmRelations(work)[run->wants->relation];
	run->pool = &BufferPools[run->wants->pool];
	return true;
}

/* ---- in favour of others ---- */

/* Does somebody want the database for himself? */
static bool
is_in_the_way(void)
{
	bool		free;

	StartTransactionCommand();
	free = ConditionalLockSharedObject(DatabaseRelationId, MyDatabaseId, 0,
									   RowExclusiveLock);
	CommitTransactionCommand();
	return !free;
}

/* Does a session wait for a page to be read? */
static bool
queries_wait(void)
{
	for (int i = 0; i < MaxBackends; i++)
	{
		PGPROC	   *proc = GetPGProcByNumber(i);
		uint32		event = proc->wait_event_info;

		if (proc->isRegularBackend &&
			(event == WAIT_EVENT_DATA_FILE_READ ||
			 event == WAIT_EVENT_BUFFER_IO ||
			 event == WAIT_EVENT_AIO_IO_COMPLETION ||
			 event == WAIT_EVENT_AIO_IO_URING_EXECUTION))
			return true;
	}
	return false;
}

static void
wait_for(long milliseconds)
{
	if (milliseconds > 0)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 milliseconds, WAIT_EVENT_BUFFER_POOL_WARM_PAUSE);
		ResetLatch(MyLatch);
	}
	CHECK_FOR_INTERRUPTS();
	had_settings = ConfigReloadPending;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

/* After a run that took so long.  Returns false if the worker must go. */
static bool
pause_after(const Run *run, TimestampTz began)
{
	long		took = TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());
	long		pause = 0;

	if (queries_wait())
	{
		WarmCount(WARM_PAUSES, 1);
		pause = Min(took / 2, PAUSE_MILLISECONDS);
	}
	/* a worker's share of the rate, in kilobytes a second */
	if (bufferpool_warm_rate > 0)
		pause = Max(pause, (long) run->got * (BLCKSZ / 1024) * 1000 *
					bufferpool_warm_workers / bufferpool_warm_rate - took);
	do
	{
		long		part = Min(pause, LONGEST_WAIT_MILLISECONDS);

		wait_for(part);
		if (is_in_the_way())
			return false;
		pause = had_settings ? 0 : pause - part;
	} while (pause > 0);
	return true;
}

/* ---- a worker ---- */

static void
serve_group(WarmWork *work, WarmGroup *group, Run *run)
{
	for (;;)
	{
		TimestampTz began = GetCurrentTimestamp();

		if (!claim_run(work, group, run))
			return;
		do_run(run);
		end_run(run);
		pgstat_report_stat(false);
		if (!pause_after(run, began))
			return;
	}
}

void
BufferPoolWarmWorkerMain(Datum main_arg)
{
	static Run	run;
	dsm_segment *segment;
	WarmWork   *work;
	WarmGroup  *group;
	Oid			database;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	segment = dsm_attach(BufferPoolWarm->work);
	if (segment == NULL)
		proc_exit(0);			/* the leader is gone */
	dsm_pin_mapping(segment);
	work = dsm_segment_address(segment);
	group = &WarmGroups(work)[DatumGetInt32(main_arg)];
	memcpy(&database, MyBgworkerEntry->bgw_extra, sizeof(database));
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
	before_shmem_exit(end_run_at_exit, PointerGetDatum(&run));
	serve_group(work, group, &run);
	proc_exit(0);
}
