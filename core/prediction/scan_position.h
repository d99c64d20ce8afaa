/*
 * scan_position.h
 *	  Where a block stands in the order of a scan, and what time it is.
 */
#ifndef TIDEPOOL_SCAN_POSITION_H
#define TIDEPOOL_SCAN_POSITION_H

#include "tidepool/prediction/scan.h"

/* Owner and readers of a lane are not synchronised: see LOCKING in scan.h. */
static inline void
set_u32(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

static inline void
set_float(float *field, float value)
{
	__atomic_store(field, &value, __ATOMIC_RELAXED);
}

/* A field that others may be writing: loaded once, whole. */
static inline uint32_t
get_u32(const uint32_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

/*
 * Ticks of about 65 milliseconds, counted modulo 2^32: four years may pass
 * before what has been gone for so long seems to be there again.
 */
static inline uint32_t
tick_of(uint64_t now)
{
	return (uint32_t) (now >> 16);
}

static inline bool
is_later(uint32_t tick, uint32_t than)
{
	return (int32_t) (tick - than) > 0;
}

/*
 * The block's place in the order of a range scan; length or more: not in it.
 * Blocks outside of where it goes round are not, among them those that the
 * relation gained since the scan began.
 */
static inline uint32_t
range_position(uint32_t block, uint32_t first, uint32_t low, uint32_t size,
			   uint32_t backward)
{
	uint32_t	away = ((block - first) ^ backward) - backward;
	bool		wrapped = backward ? block > first : block < first;

	/* size 0 becomes the largest number */
	if (block - low > size - 1)
		return UINT32_MAX;
	return away + (wrapped ? size : 0);
}

/* Bits set, without a library (Warren, Hacker's Delight, 5-1). */
static inline uint32_t
bits_in(uint64_t x)
{
	x -= (x >> 1) & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) +
		((x >> 2) & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t) ((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* Blocks of so many groups, as many as a number can tell. */
static inline uint32_t
bitmap_blocks(uint32_t groups, uint32_t shift)
{
	uint64_t	blocks = (uint64_t) groups << shift;

	return blocks < UINT32_MAX ? (uint32_t) blocks : UINT32_MAX;
}

/* The block's place in the order of a bitmap scan; UINT32_MAX: not in it. */
static inline uint32_t
bitmap_position(const tp_bitmap *bitmap, uint32_t block)
{
	uint32_t	shift = bitmap->shift & 31;
	uint32_t	group = block >> shift;
	uint64_t	word;
	uint64_t	bit = UINT64_C(1) << group % 64;

	if (group >= TP_BITMAP_GROUPS)
		return UINT32_MAX;
	word = bitmap->words[group / 64];
	if ((word & bit) == 0)
		return UINT32_MAX;
	return ((bitmap->rank[group / 64] + bits_in(word & (bit - 1))) << shift) +
		(block & ((UINT32_C(1) << shift) - 1));
}

/* The relation's place, or TP_NONE; *vacant: an empty one that it could have,
 * or TP_NONE. */
uint32_t	scan_relation(const tp_scans *scans, uint64_t relation,
						  uint32_t *vacant);

/* Fill in rank and groups. */
void		bitmap_rank(tp_bitmap *bitmap);

/* The smallest range that contains the bitmap's groups, as the spec's. */
void		bitmap_range(const tp_bitmap *bitmap, tp_scan_spec *spec);

/* ---- habits (scan_habits.c) ---- */

/* A scan of a relation that has blocks up to `end` begins; returns the index
 * of the relation's habits.  The caller holds the registry's lock. */
uint32_t	habits_begin(const tp_scans *scans, uint64_t relation, uint64_t end,
						 uint64_t now);

/* The scan has come to this block: without a lock, by the scan's owner. */
void		habits_pass(const tp_scans *scans, uint32_t number,
						uint32_t block, uint64_t now);

#endif							/* TIDEPOOL_SCAN_POSITION_H */
