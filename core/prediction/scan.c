/*
 * scan.c
 *	  The scan registry.  See scan.h.
 */
#include <string.h>

#include "prediction/scan_position.h"

/* What a scan of unknown speed is taken for before any was measured. */
#define FIRST_PACE 20.0f		/* microseconds a block: about 400 MB/s */

/* Blocks after which a scan's speed is measured. */
#define STRIDE (TP_BLOCK_GROUP / 4)

/* A new measurement's weight in the smoothed speed. */
#define WEIGHT 0.25f

/*
 * A measurement counts as at most so many times slower than the scan was so
 * far: one that paused is soon known again for what it is.
 */
#define SLOWDOWN 64

/* A scan has at least this many times the time of a stride to make one. */
#define PATIENT_STRIDES 16

/* ---- memory ---- */

static size_t
rounded(size_t size)
{
	return (size + 63) & ~(size_t) 63;
}

static uint32_t
relation_places(uint32_t capacity)
{
	uint32_t	places = TP_SCAN_PROBES;

	while (places < 4 * capacity)
		places *= 2;
	return places;
}

static uint32_t
habit_places(uint32_t capacity)
{
	uint32_t	places = 4;

	while (places < capacity / 4)
		places *= 2;
	return places;
}

/* Where the pieces are, in bytes from the beginning. */
typedef struct layout
{
	size_t		relations;
	size_t		lanes;
	size_t		scans;
	size_t		bitmaps;
	size_t		habits;
	size_t		end;
} layout;

static layout
layout_of(uint32_t capacity, uint32_t bitmaps)
{
	layout		at;

	at.relations = rounded(sizeof(tp_scans_header));
	at.lanes = at.relations +
		rounded(relation_places(capacity) * sizeof(tp_scan_relation));
	at.scans = at.lanes + rounded(capacity * sizeof(tp_scan_lanes));
	at.bitmaps = at.scans +
		rounded((size_t) capacity * TP_SCAN_LANES * sizeof(tp_scan));
	at.habits = at.bitmaps + rounded(bitmaps * sizeof(tp_bitmap));
	at.end = at.habits +
		rounded(habit_places(capacity) * sizeof(tp_scan_habits));
	return at;
}

size_t
tp_scans_size(uint32_t capacity, uint32_t bitmaps)
{
	return layout_of(capacity, bitmaps).end;
}

tp_scans
tp_scans_view(void *block)
{
	tp_scans_header *header = block;
	layout		at = layout_of(header->capacity, header->bitmap_capacity);
	unsigned char *base = block;
	tp_scans	scans;

	scans.header = header;
	scans.relations = (tp_scan_relation *) (void *) (base + at.relations);
	scans.lanes = (tp_scan_lanes *) (void *) (base + at.lanes);
	scans.scans = (tp_scan *) (void *) (base + at.scans);
	scans.bitmaps = (tp_bitmap *) (void *) (base + at.bitmaps);
	scans.habits = (tp_scan_habits *) (void *) (base + at.habits);
	return scans;
}

tp_scans
tp_scans_init(uint32_t capacity, uint32_t bitmaps, void *block)
{
	tp_scans_header *header = block;
	tp_scans	scans;

	memset(block, 0, tp_scans_size(capacity, bitmaps));
	header->capacity = capacity;
	header->bitmap_capacity = bitmaps;
	scans = tp_scans_view(block);
	scans.header->relation_mask = relation_places(capacity) - 1;
	scans.header->habit_mask = habit_places(capacity) - 1;
	scans.header->pace = FIRST_PACE;
	for (uint32_t i = 0; i <= scans.header->relation_mask; i++)
		scans.relations[i].lanes = TP_NONE;
	for (uint32_t i = 0; i < capacity; i++)
		scans.lanes[i].next = i + 1 < capacity ? i + 1 : TP_NONE;
	for (uint32_t i = 0; i < bitmaps; i++)
		scans.bitmaps[i].shift = i + 1 < bitmaps ? i + 1 : TP_NONE;
	scans.header->free_lanes = 0;
	scans.header->free_bitmap = bitmaps > 0 ? 0 : TP_NONE;
	return scans;
}

/* ---- relations ---- */

