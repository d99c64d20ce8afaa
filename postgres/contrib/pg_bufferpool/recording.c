/*-------------------------------------------------------------------------
 *
 * recording.c
 *	  Start, stop and watch a recording of buffer references.
 *
 * There is at most one at a time.  Its file is made by whoever starts it, who
 * so learns at once if that is not possible; written by the worker in
 * writer.c; and completed with the relations' names by whoever stops it, since
 * the worker is in no database.
 *
 * contrib/pg_bufferpool/recording.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_authid_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "recorder.h"
#include "storage/dsm_registry.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/relmapper.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

PG_FUNCTION_INFO_V1(pg_bufferpool_trace_start);
PG_FUNCTION_INFO_V1(pg_bufferpool_trace_stop);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpool_trace);

static void
init_state(void *memory)
{
	RecorderState *state = memory;

	MemSet(state, 0, sizeof(*state));
	SpinLockInit(&state->lock);
	ConditionVariableInit(&state->changed);
	state->phase = RECORDER_IDLE;
}

RecorderState *
AttachRecorder(void)
{
	static RecorderState *state = NULL;
	bool		found;

	if (state == NULL)
		state = GetNamedDSMSegment("pg_bufferpool_recorder",
								   sizeof(RecorderState), init_state, &found);
	return state;
}

static void
check_privilege(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_WRITE_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to record buffer references"),
				 errdetail("Only roles with privileges of the \"%s\" role may record.",
						   "pg_write_server_files")));
}

/* Sleep while the recording is in this phase; returns the next one. */
static RecorderPhase
wait_while(RecorderState *state, RecorderPhase phase)
{
	RecorderPhase now;

	ConditionVariablePrepareToSleep(&state->changed);
	for (;;)
	{
		SpinLockAcquire(&state->lock);
		now = state->phase;
		SpinLockRelease(&state->lock);
		if (now != phase)
			break;
		ConditionVariableSleep(&state->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return now;
}

/* ---- start ---- */

static void
create_file(const char *path, double sample_rate)
{
	RecordingHeader header = {0};
	int			file;

	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is not absolute", path)));
	if (strlen(path) >= MAXPGPATH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is too long", path)));
	file = OpenTransientFile(path, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
	if (file < 0)
	{
		bool		exists = errno == EEXIST;

		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m", path),
				 exists ? errhint("Choose another path: files are not overwritten.") : 0));
	}
	memcpy(header.magic, RECORDING_MAGIC, sizeof(header.magic));
	header.version = RECORDING_VERSION;
	header.page_size = BLCKSZ;
	header.origin = BufferPoolRecorderTime();
	header.sample_rate = sample_rate;
	errno = ENOSPC;				/* unless write says otherwise */
	if (write(file, &header, sizeof(header)) != sizeof(header))
	{
		int			save_errno = errno;

		(void) unlink(path);
		errno = save_errno;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write to file \"%s\": %m", path)));
	}
	CloseTransientFile(file);
}

/* Be the one whose recording it is.  Returns false if there is one already. */
static bool
claim(RecorderState *state, const char *path, double sample_rate)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		idle;

	SpinLockAcquire(&state->lock);
	idle = state->phase == RECORDER_IDLE;
	if (idle)
	{
		state->phase = RECORDER_STARTING;
		state->since = now;
		state->sample_rate = sample_rate;
		state->written = 0;
		state->bytes = sizeof(RecordingHeader);
		state->dropped = 0;
		strlcpy(state->path, path, MAXPGPATH);
		state->error[0] = '\0';
	}
	SpinLockRelease(&state->lock);
	return idle;
}

/*
 * Nothing will be recorded, for no worker has come, and none will.  (Does
 * nothing if one has.)
 */
static void
release(RecorderState *state, const char *error)
{
	bool		starting;

	SpinLockAcquire(&state->lock);
	starting = state->phase == RECORDER_STARTING;
	if (starting)
	{
		state->phase = RECORDER_IDLE;
		strlcpy(state->error, error, RECORDER_ERROR_SIZE);
	}
	SpinLockRelease(&state->lock);
	if (starting)
	{
		ConditionVariableBroadcast(&state->changed);
		(void) unlink(state->path);
	}
}

