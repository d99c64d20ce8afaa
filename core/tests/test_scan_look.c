/*
 * test_scan_look.c
 *	  What views show of running scans; and scans of several processes.
 */
#include "scan_fixture.h"

/* Look at the scan with this handle.  Returns its number. */
static uint32_t
look_at(uint64_t handle, uint64_t now, tp_scan_look *look)
{
	uint32_t	number = tp_scan_number(handle);

	assert_true(number < tp_scan_places(&scans));
	assert_true(tp_scan_look_at(&scans, number, now, look));
	assert_int_equal(look->handle, handle);
	assert_int_equal(look->relation, RELATION);
	return number;
}

static void
look_at_range_that_wraps(void **unused)
{
	uint64_t	scan = begin_scan_at(range_scan(900, 1000, 1000, false), ms(5));
	tp_scan_look look;
	uint32_t	number = look_at(scan, ms(6), &look);

	(void) unused;
	assert_int_equal(look.begun_at, ms(5));
	assert_int_equal(look.length, 1000);
	assert_int_equal(look.done, 0);
	assert_int_equal(look.next, 900);
	assert_false(look.backward);
	assert_false(look.bitmap);
	assert_false(look.gone);
	assert_true(tp_scan_awaits(&scans, number, 899));
	advance_scan(scan, 999, ms(105));
	look_at(scan, ms(105), &look);
	assert_int_equal(look.done, 100);
	assert_int_equal(look.next, 0);
	assert_false(tp_scan_awaits(&scans, number, 950));
	assert_true(tp_scan_awaits(&scans, number, 0));
	advance_scan(scan, 50, ms(156));
	look_at(scan, ms(156), &look);
	assert_int_equal(look.next, 51);
	assert_false(tp_scan_awaits(&scans, number, 50));
	look_at(scan, ms(156) + 20 * TP_SCAN_TIMEOUT, &look);
	assert_true(look.gone);
	end_scan(scan);
	assert_false(tp_scan_look_at(&scans, number, ms(156), &look));
}

static void
look_at_range_backward(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(10, 500, 1000, true));
	tp_scan_look look;
	uint32_t	number;

	(void) unused;
	advance_scan(scan, 0, ms(11));
	number = look_at(scan, ms(11), &look);
	assert_true(look.backward);
	assert_int_equal(look.next, 999);
	assert_true(tp_scan_awaits(&scans, number, 999));
	assert_true(tp_scan_awaits(&scans, number, 511));
	assert_false(tp_scan_awaits(&scans, number, 510));
	end_scan(scan);
}

static void
look_at_bitmap(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan;
	tp_scan_look look;
	uint32_t	number;

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 70 * 128, 1);
	scan = begin_scan(spec);
	look_at(scan, 0, &look);
	assert_true(look.bitmap);
	assert_int_equal(look.length, 256);
	assert_int_equal(look.next, 128);
	advance_scan(scan, 255, ms(128));
	number = look_at(scan, ms(128), &look);
	assert_int_equal(look.next, 70 * 128);
	assert_true(tp_scan_awaits(&scans, number, 70 * 128));
	assert_false(tp_scan_awaits(&scans, number, 256));
	end_scan(scan);

	spec.backward = true;
	scan = begin_scan(spec);
	look_at(scan, 0, &look);
	assert_int_equal(look.next, 71 * 128 - 1);
	advance_scan(scan, 70 * 128, ms(128));
	look_at(scan, ms(128), &look);
	assert_int_equal(look.next, 255);
	end_scan(scan);
}

/* What is left of a scan is a scan that waits as long for each page. */
static void
rest_of_ranges(void **unused)
{
	uint64_t	scan = begin_scan(range_scan(900, 150, 1000, false));
	tp_scan_spec rest;
	tp_bitmap	groups;

	(void) unused;
	advance_scan(scan, 999, ms(100));
	assert_true(tp_scan_rest(&scans, scan, &rest, &groups));
	assert_int_equal(rest.first, 0);
	assert_int_equal(rest.count, 50);
	assert_int_equal(rest.size, 1000);
	assert_null(rest.bitmap);
	assert_false(rest.backward);
	advance_scan(scan, 49, ms(150));
	assert_false(tp_scan_rest(&scans, scan, &rest, &groups));
	end_scan(scan);
	assert_false(tp_scan_rest(&scans, scan, &rest, &groups));

	scan = begin_scan(range_scan(500, 300, 0, true));
	advance_scan(scan, 401, ms(100));
	assert_true(tp_scan_rest(&scans, scan, &rest, &groups));
	assert_true(rest.backward);
	assert_int_equal(rest.first, 400);
	assert_int_equal(rest.count, 200);
	end_scan(scan);
}

static void
rest_of_a_bitmap(void **unused)
{
	tp_scan_spec spec = bitmap_scan(10000);
	uint64_t	scan;
	tp_scan_spec rest;
	tp_bitmap	groups;

	(void) unused;
	tp_bitmap_add(&bitmap, 130, 1);
	tp_bitmap_add(&bitmap, 5 * 128, 1);
	tp_bitmap_add(&bitmap, 70 * 128, 1);
	spec.first = 5 * 128;		/* goes round */
	scan = begin_scan(spec);
	assert_true(tp_scan_rest(&scans, scan, &rest, &groups));
	assert_ptr_equal(rest.bitmap, &groups);
	assert_memory_equal(groups.words, bitmap.words, sizeof(bitmap.words));
	advance_scan(scan, 70 * 128 + 5, ms(134));
	assert_true(tp_scan_rest(&scans, scan, &rest, &groups));
	assert_int_equal(rest.first, 70 * 128 + 6);
	assert_true(groups.words[0] == UINT64_C(1) << 1);
	assert_true(groups.words[1] == UINT64_C(1) << 6);
	end_scan(scan);
	rest.speed = SPEED;
	scan = begin_scan(rest);
	expect_wait(70 * 128, 0);
	expect_wait(128, 128000);
	end_scan(scan);
}

/* Companions are predicted, but are no scans in the relation's history. */
static void
companions_are_not_history(void **unused)
{
	tp_scan_spec spec = range_scan(0, 1000, 1000, false);
	uint64_t	companion;
	uint64_t	scan;
	uint32_t	begun = 0;

	(void) unused;
	scan = begin_scan_at(spec, 0);
	spec.companion = true;
	companion = begin_scan_at(spec, ms(1));
	expect_wait_at(100, ms(100), ms(1));
	advance_scan(scan, 64, ms(65));
	advance_scan(companion, 128, ms(129));
	expect_wait_at(65, 0, ms(129));
	assert_int_equal(scans.header->counts.begun, 2);
	for (uint32_t i = 0; i <= scans.header->history_mask; i++)
		begun += scans.history[i].begun;
	assert_int_equal(begun, 1);
	end_scan(companion);
	end_scan(scan);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(look_at_range_that_wraps, setup_scans,
										teardown_scans),
		cmocka_unit_test_setup_teardown(look_at_range_backward, setup_scans,
										teardown_scans),
		cmocka_unit_test_setup_teardown(look_at_bitmap, setup_scans,
										teardown_scans),
		cmocka_unit_test_setup_teardown(rest_of_ranges, setup_scans,
										teardown_scans),
		cmocka_unit_test_setup_teardown(rest_of_a_bitmap, setup_scans,
										teardown_scans),
		cmocka_unit_test_setup_teardown(companions_are_not_history, setup_scans,
										teardown_scans)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