uint32_t
scan_relation(const tp_scans *scans, uint64_t relation, uint32_t *vacant)
{
	uint32_t	mask = scans->header->relation_mask;
	uint32_t	home = (uint32_t) tp_mix64(relation);

	*vacant = TP_NONE;
	for (uint32_t probe = 0; probe < TP_SCAN_PROBES; probe++)
	{
		uint32_t	i = (home + probe) & mask;
		const tp_scan_relation *place = &scans->relations[i];

		if (get_u32(&place->lanes) == TP_NONE)
			*vacant = *vacant == TP_NONE ? i : *vacant;
		else if (place->relation == relation)
			return i;
	}
	return TP_NONE;
}

/* ---- handles: generation << 32 | scan + 1 ---- */

static uint64_t
handle_of(const tp_scans *scans, uint32_t scan)
{
	return (uint64_t) scans->scans[scan].generation << 32 | (scan + 1);
}

/* The scan's number, or TP_NONE if it is no more. */
static uint32_t
find_scan(const tp_scans *scans, uint64_t handle)
{
	uint32_t	scan = (uint32_t) handle - 1;

	if (scan >= scans->header->capacity * TP_SCAN_LANES ||
		scans->scans[scan].generation != handle >> 32 ||
		(scans->lanes[scan / TP_SCAN_LANES].used >> scan % TP_SCAN_LANES & 1) == 0)
		return TP_NONE;
	return scan;
}

/* ---- beginning and ending ---- */

/* Take the scan from its lane, and what falls vacant by that. */
static void
remove_scan(const tp_scans *scans, uint32_t number)
{
	tp_scans_header *header = scans->header;
	tp_scan    *scan = &scans->scans[number];
	tp_scan_lanes *lanes = &scans->lanes[number / TP_SCAN_LANES];
	tp_scan_relation *relation = &scans->relations[scan->relation];
	uint8_t		bit = (uint8_t) (1u << number % TP_SCAN_LANES);

	set_u32(&lanes->length[number % TP_SCAN_LANES], 0);
	lanes->used &= (uint8_t) ~bit;
	lanes->bitmaps &= (uint8_t) ~bit;
	scan->generation++;
	header->running--;
	if (scan->bitmap != TP_NONE)
	{
		scans->bitmaps[scan->bitmap].shift = header->free_bitmap;
		header->free_bitmap = scan->bitmap;
		set_u32(&scan->bitmap, TP_NONE);
	}
	relation->scans--;
	if (lanes->used == 0)
	{
		uint32_t   *link = &relation->lanes;

		while (*link != number / TP_SCAN_LANES)
			link = &scans->lanes[*link].next;
		set_u32(link, lanes->next);
		set_u32(&lanes->next, header->free_lanes);
		header->free_lanes = number / TP_SCAN_LANES;
	}
}

/* Make room: end the scans that have not been heard of for long. */
static void
reclaim(const tp_scans *scans, uint64_t now)
{
	for (uint32_t i = 0; i < scans->header->capacity * TP_SCAN_LANES; i++)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i / TP_SCAN_LANES];

		if ((lanes->used >> i % TP_SCAN_LANES & 1) != 0 &&
			is_later(tick_of(now), lanes->until[i % TP_SCAN_LANES]))
		{
			remove_scan(scans, i);
			scans->header->counts.reclaimed++;
		}
	}
}

/*
 * A lane for a scan of this relation, as a scan's number; TP_NONE: no room.
 * The relation's own tp_scan_lanes are filled before it gets another.
 */
static uint32_t
find_lane(const tp_scans *scans, uint64_t relation)
{
	tp_scans_header *header = scans->header;
	uint32_t	vacant;
	uint32_t	place = scan_relation(scans, relation, &vacant);
	uint32_t	i = place == TP_NONE ? TP_NONE : scans->relations[place].lanes;
	uint32_t	number;

	while (i != TP_NONE && scans->lanes[i].used == UINT8_MAX)
		i = scans->lanes[i].next;
	if (i == TP_NONE)
	{
		i = header->free_lanes;
		if (i == TP_NONE || (place == TP_NONE && vacant == TP_NONE))
			return TP_NONE;
		header->free_lanes = scans->lanes[i].next;
		if (place == TP_NONE)
		{
			place = vacant;
			scans->relations[place].relation = relation;
		}
		set_u32(&scans->lanes[i].next, scans->relations[place].lanes);
		set_u32(&scans->relations[place].lanes, i);
	}
	number = i * TP_SCAN_LANES;
	while ((scans->lanes[i].used >> number % TP_SCAN_LANES & 1) != 0)
		number++;
	scans->lanes[i].used |= (uint8_t) (1u << number % TP_SCAN_LANES);
	scans->scans[number].relation = place;
	scans->relations[place].scans++;
	return number;
}

