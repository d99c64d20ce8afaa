/*
 * pbm_fixture.c
 *	  See pbm_fixture.h.
 */
#include <stdlib.h>

#include "pbm_fixture.h"

#define SPEED 1e6

tp_scans	known_scans;
tp_trails	known_trails;
static void *scans_block;
static void *trails_block;

int
setup_pbm(void **unused)
{
	(void) unused;
	scans_block = aligned_alloc(64, tp_scans_size(16, 0));
	trails_block = malloc(tp_trails_size(16, 1024));
	assert_non_null(scans_block);
	assert_non_null(trails_block);
	known_scans = tp_scans_init(16, 0, scans_block);
	known_trails = tp_trails_init(16, 1024, trails_block);
	return 0;
}

int
teardown_pbm(void **unused)
{
	(void) unused;
	free(scans_block);
	free(trails_block);
	return 0;
}

fixture *
pool(const char *params, uint32_t frames, const char *text)
{
	fixture    *f = fixture_new("pbm", params, frames);

	f->services.scans = &known_scans;
	f->services.trails = &known_trails;
	fixture_run(f, text);
	return f;
}

fixture *
slow_pool(const char *params, uint32_t frames, const char *text)
{
	fixture    *f = pool(params, frames, "");

	f->pace = 300000;
	fixture_run(f, text);
	return f;
}

uint64_t
scan_of(const fixture *f, uint32_t first, uint32_t count)
{
	tp_scan_spec spec = {0};

	spec.first = first;
	spec.count = count;
	spec.speed = SPEED;
	return tp_scan_begin(&known_scans, &spec, f->now);
}

void
expect_and_free(fixture *f, const char *state)
{
	fixture_expect(f, state);
	fixture_free(f);
}
