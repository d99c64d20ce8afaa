/*
 * test_w_tinylfu.c
 *	  Literal states of W-TinyLFU after short sequences, and of its sketch.
 *
 * With 5 frames the window has 1, main 4, of which 3 are protected.  So few
 * pages do not meet in all four rows of the sketch: estimates are exact.
 */
#include "fixture.h"
#include "tidepool/parts/sketch.h"

static void
newcomers_pass_from_window_to_probation(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5",
				 "window: 5 | probation: 4 3 2 1 | protected: | "
				 "max_window=1 | max_protected=3 | additions=5");
}

/* 5 has been referenced as often as 1, which is in. */
static void
equal_frequency_does_not_displace(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 6",
				 "window: 6 | probation: 4 3 2 1 | protected: | "
				 "max_window=1 | max_protected=3 | additions=6");
}

static void
higher_frequency_displaces(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 5 6",
				 "window: 6 | probation: 5 4 3 2 | protected: | "
				 "max_window=1 | max_protected=3 | additions=7");
}

/* 6 was evicted, but not forgotten: when it returns it has 2 against 1. */
static void
frequency_outlives_eviction(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7");
	fixture_expect(f, "window: 7 | probation: 4 3 2 1 | protected: | "
				   "max_window=1 | max_protected=3 | additions=7");
	fixture_run(f, "6 8");
	fixture_expect(f, "window: 8 | probation: 6 4 3 2 | protected: | "
				   "max_window=1 | max_protected=3 | additions=9");
	fixture_free(f);
}

static void
hit_in_the_window_is_lru(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", "window=0.4", 5, "1 2 3 4 5 4",
				 "window: 4 5 | probation: 3 2 1 | protected: | "
				 "max_window=2 | max_protected=2 | additions=6");
}

static void
hit_on_probation_protects(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 1 2",
				 "window: 5 | probation: 4 3 | protected: 2 1 | "
				 "max_window=1 | max_protected=3 | additions=7");
}

static void
protected_overflows_to_probation(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 1 2 3 4",
				 "window: 5 | probation: 1 | protected: 4 3 2 | "
				 "max_window=1 | max_protected=3 | additions=9");
}

static void
hit_on_protected_is_lru(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 1 2 3 4 2",
				 "window: 5 | probation: 1 | protected: 2 4 3 | "
				 "max_window=1 | max_protected=3 | additions=10");
}

/* 1, never counted, loses against 5, counted once. */
static void
vacuum_and_repetition_do_not_count(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1v 2 3 4 5 1c 5v 6",
				 "window: 6 | probation: 5 4 3 2 | protected: | "
				 "max_window=1 | max_protected=3 | additions=5");
}

static void
unusable_candidate_is_passed_over(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 !5 6",
				 "window: 6 | probation: 5 4 3 2 | protected: | "
				 "max_window=1 | max_protected=3 | additions=6");
}

static void
unusable_rivals_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 5 !1 6",
				 "window: 6 | probation: 5 4 3 1^ | protected: | "
				 "max_window=1 | max_protected=3 | additions=7");
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 5 !1 !2 !3 !4 6",
				 "window: 6 | probation: 4^ 3 2 1 | protected: | "
				 "max_window=1 | max_protected=3 | additions=7");
}

/* After the second miss the hand would stand at 7, the last of the pinned. */
static void
window_is_searched_without_the_hand(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", "window=0.5", 8, "1 2 3 4 5 6 7 8 !5 !6 !7 9 10",
				 "window: 10 7^ 6 5 | probation: 4 3 2 1 | protected: | "
				 "max_window=4 | max_protected=3 | additions=10");
}

