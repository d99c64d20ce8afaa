/*-------------------------------------------------------------------------
 *
 * bufferpool_recorder.h
 *	  Recording of the references to shared buffers.
 *
 * storage/bufferpool/recorder_rings.c explains which process may touch what here,
 * docs/trace-format.md the format of the file.
 *
 * src/include/storage/bufferpool_recorder.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_RECORDER_H
#define BUFFERPOOL_RECORDER_H

#include "port/atomics.h"
#include "storage/buf_internals.h"
#include "storage/bufferpool_recording.h"
#include "storage/procnumber.h"

/* Events in a ring, a power of two; -1: not decided yet; 0: no recording. */
extern PGDLLIMPORT int bufferpool_trace_buffers;

/*
 * 32 MiB for each process: a second of references to resident pages, far more
 * than the recorder is ever late.
 */
#define MAX_TRACE_BUFFERS	(1024 * 1024)

/*
 * The range of the default, 2 to 128 KiB for each process; if less than LEAST
 * would fit, it is 0.  With AMPLE nothing was dropped in
 * bench/recorder_price.py.  LEAST is chosen, not measured: with fewer, a few
 * index lookups would fill a ring before the recorder wakes.
 */
#define LEAST_TRACE_BUFFERS 64
#define AMPLE_TRACE_BUFFERS 4096

/* What happened, numbered as in the trace format. */
#define RECORD_READ			0
#define RECORD_WRITE		1	/* a new block */
#define RECORD_SCAN_BEGIN	2	/* a scan begins with this block:
								 * RecordedScan, perhaps a bitmap, in this
								 * process's next records */
#define RECORD_SCAN_ADVANCE 3	/* the scan that is in place of tablespace and
								 * database has come to this block; the trail,
								 * to the tuple with the number in place of
								 * the file */
#define RECORD_SCAN_END		4	/* that scan is over; 0: all of the process */
#define RECORD_FORGET		5	/* this block and those after it are gone */
#define RECORD_PINNED		6	/* a search found the page pinned */
#define RECORD_UNPINNED		7	/* that page can be evicted again */
#define RECORD_DIRTIED		8	/* a clean page became dirty */
#define RECORD_WRITTEN		9	/* a page was written to disk */
#define RECORD_POOL			10	/* definition of a pool: so many bytes of
								 * text, in this process's next records */
#define RECORD_MOVED		11	/* a buffer has gone to the pool with this
								 * number */
#define RECORD_PAGE_MOVED	12	/* a resident page has gone to this pool */
#define RECORD_PHYSICAL_READ 13 /* so many blocks from this one on are read at
								 * once, below shared buffers */
#define RECORD_PHYSICAL_WRITE 14	/* likewise, written */
#define RECORD_SSD_HAS		15	/* this page can be read from the SSD now */
#define RECORD_SSD_LOST		16	/* it has lost its place there; count 0: all
								 * pages of the fork have, and keep those that
								 * the writer has yet to free */
#define RECORD_SSD			17	/* state of the SSD tier: so many bytes of
								 * text, in this process's next records */
#define RECORD_SSD_BUSY		18	/* the read before it found this place, in
								 * place of a block, in use */
#define RECORD_SSD_FREED	19	/* a page that was lost has left this place */
#define RECORD_SSD_RELATION	20	/* the SSD tier's algorithm knows the relation
								 * by this number, in place of a block */
#define RECORD_REPORTED		21	/* the process has told the algorithm of this
								 * pool what it had queued */
#define RECORD_CHOSEN		22	/* a search has chosen a buffer of this pool
								 * for the page, or, without a file, a new
								 * block */
#define RECORD_GIVEN_UP		23	/* the process's last choice makes no room */
#define RECORD_LEFT			24	/* the page has left the buffer of that choice */
#define RECORD_PROCESS		25	/* of the process with this number; so many,
								 * in place of a block, had it before */
#define RECORD_READS_FOR	253 /* the scan that is in place of tablespace and
								 * database is the one that the process's next
								 * references with RECORD_FOR_SCAN are for */
#define RECORD_TEXT			254 /* RECORD_TEXT_BYTES of it, in place of a page */
#define RECORD_END			255 /* in files only: no records follow */

/* Flags of references in addition to the core's, the first as in the trace
 * format. */
#define RECORD_HIT			0x100
#define RECORD_FOR_SCAN		0x2000

