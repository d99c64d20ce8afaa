/*
 * extents.c
 *	  Temperatures of extents.  See extents.h.
 */
#include <string.h>

#include "tidepool/tier/extents.h"

/*
 * For policies without these parameters, in reads for each frame of the pool:
 * tac's default, and a second temperature that tac does not read.
 */
#define DEFAULT_AGING 10
#define DEFAULT_BURST 1

_Static_assert(sizeof(tp_extent) == 64, "a slot is a cache line");

/* ---- temperatures ---- */

/* 2^-n, exactly; 0 if that is too small for a normal number. */
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
tp_extents_init(tp_extents *extents, uint32_t slots, uint32_t frames,
				const tp_extents_settings *settings)
{
	memset(extents, 0, tp_extents_size(slots));
	extents->settings = *settings;
	extents->mask = slots - 1;
	tp_extents_resize(extents, frames);
}

static uint64_t
epoch_length(double per_frame, uint32_t frames)
{
	double		reads = per_frame * frames;

	return reads < 1 ? 1 : (uint64_t) reads;
}

void
tp_extents_resize(tp_extents *extents, uint32_t frames)
{
	extents->aging = epoch_length(extents->settings.aging_per_frame, frames);
	extents->burst = epoch_length(extents->settings.burst_per_frame, frames);
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
					   tp_extents_settings *settings)
{
	settings->pages = (uint32_t) param(policy, params, "extent",
									   TP_EXTENT_PAGES);
	settings->window = (uint32_t) param(policy, params, "window",
										TP_WINDOW_READS);
	settings->sequential_above = (uint32_t) param(policy, params,
												  "sequential_above",
												  TP_SEQUENTIAL_ABOVE);
	settings->streams = param(policy, params, "streams", 0) != 0;
	settings->apart = param(policy, params, "pages", 0) != 0;
	settings->burst_weight = param(policy, params, "burst_weight", 0);
	settings->aging_per_frame = param(policy, params, "aging", DEFAULT_AGING);
	settings->burst_per_frame = param(policy, params, "burst", DEFAULT_BURST);
}

static tp_temperature
temperature_of(const tp_extent *slot)
{
	tp_temperature temperature = {slot->saved, slot->epoch};

	return temperature;
}

static uint64_t
key_of(const tp_extents *extents, tp_page page)
{
	return tp_page_key(tp_page_make(page.relation,
									page.block / extents->settings.pages));
}

/* Slot i of those that the extent may be in. */
static uint32_t
slot_of(const tp_extents *extents, uint64_t key, uint32_t i)
{
	return ((uint32_t) key + i) & extents->mask;
}

static bool
holds(const tp_extent *slot, uint64_t key)
{
	return slot->key == key && slot->saved > 0;
}

static const tp_extent *
find(const tp_extents *extents, uint64_t key)
{
	for (uint32_t i = 0; i < TP_EXTENT_PROBES; i++)
	{
		const tp_extent *slot = &extents->slots[slot_of(extents, key, i)];

		if (holds(slot, key))
			return slot;
	}
	return NULL;
}

/* The extent's slot; if it has none, an empty one or that of the coldest. */
static tp_extent *
take(tp_extents *extents, uint64_t key)
{
	tp_extent  *coldest = NULL;

	for (uint32_t i = 0; i < TP_EXTENT_PROBES; i++)
	{
		tp_extent  *slot = &extents->slots[slot_of(extents, key, i)];

		if (holds(slot, key))
			return slot;
		if (coldest == NULL ||
			tp_colder(temperature_of(slot), temperature_of(coldest)))
			coldest = slot;
	}
	if (coldest->saved > 0)
		extents->forgotten++;
	memset(coldest, 0, sizeof(*coldest));
	coldest->key = key;
	coldest->epoch = extents->epoch;
	coldest->short_epoch = extents->short_epoch;
	return coldest;
}

/* ---- single pages ---- */

/* The index of the page's count. */
static uint32_t
count_of(const tp_extents *extents, tp_page page)
{
	uint32_t	pages = extents->settings.pages;
	uint64_t	number = page.block % pages;

	return (uint32_t) (pages <= TP_EXTENT_COUNTS ? number :
					   number * TP_EXTENT_COUNTS / pages);
}

static double
recent_now(const tp_extents *extents, const tp_extent *slot)
{
	return slot->recent * halved(extents->short_epoch - slot->short_epoch);
}

