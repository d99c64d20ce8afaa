/*
 * test_watt.c
 *	  Literal states of WATT after short sequences.
 *
 * Pools no larger than the sample are looked at whole, so nothing is drawn;
 * where sample=1, members are drawn with seed 1: 2 2 3 1 1 ... of 4.  With two
 * frames and epoch=2 each eviction begins an epoch.  In a state, 1*3!2 is page
 * 1 with 3 accesses and 2 writes in its logs.
 */
#include "fixture.h"
#include "tidepool/parts/epoch_log.h"

static void
fills_free_frames_first(void **unused)
{
	(void) unused;
	expect_state("watt", NULL, 3, "1 2w 3",
				 "frames: 1*1 2*1!1 3*1 | history: | "
				 "epoch=0 | evictions=0");
}

static void
an_epoch_is_logged_once(void **unused)
{
	(void) unused;
	expect_state("watt", NULL, 2, "1 1 1w 1w 2",
				 "frames: 1*1!1 2*1 | history: | "
				 "epoch=0 | evictions=0");
}

/* All are worth 0.1: the first goes.  8 / 4 evictions are an epoch. */
static void
evictions_are_the_clock(void **unused)
{
	fixture    *f = fixture_new("watt", NULL, 8);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8 9");
	fixture_expect(f, "frames: 9*1 2*1 3*1 4*1 5*1 6*1 7*1 8*1 | history: | "
				   "epoch=0 | evictions=1");
	fixture_run(f, "10");
	fixture_expect(f, "frames: 10*1 2*1 3*1 4*1 5*1 6*1 7*1 8*1 | history: | "
				   "epoch=1 | evictions=0");
	fixture_run(f, "2 10");
	fixture_expect(f, "frames: 10*1 2*2 3*1 4*1 5*1 6*1 7*1 8*1 | history: | "
				   "epoch=1 | evictions=0");
	fixture_free(f);
}

/* At the second miss 3 is worth 0.1, and 2, of two epochs, min(1, 2 / 2). */
static void
second_subfrequency_counts_in_full(void **unused)
{
	(void) unused;
	expect_state("watt", "epoch=2", 2, "1 2 3 2 4",
				 "frames: 4*1 2*2 | history: | "
				 "epoch=2 | evictions=0");
}

/* At the second miss 3 is worth 0.1 / 1, and 2, of one epoch ago, 0.1 / 2. */
static void
age_lowers_the_value(void **unused)
{
	(void) unused;
	expect_state("watt", "epoch=2", 2, "1 2 3 4",
				 "frames: 3*1 4*1 | history: | "
				 "epoch=2 | evictions=0");
}

/*
 * At the last miss 4 is worth 0.1, and 2, accessed in epochs 1 and 0, 2 / 3.
 * If only one of them may be logged it is worth 0.1 / 2.
 */
static void
only_k_accesses_are_logged(void **unused)
{
	(void) unused;
	expect_state("watt", "epoch=2", 2, "1 2 3 2 4 5",
				 "frames: 5*1 2*2 | history: | "
				 "epoch=3 | evictions=0");
	expect_state("watt", "epoch=2,k_read=1", 2, "1 2 3 2 4 5",
				 "frames: 4*1 5*1 | history: | "
				 "epoch=3 | evictions=0");
}

/* 1 is worth 0.1 + write_cost * 0.1, and 2 0.1. */
static void
writes_add_to_the_value(void **unused)
{
	(void) unused;
	expect_state("watt", NULL, 2, "1w 2 3",
				 "frames: 1*1!1 3*1 | history: | "
				 "epoch=1 | evictions=0");
	expect_state("watt", "write_cost=0", 2, "1w 2 3",
				 "frames: 3*1 2*1 | history: | "
				 "epoch=1 | evictions=0");
	expect_state("watt", "k_write=0", 2, "1w 2 3",
				 "frames: 3*1 2*1 | history: | "
				 "epoch=1 | evictions=0");
}

