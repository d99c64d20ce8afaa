/*
 * extents.c
 *	  Temperatures of extents.  See extents.h.
 */
#include <string.h>

#include "tidepool/extents.h"

#define DEFAULT_AGING 10		/* reads a frame of the pool; see tac.c */

_Static_assert(sizeof(tp_extent) == 24, "a slot is 24 bytes");

/* ---- temperatures ---- */

/* 2^-n, exactly; 0 if it is too small to be a normal number. */
static double
halved(uint32_t n)
{
	uint64_t	bits = n > 1022 ? 0 : (uint64_t) (1023 - n) << 52;
	double		factor;

	memcpy(&factor, &bits, sizeof(factor));
	return factor;
}

double
tp_temperature_at(tp_temperature temperature, uint32_t epoch)
{
	return temperature.saved * halved(epoch - temperature.epoch);
}

bool
tp_colder(tp_temperature a, tp_temperature b)
{
	uint32_t	epoch = a.epoch > b.epoch ? a.epoch : b.epoch;

	return tp_temperature_at(a, epoch) < tp_temperature_at(b, epoch);
}

/* ---- the table ---- */

size_t
tp_extents_size(uint32_t slots)
{
	return sizeof(tp_extents) + (size_t) slots * sizeof(tp_extent);
}

void
tp_extents_init(tp_extents *extents, uint32_t slots,
				const tp_extents_settings *settings)
{
	memset(extents, 0, tp_extents_size(slots));
	extents->settings = *settings;
	extents->epoch_end = settings->aging;
	extents->mask = slots - 1;
}

static double
param(const tp_policy *policy, const double *params, const char *name,
	  double otherwise)
{
	int			i = policy->flags & TP_READS_EXTENTS ?
		tp_policy_param_find(policy, name) : -1;

	return i < 0 ? otherwise : params[i];
}

void
tp_extents_settings_of(const tp_policy *policy, const double *params,
					   uint32_t frames, tp_extents_settings *settings)
{
	double		aging = param(policy, params, "aging", DEFAULT_AGING) * frames;

	settings->pages = (uint32_t) param(policy, params, "extent",
									   TP_EXTENT_PAGES);
	settings->window = (uint32_t) param(policy, params, "window",
										TP_WINDOW_READS);
	settings->sequential_above = (uint32_t) param(policy, params,
												  "sequential_above",
												  TP_SEQUENTIAL_ABOVE);
	settings->aging = aging < 1 ? 1 : (uint64_t) aging;
}

static tp_temperature
temperature_of(const tp_extent *slot)
{
	tp_temperature temperature = {slot->saved, slot->epoch};

	return temperature;
}

static tp_page
extent_of(const tp_extents *extents, tp_page page)
{
	return tp_page_make(page.relation, page.block / extents->settings.pages);
}

/* The slot number i of those that the extent may be in. */
static uint32_t
slot_of(const tp_extents *extents, tp_page extent, uint32_t i)
{
	return ((uint32_t) tp_page_key(extent) + i) & extents->mask;
}

static bool
holds(const tp_extent *slot, tp_page extent)
{
	return slot->saved > 0 && slot->relation == extent.relation &&
		slot->number == extent.block;
}

static const tp_extent *
find(const tp_extents *extents, tp_page extent)
{
	for (uint32_t i = 0; i < TP_EXTENT_PROBES; i++)
	{
		const tp_extent *slot = &extents->slots[slot_of(extents, extent, i)];

		if (holds(slot, extent))
			return slot;
	}
	return NULL;
}

/* An extent's slot: its own, or an empty one, or that of the coldest. */
static tp_extent *
take(tp_extents *extents, tp_page extent)
{
	tp_extent  *coldest = NULL;

	for (uint32_t i = 0; i < TP_EXTENT_PROBES; i++)
	{
		tp_extent  *slot = &extents->slots[slot_of(extents, extent, i)];

		if (holds(slot, extent))
			return slot;
		if (coldest == NULL ||
			tp_colder(temperature_of(slot), temperature_of(coldest)))
			coldest = slot;
	}
	if (coldest->saved > 0)
		extents->forgotten++;
	coldest->relation = extent.relation;
	coldest->number = extent.block;
	coldest->epoch = extents->epoch;
	coldest->saved = 0;
	return coldest;
}

static void
warm(tp_extents *extents, tp_page page, double saving)
{
	tp_extent  *slot;

	if (saving <= 0)
		return;
	slot = take(extents, extent_of(extents, page));
	slot->saved = tp_temperature_at(temperature_of(slot), extents->epoch) +
		saving;
	slot->epoch = extents->epoch;
}

/* ---- the window ---- */

static bool
in_region(const tp_extents *extents, tp_page a, tp_page b)
{
	uint32_t	distance = a.block > b.block ? a.block - b.block :
		b.block - a.block;

	return a.relation == b.relation && distance < extents->settings.pages;
}

static bool
is_sequential(const tp_extents *extents, tp_page page)
{
	uint32_t	window = extents->settings.window;
	uint64_t	filled = extents->reads < window ? extents->reads : window;
	uint32_t	near = 0;

	for (uint32_t i = 0; i < filled; i++)
		near += in_region(extents, extents->recent[i], page);
	return near > extents->settings.sequential_above;
}

/* ---- reads ---- */

bool
tp_extents_read(tp_extents *extents, tp_page page)
{
	const tp_extents_settings *settings = &extents->settings;
	bool		sequential = is_sequential(extents, page);

	warm(extents, page, sequential ? settings->sequential_saving :
		 settings->random_saving);
	extents->recent[extents->reads % settings->window] = page;
	extents->sequential += sequential;
	if (++extents->reads == extents->epoch_end)
	{
		extents->epoch++;
		extents->epoch_end += settings->aging;
	}
	return sequential;
}

tp_temperature
tp_extents_temperature(const tp_extents *extents, tp_page page)
{
	tp_temperature temperature = {0, 0};
	const tp_extent *slot;

	if (extents == NULL)
		return temperature;
	temperature.epoch = extents->epoch;
	slot = find(extents, extent_of(extents, page));
	if (slot != NULL)
		temperature.saved = tp_temperature_at(temperature_of(slot),
											  extents->epoch);
	return temperature;
}
