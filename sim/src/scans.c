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

static void *
make_block(uint32_t scans, uint32_t bitmaps)
{
	return aligned_alloc(64, tp_scans_size(scans, bitmaps));
}

tps_scans *
tps_scans_new(uint32_t capacity, uint32_t bitmaps)
{
	tps_scans  *scans = calloc(1, sizeof(*scans));

	if (scans == NULL)
		return NULL;
	scans->capacity = capacity;
	scans->bitmaps = bitmaps;
	scans->block = make_block(capacity, bitmaps);
	if (scans->block == NULL)
	{
		free(scans);
		return NULL;
	}
	scans->view = tp_scans_init(capacity, bitmaps, scans->block);
	return scans;
}

void
tps_scans_free(tps_scans *scans)
{
	if (scans == NULL)
		return;
	free(scans->block);
	free(scans);
}

uint64_t
tps_scans_begin(tps_scans *scans, const tps_scan *scan, uint64_t now)
{
	tp_bitmap	bitmap;
	tp_scan_spec spec = {0};

	spec.relation = scan->first >> 32;
	spec.first = (uint32_t) scan->first;
	spec.count = scan->count;
	spec.size = scan->size;
	spec.backward = scan->backward;
	spec.speed = scan->speed;
	spec.owner = scan->owner;
	if (scan->ranges != NULL)
	{
		tp_bitmap_init(&bitmap, scan->size);
		for (size_t i = 0; i < scan->n_ranges; i++)
			tp_bitmap_add(&bitmap, scan->ranges[2 * i],
						  scan->ranges[2 * i + 1]);
		spec.bitmap = &bitmap;
	}
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
	return tp_scan_end_owner(&scans->view, owner);
}

double
tps_scans_next_access(const tps_scans *scans, uint64_t page, uint64_t now)
{
	return tp_scan_next_access(&scans->view, cache_page(page), now);
}

uint32_t
tps_scans_running(const tps_scans *scans)
{
	return scans->view.header->running;
}

bool
tps_scans_move(tps_scans *scans)
{
	size_t		size = tp_scans_size(scans->capacity, scans->bitmaps);
	void	   *block = make_block(scans->capacity, scans->bitmaps);

	if (block == NULL)
		return false;
	memcpy(block, scans->block, size);
	memset(scans->block, 0xa5, size);
	free(scans->block);
	scans->block = block;
	scans->view = tp_scans_view(block);
	return true;
}

int
tps_scans_check(const tps_scans *scans, char *text, size_t size)
{
	report_text report = report_to(text, size);

	return tp_scans_check(&scans->view, write_report, &report);
}

void
tps_cache_set_scans(tps_cache *cache, const tps_scans *scans)
{
	cache->pool.scans = scans == NULL ? NULL : &scans->view;
}