static void
protected_page_is_the_last_resort(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 1 !5 !2 !3 !4 6");
	fixture_expect(f, "window: 6 | probation: 5 4^ 3 2 | protected: | "
				   "max_window=1 | max_protected=3 | additions=7");
	fixture_run(f, "!6 7");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

/* 4 left from a window of two, which is not full since. */
static void
main_gives_while_the_window_is_not_full(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", "window=0.4", 5, "1 2 3 4 5 / 6",
				 "window: 6 5 | probation: 3 2 | protected: | "
				 "max_window=2 | max_protected=1 | additions=6");
	expect_state("w_tinylfu", "window=0.4", 5, "1 2 3 4 5 / !1 !2 !3 6",
				 "window: 6 | probation: 3^ 2 1 | protected: | "
				 "max_window=2 | max_protected=1 | additions=6");
}

/* While 4 leaves for another page, 5 must stand the comparison with 1. */
static void
pages_that_are_about_to_come_in_fill_the_window(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", "window=0.4", 5);
	tp_access	access = {0};
	uint32_t	frame = 0;

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	while (f->pool.nodes[frame].block != 4)
		frame++;
	tp_evict(&f->pool, frame, &access);
	f->pinned[frame] = true;
	fixture_run(f, "6");
	fixture_expect(f, "window: 6 | probation: 3 2 1 | protected: | "
				   "max_window=2 | max_protected=2 | additions=6");
	fixture_free(f);
}

/* 4 is on its way out while 6 and 7 come in: the window is full without it. */
static void
a_restored_page_may_not_fit_the_window(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", "window=0.4", 5);
	tp_access	access = {0};
	uint32_t	frame = 0;

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	while (f->pool.nodes[frame].block != 4)
		frame++;
	tp_evict(&f->pool, frame, &access);
	fixture_run(f, "6 -1 7");
	fixture_expect(f, "window: 7 6 | probation: 3 2 | protected: | "
				   "max_window=2 | max_protected=2 | additions=7");
	tp_restore(&f->pool, frame, &access);
	fixture_expect(f, "window: 7 6 | probation: 4 3 2 | protected: | "
				   "max_window=2 | max_protected=2 | additions=7");
	fixture_free(f);
}

static void
candidate_goes_if_probation_is_empty(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", "protected=1", 3, "1 2 3 1 2 4",
				 "window: 4 | probation: | protected: 2 1 | "
				 "max_window=1 | max_protected=2 | additions=0");
}

static void
smallest_pools(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 1, "1 2",
				 "window: 2 | probation: | protected: | "
				 "max_window=1 | max_protected=0 | additions=0");
	expect_state("w_tinylfu", NULL, 2, "1 2 1",
				 "window: 2 | probation: 1 | protected: | "
				 "max_window=1 | max_protected=0 | additions=0");
	expect_state("w_tinylfu", "window=0,protected=0", 1, "/",
				 "window: | probation: | protected: | "
				 "max_window=0 | max_protected=0 | additions=0");
}

static void
forget_leaves_any_list(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 1 -1 -3 -5",
				 "window: | probation: 4 2 | protected: | "
				 "max_window=1 | max_protected=3 | additions=6");
}

static void
joining_frames_raise_the_bounds(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 4, "1 +",
				 "window: 1 | probation: | protected: | "
				 "max_window=1 | max_protected=3 | additions=1");
}

static void
leaving_frames_lower_the_bounds(void **unused)
{
	(void) unused;
	expect_state("w_tinylfu", NULL, 5, "1 2 3 4 5 1 2 3 /",
				 "window: | probation: 1 4 | protected: 3 2 | "
				 "max_window=1 | max_protected=2 | additions=8");
	expect_state("w_tinylfu", "window=0.4", 3, "1 2 3 -1 /",
				 "window: 3 | probation: 2 | protected: | "
				 "max_window=1 | max_protected=0 | additions=0");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5");
	fixture_expect_coldest(f, "5 1 2 3 4");
	fixture_run(f, "5 1");
	fixture_expect_coldest(f, "2 3 4 5 1");
	fixture_run(f, "-5");
	fixture_expect_coldest(f, "2 3 4 1");
	fixture_free(f);

	f = fixture_new("w_tinylfu", "window=0.4", 5);
	fixture_run(f, "1");
	fixture_expect_coldest(f, "1");
	fixture_run(f, "2 3 -3");
	fixture_expect_coldest(f, "2 1");
	fixture_run(f, "4 5 6 /");
	fixture_expect_coldest(f, "1 2 4 6");
	fixture_free(f);
}

