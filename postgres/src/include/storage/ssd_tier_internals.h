/*-------------------------------------------------------------------------
 *
 * ssd_tier_internals.h
 *	  The SSD tier as its own files see it.  The rules are in
 *	  src/backend/storage/ssdtier/README.
 *
 * src/include/storage/ssd_tier_internals.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SSD_TIER_INTERNALS_H
#define SSD_TIER_INTERNALS_H

#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "port/atomics.h"
#include "port/pg_crc32c.h"
#include "storage/bufferpool_pool.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lwlock.h"
#include "storage/ssd_tier.h"
#include "tidepool/tier/tier.h"

/* ---- state ---- */

typedef enum SsdTierStatus
{
	SSD_TIER_STARTING,			/* the writer is preparing it */
	SSD_TIER_ON,
	SSD_TIER_FAILING,			/* too many errors: the writer will switch it
								 * off */
	SSD_TIER_OFF				/* by errors; reads and writes pass it by */
} SsdTierStatus;

/*
 * Errors of the SSD after which the tier is switched off; half of them are
 * forgotten every SSD_TIER_FORGIVE_SECONDS.  Chosen, not measured: a broken
 * device reaches this within a second, a page that went bad now and then never.
 */
#define SSD_TIER_MAX_ERRORS 8
#define SSD_TIER_FORGIVE_SECONDS 60

typedef enum SsdTierCounter
{
	SSD_TIER_REFUSED_BY_CHOICE, /* pages read from the disk that are not to
								 * come to the SSD */
	SSD_TIER_REFUSED_NO_SLOT,	/* all slots that could be had are in use */
	SSD_TIER_REFUSED_NO_RELATION,	/* the table of relations is full */
	SSD_TIER_DROPPED,			/* admitted, but no write buffer was free, or
								 * a warmer page took it */
	SSD_TIER_FAILED,			/* admitted, but the page could not be read */
	SSD_TIER_PASSED_BY,			/* on the SSD, but read from the disk:
								 * together with others, or still on its way */
	SSD_TIER_INVALIDATED,		/* copies dropped with their pages */
	SSD_TIER_WRITTEN,			/* pages written to the SSD */
	SSD_TIER_READ_ERRORS,		/* reads of the SSD that failed */
	SSD_TIER_BAD_PAGES,			/* pages that were not what had been written */
	SSD_TIER_WRITE_ERRORS,
	SSD_TIER_VERIFIED,			/* hits compared with the disk */
	SSD_TIER_NUM_COUNTERS
} SsdTierCounter;

/* How long reads take, in microseconds a page. */
typedef enum SsdTierCost
{
	SSD_TIER_COST_SSD,
	SSD_TIER_COST_DISK_RANDOM,
	SSD_TIER_COST_DISK_SEQUENTIAL,
	SSD_TIER_NUM_COSTS
} SsdTierCost;

/*
 * A slot of the SSD: BLCKSZ bytes of the file, at its number times BLCKSZ.
 * Which page it has, and whether it has one, the core's node says.  16 bytes
 * with its bucket.
 */
typedef struct SsdTierSlot
{
	pg_atomic_uint32 state;		/* flags and pins, below */
	uint32		next;			/* the next slot in the same bucket, or
								 * TP_NONE */
	union
	{
		pg_crc32c	crc;		/* VALID: of the page and its identity */
		uint32		entry;		/* QUEUED: where in the queue */
	};
} SsdTierSlot;

#define SSD_SLOT_VALID		0x80000000	/* the page can be read from here */
#define SSD_SLOT_QUEUED		0x40000000	/* the page is in the queue, or is
										 * being read into it */
#define SSD_SLOT_BAD		0x20000000	/* reading it has failed; the one flag
										 * that is set without the lock */
#define SSD_SLOT_PINS		0x0fffffff	/* reads in flight */

/*
 * Bits of a relation's number that say where in the table it is: enough for
 * relation_places() of the largest tier.
 */
#define SSD_TIER_PLACE_BITS 22

