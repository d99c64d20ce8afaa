/*
 * pagemap.c
 *	  See pagemap.h.
 */
#include <stdlib.h>

#include "pagemap.h"

static pagemap_slot *
make_slots(uint32_t bits)
{
	size_t		n = (size_t) 1 << bits;
	pagemap_slot *slots = malloc(n * sizeof(*slots));

	if (slots != NULL)
		for (size_t i = 0; i < n; i++)
			slots[i].value = PAGEMAP_ABSENT;
	return slots;
}

bool
pagemap_init(pagemap *map)
{
	map->bits = 10;
	map->count = 0;
	map->slots = make_slots(map->bits);
	return map->slots != NULL;
}

void
pagemap_free(pagemap *map)
{
	free(map->slots);
	map->slots = NULL;
}

bool
pagemap_reserve(pagemap *map)
{
	pagemap		larger;

	if (map->count + 1 <= ((size_t) 1 << map->bits) / 2)
		return true;
	larger.bits = map->bits + 1;
	larger.count = 0;
	larger.slots = make_slots(larger.bits);
	if (larger.slots == NULL)
		return false;
	for (size_t i = 0; i < (size_t) 1 << map->bits; i++)
		if (map->slots[i].value != PAGEMAP_ABSENT)
			*pagemap_at(&larger, map->slots[i].key) = map->slots[i].value;
	free(map->slots);
	*map = larger;
	return true;
}
