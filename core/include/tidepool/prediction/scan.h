/*
 * scan.h
 *	  The scan registry: how long until a scan reads a page.
 *
 * A scan says what it will read, then how far it has come:
 *
 *	    handle = tp_scan_begin(scans, &spec, now);
 *	    ... for each block read: tp_scan_advance(scans, handle, block, now);
 *	    tp_scan_end(scans, handle);
 *
 *	    wait = tp_scan_next_access(scans, page, now);       TP_NEVER: by none
 *
 * README.md in core/prediction explains the whole.
 *
 * Sources: T. Khalaji, X. Guo, T. Vanderkooy, K. Daudjee: Sampling-based
 * predictive database buffer management, PVLDB 18, 2025; T. Vanderkooy: thesis
 * of that title, University of Waterloo, 2023.  The idea of asking the scans:
 * M. Switakowski, P. Boncz, M. Zukowski: From cooperative scans to predictive
 * buffer management, PVLDB 5(12), 2012.
 *
 * Why the structure differs from the papers', and the estimates do not: there
 * each block group has a list of the scans that will read it.  Here each
 * relation has one, and an estimate takes the least wait over the scans of
 * that list that have the page ahead of them: the least over the same scans.
 * So a scan begins in O(1) whatever it will read, and all memory is fixed
 * beforehand.
 *
 * Where the estimates differ:
 *	1. Positions are blocks, not block groups, so a page is behind its scan
 *	   once it has been read.  A bitmap scan's are blocks within the groups
 *	   set.
 *	2. A scan that has not advanced for long counts as gone until it does
 *	   (TP_SCAN_TIMEOUT), so one that stalls or vanishes protects no pages.
 *	   Its place is taken when places are short.
 *	3. tp_scan_expected_access expects scans that have not begun.
 *
 * MEMORY.  One block of fixed size, of indexes and numbers, never pointers:
 *
 *	  header | relations[4 * scans, a power of two] | lanes[scans]
 *	         | scans[scans * TP_SCAN_LANES] | bitmaps[bitmaps]
 *	         | history[scans / 4, a power of two, at least 4]
 *
 * Scans of a relation are in tp_scan_lanes, eight to each, whose arrays are
 * loaded as vectors; a relation links as many of these as it needs.  A
 * relation is in one of TP_SCAN_PROBES places from its hash on.  tp_scans is
 * one process's view of the block, as tp_pool is of a pool.
 *
 * LOCKING.  The core takes no locks.
 *	  tp_scan_begin, tp_scan_end, tp_scan_end_owner: the caller holds the
 *	    registry's lock exclusively.
 *	  tp_scan_advance, tp_scan_step, tp_scan_measure: by the scan's owner
 *	    alone, without a lock.  They write the scan's lane and record,
 *	    header->block_time and lead_time, and the relation's history.  If the
 *	    scan is taken for gone and its place reused while one of them runs, the
 *	    new scan's position and block_time may be overwritten: its estimates are
 *	    wrong until it has come so far, or ends.
 *	  tp_scan_next_access, tp_scan_expected_access, tp_scan_meet: by anyone,
 *	    without a lock, concurrently with everything.  They may see a scan half
 *	    entered, half gone, or another relation's by now.  What they read is a
 *	    number or an index valid at any moment, and their walks are bounded, so
 *	    the worst outcome is one wrong estimate, not negative.
 *
 * COSTS (bench/prediction_cost.py): an estimate reads one or two cache lines,
 * one tp_scan_lanes for eight scans of the relation, and with history two more
 * lines.  Eight scans of a relation, or one, take 800 bytes; a bitmap takes
 * 656, the history of a relation 1,056.
 */
#ifndef TIDEPOOL_SCAN_H
#define TIDEPOOL_SCAN_H

#include "tidepool/page.h"

/*
 * Measured by bench/constants.py: misses grow by at most 1.2 % with 32 regions
 * (its tables are too small to tell 512 from 128); 1.0 and 0.2 % with
 * TP_HISTORY_SCANS of 8 and 128; 1.8 % and none with timeouts of 0.1 and 10
 * seconds, where no scan vanishes.
 */
#define TP_BLOCK_GROUP		128 /* blocks: 1 MiB of 8 KiB pages */
#define TP_SCAN_LANES		8	/* scans in a tp_scan_lanes: bits of `used` */
#define TP_SCAN_PROBES		8	/* places that a relation may take: see
								 * tp_scans_size */
#define TP_BITMAP_GROUPS	4096	/* bits of a bitmap: block groups of 4
									 * GiB, in 512 bytes */
