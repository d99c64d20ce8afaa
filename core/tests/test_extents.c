/*
 * test_extents.c
 *	  Temperatures of extents, by hand.
 */
#include <stdlib.h>

#include "fixture.h"

#define SLOTS 64

static const tp_extents_settings defaults = {
	.pages = TP_EXTENT_PAGES,
	.window = TP_WINDOW_READS,
	.sequential_above = TP_SEQUENTIAL_ABOVE,
	.aging_per_frame = 1000,
	.burst_per_frame = 1000,
	.random_saving = 100,
	.sequential_saving = 1
};

static tp_extents *
make(uint32_t slots, const tp_extents_settings *settings)
{
	tp_extents *extents = malloc(tp_extents_size(slots));

	assert_non_null(extents);
	tp_extents_init(extents, slots, 1, settings);
	return extents;
}

static double
temperature(const tp_extents *extents, uint64_t relation, uint32_t block)
{
	return tp_extents_temperature(extents, tp_page_make(relation, block)).saved;
}

static bool
read_page(tp_extents *extents, uint64_t relation, uint32_t block)
{
	return tp_extents_read(extents, tp_page_make(relation, block));
}

static void
an_extent_is_32_pages_of_a_relation(void **unused)
{
	tp_extents *extents = make(SLOTS, &defaults);

	(void) unused;
	assert_false(read_page(extents, 1, 33));
	assert_true(temperature(extents, 1, 31) == 0);
	assert_true(temperature(extents, 1, 32) == 100);
	assert_true(temperature(extents, 1, 63) == 100);
	assert_true(temperature(extents, 1, 64) == 0);
	assert_true(temperature(extents, 2, 33) == 0);
	free(extents);
}

/* The fourth of a run is the first that has more than two near it. */
static void
the_fourth_of_a_run_is_sequential(void **unused)
{
	tp_extents *extents = make(SLOTS, &defaults);

	(void) unused;
	for (uint32_t block = 0; block < 8; block++)
		assert_int_equal(read_page(extents, 1, block), block >= 3);
	assert_true(temperature(extents, 1, 0) == 305);
	assert_int_equal(extents->sequential, 5);
	free(extents);
}

/* A region has no borders of extents, only a length, and both directions. */
static void
a_region_is_around_the_page(void **unused)
{
	static const uint32_t near[] = {31, 32, 33};
	static const uint32_t blocks[] = {2, 1, 62, 63, 64, 65};
	static const bool sequential[] = {true, false, true, true, false, false};

	(void) unused;
	for (int i = 0; i < 6; i++)
	{
		tp_extents *extents = make(SLOTS, &defaults);

		for (int k = 0; k < 3; k++)
			read_page(extents, 1, near[k]);
		assert_int_equal(read_page(extents, 1, blocks[i]),
						 i == 3 ? false : sequential[i]);
		free(extents);
	}
}

static void
the_window_forgets(void **unused)
{
	tp_extents *extents = make(SLOTS, &defaults);

	(void) unused;
	for (uint32_t block = 0; block < 3; block++)
		read_page(extents, 1, block);
	for (uint32_t i = 0; i < 17; i++)
		read_page(extents, 2, 1000 * i);
	assert_true(read_page(extents, 1, 3));

	/* blocks 0 .. 2 have left the window since */
	read_page(extents, 2, 1000 * 17);
	read_page(extents, 2, 1000 * 18);
	read_page(extents, 2, 1000 * 19);
	assert_false(read_page(extents, 1, 4));
	free(extents);
}

static void
six_runs_are_told_apart(void **unused)
{
	tp_extents *extents = make(1024, &defaults);
	uint64_t	before;

	(void) unused;
	for (uint32_t block = 0; block < 100; block++)
		for (uint64_t run = 0; run < 6; run++)
			assert_int_equal(read_page(extents, run, block), block >= 3);
	before = extents->sequential;
	for (uint32_t block = 0; block < 100; block++)
		for (uint64_t run = 10; run < 20; run++)
			assert_false(read_page(extents, run, block));
	assert_int_equal(extents->sequential, before);
	free(extents);
}

/* ---- streams ---- */

static bool
access_page(tp_streams *streams, uint64_t relation, uint32_t block)
{
	return tp_streams_access(streams, tp_page_make(relation, block));
}

