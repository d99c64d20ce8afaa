/*
 * fixture.h
 *	  A pool with the simplest page table there is, for tests of policies.
 *
 * References are written as text: "3" reads block 3 of relation 0, "2:7"
 * block 7 of relation 2; "w" behind it writes, "c" marks it correlated, "v"
 * made by VACUUM.  "-3" forgets block 3, "+" lets a frame join, "/" makes one
 * leave (evicting the next victim first if none is free), "!3" and "?3" pin
 * and unpin block 3.  "<3" evicts block 3, whose frame is claimed then, ">3"
 * restores it, "=3" writes it out: it is clean then.  Time advances by `pace` microseconds a step, 1 at first.
 * Policies that go by temperatures have them: every reference warms its page's extent, by
 * FIXTURE_RANDOM if it is random and by 1 if it is sequential.
 */
#ifndef TIDEPOOL_FIXTURE_H
#define TIDEPOOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tidepool/tier/extents.h"
#include "tidepool/pool.h"

#define FIXTURE_CAPACITY 64
#define FIXTURE_EXTENTS 64
#define FIXTURE_RANDOM 8

typedef struct fixture
{
	tp_pool		pool;
	void	   *block;
	tp_services services;		/* of the pool */
	tp_extents *extents;		/* NULL if the policy does not read them */
	bool		pinned[FIXTURE_CAPACITY];
	bool		dirty[FIXTURE_CAPACITY];	/* written since it came in */
	uint32_t	expected;		/* the last frame of services.expect_frame */
	double		params[TP_MAX_PARAMS];
	uint64_t	now;
	uint64_t	pace;			/* microseconds that a step takes */
	uint64_t	scan;			/* handle that references are made through */
	unsigned	hits;
	unsigned	misses;
	unsigned	refused;		/* misses for which there was no victim */
} fixture;

/* params: "k=2,crp=0" or NULL; fails the test if they are not accepted. */
fixture    *fixture_new(const char *policy, const char *params,
						uint32_t frames);
void		fixture_free(fixture *f);

/* The frame that was claimed when this block of relation 0 was evicted. */
uint32_t	fixture_claimed(const fixture *f, uint32_t block);

/* Evicts the page in this frame, for no other: the frame is free then. */
void		fixture_evict(fixture *f, uint32_t frame);

/* Runs the text; after each step all invariants are checked and the state is
 * moved to other memory. */
void		fixture_run(fixture *f, const char *text);

/* Asserts the pool's tp_describe text. */
void		fixture_expect(fixture *f, const char *state);

/* Asserts the order of coldest: blocks, separated by spaces. */
void		fixture_expect_coldest(fixture *f, const char *blocks);

/* Asserts what comes of so many further looks of a walk with coldest. */
void		fixture_expect_slice(fixture *f, tp_cursor *cursor, uint64_t looks,
								 const char *blocks);

/* Asserts what a round of looking ahead finds. */
void		fixture_expect_upcoming(fixture *f, tp_lookahead *ahead,
									uint32_t victims, const char *blocks);

/* Makes a new fixture, runs the text, asserts the state, frees it. */
void		expect_state(const char *policy, const char *params,
						 uint32_t frames, const char *text, const char *state);

#endif							/* TIDEPOOL_FIXTURE_H */
