/*-------------------------------------------------------------------------
 *
 * warm_follow.c
 *	  A standby keeps what its primary has in memory.
 *
 * A background worker asks the primary for its list, through primary_conninfo
 * and the primary's extension pg_bufferpool, and puts it in the place of this
 * server's.  The warmer then reads what is missing (warm_load.c).
 *
 * The worker connects to the database that primary_conninfo names, on both
 * servers: here because what a query returns is read with the catalogs' help.
 *
 * What the primary sends is checked like any file before it replaces the one
 * that is there.
 *
 * src/backend/storage/bufferpool/warm_follow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "replication/walreceiver.h"
#include "storage/bufferpool_warm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
#include "varatt.h"

bool		bufferpool_warm_primary;

/* The primary may save a new list while this one is fetched. */
#define ATTEMPTS 3

#define MEGABYTE (1024 * 1024)

/* In bytes, of a list that may be fetched in any case. */
#define LEAST_LARGEST_LIST (16 * MEGABYTE)

/* For which a worker that was told to end is waited for. */
#define SECONDS_TO_END 1

/* ---- the worker ---- */

typedef struct Fetch
{
	WalReceiverConn *primary;
	const char *schema;			/* of the extension there, quoted */
	WarmOutput	output;
} Fetch;

/*
 * The only value that this query returns on the primary, in the current memory
 * context.  Returns false if there is no row, or it is null.
 */
static bool
ask(const Fetch *fetch, const char *query, Oid type, Datum *value)
{
	WalRcvExecResult *result = walrcv_exec(fetch->primary, query, 1, &type);
	TupleTableSlot *slot;
	bool		null = true;

	if (result->status != WALRCV_OK_TUPLES)
		ereport(ERROR,
				(errcode(result->sqlstate != 0 ? result->sqlstate :
						 ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not fetch the primary's list of pages: %s",
						result->err)));
	slot = MakeSingleTupleTableSlot(result->tupledesc, &TTSOpsMinimalTuple);
	if (tuplestore_gettupleslot(result->tuplestore, true, false, slot))
	{
		*value = slot_getattr(slot, 1, &null);
		if (!null)
			*value = PointerGetDatum(PG_DETOAST_DATUM_COPY(*value));
	}
	ExecDropSingleTupleTableSlot(slot);
	walrcv_clear_result(result);
	return !null;
}

static void
find_extension(Fetch *fetch, const char *database)
{
	Datum		schema;

	if (!ask(fetch,
			 "SELECT pg_catalog.quote_ident(n.nspname)"
			 " FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n"
			 " ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
			 " WHERE e.extname OPERATOR(pg_catalog.=) 'pg_bufferpool'",
			 TEXTOID, &schema))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the primary has no extension \"%s\" in database \"%s\"",
						"pg_bufferpool", database),
				 errhint("Create it there, or name another database in \"%s\".",
						 "primary_conninfo")));
	fetch->schema = TextDatumGetCString(schema);
}

/* Bytes of the primary's list from this place on; NULL if it has no list. */
static bytea *
ask_for_part(const Fetch *fetch, uint64 at)
{
	Datum		part;

	/*
	 * the argument's type is exact, or another function of that name could be
	 * meant
	 */
	char	   *query = psprintf("SELECT %s.pg_bufferpool_warm_list('" UINT64_FORMAT
								 "'::pg_catalog.int8)", fetch->schema, at);

	return ask(fetch, query, BYTEAOID, &part) ? DatumGetByteaP(part) : NULL;
}

/*
 * The largest list that is taken from the primary, in bytes: a page of it has some 60,
 * so the primary may have a hundred times as many buffers.
 */
static uint64
largest_list(void)
{
	return Max((uint64) NBuffers * BLCKSZ, LEAST_LARGEST_LIST);
}

/*
 * Write all of the list to the new file.  Returns false if the file could not be
 * written, which is a warning.
 */
static bool
copy_list(Fetch *fetch)
{
	MemoryContext context;
	MemoryContext old;
	uint64		at = 0;
	Size		size;

	if (!WarmBeginFile(&fetch->output))
		return false;
	context = AllocSetContextCreate(CurrentMemoryContext, "part of a list",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	do
	{
		bytea	   *part;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(context);
		part = ask_for_part(fetch, at);
		if (part == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FILE),
					 errmsg("the primary has no list of pages"),
					 errhint("It saves one every \"%s\" if \"%s\" is on there.",
							 "bufferpool.warm_save_interval",
							 "bufferpool.warm_start")));
		size = VARSIZE_ANY_EXHDR(part);
		if (size > WARM_PART_SIZE || at + size > largest_list())
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("the primary's list of pages is too large"),
					 errdetail("It may have " UINT64_FORMAT " MB here, in parts of %d MB.",
							   largest_list() / MEGABYTE,
							   (int) (WARM_PART_SIZE / MEGABYTE))));
		WarmWriteAt(&fetch->output, VARDATA_ANY(part), size, at);
		at += size;
	} while (size > 0 && fetch->output.error == 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return true;
}

