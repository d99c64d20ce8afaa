/*
 * scan.h
 *	  The scan registry: what the running scans will read next.
 *
 * A scan says once what it will read, and then how far it has come.  From
 * that the registry tells, for any page, in how many microseconds a scan will
 * want it:
 *
 *	    handle = tp_scan_begin(scans, &spec, now);
 *	    ... for each block read: tp_scan_advance(scans, handle, block, now);
 *	    tp_scan_end(scans, handle);
 *
 *	    wait = tp_scan_next_access(scans, page, now);       TP_NEVER: by none
 *
 * Source: T. Khalaji, X. Guo, T. Vanderkooy, K. Daudjee: predictive buffer
 * management by sampling, PVLDB 2025; T. Vanderkooy, thesis, University of
 * Waterloo, 2023.  The idea of asking the scans: M. Switakowski, P. Boncz,
 * M. Zukowski: From cooperative scans to predictive buffer management, PVLDB
 * 5 (12), 2012.
 *
 * Where this differs from the papers:
 *	1. Nothing is kept per block or block group of a relation.  A page's
 *	   estimate is computed from the scans of its relation when it is asked
 *	   for, so a scan begins in O(1) whatever it will read, and all memory is
 *	   taken beforehand.  (A bitmap scan brings its bitmap: 512 bytes at most.)
 *	2. Positions are blocks, not block groups: a page is behind its scan the
 *	   moment it has been read.  A bitmap scan's are blocks within the block
 *	   groups that are set.
 *	3. A scan that has not advanced for long counts as gone until it does
 *	   (TP_SCAN_PATIENCE), so that one that stalls or vanishes protects no
 *	   pages; its place is taken when places are short.
 *
 * DEFINITION.  Times are in microseconds; time that goes backwards counts as
 * none.  What is smoothed or fades is a float, and so are waits.
 *
 *	  begin		block_time is 1e6 / speed.  Without a speed it is the registry's,
 *				20 at first.
 *	  advance	The scan is measured if it has come 32 blocks since it last was,
 *				or is gone.  With `seen` the time a block took since then, at
 *				most 64 * max(block_time, 1):
 *				  block_time += 0.25 * (seen - block_time)
 *				and the registry's block_time moves likewise towards the scan's.
 *	  gone		A scan is gone if (now >> 16) > until, where
 *				  until = ((now + patience) >> 16) + 1
 *				as of when it began or was last measured.  patience is
 *				TP_SCAN_PATIENCE, or 512 block times if that is more, but at
 *				most 2^40.
 *	  wait		of a block that is number n in the scan's order, from 0:
 *				(n - done) * block_time.  Never if n < done, or the scan is gone.
 *	  room		A scan goes to the tp_scan_lanes of its relation that was
 *				linked last of those with a free lane, else to a new one.  If
 *				there is none, all scans that are gone end first.
 *
 * HISTORY (tp_scan_expected_access) is kept per relation, in one of four
 * neighbouring places.  A new one takes the last empty one of them, else that
 * of the relation whose last scan began longest ago.
 *
 *	  region	2^shift blocks, 2^7 at first.  A scan begins: regions are merged
 *				in pairs, which have half the visits of the two together, until
 *				TP_HISTORY_REGIONS reach the relation's end.  That is low + size.
 *				Without a size, or for want of a bitmap, it is where the range
 *				ends; with a bitmap and no size, where bitmaps end.
 *	  interval	A scan begins, not the first: interval += w * (gap - interval),
 *				gap the time since the last one began, w = 1 / begun, at least
 *				1/16.
 *	  total		A scan begins: total fades by one scan, then += 1.
 *	  visits	A scan is measured in another region than the last time, and its
 *				relation's history is still in its place: the region's visits
 *				fade by the scans begun since the last visit, then += 1.  Also,
 *				with t the time since the scan began,
 *				  lead_time += 0.01 * (t - lead_time); = t if it was 0.
 *	  fading	by n scans, H being TP_HISTORY_SCANS: divide by 2^(n / H),
 *				rounded down, and multiply by 1 - (n % H) / 2H.  0 if n / H > 60.
 *
 * Then a page is expected after lead_time + e, where
 *	  e = max(interval, time since the last scan began) * total / visits
 * is never with fewer than two scans or no visits.  With a running scan that
 * reads it after w: after w if w <= lead_time or e is never, else after
 * lead_time + 1 / (1 / (w - lead_time) + 1 / e).
 *
 * MEMORY.  One block of fixed size, of indexes and numbers, never pointers:
 *
 *	  header | relations[4 * scans, a power of two] | lanes[scans]
 *	         | scans[scans * TP_SCAN_LANES] | bitmaps[bitmaps]
 *	         | history[scans / 4, a power of two, at least 4]
 *
 * Scans of one relation stand side by side, eight to a tp_scan_lanes, whose
 * arrays the compiler turns into vector instructions; further ones are linked.
 * A relation is found by hashing to one of TP_SCAN_PROBES neighbouring places.
 * tp_scans is one process's view of it, as tp_pool is of a pool.
 *
 * LOCKING.  The core takes no locks.
 *	  tp_scan_begin, tp_scan_end, tp_scan_end_owner: the caller holds the
 *	    registry's lock exclusively.
 *	  tp_scan_advance: by the scan's owner alone, without any lock.  It writes
 *	    the scan's own lane and record, header->block_time, header->lead_time and the
 *	    history of its relation, nothing else.  If the scan is taken for gone,
 *	    and its place given to another, in the very middle of this, then the
 *	    other's position and block_time may be overwritten: its estimates are wrong
 *	    until it has come so far, or has ended.
 *	  tp_scan_next_access: by anyone, without any lock, beside all others.  It
 *	    may read a scan that is half entered, half gone, or another relation's
 *	    by now.  All it takes from there are numbers and indexes that are
 *	    valid at every moment, and its walk is bounded, so the worst that
 *	    comes of it is one wrong estimate.
 *
 * COSTS (measured by bench/prediction_cost.py): an estimate reads one or two
 * cache lines, and one tp_scan_lanes per eight scans of the relation; a scan
 * without neighbours takes 640 bytes.
 */