static void
upcoming_names_protected_pages_if_none_is_on_probation(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", "protected=1", 3);
	tp_lookahead ahead = {0};

	(void) unused;
	fixture_run(f, "1 2 3 1");
	fixture_expect_upcoming(f, &ahead, 9, "3 2");
	fixture_run(f, "2");
	fixture_expect_upcoming(f, &ahead, 9, "3 1 2");
	fixture_free(f);
}

/* ---- the sketch, in a pool without pages ---- */

static tp_sketch *
sketch_of(fixture *f)
{
	return tp_state(&f->pool, tp_sketch);
}

static void
add(fixture *f, uint64_t key, int times)
{
	while (times-- > 0)
		tp_sketch_add(&f->pool, sketch_of(f), key);
}

static uint32_t
estimate(fixture *f, uint64_t key)
{
	return tp_sketch_estimate(&f->pool, sketch_of(f), key);
}

static uint64_t
key_of(uint32_t block)
{
	return tp_page_key(tp_page_make(0, block));
}

/* The first block from `from` on whose key is in the group, of two. */
static uint32_t
block_in_group(uint32_t group, uint32_t from)
{
	while (tp_linear_hash(key_of(from), 2) != group)
		from++;
	return from;
}

static void
sketch_counts_to_fifteen(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 4);

	(void) unused;
	add(f, key_of(1), 3);
	add(f, key_of(2), 20);
	assert_int_equal(estimate(f, key_of(1)), 3);
	assert_int_equal(estimate(f, key_of(2)), 15);
	assert_int_equal(estimate(f, key_of(3)), 0);
	assert_int_equal(sketch_of(f)->additions, 3 + 15);
	fixture_free(f);
}

static void
sketch_is_halved_at_ten_additions_per_frame(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 4);

	(void) unused;
	add(f, key_of(1), 15);
	add(f, key_of(2), 15);
	add(f, key_of(3), 9);
	assert_int_equal(estimate(f, key_of(1)), 15);
	assert_int_equal(sketch_of(f)->additions, 39);
	add(f, key_of(3), 1);
	assert_int_equal(sketch_of(f)->additions, 20);
	assert_int_equal(estimate(f, key_of(1)), 7);
	assert_int_equal(estimate(f, key_of(3)), 5);
	add(f, key_of(1), 1);
	assert_int_equal(estimate(f, key_of(1)), 8);
	assert_int_equal(estimate(f, key_of(2)), 7);
	fixture_free(f);
}

/* 45 additions are too many for four frames, as a reference notices. */
static void
sketch_is_halved_after_frames_have_left(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 5);

	(void) unused;
	add(f, key_of(1), 15);
	add(f, key_of(2), 15);
	add(f, key_of(3), 15);
	fixture_run(f, "/");
	assert_int_equal(sketch_of(f)->additions, 45);
	add(f, key_of(1), 1);
	assert_int_equal(sketch_of(f)->additions, 22);
	assert_int_equal(estimate(f, key_of(1)), 7);
	fixture_free(f);
}

/* Group 1 alone is added to; what is read of group 0 is halved all the same. */
static void
halving_reaches_cells_left_alone(void **unused)
{
	static const uint32_t expected[] = {15, 7, 3, 1, 0, 0};
	fixture    *f = fixture_new("w_tinylfu", NULL, 8);
	uint64_t	key = key_of(block_in_group(0, 0));
	uint32_t	other = 0;

	(void) unused;
	add(f, key, 15);
	for (uint16_t halvings = 0; halvings < 6; halvings++)
	{
		assert_int_equal(estimate(f, key), expected[halvings]);
		while (sketch_of(f)->halvings == halvings)
		{
			other = block_in_group(1, other + 1);
			add(f, key_of(other), 1);
		}
	}
	add(f, key, 1);
	assert_int_equal(estimate(f, key), 1);
	fixture_free(f);
}

