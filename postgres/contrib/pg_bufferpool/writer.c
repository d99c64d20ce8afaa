/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  The background worker that writes a recording.
 *
 * It takes the events out of all processes' rings, merges them in the order
 * of time, and appends them to a file; the format is in docs/trace-format.md.
 * An event is stamped just before it can be seen in its ring, so that of each
 * process at most one that is older than the moment at which a round begins
 * may be missed by that round.  It is written in the next one, and readers
 * count its time as that of the event before it.
 *
 * An error of writing ends the recording, and nothing else: it is in the log
 * and in pg_stat_bufferpool_trace, and the file is cut after its last whole
 * record.
 *
 * contrib/pg_bufferpool/writer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "recorder.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#define ROUND_MILLISECONDS 10
#define OUTPUT_RECORDS 4096

/* What is on its way to the file. */
static int	file = -1;
static BufferRecord output[OUTPUT_RECORDS];
static int	outputs;

/* The round under way: per ring the next event, and the end of those seen. */
static uint64 *next;
static uint64 *end;
static binaryheap * heap;

static uint64 origin;			/* nothing older is written */

/* ---- the file ---- */

static void
end_recording(const char *error)
{
	RecorderState *state = AttachRecorder();

	BufferPoolStopRecording();
	SpinLockAcquire(&state->lock);
	state->phase = RECORDER_IDLE;
	state->dropped = BufferPoolRecordsDropped();
	state->pid = 0;
	if (error != NULL)
		strlcpy(state->error, error, RECORDER_ERROR_SIZE);
	SpinLockRelease(&state->lock);
	ConditionVariableBroadcast(&state->changed);
}

/*
 * The file cannot be written: errno says why.
 */
static void
give_up(const char *what)
{
	RecorderState *state = AttachRecorder();
	char	   *error = psprintf("could not %s file \"%s\": %s", what,
								 state->path, strerror(errno));

	/* harmless if it fails: readers pass over part of a record at the end */
	if (file >= 0 && ftruncate(file, state->bytes) != 0)
		elog(LOG, "could not truncate file \"%s\": %m", state->path);
	end_recording(error);
	ereport(LOG,
			(errmsg("recording of buffer references has ended: %s", error)));
	proc_exit(0);
}

static void
flush_output(void)
{
	RecorderState *state = AttachRecorder();
	Size		size = outputs * sizeof(BufferRecord);
	Size		done = 0;

	while (done < size)
	{
		ssize_t		n = write(file, (char *) output + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ENOSPC;
		if (n <= 0)
			give_up("write to");
		done += n;
	}
	SpinLockAcquire(&state->lock);
	state->written += outputs;
	state->bytes += size;
	SpinLockRelease(&state->lock);
	outputs = 0;
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

/* The first ring's next event goes out. */
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

/* Processes may use the room of events that have been copied. */
static void
release_taken(void)
{
	pg_memory_barrier();		/* copied, then released */
	for (int i = 0; i < BufferPoolRings.count; i++)
		pg_atomic_write_u64(&BufferPoolRings.rings[i].tail, next[i]);
}

/*
 * Write what is in the rings and not younger than until, in order of time.
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
	pg_read_barrier();			/* heads, then events */
	for (int i = 0; i < BufferPoolRings.count; i++)
		if (has_event(i, until))
			binaryheap_add_unordered(heap, Int32GetDatum(i));
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
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
end_at_exit(int code, Datum arg)
{
	if (AttachRecorder()->phase != RECORDER_IDLE)
		end_recording("the recorder was terminated");
}

static void
begin_recording(RecorderState *state)
{
	RecordingHeader header;
	int			count = BufferPoolRings.count;

	next = palloc_array(uint64, count);
	end = palloc_array(uint64, count);
	heap = binaryheap_allocate(count, compare_rings, NULL);
	file = OpenTransientFile(state->path, O_RDWR | O_APPEND | PG_BINARY);
	if (file < 0)
		give_up("open");
	if (pg_pread(file, &header, sizeof(header), 0) != sizeof(header))
		give_up("read");
	origin = header.origin;
	BufferPoolStartRecording(header.sample_rate >= 1 ? PG_UINT64_MAX :
							 (uint64) ldexp(header.sample_rate, 64),
							 MyProcNumber);
	SpinLockAcquire(&state->lock);
	state->phase = RECORDER_RECORDING;
	state->recorder = MyProcNumber;
	state->pid = MyProcPid;
	SpinLockRelease(&state->lock);
	ConditionVariableBroadcast(&state->changed);
}

void
pg_bufferpool_recorder_main(Datum main_arg)
{
	RecorderState *state;

	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	state = AttachRecorder();
	if (state->phase != RECORDER_STARTING)
		proc_exit(0);			/* whoever asked has given up */
	before_shmem_exit(end_at_exit, 0);
	begin_recording(state);
	while (state->phase == RECORDER_RECORDING && !ShutdownRequestPending)
	{
		write_round(BufferPoolRecorderTime());
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 ROUND_MILLISECONDS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	BufferPoolStopRecording();
	write_round(PG_UINT64_MAX);
	if (state->phase == RECORDER_STOPPING)
		end_recording(NULL);
	proc_exit(0);
}
