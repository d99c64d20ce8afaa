/*-------------------------------------------------------------------------
 *
 * recorder.h
 *	  The state of a recording of buffer references, shared by the recorder, a
 *	  background worker, and the sessions that start, stop and watch it.
 *
 * contrib/pg_bufferpool/recorder.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "storage/bufferpool_recorder.h"
#include "storage/dsm.h"
#include "storage/lwlock.h"
#include "storage/procnumber.h"

/* Smallest maximum size, bytes: the file's end, and some 1,500 events. */
#define RECORDING_MIN_SIZE	(64 * 1024)

#define RECORDER_ERROR_SIZE 1536	/* a path (MAXPGPATH) and an explanation */

/*
 * The phases of a recording.  There is one recording at a time.  Each arrow
 * names the function of recorder_state.c that takes it, and its caller.
 *
 *	  IDLE
 *		|	RecorderClaim		session that starts it
 *	  STARTING					waiting for the recorder to start
 *		|	RecorderAttach		recorder
 *	  OPENING					creating the file
 *		|	RecorderBegin		recorder
 *	  RECORDING --------------.
 *		|	RecorderStop	  |	session that stops it
 *	  STOPPING				  |	waiting for the names of relations
 *		|	RecorderComplete  |	that session; recorder, if it ends by itself
 *	  COMPLETING <------------'	writing the end of the file
 *		|	RecorderEnd			recorder; in any phase, if it fails
 *	  ENDED						a session waits for the outcome; if none: IDLE
 *		|	RecorderTake		that session
 *	  IDLE
 *
 * A session that stops waiting for its start calls RecorderAbandon.  STARTING
 * becomes IDLE, and no recorder can attach any more; OPENING and RECORDING
 * become ABANDONED, and the recorder removes the file.
 *
 * So a recorder is the only one from its RecorderAttach to its RecorderEnd,
 * and only the recorder creates, writes and removes the file.
 */
typedef enum RecorderPhase
{
	RECORDER_IDLE,
	RECORDER_STARTING,
	RECORDER_OPENING,
	RECORDER_RECORDING,
	RECORDER_STOPPING,
	RECORDER_COMPLETING,
	RECORDER_ABANDONED,
	RECORDER_ENDED,
} RecorderPhase;

/* What a session asks for. */
typedef struct RecorderRequest
{
	double		sample_rate;
	int64		max_size;		/* bytes of the file; 0: half the free space */
	char		path[MAXPGPATH];
} RecorderRequest;

/* How the recording ended. */
typedef struct RecorderOutcome
{
	int64		dropped;		/* events for which there was no room */
	bool		names_left_out; /* they would have made the file too large */
	int			error_number;	/* errno, or 0 */
	char		error[RECORDER_ERROR_SIZE]; /* "": it was stopped */
} RecorderOutcome;

/* What pg_stat_bufferpool_trace shows. */
typedef struct Recording
{
	TimestampTz since;			/* 0: no recording yet */
	RecorderRequest request;	/* with the max_size in use */
	RecorderOutcome outcome;	/* while it runs: only dropped */
	int64		written;		/* events */
	int64		bytes;			/* of the file */
	int			pid;			/* of the recorder; 0: it is over */
} Recording;

/* The start of the file. */
typedef struct RecordingHeader
{
	char		magic[8];
	uint32		version;
	uint32		text_size;		/* bytes of the JSON text that follows, padded
								 * to whole records */
	uint64		origin;			/* time at the start, nanoseconds */
	uint32		page_size;		/* bytes */
	uint32		reserved;		/* 0 */
} RecordingHeader;

#define RECORDING_MAGIC		"TPRECORD"
#define RECORDING_VERSION	8

StaticAssertDecl(sizeof(RecordingHeader) == sizeof(BufferRecord),
				 "the file is an array of records");

/* recorder_state.c: for sessions */
extern uint32 RecorderClaim(const RecorderRequest *request);
extern void RecorderAbandon(uint32 serial);
extern uint32 RecorderStop(void);
extern bool RecorderComplete(uint32 serial, RecorderPhase from,
							 dsm_handle names);
extern bool RecorderTake(uint32 serial, RecorderOutcome *outcome);
extern void RecorderShow(Recording *recording);

/* ... for the recorder */
extern bool RecorderAttach(uint32 serial, RecorderRequest *request);
extern bool RecorderBegin(uint32 serial, const RecorderRequest *request,
						  int64 bytes);
extern void RecorderWrote(uint32 serial, int64 events, int64 bytes);
extern dsm_handle RecorderNames(uint32 serial);
extern void RecorderEnd(uint32 serial, const RecorderOutcome *outcome);

/* ... for both */
extern RecorderPhase RecorderPhaseOf(uint32 serial);

/* relation_names.c */
extern char *RelationNames(void);

/* recording_text.c */
extern void DescribeServer(StringInfo text, const RecorderRequest *request);
extern void DescribeOutcome(StringInfo text, const RecorderOutcome *outcome,
							const char *names);

/* recorder.c */
extern PGDLLEXPORT void pg_bufferpool_recorder_main(Datum main_arg);

#endif							/* RECORDER_H */