/* When a scan of this pace, just heard of, counts as gone. */
static uint32_t
patience_until(uint64_t now, float pace)
{
	double		strides = (double) pace * STRIDE * PATIENT_STRIDES;
	double		longest = (double) ((uint64_t) 1 << 40);

	if (strides < TP_SCAN_PATIENCE)
		strides = TP_SCAN_PATIENCE;
	if (strides > longest)
		strides = longest;
	return tick_of(now + (uint64_t) strides) + 1;
}

/* Can a range scan read these blocks in this order? */
static bool
range_is_sound(const tp_scan_spec *spec)
{
	if (spec->count == 0)
		return false;
	if (spec->size != 0)
		return spec->first - spec->low < spec->size &&
			spec->count <= spec->size && spec->low <= UINT32_MAX - spec->size;
	if (spec->backward)
		return spec->count - 1 <= spec->first;
	return spec->count - 1 < UINT32_MAX - spec->first;
}

/* A block that the relation ends with, or a later one. */
static uint64_t
end_of(const tp_scan_spec *spec)
{
	if (spec->size != 0)
		return (uint64_t) spec->low + spec->size;
	if (spec->bitmap != NULL)
		return (uint64_t) TP_BITMAP_GROUPS << spec->bitmap->shift;
	return (uint64_t) spec->first + (spec->backward ? 1 : spec->count);
}

/*
 * Estimates cannot tell a wrap from a distance in relations this large (16 TiB
 * of 8 KiB pages): up to where it wraps, then.
 */
static void
avoid_far_wrap(tp_scan_spec *spec)
{
	uint32_t	straight = spec->backward ? spec->first - spec->low + 1 :
		spec->low + spec->size - spec->first;

	if (spec->size <= UINT32_C(1) << 31)
		return;
	spec->low = spec->size = 0;
	if (spec->count > straight)
		spec->count = straight;
}

uint64_t
tp_scan_begin(const tp_scans *scans, const tp_scan_spec *wanted, uint64_t now)
{
	tp_scans_header *header = scans->header;
	tp_scan_spec spec = *wanted;
	uint32_t	number;
	uint32_t	lane;
	tp_scan    *scan;
	tp_scan_lanes *lanes;
	tp_bitmap  *bitmap = NULL;

	number = find_lane(scans, spec.relation);
	if (number == TP_NONE)
	{
		reclaim(scans, now);
		number = find_lane(scans, spec.relation);
	}
	if (number == TP_NONE)
	{
		header->counts.refused++;
		return 0;
	}
	header->running++;
	scan = &scans->scans[number];
	lanes = &scans->lanes[number / TP_SCAN_LANES];
	lane = number % TP_SCAN_LANES;
	scan->owner = spec.owner;
	scan->bitmap = TP_NONE;

	if (spec.bitmap != NULL && header->free_bitmap != TP_NONE)
	{
		bitmap = &scans->bitmaps[header->free_bitmap];
		set_u32(&scan->bitmap, header->free_bitmap);
		header->free_bitmap = bitmap->shift;
		*bitmap = *spec.bitmap;
		bitmap_rank(bitmap);
		scan->length = bitmap_blocks(bitmap->groups, bitmap->shift);
	}
	else
	{
		if (spec.bitmap != NULL)
		{
			bitmap_range(spec.bitmap, &spec);
			header->counts.bitmaps_short++;
		}
		if (!range_is_sound(&spec))
			spec.count = 0;
		else
			avoid_far_wrap(&spec);
		scan->length = spec.count;
	}
	if (scan->length == 0)
	{
		remove_scan(scans, number);
		return 0;
	}
	scan->habits = habits_begin(scans, spec.relation, end_of(&spec), now);
	scan->region = TP_NONE;
	scan->begun_at = now;
	scan->measured_at = now;
	scan->measured_done = 0;
	set_u32(&lanes->done[lane], 0);
	set_u32(&lanes->first[lane], spec.first);
	set_u32(&lanes->low[lane], spec.low);
	set_u32(&lanes->size[lane], spec.size);
	set_u32(&lanes->backward[lane], spec.backward ? UINT32_MAX : 0);
	set_float(&lanes->pace[lane],
			  spec.speed > 0 ? (float) (1e6 / spec.speed) : header->pace);
	set_u32(&lanes->until[lane], patience_until(now, lanes->pace[lane]));
	if (bitmap != NULL)
		lanes->bitmaps |= (uint8_t) (1u << lane);
	else
		__atomic_store_n(&lanes->length[lane], scan->length, __ATOMIC_RELEASE);
	header->counts.begun++;
	return handle_of(scans, number);
}

