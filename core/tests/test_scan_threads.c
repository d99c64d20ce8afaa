/*
 * test_scan_threads.c
 *	  Scans that advance and estimates that are asked for by several threads,
 *	  while scans begin and end under a mutex.
 *
 * The registries are small: places, bitmaps and histories change hands all the
 * time, also while their former owners still advance.  Estimates may be wrong
 * then, but must be waits; what is left at the end must be in order.  The
 * thread sanitizer (make test-c) finds accesses that are neither relaxed
 * atomics nor guarded by the mutex.
 */
#define _POSIX_C_SOURCE 200112L /* barriers */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tidepool/prediction/trail.h"

#define READERS 3				/* threads that scan */
#define ASKERS 2				/* threads that ask for estimates */
#define SCANS 1000				/* of each reader */
#define LANES 3					/* tp_scan_lanes of the registry */
#define BITMAPS 2
#define RELATIONS 6				/* more than there are lanes, and histories */
#define BLOCKS 1000				/* of each */
#define TUPLES 600				/* of an index */

typedef struct thread
{
	uint32_t	number;
	uint64_t	seed;
	bool		broken;			/* an estimate was no wait */
	pthread_t	id;
} thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tp_scans scans;
static tp_trails trails;
static atomic_ullong clock_now; /* microseconds */
static atomic_uint readers;		/* that run */
static pthread_barrier_t start; /* of all threads */
static atomic_ullong index_scans[READERS];	/* the readers' last */

static uint32_t
below(thread *t, uint32_t n)
{
	t->seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) (((tp_mix64(t->seed) >> 32) * n) >> 32);
}

/* Now and then it is another thread's turn, however many cores there are. */
static void
take_turns(thread *t)
{
	if (below(t, 1024) == 0)
		sched_yield();
}

