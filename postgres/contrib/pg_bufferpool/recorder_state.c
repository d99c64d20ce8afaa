/*-------------------------------------------------------------------------
 *
 * recorder_state.c
 *	  The phases of a recording, and the transitions between them.
 *
 * recorder.h draws the phases.  A recording has a serial number, which its
 * sessions and its recorder pass in every call.  So a call that comes too
 * late, for a recording that is over, changes nothing.
 *
 * contrib/pg_bufferpool/recorder_state.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "recorder.h"
#include "storage/dsm_registry.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

/* All fields are protected by the lock. */
typedef struct RecorderState
{
	LWLock		lock;
	int			tranche;		/* the lock's */
	RecorderPhase phase;
	uint32		serial;			/* of this recording, or of the last one */
	ProcNumber	waiter;			/* session that waits for the start or end */
	ProcNumber	recorder;		/* from RecorderAttach to RecorderEnd */
	RecorderRequest request;
	dsm_handle	names;			/* of relations, as text; may be invalid */
	RecorderOutcome outcome;	/* when ENDED */
	Recording	recording;		/* the last to have begun */
} RecorderState;

static RecorderState *state;

static void
init_state(void *memory)
{
	RecorderState *new = memory;

	MemSet(new, 0, sizeof(*new));
	new->tranche = LWLockNewTrancheId();
	LWLockInitialize(&new->lock, new->tranche);
	new->phase = RECORDER_IDLE;
	new->waiter = INVALID_PROC_NUMBER;
	new->recorder = INVALID_PROC_NUMBER;
	new->names = DSM_HANDLE_INVALID;
}

static void
lock_state(LWLockMode mode)
{
	bool		found;

	if (state == NULL)
	{
		state = GetNamedDSMSegment("pg_bufferpool_recorder",
								   sizeof(RecorderState), init_state, &found);
		LWLockRegisterTranche(state->tranche, "BufferPoolRecorder");
	}
	LWLockAcquire(&state->lock, mode);
}

static void
unlock_state(void)
{
	LWLockRelease(&state->lock);
}

/* Is this recording in this phase? */
static bool
is_in(uint32 serial, RecorderPhase phase)
{
	return state->serial == serial && state->phase == phase;
}

static void
wake(ProcNumber process)
{
	if (process != INVALID_PROC_NUMBER)
		SetLatch(&GetPGProcByNumber(process)->procLatch);
}

/* ---- start ---- */

/*
 * IDLE to STARTING.  Returns the recording's serial number, or 0 if there is
 * a recording already.
 */
uint32
RecorderClaim(const RecorderRequest *request)
{
	uint32		serial = 0;

	lock_state(LW_EXCLUSIVE);
	if (state->phase == RECORDER_IDLE)
	{
		if (++state->serial == 0)
			state->serial = 1;
		serial = state->serial;
		state->phase = RECORDER_STARTING;
		state->waiter = MyProcNumber;
		state->request = *request;
		state->names = DSM_HANDLE_INVALID;
	}
	unlock_state();
	return serial;
}

/*
 * STARTING to OPENING.  Returns false if the session that asked for the
 * recording has given up.
 */
bool
RecorderAttach(uint32 serial, RecorderRequest *request)
{
	bool		wanted;

	lock_state(LW_EXCLUSIVE);
	wanted = is_in(serial, RECORDER_STARTING);
	if (wanted)
	{
		state->phase = RECORDER_OPENING;
		state->recorder = MyProcNumber;
		*request = state->request;
	}
	unlock_state();
	return wanted;
}

/*
 * OPENING to RECORDING: the file exists, and has this many bytes.  From now on
 * an error ends the recording instead of failing its start.  Returns false if
 * the recording has been abandoned.
 */
bool
RecorderBegin(uint32 serial, const RecorderRequest *request, int64 bytes)
{
	TimestampTz now = GetCurrentTimestamp();
	bool		wanted;

	lock_state(LW_EXCLUSIVE);
	wanted = is_in(serial, RECORDER_OPENING);
	if (wanted)
	{
		Recording  *recording = &state->recording;

		state->phase = RECORDER_RECORDING;
		MemSet(recording, 0, sizeof(*recording));
		recording->since = now;
		recording->request = *request;
		recording->bytes = bytes;
		recording->pid = MyProcPid;
		wake(state->waiter);
		state->waiter = INVALID_PROC_NUMBER;
	}
	unlock_state();
	return wanted;
}

/*
 * The session that started the recording, or that stops it, no longer waits.
 * A recording that it started must end; one that it stopped ends without
 * names.
 */
