/*
 * layout.c
 *	  A scan registry's memory.  See scan.h.
 */
#include <string.h>

#include "tidepool/prediction/scan.h"
#include "tidepool/relaxed.h"

/*
 * The speed that is assumed until one has been measured.  With a tenth and ten
 * times of it misses differ by less than 0.1 % (bench/constants.py).
 */
#define FIRST_BLOCK_TIME 20.0f	/* microseconds a block: about 400 MB/s */

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
history_places(uint32_t capacity)
{
	uint32_t	places = 4;

	while (places < capacity / 4)
		places *= 2;
	return places;
}

/* Offsets of the pieces, in bytes from the header. */
typedef struct layout
{
	size_t		relations;
	size_t		lanes;
	size_t		scans;
	size_t		bitmaps;
	size_t		history;
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
	at.history = at.bitmaps + rounded(bitmaps * sizeof(tp_bitmap));
	at.end = at.history +
		rounded(history_places(capacity) * sizeof(tp_scan_history));
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
	scans.history = (tp_scan_history *) (void *) (base + at.history);
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
	scans.header->history_mask = history_places(capacity) - 1;
	for (uint32_t i = 0; i <= scans.header->relation_mask; i++)
		scans.relations[i].lanes = TP_NONE;
	for (uint32_t i = 0; i < capacity; i++)
		scans.lanes[i].next = i + 1 < capacity ? i + 1 : TP_NONE;
	for (uint32_t i = 0; i < bitmaps; i++)
		scans.bitmaps[i].shift = i + 1 < bitmaps ? i + 1 : TP_NONE;
	scans.header->free_lanes = 0;
	scans.header->free_bitmap = bitmaps > 0 ? 0 : TP_NONE;
	tp_scans_forget(&scans);
	return scans;
}

void
tp_scans_forget(const tp_scans *scans)
{
	tp_store_float(&scans->header->block_time, FIRST_BLOCK_TIME);
	tp_store_float(&scans->header->lead_time, 0);
	for (uint32_t i = 0; i <= scans->header->history_mask; i++)
		tp_store32(&scans->history[i].begun, 0);
}