/* Flags of the begin of a scan, as in the trace format; and TP_VACUUM. */
#define RECORD_SEQUENTIAL	0x10
#define RECORD_BITMAP		0x20	/* its groups follow */
#define RECORD_INDEX		0x40	/* without blocks: a trail */
#define RECORD_BACKWARD		0x200
#define RECORD_STEPS		0x2000	/* references do not advance the scan */
#define RECORD_COMPANION	0x4000
#define RECORD_MET			0x8000

/*
 * Flags of physical reads: the SSD tier was asked; RECORD_HIT: it has served them;
 * the relation's pages are to be kept there; these are not to come.
 */
#define RECORD_SSD_ASKED	0x200
#define RECORD_SSD_KEPT		0x400
#define RECORD_SSD_UNWANTED	0x800

/* Flag of a choice: the search went on, since the buffer was in use. */
#define RECORD_IN_USE		0x200

/*
 * Flag of a report: because so much was queued; of a choice given up: the page has
 * left the buffer nevertheless, which is free now.
 */
#define RECORD_DUE			0x200
#define RECORD_FREED		0x200

/* Flags of written pages: by whom; none of them: who wants the buffer. */
#define RECORD_BY_BGWRITER	0x400
#define RECORD_BY_POOL_WRITER 0x800
#define RECORD_BY_CHECKPOINTER 0x1000

#define RECORD_TEXT_BYTES	16	/* tablespace, database, file and block */

/* The part of process that is the number of a pool. */
#define RECORD_POOL_SHIFT	24

/* An event, in memory and in the file. */
typedef struct BufferRecord
{
	uint64		time;			/* nanoseconds of a monotonic clock */
	Oid			tablespace;
	Oid			database;
	RelFileNumber file;
	BlockNumber block;
	uint32		process;		/* its ProcNumber, as in tp_access.backend; <<
								 * RECORD_POOL_SHIFT: of a reference, the pool
								 * that the page is in, or came in for; of
								 * RECORD_POOL, the one that is defined; of
								 * RECORD_MOVED, the one that the buffer left;
								 * RECORD_REPORTED and RECORD_CHOSEN to
								 * RECORD_LEFT, whose algorithm it was; of
								 * what is below, the number of blocks */
	uint16		flags;
	uint8		fork;
	uint8		kind;
} BufferRecord;

StaticAssertDecl(sizeof(BufferRecord) == 32, "a record has no padding");
StaticAssertDecl(MAX_BACKENDS < 1 << RECORD_POOL_SHIFT,
				 "a process leaves room for a pool");

/* What follows a scan's begin. */
typedef struct RecordedScan
{
	uint64		handle;
	uint32		count;			/* blocks; with a bitmap, its bytes, which
								 * follow; of a trail, 0 */
	uint32		size;			/* as in tp_scan_spec; of a trail, the number
								 * of the index */
} RecordedScan;

StaticAssertDecl(sizeof(RecordedScan) == RECORD_TEXT_BYTES,
				 "a scan takes one record of text");

/* One process's events that have not been written yet. */
typedef struct BufferRing
{
	/* changed only by the process */
	pg_atomic_uint64 head;		/* events ever put in */
	pg_atomic_uint64 dropped;	/* events ever dropped for lack of room */
	pg_atomic_uint64 pending;	/* an event with this time may yet come, as
								 * that of a choice; 1: the time is being
								 * read; 0: none */
	char		pad[PG_CACHE_LINE_SIZE - 3 * sizeof(pg_atomic_uint64)];
	/* changed only by the recorder */
	pg_atomic_uint64 tail;		/* events ever taken out */
	char		pad2[PG_CACHE_LINE_SIZE - sizeof(pg_atomic_uint64)];
} BufferRing;

/* All rings. */
typedef struct BufferRings
{
	int			count;			/* one for each possible process */
	uint32		capacity;		/* events in a ring, a power of two; or 0 */
	BufferRing *rings;
	BufferRecord *records;		/* [ring * capacity + event % capacity] */
} BufferRings;

extern PGDLLIMPORT BufferRings BufferPoolRings;

/* [buf_id]: a search found the page in the buffer pinned, and it still is. */
extern PGDLLIMPORT bool *BufferPoolMetPinned;

/* recorder_rings.c */
extern uint32 BufferPoolRecordingSerial(void);
extern bool BufferPoolRecordingAllPages(void);
extern bool BufferPoolInSample(const BufferTag *tag);
extern bool BufferPoolPutRecord(const BufferTag *tag, uint8 kind, uint32 flags,
								int pool, uint64 time);
extern uint64 BufferPoolPendTime(void);
extern void BufferPoolPendNothing(void);
extern uint64 BufferPoolRecordedUntil(void);
extern void BufferPoolPutText(const void *text, Size size, int pool,
							  uint64 time);
