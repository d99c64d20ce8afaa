/*-------------------------------------------------------------------------
 *
 * recorder.c
 *	  The background worker that creates and writes a recording.
 *
 * It takes the events out of all rings, merges them in order of time, and
 * appends them to a file (docs/trace-format.md).  An event is stamped just
 * before it becomes visible in its ring.  So a round may miss at most one
 * event of each process that is older than the round's start.  That event is
 * written in the next round, and readers give it the time of the event before
 * it.
 *
 * The recorder opens the file once, as a new one.  Whatever happens to its
 * name later, no other file is written to or removed.
 *
 * A write error ends the recording, and nothing else: it is reported in the
 * log and in pg_stat_bufferpool_trace, and the file is cut after its last
 * whole record.  On a full disk the last records make room for the file's end.
 *
 * contrib/pg_bufferpool/recorder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "recorder.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

/*
 * Between two rounds.  A process wakes the recorder sooner, when its ring is
 * half full, so this only bounds how old events get.  Chosen, not measured:
 * less wakes an idle recorder more often.
 */
#define ROUND_MILLISECONDS 10

/* 128 KiB for each write: few system calls; rings are emptied in between. */
#define OUTPUT_RECORDS 4096

/*
 * The part of the maximum size reserved for the file's end without names.
 * Most of it is the error, RECORDER_ERROR_SIZE bytes, six times as long if JSON
 * has to escape all of them.
 */
#define END_SIZE (16 * 1024)

static uint32 serial;			/* of the recording */
static RecorderRequest request;
static RecorderOutcome outcome;

/* The file, and records to be written to it. */
static int	file = -1;
static int64 file_size;
static int64 start_size;		/* of it, what is before the records */
static bool file_full;			/* no more records may be written */
static BufferRecord output[OUTPUT_RECORDS];
static int	outputs;

/* This round: for each ring, the next event and the end of those seen. */
static uint64 *next;
static uint64 *end;
static binaryheap * heap;

static uint64 origin;			/* older events are not written */

/* ---- errors and the end ---- */

/* Only the first error is kept. */
static void
note_error(int error_number, const char *error)
{
	if (outcome.error[0] != '\0')
		return;
	outcome.error_number = error_number;
	strlcpy(outcome.error, error, RECORDER_ERROR_SIZE);
}

/* "could not WHAT file", with the reason in errno. */
static void
note_file_error(const char *what)
{
	int			error_number = errno;

	note_error(error_number, psprintf("could not %s file \"%s\": %s", what,
									  request.path, strerror(error_number)));
}

/* End the recording, so that another one can begin. */
static void
end_recording(void)
{
	outcome.dropped = BufferPoolRecordsDropped();
	RecorderEnd(serial, &outcome);
}

/*
 * Remove the file, if its name still refers to it.
 */
static void
remove_file(void)
{
	struct stat mine;
	struct stat named;

	if (file >= 0 && fstat(file, &mine) == 0 &&
		lstat(request.path, &named) == 0 &&
		mine.st_dev == named.st_dev && mine.st_ino == named.st_ino)
		(void) unlink(request.path);
}

/* Give up a recording that cannot begin. */
static void
refuse(void)
{
	remove_file();
	end_recording();
	proc_exit(0);
}

static void
end_at_exit(int code, Datum arg)
{
	RecorderPhase phase = RecorderPhaseOf(serial);

	if (phase == RECORDER_OPENING || phase == RECORDER_ABANDONED)
		remove_file();
	note_error(0, "the recorder has failed");
	end_recording();
}

/* ---- the file ---- */

/* Returns false, with errno set, if not all of it could be written. */
static bool
append(const void *data, Size size)
{
	static uint32 wait_event = 0;
	const char *rest = data;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("BufferPoolRecorderWrite");
	while (size > 0)
	{
		ssize_t		n;

		pgstat_report_wait_start(wait_event);
		n = write(file, rest, size);
		pgstat_report_wait_end();
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			return false;
		rest += n;
		size -= n;
	}
	return true;
}

/* Cut off what a failed append has written. */
static void
cut(void)
{
	/* harmless if it fails: readers ignore part of a record at the end */
	if (ftruncate(file, file_size) != 0)
		elog(LOG, "could not truncate file \"%s\": %m", request.path);
}