#define TP_HISTORY_REGIONS	128 /* parts of a relation with counts of their
								 * own */
#define TP_HISTORY_SCANS	32	/* after which a count has faded to half */
#define TP_SCAN_TIMEOUT	1000000 /* microseconds without progress after which a
								 * scan counts as gone; longer for slow scans
								 * (timeout.h) */

/* "No scan will read it." */
#define TP_NEVER __builtin_inf()

/*
 * The groups of 2^shift blocks that a bitmap scan will read: block groups, or
 * larger ones in relations of more than TP_BITMAP_GROUPS block groups.
 */
typedef struct tp_bitmap
{
	uint32_t	shift;
	/* the rest but the words is filled in by tp_scan_begin */
	uint32_t	groups;			/* set in all */
	uint32_t	start;			/* groups that come before the one that the
								 * scan begins with, if it began with the
								 * first */
	uint32_t	done;			/* blocks behind the scan, of those in its
								 * groups */
	uint64_t	words[TP_BITMAP_GROUPS / 64];
	uint16_t	rank[TP_BITMAP_GROUPS / 64];	/* set before the word */
} tp_bitmap;

/* What a scan will read. */
typedef struct tp_scan_spec
{
	uint64_t	relation;		/* relation and fork, as in tp_page */
	uint32_t	first;			/* the block it begins with */
	uint32_t	count;			/* blocks that it will read */
	uint32_t	low;			/* it wraps within the blocks low .. */
	uint32_t	size;			/* low + size - 1: after the last comes block
								 * low, for a backward scan the reverse; low 0
								 * and the relation's size for most.  size 0:
								 * it does not wrap */
	bool		backward;		/* towards lower block numbers */
	const tp_bitmap *bitmap;	/* of a bitmap scan, else NULL.  It begins
								 * with the group of block first, or the next
								 * one set, and after the last group reads
								 * those before.  count is ignored; low and
								 * size only say where the relation ends (size
								 * 0: unknown) */
	double		speed;			/* blocks per second expected; 0: as the scans
								 * before it */
	uint32_t	owner;			/* see tp_scan_end_owner */
	bool		companion;		/* one of several processes of a scan that has
								 * begun already: history does not count it */
} tp_scan_spec;

/*
 * Scans of one relation: what an estimate reads.  length is 0 in a lane
 * without a scan.  A bitmap scan's lane has the smallest range that covers its
 * groups, and where the scan is in that: a block that lies outside or behind needs
 * no look at the bitmap.
 */
typedef struct tp_scan_lanes
{
	_Alignas(4 * TP_SCAN_LANES) uint32_t first[TP_SCAN_LANES];
	uint32_t	length[TP_SCAN_LANES];	/* blocks to read in all */
	uint32_t	low[TP_SCAN_LANES]; /* it wraps within low .. */
	uint32_t	size[TP_SCAN_LANES];	/* low + size - 1; 0: it does not */
	uint32_t	backward[TP_SCAN_LANES];	/* 0, or UINT32_MAX if backward */
	uint32_t	done[TP_SCAN_LANES];	/* blocks behind the scan */
	uint32_t	until[TP_SCAN_LANES];	/* tick when it counts as gone */
	float		block_time[TP_SCAN_LANES];	/* microseconds a block */
	uint32_t	next;			/* more scans of the relation, or TP_NONE */
	uint8_t		used;			/* a bit per lane: there is a scan */
	uint8_t		bitmaps;		/* a bit per lane: it is a bitmap scan, and
								 * its range has groups that it does not read */
} tp_scan_lanes;

/* The rest of a scan, which estimates by ranges do not need. */
typedef struct tp_scan
{
	uint64_t	begun_at;
	uint64_t	measured_at;	/* when its speed was last measured */
	uint32_t	measured_done;	/* blocks behind it then */
	uint32_t	length;			/* blocks to read in all */
	uint32_t	generation;		/* changes when the scan ends */
	uint32_t	relation;		/* index in relations */
	uint32_t	owner;
	uint32_t	bitmap;			/* index in bitmaps, or TP_NONE */
	uint32_t	low;			/* as the spec of a bitmap scan has them */
	uint32_t	size;
	uint32_t	history;		/* index in history */
	uint32_t	region;			/* of the relation, entered last; TP_NONE:
								 * none yet */
	uint32_t	companion;		/* 1: see tp_scan_spec */
} tp_scan;

/* A relation that is being scanned. */
typedef struct tp_scan_relation
{
	uint64_t	relation;
	uint32_t	lanes;			/* its scans; TP_NONE: the place is empty */
	uint32_t	scans;			/* how many */
} tp_scan_relation;