/* A relation, the main fork of which was read lately or has pages here. */
typedef struct SsdTierRelation
{
	RelFileLocator locator;
	uint32		next;			/* in its bucket, or in the list of free ones */
	uint32		pages;			/* slots with a page of it */
	uint32		incarnation;	/* relations that have been in this place */
	bool		used;			/* there is a relation here */
	bool		gone;			/* it cannot be found: its slots are to be
								 * freed */
	uint8		choice;			/* SsdTierChoice: AUTO, KEEP or NONE */
	bool		own;			/* it, or the pool that it names, chose so */
	uint32		told;			/* recording that has its number */
	uint64		chosen;			/* when, by shared->choices */
	uint64		reads;			/* pages that memory missed */
	uint64		hits;			/* of them, read from the SSD */
} SsdTierRelation;

/* What a read wants of the tier. */
typedef struct SsdTierAsk
{
	RelFileLocator locator;
	SsdTierChoice choice;		/* not UNSET */
	bool		own;			/* the relation, or the pool that it names,
								 * chose so */
	uint64		clock;			/* as of when, by shared->choices */
} SsdTierAsk;

/* ---- the queue of pages to be written ---- */

typedef enum SsdTierEntryState
{
	SSD_ENTRY_FREE,
	SSD_ENTRY_FILLING,			/* a read or write in flight fills the buffer */
	SSD_ENTRY_READY,			/* to be written; set without the lock */
	SSD_ENTRY_FAILED,			/* nothing came; set without the lock */
	SSD_ENTRY_WRITING			/* the writer writes it */
} SsdTierEntryState;

typedef struct SsdTierEntry
{
	pg_atomic_uint32 state;
	uint32		slot;
	uint32		next;			/* FREE: in the list of these */
	bool		cancelled;		/* the page has left the slot meanwhile */
	RelFileLocator locator;
	BlockNumber block;
} SsdTierEntry;

/* ---- shared memory ---- */

/* Whose the data directory is. */
typedef struct SsdTierOwner
{
	uint64		system;			/* its identifier */
	uint32		control;		/* checksum of the control file as this server
								 * has written it */
} SsdTierOwner;

/* The state that a recording knows of; no padding. */
typedef struct SsdTierRecorded
{
	double		random_saving;
	double		sequential_saving;
	double		keep_share;
	double		write_budget;	/* pages a second */
	double		write_budget_per_day;	/* pages */
	uint32		slots;
	uint32		recording;		/* its serial number */
	uint64		useful;
} SsdTierRecorded;

typedef struct SsdTierShared
{
	uint64		shape;			/* which version and settings this is of */
	SsdTierOwner owner;
	bool		warm;			/* what the slots have is from before the
								 * start, and the writer is to keep it */
	bool		distrusted;		/* what the slots have is not what was written
								 * there, or not what the disk has: nobody is
								 * to keep it */
	bool		saved;			/* a clean stop needs this memory no more */
	bool		taking_over;	/* a start puts in order what it has found */
	bool		anew;			/* before it is on again, the tier is to
								 * forget all that it knows */

	LWLock		lock;			/* guards all but the atomics and the pages in
								 * the queue */
	pg_atomic_uint32 status;	/* SsdTierStatus */
	pg_atomic_uint32 errors;	/* not yet forgiven */
	pg_atomic_uint32 writer;	/* its ProcNumber, or -1 */
	pg_atomic_uint32 file;		/* counts the files that the tier has had: a
								 * process that has another one open opens it
								 * anew */
	uint64		device;			/* of the file: st_dev, */
	uint64		inode;			/* st_ino */
	uint64		mark;			/* left beside it by this server; or 0 */
	bool		direct;			/* opened with O_DIRECT */
	bool		useful;			/* reads from the SSD take less time; followed
								 * by the writer, looked at without the lock */
	int			last_errno;		/* of the last error; 0: a bad page */
	TimestampTz switched;		/* when the status last changed */

	uint32		slots;			/* 0 .. slots - 1 are members of the pool */
	uint32		gone;			/* relations that are */
	uint32		free_relation;	/* first of the list, or TP_NONE */
	uint32		relation_hand;	/* where the search for an unused one goes on */
	uint32		free_entry;		/* of the queue: first of the list, or TP_NONE */
	uint32		entry_hand;		/* where the search for a colder one goes on */

	tp_kept		kept;
	tp_budget	budget;
	uint64		clock_began;	/* when BufferPoolNow was 0: budget.c */
	pg_atomic_uint64 choices;	/* clock of changes of choices */
	pg_atomic_uint64 pools[BUFFERPOOL_NUMBERS]; /* choice of each (choice.c) */

	tp_tier_counters tier;
	pg_atomic_uint64 skipped;	/* pages for which nobody looked whether they
								 * are on the SSD, since it is not useful */
	pg_atomic_uint64 counters[SSD_TIER_NUM_COUNTERS];
	double		saved_time;		/* microseconds, by estimate */
	SsdTierRecorded recorded;
	TimestampTz stats_reset;

	pg_atomic_uint64 disk_served;	/* when a read from the disk ended last */
	pg_atomic_uint32 disk_reads;	/* in progress */

	/* means that follow the last hundred or so; 0: none yet */
	pg_atomic_uint64 nanoseconds[SSD_TIER_NUM_COSTS];
} SsdTierShared;