static BackgroundWorkerHandle *
register_writer(void)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker.bgw_library_name, "pg_bufferpool", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "pg_bufferpool_recorder_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "buffer reference recorder", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer reference recorder", BGW_MAXLEN);
	worker.bgw_notify_pid = MyProcPid;
	return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : NULL;
}

/* The session ends, or its statement is canceled, while the worker starts. */
static void
abandon(int code, Datum arg)
{
	TerminateBackgroundWorker((BackgroundWorkerHandle *) DatumGetPointer(arg));
	release(AttachRecorder(), "the start was canceled");
}

Datum
pg_bufferpool_trace_start(PG_FUNCTION_ARGS)
{
	char	   *path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	double		sample_rate = PG_GETARG_FLOAT8(1);
	RecorderState *state = AttachRecorder();
	BackgroundWorkerHandle *handle;
	RecorderPhase phase;
	pid_t		pid;

	check_privilege();
	if (BufferPoolRings.capacity == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no memory to record in"),
				 errhint("Set \"bufferpool.trace_buffers\" and restart the server.")));
	if (!(sample_rate > 0 && sample_rate <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample rate must be above 0 and at most 1")));
	create_file(path, sample_rate);
	if (!claim(state, path, sample_rate))
	{
		(void) unlink(path);
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("a recording is under way"),
				 errhint("End it with pg_bufferpool_trace_stop().")));
	}
	handle = register_writer();
	if (handle == NULL)
	{
		release(state, "no background worker was free");
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("no background worker is free to record"),
				 errhint("You might need to increase \"%s\".", "max_worker_processes")));
	}
	PG_ENSURE_ERROR_CLEANUP(abandon, PointerGetDatum(handle));
	{
		if (WaitForBackgroundWorkerStartup(handle, &pid) == BGWH_STOPPED)
			release(state, "the recorder did not start");
		phase = wait_while(state, RECORDER_STARTING);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon, PointerGetDatum(handle));
	if (phase != RECORDER_RECORDING)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the recording did not start"),
				 errdetail_internal("%s", state->error)));
	PG_RETURN_VOID();
}

/* ---- stop ---- */

/*
 * Where the relation's file is, as recordings name it: tablespace, database,
 * file.  False if it has none, or none that others see.
 */
static bool
relation_place(Form_pg_class relation, RelFileLocator *place)
{
	if (!RELKIND_HAS_STORAGE(relation->relkind) ||
		relation->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	place->spcOid = OidIsValid(relation->reltablespace) ?
		relation->reltablespace : MyDatabaseTableSpace;
	place->dbOid = relation->relisshared ? InvalidOid : MyDatabaseId;
	place->relNumber = relation->relfilenode;
	if (!RelFileNumberIsValid(place->relNumber))
		place->relNumber = RelationMapOidToFilenumber(relation->oid,
													  relation->relisshared);
	return RelFileNumberIsValid(place->relNumber);
}

/* The name with the schema, unless that is pg_catalog; in UTF-8. */
static const char *
relation_name(Form_pg_class relation)
{
	const char *schema = relation->relnamespace == PG_CATALOG_NAMESPACE ?
		NULL : get_namespace_name(relation->relnamespace);
	char	   *name = quote_qualified_identifier(schema,
												  NameStr(relation->relname));

	/* SQL_ASCII is whatever clients took it for */
	return GetDatabaseEncoding() == PG_SQL_ASCII ? name :
		pg_server_to_any(name, strlen(name), PG_UTF8);
}

/*
 * Names of the relations in this database, and of the shared ones, by where
 * their files are: a JSON object.
 *
 * The catalog is read without SQL, whose functions, operators and types would
 * be looked up in the search path of whoever stops the recording and might be
 * somebody else's.  The path matters to conversions of encodings all the same.
 */
static char *
relation_names(void)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext,
											  "name of a relation",
											  ALLOCSET_SMALL_SIZES);
	int			nest_level = NewGUCNestLevel();
	const char *separator = "";
	StringInfoData names;
	HeapTuple	tuple;

	RestrictSearchPath();
	(void) set_config_option("quote_all_identifiers", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	initStringInfo(&names);
	appendStringInfoChar(&names, '{');
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class relation = (Form_pg_class) GETSTRUCT(tuple);
		RelFileLocator place;
		MemoryContext outside = MemoryContextSwitchTo(row);

		CHECK_FOR_INTERRUPTS();
		if (relation_place(relation, &place))
		{
			appendStringInfo(&names, "%s\"%u/%u/%u\":", separator, place.spcOid,
							 place.dbOid, place.relNumber);
			escape_json(&names, relation_name(relation));
			separator = ",";
		}
		MemoryContextSwitchTo(outside);
		MemoryContextReset(row);
	}
	appendStringInfoChar(&names, '}');
	AtEOXact_GUC(true, nest_level);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return names.data;
}

