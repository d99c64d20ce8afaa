/*-------------------------------------------------------------------------
 *
 * recording.c
 *	  SQL functions to start, stop and watch a recording of buffer references.
 *
 * The recorder, a background worker, creates and writes the file.  The session
 * that starts a recording waits until it has begun, the one that stops it
 * until it has ended.  The latter supplies the names of relations, because the
 * recorder is connected to no database.
 *
 * contrib/pg_bufferpool/recording.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_authid_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "recorder.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

PG_FUNCTION_INFO_V1(pg_bufferpool_trace_start);
PG_FUNCTION_INFO_V1(pg_bufferpool_trace_stop);
PG_FUNCTION_INFO_V1(pg_stat_get_bufferpool_trace);

/*
 * Long enough for a recorder that has ended to free its slot: a second in all.
 * Chosen, not measured: if all slots are taken for good, that much later the
 * error comes.
 */
#define SLOT_TRIES 100
#define SLOT_PAUSE_MILLISECONDS 10

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

/* Wait for this process's latch, for at most this long (-1: no limit). */
static void
wait_for_recorder(long milliseconds)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("BufferPoolRecorderSync");
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
					 (milliseconds < 0 ? 0 : WL_TIMEOUT),
					 milliseconds, wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Exit callback of a session that waits. */
static void
abandon(int code, Datum serial)
{
	RecorderAbandon(DatumGetUInt32(serial));
}

/* ---- start ---- */

static RecorderRequest
requested(const char *path, double sample_rate, const text * max_size)
{
	RecorderRequest request = {0};

	if (!is_absolute_path(path))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is not absolute", path)));
	if (strlcpy(request.path, path, MAXPGPATH) >= MAXPGPATH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is too long", path)));
	if (!(sample_rate > 0 && sample_rate <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sample rate must be above 0 and at most 1")));
	request.sample_rate = sample_rate;
	if (max_size != NULL)
	{
		request.max_size = DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
															 PointerGetDatum(max_size)));
		if (request.max_size < RECORDING_MIN_SIZE)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("maximum size of a recording must be at least %d kB",
							RECORDING_MIN_SIZE / 1024)));
	}
	return request;
}

static void
report_no_memory(void)
{
	const char *setting = "bufferpool.trace_buffers";
	int			processes = BufferPoolRingCount();

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no memory is reserved for recordings"),
			 BufferPoolDefaultTraceBuffers() > 0 ?
			 errdetail("\"%s\" is 0.", setting) :
			 errdetail("\"%s\" is 0, because its share of \"%s\" would hold fewer than %d events for each of %d processes.",
					   setting, "shared_buffers", LEAST_TRACE_BUFFERS,
					   processes),
			 errhint("Set \"%s\" to %d, which takes %d MB, and restart the server.",
					 setting, AMPLE_TRACE_BUFFERS,
					 (int) ((int64) processes * AMPLE_TRACE_BUFFERS *
							sizeof(BufferRecord) / (1024 * 1024)))));
}

/* Returns NULL if no slot is free. */
static BackgroundWorkerHandle *
register_recorder(uint32 serial)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_ConsistentState;
	worker.bgw_restart_time = BGW_NEVER_RESTART;

	strlcpy(worker.bgw_library_name, "pg_bufferpool", MAXPGPATH);
	strlcpy(worker.bgw_function_name, "pg_bufferpool_recorder_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "buffer reference recorder", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "buffer reference recorder", BGW_MAXLEN);
	worker.bgw_main_arg = UInt32GetDatum(serial);
	worker.bgw_notify_pid = MyProcPid;

	return RegisterDynamicBackgroundWorker(&worker, &handle) ? handle : NULL;
}

static BackgroundWorkerHandle *
launch_recorder(uint32 serial)
{
	BackgroundWorkerHandle *handle = register_recorder(serial);

	for (int i = 0; handle == NULL && i < SLOT_TRIES; i++)
	{
		wait_for_recorder(SLOT_PAUSE_MILLISECONDS);
		handle = register_recorder(serial);
	}
	if (handle == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("no background worker is free to record"),
				 errhint("You might need to increase \"%s\".", "max_worker_processes")));
	return handle;
}

/*
 * Wait until the recording has begun.  Raises an error if it cannot begin.
 */
static void
wait_for_start(uint32 serial, BackgroundWorkerHandle * handle)
{
	RecorderOutcome outcome;
	RecorderPhase phase;
	pid_t		pid;

	while ((phase = RecorderPhaseOf(serial)) == RECORDER_STARTING ||
		   phase == RECORDER_OPENING)
	{
		/* a recorder that has stopped without attaching never will */
		if (GetBackgroundWorkerPid(handle, &pid) == BGWH_STOPPED &&
			RecorderPhaseOf(serial) == RECORDER_STARTING)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
					 errmsg("could not start the recorder"),
					 errhint("More details may be available in the server log.")));
		wait_for_recorder(-1);
	}
	if (phase == RECORDER_ENDED && RecorderTake(serial, &outcome))
	{
		int			error_number = outcome.error_number;

		errno = error_number;
		ereport(ERROR,
				(error_number != 0 ? errcode_for_file_access() :
				 errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_internal("%s", outcome.error),
				 error_number != EEXIST ? 0 :
				 errhint("Choose another path. Existing files are not overwritten.")));
	}

	/*
	 * a cancellation that arrives now still undoes the start; a later one
	 * cannot
	 */
	CHECK_FOR_INTERRUPTS();
}

