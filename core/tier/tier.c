/*
 * tier.c
 *	  A tier of pages on an SSD.  See tier.h.
 */
#include "tidepool/tier/tier.h"

static double
saving(double disk, double ssd)
{
	return disk > ssd ? disk - ssd : 0;
}

void
tp_tier_savings(const tp_device *disk, const tp_device *ssd,
				tp_extents_settings *settings)
{
	settings->random_saving = saving(disk->random_read, ssd->random_read);
	settings->sequential_saving = saving(disk->sequential_read,
										 ssd->random_read);
}

bool
tp_tier_read(const tp_tier *tier, tp_page page, uint32_t frame,
			 const tp_access *access)
{
	tier->counters->reads++;
	tp_extents_read(tier->extents, page);
	if (frame == TP_NONE)
		return false;
	if (tier->stale[frame])
	{
		tier->counters->stale++;
		return false;
	}
	tier->counters->hits++;
	tp_hit(&tier->pool, frame, access);
	return true;
}

/* ---- pages to be kept ---- */

static bool
is_kept(const tp_tier *tier, uint32_t frame)
{
	return tier->kept != NULL && tp_is_resident(&tier->pool, frame) &&
		tier->is_kept(tier->is_kept_arg, frame);
}

/* How many frames pages to be kept may have. */
static double
share_of(const tp_tier *tier)
{
	uint32_t	frames = tier->pool.header->frames;
	double		share = tier->kept->share * frames;
	double		most = frames - frames / TP_TIER_NOT_KEPT;

	return share < most ? share : most;
}

void
tp_tier_keep(const tp_tier *tier, int64_t frames)
{
	tier->kept->frames = (uint32_t) (tier->kept->frames + frames);
}

/* What the caller asked of frames, and that they have no page to be kept. */
typedef struct search
{
	const tp_tier *tier;
	tp_usable	usable;
	void	   *arg;
} search;

static bool
is_usable_and_not_kept(void *arg, uint32_t frame)
{
	const search *asked = arg;

	return (asked->usable == NULL || asked->usable(asked->arg, frame)) &&
		!is_kept(asked->tier, frame);
}

/* ---- the budget ---- */

/*
 * May a page be written that saves so much more than without it?  Where reading the
 * SSD saves nothing, only while it costs nothing.
 */
static bool
is_worth_its_price(const tp_tier *tier, double gain)
{
	double		saving = tier->extents->settings.random_saving;
	double		price;

	if (tier->budget == NULL || !tp_budget_is_limited(tier->budget))
		return true;
	price = tp_budget_price(tier->budget);
	if (price == 0 || (saving > 0 && gain >= price * saving))
		return true;
	tier->counters->too_dear++;
	return false;
}

/* What the page in this frame saves; a free one, nothing. */
static double
worth_of(const tp_tier *tier, uint32_t frame)
{
	return tp_is_resident(&tier->pool, frame) ?
		tp_extents_worth(tier->extents, tp_page_of(&tier->pool, frame)) : 0;
}

static void
spend(const tp_tier *tier)
{
	if (tier->budget != NULL)
		tp_budget_spend(tier->budget);
}

bool
tp_tier_renews(const tp_tier *tier, uint32_t frame)
{
	return (is_kept(tier, frame) && tier->kept->frames <= share_of(tier)) ||
		is_worth_its_price(tier, worth_of(tier, frame));
}

/* ---- pages come to the SSD and go ---- */

uint32_t
tp_tier_offer(const tp_tier *tier, tp_page page, tp_usable usable, void *arg,
			  const tp_access *access)
{
	search		asked = {tier, usable, arg};
	tp_access	how = *access;
	bool		crowded = false;
	uint32_t	frame;

	if (tier->kept != NULL && tier->kept->frames >= share_of(tier) &&
		(how.flags & TP_KEEP))
	{
		crowded = true;
		how.flags &= ~(uint32_t) TP_KEEP;
	}
	else if (tier->kept != NULL && tier->kept->frames > 0 &&
			 tier->kept->frames <= share_of(tier))
	{
		usable = is_usable_and_not_kept;
		arg = &asked;
	}
	frame = tp_victim(&tier->pool, page, usable, arg, &how);
	if (frame == TP_NONE && tier->kept != NULL && tier->kept->frames > 0 &&
		tier->kept->frames >= tp_resident(&tier->pool))
	{
		crowded = true;
		frame = TP_REFUSED;
	}
	if (frame == TP_REFUSED)
	{
		tier->counters->crowded += crowded;
		tier->counters->refused += !crowded;
	}
	if (!tp_is_frame(frame) || (how.flags & TP_KEEP) ||
		is_worth_its_price(tier, tp_extents_worth(tier->extents, page) -
						   worth_of(tier, frame)))
		return frame;
	return TP_REFUSED;
}

void
tp_tier_evict(const tp_tier *tier, uint32_t frame, const tp_access *access)
{
	tier->counters->evicted++;
	tier->stale[frame] = 0;
	if (is_kept(tier, frame))
		tp_tier_keep(tier, -1);
	tp_evict(&tier->pool, frame, access);
}

void
tp_tier_adopt(const tp_tier *tier, uint32_t frame, tp_page page,
			  const tp_access *access)
{
	tp_admit(&tier->pool, frame, page, access);
	if (is_kept(tier, frame))
		tp_tier_keep(tier, 1);
}

void
tp_tier_admit(const tp_tier *tier, uint32_t frame, tp_page page,
			  const tp_access *access)
{
	tier->counters->admitted++;
	spend(tier);
	tp_tier_adopt(tier, frame, page, access);
}

void
tp_tier_dirtied(const tp_tier *tier, uint32_t frame)
{
	tier->stale[frame] = 1;
}

void
tp_tier_written(const tp_tier *tier, uint32_t frame)
{
	tier->counters->updated++;
	spend(tier);
	tier->stale[frame] = 0;
}

void
tp_tier_forget(const tp_tier *tier, uint32_t frame)
{
	tier->counters->forgotten++;
	tier->stale[frame] = 0;
	if (is_kept(tier, frame))
		tp_tier_keep(tier, -1);
	tp_forget(&tier->pool, frame);
	tp_release(&tier->pool, frame);
}

int
tp_tier_check(const tp_tier *tier, tp_report report, void *arg)
{
	const tp_pool *pool = &tier->pool;
	int			bad = tp_check(pool, NULL, NULL, report, arg);
	uint32_t	kept = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);

		bad += tp_expect(tp_is_resident(pool, frame) || !tier->stale[frame],
						 "stale copy in a free frame", frame, report, arg);
		kept += is_kept(tier, frame);
	}
	bad += tp_expect(tier->kept == NULL || tier->kept->frames == kept,
					 "wrong number of kept frames", kept, report, arg);
	return bad;
}
