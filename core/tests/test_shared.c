/*
 * test_shared.c
 *	  Threads that choose, evict, admit, forget and hit concurrently, without a
 *	  lock, under the policies that allow it.
 *
 * Each thread has a view with a chooser of its own.  In place of a server's
 * pin a frame has a flag: whoever sets it owns the frame, and takes its page
 * away only then.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "fixture.h"

#define FRAMES 48
#define PAGES 200
#define THREADS 4
#define MISSES 20000

typedef struct shared_pool
{
	tp_pool		pool;			/* with the header's chooser */
	atomic_bool taken[FRAMES];	/* by a thread */
	atomic_uint evictions;
} shared_pool;

typedef struct worker
{
	shared_pool *shared;
	uint32_t	number;
	pthread_t	thread;
} worker;

static bool
is_untaken(void *arg, uint32_t frame)
{
	shared_pool *shared = arg;

	return !atomic_load(&shared->taken[frame]);
}

/* A frame that was proposed is ours, unless another thread was faster. */
static bool
take(shared_pool *shared, uint32_t frame)
{
	return !atomic_exchange(&shared->taken[frame], true);
}

static void
replace(shared_pool *shared, const tp_pool *view, uint32_t frame,
		const tp_access *access)
{
	uint32_t	page = (uint32_t) (access->now * 7919 + access->backend) % PAGES;

	if (tp_is_resident(view, frame))
	{
		if (access->now % 16 == 0)
			tp_forget(view, frame);
		else
			tp_evict(view, frame, access);
		atomic_fetch_add(&shared->evictions, 1);
		if (access->now % 32 == 1)
		{
			tp_restore(view, frame, access);
			return;
		}
	}
	tp_admit(view, frame, tp_page_make(access->now % 3, page), access);
}

static void *
work(void *arg)
{
	worker	   *me = arg;
	shared_pool *shared = me->shared;
	tp_chooser	chooser;
	tp_pool		view = shared->pool;

	view.chooser = &chooser;
	tp_chooser_init(&view, 1, me->number, 0);
	for (uint64_t i = 0; i < MISSES; i++)
	{
		tp_access	access = {.now = i, .backend = me->number, .scan = i % 5};
		uint32_t	frame = tp_victim(&view, tp_page_make(0, (uint32_t) i),
									  is_untaken, shared, &access);

		if (frame == TP_NONE || !take(shared, frame))
			continue;
		replace(shared, &view, frame, &access);
		if ((view.policy->flags & TP_HIT_LOCK_FREE) && tp_is_resident(&view, frame))
			tp_hit(&view, frame, &access);
		atomic_store(&shared->taken[frame], false);
		if (view.policy->flags & TP_HIT_IN_EXTRA)
			tp_hit(&view, (uint32_t) i % FRAMES, &access);	/* whoever has it */
	}
	return NULL;
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

/* Before the threads begin: a page in every frame. */
static void
fill(const tp_pool *pool)
{
	const tp_access access = {0};

	for (uint32_t frame = 0; frame < FRAMES; frame++)
	{
		tp_claim(pool, frame);
		tp_admit(pool, frame, tp_page_make(9, frame), &access);
	}
}

static void
concurrently_without_a_lock(void **policy)
{
	fixture    *f = fixture_new(*policy, NULL, FRAMES);
	shared_pool *shared = calloc(1, sizeof(*shared));
	worker		workers[THREADS];
	uint32_t	resident = 0;

	assert_non_null(shared);
	assert_true(tp_can_share(&f->pool));
	shared->pool = f->pool;
	fill(&shared->pool);
	tp_share(&shared->pool);
	for (uint32_t i = 0; i < THREADS; i++)
	{
		workers[i] = (worker)
		{
			.shared = shared, .number = i + 1
		};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
										&workers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	assert_true(atomic_load(&shared->evictions) > MISSES);
	assert_int_equal(tp_check(&shared->pool, NULL, NULL, report, NULL), 0);
	for (uint32_t frame = 0; frame < FRAMES; frame++)
		resident += tp_is_resident(&shared->pool, frame);

	assert_int_equal(resident, FRAMES);
	free(shared);
	fixture_free(f);
}

/* Each process draws a sequence of its own. */
static void
choosers_differ(void **unused)
{
	fixture    *f = fixture_new("random", NULL, FRAMES);
	uint64_t	states[3];

	(void) unused;
	for (uint32_t i = 0; i < 3; i++)
	{
		tp_chooser_init(&f->pool, 1, i, 0);
		states[i] = f->pool.chooser->random_state;
	}
	assert_int_equal(states[0], 1);
	assert_true(states[1] != states[2] && states[1] != 1 && states[2] != 1);
	fixture_free(f);
}

static void
with_ghosts_none_can_be_shared(void **unused)
{
	fixture    *f = fixture_new("watt", "history=1", FRAMES);

	(void) unused;
	assert_false(tp_can_share(&f->pool));
	fixture_free(f);
	f = fixture_new("lru", NULL, FRAMES);
	assert_false(tp_can_share(&f->pool));
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(concurrently_without_a_lock, "random"),
		cmocka_unit_test_prestate(concurrently_without_a_lock, "hyperbolic"),
		cmocka_unit_test_prestate(concurrently_without_a_lock, "lean_evict"),
		cmocka_unit_test_prestate(concurrently_without_a_lock, "watt"),
		cmocka_unit_test_prestate(concurrently_without_a_lock, "pbm"),
		cmocka_unit_test(choosers_differ),
		cmocka_unit_test(with_ghosts_none_can_be_shared),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
