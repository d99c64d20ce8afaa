/*-------------------------------------------------------------------------
 *
 * recorder.h
 *	  A recording under way, as its writer and the SQL functions share it.
 *
 * contrib/pg_bufferpool/recorder.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "datatype/timestamp.h"
#include "storage/bufferpool_recorder.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

#define RECORDER_ERROR_SIZE 512

typedef enum RecorderPhase
{
	RECORDER_IDLE,
	RECORDER_STARTING,			/* the file is there, the worker to come */
	RECORDER_RECORDING,
	RECORDER_STOPPING,			/* asked for; what is in the rings is written */
} RecorderPhase;

/*
 * Of the current recording or, while idle, of the last one.  All fields are
 * protected by the lock, but that the worker alone changes the counters.
 */
typedef struct RecorderState
{
	slock_t		lock;
	RecorderPhase phase;
	ConditionVariable changed;	/* the phase has */
	int			recorder;		/* ProcNumber of the worker, if recording */
	int			pid;			/* its process, if recording */
	TimestampTz since;			/* 0: nothing has been recorded yet */
	double		sample_rate;
	int64		written;		/* events */
	int64		bytes;			/* of the file */
	int64		dropped;		/* at the end */
	char		path[MAXPGPATH];
	char		error[RECORDER_ERROR_SIZE]; /* why it ended, if not as asked */
} RecorderState;

/* At the beginning of the file. */
typedef struct RecordingHeader
{
	char		magic[8];
	uint32		version;
	uint32		page_size;		/* bytes */
	uint64		origin;			/* of the records' time, nanoseconds */
	double		sample_rate;
} RecordingHeader;

#define RECORDING_MAGIC		"TPRECORD"
#define RECORDING_VERSION	1

StaticAssertDecl(sizeof(RecordingHeader) == sizeof(BufferRecord),
				 "records lie in the file as in an array");

/* recording.c */
extern RecorderState *AttachRecorder(void);

/* writer.c */
extern PGDLLEXPORT void pg_bufferpool_recorder_main(Datum main_arg);

#endif							/* RECORDER_H */
