/*
 * tier.h
 *	  A tier of pages on an SSD, between memory and the disk.
 *
 * Source: M. Canim, G. A. Mihaila, B. Bhattacharjee, K. A. Ross, C. A. Lang:
 * SSD bufferpool extensions for database systems. PVLDB 3(2), 2010.
 *
 * The SSD's frames are a pool (pool.h) under any policy.  The caller moves the
 * pages and knows which frame of the SSD a page is in:
 *
 *	  memory misses a page:
 *		  if (tp_tier_read(tier, page, frame, &access))     frame: the page's,
 *			  ... read it from that frame of the SSD ...    or TP_NONE
 *		  else
 *			  ... read it from the disk ...
 *			  if (frame != TP_NONE)                         the copy was stale:
 *				  ... as when it is written, below ...
 *			  to = tp_tier_offer(tier, page, usable, arg, &access);
 *			  if (!tp_is_frame(to))                         not to be cached
 *			  if (tp_is_resident(&tier->pool, to))
 *				  tp_tier_evict(tier, to, &access);         its page is lost
 *			  ... write the page to that frame ...
 *			  tp_tier_admit(tier, to, page, &access);
 *
 *	  memory modifies a page that the SSD has:
 *		  tp_tier_dirtied(tier, frame);                     the copy is stale
 *
 *	  memory writes a dirty page to the disk (write-through):
 *		  if the SSD has it, and tp_tier_renews(tier, frame)
 *			  ... write it to that frame too ...
 *			  tp_tier_written(tier, frame);                 the copy is good
 *		  else, if the SSD has it
 *			  tp_tier_forget(tier, frame);
 *
 *	  the page ceases to exist, or its copy cannot be written or read:
 *		  tp_tier_forget(tier, frame);
 *
 * INVARIANT.  A copy that is not stale equals the page on the disk.  So if the
 * SSD is lost, at any moment, speed alone is: call tp_tier_forget for every
 * frame.  A stale copy is never served.  A caller that writes through never
 * reads one, so such reads are counted.
 *
 * PAGES TO BE KEPT.  The caller may want some pages on the SSD more than the
 * policy does (TP_KEEP, keeping->is_kept).  Up to a share of the frames such a
 * page is admitted whatever the policy and the budget think of it, in the place
 * of the page that the policy would evict among the others; and no other page
 * takes its place.  Beyond the share, where more are to be kept than have room,
 * they are admitted and displaced as all pages are: the warmest stay, not those
 * that came first, and other pages lose the rest of the frames to warmer ones
 * only.
 *
 * THE BUDGET (budget.h).  An admission must gain the price of a write, and so
 * must a copy that is written again.  The caller calls tp_budget_advance before
 * it offers or writes pages, if the budget is limited.
 *
 * MEMORY.  The pool's pieces, the temperatures (extents.h), a byte a frame and
 * the counters: all the caller's, all without pointers.
 *
 * LOCKING.  One lock, the tier's, around every call.  It need not be held
 * while pages are read or written, if others cannot use the frame meanwhile; a
 * frame being filled is claimed or free until tp_tier_admit, as in pool.h.
 */
#ifndef TIDEPOOL_TIER_H
#define TIDEPOOL_TIER_H

#include "tidepool/tier/budget.h"
#include "tidepool/tier/extents.h"
#include "tidepool/pool.h"

/* What a device takes for one page, in microseconds. */
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
	uint64_t	stale;			/* of them, on the SSD but stale */
	uint64_t	refused;		/* pages read from the disk that the policy
								 * did not want */
	uint64_t	crowded;		/* likewise, that were to be kept beyond the
								 * share, or found all frames kept */
	uint64_t	too_dear;		/* pages not written, or not again, since they
								 * are not worth the price */
	uint64_t	admitted;		/* pages that came to the SSD */
	uint64_t	evicted;		/* pages that made room */
	uint64_t	updated;		/* copies written again with their page */
	uint64_t	forgotten;		/* copies dropped */
} tp_tier_counters;

/* Pages to be kept. */
typedef struct tp_kept
{
	uint32_t	frames;			/* that have such a page */
	double		share;			/* of all frames, that they may have: 0 .. 1 */
} tp_kept;

/*
 * Whatever the share, one frame in so many is for other pages, in a tier that has as
 * many: a search for a page that may go looks at about as many frames at most.
 */
#define TP_TIER_NOT_KEPT 64

/* One process's view of a tier, built by the caller, as tp_pool is. */
typedef struct tp_tier
{
	tp_pool		pool;			/* the SSD's frames */
	tp_extents *extents;		/* also pool.services->extents */
	unsigned char *stale;		/* [frame] nonzero: the copy is stale */
	tp_tier_counters *counters;
	tp_budget  *budget;			/* NULL: no limit */
	tp_kept    *kept;			/* NULL: no page is to be kept */
	tp_usable	is_kept;		/* is the page in this resident frame? */
	void	   *is_kept_arg;
} tp_tier;

/*
 * What a read of a page saves if it is on the SSD: dR and dS of extents.h, 0
 * if negative.  The SSD reads at random either way, since frames are anywhere.
 */
void		tp_tier_savings(const tp_device *disk, const tp_device *ssd,
							tp_extents_settings *settings);

/*
 * Memory misses a page, which is in this frame of the SSD or, if TP_NONE, in
 * none.  Warms its extent.  Returns whether the SSD serves it.
 */
bool		tp_tier_read(const tp_tier *tier, tp_page page, uint32_t frame,
						 const tp_access *access);

/*
 * The page was read from the disk.  Returns the frame to cache it in, free or
 * to be evicted first; or TP_NONE or TP_REFUSED, as tp_victim.  TP_KEEP among
 * the access's flags: it is to be kept, as is_kept must say once it is admitted.
 */
uint32_t	tp_tier_offer(const tp_tier *tier, tp_page page, tp_usable usable,
						  void *arg, const tp_access *access);
void		tp_tier_evict(const tp_tier *tier, uint32_t frame,
						  const tp_access *access);
void		tp_tier_admit(const tp_tier *tier, uint32_t frame, tp_page page,
						  const tp_access *access);

/*
 * A frame that is free has this page already, from before the tier's pool was
 * begun: nothing is written.
 */
void		tp_tier_adopt(const tp_tier *tier, uint32_t frame, tp_page page,
						  const tp_access *access);

/*
 * The pages of so many frames are to be kept from now on, or, if negative, need
 * not be kept any more: is_kept says otherwise than before.
 */
void		tp_tier_keep(const tp_tier *tier, int64_t frames);

/*
 * Memory is about to write the page in this frame to the disk.  Is the copy worth
 * to be written again?  If not the caller forgets it.
 */
bool		tp_tier_renews(const tp_tier *tier, uint32_t frame);

/* The page in this frame was modified in memory; it was written again. */
void		tp_tier_dirtied(const tp_tier *tier, uint32_t frame);
void		tp_tier_written(const tp_tier *tier, uint32_t frame);

/* The frame's copy is useless: the frame is free. */
void		tp_tier_forget(const tp_tier *tier, uint32_t frame);

/* As tp_check; also, no free frame is stale, and the kept frames are counted. */
int			tp_tier_check(const tp_tier *tier, tp_report report, void *arg);

#endif							/* TIDEPOOL_TIER_H */