static void
streams_reach_ahead(void **unused)
{
	tp_streams	streams = {0};

	(void) unused;
	assert_false(access_page(&streams, 1, 100));
	assert_false(access_page(&streams, 1, 100));	/* a repetition */
	assert_true(access_page(&streams, 1, 100 + TP_STREAM_GAP));
	assert_false(access_page(&streams, 1, 101 + 2 * TP_STREAM_GAP));
	assert_false(access_page(&streams, 1, 99));
	assert_false(access_page(&streams, 2, 101));
}

/* Of streams at 110 and 100, 115 continues the first; the other stays. */
static void
an_access_continues_the_nearest_stream(void **unused)
{
	tp_streams	streams = {0};

	(void) unused;
	assert_false(access_page(&streams, 1, 110));
	assert_false(access_page(&streams, 1, 100));
	assert_true(access_page(&streams, 1, 115));
	assert_true(access_page(&streams, 1, 101));
	assert_false(access_page(&streams, 1, 115));
}

/* One more than there are: the second has not been accessed for longest. */
static void
the_stream_unused_for_longest_gives_way(void **unused)
{
	tp_streams	streams = {0};

	(void) unused;
	for (uint32_t i = 0; i < TP_STREAMS; i++)
		assert_false(access_page(&streams, i, 100));
	assert_true(access_page(&streams, 0, 101));
	assert_false(access_page(&streams, TP_STREAMS, 100));
	assert_true(access_page(&streams, 0, 102));
	assert_true(access_page(&streams, 2, 101));
	assert_false(access_page(&streams, 1, 101));
}

/* ---- temperatures ---- */

static void
temperatures_halve_with_the_epoch(void **unused)
{
	tp_extents_settings settings = defaults;
	tp_extents *extents;
	tp_temperature old;

	(void) unused;
	settings.aging_per_frame = 2;
	extents = make(SLOTS, &settings);
	read_page(extents, 1, 0);
	old = tp_extents_temperature(extents, tp_page_make(1, 0));
	assert_true(temperature(extents, 1, 0) == 100);
	read_page(extents, 2, 0);
	assert_int_equal(extents->epoch, 1);
	assert_true(temperature(extents, 1, 0) == 50);
	assert_true(tp_temperature_at(old, 3) == 12.5);
	read_page(extents, 1, 1);
	assert_true(temperature(extents, 1, 0) == 150);
	for (int i = 0; i < 3000; i++)
		read_page(extents, 3, 0);
	assert_true(temperature(extents, 1, 0) == 0);
	free(extents);
}

/* The slot of the table that has anything. */
static const tp_extent *
only_slot(const tp_extents *extents)
{
	const tp_extent *slot = extents->slots;

	while (slot->saved == 0)
		slot++;
	return slot;
}

/* Another table, in other epochs, knows the extent as this one does now. */
static void
temperatures_move_to_another_table(void **unused)
{
	tp_extents_settings settings = defaults;
	tp_extents *from;
	tp_extents *to;
	tp_extent	values;

	(void) unused;
	settings.aging_per_frame = 4;
	settings.burst_per_frame = 2;
	settings.sequential_above = settings.window;	/* none is */
	from = make(SLOTS, &settings);
	to = make(SLOTS, &settings);
	for (int i = 0; i < 3; i++)
		read_page(from, 1, 100);
	read_page(from, 1, 101);
	values = tp_extents_now(from, only_slot(from));
	assert_true(values.saved == 200);	/* of four reads, halved */
	assert_true(values.recent == 150);	/* the last two halved once, the first
										 * two twice */
	for (int i = 0; i < 100; i++)
		read_page(to, 2, 1000 * i);
	tp_extents_restore(to, tp_page_make(7, 96), &values);
	assert_true(temperature(to, 7, 127) == 200);
	assert_true(tp_extents_page(to, tp_page_make(7, 100), true, 1) ==
				tp_extents_page(from, tp_page_make(1, 100), true, 1));
	assert_true(tp_extents_page(to, tp_page_make(7, 100), true, 1) >
				tp_extents_page(to, tp_page_make(7, 99), true, 1));
	free(from);
	free(to);
}

