/*
 * scan_fixture.c
 *	  A scan registry that never stays where it was.
 */
#include "scan_fixture.h"

#include <stdlib.h>
#include <string.h>

tp_scans	scans;
tp_bitmap	bitmap;

static void *block;
static size_t size;

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

void
begin_scans(uint32_t capacity, uint32_t bitmaps)
{
	size = tp_scans_size(capacity, bitmaps);
	block = aligned_alloc(64, size);
	assert_non_null(block);
	scans = tp_scans_init(capacity, bitmaps, block);
}

void
check_scans(void)
{
	void	   *elsewhere = aligned_alloc(64, size);

	assert_int_equal(tp_scans_check(&scans, report, NULL), 0);
	assert_non_null(elsewhere);
	memcpy(elsewhere, block, size);
	memset(block, 0xa5, size);
	free(block);
	block = elsewhere;
	scans = tp_scans_view(block);
}

int
setup_scans(void **unused)
{
	(void) unused;
	begin_scans(64, 4);
	return 0;
}

int
teardown_scans(void **unused)
{
	(void) unused;
	check_scans();
	free(block);
	return 0;
}

tp_scan_spec
range_scan(uint32_t first, uint32_t count, uint32_t relation_size,
		   bool backward)
{
	tp_scan_spec spec = {0};

	spec.relation = RELATION;
	spec.first = first;
	spec.count = count;
	spec.size = relation_size;
	spec.backward = backward;
	spec.speed = SPEED;
	return spec;
}

tp_scan_spec
bitmap_scan(uint32_t relation_size)
{
	tp_scan_spec spec = range_scan(0, 0, 0, false);

	tp_bitmap_init(&bitmap, relation_size);
	spec.bitmap = &bitmap;
	return spec;
}

uint64_t
begin_scan_at(tp_scan_spec spec, uint64_t now)
{
	uint64_t	handle = tp_scan_begin(&scans, &spec, now);

	check_scans();
	return handle;
}

uint64_t
begin_scan(tp_scan_spec spec)
{
	return begin_scan_at(spec, 0);
}

void
advance_scan(uint64_t handle, uint32_t to, uint64_t now)
{
	tp_scan_advance(&scans, handle, to, now);
	check_scans();
}

void
end_scan(uint64_t handle)
{
	tp_scan_end(&scans, handle);
	check_scans();
}

void
expect_wait_at(uint32_t page, double wait, uint64_t now)
{
	double		estimate = tp_scan_next_access(&scans,
											   tp_page_make(RELATION, page), now);

	if (estimate != wait)
		fail_msg("block %u: %f us, not %f", page, estimate, wait);
}

void
expect_wait(uint32_t page, double wait)
{
	expect_wait_at(page, wait, 0);
}