/* In another epoch than that of their first access. */
static void
repetition_logs_its_write_and_vacuum_nothing(void **unused)
{
	(void) unused;
	expect_state("watt", "epoch=2", 2, "1 2 3 2c 2v 2wv",
				 "frames: 3*1 2*1 | history: | "
				 "epoch=1 | evictions=0");
	expect_state("watt", "epoch=2", 2, "1 2 3 2wc",
				 "frames: 3*1 2*1!1 | history: | "
				 "epoch=1 | evictions=0");
	expect_state("watt", NULL, 3, "1v 2wv 3wc",
				 "frames: 1*1 2*1 3*1!1 | history: | "
				 "epoch=0 | evictions=0");
}

static void
unusable_frames_are_passed_over(void **unused)
{
	fixture    *f = fixture_new("watt", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 3");
	fixture_expect(f, "frames: 1*1 3*1 | history: | "
				   "epoch=1 | evictions=0");
	fixture_run(f, "!3 4");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
samples_are_drawn_from_larger_pools(void **unused)
{
	(void) unused;
	expect_state("watt", "sample=1", 4, "1 2 3 4 5",
				 "frames: 1*1 2*1 5*1 4*1 | history: | "
				 "epoch=1 | evictions=0");
}

static void
forget_empties_the_logs(void **unused)
{
	(void) unused;
	expect_state("watt", "history=1", 2, "1w -1 2",
				 "frames: 2*1 | history: | epoch=0 | evictions=0");
}

/* 2 returns with the access and the write of epoch 0. */
static void
history_is_recalled(void **unused)
{
	fixture    *f = fixture_new("watt", "history=1,epoch=2", 2);

	(void) unused;
	fixture_run(f, "2w 1w 3");
	fixture_expect(f, "frames: 3*1 1*1!1 | history: 2 | "
				   "epoch=1 | evictions=0");
	fixture_run(f, "2");
	fixture_expect(f, "frames: 2*2!1 1*1!1 | history: 3 | "
				   "epoch=2 | evictions=0");
	fixture_free(f);
}

static void
history_is_not_for_vacuum_and_repetition(void **unused)
{
	(void) unused;
	expect_state("watt", "history=1,epoch=2", 2, "2w 1w 3 2v",
				 "frames: 2*1 1*1!1 | history: 3 | "
				 "epoch=2 | evictions=0");
	expect_state("watt", "history=1,epoch=2", 2, "2w 1w 3 2c",
				 "frames: 2*1 1*1!1 | history: 3 | "
				 "epoch=2 | evictions=0");
}

static void
history_is_bounded(void **unused)
{
	(void) unused;
	expect_state("watt", "history=0.5", 2, "1 2 3 4",
				 "frames: 3*1 4*1 | history: 2 | "
				 "epoch=2 | evictions=0");
}

/*
 * 1 is accessed and written in epochs 0 to 5, a miss in between each, then
 * made to leave: of 6 accesses and 4 writes, 4 and 1 come back, and one more.
 */
static void
history_has_room_for_four_accesses_and_a_write(void **unused)
{
	fixture    *f = fixture_new("watt", "history=2,epoch=2", 2);

	(void) unused;
	fixture_run(f, "2 1w 3 1w 4 1w 5 1w 6 1w 7 1w");
	fixture_expect(f, "frames: 7*1 1*6!4 | history: 6 5 4 3 | "
				   "epoch=5 | evictions=0");
	fixture_run(f, "!7 8 ?7");
	fixture_expect(f, "frames: 7*1 8*1 | history: 1 6 5 4 | "
				   "epoch=6 | evictions=0");
	fixture_run(f, "1");
	fixture_expect(f, "frames: 1*5!1 8*1 | history: 7 6 5 | "
				   "epoch=7 | evictions=0");
	fixture_free(f);
}

static void
recalled_logs_are_cut(void **unused)
{
	(void) unused;
	expect_state("watt", "history=1,epoch=2,k_read=1,k_write=0", 2, "2w 1 3 2",
				 "frames: 3*1 2*1 | history: 1 | "
				 "epoch=2 | evictions=0");
}

static void
leaving_frames_bound_the_history(void **unused)
{
	fixture    *f = fixture_new("watt", "history=0.5", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7");
	fixture_expect(f, "frames: 5*1 6*1 7*1 4*1 | history: 3 2 | "
				   "epoch=3 | evictions=0");
	fixture_run(f, "-7 /");
	fixture_expect(f, "frames: 5*1 6*1 4*1 | history: 3 | "
				   "epoch=3 | evictions=0");
	fixture_run(f, "-4 /");
	fixture_expect(f, "frames: 5*1 6*1 | history: 3 | "
				   "epoch=3 | evictions=0");
	fixture_free(f);
}

/*
 * In epoch 1: 1, accessed in 0, is worth 0.05; 3 and 4, in 1, 0.1; 2, in both
 * and written in 1, 1.1.
 */
static void
coldest_goes_by_bands_of_value(void **unused)
{
	fixture    *f = fixture_new("watt", NULL, 4);

	(void) unused;
	fixture_run(f, "5 2 1 4 3 2w");
	fixture_expect(f, "frames: 3*1 2*2!1 1*1 4*1 | history: | "
				   "epoch=1 | evictions=0");
	fixture_run(f, "4");
	fixture_expect_coldest(f, "1 3 2 4");
	fixture_free(f);
}

/* ---- the logs ---- */

static void
logs_keep_the_newest_stamps(void **unused)
{
	uint64_t	words[2] = {0};
	uint8_t		length = 0;
	epoch_log	log = {words, &length, 8};

	(void) unused;
	for (uint64_t epoch = 65530; epoch < 65541; epoch++)
	{
		epoch_log_add(log, epoch);
		epoch_log_add(log, epoch);
	}
	assert_int_equal(length, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(epoch_log_stamp(log, i), (uint16_t) (65540 - i));
	epoch_log_set_length(log, 200);
	assert_int_equal(length, 8);
}

/* Stamps of epochs 10, 4 and 2, seen from epoch 10, then from 31. */
static void
frequency_is_the_largest_subfrequency(void **unused)
{
	uint64_t	words[1] = {0};
	uint8_t		length = 0;
	epoch_log	log = {words, &length, 4};

	(void) unused;
	assert_true(epoch_log_frequency(log, 10, 0.1) == 0);
	epoch_log_add(log, 2);
	epoch_log_add(log, 4);
	epoch_log_add(log, 10);
	assert_true(epoch_log_frequency(log, 10, 1) == 1);
	assert_true(epoch_log_frequency(log, 10, 0.1) == 3.0 / 9);
	assert_true(epoch_log_frequency(log, 31, 0.1) == 3.0 / 30);
	epoch_log_set_length(log, 2);
	assert_true(epoch_log_frequency(log, 10, 0.1) == 2.0 / 7);
}

/* A stamp of epoch 10, seen when as many epochs have passed as it can tell. */
static void
ages_are_counted_in_16_bits(void **unused)
{
	uint64_t	words[1] = {0};
	uint8_t		length = 0;
	epoch_log	log = {words, &length, 4};

	(void) unused;
	epoch_log_add(log, 10);
	assert_true(epoch_log_frequency(log, 10 + 65535, 0.1) == 0.1 / 65536);
	assert_true(epoch_log_frequency(log, 10 + 65536, 0.1) == 0.1);
	epoch_log_add(log, 10 + 65536);
	assert_int_equal(length, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_free_frames_first),
		cmocka_unit_test(an_epoch_is_logged_once),
		cmocka_unit_test(evictions_are_the_clock),
		cmocka_unit_test(second_subfrequency_counts_in_full),
		cmocka_unit_test(age_lowers_the_value),
		cmocka_unit_test(only_k_accesses_are_logged),
		cmocka_unit_test(writes_add_to_the_value),
		cmocka_unit_test(repetition_logs_its_write_and_vacuum_nothing),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(samples_are_drawn_from_larger_pools),
		cmocka_unit_test(forget_empties_the_logs),
		cmocka_unit_test(history_is_recalled),
		cmocka_unit_test(history_is_not_for_vacuum_and_repetition),
		cmocka_unit_test(history_is_bounded),
		cmocka_unit_test(history_has_room_for_four_accesses_and_a_write),
		cmocka_unit_test(recalled_logs_are_cut),
		cmocka_unit_test(leaving_frames_bound_the_history),
		cmocka_unit_test(coldest_goes_by_bands_of_value),
		cmocka_unit_test(logs_keep_the_newest_stamps),
		cmocka_unit_test(frequency_is_the_largest_subfrequency),
		cmocka_unit_test(ages_are_counted_in_16_bits),
	};

	return cmocka_run_group_tests_name("watt", tests, NULL, NULL);
}
