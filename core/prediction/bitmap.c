/*
 * bitmap.c
 *	  The block groups that a bitmap scan will read.  See scan.h.
 */
#include <string.h>

#include "prediction/bitmap.h"

void
tp_bitmap_init(tp_bitmap *bitmap, uint32_t size)
{
	memset(bitmap, 0, sizeof(*bitmap));
	bitmap->shift = 7;			/* TP_BLOCK_GROUP */
	while (size > 0 && (size - 1) >> bitmap->shift >= TP_BITMAP_GROUPS)
		bitmap->shift++;
}

void
tp_bitmap_add(tp_bitmap *bitmap, uint32_t first, uint32_t count)
{
	uint64_t	end = (uint64_t) first + count;

	for (uint64_t group = first >> bitmap->shift;
		 group << bitmap->shift < end && group < TP_BITMAP_GROUPS; group++)
		bitmap->words[group / 64] |= UINT64_C(1) << group % 64;
}

void
bitmap_enter(tp_bitmap *place, const tp_bitmap *bitmap)
{
	uint32_t	groups = 0;

	for (uint32_t i = 0; i < TP_BITMAP_GROUPS / 64; i++)
	{
		tp_store64(&place->words[i], bitmap->words[i]);
		tp_store16(&place->rank[i], (uint16_t) groups);
		groups += bits_in(bitmap->words[i]);
	}
	tp_store32(&place->groups, groups);
	tp_store32(&place->shift, bitmap->shift);
}

void
bitmap_range(const tp_bitmap *bitmap, tp_scan_spec *spec)
{
	uint32_t	low = TP_BITMAP_GROUPS;
	uint32_t	high = 0;

	for (uint32_t group = 0; group < TP_BITMAP_GROUPS; group++)
		if ((bitmap->words[group / 64] >> group % 64 & 1) != 0)
		{
			low = low < group ? low : group;
			high = group;
		}
	spec->bitmap = NULL;
	spec->size = 0;
	spec->count = 0;
	if (low > high)
		return;
	spec->first = low << bitmap->shift;
	spec->count = bitmap_blocks(high - low + 1, bitmap->shift);

	/* there is no block UINT32_MAX */
	if (spec->count > UINT32_MAX - spec->first)
		spec->count = UINT32_MAX - spec->first;
	if (spec->backward)
		spec->first += spec->count - 1;
}