/* Halve the slot's values once for each epoch that has passed. */
static void
catch_up(const tp_extents *extents, tp_extent *slot)
{
	uint32_t	due = extents->epoch - slot->epoch;

	slot->recent = recent_now(extents, slot);
	slot->short_epoch = extents->short_epoch;
	if (due == 0)
		return;
	slot->saved = tp_temperature_at(temperature_of(slot), extents->epoch);
	slot->epoch = extents->epoch;
	for (uint32_t i = 0; i < TP_EXTENT_COUNTS; i++)
		slot->counts[i] = (uint8_t) (due > 7 ? 0 : slot->counts[i] >> due);
}

/* Raise the temperature of the page's extent by this saving. */
static void
warm(tp_extents *extents, tp_page page, double saving, bool random)
{
	tp_extent  *slot;
	uint8_t    *count;

	if (saving <= 0)
		return;
	slot = take(extents, key_of(extents, page));
	catch_up(extents, slot);
	slot->saved += saving;
	slot->recent += saving;
	count = &slot->counts[count_of(extents, page)];
	if (random)
		*count = (uint8_t) (*count > UINT8_MAX - TP_EXTENT_UNIT ? UINT8_MAX :
							*count + TP_EXTENT_UNIT);
}

/* See tp_extents_page.  Sums of counts are small integers, so they are exact. */
static double
page_factor(const tp_extents *extents, const tp_extent *slot, tp_page page)
{
	uint32_t	due = extents->epoch - slot->epoch;
	uint32_t	pages = extents->settings.pages;
	double		n = pages < TP_EXTENT_COUNTS ? pages : TP_EXTENT_COUNTS;
	uint32_t	own;
	uint32_t	sum = 0;
	uint32_t	squares = 0;
	double		mean;
	double		difference;

	if (due > 7)
		return 1;
	own = slot->counts[count_of(extents, page)] >> due;
	for (uint32_t i = 0; i < TP_EXTENT_COUNTS; i++)
	{
		uint32_t	count = slot->counts[i] >> due;

		sum += count;
		squares += count * count;
	}
	if (sum == 0)
		return 1;
	mean = sum / n / TP_EXTENT_UNIT;
	difference = squares / n / (TP_EXTENT_UNIT * TP_EXTENT_UNIT) - mean * mean -
		mean * 2 / 3;
	if (difference <= 0)
		return 1;
	return 1 + ((double) own / TP_EXTENT_UNIT / mean - 1) *
		(difference / (difference + mean));
}

double
tp_extents_page(const tp_extents *extents, tp_page page, bool pages,
				double burst_weight)
{
	const tp_extent *slot;
	double		burst;

	if (extents == NULL)
		return 0;
	slot = find(extents, key_of(extents, page));
	if (slot == NULL)
		return 0;
	burst = burst_weight * ((double) extents->aging / (double) extents->burst);
	return tp_temperature_at(temperature_of(slot), extents->epoch) *
		(pages ? page_factor(extents, slot, page) : 1) +
		burst * recent_now(extents, slot);
}

double
tp_extents_worth(const tp_extents *extents, tp_page page)
{
	return tp_extents_page(extents, page, extents->settings.apart,
						   extents->settings.burst_weight);
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
	bool		sequential = settings->streams ?
		tp_streams_access(&extents->streams, page) :
		is_sequential(extents, page);

	warm(extents, page, sequential ? settings->sequential_saving :
		 settings->random_saving, !sequential);
	extents->recent[extents->reads % settings->window] = page;
	extents->sequential += sequential;
	extents->reads++;
	if (extents->reads - extents->epoch_begin >= extents->aging)
	{
		extents->epoch++;
		extents->epoch_begin = extents->reads;
	}
	if (extents->reads - extents->short_epoch_begin >= extents->burst)
	{
		extents->short_epoch++;
		extents->short_epoch_begin = extents->reads;
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
	slot = find(extents, key_of(extents, page));
	if (slot != NULL)
		temperature.saved = tp_temperature_at(temperature_of(slot),
											  extents->epoch);
	return temperature;
}

/* ---- from one table to another ---- */

tp_extent
tp_extents_now(const tp_extents *extents, const tp_extent *slot)
{
	tp_extent	now = *slot;

	catch_up(extents, &now);
	return now;
}

void
tp_extents_restore(tp_extents *extents, tp_page page, const tp_extent *values)
{
	tp_extent  *slot = take(extents, key_of(extents, page));

	slot->saved = values->saved;
	slot->recent = values->recent;
	slot->epoch = extents->epoch;
	slot->short_epoch = extents->short_epoch;
	memcpy(slot->counts, values->counts, sizeof(slot->counts));
}
