/*
 * pagemap.h
 *	  A growing hash table from 64-bit keys to 64-bit values.
 *
 * Open addressing, linear probing, at most half full, no deletion.  A value
 * of UINT64_MAX marks an empty slot, so it cannot be stored.
 */
#ifndef TIDEPOOL_SIM_PAGEMAP_H
#define TIDEPOOL_SIM_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidepool/prefetch.h"

#define PAGEMAP_ABSENT UINT64_MAX

typedef struct pagemap_slot
{
	uint64_t	key;
	uint64_t	value;
} pagemap_slot;

typedef struct pagemap
{
	pagemap_slot *slots;
	uint32_t	bits;			/* log2 of the number of slots */
	uint64_t	count;			/* entries */
} pagemap;

bool		pagemap_init(pagemap *map);
void		pagemap_free(pagemap *map);

/* Make room for one more entry.  False when memory ran out. */
bool		pagemap_reserve(pagemap *map);

static inline size_t
pagemap_home(const pagemap *map, uint64_t key)
{
	return (size_t) (((key ^ (key >> 29)) * UINT64_C(0x9e3779b97f4a7c15)) >>
					 (64 - map->bits));
}

TP_PREFETCHES static inline void
pagemap_prefetch(const pagemap *map, uint64_t key)
{
	__builtin_prefetch(&map->slots[pagemap_home(map, key)]);
}

/*
 * The value of the key, to read or to set.  If the key is new the value is
 * PAGEMAP_ABSENT, and the caller must set it.  Valid until the next reserve;
 * the caller has reserved room for the entry.
 */
static inline uint64_t *
pagemap_at(pagemap *map, uint64_t key)
{
	size_t		mask = ((size_t) 1 << map->bits) - 1;
	size_t		i = pagemap_home(map, key);

	while (map->slots[i].value != PAGEMAP_ABSENT && map->slots[i].key != key)
		i = (i + 1) & mask;
	if (map->slots[i].value == PAGEMAP_ABSENT)
	{
		map->slots[i].key = key;
		map->count++;
	}
	return &map->slots[i].value;
}

/* The value of the key, NULL if it is not there. */
static inline uint64_t *
pagemap_find(const pagemap *map, uint64_t key)
{
	size_t		mask = ((size_t) 1 << map->bits) - 1;
	size_t		i = pagemap_home(map, key);

	while (map->slots[i].value != PAGEMAP_ABSENT)
	{
		if (map->slots[i].key == key)
			return &map->slots[i].value;
		i = (i + 1) & mask;
	}
	return NULL;
}

#endif							/* TIDEPOOL_SIM_PAGEMAP_H */