/* Create the file, and write its start. */
static void
open_file(void)
{
	RecordingHeader header = {0};
	StringInfoData data;

	file = OpenTransientFile(request.path,
							 O_WRONLY | O_APPEND | O_CREAT | O_EXCL | PG_BINARY);
	if (file < 0)
	{
		note_file_error("create");
		refuse();
	}
	initStringInfo(&data);
	appendBinaryStringInfo(&data, &header, sizeof(header));
	DescribeServer(&data, &request);
	memcpy(header.magic, RECORDING_MAGIC, sizeof(header.magic));
	header.version = RECORDING_VERSION;
	header.text_size = data.len - sizeof(header);
	/* a whole microsecond: algorithms know the same times, in microseconds */
	header.origin = origin = BufferPoolRecorderTime() / NS_PER_US * NS_PER_US;
	header.page_size = BLCKSZ;
	memcpy(data.data, &header, sizeof(header));
	while (data.len % sizeof(BufferRecord) != 0)
		appendStringInfoChar(&data, '\0');
	if (!append(data.data, data.len))
	{
		note_file_error("write to");
		refuse();
	}
	file_size = start_size = data.len;
}

/* The default of the maximum size is half the free space at the start. */
static void
decide_size(void)
{
	struct statvfs system;

	if (request.max_size != 0)
		return;
	if (fstatvfs(file, &system) != 0)
	{
		note_file_error("get free space for");
		refuse();
	}
	request.max_size = (int64) system.f_bavail * system.f_frsize / 2;
	if (request.max_size < RECORDING_MIN_SIZE)
	{
		errno = ENOSPC;
		note_file_error("get free space for");
		refuse();
	}
}

static void
flush_output(void)
{
	int64		room = (request.max_size - END_SIZE - file_size) /
		(int64) sizeof(BufferRecord);
	Size		size;

	if (outputs > room)
	{
		outputs = Max(room, 0);
		file_full = true;
	}
	size = outputs * sizeof(BufferRecord);
	if (!append(output, size))
	{
		note_file_error("write to");
		cut();
		file_full = true;
	}
	else
	{
		file_size += size;
		RecorderWrote(serial, outputs, size);
	}
	outputs = 0;
	CHECK_FOR_INTERRUPTS();
}

/* The names of relations, if the stopping session has supplied them. */
static const char *
supplied_names(void)
{
	dsm_handle	handle = RecorderNames(serial);
	dsm_segment *segment = handle == DSM_HANDLE_INVALID ? NULL :
		dsm_attach(handle);

	/* the segment may be gone if that session has given up */
	return segment == NULL ? "{}" : dsm_segment_address(segment);
}

/* Prepare the last record, and the text of what is known only at the end. */
static void
make_end(StringInfo data, const char *names)
{
	BufferRecord record = {0};

	initStringInfo(data);
	appendBinaryStringInfo(data, &record, sizeof(record));
	outcome.dropped = BufferPoolRecordsDropped();
	DescribeOutcome(data, &outcome, names);
	record.kind = RECORD_END;
	record.time = BufferPoolRecorderTime();
	record.block = data->len - sizeof(record);
	memcpy(data->data, &record, sizeof(record));
}

static bool
append_end(StringInfo data)
{
	if (!append(data->data, data->len))
	{
		note_file_error("write to");
		cut();
		return false;
	}
	file_size += data->len;
	RecorderWrote(serial, 0, data->len);
	return true;
}

/*
 * Take back as many of the last records as have this size.  Returns false if
 * there are too few.
 */
static bool
take_back_records(Size size)
{
	int64		records = (size + sizeof(BufferRecord) - 1) / sizeof(BufferRecord);
	int64		bytes = records * sizeof(BufferRecord);

	if (bytes > file_size - start_size)
		return false;
	file_size -= bytes;
	RecorderWrote(serial, -records, -bytes);
	cut();
	return true;
}

/*
 * Write the end of the file, with the names of relations if they fit.  If the
 * disk is full, in the place of the last records, and without names.  If that
 * fails, too, the file is usable without it.
 */
static void
write_end(void)
{
	StringInfoData data;

	make_end(&data, supplied_names());
	if (file_size + data.len > request.max_size)
	{
		outcome.names_left_out = true;
		make_end(&data, "{}");
	}
	if (append_end(&data))
		return;
	make_end(&data, "{}");		/* with the error */
	if (take_back_records(data.len))
		(void) append_end(&data);
}

/* ---- a round ---- */

static const BufferRecord *
next_event(int ring)
{
	const BufferRings *all = &BufferPoolRings;

	return &all->records[(Size) ring * all->capacity +
						 (next[ring] & (all->capacity - 1))];
}

/* The ring whose next event is the oldest comes first. */
static int
compare_rings(Datum a, Datum b, void *arg)
{
	uint64		time_a = next_event(DatumGetInt32(a))->time;
	uint64		time_b = next_event(DatumGetInt32(b))->time;

	return time_a < time_b ? 1 : time_a > time_b ? -1 : 0;
}

static bool
has_event(int ring, uint64 until)
{
	return next[ring] < end[ring] && next_event(ring)->time <= until;
}