void
tp_scan_end(const tp_scans *scans, uint64_t handle)
{
	uint32_t	number = find_scan(scans, handle);

	if (number == TP_NONE)
		return;
	remove_scan(scans, number);
	scans->header->counts.ended++;
}

uint32_t
tp_scan_end_owner(const tp_scans *scans, uint32_t owner)
{
	uint32_t	found = 0;

	for (uint32_t i = 0; i < scans->header->capacity * TP_SCAN_LANES; i++)
		if (scans->scans[i].owner == owner &&
			(scans->lanes[i / TP_SCAN_LANES].used >> i % TP_SCAN_LANES & 1) != 0)
		{
			remove_scan(scans, i);
			found++;
		}
	scans->header->counts.abandoned += found;
	return found;
}

/* ---- progress ---- */

/* The pace over the blocks since it was last measured, smoothed. */
static float
smoothed_pace(const tp_scan *scan, float pace, uint32_t done, uint64_t now)
{
	uint64_t	elapsed = now > scan->measured_at ? now - scan->measured_at : 0;
	float		seen = (float) elapsed / (float) (done - scan->measured_done);
	float		slowest = SLOWDOWN * (pace > 1 ? pace : 1);

	return pace + WEIGHT * ((seen < slowest ? seen : slowest) - pace);
}

static void
measure(const tp_scans *scans, uint32_t number, uint32_t done, uint64_t now)
{
	tp_scan    *scan = &scans->scans[number];
	tp_scan_lanes *lanes = &scans->lanes[number / TP_SCAN_LANES];
	uint32_t	lane = number % TP_SCAN_LANES;
	float		usual = scans->header->pace;

	/* not so if another scan was given the place under our hands */
	if (done > scan->measured_done)
	{
		float		pace = smoothed_pace(scan, lanes->pace[lane], done, now);

		set_float(&lanes->pace[lane], pace);
		set_float(&scans->header->pace, usual + WEIGHT * (pace - usual));
	}
	set_u32(&lanes->until[lane], patience_until(now, lanes->pace[lane]));
	scan->measured_at = now;
	scan->measured_done = done;
}

void
tp_scan_advance(const tp_scans *scans, uint64_t handle, uint32_t block,
				uint64_t now)
{
	uint32_t	number = find_scan(scans, handle);
	uint32_t	lane = number % TP_SCAN_LANES;
	tp_scan_lanes *lanes;
	const tp_scan *scan;
	uint32_t	bitmap;
	uint32_t	position;

	if (number == TP_NONE)
		return;
	scan = &scans->scans[number];
	lanes = &scans->lanes[number / TP_SCAN_LANES];
	bitmap = get_u32(&scan->bitmap);
	if (bitmap != TP_NONE)
		position = bitmap_position(&scans->bitmaps[bitmap], block);
	else
		position = range_position(block, lanes->first[lane], lanes->low[lane],
								  lanes->size[lane], lanes->backward[lane]);
	if (position >= scan->length || position < lanes->done[lane])
		return;
	set_u32(&lanes->done[lane], position + 1);
	if (position + 1 - scan->measured_done >= STRIDE ||
		is_later(tick_of(now), lanes->until[lane]))
	{
		measure(scans, number, position + 1, now);
		habits_pass(scans, number, block, now);
	}
}
