/*
 * sketch.c
 *	  The count-min sketch.  See sketch.h.
 */
#include <string.h>

#include "tidepool/frame.h"
#include "tidepool/parts/hash.h"
#include "tidepool/parts/sketch.h"

_Static_assert(sizeof(tp_sketch_cell) == 16, "a group is a cache line");

static tp_sketch_cell *
cell_at(const tp_pool *pool, uint32_t number)
{
	return tp_extra(pool, tp_member(pool, number));
}

static uint32_t
group_count(const tp_pool *pool)
{
	return pool->header->frames / TP_SKETCH_GROUP;
}

/* The first cell of the key's group, in a pool that has groups. */
static uint32_t
group_of(const tp_pool *pool, uint64_t key)
{
	return tp_linear_hash(key, group_count(pool)) * TP_SKETCH_GROUP;
}

/* The counter that the lowest of these bytes chooses. */
static uint32_t
counter_of(uint32_t bytes)
{
	return (bytes & 0xff) * TP_SKETCH_COLUMNS >> 8;
}

static uint32_t
count_at(const tp_sketch_cell *cell, uint32_t counter)
{
	return cell->counters[counter / 2] >> (counter % 2 * 4) & 0x0f;
}

/* Halvings that the cell has missed; four leave nothing of a counter. */
static uint32_t
halvings_due(const tp_sketch_cell *cell, const tp_sketch *sketch)
{
	uint16_t	due = (uint16_t) (sketch->halvings - cell->halvings);

	return due < 4 ? due : 4;
}

/* Rarely needed; inlined it would take registers from tp_sketch_add. */
__attribute__((noinline)) static void
halve(tp_sketch_cell *cell, const tp_sketch *sketch)
{
	uint32_t	due = halvings_due(cell, sketch);
	uint32_t	kept = UINT32_C(0x0f) >> due;	/* bits of a counter */

	for (size_t i = 0; i < sizeof(cell->counters); i++)
		cell->counters[i] = (uint8_t) (cell->counters[i] >> due &
									   (kept | kept << 4));
	cell->halvings = sketch->halvings;
}

static void
catch_up(tp_sketch_cell *cell, const tp_sketch *sketch)
{
	if (cell->halvings != sketch->halvings)
		halve(cell, sketch);
}

/*
 * Every reference comes through here.  So no branch waits for a counter, no
 * shift is by a variable, and the loop works on local copies: a store to a
 * counter, a byte, might alias anything and would force it to be loaded again.
 *
 * Halving is due also when frames have left, so it is tested for even if no
 * counter was raised.
 */
void
tp_sketch_add(const tp_pool *pool, tp_sketch *sketch, uint64_t key)
{
	const tp_sketch now = *sketch;
	unsigned char *extra = pool->extra;
	size_t		stride = pool->extra_stride;
	const uint32_t *members;
	uint32_t	bytes = (uint32_t) (key >> 32);
	uint32_t	added = 0;

	if (group_count(pool) == 0)
		return;
	members = tp_member_place(pool, group_of(pool, key));
	for (uint32_t r = 0; r < TP_SKETCH_GROUP; r++)
	{
		tp_sketch_cell *cell = (void *) (extra + members[r] * stride);
		uint32_t	counter = counter_of(bytes);
		uint8_t    *pair = &cell->counters[counter / 2];
		uint32_t	full = 0x0f + counter % 2 * (0xf0 - 0x0f);
		uint32_t	one;

		catch_up(cell, &now);
		one = (*pair & full) != full;
		*pair += (uint8_t) (full & 0x11 & -one);
		added |= one;
		bytes >>= 8;
	}
	sketch->additions += added;
	if (sketch->additions >= TP_SKETCH_SAMPLE * (uint64_t) pool->header->frames)
	{
		sketch->additions /= 2;
		sketch->halvings++;
	}
}

