/*
 * registry.c
 *	  Scans begin and end.  See scan.h.
 *
 * All functions here run under the registry's lock.  Fields that advance.c,
 * estimate.c or meet.c use are stored with relaxed atomics; fields that only
 * the lock guards are read and written plainly.
 */
#include "tidepool/relaxed.h"

#include "prediction/bitmap.h"
#include "prediction/history.h"
#include "prediction/timeout.h"
#include "prediction/registry.h"
#include "prediction/relations.h"

/* Take the scan from its lane; free its bitmap, and the lanes if empty. */
static void
remove_scan(const tp_scans *scans, uint32_t number)
{
	tp_scans_header *header = scans->header;
	tp_scan    *scan = &scans->scans[number];
	tp_scan_lanes *lanes = lanes_of(scans, number);
	tp_scan_relation *relation = &scans->relations[scan->relation];
	uint8_t		others = (uint8_t) ~(1u << number % TP_SCAN_LANES);

	tp_store32(&lanes->length[number % TP_SCAN_LANES], 0);
	tp_store8(&lanes->used, lanes->used & others);
	tp_store8(&lanes->bitmaps, lanes->bitmaps & others);
	tp_store32(&scan->generation, scan->generation + 1);
	tp_store32(&header->running, header->running - 1);
	if (scan->bitmap != TP_NONE)
	{
		tp_store32(&scans->bitmaps[scan->bitmap].shift, header->free_bitmap);
		header->free_bitmap = scan->bitmap;
		tp_store32(&scan->bitmap, TP_NONE);
	}
	relation->scans--;
	if (lanes->used == 0)
	{
		uint32_t   *link = &relation->lanes;

		while (*link != number / TP_SCAN_LANES)
			link = &scans->lanes[*link].next;
		tp_store32(link, lanes->next);
		tp_store32(&lanes->next, header->free_lanes);
		header->free_lanes = number / TP_SCAN_LANES;
	}
}

/* Make room: end the scans that count as gone. */
static void
reclaim(const tp_scans *scans, uint64_t now)
{
	for (uint32_t i = 0; i < scans->header->capacity * TP_SCAN_LANES; i++)
		if (is_running(scans, i) &&
			is_later(tick_of(now),
					 tp_load32(&lanes_of(scans, i)->until[i % TP_SCAN_LANES])))
		{
			remove_scan(scans, i);
			scans->header->counts.reclaimed++;
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
			tp_store64(&scans->relations[place].relation, relation);
		}
		tp_store32(&scans->lanes[i].next, scans->relations[place].lanes);
		tp_store32(&scans->relations[place].lanes, i);
	}
	number = i * TP_SCAN_LANES;
	while ((scans->lanes[i].used >> number % TP_SCAN_LANES & 1) != 0)
		number++;
	tp_store8(&scans->lanes[i].used, scans->lanes[i].used |
			  (uint8_t) (1u << number % TP_SCAN_LANES));
	tp_store32(&scans->scans[number].relation, place);
	scans->relations[place].scans++;
	return number;
}

/* Do these blocks exist, and is each of them read once? */
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

/* The end of the relation, as far as the spec shows it. */
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
 * In relations of more than 2^31 blocks (16 TiB of 8 KiB pages) estimates
 * mistake a distance for a wrap (estimate.c).  Such a scan is registered only
 * up to where it wraps.
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

/*
 * Enter what the scan reads, and make spec the range for its lane.  Returns its
 * length in blocks, 0 for nothing.
 */
static uint32_t
enter_blocks(const tp_scans *scans, uint32_t number, tp_scan_spec *spec)
{
	tp_scans_header *header = scans->header;
	tp_scan    *scan = &scans->scans[number];
	tp_bitmap  *bitmap = NULL;

	tp_store32(&scan->bitmap, TP_NONE);
	if (spec->bitmap != NULL && header->free_bitmap != TP_NONE)
	{
		bitmap = &scans->bitmaps[header->free_bitmap];
		tp_store32(&scan->bitmap, header->free_bitmap);
		tp_store32(&scan->low, spec->low);
		tp_store32(&scan->size, spec->size);
		header->free_bitmap = bitmap->shift;
		bitmap_enter(bitmap, spec);
	}
	else if (spec->bitmap != NULL)
		header->counts.bitmaps_short++;
	if (spec->bitmap != NULL)
		bitmap_range(spec);
	if (!range_is_sound(spec))
		return 0;
	avoid_far_wrap(spec);
	return bitmap != NULL ? bitmap_blocks(bitmap->groups, bitmap->shift) :
		spec->count;
}

/* Enter the fields that estimates read; the one that reveals the scan last. */
static void
enter_lane(const tp_scans *scans, uint32_t number, const tp_scan_spec *spec,
		   uint64_t now)
{
	const tp_scan *scan = &scans->scans[number];
	tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	float		block_time = spec->speed > 0 ? (float) (1e6 / spec->speed) :
		tp_load_float(&scans->header->block_time);

	tp_store32(&lanes->done[lane], 0);
	tp_store32(&lanes->first[lane], spec->first);
	tp_store32(&lanes->low[lane], spec->low);
	tp_store32(&lanes->size[lane], spec->size);
	tp_store32(&lanes->backward[lane], spec->backward ? UINT32_MAX : 0);
	tp_store_float(&lanes->block_time[lane], block_time);
	tp_store32(&lanes->until[lane], timeout_tick(now, block_time));
	if (scan->length < spec->count)
		tp_store8(&lanes->bitmaps, lanes->bitmaps | (uint8_t) (1u << lane));
	__atomic_store_n(&lanes->length[lane], spec->count, __ATOMIC_RELEASE);
}

uint64_t
tp_scan_begin(const tp_scans *scans, const tp_scan_spec *wanted, uint64_t now)
{
	tp_scans_header *header = scans->header;
	tp_scan_spec spec = *wanted;
	uint32_t	number = find_lane(scans, spec.relation);
	uint32_t	length;
	tp_scan    *scan;

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
	tp_store32(&header->running, header->running + 1);
	scan = &scans->scans[number];
	tp_store32(&scan->owner, spec.owner);
	tp_store32(&scan->companion, spec.companion);
	length = enter_blocks(scans, number, &spec);
	if (length == 0)
	{
		remove_scan(scans, number);
		return 0;
	}
	tp_store32(&scan->length, length);
	tp_store32(&scan->history,
			   history_begin(scans, spec.relation, end_of(wanted), !spec.companion,
							 now));
	tp_store32(&scan->region, TP_NONE);
	tp_store64(&scan->begun_at, now);
	tp_store64(&scan->measured_at, now);
	tp_store32(&scan->measured_done, 0);
	enter_lane(scans, number, &spec, now);
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
		if (scans->scans[i].owner == owner && is_running(scans, i))
		{
			remove_scan(scans, i);
			found++;
		}
	scans->header->counts.abandoned += found;
	return found;
}
