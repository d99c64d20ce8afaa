/*
 * pagetable.h
 *	  Which frame holds a page.
 *
 * A hash table with open addressing and linear probing, at most half full.
 * Deletion moves back the entries that had probed past the removed one, so
 * there are no tombstones.
 *
 * Costs: 16 bytes a slot, 32 to 64 bytes a frame.
 * Benefits: a lookup is one or two cache lines, and its line can be
 * prefetched from the page alone.
 */
#ifndef TIDEPOOL_SIM_PAGETABLE_H
#define TIDEPOOL_SIM_PAGETABLE_H

#include "tidepool/page.h"
#include "tidepool/prefetch.h"

typedef struct pagetable_slot
{
	uint64_t	page;
	uint32_t	frame;			/* TP_NONE: the slot is empty */
} pagetable_slot;

typedef struct pagetable
{
	pagetable_slot *slots;
	uint32_t	shift;			/* home of a page: its mixed bits >> shift */
	uint32_t	mask;			/* number of slots - 1 */
} pagetable;

/* For at most capacity pages.  False when memory ran out. */
bool		pagetable_init(pagetable *table, uint32_t capacity);
void		pagetable_free(pagetable *table);

/* Fibonacci hashing of a page whose halves have been folded together. */
static inline uint32_t
pagetable_home(const pagetable *table, uint64_t page)
{
	uint64_t	folded = (page ^ (page >> 29)) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t) (folded >> table->shift);
}

/* Prefetch what finding, entering or removing this page will touch. */
TP_PREFETCHES static inline void
pagetable_prefetch(const pagetable *table, uint64_t page)
{
	__builtin_prefetch(&table->slots[pagetable_home(table, page)]);
}

/* The frame that holds the page, or TP_NONE. */
static inline uint32_t
pagetable_find(const pagetable *table, uint64_t page)
{
	uint32_t	i = pagetable_home(table, page);

	while (table->slots[i].frame != TP_NONE && table->slots[i].page != page)
		i = (i + 1) & table->mask;
	return table->slots[i].frame;
}

/* Enter a page that is not there. */
static inline void
pagetable_enter(pagetable *table, uint64_t page, uint32_t frame)
{
	uint32_t	i = pagetable_home(table, page);

	while (table->slots[i].frame != TP_NONE)
		i = (i + 1) & table->mask;
	table->slots[i].page = page;
	table->slots[i].frame = frame;
}

/* Remove a page that is there. */
static inline void
pagetable_remove(pagetable *table, uint64_t page)
{
	uint32_t	mask = table->mask;
	uint32_t	hole = pagetable_home(table, page);

	while (table->slots[hole].page != page ||
		   table->slots[hole].frame == TP_NONE)
		hole = (hole + 1) & mask;
	for (uint32_t i = (hole + 1) & mask; table->slots[i].frame != TP_NONE;
		 i = (i + 1) & mask)
	{
		uint32_t	home = pagetable_home(table, table->slots[i].page);

		if (((i - home) & mask) >= ((i - hole) & mask))
		{
			table->slots[hole] = table->slots[i];
			hole = i;
		}
	}
	table->slots[hole].frame = TP_NONE;
}

#endif							/* TIDEPOOL_SIM_PAGETABLE_H */