#ifndef TIDEPOOL_SCAN_H
#define TIDEPOOL_SCAN_H

#include "tidepool/page.h"

#define TP_BLOCK_GROUP		128 /* blocks: 1 MiB of 8 KiB pages */
#define TP_SCAN_LANES		8	/* scans of one relation that stand together */
#define TP_SCAN_PROBES		8	/* places where a relation may be found */
#define TP_BITMAP_GROUPS	4096	/* bits of a bitmap */
#define TP_HISTORY_REGIONS	128 /* parts of a relation told apart by history */
#define TP_HISTORY_SCANS		32	/* after which history count half */
#define TP_SCAN_PATIENCE	1000000 /* microseconds without progress after
									 * which a scan counts as gone, at least;
									 * slow scans have longer, see scan.c */

/* "No scan is going to read it." */
#define TP_NEVER __builtin_inf()

/*
 * The block groups that a bitmap scan will read.  A group is 2^shift blocks:
 * TP_BLOCK_GROUP of them, more in relations of more than TP_BITMAP_GROUPS
 * groups of that size.
 */
typedef struct tp_bitmap
{
	uint32_t	shift;
	uint32_t	groups;			/* that are set */
	uint64_t	words[TP_BITMAP_GROUPS / 64];
	uint16_t	rank[TP_BITMAP_GROUPS / 64];	/* groups set before the word;
												 * tp_scan_begin fills it in */
} tp_bitmap;