static void
order_does_not_depend_on_the_epoch(void **unused)
{
	tp_temperature early = {100, 3};
	tp_temperature late = {60, 4};

	(void) unused;
	assert_true(tp_colder(early, late));
	assert_false(tp_colder(late, early));
	late.saved = 50;
	assert_false(tp_colder(early, late));
	assert_false(tp_colder(late, early));
}

/* With 8 slots every extent has the same 8: the coldest goes. */
static void
a_full_table_forgets_the_coldest(void **unused)
{
	tp_extents *extents = make(8, &defaults);

	(void) unused;
	for (uint32_t i = 0; i < 8; i++)
	{
		read_page(extents, i, 0);
		if (i != 5)
			read_page(extents, i, 0);
	}
	assert_int_equal(extents->forgotten, 0);
	read_page(extents, 100, 0);
	assert_int_equal(extents->forgotten, 1);
	assert_true(temperature(extents, 5, 0) == 0);
	assert_true(temperature(extents, 100, 0) == 100);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(temperature(extents, i, 0) == (i == 5 ? 0 : 200));
	free(extents);
}

static void
what_saves_nothing_takes_no_room(void **unused)
{
	tp_extents_settings settings = defaults;
	tp_extents *extents;

	(void) unused;
	settings.sequential_saving = 0;
	extents = make(8, &settings);
	for (uint32_t i = 0; i < 100; i++)
		read_page(extents, 1, i);
	assert_true(temperature(extents, 1, 0) == 300);
	assert_true(temperature(extents, 1, 64) == 0);
	assert_int_equal(extents->forgotten, 0);
	free(extents);
}

static void
settings_come_from_the_parameters(void **unused)
{
	const tp_policy *tac = tp_policy_find("tac");
	const tp_policy *other = tp_policy_find("w_tinylfu");
	double		params[TP_MAX_PARAMS];
	tp_extents_settings settings;

	(void) unused;
	tp_policy_defaults(tac, params);
	params[tp_policy_param_find(tac, "extent")] = 16;
	params[tp_policy_param_find(tac, "aging")] = 0.5;
	tp_extents_settings_of(tac, params, &settings);
	assert_int_equal(settings.pages, 16);
	assert_true(settings.aging_per_frame == 0.5);

	/* it has a parameter "window", which is another */
	tp_policy_defaults(other, params);
	tp_extents_settings_of(other, params, &settings);
	assert_int_equal(settings.pages, 32);
	assert_int_equal(settings.window, 20);
	assert_int_equal(settings.sequential_above, 2);
	assert_true(settings.aging_per_frame == 10);
}

/* The epoch goes on; only its length changes. */
static void
epochs_follow_the_size(void **unused)
{
	tp_extents *extents = make(SLOTS, &defaults);

	(void) unused;
	for (uint32_t i = 0; i < 999; i++)
		read_page(extents, 1, 64 * i);
	assert_int_equal(extents->epoch, 0);
	tp_extents_resize(extents, 2);
	read_page(extents, 1, 0);
	assert_int_equal(extents->epoch, 0);
	for (uint32_t i = 0; i < 1000; i++)
		read_page(extents, 1, 64 * i);
	assert_int_equal(extents->epoch, 1);
	read_page(extents, 1, 0);
	tp_extents_resize(extents, 0);
	read_page(extents, 1, 0);
	assert_int_equal(extents->epoch, 2);
	free(extents);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epochs_follow_the_size),
		cmocka_unit_test(an_extent_is_32_pages_of_a_relation),
		cmocka_unit_test(the_fourth_of_a_run_is_sequential),
		cmocka_unit_test(a_region_is_around_the_page),
		cmocka_unit_test(the_window_forgets),
		cmocka_unit_test(six_runs_are_told_apart),
		cmocka_unit_test(streams_reach_ahead),
		cmocka_unit_test(an_access_continues_the_nearest_stream),
		cmocka_unit_test(the_stream_unused_for_longest_gives_way),
		cmocka_unit_test(temperatures_halve_with_the_epoch),
		cmocka_unit_test(temperatures_move_to_another_table),
		cmocka_unit_test(order_does_not_depend_on_the_epoch),
		cmocka_unit_test(a_full_table_forgets_the_coldest),
		cmocka_unit_test(what_saves_nothing_takes_no_room),
		cmocka_unit_test(settings_come_from_the_parameters),
	};

	return cmocka_run_group_tests_name("extents", tests, NULL, NULL);
}
