/*
 * batch.h
 *	  What one backend has to tell a policy, queued and told together
 *	  (BP-Wrapper).
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
 *	3. The paper takes the lock twice for a miss.  Here the victim is chosen
 *	   and evicted in one hold, and that the new page has come in is queued
 *	   like a hit: the next hold, for the next victim as a rule, tells of it.
 *	   Until then the frame is claimed, so nobody is offered it.  If the page
 *	   has left again by then, the entry is skipped.  Likewise queued is that
 *	   an eviction was not carried out.
 *
 * Costs: the policy learns of a hit late, and never if the page left meanwhile;
 * a page that came in cannot be evicted before the policy learns of it.
 * Benefits: one lock for a batch, taken when it is free, and short, since what
 * the commit will touch was loaded into the cache before.
 * Memory: 24 bytes per entry, the backend's own.
 */
#ifndef TIDEPOOL_BATCH_H
#define TIDEPOOL_BATCH_H

#include "tidepool/pool.h"

#define TP_BATCH_MAX 1024		/* entries of the largest queue: 24 KiB */

/* What an entry is, in its flags; otherwise it is a hit. */
#define TP_BATCH_ADMISSION	UINT32_C(0x80000000)	/* the page has come in */
#define TP_BATCH_RESTORATION UINT32_C(0x40000000)	/* the page was evicted,
													 * and has stayed */

typedef struct tp_batch_entry
{
	uint64_t	relation;		/* the page */
	uint32_t	block;
	uint32_t	frame;			/* the frame it is in */
	uint32_t	flags;			/* TP_WRITE | ...; what the entry is */
} tp_batch_entry;

/* One backend's queue for one pool.  Zero-initialised to begin. */
typedef struct tp_batch
{
	uint32_t	count;			/* entries in use */
	uint32_t	frames;			/* of which are admissions and restorations */
	uint32_t	forgotten;		/* pages forgotten for admissions, ever */
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

/*
 * Queue an admission: this page has come into this frame, which is claimed, or
 * whose old page was replaced by somebody who did not ask the policy.  As
 * tp_batch_add; never a lock for an admission alone, whatever the size.
 */
static inline tp_batch_due
tp_batch_admit(tp_batch *batch, uint32_t frame, tp_page page, uint32_t flags,
			   uint32_t threshold, uint32_t size)
{
	batch->frames++;
	return tp_batch_add(batch, frame, page, flags | TP_BATCH_ADMISSION,
						threshold < 2 ? 2 : threshold, size < 2 ? 2 : size);
}

/* Queue that the eviction of this page was not carried out; likewise. */
static inline tp_batch_due
tp_batch_restore(tp_batch *batch, uint32_t frame, tp_page page,
				 uint32_t threshold, uint32_t size)
{
	batch->frames++;
	return tp_batch_add(batch, frame, page, TP_BATCH_RESTORATION,
						threshold < 2 ? 2 : threshold, size < 2 ? 2 : size);
}

/* Load into the cache what the commit will touch.  Needs no lock. */
void		tp_batch_prefetch(const tp_pool *pool, const tp_batch *batch);

/*
 * Hand what is queued to the policy in order, skipping hits on pages that are
 * no longer in their frames and others for which holds says no, and empty the
 * queue.  If the policy takes another page to be in the frame of an
 * admission, it forgets that.  access gives time and backend; the flags are
 * the entries' own.  Through which scan a queued reference was made is not
 * kept: only policies whose hits and choices need no lock learn it.  The caller holds the pool's lock.  Returns the number of
 * entries skipped.
 */
uint32_t	tp_batch_commit(const tp_pool *pool, tp_batch *batch,
							const tp_access *access, tp_holds holds,
							void *arg);

#endif							/* TIDEPOOL_BATCH_H */