uint32_t
tp_sketch_estimate(const tp_pool *pool, const tp_sketch *sketch, uint64_t key)
{
	uint32_t	bytes = (uint32_t) (key >> 32);
	uint32_t	least = TP_SKETCH_MAX;
	uint32_t	first;

	if (group_count(pool) == 0)
		return 0;
	first = group_of(pool, key);
	for (uint32_t r = 0; r < TP_SKETCH_GROUP; r++)
	{
		const tp_sketch_cell *cell = cell_at(pool, first + r);
		uint32_t	count = count_at(cell, counter_of(bytes)) >>
			halvings_due(cell, sketch);

		if (count < least)
			least = count;
		bytes >>= 8;
	}
	return least;
}

/* A line for each key: where members are consecutive it has all four cells. */
void
tp_sketch_prefetch(const tp_pool *pool, const uint64_t *keys, uint32_t count,
				   int step)
{
	/* loaded once, since frames may be joining or leaving */
	uint32_t	groups = __atomic_load_n(&pool->header->frames,
										 __ATOMIC_RELAXED) / TP_SKETCH_GROUP;

	if (groups == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t	first = tp_linear_hash(keys[i], groups) * TP_SKETCH_GROUP;

		if (step == 0)
			__builtin_prefetch(tp_member_place(pool, first));
		else
			__builtin_prefetch(cell_at(pool, first), 1);
	}
}

/* ---- frames come and go ---- */

/* The first cell of the group that this one, above 0, was split from. */
static uint32_t
parent_of(uint32_t group)
{
	return (group & ~(UINT32_C(1) << (31 - __builtin_clz(group)))) *
		TP_SKETCH_GROUP;
}

void
tp_sketch_join(const tp_pool *pool)
{
	uint32_t	group = group_count(pool) - 1;
	uint32_t	first = group * TP_SKETCH_GROUP;

	if (pool->header->frames % TP_SKETCH_GROUP != 0)
		return;
	for (uint32_t r = 0; r < TP_SKETCH_GROUP; r++)
		if (group == 0)
			memset(cell_at(pool, r), 0, sizeof(tp_sketch_cell));
		else
			*cell_at(pool, first + r) = *cell_at(pool, parent_of(group) + r);
}

static void
take_larger(tp_sketch_cell *into, tp_sketch_cell from, const tp_sketch *sketch)
{
	catch_up(into, sketch);
	catch_up(&from, sketch);
	for (size_t i = 0; i < sizeof(into->counters); i++)
	{
		uint8_t		a = into->counters[i];
		uint8_t		b = from.counters[i];
		uint8_t		low = (a & 0x0f) > (b & 0x0f) ? a & 0x0f : b & 0x0f;
		uint8_t		high = (a & 0xf0) > (b & 0xf0) ? a & 0xf0 : b & 0xf0;

		into->counters[i] = low | high;
	}
}

/*
 * The frame is no longer a member, but its extra bytes still hold cell `slot`.
 * The member that took its slot, if any, was the last and holds the last cell:
 * it takes over the other's.
 */
void
tp_sketch_leave(const tp_pool *pool, const tp_sketch *sketch, uint32_t frame,
				uint32_t slot)
{
	const tp_sketch_cell *left = tp_extra(pool, frame);
	uint32_t	number = pool->header->frames;	/* of the last cell */
	uint32_t	group = number / TP_SKETCH_GROUP;
	tp_sketch_cell last = *left;

	if (slot != number)
	{
		last = *cell_at(pool, slot);
		*cell_at(pool, slot) = *left;
	}
	if (group == 0 || number % TP_SKETCH_GROUP != TP_SKETCH_GROUP - 1)
		return;
	for (uint32_t r = 0; r < TP_SKETCH_GROUP; r++)
	{
		uint32_t	from = group * TP_SKETCH_GROUP + r;

		take_larger(cell_at(pool, parent_of(group) + r),
					from == number ? last : *cell_at(pool, from), sketch);
	}
}
