/*
 * tier_queue.h
 *	  The small buffer of pages on their way to an SSD.
 *
 * A writer takes them in order and needs the same time for each, while the
 * cache goes on.  When the buffer is full, the page of the coldest extent, the
 * one that comes included, is dropped: it is not on the SSD then.  Of equals
 * the latest goes.
 *
 * Times are in microseconds, by a clock of the caller's.
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
	double		each;			/* what the writer takes for a page */
	double		idle_since;		/* when it was done with the last one */
} tier_queue;

/*
 * For so many pages, in frames below capacity; room 0: for none, in which case
 * nothing may be added.  False when memory ran out.
 */
bool		tier_queue_init(tier_queue *queue, uint32_t room,
							uint32_t capacity, double each);
void		tier_queue_free(tier_queue *queue);

/* The writer has had until now: how many pages it has written. */
uint32_t	tier_queue_drain(tier_queue *queue, double now);

/*
 * The frame's page is to be written; it may be waiting already.  Returns
 * whether there are too many now: tier_queue_drop must follow.
 */
bool		tier_queue_add(tier_queue *queue, uint32_t frame, double now);

/* Drop a page.  Returns its frame. */
uint32_t	tier_queue_drop(tier_queue *queue, const tp_tier *tier);

/* The frame's page need not be written any more. */
void		tier_queue_cancel(tier_queue *queue, uint32_t frame);

#endif							/* TIDEPOOL_SIM_TIER_QUEUE_H */
