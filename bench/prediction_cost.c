/*
 * prediction_cost.c
 *	  Nanoseconds of what prediction adds: evictions, estimates, advances.
 *
 * Prints a line for each measurement: name, nanoseconds.  Evictions are whole
 * misses (victim, evict, admit) in a pool of 131,072 frames, of random pages
 * of one relation, over which 64 scans run.  Each is measured ROUNDS times, in
 * turn; the median counts.
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
#define BLOCKS	(4 * FRAMES)
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
	scans = tp_scans_init(SCANS, 1, memory(tp_scans_size(SCANS, 1)));
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
full_pool(const char *name, const char *param, double value)
{
	const tp_policy *policy = tp_policy_find(name);
	const tp_access access = {0};
	double		params[TP_MAX_PARAMS];
	tp_pool		pool;

	tp_policy_defaults(policy, params);
	if (param != NULL)
		params[tp_policy_param_find(policy, param)] = value;
	pool = tp_block_init(policy, params, FRAMES, FRAMES, 1,
						 memory(tp_block_size(policy, params, FRAMES)));
	pool.services = &services;
	for (uint32_t frame = 0; frame < FRAMES; frame++)
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

static int
ascending(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
print_median(const char *name, double *times)
{
	qsort(times, ROUNDS, sizeof(*times), ascending);
	printf("%s %.1f\n", name, times[ROUNDS / 2] * 1e9);
}

int
main(void)
{
	double		times[5][ROUNDS];
	tp_pool		by_clock;
	tp_pool		pbm;
	tp_pool		paper;

	begin_scans();
	by_clock = full_pool("clock", NULL, 0);
	pbm = full_pool("pbm", NULL, 0);
	paper = full_pool("pbm", "remember", 0);
	for (int round = 0; round < ROUNDS; round++)
	{
		times[0][round] = eviction(&by_clock);
		times[1][round] = eviction(&pbm);
		times[2][round] = eviction(&paper);
		times[3][round] = estimate();
		times[4][round] = advance();
	}
	print_median("clock", times[0]);
	print_median("pbm", times[1]);
	print_median("pbm:remember=0", times[2]);
	print_median("estimate", times[3]);
	print_median("advance", times[4]);
	return 0;
}
