/*
 * test_page_temperature.c
 *	  Literal states of temperature-aware caching by page.
 *
 * Extents are of 4 pages.  A random read warms its extent by FIXTURE_RANDOM =
 * 8; every reference here is random, unless a test is about runs.
 */
#include "fixture.h"

/* Nothing beyond TAC, and all frames looked at. */
#define EXTENTS_ONLY "extent=4,streams=1,pages=0,burst_weight=0,admit_margin=0.01,sample=64"

static void
by_extents_alone_it_is_tac(void **unused)
{
	fixture    *f = fixture_new("page_temperature", EXTENTS_ONLY, 2);

	(void) unused;
	fixture_run(f, "0 100 200");
	fixture_expect(f, "cached: 0 100");
	assert_int_equal(f->refused, 1);
	fixture_run(f, "200");
	fixture_expect(f, "cached: 200 100");
	fixture_free(f);
}

static void
the_margin_is_asked_for(void **unused)
{
	static const char *const params =
		"extent=4,pages=0,burst_weight=0,admit_margin=3,sample=64";

	(void) unused;
	expect_state("page_temperature", params, 2, "0 100 200 200 200",
				 "cached: 0 100");
	expect_state("page_temperature", params, 2, "0 100 200 200 200 200",
				 "cached: 200 100");
}

static void
a_page_must_be_warmer_without_a_margin(void **unused)
{
	static const char *const params =
		"extent=4,pages=0,burst_weight=0,admit_margin=0,sample=64";

	(void) unused;
	expect_state("page_temperature", params, 2, "0 100 200", "cached: 0 100");
	expect_state("page_temperature", params, 2, "0 100 200 200",
				 "cached: 200 100");
}

/* The second of a run is the first that is sequential; repetitions are not. */
static void
streams_tell_runs(void **unused)
{
	fixture    *f = fixture_new("page_temperature", EXTENTS_ONLY, 2);

	(void) unused;
	fixture_run(f, "0 1 2 3 3");
	assert_true(tp_extents_temperature(f->extents, tp_page_make(0, 0)).saved ==
				2 * FIXTURE_RANDOM + 3);
	assert_int_equal(f->extents->sequential, 3);
	fixture_free(f);
}

static double
of_page(const fixture *f, uint32_t block, bool pages, double burst_weight)
{
	return tp_extents_page(f->extents, tp_page_make(0, block), pages,
						   burst_weight);
}

static bool
near(double a, double b)
{
	return a - b < 1e-9 && b - a < 1e-9;
}

/*
 * Page 0 is read 6 times, the others of its extent not at all: M = 1.5, V =
 * 6.75, D = 5.75, page_factor of page 0 = 1 + 3 * 5.75 / 7.25, of the others
 * 1 - 5.75 / 7.25.
 */
static void
pages_that_differ_are_told_apart(void **unused)
{
	fixture    *f = fixture_new("page_temperature", "extent=4,aging=100", 8);
	double		share = 5.75 / 7.25;

	(void) unused;
	fixture_run(f, "0 0 0 0 0 0");
	assert_true(near(of_page(f, 0, true, 0), 48 * (1 + 3 * share)));
	assert_true(near(of_page(f, 1, true, 0), 48 * (1 - share)));
	assert_true(near(of_page(f, 1, false, 0), 48));
	fixture_free(f);
}

/* Once each, with gaps that make no run: nothing but chance tells them apart. */
static void
pages_that_are_alike_are_not(void **unused)
{
	fixture    *f = fixture_new("page_temperature", "extent=4,aging=100", 8);

	(void) unused;
	fixture_run(f, "3 2 1 0");
	for (uint32_t block = 0; block < 4; block++)
		assert_true(of_page(f, block, true, 0) == 4 * FIXTURE_RANDOM);
	fixture_free(f);
}

/* Page 2 was read once, page 0 seven times: it goes before they have cooled. */
static void
a_page_does_not_live_on_its_neighbours(void **unused)
{
	static const char *const text = "2 0 0 0 0 0 0 0 100 100 100 200 200 200";

	(void) unused;
	expect_state("page_temperature",
				 "extent=4,burst_weight=0,admit_margin=0.01,sample=64,aging=100",
				 3, text, "cached: 200 0 100");
	expect_state("page_temperature",
				 "extent=4,burst_weight=0,admit_margin=0.01,sample=64,aging=100,pages=0",
				 3, text, "cached: 2 0 100");
}

