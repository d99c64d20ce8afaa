/*
 * scans.c
 *	  The running scans of a simulation: a registry with memory of its own.
 *	  See sim.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "report.h"
#include "scans.h"

/* Memory for the pieces, or false. */
static bool
make_blocks(tps_scans *scans)
{
	scans->block = aligned_alloc(64, tp_scans_size(scans->capacity,
												   scans->bitmaps));
	scans->trails_block = malloc(tp_trails_size(scans->capacity,
												scans->marks));
	if (scans->block != NULL && scans->trails_block != NULL)
		return true;
	free(scans->block);
	free(scans->trails_block);
	return false;
}

tps_scans *
tps_scans_new(uint32_t capacity, uint32_t bitmaps, uint32_t marks)
{
	tps_scans  *scans = calloc(1, sizeof(*scans));

	if (scans == NULL)
		return NULL;
	scans->capacity = capacity;
	scans->bitmaps = bitmaps;
	scans->marks = marks;
	if (!make_blocks(scans))
	{
		free(scans);
		return NULL;
	}
	scans->view = tp_scans_init(capacity, bitmaps, scans->block);
	scans->trails = tp_trails_init(capacity, marks, scans->trails_block);
	return scans;
}

void
tps_scans_free(tps_scans *scans)
{
	if (scans == NULL)
		return;
	free(scans->block);
	free(scans->trails_block);
	free(scans);
}

/* The scan in the registry's form; its bitmap, if it has one, in *bitmap. */
static tp_scan_spec
convert_scan(const tps_scan *scan, tp_bitmap *bitmap)
{
	tp_scan_spec spec = {0};

	spec.relation = scan->first >> 32;
	spec.first = (uint32_t) scan->first;
	spec.count = scan->count;
	spec.low = scan->low;
	spec.size = scan->size;
	spec.backward = scan->backward;
	spec.speed = scan->speed;
	spec.owner = scan->owner;
	if (scan->ranges != NULL)
	{
		tp_bitmap_init(bitmap, scan->size);
		for (size_t i = 0; i < scan->n_ranges; i++)
			tp_bitmap_add(bitmap, scan->ranges[2 * i],
						  scan->ranges[2 * i + 1]);
		spec.bitmap = bitmap;
	}
	return spec;
}

uint64_t
tps_scans_begin(tps_scans *scans, const tps_scan *scan, uint64_t now)
{
	tp_bitmap	bitmap;
	tp_scan_spec spec = convert_scan(scan, &bitmap);

	return tp_scan_begin(&scans->view, &spec, now);
}

void
tps_scans_advance(tps_scans *scans, uint64_t handle, uint64_t page,
				  uint64_t now)
{
	tp_scan_advance(&scans->view, handle, (uint32_t) page, now);
}

void
tps_scans_end(tps_scans *scans, uint64_t handle)
{
	tp_scan_end(&scans->view, handle);
}

uint32_t
tps_scans_end_owner(tps_scans *scans, uint32_t owner)
{
	return tp_scan_end_owner(&scans->view, owner) +
		tp_trail_end_owner(&scans->trails, owner);
}

uint64_t
tps_scans_meet(const tps_scans *scans, const tps_scan *scan, uint64_t now)
{
	tp_bitmap	bitmap;
	tp_scan_spec spec = convert_scan(scan, &bitmap);

	return scan->first >> 32 << 32 | tp_scan_meet(&scans->view, &spec, now,
												  NULL);
}

double
tps_scans_next_access(const tps_scans *scans, uint64_t page, uint64_t now)
{
	return tp_scan_next_access(&scans->view, cache_page(page), now);
}

double
tps_scans_expected_access(const tps_scans *scans, uint64_t page, uint64_t now)
{
	tp_scan_found found = {0};

	return tp_scan_expected_access(&scans->view, &found, cache_page(page), 0, now);
}

uint64_t
tps_trail_begin(tps_scans *scans, uint64_t index, uint32_t owner, uint64_t now)
{
	return tp_trail_begin(&scans->trails, index, owner, now);
}

void
tps_trail_tuple(tps_scans *scans, uint64_t handle, uint64_t tuple, uint64_t now)
{
	(void) tp_trail_tuple(&scans->trails, handle, tuple, now);
}

void
tps_trail_end(tps_scans *scans, uint64_t handle)
{
	tp_trail_end(&scans->trails, handle);
}

double
tps_trail_delay(const tps_scans *scans, uint64_t handle)
{
	return tp_trail_delay(&scans->trails, handle);
}

uint32_t
tps_scans_running(const tps_scans *scans)
{
	return scans->view.header->running + scans->trails.header->running;
}

/* Like memcpy; also overwrites the old place, so that stale pointers show. */
static void
move_block(void *to, void *from, size_t size)
{
	memcpy(to, from, size);
	memset(from, 0xa5, size);
	free(from);
}

bool
tps_scans_move(tps_scans *scans)
{
	void	   *block = scans->block;
	void	   *trails_block = scans->trails_block;

	if (!make_blocks(scans))
	{
		scans->block = block;
		scans->trails_block = trails_block;
		return false;
	}
	move_block(scans->block, block,
			   tp_scans_size(scans->capacity, scans->bitmaps));
	move_block(scans->trails_block, trails_block,
			   tp_trails_size(scans->capacity, scans->marks));
	scans->view = tp_scans_view(scans->block);
	scans->trails = tp_trails_view(scans->trails_block);
	return true;
}

int
tps_scans_check(const tps_scans *scans, char *text, size_t size)
{
	report_text report = report_to(text, size);

	return tp_scans_check(&scans->view, write_report, &report) +
		tp_trails_check(&scans->trails, write_report, &report);
}

void
tps_cache_set_scans(tps_cache *cache, const tps_scans *scans)
{
	cache->services.scans = scans == NULL ? NULL : &scans->view;
	cache->services.trails = scans == NULL ? NULL : &scans->trails;
}