/* Move the next event of the first ring in the heap to the output. */
static void
take_event(uint64 until)
{
	int			ring = DatumGetInt32(binaryheap_first(heap));
	const BufferRecord *event = next_event(ring);

	if (event->time >= origin)
		output[outputs++] = *event;
	next[ring]++;
	if (has_event(ring, until))
		binaryheap_replace_first(heap, Int32GetDatum(ring));
	else
		(void) binaryheap_remove_first(heap);
}

/* Give processes back the room of events that have been copied. */
static void
release_taken(void)
{
	pg_memory_barrier();		/* copy, then release */
	for (int i = 0; i < BufferPoolRings.count; i++)
		pg_atomic_write_u64(&BufferPoolRings.rings[i].tail, next[i]);
}

/*
 * Write the events in the rings up to the time until, in order of time.
 */
static void
write_round(uint64 until)
{
	binaryheap_reset(heap);
	for (int i = 0; i < BufferPoolRings.count; i++)
	{
		BufferRing *ring = &BufferPoolRings.rings[i];

		next[i] = pg_atomic_read_u64(&ring->tail);
		end[i] = pg_atomic_read_u64(&ring->head);
	}
	pg_read_barrier();			/* read heads, then events */
	for (int i = 0; i < BufferPoolRings.count; i++)
		if (has_event(i, until))
			binaryheap_add_unordered(heap, Int32GetDatum(i));
	binaryheap_build(heap);
	while (!binaryheap_empty(heap) && !file_full)
	{
		take_event(until);
		if (outputs == OUTPUT_RECORDS)
		{
			release_taken();
			flush_output();
		}
	}
	release_taken();
	flush_output();
}

/* ---- the worker ---- */

static void
wait_for_latch(long milliseconds)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("BufferPoolRecorderMain");
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 milliseconds, wait_event);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Set what pg_stat_activity shows. */
static void
report_activity(void)
{
	SetConfigOption("application_name", "pg_bufferpool", PGC_USERSET,
					PGC_S_OVERRIDE);
	pgstat_report_activity(STATE_RUNNING,
						   psprintf("recording buffer references in file \"%s\"",
									request.path));
}

static void
begin_recording(void)
{
	int			count = BufferPoolRings.count;

	next = palloc_array(uint64, count);
	end = palloc_array(uint64, count);
	heap = binaryheap_allocate(count, compare_rings, NULL);
	open_file();
	decide_size();
	BufferPoolStartRecording(request.sample_rate >= 1 ? PG_UINT64_MAX :
							 (uint64) ldexp(request.sample_rate, 64),
							 MyProcNumber);
	if (!RecorderBegin(serial, &request, file_size))
	{
		note_error(0, "the start was canceled");
		refuse();
	}
}

/* Write events until a session stops the recording, or it has to end. */
static void
record(void)
{
	while (RecorderPhaseOf(serial) == RECORDER_RECORDING &&
		   !ShutdownRequestPending && !file_full)
	{
		write_round(BufferPoolRecordedUntil());
		if (!file_full)
			wait_for_latch(ROUND_MILLISECONDS);
	}
	/* a recording that no session has stopped ends by itself, without names */
	(void) RecorderComplete(serial, RECORDER_RECORDING, DSM_HANDLE_INVALID);
	if (RecorderPhaseOf(serial) == RECORDER_ABANDONED)
	{
		note_error(0, "the start was canceled");
		refuse();
	}
	write_round(PG_UINT64_MAX);
}

/* Complete the file, when nothing is recorded any more. */
static void
finish(void)
{
	if (file_full)
		note_error(0, psprintf("file \"%s\" has reached its maximum size of "
							   INT64_FORMAT " bytes",
							   request.path, request.max_size));
	while (RecorderPhaseOf(serial) == RECORDER_STOPPING &&
		   !ShutdownRequestPending)
		wait_for_latch(ROUND_MILLISECONDS);
	if (ShutdownRequestPending)
		note_error(0, "the recorder was terminated");
	write_end();
	if (CloseTransientFile(file) != 0)
		note_file_error("close");
	file = -1;
	if (outcome.error[0] != '\0')
		ereport(LOG,
				(errmsg("recording of buffer references has ended: %s",
						outcome.error)));
	end_recording();
}

void
pg_bufferpool_recorder_main(Datum main_arg)
{
	serial = DatumGetUInt32(main_arg);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGINT, SIG_IGN);	/* there is no query to cancel */
	before_shmem_exit(end_at_exit, 0);
	BackgroundWorkerUnblockSignals();
	if (!RecorderAttach(serial, &request))
		proc_exit(0);			/* the session that asked has given up */
	/* to no database, only to appear in pg_stat_activity */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	report_activity();
	begin_recording();
	record();
	finish();
	proc_exit(0);
}