static uint64_t
tick(thread *t)
{
	take_turns(t);
	return atomic_fetch_add(&clock_now, 1000);
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

/* ---- scans ---- */

static tp_scan_spec
random_spec(thread *t, tp_bitmap *bitmap)
{
	tp_scan_spec spec = {
		.relation = below(t, RELATIONS),
		.first = below(t, BLOCKS),
		.count = 1 + below(t, BLOCKS),
		.size = BLOCKS,
		.backward = below(t, 2) != 0,
		.speed = below(t, 2) * 1000.0,
		.owner = t->number
	};

	if (below(t, 3) == 0)
	{
		tp_bitmap_init(bitmap, BLOCKS);
		for (int i = 0; i < 3; i++)
			tp_bitmap_add(bitmap, below(t, BLOCKS), 1);
		spec.bitmap = bitmap;
	}
	return spec;
}

/*
 * Read blocks of the range, or all of them if it is a bitmap scan.  A pause of
 * ten seconds lets others count the scan as gone and reuse its place.
 */
static void
read_blocks(thread *t, const tp_scan_spec *spec, uint64_t handle)
{
	for (uint32_t i = 0; i < spec->count; i += 1 + below(t, 4))
	{
		uint32_t	block = spec->bitmap != NULL ? i :
			spec->backward ? spec->first - i : spec->first + i;

		if (i > 100 && below(t, 50) == 0)
			atomic_fetch_add(&clock_now, 10000000);
		tp_scan_advance(&scans, handle, block % BLOCKS, tick(t));
	}
}

static void *
scan(void *arg)
{
	thread	   *t = arg;
	tp_bitmap	bitmap;

	pthread_barrier_wait(&start);
	for (int i = 0; i < SCANS; i++)
	{
		tp_scan_spec spec = random_spec(t, &bitmap);
		uint64_t	handle;

		pthread_mutex_lock(&lock);
		handle = tp_scan_begin(&scans, &spec, tick(t));
		pthread_mutex_unlock(&lock);
		read_blocks(t, &spec, handle);
		if (below(t, 4) == 0)
			continue;			/* it vanishes */
		pthread_mutex_lock(&lock);
		if (below(t, 8) == 0)
			tp_scan_end_owner(&scans, t->number);
		else
			tp_scan_end(&scans, handle);
		pthread_mutex_unlock(&lock);
	}
	atomic_fetch_sub(&readers, 1);
	return NULL;
}

/* A wait is not negative, and a number. */
static void
expect_wait(thread *t, double wait)
{
	t->broken |= !(wait >= 0);
}

static void *
ask(void *arg)
{
	thread	   *t = arg;
	tp_scan_found found = {0};	/* may be of long ago */

	pthread_barrier_wait(&start);
	while (atomic_load(&readers) > 0)
	{
		tp_page		page = tp_page_make(below(t, RELATIONS), below(t, BLOCKS));
		uint64_t	now = atomic_load(&clock_now);
		tp_scan_spec spec = {
			.relation = page.relation, .first = below(t, BLOCKS), .count = 100
		};
		uint32_t	begin = tp_scan_meet(&scans, &spec, now, NULL);

		expect_wait(t, tp_scan_next_access(&scans, page, now));
		expect_wait(t, tp_scan_expected_access(&scans, &found, page,
											   below(t, 100000), now));
		t->broken |= begin - spec.first >= spec.count;
		take_turns(t);
	}
	return NULL;
}

/* ---- index scans ---- */

static void *
scan_index(void *arg)
{
	thread	   *t = arg;

	pthread_barrier_wait(&start);
	for (int i = 0; i < SCANS; i++)
	{
		uint64_t	index = below(t, 2);
		uint64_t	handle;

		pthread_mutex_lock(&lock);
		handle = tp_trail_begin(&trails, index, t->number, tick(t));
		pthread_mutex_unlock(&lock);
		atomic_store(&index_scans[t->number], handle);
		for (uint64_t tuple = 0; tuple < TUPLES; tuple++)
			(void) tp_trail_tuple(&trails, handle, tuple, tick(t));
		if (below(t, 4) == 0)
		{
			/* it vanishes, for good */
			atomic_fetch_add(&clock_now, TP_TRAIL_TIMEOUT / 2);
			continue;
		}
		pthread_mutex_lock(&lock);
		tp_trail_end(&trails, handle);
		pthread_mutex_unlock(&lock);
	}
	atomic_fetch_sub(&readers, 1);
	return NULL;
}

static void *
ask_for_delays(void *arg)
{
	thread	   *t = arg;

	pthread_barrier_wait(&start);
	while (atomic_load(&readers) > 0)
	{
		expect_wait(t, tp_trail_delay(&trails,
									  atomic_load(&index_scans[below(t, READERS)])));
		take_turns(t);
	}
	return NULL;
}

/* ---- together ---- */

/* Run READERS threads of the one kind and ASKERS of the other. */
static void
run_threads(void *(*reader) (void *), void *(*asker) (void *))
{
	thread		threads[READERS + ASKERS];

	atomic_store(&clock_now, 1);
	atomic_store(&readers, READERS);
	assert_int_equal(pthread_barrier_init(&start, NULL, READERS + ASKERS), 0);
	for (uint32_t i = 0; i < READERS + ASKERS; i++)
	{
		threads[i] = (thread)
		{
			.number = i, .seed = i
		};
		assert_int_equal(pthread_create(&threads[i].id, NULL,
										i < READERS ? reader : asker,
										&threads[i]), 0);
	}
	for (uint32_t i = 0; i < READERS + ASKERS; i++)
	{
		pthread_join(threads[i].id, NULL);
		assert_false(threads[i].broken);
	}
	pthread_barrier_destroy(&start);
}

static void
estimates_while_scans_come_and_go(void **unused)
{
	void	   *block = aligned_alloc(64, tp_scans_size(LANES, BITMAPS));
	const tp_scan_counts *counts;

	(void) unused;
	assert_non_null(block);
	scans = tp_scans_init(LANES, BITMAPS, block);
	run_threads(scan, ask);
	for (uint32_t owner = 0; owner < READERS; owner++)
		tp_scan_end_owner(&scans, owner);
	assert_int_equal(tp_scans_check(&scans, report, NULL), 0);
	assert_int_equal(scans.header->running, 0);

	/* all of it has happened, and nothing is missing */
	counts = &scans.header->counts;
	assert_int_equal(counts->begun,
					 counts->ended + counts->abandoned + counts->reclaimed);
	assert_true(counts->reclaimed > 0 && counts->bitmaps_short > 0);
	free(block);
}

static void
delays_while_index_scans_come_and_go(void **unused)
{
	void	   *block = malloc(tp_trails_size(4, 64));
	const tp_trail_counts *counts;

	(void) unused;
	assert_non_null(block);
	trails = tp_trails_init(4, 64, block);
	run_threads(scan_index, ask_for_delays);
	for (uint32_t owner = 0; owner < READERS; owner++)
		tp_trail_end_owner(&trails, owner);
	assert_int_equal(tp_trails_check(&trails, report, NULL), 0);
	assert_int_equal(trails.header->running, 0);
	counts = &trails.header->counts;
	assert_int_equal(counts->begun,
					 counts->ended + counts->abandoned + counts->reclaimed);
	assert_true(counts->reclaimed > 0);
	free(block);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_while_scans_come_and_go),
		cmocka_unit_test(delays_while_index_scans_come_and_go),
	};

	return cmocka_run_group_tests_name("scan_threads", tests, NULL, NULL);
}