void
RecorderAbandon(uint32 serial)
{
	lock_state(LW_EXCLUSIVE);
	if (state->serial == serial)
	{
		switch (state->phase)
		{
			case RECORDER_STARTING:
				state->phase = RECORDER_IDLE;
				break;
			case RECORDER_OPENING:
			case RECORDER_RECORDING:
				BufferPoolStopRecording();
				state->phase = RECORDER_ABANDONED;
				break;
			case RECORDER_STOPPING:
				if (state->waiter == MyProcNumber)
					state->phase = RECORDER_COMPLETING;
				break;
			case RECORDER_ENDED:
				if (state->waiter == MyProcNumber)
					state->phase = RECORDER_IDLE;
				break;
			case RECORDER_IDLE:
			case RECORDER_COMPLETING:
			case RECORDER_ABANDONED:
				break;
		}
		if (state->waiter == MyProcNumber)
			state->waiter = INVALID_PROC_NUMBER;
		wake(state->recorder);
	}
	unlock_state();
}

/* ---- end ---- */

/*
 * RECORDING to STOPPING: no further events are recorded.  Returns the serial
 * number, or 0 if there is no recording.
 */
uint32
RecorderStop(void)
{
	uint32		serial = 0;

	lock_state(LW_EXCLUSIVE);
	if (state->phase == RECORDER_RECORDING)
	{
		serial = state->serial;
		BufferPoolStopRecording();
		state->phase = RECORDER_STOPPING;
		state->waiter = MyProcNumber;
		wake(state->recorder);
	}
	unlock_state();
	return serial;
}

/*
 * STOPPING to COMPLETING, with a segment that holds the names of relations; or
 * RECORDING to COMPLETING, if the recorder ends the recording.  Returns false
 * if the recording is not in the phase from.
 */
bool
RecorderComplete(uint32 serial, RecorderPhase from, dsm_handle names)
{
	bool		done;

	lock_state(LW_EXCLUSIVE);
	done = is_in(serial, from);
	if (done)
	{
		BufferPoolStopRecording();
		state->phase = RECORDER_COMPLETING;
		state->names = names;
		wake(state->recorder);
	}
	unlock_state();
	return done;
}

/* The segment that holds the names, if they have been supplied. */
dsm_handle
RecorderNames(uint32 serial)
{
	dsm_handle	names = DSM_HANDLE_INVALID;

	lock_state(LW_SHARED);
	if (is_in(serial, RECORDER_COMPLETING))
		names = state->names;
	unlock_state();
	return names;
}

/*
 * Any phase to ENDED, or to IDLE if no session waits for the outcome.  Does
 * nothing unless the caller is the recorder attached to the recording.
 */
void
RecorderEnd(uint32 serial, const RecorderOutcome *outcome)
{
	lock_state(LW_EXCLUSIVE);
	if (state->serial == serial && state->recorder == MyProcNumber)
	{
		BufferPoolStopRecording();
		if (state->recording.pid == MyProcPid)
		{
			state->recording.outcome = *outcome;
			state->recording.pid = 0;
		}
		state->outcome = *outcome;
		state->recorder = INVALID_PROC_NUMBER;
		state->phase = state->waiter == INVALID_PROC_NUMBER ? RECORDER_IDLE :
			RECORDER_ENDED;
		wake(state->waiter);
	}
	unlock_state();
}

/*
 * ENDED to IDLE.  Returns false if the recording has not ended, or if another
 * session waits for it.
 */
bool
RecorderTake(uint32 serial, RecorderOutcome *outcome)
{
	bool		ended;

	lock_state(LW_EXCLUSIVE);
	ended = is_in(serial, RECORDER_ENDED) && state->waiter == MyProcNumber;
	if (ended)
	{
		*outcome = state->outcome;
		state->waiter = INVALID_PROC_NUMBER;
		state->phase = RECORDER_IDLE;
	}
	unlock_state();
	return ended;
}

/* ---- while it runs ---- */

/* The phase of this recording; IDLE if there has been another since. */
RecorderPhase
RecorderPhaseOf(uint32 serial)
{
	RecorderPhase phase;

	lock_state(LW_SHARED);
	phase = state->serial == serial ? state->phase : RECORDER_IDLE;
	unlock_state();
	return phase;
}

/* Add to the events and bytes written. */
void
RecorderWrote(uint32 serial, int64 events, int64 bytes)
{
	lock_state(LW_EXCLUSIVE);
	Assert(state->serial == serial && state->recorder == MyProcNumber);
	state->recording.written += events;
	state->recording.bytes += bytes;
	unlock_state();
}

/* Get the current recording or, if there is none, the last one. */
void
RecorderShow(Recording *recording)
{
	lock_state(LW_SHARED);
	*recording = state->recording;
	if (recording->pid != 0)
		recording->outcome.dropped = BufferPoolRecordsDropped();
	unlock_state();
}
