/*
 * test_osic.c
 *	  Literal states of OSIC after short sequences.
 */
#include "fixture.h"

static void
pages_come_in_hot(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3",
				 "ring: 1*1 2*1 3*1 | partitions=1 | hand=0");
}

static void
sweep_cools_and_takes_a_cool_page(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3 4",
				 "ring: 4*1 2 3 | partitions=1 | hand=1");
}

static void
hit_warms(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3 4 2 2 5",
				 "ring: 4*1 2 5*1 | partitions=1 | hand=0");
}

static void
free_frames_go_before_any_page_cools(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3 -2 4",
				 "ring: 1*1 4*1 3*1 | partitions=1 | hand=0");
}

static void
unusable_frames_stay_hot(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3 !1 4",
				 "ring: 1*1 4*1 3 | partitions=1 | hand=2");
}

static void
free_frames_are_passed(void **unused)
{
	fixture    *f = fixture_new("osic", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3 !2 -2 4");
	fixture_expect(f, "ring: 4*1 3 | partitions=1 | hand=1");
	fixture_expect_coldest(f, "3 4");
	fixture_free(f);
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=2", 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	fixture_expect(f, "ring: 1*1 2*1 | partitions=2 | hand=0");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
vacuum_and_repetition_do_not_warm(void **unused)
{
	(void) unused;
	expect_state("osic", NULL, 3, "1 2 3 4 2v 3c",
				 "ring: 4*1 2 3 | partitions=1 | hand=1");
}

/* Five frames in two partitions: three and two. */
static void
a_backend_starts_at_its_own_partition(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=2", 5);
	tp_access	access = {.backend = 1};
	tp_page		page = {0, 9};

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6");
	fixture_expect(f, "ring: 6*1 2 3 4*1 5*1 | partitions=2 | hand=1");
	assert_int_equal(tp_victim(&f->pool, page, NULL, NULL, &access), 3);
	fixture_expect(f, "ring: 6*1 2 3 4 5 | partitions=2 | hand=1");
	access.backend = 3;
	assert_int_equal(tp_victim(&f->pool, page, NULL, NULL, &access), 4);
	access.backend = 2;
	assert_int_equal(tp_victim(&f->pool, page, NULL, NULL, &access), 1);
	fixture_free(f);
}

/* Six frames in two partitions: one backend goes around both. */
static void
a_backend_goes_on_when_the_hand_has_come_around(void **unused)
{
	(void) unused;
	expect_state("osic", "partitions=2", 6, "1 2 3 4 5 6 7 8 9",
				 "ring: 7*1 8*1 9*1 4*1 5*1 6*1 | partitions=2 | hand=0");
	expect_state("osic", "partitions=2", 6, "1 2 3 4 5 6 7 8 9 10",
				 "ring: 7*1 8*1 9*1 10*1 5 6 | partitions=2 | hand=0");
}

static bool
only_the_first(void *arg, uint32_t frame)
{
	(void) arg;
	return frame == 0;
}

static void
then_come_the_next_partitions(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=2", 5);
	tp_access	access = {.backend = 1};

	(void) unused;
	fixture_run(f, "1 2 3 4 5 !1 !2 !3 6");
	fixture_expect(f, "ring: 1*1 2*1 3*1 6*1 5 | partitions=2 | hand=0");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), only_the_first, NULL,
							   &access), 0);
	fixture_expect(f, "ring: 1 2*1 3*1 6*1 5 | partitions=2 | hand=1");
	fixture_free(f);
}

static void
partitions_follow_the_size(void **unused)
{
	static const struct
	{
		uint32_t	frames;
		const char *state;
	}			expected[] = {
		{0, "ring: | partitions=1 | hand=0"},
		{255, "ring: | partitions=1 | hand=0"},
		{256, "ring: | partitions=2 | hand=0"},
		{1023, "ring: | partitions=2 | hand=0"},
		{1024, "ring: | partitions=4 | hand=0"},
		{4095, "ring: | partitions=4 | hand=0"},
		{4096, "ring: | partitions=8 | hand=0"},
		{16383, "ring: | partitions=8 | hand=0"},
		{16384, "ring: | partitions=16 | hand=0"},
	};
	const uint32_t capacity = 16384;
	const tp_policy *policy = tp_policy_find("osic");
	void	   *block = test_malloc(tp_block_size(policy, NULL, capacity));
	tp_pool		pool = tp_block_init(policy, NULL, capacity, 0, 1, block);
	uint32_t	frames = 0;

	(void) unused;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		char		state[64];

		while (frames < expected[i].frames)
			tp_join(&pool, frames++);
		tp_describe(&pool, state, sizeof(state));
		assert_string_equal(state, expected[i].state);
		assert_int_equal(tp_check(&pool, NULL, NULL, NULL, NULL), 0);
	}
	test_free(block);
}

static void
no_more_partitions_than_frames(void **unused)
{
	(void) unused;
	expect_state("osic", "partitions=16", 3, "1",
				 "ring: 1*1 | partitions=3 | hand=0");
	expect_state("osic", "partitions=3", 3, "1 2 3 /",
				 "ring: 3*1 2*1 | partitions=2 | hand=0");
}

