/*
 * tier.h
 *	  Internals of a tier on an SSD: its state, and the costs of reads and
 *	  writes.
 */
#ifndef TIDEPOOL_SIM_TIER_H
#define TIDEPOOL_SIM_TIER_H

#include "tidepool/ssd.h"
#include "tidepool/tier/streams.h"

#include "cache.h"
#include "events.h"
#include "opt_time.h"
#include "pagemap.h"
#include "tier_queue.h"

/*
 * A frame of a tier that follows a server's: its page is there; is lost and has not
 * left the frame yet; or is on its way, since this second.
 */
enum
{
	FOLLOWED_VALID = 1,
	FOLLOWED_GONE,
	FOLLOWED_QUEUED,			/* in second 0, modulo FOLLOWED_SECONDS */
	FOLLOWED_SECONDS = 250
};

struct tps_tier
{
	tps_tier_options options;
	tps_tier_sums totals;
	tps_cache  *cache;			/* NULL for OPT and for no SSD */
	opt_pool   *opt;			/* OPT by misses, or NULL */
	opt_time   *opt_time;		/* OPT by time, or NULL */
	tp_tier		core;			/* view of the cache */
	tp_tier_counters counters;
	tp_budget	budget;
	unsigned char *stale;		/* [capacity] core's */
	unsigned char *dirty;		/* [capacity] newer than the disk */
	uint32_t	dirty_count;
	uint64_t   *flushing;		/* [capacity] room for pages to be sorted */
	tier_queue	queue;			/* of pages on their way to the SSD */
	unsigned char *following;	/* [capacity] state of a frame with a page, of
								 * a tier that follows a server's; else NULL */
	uint64_t   *busy;			/* [capacity] likewise, the last read that
								 * found the frame in use */
	uint64_t	read;			/* reads that it followed */
	bool		useful;			/* of such a tier: pages come in */
	uint32_t	second;			/* of its clock, modulo FOLLOWED_SECONDS */
	double		first_purse;	/* its budget's, */
	uint32_t	day_writes;		/* and what was written in the day, */
	uint64_t	purse_time;		/* at this time, or 0: when it begins */
	tp_kept		kept;			/* core's */
	pagemap		choices;		/* tps_choices by relation; without slots if
								 * there are none */
	pagemap		numbers;		/* of a tier that follows a server's: that
								 * server's numbers of relations */

	/*
	 * The device's own view of what is sequential, which costs are counted
	 * by.  Policies have theirs (extents.h).
	 */
	tp_streams	reads;
	tp_streams	writes;			/* of the disk */
	double		clock;			/* microseconds that the cache has waited */
};

/* ---- what relations want ---- */

/* A tier that follows a server's has that server's numbers (tier_recorded.c). */
static inline uint64_t
relation_of(const tps_tier *tier, uint64_t page)
{
	return tier->following != NULL ? page >> 32 : page >> 34;
}

static inline tps_choice
tier_choice(const tps_tier *tier, uint64_t page)
{
	const uint64_t *choice;

	if (tier->choices.count == 0)
		return TPS_AUTO;
	choice = pagemap_find(&tier->choices, relation_of(tier, page));
	return choice == NULL ? TPS_AUTO : (tps_choice) *choice;
}

/* From now on relations may choose.  False when memory ran out. */
bool		tier_let_choose(tps_tier *tier);

/* ---- costs ---- */

/* Count pages written to the SSD. */
static inline void
tier_count_written(tps_tier *tier, uint32_t pages)
{
	tier->totals.ssd_writes += pages;
	for (uint32_t i = 0; i < pages; i++)
		tier->totals.ssd_write_time += tier->options.ssd.random_write;
}

/* The cache has waited this long; the writer went on meanwhile. */
static inline void
tier_spend(tps_tier *tier, double microseconds)
{
	tier->clock += microseconds;
	tier_count_written(tier, tier_queue_drain(&tier->queue, tier->clock));
}

static inline void
tier_disk_write(tps_tier *tier, uint64_t page)
{
	bool		sequential = tp_streams_access(&tier->writes, cache_page(page));
	double		time = sequential ? tier->options.disk.sequential_write :
		tier->options.disk.random_write;

	tier->totals.sequential_writes += sequential;
	tier->totals.random_writes += !sequential;
	tier->totals.disk_write_time += time;
	tier_spend(tier, time);
}

static inline void
tier_count_read(tps_tier *tier, bool sequential, bool from_ssd)
{
	const tp_device *device = from_ssd ? &tier->options.ssd :
		&tier->options.disk;
	double		time = sequential ? device->sequential_read : device->random_read;

	if (sequential)
	{
		tier->totals.sequential_reads++;
		tier->totals.sequential_hits += from_ssd;
	}
	else
	{
		tier->totals.random_reads++;
		tier->totals.random_hits += from_ssd;
	}
	if (from_ssd)
		tier->totals.ssd_read_time += time;
	else
		tier->totals.disk_read_time += time;
	tier_spend(tier, time);
}

/* Feed an event to a tier without a cache: under OPT, or without an SSD. */
void		tier_offline_event(tps_tier *tier, const tps_events *events,
							   size_t i, const uint8_t *next_sequential);

#endif							/* TIDEPOOL_SIM_TIER_H */
