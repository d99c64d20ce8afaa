/*
 * backends.h
 *	  The state that a replay keeps for each backend: its last reference, its
 *	  queue and its chooser.
 */
#ifndef TIDEPOOL_SIM_BACKENDS_H
#define TIDEPOOL_SIM_BACKENDS_H

#include <stdlib.h>

#include "tidepool/batch.h"
#include "tidepool/sim.h"

#include "cache.h"

#define BACKEND_SLOTS 4096		/* backends are told apart modulo this; those
								 * that share a slot lose repetitions, never
								 * invent them, and have one queue and one
								 * chooser together; 352 KiB */

/* Stands for no page. */
#define NO_PAGE UINT64_MAX

typedef struct backend_state
{
	bool		referenced;		/* the next three are set */
	uint32_t	number;
	uint64_t	page;
	uint64_t	time;
	tp_batch   *queue;			/* NULL until there is something to queue */
	bool		has_chosen;		/* a frame for the next page that it brings
								 * in, as recorded: all but the last two are
								 * set */
	bool		wanted_soon;	/* from a policy that asks scans */
	uint32_t	chosen;			/* the frame: evicted, but if choices need no
								 * lock; its page is found until then */
	uint64_t	chosen_page;	/* that was in it, or NO_PAGE */
	tp_access	choice;			/* of what it was made */
	tp_reason	reason;			/* why, as wanted_soon */
	uint32_t	former;			/* processes that have had its number */
	tp_chooser *chooser;		/* NULL until it chooses, if it has its own */
} backend_state;

static inline backend_state *
backend_of(backend_state *backends, uint32_t number)
{
	return &backends[number % BACKEND_SLOTS];
}

static inline void
backends_free(backend_state *backends)
{
	if (backends != NULL)
		for (size_t i = 0; i < BACKEND_SLOTS; i++)
		{
			free(backends[i].queue);
			free(backends[i].chooser);
		}
	free(backends);
}

/*
 * Note a reference.  Returns whether it repeats the backend's previous one
 * within the window.
 */
static inline bool
backend_repeats(backend_state *b, uint32_t number, uint64_t page, uint64_t now,
				uint64_t window)
{
	bool		same = b->referenced && b->number == number &&
		b->page == page && now - b->time <= window;

	b->referenced = true;
	b->number = number;
	b->page = page;
	b->time = now;
	return same;
}

static inline bool
backend_has_queue(backend_state *b)
{
	if (b->queue == NULL)
		b->queue = calloc(1, sizeof(*b->queue));
	return b->queue != NULL;
}

/* Does the page table map the page to this frame? */
static inline bool
cache_holds(void *cache, uint32_t frame, tp_page page)
{
	return pagetable_find(&((tps_cache *) cache)->table,
						  page.relation << 32 | page.block) == frame;
}

/* Report all that this backend has queued to the policy. */
static inline void
backend_commit(backend_state *b, tps_cache *cache, const tp_access *access)
{
	if (b->queue != NULL)
		tp_batch_commit(&cache->pool, b->queue, access, cache_holds, cache);
}

/*
 * Queue a hit of this backend or, with TP_BATCH_ADMISSION, a page that it has
 * brought in or, with TP_BATCH_RESTORATION, one that stays in a frame that it has
 * chosen.  When `size` entries are queued, report them all to the policy.
 * In a replay the lock is always free, so there is no threshold below the
 * queue's size.  False when memory ran out.
 */
static inline bool
backend_queue(backend_state *b, tps_cache *cache, uint32_t frame,
			  uint64_t page, const tp_access *access, uint32_t kind,
			  uint32_t size)
{
	tp_batch_due due;

	if (!backend_has_queue(b))
		return false;
	if (kind == TP_BATCH_ADMISSION)
		due = tp_batch_admit(b->queue, frame, cache_page(page), access->flags,
							 size, size);
	else if (kind == TP_BATCH_RESTORATION)
		due = tp_batch_restore(b->queue, frame, cache_page(page), size, size);
	else
		due = tp_batch_add(b->queue, frame, cache_page(page), access->flags,
						   size, size);
	if (due != TP_BATCH_QUEUED)
		backend_commit(b, cache, access);
	return true;
}

/*
 * This backend makes the choices from now on.  Number 0 has the pool's own
 * chooser, which is initialised in the same way.  False when memory ran out.
 */
static inline bool
backend_chooses(backend_state *b, tps_cache *cache, uint32_t number)
{
	bool		new = b->chooser == NULL;

	if (number == 0)
	{
		cache->pool.chooser = &cache->pool.header->chooser;
		return true;
	}
	if (new)
		b->chooser = malloc(sizeof(*b->chooser));
	if (b->chooser == NULL)
		return false;
	cache->pool.chooser = b->chooser;
	if (new)
		tp_chooser_init(&cache->pool, cache->seed, number, b->former);
	return true;
}

/* The backend is another process from now on: so many have had its number. */
static inline void
backend_begins(backend_state *b, tps_cache *cache, uint32_t number, uint32_t former)
{
	b->referenced = false;
	b->former = former;
	if (number == 0)
		cache->pool.chooser = &cache->pool.header->chooser;
	else if (b->chooser != NULL)
		cache->pool.chooser = b->chooser;
	else
		return;
	tp_chooser_init(&cache->pool, cache->seed, number, former);
}

#endif							/* TIDEPOOL_SIM_BACKENDS_H */
