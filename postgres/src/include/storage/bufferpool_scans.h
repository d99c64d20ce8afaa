/*-------------------------------------------------------------------------
 *
 * bufferpool_scans.h
 *	  Scans announce what they will read, for algorithms that ask.
 *
 * Access methods announce a scan when they fetch its first block, say which
 * block they have come to, and name the scan while they read for it:
 *
 *	  if (BufferPoolAnnounces(rel))
 *		  BufferPoolAnnounceRange(&scan, rel, kind, &range);
 *	  ...
 *	  BufferPoolReadFor(&scan);
 *	  buffer = ReadBuffer(...);
 *	  BufferPoolReadForNone();
 *	  BufferPoolScanAt(&scan, block);
 *	  ...
 *	  BufferPoolEndScan(&scan);
 *
 * A scan that was not announced has a handle of 0; the functions then do
 * nothing.  storage/bufferpool/scans.c has the rest.
 *
 * src/include/storage/bufferpool_scans.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_SCANS_H
#define BUFFERPOOL_SCANS_H

#include "storage/block.h"
#include "storage/bufferpool_recording.h"
#include "storage/itemptr.h"
#include "storage/relfilelocator.h"
#include "utils/relcache.h"
#include "utils/resowner.h"

typedef enum BufferPoolScanKind
{
	BUFFERPOOL_SEQUENTIAL_SCAN,
	BUFFERPOOL_TID_RANGE_SCAN,
	BUFFERPOOL_SAMPLE_SCAN,
	BUFFERPOOL_BITMAP_SCAN,
	BUFFERPOOL_INDEX_SCAN,
	BUFFERPOOL_VACUUM_SCAN,
	BUFFERPOOL_ANALYZE_SCAN
} BufferPoolScanKind;

/* A scan, in the descriptor of whoever makes it.  Zero-initialize. */
typedef struct BufferPoolScan
{
	uint64		handle;			/* 0: not announced */
	ResourceOwner owner;		/* that ends it if nobody else does */
	uint32		silent;			/* blocks until it says again where it is */
	uint32		recorded_in;	/* the recording that has its beginning; 0:
								 * none */
	BufferPoolScanKind kind;
	RelFileLocator locator;		/* of the relation */
	bool		met;			/* where it begins has been chosen */
	int			met_pid;		/* the process of the scan beside which it
								 * begins; 0: none */
} BufferPoolScan;

/* Likewise, of an index scan that fetches from a table.  BufferPoolInitIndexScan. */
typedef struct BufferPoolIndexScan
{
	BufferPoolScan scan;		/* of the table's blocks, or a trail */
	double		correlation;	/* of index order with the table's; negative:
								 * the scan goes towards lower blocks */
	double		pages;			/* that it is expected to fetch; 0: unknown */
	uint64		salt;			/* of a trail: tp_trail_salt of its index, */
	uint32		index;			/* and the index's number */
	BlockNumber block;			/* of the tuple fetched last */
	uint32		fetches;		/* from other blocks than the last one, as far
								 * as they are counted */
	bool		watched;		/* someone asks for scans */
	bool		trailing;		/* it has found another scan's mark */
} BufferPoolIndexScan;

/* Blocks of a relation's main fork, in the order in which they are read. */
typedef struct BufferPoolScanRange
{
	BlockNumber first;
	BlockNumber count;
	BlockNumber size;			/* of the relation, in which the scan wraps */
	bool		backward;
} BufferPoolScanRange;

/* Does the algorithm of any pool ask for scans? */
extern PGDLLIMPORT bool BufferPoolAskedForScans;

/* The handle of the scan that this process reads for; 0: none. */
extern PGDLLIMPORT uint64 BufferPoolReadingFor;

extern bool BufferPoolAsksForScans(Relation rel, BlockNumber blocks);
extern void BufferPoolAnnounceRange(BufferPoolScan *scan, Relation rel,
									BufferPoolScanKind kind,
									const BufferPoolScanRange *range);
extern BlockNumber BufferPoolMeetingBlock(Relation rel, BlockNumber blocks,
										  BlockNumber hint, int *met_pid);
