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
	t->warmup_left = options->warmup;
	t->interval_left = options->interval;
	t->detailed = options->per_relation || options->per_page;
	return pagemap_init(&t->relation_index) &&
		(!options->per_page || pagemap_init(&t->pages));
}

void
tally_free(tally *t)
{
	free(t->series);
	free(t->relations);
	pagemap_free(&t->relation_index);
	pagemap_free(&t->pages);
}

size_t
tally_run_length(const tally *t, size_t n)
{
	if (t->warmup_left > 0 && n > t->warmup_left)
		n = (size_t) t->warmup_left;
	if (t->options.interval > 0 && n > t->interval_left)
		n = (size_t) t->interval_left;
	return n;
}

/* Counting begins: what the warm-up left in the sums goes. */
static void
end_warmup(tally *t)
{
	memset(&t->totals, 0, sizeof(t->totals));
	for (size_t i = 0; i < t->relation_count; i++)
		t->relations[i].requests = t->relations[i].misses = 0;
	if (t->options.per_page)
		for (size_t i = 0; i < (size_t) 1 << t->pages.bits; i++)
			if (t->pages.slots[i].value != PAGEMAP_ABSENT)
				t->pages.slots[i].value = 0;
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
	t->interval_left = t->options.interval;
	return true;
}

bool
tally_run(tally *t, size_t references, uint64_t misses)
{
	t->totals.requests += references;
	t->totals.misses += misses;
	if (t->warmup_left > 0 && (t->warmup_left -= references) == 0)
		end_warmup(t);
	if (t->options.interval > 0)
	{
		t->interval_misses += misses;
		if ((t->interval_left -= references) == 0)
			return end_interval(t);
	}
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

static bool
count_page(tally *t, uint64_t page, bool miss)
{
	uint64_t   *counts;

	if (!pagemap_reserve(&t->pages))
		return false;
	counts = pagemap_at(&t->pages, page);
	if (*counts == PAGEMAP_ABSENT)
		*counts = 0;
	*counts += ((uint64_t) miss << 32) + 1;
	return true;
}

bool
tally_detail(tally *t, uint64_t page, bool miss)
{
	if (t->options.per_relation)
	{
		count_pair *relation = relation_of(t, page >> 32);

		if (relation == NULL)
			return false;
		relation->requests++;
		relation->misses += miss;
	}
	return !t->options.per_page || count_page(t, page, miss);
}

size_t
tally_pages(const tally *t, uint64_t *pages, uint32_t *requests,
			uint32_t *misses)
{
	const pagemap *map = &t->pages;
	size_t		n = 0;

	if (pages == NULL || t->warmup_left > 0)
		return t->warmup_left > 0 ? 0 : (size_t) map->count;
	for (size_t i = 0; i < (size_t) 1 << map->bits; i++)
		if (map->slots[i].value != PAGEMAP_ABSENT)
		{
			pages[n] = map->slots[i].key;
			requests[n] = (uint32_t) map->slots[i].value;
			misses[n] = (uint32_t) (map->slots[i].value >> 32);
			n++;
		}
	return n;
}
