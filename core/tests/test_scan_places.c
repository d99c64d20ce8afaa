/*
 * test_scan_places.c
 *	  What becomes of scans, and of their places in the registry.
 */
#include "scan_fixture.h"

static void
handles_of_ended_scans_do_nothing(void **unused)
{
	uint64_t	ended = begin_scan(range_scan(0, 100, 0, false));
	uint64_t	other;

	(void) unused;
	end_scan(ended);
	other = begin_scan(range_scan(0, 100, 0, false));
	assert_int_not_equal(other, ended);
	advance_scan(ended, 50, 0);
	advance_scan(0, 50, 0);
	advance_scan(other + 1, 50, 0);
	advance_scan(UINT64_MAX, 50, 0);
	expect_wait(0, 0);
	end_scan(ended);
	end_scan(0);
	end_scan(UINT64_MAX);
	expect_wait(0, 0);
	assert_int_equal(scans.header->running, 1);
	assert_int_equal(scans.header->counts.ended, 1);
}

static void
owners_leave_nothing_behind(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 30; i++)
	{
		tp_scan_spec spec = range_scan(100 * i, 100, 0, false);

		spec.owner = i % 3;
		spec.relation = i % 5;
		begin_scan(spec);
	}
	assert_int_equal(tp_scan_end_owner(&scans, 1), 10);
	check_scans();
	assert_int_equal(tp_scan_end_owner(&scans, 1), 0);
	assert_int_equal(tp_scan_end_owner(&scans, 3), 0);
	assert_int_equal(scans.header->running, 20);
	assert_int_equal(scans.header->counts.abandoned, 10);
	for (uint32_t i = 0; i < 30; i++)
		assert_true(tp_scan_next_access(&scans, tp_page_make(i % 5, 100 * i), 0)
					== (i % 3 == 1 ? TP_NEVER : 0));
}

/* Cancelled without a word, their backend gone; and the registry's empty. */
static void
cancelled_scans_leave_nothing_behind(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 2200; i++)
	{
		tp_scan_spec spec = i % 3 == 0 ? bitmap_scan(10000) :
			range_scan(i, 1000, 0, false);

		spec.relation = i % 50;
		spec.owner = i;
		if (spec.bitmap != NULL)
			tp_bitmap_add(&bitmap, i, 1);
		assert_int_not_equal(begin_scan(spec), 0);
		assert_int_equal(tp_scan_end_owner(&scans, i), 1);
		if (i == 400)
			assert_int_equal(scans.header->running, 0);
	}
	assert_int_equal(scans.header->running, 0);
	assert_int_equal(scans.header->counts.refused, 0);
	assert_int_equal(scans.header->counts.bitmaps_short, 0);
	for (uint32_t i = 0; i < 50; i++)
		assert_true(tp_scan_next_access(&scans, tp_page_make(i, 2000), 0)
					== TP_NEVER);
}

/* Their owners live on, and nobody says that the scans are over. */
static void
forgotten_scans_give_up_their_places(void **unused)
{
	uint64_t	now = 0;

	(void) unused;
	for (uint32_t i = 0; i < 2200; i++)
	{
		tp_scan_spec spec = range_scan(0, 1000, 0, false);

		spec.relation = i % 70;
		assert_int_not_equal(begin_scan_at(spec, now), 0);
		now += 100000;
		assert_true(scans.header->running <= 64 * TP_SCAN_LANES);
	}
	assert_true(scans.header->counts.reclaimed > 1500);
	assert_int_equal(scans.header->counts.refused, 0);
}

static void
places_run_out(void **unused)
{
	uint64_t	first;

	(void) unused;
	teardown_scans(NULL);
	begin_scans(2, 0);
	first = begin_scan(range_scan(0, 100, 0, false));
	for (int i = 1; i < 2 * TP_SCAN_LANES; i++)
		assert_int_not_equal(begin_scan(range_scan(0, 100, 0, false)), 0);
	assert_int_equal(begin_scan(range_scan(0, 100, 0, false)), 0);
	assert_int_equal(scans.header->counts.refused, 1);
	end_scan(first);
	assert_int_not_equal(begin_scan(range_scan(50, 100, 0, false)), 0);

	/* those that are gone make room, those that are not keep theirs */
	first = begin_scan_at(range_scan(0, 100, 0, false), 2000000);
	assert_int_not_equal(first, 0);
	assert_int_equal(scans.header->counts.reclaimed, 2 * TP_SCAN_LANES);
	assert_int_equal(scans.header->running, 1);
	assert_int_equal(begin_scan(range_scan(0, 0, 0, false)), 0);
}

/* So many relations as there are scans all find a place. */
static void
each_of_another_relation(void **unused)
{
	(void) unused;
	for (uint64_t i = 0; i < 64; i++)
	{
		tp_scan_spec spec = range_scan(0, 100, 0, false);

		spec.relation = UINT64_C(1) << i;
		assert_int_not_equal(begin_scan(spec), 0);
	}
	for (uint64_t i = 0; i < 64; i++)
		assert_true(tp_scan_next_access(&scans,
										tp_page_make(UINT64_C(1) << i, 10), 0)
					== ms(10));
	assert_int_equal(begin_scan(range_scan(0, 100, 0, false)), 0);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, setup_scans, teardown_scans)
	const struct CMUnitTest tests[] = {
		TEST(handles_of_ended_scans_do_nothing),
		TEST(owners_leave_nothing_behind),
		TEST(cancelled_scans_leave_nothing_behind),
		TEST(forgotten_scans_give_up_their_places),
		TEST(places_run_out),
		TEST(each_of_another_relation),
	};

	return cmocka_run_group_tests_name("scan_places", tests, NULL, NULL);
}