extern void BufferPoolAdvanceScan(BufferPoolScan *scan, BlockNumber block);
extern void BufferPoolForgetScan(BufferPoolScan *scan);

/* A bitmap of the blocks that a scan will read, while it is being made. */
struct tp_bitmap;
extern struct tp_bitmap *BufferPoolMakeBitmap(BlockNumber blocks);
extern BlockNumber BufferPoolAddToBitmap(void *bitmap, BlockNumber block);
extern BlockNumber BufferPoolLastOfGroup(const struct tp_bitmap *bitmap,
										 BlockNumber block);
extern void BufferPoolAnnounceBitmap(BufferPoolScan *scan, Relation rel,
									 BufferPoolScanKind kind,
									 BlockNumber blocks,
									 struct tp_bitmap *bitmap,
									 BlockNumber first);
extern BlockNumber BufferPoolMeetingGroup(Relation rel, BlockNumber blocks,
										  const struct tp_bitmap *bitmap,
										  int *met_pid);

/* Index scans. */
extern void BufferPoolEnterBlock(BufferPoolIndexScan *scan, Relation table,
								 Relation index, ItemPointer tid);

/* What the planner knows of an index scan that begins. */
static inline void
BufferPoolExpectOrder(BufferPoolIndexScan *scan, double correlation,
					  double pages)
{
	scan->correlation = correlation;
	scan->pages = pages;
}

/* Does anyone, the algorithm of a pool or a recording, ask for scans? */
static inline bool
BufferPoolWatchesScans(void)
{
	return BufferPoolAskedForScans || BufferPoolRecording();
}

/* Shall a scan of this relation, of so many blocks, be announced? */
static inline bool
BufferPoolAnnounces(Relation rel, BlockNumber blocks)
{
	return BufferPoolWatchesScans() && BufferPoolAsksForScans(rel, blocks);
}

/*
 * From now on this process reads for the scan.  An error, which ends the scan,
 * also ends this.
 */
static inline void
BufferPoolReadFor(const BufferPoolScan *scan)
{
	BufferPoolReadingFor = scan->handle;
}

static inline void
BufferPoolReadForNone(void)
{
	BufferPoolReadingFor = 0;
}

/*
 * Blocks of its own after which a scan says where it is.  Chosen, not measured:
 * up to so many blocks that the scan is done with still seem to be needed at
 * once; with 1, each block costs the time of reading the clock.
 */
#define BUFFERPOOL_SCAN_STEP 8

/* The scan has come to this block, another one than before, and has it pinned. */
static inline void
BufferPoolScanAt(BufferPoolScan *scan, BlockNumber block)
{
	if (scan->handle != 0 && scan->silent-- == 0)
		BufferPoolAdvanceScan(scan, block);
}

static inline void
BufferPoolEndScan(BufferPoolScan *scan)
{
	if (scan->handle != 0)
		BufferPoolForgetScan(scan);
}

/*
 * The index scan is about to fetch this tuple from the table.  From now on this
 * process reads for the scan, unless it is in the block that it has read.
 */
static inline void
BufferPoolBeforeFetch(BufferPoolIndexScan *scan, Relation table, Relation index,
					  ItemPointer tid)
{
	if (scan->watched && ItemPointerGetBlockNumberNoCheck(tid) != scan->block)
		BufferPoolEnterBlock(scan, table, index, tid);
}

/* Before anything else.  The rest is set when it is needed. */
static inline void
BufferPoolInitIndexScan(BufferPoolIndexScan *scan)
{
	scan->scan.handle = 0;
	scan->correlation = 0;
	scan->pages = 0;
	scan->watched = false;
}

/* The index scan begins, perhaps anew. */
static inline void
BufferPoolBeginIndexScan(BufferPoolIndexScan *scan)
{
	BufferPoolEndScan(&scan->scan);
	scan->block = InvalidBlockNumber;
	scan->fetches = 0;
	scan->watched = BufferPoolWatchesScans();
}

#endif							/* BUFFERPOOL_SCANS_H */
