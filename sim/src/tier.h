/*
 * tier.h
 *	  Inside of a tier on an SSD.
 */
#ifndef TIDEPOOL_SIM_TIER_H
#define TIDEPOOL_SIM_TIER_H

#include "tidepool/tier/streams.h"

#include "cache.h"
#include "opt_time.h"

/* Pages that wait to be written to the SSD, in order. */
typedef struct tier_queue
{
	uint32_t   *frames;			/* [room + 1], oldest first */
	uint32_t	n;
	uint32_t	room;			/* 0: nothing waits */
	unsigned char *waiting;		/* [capacity] nonzero: the frame is in frames */
	double		idle_since;		/* when the writer was done with the last one;
								 * tier clock, microseconds */
} tier_queue;

struct tps_tier
{
	tps_tier_options options;
	tps_tier_sums totals;
	tps_cache  *cache;			/* NULL for OPT and for no SSD */
	opt_pool   *opt;			/* OPT by misses, or NULL */
	opt_time   *opt_time;		/* OPT by time, or NULL */
	tp_tier		core;			/* view of the cache */
	tp_tier_counters counters;
	unsigned char *stale;		/* [capacity] core's */
	unsigned char *dirty;		/* [capacity] newer than the disk */
	uint32_t	dirty_count;
	uint64_t   *flushing;		/* [capacity] room for pages to be sorted */
	tier_queue	queue;

	/*
	 * The device's own view of what is sequential, which costs are counted
	 * by.  Policies have theirs (extents.h).
	 */
	tp_streams	reads;
	tp_streams	writes;			/* of the disk */
	double		clock;			/* microseconds that the cache has waited */
};

/* ---- for tier.c alone ---- */

bool		queue_init(tier_queue *queue, uint32_t room, uint32_t capacity);
void		queue_free(tier_queue *queue);

/* The writer has had until now: the pages it got done with leave. */
void		queue_drain(tps_tier *tier);

/* The frame's page is to be written to the SSD. */
void		queue_write(tps_tier *tier, uint32_t frame);

/* The frame's page need not be written any more. */
void		queue_cancel(tier_queue *queue, uint32_t frame);

/* The frame's copy is given up; the page table no longer has it. */
void		tier_forget(tps_tier *tier, uint32_t frame);

#endif							/* TIDEPOOL_SIM_TIER_H */