/* A hand outside its partition goes to the begin of it, as the first one
 * does; one inside stays, as the second does at member 3. */
static void
resizing_cuts_the_ring_anew(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=2", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 /");
	fixture_expect(f, "ring: 6*1 5*1 3 4*1 | partitions=2 | hand=0");
	fixture_expect_coldest(f, "3 6 5 4");
	fixture_run(f, "+ 7 8");
	fixture_expect(f, "ring: 6 5 8*1 4*1 7*1 | partitions=2 | hand=0");
	fixture_free(f);
}

/* Of three partitions, each of one page, backend 1 has come to the third. */
static void
a_place_beyond_the_partitions_is_put_back(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=3", 3);
	tp_access	access = {.backend = 1};
	tp_page		page = {0, 9};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, page, NULL, NULL, &access), 1);
	fixture_run(f, "-3 /");
	assert_int_equal(tp_victim(&f->pool, page, NULL, NULL, &access), 1);
	fixture_expect(f, "ring: 1*1 2 | partitions=2 | hand=0");
	fixture_free(f);
}

static void
coldest_goes_by_partition(void **unused)
{
	fixture    *f = fixture_new("osic", "partitions=2", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 3");
	fixture_expect(f, "ring: 6*1 2 3*1 4*1 5*1 | partitions=2 | hand=1");
	fixture_expect_coldest(f, "2 3 6 4 5");
	fixture_free(f);
}

/*
 * Where the number of partitions changes with the size.  A miss cools the
 * first partition and takes its first page; the new one is hot.
 */
static void
coldest_walks_all_partitions_of_a_large_pool(void **unused)
{
	static const struct
	{
		uint32_t	frames;
		uint32_t	first;		/* frames of the first partition */
	}			pools[] = {
		{255, 255},
		{256, 128},
		{257, 129},
		{1023, 512},
		{1024, 256},
	};
	const tp_policy *policy = tp_policy_find("osic");
	const tp_access access = {0};

	(void) unused;
	for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
	{
		uint32_t	n = pools[i].frames;
		void	   *block = test_malloc(tp_block_size(policy, NULL, n));
		tp_pool		pool = tp_block_init(policy, NULL, n, n, 1, block);
		tp_cursor	cursor = {0};

		for (uint32_t page = 0; page <= n; page++)
		{
			uint32_t	frame = tp_victim(&pool, tp_page_make(0, page), NULL,
										  NULL, &access);

			assert_int_equal(frame, page % n);
			if (tp_is_resident(&pool, frame))
				tp_evict(&pool, frame, &access);
			tp_admit(&pool, frame, tp_page_make(0, page), &access);
		}
		for (uint32_t frame = 1; frame < pools[i].first; frame++)
			assert_int_equal(tp_coldest(&pool, &cursor), frame);
		assert_int_equal(tp_coldest(&pool, &cursor), 0);
		for (uint32_t frame = pools[i].first; frame < n; frame++)
			assert_int_equal(tp_coldest(&pool, &cursor), frame);
		assert_int_equal(tp_coldest(&pool, &cursor), TP_NONE);
		assert_int_equal(tp_check(&pool, NULL, NULL, NULL, NULL), 0);
		test_free(block);
	}
}

/* Hits every frame it is asked about, as other backends might meanwhile. */
static bool
hit_while_asked(void *arg, uint32_t frame)
{
	const fixture *f = arg;
	tp_access	access = {0};

	tp_hit(&f->pool, frame, &access);
	return true;
}

/* Two rounds, then the last frame that was passed. */
static void
racing_hits_do_not_prolong_the_search(void **unused)
{
	fixture    *f = fixture_new("osic", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), hit_while_asked, f,
							   &access), 2);
	fixture_expect(f, "ring: 1 2 3 | partitions=1 | hand=0");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_hot),
		cmocka_unit_test(sweep_cools_and_takes_a_cool_page),
		cmocka_unit_test(hit_warms),
		cmocka_unit_test(free_frames_go_before_any_page_cools),
		cmocka_unit_test(unusable_frames_stay_hot),
		cmocka_unit_test(free_frames_are_passed),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(vacuum_and_repetition_do_not_warm),
		cmocka_unit_test(a_backend_starts_at_its_own_partition),
		cmocka_unit_test(a_backend_goes_on_when_the_hand_has_come_around),
		cmocka_unit_test(then_come_the_next_partitions),
		cmocka_unit_test(partitions_follow_the_size),
		cmocka_unit_test(no_more_partitions_than_frames),
		cmocka_unit_test(resizing_cuts_the_ring_anew),
		cmocka_unit_test(a_place_beyond_the_partitions_is_put_back),
		cmocka_unit_test(coldest_goes_by_partition),
		cmocka_unit_test(coldest_walks_all_partitions_of_a_large_pool),
		cmocka_unit_test(racing_hits_do_not_prolong_the_search),
	};

	return cmocka_run_group_tests_name("osic", tests, NULL, NULL);
}