/* What a scan will read. */
typedef struct tp_scan_spec
{
	uint64_t	relation;		/* relation and fork, as in tp_page */
	uint32_t	first;			/* the block it begins with */
	uint32_t	count;			/* blocks that it will read */
	uint32_t	low;			/* it goes round within size blocks from this */
	uint32_t	size;			/* one on: behind the last comes block low,
								 * for a backward scan the other way round;
								 * low 0 and the relation's size for most.  0:
								 * it never comes round */
	bool		backward;		/* towards lower block numbers */
	const tp_bitmap *bitmap;	/* of a bitmap scan; then first and count are
								 * ignored, and low and size say only where
								 * the relation ends, size 0: unknown */
	double		speed;			/* blocks per second that are expected, 0 if
								 * unknown: as the scans before it */
	uint32_t	owner;			/* who runs it: see tp_scan_end_owner */
} tp_scan_spec;

/*
 * Scans of one relation: what an estimate reads.  A lane with no scan, and
 * that of a bitmap scan, has length 0.
 */
typedef struct tp_scan_lanes
{
	_Alignas(4 * TP_SCAN_LANES) uint32_t first[TP_SCAN_LANES];
	uint32_t	length[TP_SCAN_LANES];	/* blocks to read in all */
	uint32_t	low[TP_SCAN_LANES]; /* where it goes round: size blocks from */
	uint32_t	size[TP_SCAN_LANES];	/* low on; 0: it does not */
	uint32_t	backward[TP_SCAN_LANES];	/* 0, or UINT32_MAX if backward */
	uint32_t	done[TP_SCAN_LANES];	/* blocks that are behind the scan */
	uint32_t	until[TP_SCAN_LANES];	/* tick when it counts as gone */
	float		block_time[TP_SCAN_LANES];	/* microseconds a block */
	uint32_t	next;			/* more scans of the relation, or TP_NONE */
	uint8_t		used;			/* a bit per lane: there is a scan */
	uint8_t		bitmaps;		/* a bit per lane: it is a bitmap scan */
} tp_scan_lanes;

/* The rest of a scan, which estimates do not need. */
typedef struct tp_scan
{
	uint64_t	begun_at;
	uint64_t	measured_at;	/* when its speed was last measured */
	uint32_t	measured_done;	/* how far it had come then */
	uint32_t	length;			/* blocks to read in all */
	uint32_t	generation;		/* changes when the scan ends */
	uint32_t	relation;		/* index in relations */
	uint32_t	owner;
	uint32_t	bitmap;			/* index in bitmaps, or TP_NONE */
	uint32_t	history;		/* index in history */
	uint32_t	region;			/* of the relation, last entered; TP_NONE:
								 * none yet */
} tp_scan;

/* A relation that is being scanned. */
typedef struct tp_scan_relation
{
	uint64_t	relation;
	uint32_t	lanes;			/* its scans; TP_NONE: the place is empty */
	uint32_t	scans;			/* how many there are */
} tp_scan_relation;

/*
 * How a relation has been scanned so far, for expectations of scans that have
 * not begun (scan_history.c).  Numbers that fade count half after
 * TP_HISTORY_SCANS further scans of the relation.
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
											 * region, fading as of ... */
	uint32_t	as_of[TP_HISTORY_REGIONS];	/* ... this value of begun */
} tp_scan_history;

/* What happened so far. */
typedef struct tp_scan_counts
{
	uint64_t	begun;
	uint64_t	ended;			/* by tp_scan_end */
	uint64_t	refused;		/* there was no room: not registered */
	uint64_t	abandoned;		/* ended because their owner ended */
	uint64_t	reclaimed;		/* gone without a word; place taken */
	uint64_t	bitmaps_short;	/* registered as a range: no bitmap was free */
} tp_scan_counts;