Datum
pg_bufferpool_trace_start(PG_FUNCTION_ARGS)
{
	RecorderRequest request;
	uint32		serial;

	check_privilege();
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("path and sample rate must not be null")));
	if (BufferPoolRings.capacity == 0)
		report_no_memory();
	request = requested(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						PG_GETARG_FLOAT8(1),
						PG_ARGISNULL(2) ? NULL : PG_GETARG_TEXT_PP(2));
	serial = RecorderClaim(&request);
	if (serial == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("a recording is already in progress"),
				 errhint("End it with pg_bufferpool_trace_stop().")));
	PG_ENSURE_ERROR_CLEANUP(abandon, UInt32GetDatum(serial));
	{
		wait_for_start(serial, launch_recorder(serial));
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon, UInt32GetDatum(serial));
	PG_RETURN_VOID();
}

/* ---- stop ---- */

/* Put the names of relations into a segment for the recorder. */
static dsm_segment *
share_names(void)
{
	const char *names = RelationNames();
	Size		size = strlen(names) + 1;
	dsm_segment *segment = dsm_create(size, 0);

	memcpy(dsm_segment_address(segment), names, size);
	return segment;
}

static void
wait_for_end(uint32 serial, RecorderOutcome *outcome)
{
	while (!RecorderTake(serial, outcome))
		wait_for_recorder(-1);
}

/* Raise an error, with the reason why the last recording ended, if known. */
static void
report_no_recording(void)
{
	Recording	last;

	RecorderShow(&last);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no recording is in progress"),
			 last.outcome.error[0] == '\0' ? 0 :
			 errdetail_internal("The last one has ended: %s.",
								last.outcome.error)));
}

/* Report how complete the recording is that has just ended. */
static void
report_outcome(const RecorderOutcome *outcome)
{
	if (outcome->dropped > 0)
		ereport(WARNING,
				(errmsg_plural("%lld event is missing from the recording",
							   "%lld events are missing from the recording",
							   (unsigned long) outcome->dropped,
							   (long long) outcome->dropped),
				 errdetail("Processes had no room for them in memory."),
				 errhint("Set \"%s\", which is %d, to a larger value and restart the server.",
						 "bufferpool.trace_buffers", bufferpool_trace_buffers)));
	if (outcome->names_left_out)
		ereport(WARNING,
				(errmsg("the recording does not contain the names of relations"),
				 errdetail("The names would have made the file larger than its maximum size.")));
	if (outcome->error[0] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_IO_ERROR),
				 errmsg("the recording is not complete"),
				 errdetail_internal("%s", outcome->error)));
}

Datum
pg_bufferpool_trace_stop(PG_FUNCTION_ARGS)
{
	RecorderOutcome outcome;
	uint32		serial;

	check_privilege();
	serial = RecorderStop();
	if (serial == 0)
		report_no_recording();
	PG_ENSURE_ERROR_CLEANUP(abandon, UInt32GetDatum(serial));
	{
		dsm_segment *names = share_names();

		(void) RecorderComplete(serial, RECORDER_STOPPING,
								dsm_segment_handle(names));
		wait_for_end(serial, &outcome);
		dsm_detach(names);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon, UInt32GetDatum(serial));
	report_outcome(&outcome);
	PG_RETURN_VOID();
}

/* ---- watch ---- */

Datum
pg_stat_get_bufferpool_trace(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Recording	recording;
	const RecorderRequest *request = &recording.request;
	const RecorderOutcome *outcome = &recording.outcome;
	Datum		values[9] = {0};
	bool		nulls[9] = {0};

	InitMaterializedSRF(fcinfo, 0);
	RecorderShow(&recording);
	if (recording.since == 0)
		return (Datum) 0;
	values[0] = Int32GetDatum(recording.pid);
	nulls[0] = recording.pid == 0;
	values[1] = TimestampTzGetDatum(recording.since);
	values[2] = CStringGetTextDatum(request->path);
	values[3] = Float8GetDatum(request->sample_rate);
	values[4] = Int64GetDatum(recording.written);
	values[5] = Int64GetDatum(outcome->dropped);
	values[6] = Int64GetDatum(recording.bytes);
	values[7] = Int64GetDatum(request->max_size);
	if (outcome->error[0] == '\0')
		nulls[8] = true;
	else
		values[8] = CStringGetTextDatum(outcome->error);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	return (Datum) 0;
}
