/*-------------------------------------------------------------------------
 *
 * bufferpool_recording.h
 *	  Is a recording of the references to shared buffers in progress?
 *
 * src/include/storage/bufferpool_recording.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_RECORDING_H
#define BUFFERPOOL_RECORDING_H

#include "storage/aio_types.h"
#include "storage/block.h"
#include "storage/relfilelocator.h"

extern PGDLLIMPORT volatile uint32 *BufferPoolRecordingFlag;

/* recorded_io.c: for the storage manager */
extern PGDLLIMPORT const PgAioHandleCallbacks aio_recorded_read_cb;
extern void BufferPoolRecordStartRead(PgAioHandle *ioh,
									  const RelFileLocator *locator,
									  ForkNumber fork, BlockNumber block,
									  int count);

/* May lag behind for an instant. */
static inline bool
BufferPoolRecording(void)
{
	return unlikely(*BufferPoolRecordingFlag != 0);
}

/* A bit of the handles of scans that only recordings know of. */
#define RECORDED_SCAN (UINT64CONST(1) << 30)

static inline bool
BufferPoolIsRecordedScan(uint64 handle)
{
	return (handle & RECORDED_SCAN) != 0;
}

#endif							/* BUFFERPOOL_RECORDING_H */
