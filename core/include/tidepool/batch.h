/*
 * batch.h
 *	  Hits queued by one backend and committed together (BP-Wrapper).
 *
 * Source: X. Ding, S. Jiang, X. Zhang: BP-Wrapper: A system framework making
 * any replacement algorithms (almost) lock contention free. ICDE 2009.
 *
 * A backend that hits a page notes the frame and the page instead of taking
 * the pool's lock.  When the queue has reached a threshold it commits if the
 * lock is free, when it is full it waits for the lock; on a miss, where the
 * lock is needed anyway, it commits too.  So
 *
 *	  switch (tp_batch_add(&batch, frame, page, flags, threshold, size))
 *	  {
 *		  case TP_BATCH_QUEUED:	  return;
 *		  case TP_BATCH_TRY:	  prefetch; try the lock, return if not had
 *		  case TP_BATCH_FULL:	  prefetch; wait for the lock
 *	  }
 *	  tp_batch_commit(pool, &batch, &access);
 *
 * Where this differs from the paper:
 *	1. An entry that repeats the page the same backend referenced last is
 *	   the caller's to mark (TP_CORRELATED) or to leave out.
 *	2. The entry holds the page, as in the paper, not the generation of the
 *	   frame's node: so a hit touches no memory but the queue.  A page that
 *	   left the frame and came back to it is the page that was hit.
 *
 * Costs: the policy learns of a hit late, and never if the page left meanwhile.
 * Benefits: one lock for a batch, taken when it is free, and short, since what
 * the commit will touch was loaded into the cache before.
 * Memory: 24 bytes per entry, the backend's own.
 */
#ifndef TIDEPOOL_BATCH_H
#define TIDEPOOL_BATCH_H

#include "tidepool/pool.h"

#define TP_BATCH_MAX 1024		/* entries of the largest queue */

typedef struct tp_batch_entry
{
	uint64_t	relation;		/* the page that was hit */
	uint32_t	block;
	uint32_t	frame;			/* the frame it was in */
	uint32_t	flags;			/* TP_WRITE | ... */
} tp_batch_entry;

/* One backend's queue for one pool.  Zero-initialised to begin. */
typedef struct tp_batch
{
	uint32_t	count;			/* entries in use */
	tp_batch_entry entries[TP_BATCH_MAX];
} tp_batch;

/* What to do after a hit was queued. */
typedef enum tp_batch_due
{
	TP_BATCH_QUEUED,			/* nothing yet */
	TP_BATCH_TRY,				/* commit if the lock is free */
	TP_BATCH_FULL				/* commit, if need be after waiting */
} tp_batch_due;

/*
 * Queue a hit.  The queue must not be full: whoever was told TP_BATCH_FULL has
 * committed.  1 <= size <= TP_BATCH_MAX; size 1 is a lock for each hit.
 * Needs no lock.
 */
static inline tp_batch_due
tp_batch_add(tp_batch *batch, uint32_t frame, tp_page page, uint32_t flags,
			 uint32_t threshold, uint32_t size)
{
	tp_batch_entry *entry = &batch->entries[batch->count++];

	entry->relation = page.relation;
	entry->block = page.block;
	entry->frame = frame;
	entry->flags = flags;
	if (batch->count >= size)
		return TP_BATCH_FULL;
	return batch->count >= threshold ? TP_BATCH_TRY : TP_BATCH_QUEUED;
}

/* Load into the cache what the commit will touch.  Needs no lock. */
void		tp_batch_prefetch(const tp_pool *pool, const tp_batch *batch);

/*
 * Hand the queued hits to the policy in order, skipping those whose page is
 * no longer in its frame, and empty the queue.  access gives time and backend;
 * the flags are the entries' own.  The caller holds the pool's lock.  Returns
 * the number of entries skipped.
 */
uint32_t	tp_batch_commit(const tp_pool *pool, tp_batch *batch,
							const tp_access *access);

#endif							/* TIDEPOOL_BATCH_H */