extern uint32 BufferPoolRecordedScanNumber(void);
extern int	BufferPoolRingCount(void);
extern int	BufferPoolDefaultTraceBuffers(void);
extern Size BufferPoolRecorderShmemSize(void);
extern void BufferPoolRecorderShmemInit(void);
extern void BufferPoolRecorderInitProcess(void);
extern void BufferPoolWakeRecorder(void);
extern void BufferPoolStartRecording(uint64 threshold, int recorder);
extern void BufferPoolStopRecording(void);
extern uint64 BufferPoolRecordsDropped(void);

/* recorder.c */
extern uint64 BufferPoolRecordSearch(int pool, const BufferTag *tag, bool by_time,
									 bool alone);
extern void BufferPoolRecordNoChoice(void);
extern void BufferPoolRecordChoice(void);
extern void BufferPoolRecordInUse(void);
extern void BufferPoolRecordGivenUp(void);
extern void BufferPoolRecordFreed(void);
extern void BufferPoolPutAfterChoice(const BufferTag *tag, uint8 kind, uint32 flags,
									 int count, uint64 time);
extern uint64 BufferPoolRecordReference(const BufferTag *tag, uint8 kind,
										uint32 flags, int pool);
extern uint64 BufferPoolRecordReported(int pool, uint32 flags);
extern void BufferPoolRecordDirtied(const BufferTag *tag);
extern void BufferPoolRecordWritten(const BufferTag *tag);
extern void BufferPoolRecordMoved(int from, int to);
extern void BufferPoolRecordPageMoved(const BufferTag *tag, int pool);
extern void BufferPoolRecordDefinition(int pool, const char *text);
extern void BufferPoolRecordForget(RelFileLocator locator, ForkNumber fork,
								   BlockNumber first);
extern void BufferPoolRecordMet(BufferDesc *buf, uint32 buf_state);
extern void BufferPoolRecordMetUnpinned(BufferDesc *buf);
extern void BufferPoolRecordMapped(void);
extern void BufferPoolRecordLeaves(BufferDesc *buf);
extern uint64 BufferPoolRecorderTime(void);
extern const char *BufferPoolParameters(void);

/* recorded_io.c */

/* What the time of physical reads is summed up by. */
typedef enum RecordedReads
{
	RECORDED_SSD,
	RECORDED_DISK_RANDOM,		/* of one block */
	RECORDED_DISK_SEQUENTIAL,	/* of several at once */
	RECORDED_NUM_READS
} RecordedReads;

/* Sums of a recording's physical reads. */
typedef struct RecordedReadTimes
{
	pg_atomic_uint64 pages[RECORDED_NUM_READS];
	pg_atomic_uint64 nanoseconds[RECORDED_NUM_READS];
} RecordedReadTimes;

extern RecordedReadTimes *BufferPoolRecordedReadTimes(void);
extern void BufferPoolInitRecordedReadTimes(void);
extern void BufferPoolRecordPlace(uint8 kind, uint32 place);
extern uint64 BufferPoolRecordBelow(uint8 kind, uint32 flags,
									const RelFileLocator *locator,
									ForkNumber fork, BlockNumber block,
									int count);
extern void BufferPoolRecordReadTime(RecordedReads kind, double microseconds,
									 int pages);
extern void BufferPoolRecordSsd(const char *text);

/* recorded_scans.c */
struct tp_scan_spec;
extern bool BufferPoolRecordReader(uint64 time);
extern uint64 BufferPoolRecordedScan(bool trail);
extern void BufferPoolRecordScanBegin(uint64 handle,
									  const RelFileLocator *locator,
									  const struct tp_scan_spec *spec,
									  uint32 flags, uint64 now);
extern void BufferPoolRecordTrailBegin(uint64 handle,
									   const RelFileLocator *table,
									   uint32 index, uint64 now);
extern void BufferPoolRecordScanAdvance(uint64 handle, BlockNumber block,
										OffsetNumber tuple, uint64 now);
extern void BufferPoolRecordScanEnd(uint64 handle);

/*
 * Call during a recording, after this process has given up its pin on this
 * buffer.  A search that found the buffer pinned has set BufferPoolMetPinned
 * by now: it does so under the header's spinlock, and no pin is given up while
 * any process holds that.
 */
static inline void
BufferPoolRecordUnpinned(BufferDesc *buf)
{
	if (BufferPoolMetPinned[buf->buf_id])
		BufferPoolRecordMetUnpinned(buf);
}

#endif							/* BUFFERPOOL_RECORDER_H */