/* This process's view: all in shared memory. */
typedef struct SsdTierView
{
	SsdTierShared *shared;
	uint32		capacity;		/* slots that there is memory for */
	uint32		max_relations;
	uint32		max_entries;
	SsdTierSlot *slots;			/* [capacity] */
	uint32	   *buckets;		/* [capacity] first slot of each */
	SsdTierRelation *relations; /* [max_relations] */
	uint32	   *relation_buckets;	/* [max_relations] */
	SsdTierEntry *entries;		/* [max_entries] */
	char	   *pages;			/* [max_entries * BLCKSZ], aligned for I/O */
	tp_tier		core;
} SsdTierView;

extern PGDLLIMPORT SsdTierView SsdTier;

static inline bool
SsdTierIsOn(void)
{
	return pg_atomic_read_u32(&SsdTier.shared->status) == SSD_TIER_ON;
}

/* Is it about to be on, with what it had before the start? */
static inline bool
SsdTierIsWarming(void)
{
	return SsdTier.shared->warm &&
		pg_atomic_read_u32(&SsdTier.shared->status) == SSD_TIER_STARTING;
}

static inline bool
SsdTierIsUseful(void)
{
	return SsdTier.shared->useful;
}

static inline void
SsdTierCount(SsdTierCounter counter, uint64 events)
{
	pg_atomic_fetch_add_u64(&SsdTier.shared->counters[counter], events);
}

static inline char *
SsdTierEntryPage(uint32 entry)
{
	return SsdTier.pages + (Size) entry * BLCKSZ;
}

/* tier.c */
extern Size SsdTierMemory(void);
extern void SsdTierLock(void);
extern void SsdTierUnlock(void);
extern bool SsdTierSwitch(SsdTierStatus from, SsdTierStatus to);
extern void SsdTierError(SsdTierCounter counter, int error);
extern void SsdTierBeginAnew(void);
extern void SsdTierDescribe(StringInfo text);
extern void SsdTierRecordState(bool emptied);

/* costs.c */
extern double SsdTierReadTime(SsdTierCost cost);
extern void SsdTierMeasured(SsdTierCost cost, double microseconds, int pages);
extern void SsdTierFollowCosts(void);
extern void SsdTierCalibrate(bool empty);

/* budget.c */
extern void SsdTierDescribeLimits(SsdTierRecorded *recorded);
extern void SsdTierFollowSettings(void);
extern void SsdTierFollowTime(uint64 recorded);
extern void SsdTierStartClock(void);

/* file.c */
extern const char *SsdTierFileName(void);
extern bool SsdTierMakeFile(uint32 slots);
extern bool SsdTierInheritFile(void);
extern int	SsdTierFile(void);
extern void SsdTierLetGoOfFile(void);
extern pg_crc32c SsdTierChecksum(const void *page,
								 const RelFileLocator *locator,
								 BlockNumber block);
extern bool SsdTierReadSlot(uint32 slot, void *page);
extern bool SsdTierWriteSlot(uint32 slot, const void *page);

/* directory.c */

