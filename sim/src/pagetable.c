/*
 * pagetable.c
 *	  See pagetable.h.
 */
#include <stdlib.h>

#include "memory.h"
#include "pagetable.h"

bool
pagetable_init(pagetable *table, uint32_t capacity)
{
	uint32_t	bits = 4;
	size_t		n;

	while ((UINT64_C(1) << bits) < 2 * (uint64_t) capacity)
		bits++;
	n = (size_t) 1 << bits;
	table->shift = 64 - bits;
	table->mask = (uint32_t) (n - 1);
	table->slots = memory_of_cache(n * sizeof(*table->slots));
	if (table->slots == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		table->slots[i] = (pagetable_slot)
		{
			0, TP_NONE
		};
	return true;
}

void
pagetable_free(pagetable *table)
{
	free(table->slots);
}