/*
 * How a relation has been scanned so far, to expect scans that have not begun
 * (expected.c).  What fades counts half after TP_HISTORY_SCANS further scans
 * of the relation.
 */
typedef struct tp_scan_history
{
	uint64_t	relation;
	uint64_t	last_begin;		/* when the last scan of it began */
	uint32_t	begun;			/* scans so far; 0: the place is empty */
	uint32_t	shift;			/* a region is 2^shift blocks */
	float		interval;		/* microseconds from one beginning to the
								 * next, smoothed */
	float		total;			/* scans begun, fading */
	float		visits[TP_HISTORY_REGIONS]; /* of them, those that entered the
											 * region, faded as of ... */
	uint32_t	as_of[TP_HISTORY_REGIONS];	/* ... this value of begun */
} tp_scan_history;

/* What happened so far. */
typedef struct tp_scan_counts
{
	uint64_t	begun;
	uint64_t	ended;			/* by tp_scan_end */
	uint64_t	refused;		/* not registered: there was no room */
	uint64_t	abandoned;		/* ended because their owner ended */
	uint64_t	reclaimed;		/* gone: place taken */
	uint64_t	bitmaps_short;	/* registered as ranges: no bitmap was free */
} tp_scan_counts;

typedef struct tp_scans_header
{
	uint32_t	capacity;		/* number of tp_scan_lanes */
	uint32_t	relation_mask;	/* places for relations - 1 */
	uint32_t	bitmap_capacity;
	uint32_t	history_mask;	/* places for histories - 1 */
	uint32_t	running;		/* scans registered */
	uint32_t	free_lanes;		/* first unused tp_scan_lanes, or TP_NONE */
	uint32_t	free_bitmap;	/* first unused bitmap, or TP_NONE; linked by
								 * their shift */
	float		block_time;		/* microseconds a block, of a scan of unknown
								 * speed */
	float		lead_time;		/* microseconds that scans take on average to
								 * enter a region; within that, running scans
								 * count alone */
	tp_scan_counts counts;
} tp_scans_header;

/* One process's view of a registry. */
typedef struct tp_scans
{
	tp_scans_header *header;
	tp_scan_relation *relations;	/* [relation_mask + 1] */
	tp_scan_lanes *lanes;		/* [capacity] */
	tp_scan    *scans;			/* [capacity * TP_SCAN_LANES] */
	tp_bitmap  *bitmaps;		/* [bitmap_capacity] */
	tp_scan_history *history;	/* [history_mask + 1] */
} tp_scans;

/*
 * Bytes of a registry for this many scans (1 .. 2^24), even if each is of
 * another relation, this many of them with bitmaps of their own.  (If each is
 * of another relation, one in ten thousand may find no place for it.)
 */
size_t		tp_scans_size(uint32_t scans, uint32_t bitmaps);

/* An empty registry in that many bytes, 64-byte aligned. */
tp_scans	tp_scans_init(uint32_t scans, uint32_t bitmaps, void *block);

/* The view of a registry that was made there, or moved there. */
tp_scans	tp_scans_view(void *block);

/*
 * Register a scan.  Returns its handle; or 0 if there is no room or it would
 * read nothing, and then it is not predicted.  A range that begins or ends
 * outside of the relation, or wraps more than once, reads nothing.  O(1), except
 * when there is no room: then all lanes are searched for scans that are gone.
 */
uint64_t	tp_scan_begin(const tp_scans *scans, const tp_scan_spec *spec,
						  uint64_t now);

/*
 * The scan has read this block; all blocks before it in the scan's order are
 * behind the scan, too.  A block that it does not read, or that is behind it,
 * changes nothing.  Nor does a handle of 0, or of a scan that has ended.
 */
void		tp_scan_advance(const tp_scans *scans, uint64_t handle,
							uint32_t block, uint64_t now);

/*
 * The same in two steps, for callers to whom it costs to know the time: only if
 * tp_scan_step returns true, tp_scan_measure is to follow.  lately: any time of
 * the last milliseconds.
 */
bool		tp_scan_step(const tp_scans *scans, uint64_t handle,
						 uint32_t block, uint64_t lately);
void		tp_scan_measure(const tp_scans *scans, uint64_t handle,
							uint32_t block, uint64_t now);

/* The scan is over.  Handles as for tp_scan_advance. */
void		tp_scan_end(const tp_scans *scans, uint64_t handle);

/*
 * All scans of this owner are over: for a backend that exits, however it does.
 * Returns how many there were.  O(capacity).
 */
uint32_t	tp_scan_end_owner(const tp_scans *scans, uint32_t owner);