static void
groups_split_and_merge(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 4);
	uint64_t	low = key_of(block_in_group(0, 0));
	uint64_t	high = key_of(block_in_group(1, 0));

	(void) unused;
	add(f, low, 4);
	add(f, high, 5);
	fixture_run(f, "++++");
	assert_int_equal(estimate(f, low), 4);
	assert_int_equal(estimate(f, high), 5);
	add(f, low, 2);
	add(f, high, 1);
	for (int left = 8; left >= 4; left--)
	{
		assert_int_equal(f->pool.header->frames, left);
		assert_int_equal(estimate(f, low), 6);
		assert_int_equal(estimate(f, high), 6);
		fixture_run(f, "/");
	}
	fixture_free(f);
}

/* Group 0 or 1 has been added to since the halving, and the other has not. */
static void
check_merge_after_halving(uint32_t fresh_group)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 8);
	uint64_t	low = key_of(block_in_group(0, 0));
	uint64_t	high = key_of(block_in_group(1, 0));

	add(f, low, 9);
	add(f, high, 9);
	sketch_of(f)->halvings++;
	add(f, fresh_group == 0 ? low : high, 1);
	fixture_run(f, "/");
	assert_int_equal(estimate(f, low), fresh_group == 0 ? 5 : 4);
	assert_int_equal(estimate(f, high), fresh_group == 0 ? 4 : 5);
	fixture_free(f);
}

static void
merged_groups_are_halved_first(void **unused)
{
	(void) unused;
	check_merge_after_halving(0);
	check_merge_after_halving(1);
}

static void
less_than_four_frames_have_no_sketch(void **unused)
{
	fixture    *f = fixture_new("w_tinylfu", NULL, 4);

	(void) unused;
	add(f, key_of(1), 2);
	fixture_run(f, "/");
	add(f, key_of(1), 1);
	assert_int_equal(estimate(f, key_of(1)), 0);
	assert_int_equal(sketch_of(f)->additions, 2);
	fixture_run(f, "+");
	assert_int_equal(estimate(f, key_of(1)), 0);
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newcomers_pass_from_window_to_probation),
		cmocka_unit_test(equal_frequency_does_not_displace),
		cmocka_unit_test(higher_frequency_displaces),
		cmocka_unit_test(frequency_outlives_eviction),
		cmocka_unit_test(hit_in_the_window_is_lru),
		cmocka_unit_test(hit_on_probation_protects),
		cmocka_unit_test(protected_overflows_to_probation),
		cmocka_unit_test(hit_on_protected_is_lru),
		cmocka_unit_test(vacuum_and_repetition_do_not_count),
		cmocka_unit_test(unusable_candidate_is_passed_over),
		cmocka_unit_test(unusable_rivals_are_passed_over),
		cmocka_unit_test(window_is_searched_without_the_hand),
		cmocka_unit_test(protected_page_is_the_last_resort),
		cmocka_unit_test(main_gives_while_the_window_is_not_full),
		cmocka_unit_test(pages_that_are_about_to_come_in_fill_the_window),
		cmocka_unit_test(a_restored_page_may_not_fit_the_window),
		cmocka_unit_test(candidate_goes_if_probation_is_empty),
		cmocka_unit_test(smallest_pools),
		cmocka_unit_test(forget_leaves_any_list),
		cmocka_unit_test(joining_frames_raise_the_bounds),
		cmocka_unit_test(leaving_frames_lower_the_bounds),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(upcoming_names_protected_pages_if_none_is_on_probation),
		cmocka_unit_test(sketch_counts_to_fifteen),
		cmocka_unit_test(sketch_is_halved_at_ten_additions_per_frame),
		cmocka_unit_test(sketch_is_halved_after_frames_have_left),
		cmocka_unit_test(halving_reaches_cells_left_alone),
		cmocka_unit_test(groups_split_and_merge),
		cmocka_unit_test(merged_groups_are_halved_first),
		cmocka_unit_test(less_than_four_frames_have_no_sketch),
	};

	return cmocka_run_group_tests_name("w_tinylfu", tests, NULL, NULL);
}
