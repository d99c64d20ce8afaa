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

/* The group of this block, or the last one. */
static uint32_t
group_of(const tp_bitmap *bitmap, uint32_t block)
{
	uint32_t	group = block >> bitmap->shift;

	return group < TP_BITMAP_GROUPS ? group : TP_BITMAP_GROUPS - 1;
}

void
bitmap_enter(tp_bitmap *place, const tp_scan_spec *spec)
{
	const tp_bitmap *bitmap = spec->bitmap;
	uint32_t	first = group_of(bitmap, spec->first);
	uint32_t	groups = 0;
	uint32_t	start;

	for (uint32_t i = 0; i < TP_BITMAP_GROUPS / 64; i++)
	{
		tp_store64(&place->words[i], bitmap->words[i]);
		tp_store16(&place->rank[i], (uint16_t) groups);
		/* of most relations all but the first are empty */
		if (bitmap->words[i] != 0)
			groups += bits_in(bitmap->words[i]);
	}
	start = spec->backward ?
		bitmap_common(bitmap, NULL, first + 1, TP_BITMAP_GROUPS) :
		bitmap_common(bitmap, NULL, 0, first);
	tp_store32(&place->start, start < groups ? start : 0);
	tp_store32(&place->done, 0);
	tp_store32(&place->groups, groups);
	tp_store32(&place->shift, bitmap->shift);
}

void
bitmap_range(tp_scan_spec *spec)
{
	const tp_bitmap *bitmap = spec->bitmap;
	uint32_t	shift = bitmap->shift;
	uint32_t	first = group_of(bitmap, spec->first);
	uint32_t	low = TP_BITMAP_GROUPS;
	uint32_t	high = 0;

	for (uint32_t i = 0; i < TP_BITMAP_GROUPS / 64; i++)
	{
		uint64_t	word = bitmap->words[i];

		if (word == 0)
			continue;
		if (low == TP_BITMAP_GROUPS)
			low = i * 64 + (uint32_t) __builtin_ctzll(word);
		high = i * 64 + 63 - (uint32_t) __builtin_clzll(word);
	}
	spec->bitmap = NULL;
	spec->count = 0;
	if (low > high)
		return;
	if (first < low || first > high)
		first = spec->backward ? high : low;
	spec->low = low << shift;
	spec->count = bitmap_blocks(high - low + 1, shift);

	/* there is no block UINT32_MAX */
	if (spec->count > UINT32_MAX - spec->low)
		spec->count = UINT32_MAX - spec->low;
	spec->size = spec->count;
	spec->first = first << shift;
	if (spec->backward)
		spec->first = (first == high ? spec->low + spec->count :
					   (first + 1) << shift) - 1;
}

/* The n-th group of the bitmap, from 0; the last one if there are fewer. */
static uint32_t
nth_group(const tp_bitmap *bitmap, uint32_t n)
{
	uint32_t	last = 0;

	for (uint32_t group = 0; group < TP_BITMAP_GROUPS; group++)
	{
		if ((tp_load64(&bitmap->words[group / 64]) >> group % 64 & 1) == 0)
			continue;
		last = group;
		if (n-- == 0)
			break;
	}
	return last;
}

uint32_t
bitmap_block(const tp_bitmap *bitmap, uint32_t position, uint32_t backward)
{
	uint32_t	shift = tp_load32(&bitmap->shift) & 31;
	uint32_t	groups = tp_load32(&bitmap->groups);
	uint32_t	in_group = (UINT32_C(1) << shift) - 1;
	uint32_t	n = (position >> shift) + tp_load32(&bitmap->start);

	n = n < groups ? n : n - groups;
	if (!backward)
		return (nth_group(bitmap, n) << shift) + (position & in_group);
	return (nth_group(bitmap, n < groups ? groups - 1 - n : 0) << shift) +
		(in_group - (position & in_group));
}

uint32_t
bitmap_next(const tp_bitmap *bitmap, uint32_t group)
{
	for (uint32_t i = 0; i < TP_BITMAP_GROUPS; i++)
	{
		uint32_t	at = (group + i) % TP_BITMAP_GROUPS;

		if ((tp_load64(&bitmap->words[at / 64]) >> at % 64 & 1) != 0)
			return at;
	}
	return TP_NONE;
}

uint32_t
bitmap_common(const tp_bitmap *a, const tp_bitmap *b, uint32_t from,
			  uint32_t to)
{
	uint32_t	found = 0;

	for (uint32_t i = from / 64; i < TP_BITMAP_GROUPS / 64 && i * 64 < to; i++)
	{
		uint64_t	word = tp_load64(&a->words[i]);

		if (b != NULL)
			word &= tp_load64(&b->words[i]);
		if (word == 0)
			continue;
		if (from > i * 64)
			word &= UINT64_MAX << from % 64;
		if (to - i * 64 < 64)
			word &= ~(UINT64_MAX << to % 64);
		found += bits_in(word);
	}
	return found;
}