/*
 * Forget how relations have been scanned and how fast: what is expected then
 * depends on the scans from now on.  Running ones stay.  The caller holds the
 * registry's lock exclusively.
 */
void		tp_scans_forget(const tp_scans *scans);

/*
 * Microseconds until one of the running scans reads this page; TP_NEVER if
 * none will.
 */
double		tp_scan_next_access(const tp_scans *scans, tp_page page,
								uint64_t now);

/*
 * Where estimates have found a relation, so that the next one need not search.
 * Zero-initialise, and use for estimates that follow each other at once: others
 * may go by the scans of another relation.
 */
typedef struct tp_scan_found
{
	uint64_t	relation;
	uint32_t	running;		/* index in relations, or TP_NONE, if searched */
	uint32_t	history;		/* index in history, likewise */
	bool		searched_running;
	bool		searched_history;
} tp_scan_found;

/*
 * The same, faster: if the wait is below `from`, may return any value in
 * [wait, from).
 */
double		tp_scan_next_access_from(const tp_scans *scans,
									 tp_scan_found *found, tp_page page,
									 double from, uint64_t now);

/*
 * The same with scans that have not begun, as the history of the relation lets
 * expect them (expected.c): never more than tp_scan_next_access, and equal to
 * it if that is within lead_time or the relation has no history.  from: as
 * above; 0 for the exact value.
 */
double		tp_scan_expected_access(const tp_scans *scans,
									tp_scan_found *found, tp_page page,
									double from, uint64_t now);

/* Is a registered scan reading this relation? */
bool		tp_scan_reads(const tp_scans *scans, uint64_t relation);

/*
 * Where a scan that is to read first .. first + count - 1, or the blocks of a
 * bitmap, from any block on and wrapping, should begin to share most with a
 * running one: at the position of the scan that has most of these blocks ahead
 * of it, which counts less if its speed is another.  For a bitmap, the first
 * block of a group that it has.  spec->first if there is none.  *met (unless
 * NULL) becomes the handle of the running scan, or 0.  Registers nothing.  After
 * PostgreSQL's synchronized scans, which meet on whole relations and do not
 * choose.
 */
uint32_t	tp_scan_meet(const tp_scans *scans, const tp_scan_spec *spec,
						 uint64_t now, uint64_t *met);

/* A running scan, for views of all scans. */
typedef struct tp_scan_look
{
	uint64_t	handle;
	uint64_t	relation;
	uint64_t	begun_at;
	uint32_t	owner;
	uint32_t	length;			/* blocks to read in all; with a bitmap, those
								 * of the groups set */
	uint32_t	done;			/* of them, behind the scan */
	uint32_t	next;			/* the block it reads next; if it has read
								 * all, any */
	float		block_time;		/* microseconds a block */
	bool		backward;
	bool		bitmap;
	bool		gone;			/* it counts as gone (TP_SCAN_TIMEOUT) */
} tp_scan_look;

/* Scans have numbers below this. */
static inline uint32_t
tp_scan_places(const tp_scans *scans)
{
	return scans->header->capacity * TP_SCAN_LANES;
}

/* The number of the scan with this handle, running or not. */
static inline uint32_t
tp_scan_number(uint64_t handle)
{
	return (uint32_t) handle - 1;
}

/*
 * Look at the scan with this number.  False if there is none.  Called without
 * the lock, it may see a scan half begun or half ended.
 */
bool		tp_scan_look_at(const tp_scans *scans, uint32_t number,
							uint64_t now, tp_scan_look *look);

/*
 * What a scan has still to read, as a scan of its own: with a bitmap, in groups,
 * from the group on in which it stands.  False if it has read all, or has ended.
 */
bool		tp_scan_rest(const tp_scans *scans, uint64_t handle,
						 tp_scan_spec *rest, tp_bitmap *groups);

/*
 * Has the scan with this number the block still ahead of it?  Needs no lock,
 * as tp_scan_next_access.
 */
bool		tp_scan_awaits(const tp_scans *scans, uint32_t number,
						   uint32_t block);

/* An empty bitmap for a relation of this many blocks. */
void		tp_bitmap_init(tp_bitmap *bitmap, uint32_t size);

/* Blocks first .. first + count - 1 will be read. */
void		tp_bitmap_add(tp_bitmap *bitmap, uint32_t first, uint32_t count);

/* Check every invariant, as tp_check; index: a scan's, or a relation's. */
int			tp_scans_check(const tp_scans *scans,
						   void (*report) (void *arg, const char *violation,
										   uint32_t index),
						   void *arg);

#endif							/* TIDEPOOL_SCAN_H */
