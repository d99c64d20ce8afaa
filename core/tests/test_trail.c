/*
 * test_trail.c
 *	  Trailing index scans: who follows whom, and how far behind.
 *
 * Scans go over the tuples 0, 1, 2, ... of an index, of which about one in 16
 * is marked; a tuple takes a microsecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tidepool/prediction/trail.h"

#define INDEX 9
#define SCANS 4
#define MARKS 1024

static void *block;
static tp_trails trails;

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

/* All invariants hold; and the table does not care where it lies. */
static void
check(void)
{
	size_t		size = tp_trails_size(SCANS, MARKS);
	void	   *elsewhere = malloc(size);

	assert_int_equal(tp_trails_check(&trails, report, NULL), 0);
	assert_non_null(elsewhere);
	memcpy(elsewhere, block, size);
	memset(block, 0xa5, size);
	free(block);
	block = elsewhere;
	trails = tp_trails_view(block);
}

static int
setup(void **unused)
{
	(void) unused;
	block = malloc(tp_trails_size(SCANS, MARKS));
	assert_non_null(block);
	trails = tp_trails_init(SCANS, MARKS, block);
	return 0;
}

static int
teardown(void **unused)
{
	(void) unused;
	check();
	free(block);
	return 0;
}

static uint64_t
begin_at(uint64_t now)
{
	uint64_t	scan = tp_trail_begin(&trails, INDEX, 1, now);

	check();
	return scan;
}

static uint64_t
begin(void)
{
	return begin_at(0);
}

/* Tuples of the last scan that went on, by what came of them. */
static unsigned steps[3];

/* Tuples from .. to - 1, the first one at that time. */
static void
go(uint64_t scan, uint64_t from, uint64_t to, uint64_t now)
{
	memset(steps, 0, sizeof(steps));
	for (uint64_t tuple = from; tuple < to; tuple++)
		steps[tp_trail_tuple(&trails, scan, tuple, now + tuple - from)]++;
	check();
}

static void
end(uint64_t scan)
{
	tp_trail_end(&trails, scan);
	check();
}

static void
expect(uint64_t scan, double delay)
{
	assert_true(tp_trail_delay(&trails, scan) == delay);
}

static void
the_leader_is_told_the_delay(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();

	(void) unused;
	assert_true(tp_is_trail(a));
	go(a, 0, 500, 0);
	expect(a, TP_NEVER);
	go(b, 0, 200, 1000);
	expect(a, 1000);
	expect(b, TP_NEVER);
	go(b, 200, 400, 1700);		/* it slows down */
	expect(a, 1500);
}

/* Of so few tuples no mark overwrites another. */
static void
marks_and_those_followed_are_told(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();
	unsigned	marked;

	(void) unused;
	go(a, 0, 100, 0);
	marked = steps[TP_TRAIL_MARKED];
	assert_in_range(marked, 100 / 32, 100 / 8);
	assert_int_equal(steps[TP_TRAIL_FOLLOWED], 0);
	go(b, 0, 100, 1000);
	assert_int_equal(steps[TP_TRAIL_FOLLOWED], marked);
	assert_int_equal(steps[TP_TRAIL_MARKED], 0);
	end(b);
	go(a, 0, 100, 2000);		/* marks of ended scans are not followed */
	assert_int_equal(steps[TP_TRAIL_MARKED], marked);
	go(b, 0, 100, 3000);
	assert_int_equal(steps[TP_TRAIL_NONE], 100);
}

static void
each_follows_the_nearest_before_it(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();
	uint64_t	c = begin();

	(void) unused;
	go(a, 0, 500, 0);
	go(b, 0, 400, 600);
	go(c, 0, 300, 1300);
	expect(a, 600);
	expect(b, 700);
	expect(c, TP_NEVER);

	/*
	 * the one in the middle ends: its leader's pages are still b's, until c
	 * comes to where b never was
	 */
	end(b);
	expect(a, TP_NEVER);
	expect(b, 700);
	go(c, 300, 400, 1600);
	expect(a, TP_NEVER);
	go(c, 400, 450, 1700);
	expect(a, 1300);
}

static void
an_ended_leader_is_predicted_while_its_follower_runs(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();

	(void) unused;
	go(a, 0, 500, 0);
	go(b, 0, 100, 1000);
	end(a);
	expect(a, 1000);
	end(b);
	expect(a, TP_NEVER);
}

/* The oldest of those that have ended is forgotten first. */
static void
ended_scans_are_remembered_as_long_as_possible(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();
	uint64_t	more[3];

	(void) unused;
	go(a, 0, 500, 0);
	go(b, 0, 100, 1000);
	end(begin());				/* scans 2, 3 were never used; then 2 again */
	end(a);
	more[0] = begin();			/* 3 */
	expect(a, 1000);
	more[1] = begin();			/* 2 */
	expect(a, 1000);
	more[2] = begin();			/* a's */
	assert_int_not_equal(more[2], a);
	expect(a, TP_NEVER);
	expect(more[2], TP_NEVER);
	assert_int_equal(begin(), 0);
	assert_int_equal(trails.header->counts.refused, 1);
}

