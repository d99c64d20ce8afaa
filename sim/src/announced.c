/*
 * announced.c
 *	  See announced.h.
 */
#include "announced.h"
#include "scans.h"

/* A bit that no handle has: references do not advance the scan. */
#define STEPS (UINT64_C(1) << 30)

bool
announced_init(announced *a, uint32_t scans)
{
	a->scans = scans == 0 ?
		tps_scans_new(ANNOUNCED_SCANS, ANNOUNCED_BITMAPS, TPS_TRAIL_MARKS) :
		tps_scans_new(scans, (scans + 1) / 2, scans * MARKS_PER_SCAN);
	return a->scans != NULL && pagemap_init(&a->handles);
}

void
announced_free(announced *a)
{
	if (a->scans == NULL)
		return;
	tps_scans_free(a->scans);
	pagemap_free(&a->handles);
}

static uint64_t
found(const announced *a, uint64_t id)
{
	const uint64_t *handle = pagemap_find(&a->handles, id);

	return handle == NULL ? 0 : *handle;
}

static uint64_t
handle_of(const announced *a, uint64_t id)
{
	return found(a, id) & ~STEPS;
}

static bool
has_flag(const tps_events *events, size_t i, unsigned flag)
{
	return events->flags != NULL && (events->flags[i] & flag) != 0;
}

/* The bitmap that comes with this event, or NULL. */
static const tps_bitmap *
bitmap_of(const tps_events *events, size_t i)
{
	size_t		low = 0;
	size_t		high = events->n_bitmaps;

	while (low < high)
	{
		size_t		middle = (low + high) / 2;

		if (events->bitmaps[middle].event < i)
			low = middle + 1;
		else
			high = middle;
	}
	return low < events->n_bitmaps && events->bitmaps[low].event == i ?
		&events->bitmaps[low] : NULL;
}

/* Convert the bitmap to the registry's form. */
static void
convert_bitmap(const tps_bitmap *from, tp_bitmap *to)
{
	uint64_t	blocks = (uint64_t) from->bytes * 8 * TP_BLOCK_GROUP;

	tp_bitmap_init(to, blocks < TP_NONE ? (uint32_t) blocks : TP_NONE);
	for (size_t group = 0; group < from->bytes * 8; group++)
		if ((from->bits[group / 8] >> group % 8 & 1) != 0)
			tp_bitmap_add(to, (uint32_t) (group * TP_BLOCK_GROUP),
						  TP_BLOCK_GROUP);
}

static void
end(announced *a, uint64_t handle)
{
	if (tp_is_trail(handle))
		tp_trail_end(&a->scans->trails, handle);
	else
		tp_scan_end(&a->scans->view, handle);
}

/* All scans of this backend are over. */
static void
end_all(announced *a, uint32_t backend)
{
	tp_scan_end_owner(&a->scans->view, backend);
	tp_trail_end_owner(&a->scans->trails, backend);
}

/* An index scan whose pages are unknown; others may trail it. */
static bool
is_trailing(const tps_events *events, size_t i)
{
	return has_flag(events, i, TP_INDEX) &&
		(events->count == NULL || events->count[i] == 0);
}

static uint64_t
begin(announced *a, const tps_events *events, size_t i)
{
	const tps_bitmap *bits = bitmap_of(events, i);
	tp_bitmap	bitmap;
	tp_scan_spec spec = {0};

	spec.relation = events->page[i] >> 32;
	spec.first = (uint32_t) events->page[i];
	spec.count = events->count == NULL ? 0 : events->count[i];
	spec.size = events->size == NULL ? 0 : events->size[i];
	spec.low = events->low == NULL ? 0 : events->low[i];
	spec.backward = has_flag(events, i, EVENT_BACKWARD);
	spec.companion = has_flag(events, i, EVENT_COMPANION);
	spec.speed = events->speed == NULL ? 0 : (double) events->speed[i];
	spec.owner = events->backend == NULL ? 0 : events->backend[i];
	if (is_trailing(events, i))
		return tp_trail_begin(&a->scans->trails, spec.size, spec.owner,
							  event_time(events, i));
	if (bits != NULL)
	{
		convert_bitmap(bits, &bitmap);
		spec.bitmap = &bitmap;
	}
	return tp_scan_begin(&a->scans->view, &spec, event_time(events, i));
}

/* The scan has come to this block; a trail, to tuple `count` of it. */
static void
advance(announced *a, uint64_t handle, const tps_events *events, size_t i)
{
	uint32_t	block = (uint32_t) events->page[i];
	uint64_t	tuple = events->count == NULL ? 0 : events->count[i];

	if (tp_is_trail(handle))
		tp_trail_tuple(&a->scans->trails, handle,
					   (uint64_t) block << 16 | tuple, event_time(events, i));
	else
		tp_scan_advance(&a->scans->view, handle, block, event_time(events, i));
}

bool
announced_event(announced *a, const tps_events *events, size_t i)
{
	uint64_t	id = events->scan == NULL ? 0 : events->scan[i];

	if (id == 0)
	{
		if (event_kind(events, i) == EVENT_SCAN_END)
			end_all(a, events->backend == NULL ? 0 : events->backend[i]);
		return true;
	}
	switch (event_kind(events, i))
	{
		case EVENT_SCAN_BEGIN:
			if (!pagemap_reserve(&a->handles))
				return false;

			/* an id that is used again: its first scan had no end event */
			end(a, handle_of(a, id));
			*pagemap_at(&a->handles, id) = begin(a, events, i) |
				(has_flag(events, i, EVENT_STEPS) ? STEPS : 0);
			return true;
		case EVENT_SCAN_ADVANCE:
			advance(a, handle_of(a, id), events, i);
			return true;
		case EVENT_SCAN_END:
			end(a, handle_of(a, id));
			return true;
		default:
			return true;
	}
}

uint64_t
announced_reference(announced *a, uint64_t id, uint64_t page, uint64_t now)
{
	uint64_t	handle = found(a, id);

	if (handle & STEPS)
		return handle & ~STEPS;

	/* such traces do not record tuples, so pages stand for them */
	if (tp_is_trail(handle))
		(void) tp_trail_tuple(&a->scans->trails, handle, page, now);
	else
		tp_scan_advance(&a->scans->view, handle, (uint32_t) page, now);
	return handle;
}