/*
 * Complete the file.  If that fails it is left as it was: the recording is
 * good without names.
 */
static void
append_names(const char *path, const char *names)
{
	BufferRecord record = {0};
	StringInfoData text;
	int			file = OpenTransientFile(path, O_WRONLY | O_APPEND | PG_BINARY);
	off_t		size = file < 0 ? -1 : lseek(file, 0, SEEK_END);

	record.kind = RECORD_END;
	record.block = strlen(names);
	initStringInfo(&text);
	appendBinaryStringInfo(&text, &record, sizeof(record));
	appendStringInfoString(&text, names);
	if (size >= 0)
		errno = ENOSPC;			/* unless write says otherwise */
	if (size < 0 || write(file, text.data, text.len) != text.len)
	{
		ereport(WARNING,
				(errcode_for_file_access(),
				 errmsg("could not write relation names to file \"%s\": %m", path)));
		if (size >= 0 && ftruncate(file, size) != 0)
			elog(WARNING, "could not truncate file \"%s\": %m", path);
	}
	if (file >= 0)
		CloseTransientFile(file);
}

Datum
pg_bufferpool_trace_stop(PG_FUNCTION_ARGS)
{
	RecorderState *state = AttachRecorder();
	bool		recording;
	int			recorder = INVALID_PROC_NUMBER;
	char		path[MAXPGPATH];

	check_privilege();
	SpinLockAcquire(&state->lock);
	recording = state->phase == RECORDER_RECORDING;
	if (recording)
	{
		recorder = state->recorder;
		strlcpy(path, state->path, MAXPGPATH);
		state->phase = RECORDER_STOPPING;
	}
	SpinLockRelease(&state->lock);
	if (!recording)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no recording is under way"),
				 state->error[0] == '\0' ? 0 :
				 errdetail_internal("The last one has ended: %s.", state->error)));
	BufferPoolStopRecording();
	SetLatch(&GetPGProcByNumber(recorder)->procLatch);
	(void) wait_while(state, RECORDER_STOPPING);
	if (state->error[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("the recording is not complete"),
				 errdetail_internal("%s", state->error)));
	append_names(path, relation_names());
	PG_RETURN_VOID();
}

/* ---- watch ---- */

Datum
pg_stat_get_bufferpool_trace(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	RecorderState *shared = AttachRecorder();
	RecorderState state;
	bool		recording;
	Datum		values[8] = {0};
	bool		nulls[8] = {0};

	InitMaterializedSRF(fcinfo, 0);
	SpinLockAcquire(&shared->lock);
	state = *shared;
	SpinLockRelease(&shared->lock);
	if (state.since == 0)
		return (Datum) 0;
	recording = state.phase != RECORDER_IDLE;
	values[0] = Int32GetDatum(state.pid);
	nulls[0] = state.pid == 0;
	values[1] = TimestampTzGetDatum(state.since);
	values[2] = CStringGetTextDatum(state.path);
	values[3] = Float8GetDatum(state.sample_rate);
	values[4] = Int64GetDatum(state.written);
	values[5] = Int64GetDatum(recording ? BufferPoolRecordsDropped() : state.dropped);
	values[6] = Int64GetDatum(state.bytes);
	if (state.error[0] == '\0')
		nulls[7] = true;
	else
		values[7] = CStringGetTextDatum(state.error);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
