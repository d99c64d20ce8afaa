/*
 * prediction_cost.c
 *	  Nanoseconds of what prediction adds: evictions, estimates, scans.
 *
 * Prints a line for each measurement: name, tab, nanoseconds.  Evictions are
 * whole misses (victim, evict, admit) in pools of 131,072 and of a million
 * frames, of random pages of one relation, over which 64 scans run: sequential
 * ones, or bitmap scans of a third of it, with gaps.  Each is measured ROUNDS
 * times, in turn; the median counts.
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
#define NOW		UINT64_C(6400000)	/* microseconds */

enum
{
	SEQUENTIAL,
	BITMAP,
	KINDS
};

static uint64_t seed;
static uint64_t handles[SCANS]; /* of the sequential scans */
static uint32_t positions[SCANS];
static tp_scans scans[KINDS];
static const tp_services services[KINDS] = {
	{.scans = &scans[SEQUENTIAL]},
	{.scans = &scans[BITMAP]}
};

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

/* The scan reads until now, and reports where it is 64 times in the relation. */
static void
catch_up(int kind, uint64_t handle, const tp_scan_spec *spec, uint64_t begun)
{
	double		reads = spec->speed * 1e-6 * (double) (NOW - begun);
	uint32_t	blocks = reads < spec->count ? (uint32_t) reads : spec->count - 1;

	for (uint32_t done = 0; done < blocks; done += BLOCKS / 64)
		tp_scan_advance(&scans[kind], handle, (spec->first + done) % BLOCKS,
						begun + (uint64_t) (1e6 * done / spec->speed));
	tp_scan_advance(&scans[kind], handle, (spec->first + blocks) % BLOCKS, NOW);
}

/*
 * 64 scans begin, a tenth of a second apart: of the whole relation, or by bitmaps of
 * random two thirds of a half of it.
 */
static void
begin_scans(int kind)
{
	/* and one more, to begin and end */
	const uint32_t bitmaps = kind == BITMAP ? SCANS : 1;

	scans[kind] = tp_scans_init(SCANS + 1, bitmaps,
								memory(tp_scans_size(SCANS + 1, bitmaps)));
	for (uint32_t i = 0; i < SCANS; i++)
	{
		const uint64_t now = i * (NOW / SCANS);
		tp_bitmap	bitmap;
		tp_scan_spec spec = {.relation = RELATION, .count = BLOCKS, .size = BLOCKS};
		uint64_t	handle;

		spec.speed = 1000 + random_below(100000);
		if (kind == BITMAP)
		{
			spec.count = BLOCKS / 2;
			spec.first = random_below(BLOCKS - spec.count);
			tp_bitmap_init(&bitmap, BLOCKS);
			for (uint32_t block = 0; block < spec.count; block += BLOCKS / TP_BITMAP_GROUPS)
				if (random_below(3) > 0)
					tp_bitmap_add(&bitmap, spec.first + block, 1);
			spec.bitmap = &bitmap;
		}
		else
			spec.first = random_below(BLOCKS);
		handle = tp_scan_begin(&scans[kind], &spec, now);
		catch_up(kind, handle, &spec, now);
		if (kind == SEQUENTIAL)
		{
			handles[i] = handle;
			positions[i] = (spec.first + BLOCKS / 2) % BLOCKS;
		}
	}
}

/* A full pool under the policy. */
static tp_pool
full_pool(const char *name, uint32_t frames, int kind, const char *param,
		  double value)
{
	const tp_policy *policy = tp_policy_find(name);
	const tp_access access = {.now = NOW};
	double		params[TP_MAX_PARAMS];
	tp_pool		pool;

	tp_policy_defaults(policy, params);
	if (param != NULL)
		params[tp_policy_param_find(policy, param)] = value;
	pool = tp_block_init(policy, params, frames, frames, 1,
						 memory(tp_block_size(policy, params, frames)));
	pool.services = &services[kind];
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
		const tp_access access = {.now = NOW + i};
		uint32_t	frame = tp_victim(pool, page, NULL, NULL, &access);

		tp_evict(pool, frame, &access);
		tp_admit(pool, frame, page, &access);
	}
	return (seconds() - begin) / OPERATIONS;
}

static double
estimate(int kind)
{
	static volatile double sink;
	double		begin = seconds();

	for (uint32_t i = 0; i < OPERATIONS; i++)
		sink = tp_scan_next_access(&scans[kind],
								   tp_page_make(RELATION, random_below(BLOCKS)), NOW);
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

		tp_scan_advance(&scans[SEQUENTIAL], handles[scan], positions[scan], NOW + i);
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
		tp_scan_end(&scans[SEQUENTIAL],
					tp_scan_begin(&scans[SEQUENTIAL], &spec, NOW + i));
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
		sink = tp_scan_meet(&scans[SEQUENTIAL], &spec, NOW + i, NULL);
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
	"clock", "pbm", "pbm:remember=0", "pbm, bitmap scans",
	"clock, a million", "pbm, a million",
	"estimate", "estimate, bitmap scans", "advance",
	"begin and end", "begin and end, bitmap", "meet",
};

#define MEASUREMENTS ((int) (sizeof(names) / sizeof(names[0])))
#define POOLS	6				/* the first names are evictions in these */

int
main(void)
{
	double		times[MEASUREMENTS][ROUNDS];
	tp_pool		pools[POOLS];

	begin_scans(SEQUENTIAL);
	begin_scans(BITMAP);
	pools[0] = full_pool("clock", FRAMES, SEQUENTIAL, NULL, 0);
	pools[1] = full_pool("pbm", FRAMES, SEQUENTIAL, NULL, 0);
	pools[2] = full_pool("pbm", FRAMES, SEQUENTIAL, "remember", 0);
	pools[3] = full_pool("pbm", FRAMES, BITMAP, NULL, 0);
	pools[4] = full_pool("clock", MANY_FRAMES, SEQUENTIAL, NULL, 0);
	pools[5] = full_pool("pbm", MANY_FRAMES, SEQUENTIAL, NULL, 0);
	for (int round = 0; round < ROUNDS; round++)
	{
		int			i;

		for (i = 0; i < POOLS; i++)
			times[i][round] = eviction(&pools[i]);
		times[i++][round] = estimate(SEQUENTIAL);
		times[i++][round] = estimate(BITMAP);
		times[i++][round] = advance();
		times[i++][round] = begin_and_end(false);
		times[i++][round] = begin_and_end(true);
		times[i++][round] = meet();
	}
	for (int i = 0; i < MEASUREMENTS; i++)
	{
		qsort(times[i], ROUNDS, sizeof(times[i][0]), ascending);
		printf("%s\t%.1f\n", names[i], times[i][ROUNDS / 2] * 1e9);
	}
	return 0;
}
