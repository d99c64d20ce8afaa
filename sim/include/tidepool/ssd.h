/*
 * ssd.h
 *	  A tier of pages on an SSD below a cache.
 *
 * The tier lies between the cache and the disk and is fed with what the cache
 * reads and writes (tps_replay_io).  Nothing flows back.  Or it follows a
 * server's own tier, from a recording (tps_tier_follow).
 *
 * Failure and threads: as in sim.h.
 */
#ifndef TIDEPOOL_SSD_H
#define TIDEPOOL_SSD_H

#include "tidepool/sim.h"
#include "tidepool/tier/tier.h"

/* The binding is generated from the text between the two marks. */
/* cffi: begin */

/*
 * A page read from the disk is offered to the SSD, then or when the cache evicts
 * it; dirty pages go to the disk, and also to the SSD if it has them
 * (write-through), or to the SSD first (write-back).
 *
 * COSTS.  A read costs what its device takes for a random or a sequential one.
 * The stream of all reads decides which (tidepool/tier/streams.h), whatever
 * device serves them: a read that continues a stream can be issued ahead.
 * Writes to the disk are classified in the same way, as a stream of their own.
 * Writes to the SSD are random, because its frames are in no order.
 */
typedef struct tps_tier_options
{
	tp_device	disk;
	tp_device	ssd;
	bool		write_back;
	bool		at_eviction;	/* pages are offered to the SSD when the cache
								 * evicts them, not when it reads them */
	uint32_t	write_buffer;	/* pages that may wait to be written to the
								 * SSD; 0: any number, written at once */
	double		dirty_limit;	/* of write-back: share of the frames that may
								 * be dirty */
	double		write_budget;	/* of write-through: pages that may be written
								 * to the SSD in a second of waiting; 0: any */
	double		write_budget_per_day;	/* likewise, in 24 hours */
} tps_tier_options;

typedef struct tps_tier_sums
{
	uint64_t	random_reads;	/* of the cache's misses */
	uint64_t	sequential_reads;
	uint64_t	random_hits;	/* of them, served by the SSD */
	uint64_t	sequential_hits;
	uint64_t	misjudged;		/* of them, those that count as of the other
								 * class in the temperatures
								 * (tidepool/tier/extents.h) */
	uint64_t	refused;		/* pages offered to the SSD that the policy
								 * did not want */
	uint64_t	too_dear;		/* pages not written to the SSD, or not again,
								 * for want of budget */
	uint64_t	random_writes;	/* to the disk */
	uint64_t	sequential_writes;
	uint64_t	ssd_writes;
	uint64_t	dropped;		/* pages that did not get to the SSD since too
								 * many were waiting */
	uint64_t	flushed;		/* dirty pages that went from the SSD to the
								 * disk */
	uint64_t	extents_forgotten;	/* for want of room for temperatures */
	uint64_t	recorded_hits;	/* of a recording: pages that the server's SSD
								 * has served */
	double		disk_read_time; /* microseconds */
	double		ssd_read_time;
	double		disk_write_time;
	double		ssd_write_time;
} tps_tier_sums;

typedef struct tps_tier tps_tier;

/* A tier over a cache, which it then owns; frees the cache on failure. */
tps_tier   *tps_tier_new(tps_cache *cache, const tps_tier_options *options);

/* No SSD: all reads and writes are the disk's. */
tps_tier   *tps_tier_new_none(const tps_tier_options *options);

/*
 * OPT with bypass on the SSD, for the fewest misses (sim/src/opt.h) or for the
 * least time (sim/src/opt_time.h).  It keeps no page that is not read again.
 * It writes through, and its writes never wait.
 */
tps_tier   *tps_tier_new_opt(uint32_t frames, bool by_time,
							 const tps_tier_options *options);
void		tps_tier_free(tps_tier *tier);

/*
 * Feed further reads and writes.  OPT needs next_use of the reads; OPT by time
 * also needs whether that next read is sequential.  Others ignore both.
 */
void		tps_tier_feed(tps_tier *tier, const tps_events *events,
						  const uint8_t *next_sequential);
void		tps_tier_totals(const tps_tier *tier, tps_tier_sums *totals);

/* Set the counters to 0. */
void		tps_tier_restart(tps_tier *tier);

/* What a relation wants of the SSD, as a server's "ssd_tier" says. */
typedef enum tps_choice
{
	TPS_AUTO,					/* what the policy thinks */
	TPS_KEEP,					/* its pages stay, if there is room */
	TPS_NONE					/* its pages do not come there */
} tps_choice;

/*
 * The relation, page >> 34 of its pages, wants this.  To be called before the
 * first feed, of a tier under a policy that does not write back.  Those to be
 * kept may have so much of the frames, 0 .. 1.  False when memory ran out.
 */
bool		tps_tier_choose(tps_tier *tier, uint64_t relation,
							tps_choice choice);
void		tps_tier_set_keep_share(tps_tier *tier, double share);

/*
 * A tier under a policy, new and with no write buffer, that follows a server's: it
 * is fed with a recording, not with what a cache reads and writes, and does what
 * the server did with the same.  extents: slots of the table of temperatures, a
 * power of two, at least 8.  Savings are 0, and no page comes in, until they are
 * set.  False when memory ran out.
 */
bool		tps_tier_follow(tps_tier *tier, uint32_t extents);

/*
 * Microseconds that reads of the SSD save from now on, and whether the server
 * finds that enough to bring pages in.
 */
void		tps_tier_set_savings(tps_tier *tier, double random,
								 double sequential, bool useful);

/* From now on so many pages may be written, in a second and in a day; 0: no limit. */
void		tps_tier_set_budget(tps_tier *tier, double write_budget,
								double write_budget_per_day);

/*
 * At this time of the recording so many pages could be written at once, and so many
 * had been in this hour and the 23 before it.  Time 0: when its first event happens.
 */
void		tps_tier_set_purse(tps_tier *tier, double purse, uint32_t day_writes,
							   uint64_t time);

/* Such a tier has this many frames, at most the cache's capacity; or no page. */
void		tps_tier_resize(tps_tier *tier, uint32_t frames);
void		tps_tier_empty(tps_tier *tier);

/*
 * Feed further events of the recording: those of kind physical read and write,
 * SSD has, lost, busy, freed and relation; others are ignored.  The events behind
 * a read that say which frames it found busy must come with it.  False when memory
 * ran out.
 */
bool		tps_tier_feed_recorded(tps_tier *tier, const tps_events *events);

/* As tps_cache_check, and the tier's own invariants. */
int			tps_tier_check(const tps_tier *tier, char *text, size_t size);

/*
 * Which reads the device sees as sequential: one byte for each event, 0 for
 * events that are not reads.  One object classifies one stream of events.
 */
typedef struct tps_classes tps_classes;
tps_classes *tps_classes_new(void);
void		tps_classes_free(tps_classes *classes);
void		tps_classes_feed(tps_classes *classes, const tps_events *events,
							 uint8_t *sequential);

/* cffi: end */

#endif							/* TIDEPOOL_SSD_H */