/* 4 frames, burst=0.5: halved every two reads; aging / burst = 200. */
static void
bursts_fade(void **unused)
{
	fixture    *f = fixture_new("page_temperature",
								"extent=4,aging=100,burst=0.5", 4);

	(void) unused;
	fixture_run(f, "0");
	assert_true(of_page(f, 0, false, 0.5) == 8 + 0.5 * 200 * 8);
	fixture_run(f, "100");
	assert_true(of_page(f, 0, false, 0.5) == 8 + 0.5 * 200 * 4);
	fixture_run(f, "100 0");
	assert_true(of_page(f, 0, false, 0.5) == 16 + 0.5 * 200 * 6);
	fixture_free(f);
}

/* Of old warmth against new: the weight of the burst decides. */
static void
what_is_read_now_comes_in(void **unused)
{
	static const char *const text = "0 0 0 0 100 100 100 100 200 200";

	(void) unused;
	expect_state("page_temperature",
				 "extent=4,aging=100,burst=1,burst_weight=0,admit_margin=0.01,sample=64",
				 2, text, "cached: 0 100");
	expect_state("page_temperature",
				 "extent=4,aging=100,burst=1,burst_weight=1,admit_margin=0.01,sample=64",
				 2, text, "cached: 200 100");
}

static uint8_t
count_of_page_0(const fixture *f)
{
	for (uint32_t i = 0; i <= f->extents->mask; i++)
		if (f->extents->slots[i].saved > 0)
			return f->extents->slots[i].counts[0];
	return 0;
}

/* In eighths of a read; an epoch is 200 reads. */
static void
counts_saturate_and_age(void **unused)
{
	fixture    *f = fixture_new("page_temperature", "extent=4,aging=100", 2);
	tp_page		page = tp_page_make(0, 0);

	(void) unused;
	for (int i = 0; i < 31; i++)
		tp_extents_read(f->extents, page);
	assert_int_equal(count_of_page_0(f), 248);
	for (int i = 31; i < 199; i++)
		tp_extents_read(f->extents, page);
	assert_int_equal(count_of_page_0(f), 255);
	tp_extents_read(f->extents, tp_page_make(1, 0));
	tp_extents_read(f->extents, page);
	assert_int_equal(count_of_page_0(f), 127 + 8);
	fixture_free(f);
}

static void
coldest_by_powers_of_two(void **unused)
{
	fixture    *f = fixture_new("page_temperature", EXTENTS_ONLY, 3);

	(void) unused;
	fixture_run(f, "0 100 200 200 0 0 0");
	fixture_expect_coldest(f, "100 200 0");
	fixture_free(f);
}

static void
frames_come_and_go(void **unused)
{
	(void) unused;
	expect_state("page_temperature", EXTENTS_ONLY, 3, "0 100 200 -100 / 300 300",
				 "cached: 300 200");
	expect_state("page_temperature", EXTENTS_ONLY, 2, "0 100 !0 !100 200 200 ?100 200",
				 "cached: 0 200");
}

static void
extents_of_many_pages_count_groups(void **unused)
{
	fixture    *f = fixture_new("page_temperature", "extent=64,aging=100", 8);

	(void) unused;
	fixture_run(f, "0 1 1 1 1 1 1 1 1");
	assert_true(of_page(f, 0, true, 0) == of_page(f, 1, true, 0));
	assert_true(of_page(f, 0, true, 0) > of_page(f, 2, true, 0));
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_extents_alone_it_is_tac),
		cmocka_unit_test(the_margin_is_asked_for),
		cmocka_unit_test(a_page_must_be_warmer_without_a_margin),
		cmocka_unit_test(streams_tell_runs),
		cmocka_unit_test(pages_that_differ_are_told_apart),
		cmocka_unit_test(pages_that_are_alike_are_not),
		cmocka_unit_test(a_page_does_not_live_on_its_neighbours),
		cmocka_unit_test(bursts_fade),
		cmocka_unit_test(what_is_read_now_comes_in),
		cmocka_unit_test(counts_saturate_and_age),
		cmocka_unit_test(coldest_by_powers_of_two),
		cmocka_unit_test(frames_come_and_go),
		cmocka_unit_test(extents_of_many_pages_count_groups),
	};

	return cmocka_run_group_tests_name("page_temperature", tests, NULL, NULL);
}
