/*-------------------------------------------------------------------------
 *
 * bufferpool_counters.h
 *	  What is counted for each buffer pool.
 *
 * src/include/storage/bufferpool_counters.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_COUNTERS_H
#define BUFFERPOOL_COUNTERS_H

typedef enum BufferPoolCounter
{
	BUFFERPOOL_HITS,			/* references to resident pages */
	BUFFERPOOL_READS,			/* pages brought in to be read or zeroed */
	BUFFERPOOL_EXTENDS,			/* pages brought in as new blocks */
	BUFFERPOOL_EVICTIONS,		/* pages evicted, by the algorithm's choice */
	BUFFERPOOL_REUSES,			/* pages evicted, by a ring's choice */
	BUFFERPOOL_DIRTY_EVICTIONS, /* of both, those written first */
	BUFFERPOOL_PREDICTED_EVICTIONS, /* evictions by what scans read, */
	BUFFERPOOL_FREQUENCY_EVICTIONS, /* by frequency, */
	BUFFERPOOL_RECENCY_EVICTIONS,	/* by recency alone: as tp_reason */
	BUFFERPOOL_PREMATURE_EVICTIONS, /* wanted by a scan within TP_SOON */
	BUFFERPOOL_WRITES,			/* pages written, by any process */
	BUFFERPOOL_READ_TIME,		/* microseconds, if track_io_timing */
	BUFFERPOOL_WRITE_TIME,
	BUFFERPOOL_SEARCHES,		/* for a victim, by the algorithm */
	BUFFERPOOL_LOOKS,			/* buffers that these looked at */
	BUFFERPOOL_RETRIES,			/* choices given up: pinned or dirtied since */
	BUFFERPOOL_REJECTS,			/* of them, a ring's: would flush WAL */
	BUFFERPOOL_FALLBACKS,		/* the algorithm had none: DEFAULT's clock's
								 * choices */
	BUFFERPOOL_SPILLED,			/* pages that went to DEFAULT because the
								 * algorithm refused them */
	BUFFERPOOL_BORROWED,		/* pages that went to DEFAULT because all
								 * buffers were pinned, or the algorithm was
								 * being changed */
	BUFFERPOOL_FORGOTTEN,		/* pages dropped, or replaced unasked */
	BUFFERPOOL_CORRELATED,		/* hits not reported: repetitions */
	BUFFERPOOL_VACUUMED,		/* hits not reported: VACUUM's */
	BUFFERPOOL_BATCHES,			/* commits of queues */
	BUFFERPOOL_BATCHED_HITS,	/* entries in them */
	BUFFERPOOL_STALE_HITS,		/* of them, skipped: the page had left */
	BUFFERPOOL_LOCKS,			/* acquisitions of the pool's lock */
	BUFFERPOOL_LOCK_WAITS,		/* of them, those that had to wait */
	BUFFERPOOL_TRY_FAILURES,	/* commits put off: the lock was busy */
	BUFFERPOOL_SCANS_BEGUN,		/* announced to the algorithm */
	BUFFERPOOL_SCANS_ENDED,		/* of them, those that ended by themselves */
	BUFFERPOOL_SCANS_ABANDONED, /* of them, ended by an error or a cancel */
	BUFFERPOOL_SCANS_REFUSED,	/* not announced: no place was left */
	BUFFERPOOL_MARKING_SCANS,	/* index scans that left marks */
	BUFFERPOOL_TRAILING_SCANS,	/* of them, those that found others' marks */
	BUFFERPOOL_MARKS,			/* left by them */
	BUFFERPOOL_CLEANED,			/* pages that the bgwriter wrote ahead */
	BUFFERPOOL_CLEANER_ROUNDS,	/* its searches for such pages */
	BUFFERPOOL_CLEANER_LOOKS,	/* buffers looked at in them */
	BUFFERPOOL_CLEANER_LONGEST_HOLD,	/* most of these in one hold of the
										 * pool's lock; not a sum, never reset */
	BUFFERPOOL_NUM_SHOWN,		/* those from here on are not shown: */
	BUFFERPOOL_OFFERED = BUFFERPOOL_NUM_SHOWN,	/* references made while the
												 * advisor took them */
	BUFFERPOOL_NUM_COUNTERS
} BufferPoolCounter;

typedef struct BufferPoolCounters
{
	uint64		count[BUFFERPOOL_NUM_COUNTERS];
} BufferPoolCounters;

#ifdef BUFFERPOOL_TIME_LOCK
#define BUFFERPOOL_HOLD_BINS 256	/* eight for each power of two, to 34 s */
#endif

#endif							/* BUFFERPOOL_COUNTERS_H */
