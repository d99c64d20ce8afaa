/*
 * trail.h
 *	  Trailing index scans: a scan that reads what another read before it.
 *
 * What an index scan will read is not known.  But if it goes over the same
 * part of the same index as another, it reads the same pages, a certain time
 * later.  Index scans leave marks on tuples; a scan that finds another's mark
 * follows it, and the delay is noted with the one that is followed, the
 * leader:
 *
 *	    handle = tp_trail_begin(trails, index, owner, now);
 *	    ... for each tuple fetched: tp_trail_tuple(trails, handle, tuple, now);
 *	    tp_trail_end(trails, handle);
 *
 *	    delay = tp_trail_delay(trails, handle);     TP_NEVER: nobody follows
 *
 * A page that a leader read at time t is expected to be read again at t +
 * delay: also if it was read before the follower came, and also after the
 * leader has ended, as long as the follower runs.
 *
 * Source: the idea of marks by time, tuple and index is T. Vanderkooy's
 * (Sampling-based predictive database buffer management, thesis, University of
 * Waterloo, 2023).  Here:
 *	1. Only tuples whose hash with the index is 0 modulo TP_TRAIL_EVERY are
 *	   marked.  Leader and follower choose the same ones.
 *	2. A scan has one follower, the last that found a mark of it.  A follower
 *	   replaces the marks that it finds by its own, so that is the nearest one,
 *	   and a third scan follows the second.
 *	3. A scan that overtakes its leader leads from then on.
 *	4. Marks of ended scans are not followed.
 *
 * MEMORY.  One block of fixed size, of indexes and numbers, never pointers:
 *
 *	  header | scans[capacity] | marks[a power of two]
 *
 * A tuple's hash is tp_mix64(tuple + tp_mix64(index)), and its mark is in place
 * hash / TP_TRAIL_EVERY, modulo the number of marks; a later one overwrites it.
 * The places of ended scans are reused in the order in which they ended, so that
 * their delays can be asked for as long as possible; scans ended for want of
 * room (TP_TRAIL_TIMEOUT) count as ended in the order of their numbers.
 *
 * LOCKING.  The core takes no locks.
 *	  tp_trail_begin, tp_trail_end, tp_trail_end_owner: the caller holds the
 *	    table's lock exclusively (the scan registry's will do).
 *	  tp_trail_tuple: by the scan's owner alone, without a lock.  It writes
 *	    marks, its own record, and follower and delay in its leader's.
 *	  tp_trail_delay: by anyone, without a lock, concurrently with everything.
 *	  Without the lock a mark may be read half old, half new, and so may the
 *	  follower and delay of a record.  They are numbers, handles are checked
 *	  against the table's bounds and the scan's generation, so the worst outcome
 *	  is a wrong delay until the next mark.
 *
 * COSTS: a hash for 15 tuples of 16; for the 16th also a mark and its scan,
 * two cache lines.  On the trailing scans of bench/constants.py, pbm with a mark
 * on every 4th tuple misses 0.4 % less in the mean, on every 64th 1.5 % more.
 */
#ifndef TIDEPOOL_TRAIL_H
#define TIDEPOOL_TRAIL_H

#include "tidepool/prediction/scan.h"

#define TP_TRAIL_EVERY		16	/* one tuple of this many is marked: see COSTS */
#define TP_TRAIL_MAX		65535	/* scans at a time */
#define TP_TRAIL_TIMEOUT	10000000	/* microseconds without a mark after
										 * which a scan's place may be reused;
										 * only a full table asks */

/*
 * A handle is generation << 32 | TP_TRAIL_HANDLE | number.  No handle of
 * scan.h has this bit, so access->scan can carry either.
 */
#define TP_TRAIL_HANDLE		(UINT64_C(1) << 31)

static inline bool
tp_is_trail(uint64_t handle)
{
	return (handle & TP_TRAIL_HANDLE) != 0;
}

/* What all hashes of the index's tuples have in common. */
static inline uint64_t
tp_trail_salt(uint64_t index)
{
	return tp_mix64(index);
}

/* The hash that decides of a tuple's mark, and its place. */
static inline uint64_t
tp_trail_hash(uint64_t salt, uint64_t tuple)
{
	return tp_mix64(tuple + salt);
}