static void
one_that_ended_is_not_followed_any_more(void **unused)
{
	uint64_t	a = begin();

	(void) unused;
	go(a, 0, 500, 0);
	end(a);
	go(begin(), 0, 500, 1000);
	expect(a, TP_NEVER);
}

static void
indexes_do_not_mix(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = tp_trail_begin(&trails, INDEX + 1, 1, 0);

	(void) unused;
	go(a, 0, 500, 0);
	go(b, 0, 500, 1000);
	expect(a, TP_NEVER);
}

static void
other_parts_of_an_index_do_not_mix(void **unused)
{
	uint64_t	a = begin();

	(void) unused;
	go(a, 0, 500, 0);
	go(begin(), 500, 1000, 1000);
	expect(a, TP_NEVER);
}

static void
one_that_overtakes_leads(void **unused)
{
	uint64_t	a = begin();
	uint64_t	b = begin();

	(void) unused;
	go(a, 0, 100, 0);
	go(b, 0, 500, 1000);
	expect(a, 1000);
	go(a, 100, 200, 2000);
	expect(a, TP_NEVER);
	expect(b, 900);
}

static void
nobody_follows_himself(void **unused)
{
	uint64_t	a = begin();

	(void) unused;
	go(a, 0, 500, 0);
	go(a, 0, 500, 1000);
	expect(a, TP_NEVER);
}

static void
one_tuple_of_sixteen_is_marked(void **unused)
{
	uint32_t	marks = 0;

	(void) unused;
	go(begin(), 0, 1600, 0);
	for (int i = 0; i < MARKS; i++)
		marks += trails.marks[i].key != 0;
	assert_in_range(marks, 70, 130);
}

static void
handles_of_others_do_nothing(void **unused)
{
	uint64_t	a = begin();

	(void) unused;
	end(a);
	begin();
	go(a, 0, 500, 0);
	go(0, 0, 500, 0);
	go(7, 0, 500, 0);
	go(UINT64_MAX, 0, 500, 0);
	for (int i = 0; i < MARKS; i++)
		assert_int_equal(trails.marks[i].key, 0);
	end(a);
	end(0);
	end(7);
	assert_int_equal(trails.header->running, 1);
	assert_int_equal(trails.header->counts.ended, 1);
	expect(0, TP_NEVER);
	expect(7, TP_NEVER);
	expect(UINT64_MAX, TP_NEVER);
}

static void
owners_leave_nothing_behind(void **unused)
{
	(void) unused;
	for (uint32_t i = 0; i < 2200; i++)
	{
		assert_int_not_equal(tp_trail_begin(&trails, INDEX, i, 0), 0);
		assert_int_not_equal(tp_trail_begin(&trails, INDEX, i, 0), 0);
		assert_int_equal(tp_trail_end_owner(&trails, i), 2);
		assert_int_equal(tp_trail_end_owner(&trails, i), 0);
	}
	check();
	assert_int_equal(trails.header->running, 0);
	assert_int_equal(trails.header->counts.abandoned, 4400);
}

static void
forgotten_scans_give_up_their_places(void **unused)
{
	uint64_t	active;

	(void) unused;
	for (int i = 1; i < SCANS; i++)
		begin();
	active = begin();
	assert_int_equal(begin_at(TP_TRAIL_TIMEOUT), 0);
	go(active, 0, 500, TP_TRAIL_TIMEOUT);
	assert_int_not_equal(begin_at(TP_TRAIL_TIMEOUT + 1), 0);
	assert_int_equal(trails.header->counts.reclaimed, SCANS - 1);
	assert_int_equal(trails.header->running, 2);
	end(active);
	assert_int_equal(trails.header->counts.ended, 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_leader_is_told_the_delay),
		TEST(marks_and_those_followed_are_told),
		TEST(each_follows_the_nearest_before_it),
		TEST(an_ended_leader_is_predicted_while_its_follower_runs),
		TEST(ended_scans_are_remembered_as_long_as_possible),
		TEST(one_that_ended_is_not_followed_any_more),
		TEST(indexes_do_not_mix),
		TEST(other_parts_of_an_index_do_not_mix),
		TEST(one_that_overtakes_leads),
		TEST(nobody_follows_himself),
		TEST(one_tuple_of_sixteen_is_marked),
		TEST(handles_of_others_do_nothing),
		TEST(owners_leave_nothing_behind),
		TEST(forgotten_scans_give_up_their_places),
	};

	return cmocka_run_group_tests_name("trail", tests, NULL, NULL);
}