/* What becomes of a read of blocks that memory misses. */
typedef struct SsdTierRead
{
	bool		hit;			/* all are on the SSD, in consecutive slots, */
	uint32		slot;			/* the first of which is this; all are pinned */
	SsdTierCost cost;			/* if not: which cost the first is an example
								 * of, SSD_TIER_NUM_COSTS if of none, */
	uint32		entries[MAX_IO_COMBINE_LIMIT];	/* and where in the queue each
												 * goes, or TP_NONE */
} SsdTierRead;

extern void SsdTierBeginRead(const SsdTierAsk *ask,
							 const RelFileLocator *locator, BlockNumber block,
							 int nblocks, SsdTierRead *read);
extern uint32 SsdTierRun(const RelFileLocator *locator, BlockNumber block,
						 uint32 nblocks, bool *hit);
extern uint32 SsdTierBeginWrite(const RelFileLocator *locator,
								BlockNumber block);
extern void SsdTierUnpin(uint32 slot, bool bad);
extern void SsdTierForgetBlocks(const RelFileLocator *locator,
								BlockNumber block, BlockNumber nblocks);
extern void SsdTierForgetRelation(const RelFileLocator *locator);
extern void SsdTierFreeSlot(uint32 slot);

/* choice.c */
extern SsdTierAsk SsdTierTakeAsk(const RelFileLocator *locator);

/* upkeep.c */
extern bool SsdTierSweep(uint32 slots);
extern bool SsdTierEmpty(void);
extern bool SsdTierResize(uint32 slots);

/* takeover.c */
extern bool SsdTierDescribeSlot(uint32 slot, uint32 *place, BlockNumber *block,
								pg_crc32c *crc);
extern bool SsdTierDescribeExtent(uint32 number, uint32 *place, uint32 *extent);
extern void SsdTierRestorePage(uint32 slot, const RelFileLocator *locator,
							   BlockNumber block, pg_crc32c crc);
extern void SsdTierRestoreChoice(const RelFileLocator *locator,
								 SsdTierChoice choice);
extern void SsdTierRestoreExtent(const RelFileLocator *locator, uint32 extent,
								 const tp_extent *values);
extern void SsdTierEndAll(void);
extern void SsdTierEmptyDirectory(void);
extern void SsdTierForgetUnlogged(void);

/* look.c */

/* An extent's temperature. */
typedef struct SsdTierExtentLook
{
	RelFileLocator locator;
	BlockNumber block;			/* the first */
	double		temperature;	/* microseconds */
	int			cached;			/* pages that can be read from the SSD */
} SsdTierExtentLook;

extern bool SsdTierLookAtRelation(uint32 place, SsdTierRelation *relation);
extern void SsdTierResetRelation(uint32 place);
extern bool SsdTierLookAtExtent(uint32 number,
								SsdTierExtentLook *look);
extern int	SsdTierCheck(tp_report report, void *arg);

/* queue.c */
extern uint32 SsdTierReserveEntry(uint32 slot, const RelFileLocator *locator,
								  BlockNumber block);
extern void SsdTierEntryFilled(uint32 entry, bool filled);
extern void SsdTierCancelEntry(uint32 slot);
extern bool SsdTierQueueHasRoom(void);
extern void SsdTierEmptyQueue(void);
extern uint32 SsdTierTakeEntry(uint32 *hand);
extern void SsdTierDropVoidEntries(void);
extern void SsdTierEntryWritten(uint32 entry, bool written, pg_crc32c crc);

/* segment.c */
extern char *SsdTierMap(Size size, bool *old);
extern void SsdTierRemoveSegment(void);
extern void SsdTierTakeOver(void (*empty_pool) (void));

/* owner.c */
extern bool SsdTierIsPrivate(int fd, off_t * size);
extern bool SsdTierOwnerIsPresent(const SsdTierOwner *owner);
extern bool SsdTierHasMark(void);
extern bool SsdTierMark(void);

/* saved.c */
extern void SsdTierLoad(void);
extern void SsdTierRemoveTable(void);

/* writer.c */
extern bool SsdTierWriteQueue(int most);
extern void SsdTierMakeRoom(void);
extern void SsdTierWakeWriter(void);

#endif							/* SSD_TIER_INTERNALS_H */
