/*
 * pbm_fixture.h
 *	  Pools under predictive buffer management, which know of scans.
 *
 * Pools no larger than the sample are looked at whole, so nothing is drawn;
 * all parameters that go beyond the paper are off unless a test is about them.
 * A scan reads a block a microsecond, and a reference takes as long.
 */
#ifndef TIDEPOOL_PBM_FIXTURE_H
#define TIDEPOOL_PBM_FIXTURE_H

#include "fixture.h"
#include "tidepool/prediction/trail.h"

/* As the paper has it; 1 is frequency=on, 2 off. */
#define PAPER "remember=0,neighbours=0,scan_history=0,"
#define FORESIGHT PAPER "frequency=2"

extern tp_scans known_scans;
extern tp_trails known_trails;

/* For cmocka. */
int			setup_pbm(void **unused);
int			teardown_pbm(void **unused);

/* A pool that knows of scans, after these references. */
fixture    *pool(const char *params, uint32_t frames, const char *text);

/*
 * The same, a reference each 0.3 seconds: what makes none of two references in a
 * row.
 */
fixture    *slow_pool(const char *params, uint32_t frames, const char *text);

/* A scan of these blocks begins. */
uint64_t	scan_of(const fixture *f, uint32_t first, uint32_t count);

void		expect_and_free(fixture *f, const char *state);

#endif							/* TIDEPOOL_PBM_FIXTURE_H */
