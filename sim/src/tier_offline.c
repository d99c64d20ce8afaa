/*
 * tier_offline.c
 *	  A tier under OPT, and one without an SSD.
 *
 * OPT writes through, and its writes never wait.
 */
#include "tier.h"

/* OPT by misses; it does not keep a page that is not read again. */
static opt_outcome
opt_read(opt_pool *o, uint64_t page, uint64_t next_use)
{
	bool		wrote_back;
	uint64_t	written;

	if (next_use == UINT64_MAX)
		return opt_forget(o, page) ? OPT_HIT : OPT_REFUSED;
	return opt_reference(o, page, next_use, false, &wrote_back, &written);
}

static void
read_offline(tps_tier *tier, const tps_events *events, size_t i,
			 const uint8_t *next_sequential)
{
	uint64_t	page = events->page[i];
	bool		sequential = tp_streams_access(&tier->reads, cache_page(page));
	opt_outcome outcome;

	if (tier->opt != NULL)
		outcome = opt_read(tier->opt, page, events->next_use[i]);
	else if (tier->opt_time != NULL)
		outcome = opt_time_reference(tier->opt_time, page, events->position + i,
									 events->next_use[i], next_sequential[i]);
	else
	{
		tier_count_read(tier, sequential, false);
		return;
	}
	tier_count_read(tier, sequential, outcome == OPT_HIT);
	tier->totals.refused += outcome == OPT_REFUSED;
	if (outcome == OPT_MISS)
		tier_count_written(tier, 1);
}

static void
write_offline(tps_tier *tier, uint64_t page)
{
	tier_disk_write(tier, page);
	if ((tier->opt != NULL && opt_find(tier->opt, page) != TP_NONE) ||
		(tier->opt_time != NULL && opt_time_has(tier->opt_time, page)))
		tier_count_written(tier, 1);
}

static void
forget_offline(tps_tier *tier, uint64_t first, uint32_t count)
{
	for (uint64_t page = first; page - first < count; page++)
		if (tier->opt != NULL)
			opt_forget(tier->opt, page);
		else if (tier->opt_time != NULL)
			opt_time_forget(tier->opt_time, page);
	if (count == 0 && tier->opt != NULL)
		opt_forget_from(tier->opt, first);
	if (count == 0 && tier->opt_time != NULL)
		opt_time_forget_from(tier->opt_time, first);
}

void
tier_offline_event(tps_tier *tier, const tps_events *events, size_t i,
				   const uint8_t *next_sequential)
{
	uint64_t	page = events->page[i];
	uint32_t	count = events->count == NULL ? 0 : events->count[i];

	switch (event_kind(events, i))
	{
		case EVENT_READ:
			read_offline(tier, events, i, next_sequential);
			break;
		case EVENT_WRITE:
			write_offline(tier, page);
			break;
		case EVENT_FORGET:
			forget_offline(tier, page, count);
			break;
	}
}
