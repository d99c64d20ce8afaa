/*
 * tier.h
 *	  A tier of pages on an SSD, between the pages in memory and the disk.
 *
 * Source: Canim et al., PVLDB 2010 (see extents.h).
 *
 * The SSD's frames are a pool (pool.h) under any policy.  This is what
 * happens around that pool, in the words of whoever moves the pages; the
 * table that says which frame of the SSD a page is in is the caller's.
 *
 *	  memory misses a page:
 *		  if (tp_tier_read(tier, page, frame, &access))     frame: the page's,
 *			  ... read it from that frame of the SSD ...    or TP_NONE
 *		  else
 *			  ... read it from the disk ...
 *			  if (frame != TP_NONE)                         the copy was stale:
 *				  ... as when it is written, below ...
 *			  to = tp_tier_offer(tier, page, usable, arg, &access);
 *			  if (to == TP_NONE)                            not to be cached
 *			  if (tp_is_resident(&tier->pool, to))
 *				  tp_tier_evict(tier, to, &access);         its page is lost
 *			  ... write the page to that frame ...
 *			  tp_tier_admit(tier, to, page, &access);
 *
 *	  memory modifies a page that the SSD has:
 *		  tp_tier_dirtied(tier, frame);                     the copy is stale
 *
 *	  memory writes a dirty page to the disk (write-through):
 *		  if the SSD has it
 *			  ... write it to that frame too ...
 *			  tp_tier_written(tier, frame);                 the copy is good
 *
 *	  the page ceases to exist, or its copy cannot be written or read:
 *		  tp_tier_forget(tier, frame);
 *
 * INVARIANT.  A copy that is not stale equals the page on the disk.  So the
 * SSD may be lost at any moment: tp_tier_forget of every frame, and nothing
 * but speed is.  A stale copy is never served; it is counted when it would
 * have been, since a caller that writes through does not let it happen.
 *
 * MEMORY.  The pool's pieces, the temperatures (extents.h), a byte a frame
 * and the counters: all the caller's, all without pointers.
 *
 * LOCKING.  One lock, the tier's, around every call.  It need not be held
 * while pages are read or written, if the frame is not usable to others
 * meanwhile; a frame being filled is free until tp_tier_admit, as in pool.h.
 */
#ifndef TIDEPOOL_TIER_H
#define TIDEPOOL_TIER_H

#include "tidepool/tier/extents.h"
#include "tidepool/pool.h"

/* What a device takes for a page, in microseconds. */
typedef struct tp_device
{
	double		random_read;
	double		sequential_read;
	double		random_write;
	double		sequential_write;
} tp_device;

typedef struct tp_tier_counters
{
	uint64_t	reads;			/* memory misses */
	uint64_t	hits;			/* of them, served by the SSD */
	uint64_t	stale;			/* of them, not served since the copy was
								 * stale */
	uint64_t	refused;		/* pages read from the disk that were not to
								 * be cached */
	uint64_t	admitted;		/* pages that were */
	uint64_t	evicted;		/* pages that made room */
	uint64_t	updated;		/* copies written again with their page */
	uint64_t	forgotten;		/* copies dropped */
} tp_tier_counters;

/* One process's view of a tier, built by the caller, as tp_pool is. */
typedef struct tp_tier
{
	tp_pool		pool;			/* the SSD's frames */
	tp_extents *extents;		/* also pool.services->extents */
	unsigned char *stale;		/* [frame] nonzero: the copy is stale */
	tp_tier_counters *counters;
} tp_tier;

/*
 * What each read of a page saves if it is on the SSD: dR and dS of extents.h,
 * 0 if negative.  A page on the SSD lies anywhere, so it costs a random read
 * of the SSD either way.
 */
void		tp_tier_savings(const tp_device *disk, const tp_device *ssd,
							tp_extents_settings *settings);

/*
 * Memory misses a page that is in this frame of the SSD (TP_NONE: in none).
 * Warms the page's extent.  Returns whether the SSD is to serve it.
 */
bool		tp_tier_read(const tp_tier *tier, tp_page page, uint32_t frame,
						 const tp_access *access);

/*
 * The page was read from the disk: the frame to cache it in, free or to be
 * evicted first, or TP_NONE or TP_REFUSED, as tp_victim.
 */
uint32_t	tp_tier_offer(const tp_tier *tier, tp_page page, tp_usable usable,
						  void *arg, const tp_access *access);
void		tp_tier_evict(const tp_tier *tier, uint32_t frame,
						  const tp_access *access);
void		tp_tier_admit(const tp_tier *tier, uint32_t frame, tp_page page,
						  const tp_access *access);

/* The page in this frame was modified in memory; it was written again. */
void		tp_tier_dirtied(const tp_tier *tier, uint32_t frame);
void		tp_tier_written(const tp_tier *tier, uint32_t frame);

/* The frame's copy is of no use any more: the frame is free. */
void		tp_tier_forget(const tp_tier *tier, uint32_t frame);

/* As tp_check, and that no free frame is stale. */
int			tp_tier_check(const tp_tier *tier, tp_report report, void *arg);

#endif							/* TIDEPOOL_TIER_H */
