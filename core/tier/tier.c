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

uint32_t
tp_tier_offer(const tp_tier *tier, tp_page page, tp_usable usable, void *arg,
			  const tp_access *access)
{
	uint32_t	frame = tp_victim(&tier->pool, page, usable, arg, access);

	tier->counters->refused += frame == TP_REFUSED;
	return frame;
}

void
tp_tier_evict(const tp_tier *tier, uint32_t frame, const tp_access *access)
{
	tier->counters->evicted++;
	tier->stale[frame] = 0;
	tp_evict(&tier->pool, frame, access);
}

void
tp_tier_admit(const tp_tier *tier, uint32_t frame, tp_page page,
			  const tp_access *access)
{
	tier->counters->admitted++;
	tp_admit(&tier->pool, frame, page, access);
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
	tier->stale[frame] = 0;
}

void
tp_tier_forget(const tp_tier *tier, uint32_t frame)
{
	tier->counters->forgotten++;
	tier->stale[frame] = 0;
	tp_forget(&tier->pool, frame);
	tp_release(&tier->pool, frame);
}

int
tp_tier_check(const tp_tier *tier, tp_report report, void *arg)
{
	const tp_pool *pool = &tier->pool;
	int			bad = tp_check(pool, NULL, NULL, report, arg);

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);

		bad += tp_expect(tp_is_resident(pool, frame) || !tier->stale[frame],
						 "stale copy in a free frame", frame, report, arg);
	}
	return bad;
}