typedef struct tp_scans_header
{
	uint32_t	capacity;		/* tp_scan_lanes there are */
	uint32_t	relation_mask;	/* places for relations - 1 */
	uint32_t	bitmap_capacity;
	uint32_t	history_mask;	/* relations whose history are kept - 1 */
	uint32_t	running;		/* scans registered */
	uint32_t	free_lanes;		/* first unused tp_scan_lanes, or TP_NONE */
	uint32_t	free_bitmap;	/* first unused bitmap, or TP_NONE; linked by
								 * their shift */
	float		block_time;		/* microseconds a block that a scan of unknown
								 * speed begins with */
	float		lead_time;		/* microseconds that scans take on average
								 * until they enter a region; for so long the
								 * running ones are taken at their word */
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
 * Bytes of a registry that can hold this many scans (1 .. 2^24) even if each
 * is of another relation, and of them this many with bitmaps of their own.
 * (Then one in ten thousand may not find a place for its relation.)
 */
size_t		tp_scans_size(uint32_t scans, uint32_t bitmaps);

/* An empty registry in that many bytes, 64-byte aligned. */
tp_scans	tp_scans_init(uint32_t scans, uint32_t bitmaps, void *block);

/* The view of a registry that was made there, or was moved there. */
tp_scans	tp_scans_view(void *block);

/*
 * Register a scan.  Returns its handle, which is never 0; or 0 if there is no
 * room for it or it would read nothing: it then simply goes unpredicted.  A
 * range that begins or ends outside of the relation, or goes round more than
 * once, reads nothing.
 * O(1); the lanes are searched for scans that are gone if there is no room.
 */
uint64_t	tp_scan_begin(const tp_scans *scans, const tp_scan_spec *spec,
						  uint64_t now);

/*
 * The scan has read this block.  Blocks that are not the scan's, or are behind
 * it, change nothing; a step over blocks leaves them behind.  A handle of 0,
 * or of a scan that is no more, is allowed and does nothing.
 */
void		tp_scan_advance(const tp_scans *scans, uint64_t handle,
							uint32_t block, uint64_t now);

/* The scan is over.  Handles as in tp_scan_advance. */
void		tp_scan_end(const tp_scans *scans, uint64_t handle);

/*
 * All scans of this owner are over: what a backend that exits, however it
 * does, leaves behind.  Returns how many there were.  O(capacity).
 */
uint32_t	tp_scan_end_owner(const tp_scans *scans, uint32_t owner);

/*
 * Microseconds until a scan reads this page, as far as the running scans
 * tell; TP_NEVER if none of them will.
 */
double		tp_scan_next_access(const tp_scans *scans, tp_page page,
								uint64_t now);

/*
 * The same for callers that do not care how soon it is if it is sooner than
 * this: then it may be any value that is, not below the true one.  Takes less
 * time.
 */
double		tp_scan_next_access_from(const tp_scans *scans, tp_page page,
									 double from, uint64_t now);

/*
 * The same with the scans in mind that have not begun: a page that no scan
 * will read, or none soon, may be reached by one that begins meanwhile.  How
 * soon that is to be expected is told by how often scans of the relation
 * begin, which share of them came to the page's region, and how long they
 * take to get there; TP_NEVER for relations without a past.  Never more than
 * tp_scan_next_access.  For pages that a running scan wants sooner than scans
 * take on average to get anywhere the running scans alone count.
 * from: as above, 0 if it is to be exact.
 */
double		tp_scan_expected_access(const tp_scans *scans, tp_page page,
									double from, uint64_t now);

/*
 * Where a scan that must read first .. first + count - 1, in any order that
 * goes round, should begin so as to meet the most of what another reads: at
 * the position of that running scan whose blocks still to come have the most
 * in common with it, those of another speed counting less.  first if there is
 * none.  Nothing is registered.  The idea: PostgreSQL's synchronized scans;
 * here for parts of relations, and choosing.
 */
uint32_t	tp_scan_meet(const tp_scans *scans, const tp_scan_spec *spec,
						 uint64_t now);

/* An empty bitmap for a relation of this many blocks. */
void		tp_bitmap_init(tp_bitmap *bitmap, uint32_t size);

/* Block first and the count - 1 blocks behind it will be read. */
void		tp_bitmap_add(tp_bitmap *bitmap, uint32_t first, uint32_t count);

/* Assert every invariant, as tp_check does; index: a scan's, or a relation's. */
int			tp_scans_check(const tp_scans *scans,
						   void (*report) (void *arg, const char *violation,
										   uint32_t index),
						   void *arg);

#endif							/* TIDEPOOL_SCAN_H */
