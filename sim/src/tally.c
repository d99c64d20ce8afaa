/*
 * tally.c
 *	  See tally.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tally.h"

bool
tally_init(tally *t, const tps_options *options)
{
	memset(t, 0, sizeof(*t));
	t->options = *options;
	t->counting = options->warmup == 0;
	t->interval_end = options->interval;
	t->detailed = options->per_relation || options->per_group ||
		options->per_event;
	return pagemap_init(&t->relation_index) &&
		(!options->per_group || pagemap_init(&t->page_hits));
}

void
tally_free(tally *t)
{
	free(t->series);
	free(t->relations);
	free(t->looks);
	free(t->missed);
	pagemap_free(&t->relation_index);
	pagemap_free(&t->page_hits);
}

bool
tally_feed(tally *t, size_t events)
{
	if (!t->options.per_event)
		return true;
	if (events > t->missed_room)
	{
		free(t->missed);
		t->missed = malloc(events);
		t->missed_room = t->missed == NULL ? 0 : events;
	}
	if (t->missed != NULL)
		memset(t->missed, 0, events);
	return t->missed != NULL || events == 0;
}

/* The first of the events from .. to - 1 with this many references before it. */
static size_t
first_after(const uint64_t *before, size_t from, size_t to, uint64_t references)
{
	while (from < to)
	{
		size_t		middle = from + (to - from) / 2;

		if (before[middle] < references)
			from = middle + 1;
		else
			to = middle;
	}
	return to;
}

size_t
tally_run_end(const tally *t, const tps_events *events, size_t from, size_t to)
{
	uint64_t	end = UINT64_MAX;

	if (!t->counting)
		end = t->options.warmup;
	if (t->options.interval > 0 && t->interval_end < end)
		end = t->interval_end;
	if (events->before != NULL)
		return first_after(events->before, from, to, end);
	return to - from > end - t->position ?
		from + (size_t) (end - t->position) : to;
}

/* Counting begins: clear the sums of the warm-up. */
static void
end_warmup(tally *t)
{
	memset(&t->totals, 0, sizeof(t->totals));
	for (size_t i = 0; i < t->relation_count; i++)
		t->relations[i].requests = t->relations[i].misses = 0;
	memset(t->group_misses, 0, sizeof(t->group_misses));
}

static bool
end_interval(tally *t)
{
	if (t->series_count == t->series_room)
	{
		size_t		room = t->series_room == 0 ? 256 : 2 * t->series_room;
		uint64_t   *series = realloc(t->series, room * sizeof(*series));

		if (series == NULL)
			return false;
		t->series = series;
		t->series_room = room;
	}
	t->series[t->series_count++] = t->interval_misses;
	t->interval_misses = 0;
	t->interval_end += t->options.interval;
	return true;
}

bool
tally_come_to(tally *t, uint64_t position)
{
	t->position = position;
	if (!t->counting && position >= t->options.warmup)
	{
		t->counting = true;
		end_warmup(t);
	}
	while (t->options.interval > 0 && position >= t->interval_end)
		if (!end_interval(t))
			return false;
	return true;
}

bool
tally_run(tally *t, const tps_events *events, size_t from, size_t to,
		  uint64_t misses)
{
	t->totals.requests += to - from;
	t->totals.misses += misses;
	t->interval_misses += misses;
	return tally_come_to(t, events->before == NULL ?
						 t->position + (to - from) : events->before[to - 1] + 1);
}

bool
tally_end(tally *t, uint64_t references)
{
	uint64_t	begin;

	if (!tally_come_to(t, references))
		return false;
	begin = t->interval_end - t->options.interval;
	return t->options.interval == 0 || references <= begin || end_interval(t);
}

bool
tally_search(tally *t, uint32_t looks)
{
	if (t->search_count == t->search_room)
	{
		size_t		room = t->search_room == 0 ? 1024 : 2 * t->search_room;
		uint32_t   *grown = realloc(t->looks, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		t->looks = grown;
		t->search_room = room;
	}
	t->looks[t->search_count++] = looks;
	return true;
}

static count_pair *
relation_of(tally *t, uint64_t relation)
{
	uint64_t   *index;

	if (t->last != NULL && t->last->key == relation)
		return t->last;
	if (!pagemap_reserve(&t->relation_index))
		return NULL;
	index = pagemap_at(&t->relation_index, relation);
	if (*index == PAGEMAP_ABSENT)
	{
		if (t->relation_count == t->relation_room)
		{
			size_t		room = t->relation_room == 0 ? 16 : 2 * t->relation_room;
			count_pair *relations = realloc(t->relations,
											room * sizeof(*relations));

			if (relations == NULL)
			{
				*index = 0;		/* the slot must not stay half made */
				return NULL;
			}
			t->relations = relations;
			t->relation_room = room;
		}
		*index = t->relation_count;
		t->relations[t->relation_count++] = (count_pair)
		{
			relation, 0, 0
		};
	}
	return t->last = &t->relations[*index];
}

/* The group of a page, independent of the sampling hash. */
static size_t
group_of(uint64_t page)
{
	return tp_mix64(page) % TPS_GROUPS;
}

static bool
count_in_group(tally *t, uint64_t page, bool miss)
{
	uint64_t   *hits;

	if (!pagemap_reserve(&t->page_hits))
		return false;
	hits = pagemap_at(&t->page_hits, page);
	if (*hits == PAGEMAP_ABSENT)
		*hits = 0;
	*hits += miss ? 1 : (UINT64_C(1) << 32) + 1;
	t->group_misses[group_of(page)] += miss;
	return true;
}

bool
tally_detail(tally *t, size_t i, uint64_t page, bool miss)
{
	if (t->options.per_event)
		t->missed[i] = miss;
	if (t->options.per_relation)
	{
		count_pair *relation = relation_of(t, page >> 32);

		if (relation == NULL)
			return false;
		relation->requests++;
		relation->misses += miss;
	}
	return !t->options.per_group || count_in_group(t, page, miss);
}

void
tally_groups(const tally *t, double *hit_ratios, uint64_t *misses)
{
	const pagemap *map = &t->page_hits;

	for (size_t i = 0; i < TPS_GROUPS; i++)
	{
		hit_ratios[i] = 0;
		misses[i] = t->counting ? t->group_misses[i] : 0;
	}
	for (size_t i = 0; i < (size_t) 1 << map->bits; i++)
	{
		uint64_t	hits = map->slots[i].value;

		if (hits != PAGEMAP_ABSENT)
			hit_ratios[group_of(map->slots[i].key)] +=
				(double) (hits >> 32) / (double) (hits & UINT32_MAX);
	}
}
