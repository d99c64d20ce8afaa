/*
 * backends.h
 *	  What a replay keeps of each backend: its last reference, and hits that
 *	  it has queued.
 */
#ifndef TIDEPOOL_SIM_BACKENDS_H
#define TIDEPOOL_SIM_BACKENDS_H

#include <stdlib.h>

#include "tidepool/batch.h"
#include "tidepool/sim.h"

#define BACKEND_SLOTS 4096		/* backends are told apart modulo this; those
								 * that share a slot lose repetitions, never
								 * invent them, and queue their hits together */

typedef struct backend_state
{
	bool		referenced;		/* the next three are of a reference */
	uint32_t	number;
	uint64_t	page;
	uint64_t	time;
	tp_batch   *queue;			/* NULL until there is a hit to queue */
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
			free(backends[i].queue);
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

/*
 * Queue a hit of this backend, and tell the policy of all that are queued if
 * they are `size` now.  In a replay nobody else has the lock, so there is no
 * threshold before the queue's size.  False when memory ran out.
 */
static inline bool
backend_queue_hit(backend_state *b, const tp_pool *pool, uint32_t frame,
				  const tp_access *access, uint32_t size)
{
	if (b->queue == NULL && (b->queue = calloc(1, sizeof(*b->queue))) == NULL)
		return false;
	if (tp_batch_add(b->queue, frame, tp_page_of(pool, frame), access->flags,
					 size, size) != TP_BATCH_QUEUED)
		tp_batch_commit(pool, b->queue, access);
	return true;
}

/* Tell the policy of all that this backend has queued. */
static inline void
backend_commit(backend_state *b, const tp_pool *pool, const tp_access *access)
{
	if (b->queue != NULL)
		tp_batch_commit(pool, b->queue, access);
}

#endif							/* TIDEPOOL_SIM_BACKENDS_H */