/* Returns whether the primary's list has taken the place of this server's. */
static bool
fetch_list(Fetch *fetch)
{
	const char *problem;

	for (int attempt = 1;; attempt++)
	{
		if (!copy_list(fetch))
			return false;
		if (fetch->output.error != 0)
			break;				/* which is reported below */
		problem = WarmProblemOfFile(WARM_NEW_FILE);
		if (problem == NULL)
			break;
		WarmDropFile(&fetch->output);
		if (attempt == ATTEMPTS)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("the primary's list of pages is not used"),
					 errdetail_internal("%s", problem)));
	}
	return WarmKeepFile(&fetch->output);
}

/* The name of the database to connect to, here and there. */
static char *
database_of_primary(void)
{
	char	   *database = walrcv_get_dbname_from_conninfo(PrimaryConnInfo);

	if (database == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" needs a database in \"%s\"",
						"bufferpool.warm_primary", "primary_conninfo"),
				 errhint("Add \"dbname=\", with a database that has the extension \"%s\".",
						 "pg_bufferpool")));
	return database;
}

void
BufferPoolWarmFetchMain(Datum main_arg)
{
	Fetch	   *fetch;
	char	   *database;
	char	   *error;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	load_file("libpqwalreceiver", false);
	database = database_of_primary();
	BackgroundWorkerInitializeConnection(database, NULL, 0);
	WarmClaimFile();
	before_shmem_exit(WarmReleaseFile, 0);
	StartTransactionCommand();
	fetch = palloc0_object(Fetch);
	fetch->primary = walrcv_connect(PrimaryConnInfo, false, false, false,
									MyBgworkerEntry->bgw_type, &error);
	if (fetch->primary == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not fetch the primary's list of pages: %s", error)));
	find_extension(fetch, database);
	if (fetch_list(fetch))
		WarmCount(WARM_FETCHES, 1);
	walrcv_disconnect(fetch->primary);
	CommitTransactionCommand();
	proc_exit(0);
}

/* ---- the warmer's part ---- */

/* Does this server use its primary's list? */
bool
WarmFollowsPrimary(void)
{
	return bufferpool_warm_primary && RecoveryInProgress() &&
		PrimaryConnInfo != NULL && PrimaryConnInfo[0] != '\0';
}

static BackgroundWorkerHandle *
start_worker(void)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;
	bool		started;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "postgres", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "BufferPoolWarmFetchMain", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer pool warm fetcher", BGW_MAXLEN);
	strlcpy(worker.bgw_name, worker.bgw_type, BGW_MAXLEN);
	started = RegisterDynamicBackgroundWorker(&worker, &handle);
	MemoryContextSwitchTo(old);
	if (started)
		return handle;
	ereport(WARNING,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("no background worker slot to fetch the primary's list of pages"),
			 errhint("Raise \"max_worker_processes\".")));
	return NULL;
}

static bool
has_ended(BackgroundWorkerHandle * handle)
{
	pid_t		pid;

	return GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED;
}

/*
 * Wait for its end, for so many seconds at most.  Returns false if it is still
 * there: it was told to end, but the system looks a host's name up for it.
 */
static bool
wait_for_worker(BackgroundWorkerHandle * handle, int seconds)
{
	TimestampTz until = GetCurrentTimestamp() +
		(seconds - SECONDS_TO_END) * USECS_PER_SEC;
	bool		told = false;

	while (!has_ended(handle))
	{
		long		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														   until);

		if (left == 0 && told)
			return false;
		if ((left == 0 || ShutdownRequestPending) && !told)
		{
			TerminateBackgroundWorker(handle);
			told = true;
			left = SECONDS_TO_END * 1000;
			until = GetCurrentTimestamp() + SECONDS_TO_END * USECS_PER_SEC;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 left, WAIT_EVENT_BUFFER_POOL_WARM_MAIN);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* A worker that has not ended when it was told to, or NULL. */
static BackgroundWorkerHandle * lingering;

static bool
is_lingering(void)
{
	if (lingering != NULL && has_ended(lingering))
	{
		pfree(lingering);
		lingering = NULL;
	}
	return lingering != NULL;
}

/*
 * Fetch the primary's list.  Returns whether it is in this server's file; if not,
 * the log says why.
 */
bool
WarmFetchList(int seconds)
{
	uint64		before = pg_atomic_read_u64(&BufferPoolWarm->counters[WARM_FETCHES]);
	BackgroundWorkerHandle *handle = is_lingering() ? NULL : start_worker();

	if (handle != NULL && wait_for_worker(handle, seconds))
		pfree(handle);
	else if (handle != NULL)
		lingering = handle;
	if (is_lingering())
		ereport(WARNING,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not fetch the primary's list of pages: the attempt does not end"),
				 errdetail("It was told to, but waits for the operating system."),
				 errhint("See whether the host in \"%s\" can be found by its name.",
						 "primary_conninfo")));
	if (pg_atomic_read_u64(&BufferPoolWarm->counters[WARM_FETCHES]) != before)
		return true;
	WarmCount(WARM_FAILED_FETCHES, 1);
	return false;
}
