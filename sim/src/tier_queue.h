/*
 * tier_queue.h
 *	  A small queue of pages waiting to be written to an SSD.
 *
 * A writer writes them in order, each in the same time, while the cache goes
 * on.  When the queue is full, the page of the coldest extent is dropped and
 * not written to the SSD; the newly added page may be that page.  Of equally
 * cold pages the latest is dropped.
 *
 * Times are in microseconds, by the caller's clock.
 */
#ifndef TIDEPOOL_SIM_TIER_QUEUE_H
#define TIDEPOOL_SIM_TIER_QUEUE_H

#include "tidepool/tier/tier.h"

typedef struct tier_queue
{
	uint32_t   *frames;			/* [room + 1], oldest first */
	uint32_t	n;
	uint32_t	room;			/* 0: nothing waits */
	unsigned char *waiting;		/* [capacity] nonzero: the frame is in frames */
	double		each;			/* time to write a page */
	double		idle_since;		/* when the writer finished the last one */
} tier_queue;

/*
 * For up to room pages, in frames below capacity.  With room 0 nothing may be
 * added.  False when memory ran out.
 */
bool		tier_queue_init(tier_queue *queue, uint32_t room,
							uint32_t capacity, double each);
void		tier_queue_free(tier_queue *queue);

/* Let the writer work until now; returns how many pages it has written. */
uint32_t	tier_queue_drain(tier_queue *queue, double now);

/*
 * Add the frame's page, unless it waits already.  Returns whether the queue
 * overflows: tier_queue_drop must follow.
 */
bool		tier_queue_add(tier_queue *queue, uint32_t frame, double now);

/* Drop a page; returns its frame. */
uint32_t	tier_queue_drop(tier_queue *queue, const tp_tier *tier);

/* Take the frame's page out, if it waits. */
void		tier_queue_cancel(tier_queue *queue, uint32_t frame);

#endif							/* TIDEPOOL_SIM_TIER_QUEUE_H */
