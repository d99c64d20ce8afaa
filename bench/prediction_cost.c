/*
 * prediction_cost.c
 *	  Nanoseconds of what prediction adds: evictions, estimates, scans.
 *
 * Prints a line for each measurement: name, tab, nanoseconds.  Evictions are
 * whole misses (victim, evict, admit) in pools of 131,072 and of a million
 * frames, of random pages of one relation, over which 64 scans run.  Each is
 * measured ROUNDS times, in turn; the median counts.
 */
#define _POSIX_C_SOURCE 199309L	/* clock_gettime */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidepool/pool.h"
#include "tidepool/parts/random.h"
#include "tidepool/prediction/trail.h"

#define ROUNDS	9
#define FRAMES	(1u << 17)	/* 1 GiB of 8 KiB pages */
#define MANY_FRAMES (1u << 20)	/* 8 GiB */
#define BLOCKS	(4 * MANY_FRAMES)
#define SCANS	64
#define OPERATIONS 100000
#define RELATION 3

static uint64_t seed;
static uint64_t handles[SCANS];
static uint32_t positions[SCANS];
static tp_scans scans;
static const tp_services services = {.scans = &scans};

static uint32_t
random_below(uint32_t n)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) (((tp_mix64(seed) >> 32) * n) >> 32);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void *
memory(size_t size)
{
	void	   *block = aligned_alloc(64, (size + 63) & ~(size_t) 63);

	if (block == NULL)
	{
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	return block;
}

static void
begin_scans(void)
{
	/* and one more, to begin and end */
	scans = tp_scans_init(SCANS + 1, 1, memory(tp_scans_size(SCANS + 1, 1)));
	for (uint32_t i = 0; i < SCANS; i++)
	{
		tp_scan_spec spec = {0};

		positions[i] = spec.first = random_below(BLOCKS);
		spec.relation = RELATION;
		spec.count = spec.size = BLOCKS;
		spec.speed = 1000 + random_below(100000);
		handles[i] = tp_scan_begin(&scans, &spec, 0);
	}
}

/* A full pool under the policy. */
static tp_pool
full_pool(const char *name, uint32_t frames, const char *param, double value)
{
	const tp_policy *policy = tp_policy_find(name);
	const tp_access access = {0};
	double		params[TP_MAX_PARAMS];
	tp_pool		pool;

	tp_policy_defaults(policy, params);
	if (param != NULL)
		params[tp_policy_param_find(policy, param)] = value;
	pool = tp_block_init(policy, params, frames, frames, 1,
						 memory(tp_block_size(policy, params, frames)));
	pool.services = &services;
	for (uint32_t frame = 0; frame < frames; frame++)
		tp_admit(&pool, frame, tp_page_make(RELATION, random_below(BLOCKS)),
				 &access);
	return pool;
}

static double
eviction(const tp_pool *pool)
{
	double		begin = seconds();

	for (uint32_t i = 0; i < OPERATIONS; i++)
	{
		const tp_page page = tp_page_make(RELATION, random_below(BLOCKS));
		const tp_access access = {.now = 1 + i};
		uint32_t	frame = tp_victim(pool, page, NULL, NULL, &access);

		tp_evict(pool, frame, &access);
		tp_admit(pool, frame, page, &access);
	}
	return (seconds() - begin) / OPERATIONS;
}

static double
estimate(void)
{
	static volatile double sink;
	double		begin = seconds();

	for (uint32_t i = 0; i < OPERATIONS; i++)
		sink = tp_scan_next_access(&scans,
								   tp_page_make(RELATION, random_below(BLOCKS)), 1);
	(void) sink;
	return (seconds() - begin) / OPERATIONS;
}

static double
advance(void)
{
	double		begin = seconds();

	for (uint32_t i = 0; i < OPERATIONS; i++)
	{
		uint32_t	scan = i % SCANS;

		tp_scan_advance(&scans, handles[scan], positions[scan], 1 + i);
		positions[scan] = (positions[scan] + 1) % BLOCKS;
	}
	return (seconds() - begin) / OPERATIONS;
}

/* A scan begins and ends; of all blocks, or of the first of a hundred groups. */
static double
begin_and_end(bool has_bitmap)
{
	tp_bitmap	bitmap;
	tp_scan_spec spec = {.relation = RELATION, .count = BLOCKS, .size = BLOCKS};
	double		begin;

	if (has_bitmap)
	{
		tp_bitmap_init(&bitmap, BLOCKS);
		for (uint32_t i = 0; i < 100; i++)
			tp_bitmap_add(&bitmap, i * (BLOCKS / 100), 1);
		spec.bitmap = &bitmap;
	}
	begin = seconds();
	for (uint32_t i = 0; i < OPERATIONS; i++)
	{
		spec.first = random_below(BLOCKS);
		tp_scan_end(&scans, tp_scan_begin(&scans, &spec, 1 + i));
	}
	return (seconds() - begin) / OPERATIONS;
}

/* Where it should begin, among the 64. */
static double
meet(void)
{
	const tp_scan_spec spec = {.relation = RELATION, .count = BLOCKS, .size = BLOCKS};
	static volatile uint32_t sink;
	double		begin = seconds();

	for (uint32_t i = 0; i < OPERATIONS; i++)
		sink = tp_scan_meet(&scans, &spec, 1 + i, NULL);
	(void) sink;
	return (seconds() - begin) / OPERATIONS;
}

static int
ascending(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static const char *const names[] = {
	"clock", "pbm", "pbm:remember=0",
	"clock, a million", "pbm, a million",
	"estimate", "advance",
	"begin and end", "begin and end, bitmap", "meet",
};

#define MEASUREMENTS ((int) (sizeof(names) / sizeof(names[0])))

int
main(void)
{
	double		times[MEASUREMENTS][ROUNDS];
	tp_pool		pools[5];

	begin_scans();
	pools[0] = full_pool("clock", FRAMES, NULL, 0);
	pools[1] = full_pool("pbm", FRAMES, NULL, 0);
	pools[2] = full_pool("pbm", FRAMES, "remember", 0);
	pools[3] = full_pool("clock", MANY_FRAMES, NULL, 0);
	pools[4] = full_pool("pbm", MANY_FRAMES, NULL, 0);
	for (int round = 0; round < ROUNDS; round++)
	{
		for (int i = 0; i < 5; i++)
			times[i][round] = eviction(&pools[i]);
		times[5][round] = estimate();
		times[6][round] = advance();
		times[7][round] = begin_and_end(false);
		times[8][round] = begin_and_end(true);
		times[9][round] = meet();
	}
	for (int i = 0; i < MEASUREMENTS; i++)
	{
		qsort(times[i], ROUNDS, sizeof(times[i][0]), ascending);
		printf("%s\t%.1f\n", names[i], times[i][ROUNDS / 2] * 1e9);
	}
	return 0;
}