/* Is this tuple, of the index with this salt, one that is marked? */
static inline bool
tp_trail_marks(uint64_t salt, uint64_t tuple)
{
	return tp_trail_hash(salt, tuple) % TP_TRAIL_EVERY == 0;
}

/* An index scan, running or ended. */
typedef struct tp_trail
{
	uint64_t	index;			/* the caller's number of the index */
	uint64_t	follower;		/* handle of the scan behind it; 0: none */
	uint64_t	delay;			/* microseconds that this is behind */
	uint64_t	last_mark;		/* when it began, or left its last mark */
	uint32_t	generation;		/* changes when the place is reused */
	uint32_t	next;			/* of an ended one: the next to be reused */
	uint32_t	owner;
	uint32_t	running;		/* 1, or 0 */
} tp_trail;

typedef struct tp_trail_mark
{
	uint64_t	key;			/* hash of index and tuple; 0: no mark */
	uint64_t	time;			/* when it was left */
	uint64_t	scan;			/* handle of the scan that left it */
} tp_trail_mark;

/* What happened so far. */
typedef struct tp_trail_counts
{
	uint64_t	begun;
	uint64_t	ended;			/* by tp_trail_end */
	uint64_t	refused;		/* there was no room */
	uint64_t	abandoned;		/* ended because their owner ended */
	uint64_t	reclaimed;		/* silent for long: place reused */
} tp_trail_counts;

typedef struct tp_trails_header
{
	uint32_t	capacity;		/* scans */
	uint32_t	mark_mask;		/* marks - 1 */
	uint32_t	running;
	uint32_t	free_first;		/* the next to be reused, or TP_NONE */
	uint32_t	free_last;		/* the last that ended, or TP_NONE */
	tp_trail_counts counts;
} tp_trails_header;

/* One process's view of the table. */
typedef struct tp_trails
{
	tp_trails_header *header;
	tp_trail   *scans;			/* [capacity] */
	tp_trail_mark *marks;		/* [mark_mask + 1] */
} tp_trails;

/*
 * Bytes of a table for this many scans at a time (1 .. TP_TRAIL_MAX) and at
 * least this many marks (1 .. 2^30): as many as there are marked tuples
 * between a leader and the last scan that follows.
 */
size_t		tp_trails_size(uint32_t scans, uint32_t marks);

/* An empty table in that many bytes, 8-byte aligned. */
tp_trails	tp_trails_init(uint32_t scans, uint32_t marks, void *block);

/* The view of a table that was made there, or moved there. */
tp_trails	tp_trails_view(void *block);

/*
 * An index scan begins.  Returns its handle, or 0 if there is no room for it.
 * O(1), except when there is no room: see TP_TRAIL_TIMEOUT.
 */
uint64_t	tp_trail_begin(const tp_trails *trails, uint64_t index,
						   uint32_t owner, uint64_t now);

/* What came of a tuple. */
typedef enum tp_trail_step
{
	TP_TRAIL_NONE,				/* it has no mark */
	TP_TRAIL_MARKED,			/* it has the scan's mark now */
	TP_TRAIL_FOLLOWED			/* likewise; it had the mark of a running
								 * scan, which this one follows */
} tp_trail_step;

/*
 * The scan has come to this tuple (any number that identifies it in the
 * index).  Does nothing for tuples that are not marked (tp_trail_marks), nor
 * for a handle of 0, of a scan that has ended, or of scan.h's.
 */
tp_trail_step tp_trail_tuple(const tp_trails *trails, uint64_t handle,
							 uint64_t tuple, uint64_t now);

/* The scan is over.  Handles as for tp_trail_tuple. */
void		tp_trail_end(const tp_trails *trails, uint64_t handle);

/* All scans of this owner are over.  Returns how many.  O(capacity). */
uint32_t	tp_trail_end_owner(const tp_trails *trails, uint32_t owner);

/*
 * Microseconds by which a running scan follows this one, which may have ended;
 * TP_NEVER if none does.
 */
double		tp_trail_delay(const tp_trails *trails, uint64_t handle);

/* Check every invariant, as tp_check; index: a scan's. */
int			tp_trails_check(const tp_trails *trails,
							void (*report) (void *arg, const char *violation,
											uint32_t index),
							void *arg);

#endif							/* TIDEPOOL_TRAIL_H */
