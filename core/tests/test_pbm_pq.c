/*
 * test_pbm_pq.c
 *	  Literal states of PBM with a priority queue after short sequences.
 *
 * Scans read 1,000 blocks a second, and a slice is 128 ms: the time in which
 * a scan reads a block group.  With two buckets in each of three groups the
 * timeline begins as
 *
 *	  bucket	0	1	2		3		4			5
 *	  slices	0	1	2, 3	4, 5	6 .. 9		10 .. 13, and all beyond
 *
 * and a block group stands in it by its number, if a scan begins at block 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "prediction/timeline.h"

#define PARAMS "bucket=128,buckets_per_group=2,groups=3"
#define SLICE 128000			/* microseconds */

static fixture *f;
static tp_scans scans;
static void *scans_block;

static int
set_up(void **unused)
{
	(void) unused;
	scans_block = aligned_alloc(64, (tp_scans_size(64, 0) + 63) & ~(size_t) 63);
	if (scans_block == NULL)
		return -1;
	scans = tp_scans_init(64, 0, scans_block);
	return 0;
}

static int
tear_down(void **unused)
{
	(void) unused;
	fixture_free(f);
	free(scans_block);
	return 0;
}

/* A pool of this many frames, which knows the scans. */
static void
begin(uint32_t victims, uint32_t frames)
{
	char		params[80];

	sprintf(params, PARAMS ",victims=%u", victims);
	f = fixture_new("pbm_pq", params, frames);
	f->services.scans = &scans;
}

/* A scan begins. */
static uint64_t
scan(uint32_t first, uint32_t count)
{
	tp_scan_spec spec = {0};
	uint64_t	handle;

	spec.first = first;
	spec.count = count;
	spec.speed = 1000;
	handle = tp_scan_begin(&scans, &spec, f->now);
	assert_int_not_equal(handle, 0);
	return handle;
}

/* Both pools have the same state. */
static void
expect_same(const fixture *a, const fixture *b)
{
	char		text[2][2000];

	tp_describe(&a->pool, text[0], sizeof(text[0]));
	tp_describe(&b->pool, text[1], sizeof(text[1]));
	assert_string_equal(text[0], text[1]);
	assert_int_equal(tp_check(&a->pool, NULL, NULL, NULL, NULL), 0);
}

/* The first block of each of the block groups 0 .. n - 1. */
static void
load(uint32_t n)
{
	for (uint32_t group = 0; group < n; group++)
	{
		char		text[16];

		sprintf(text, "%u", group * TP_BLOCK_GROUP);
		fixture_run(f, text);
	}
}

/* Slices have passed, and a scan from block 0 has come as far as that. */
static void
pass(uint64_t handle, uint32_t slices)
{
	f->now = (uint64_t) slices * SLICE;
	tp_scan_advance(&scans, handle, slices * TP_BLOCK_GROUP - 1, f->now);
}

/* Let the policy propose a victim, and nothing come of it. */
static void
propose(void)
{
	tp_access	access = {.now = f->now};

	tp_victim(&f->pool, tp_page_make(0, UINT32_MAX), NULL, NULL, &access);
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
}

/* What follows the frames in the text: lists of group*pages, and fields. */
static void
expect_timeline(const char *expected)
{
	char		text[4096];

	tp_describe(&f->pool, text, sizeof(text));
	assert_string_equal(strstr(text, "not requested"), expected);
}

/* ---- without scans ---- */

static void
block_groups_are_as_their_pages(void **unused)
{
	(void) unused;
	begin(1, 4);
	fixture_run(f, "0 128 1 2:1");
	fixture_expect(f, "frames: 0!1 128!1 1 2:1!1 | passed: | not requested: 2:0*1 0*2 1*1 "
				   "| overdue: | position=0 | proposals=0");
}

static void
least_recently_used_block_group_goes_first(void **unused)
{
	(void) unused;
	begin(1, 4);
	fixture_run(f, "5 128 256 6 130 131");
	expect_timeline("not requested: 1*2 0*2 | overdue: | position=0 "
					"| proposals=0");
	fixture_run(f, "5 256");
	expect_timeline("not requested: 2*1 0*2 1*1 | overdue: | position=0 "
					"| proposals=0");
}

static void
without_a_registry_none_is_requested(void **unused)
{
	(void) unused;
	begin(1, 2);
	f->services.scans = NULL;
	fixture_run(f, "0 128 256");
	expect_timeline("not requested: 2*1 1*1 | overdue: | position=0 "
					"| proposals=0");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	begin(1, 6);
	fixture_run(f, "5 128 5v 5c 6v 7c");
	expect_timeline("not requested: 1*1 0*3 | overdue: | position=0 "
					"| proposals=0");
}

/* Row of block group 0: 1, 3, 2.  Then 3, 2; then 3, 4, 2. */
static void
record_moves_when_its_page_goes(void **unused)
{
	(void) unused;
	begin(1, 4);
	fixture_run(f, "1 2 3 128");
	fixture_expect_coldest(f, "3 2 1 128");
	fixture_run(f, "-1");
	fixture_expect(f, "frames: 2 3!1 128!1 | passed: | not requested: 1*1 0*2 "
				   "| overdue: | position=0 | proposals=0");
	fixture_run(f, "4");
	fixture_expect_coldest(f, "128 4 2 3");
	fixture_run(f, "-3 -4 -2");
	expect_timeline("not requested: 1*1 | overdue: | position=0 | proposals=0");
}

static void
unusable_pages_are_passed_over(void **unused)
{
	(void) unused;
	begin(1, 4);
	fixture_run(f, "1 2 128 129 !2 256");
	fixture_expect(f, "frames: 256!1 128!1 129 | passed: 2 | not requested: 2*1 1*2 "
				   "| overdue: | position=0 | proposals=0");
	fixture_run(f, "384");
	expect_timeline("not requested: 3*1 2*1 1*1 | overdue: | position=0 "
					"| proposals=0");
}

/* 3 comes back to a block group of its own, and then 2 to the same. */
static void
passed_pages_are_looked_at_again(void **unused)
{
	(void) unused;
	begin(1, 4);
	fixture_run(f, "2 3 128 256 !2 !3 384");
	fixture_expect(f, "frames: 384!1 256!1 | passed: 2 3 | not requested: 3*1 2*1 "
				   "| overdue: | position=0 | proposals=0");
	fixture_run(f, "2 ?3 512"); /* the hit changes nothing */
	fixture_expect(f, "frames: 3!1 384!1 512!1 | passed: 2 | not requested: 4*1 0*1 3*1 "
				   "| overdue: | position=0 | proposals=0");
	fixture_expect_coldest(f, "384 3 512 2");
	fixture_run(f, "?2 640");
	fixture_expect(f, "frames: 2 3!1 640!1 512!1 | passed: | not requested: 5*1 4*1 0*2 "
				   "| overdue: | position=0 | proposals=0");
}

/* Also if it was on passed when it was to be evicted. */
static void
a_restored_page_joins_its_block_group(void **unused)
{
	tp_access	access = {0};
	uint32_t	frame = 0;

	(void) unused;
	begin(1, 4);
	fixture_run(f, "1 2 128 129 !2 256");
	while (f->pool.nodes[frame].block != 2)
		frame++;
	tp_evict(&f->pool, frame, &access);
	tp_restore(&f->pool, frame, &access);
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_expect(f, "frames: 256!1 2!1 128!1 129 | passed: | not requested: 0*1 2*1 1*2 "
				   "| overdue: | position=0 | proposals=0");
}

static void
no_victim_if_all_are_unusable(void **unused)
{
	(void) unused;
	begin(1, 2);
	fixture_run(f, "1 128 !1 !128 256");
	fixture_expect_coldest(f, "1 128");
	assert_int_equal(f->refused, 1);
}

/* Frame 0 leaves, the last member and its bucket take its place. */
static void
frames_come_and_go(void **unused)
{
	(void) unused;
	begin(1, 5);
	load(5);
	fixture_run(f, "/ / +");
	fixture_expect(f, "frames: 512!1 384!1 256!1 | passed: | not requested: 4*1 3*1 2*1 "
				   "| overdue: | position=0 | proposals=0");
	fixture_run(f, "640 / / / / +");
	expect_timeline("not requested: | overdue: | position=0 | proposals=0");
}

/* ---- the timeline ---- */

static void
requested_block_groups_stand_in_buckets(void **unused)
{
	(void) unused;
	begin(1, 17);
	scan(0, 100 * TP_BLOCK_GROUP);
	load(15);
	fixture_run(f, "10000 100000");
	expect_timeline("not requested: 781*1 | 5: 78*1 14*1 13*1 12*1 11*1 10*1 "
					"| 4: 9*1 8*1 7*1 6*1 | 3: 5*1 4*1 | 2: 3*1 2*1 | 1: 1*1 "
					"| 0: 0*1 | overdue: | position=0 | proposals=0");
}

static void
time_shifts_the_buckets(void **unused)
{
	uint64_t	handle;

	(void) unused;
	begin(1, 15);
	handle = scan(0, 15 * TP_BLOCK_GROUP);
	load(15);

	/* the buckets of a slice move, those of two and four do not */
	pass(handle, 1);
	propose();
	expect_timeline("not requested: 0*1 | 5: 14*1 13*1 12*1 11*1 10*1 "
					"| 4: 9*1 8*1 7*1 6*1 | 3: 5*1 4*1 | 2: 3*1 2*1 | 0: 1*1 "
					"| overdue: | position=1 | proposals=0");

	/* those of two do */
	pass(handle, 2);
	propose();
	expect_timeline("not requested: 1*1 0*1 | 5: 14*1 13*1 12*1 11*1 10*1 "
					"| 4: 9*1 8*1 7*1 6*1 | 2: 5*1 4*1 | 1: 3*1 2*1 "
					"| overdue: | position=2 | proposals=0");

	/* two slices later all do */
	pass(handle, 4);
	propose();
	expect_timeline("not requested: 3*1 2*1 1*1 0*1 | 4: 14*1 13*1 12*1 11*1 "
					"10*1 | 3: 9*1 8*1 7*1 6*1 | 1: 5*1 4*1 "
					"| overdue: | position=4 | proposals=0");
}

/* Bucket 2 begins one slice earlier when position is odd, bucket 4 three. */
/* A pool with 16 block groups in its timeline, after so many slices. */
static fixture *
stepped(uint64_t slices)
{
	begin(1, 20);
	load(16);
	for (uint64_t i = 0; i < slices; i++)
		timeline_step(&f->pool);
	return f;
}

/* A long pause costs no more than a short one, and comes to the same. */
static void
a_jump_is_as_many_steps(void **unused)
{
	(void) unused;
	begin(1, 1);
	(void) scan(0, 20 * 128);
	fixture_free(f);
	for (uint64_t start = 0; start < 17; start++)
		for (uint64_t slices = 2; slices < 33; slices++)
		{
			fixture    *by_steps = stepped(start + slices);
			fixture    *by_jump = stepped(start);

			timeline_jump(&by_jump->pool, start + slices);
			expect_same(by_jump, by_steps);
			fixture_free(by_jump);
			fixture_free(by_steps);
		}
	begin(1, 1);
}

static void
buckets_are_found_between_shifts(void **unused)
{
	uint64_t	handle;

	(void) unused;
	begin(1, 1);
	handle = scan(0, 100 * TP_BLOCK_GROUP);
	load(1);
	pass(handle, 3);
	propose();
	fixture_run(f, "-0 + + + + +");
	fixture_run(f, "384 512 640 896 1024 1536");
	expect_timeline("not requested: | 5: 12*1 | 4: 8*1 | 3: 7*1 | 2: 5*1 "
					"| 1: 4*1 | 0: 3*1 | overdue: | position=3 | proposals=0");
}

/* Eight of those overdue are estimated at each look, the oldest first. */
static void
what_no_scan_has_come_to_is_found_later(void **unused)
{
	(void) unused;
	begin(1, 15);
	scan(0, 15 * TP_BLOCK_GROUP);
	load(15);
	tp_scan_end_owner(&scans, 0);
	f->now = 1000 * SLICE;
	propose();
	expect_timeline("not requested: 7*1 6*1 5*1 4*1 3*1 2*1 1*1 0*1 | overdue: "
					"14*1 13*1 12*1 11*1 10*1 9*1 8*1 | position=1000 "
					"| proposals=0");
	propose();
	expect_timeline("not requested: 14*1 13*1 12*1 11*1 10*1 9*1 8*1 7*1 6*1 5*1 "
					"4*1 3*1 2*1 1*1 0*1 | overdue: | position=1000 "
					"| proposals=0");
}

/* They are the last to go. */
static void
overdue_are_kept_while_they_wait(void **unused)
{
	(void) unused;
	begin(16, 10);
	scan(0, 10 * TP_BLOCK_GROUP);
	load(10);
	f->now = 14 * SLICE;
	propose();
	expect_timeline("not requested: 7*1 6*1 5*1 4*1 3*1 2*1 1*1 0*1 "
					"| overdue: 9*1 8*1 | position=14 | proposals=15");
	fixture_expect_coldest(f, "0 128 256 384 512 640 768 896 1024 1152");
}

/* ---- estimates ---- */

/* The scan begins at block 60: the lower end is not in it, the higher is. */
static void
either_end_of_a_block_group_counts(void **unused)
{
	(void) unused;
	begin(1, 6);
	scan(60, 100);
	fixture_run(f, "1 127");
	expect_timeline("not requested: | 0: 0*2 | overdue: | position=0 "
					"| proposals=0");
	fixture_run(f, "128 255");
	expect_timeline("not requested: | 0: 1*2 0*2 | overdue: | position=0 "
					"| proposals=0");
	fixture_run(f, "-1 -127 2");
	expect_timeline("not requested: 0*1 | 0: 1*2 | overdue: | position=0 "
					"| proposals=0");
}

static void
references_at_the_boundary_estimate_anew(void **unused)
{
	(void) unused;
	begin(1, 4);
	scan(0, 1024);
	fixture_run(f, "386 389");
	scan(384, 128);
	fixture_run(f, "386 389 387");
	expect_timeline("not requested: | 2: 3*3 | overdue: | position=0 "
					"| proposals=0");
	fixture_run(f, "511");
	expect_timeline("not requested: | 0: 3*4 | overdue: | position=0 "
					"| proposals=0");
}

/* Block 389 was to be read at 389,001 microseconds, and was. */
static void
references_a_slice_after_the_estimated_time_estimate_anew(void **unused)
{
	uint64_t	handle;

	(void) unused;
	begin(1, 4);
	handle = scan(0, 1024);
	fixture_run(f, "389 900");
	tp_scan_advance(&scans, handle, 389, 389000);
	f->now = 389001 + SLICE - 2;
	fixture_run(f, "389");
	expect_timeline("not requested: | 4: 7*1 | 2: 3*1 | overdue: | position=0 "
					"| proposals=0");
	fixture_run(f, "389");
	expect_timeline("not requested: 3*1 | 4: 7*1 | overdue: | position=0 "
					"| proposals=0");
}

/* ---- victims ---- */

static void
the_furthest_goes_if_all_are_requested(void **unused)
{
	(void) unused;
	begin(1, 4);
	scan(0, 2048);
	fixture_run(f, "768 769 0 512 128");
	expect_timeline("not requested: | 4: 6*1 | 3: 4*1 | 1: 1*1 | 0: 0*1 "
					"| overdue: | position=0 | proposals=0");
	fixture_run(f, "1");
	expect_timeline("not requested: | 3: 4*1 | 1: 1*1 | 0: 0*2 | overdue: "
					"| position=0 | proposals=0");
}

static void
more_victims_are_taken_without_a_look(void **unused)
{
	(void) unused;
	begin(3, 4);
	load(4);
	scan(0, 128);
	fixture_run(f, "512");
	expect_timeline("not requested: 4*1 3*1 2*1 | 0: 0*1 | overdue: "
					"| position=0 | proposals=2");

	/* 2 and 3 are wanted by now, and go nevertheless; 4 does not */
	scan(256, 384);
	fixture_run(f, "896 1024");
	expect_timeline("not requested: 8*1 7*1 4*1 | 0: 0*1 | overdue: "
					"| position=0 | proposals=0");
	fixture_run(f, "1152");
	expect_timeline("not requested: 9*1 8*1 | 2: 4*1 | 0: 0*1 | overdue: "
					"| position=0 | proposals=2");
}

/* The ninth goes although it is wanted as much as the others. */
static void
eight_have_become_requested(void **unused)
{
	(void) unused;
	begin(1, 10);
	load(10);
	scan(0, 10 * TP_BLOCK_GROUP);
	fixture_run(f, "1280");
	expect_timeline("not requested: 10*1 9*1 | 4: 7*1 6*1 | 3: 5*1 4*1 "
					"| 2: 3*1 2*1 | 1: 1*1 | 0: 0*1 | overdue: | position=0 "
					"| proposals=0");
}

static void
a_block_group_no_longer_requested_goes(void **unused)
{
	(void) unused;
	begin(1, 4);
	scan(0, 512);
	load(4);
	tp_scan_end_owner(&scans, 0);
	fixture_run(f, "2048");
	expect_timeline("not requested: 16*1 | 2: 3*1 | 1: 1*1 | 0: 0*1 | overdue: "
					"| position=0 | proposals=0");
}

static void
a_block_group_wanted_sooner_stays(void **unused)
{
	(void) unused;
	begin(1, 2);
	scan(0, 512);
	fixture_run(f, "0 384");
	scan(384, 128);
	fixture_run(f, "2048");
	expect_timeline("not requested: 16*1 | 0: 3*1 | overdue: | position=0 "
					"| proposals=0");
}

/* The scan that was near has ended, the other one is far. */
static void
a_block_group_wanted_later_goes(void **unused)
{
	uint64_t	near;

	(void) unused;
	begin(1, 2);
	scan(0, 2048);
	near = scan(1024, 128);
	fixture_run(f, "1024 0");
	expect_timeline("not requested: | 0: 0*1 8*1 | overdue: | position=0 "
					"| proposals=0");
	tp_scan_end(&scans, near);
	fixture_run(f, "4096");
	expect_timeline("not requested: 32*1 | 0: 0*1 | overdue: | position=0 "
					"| proposals=0");
}

/* Block group 0: 3, 2, 1, and 0 its host.  The last of it goes though dirty. */
static void
clean_pages_of_a_block_group_go_first(void **unused)
{
	(void) unused;
	begin(1, 5);
	fixture_run(f, "0w 1 2w 3w 128");
	fixture_run(f, "256");
	fixture_expect(f, "frames: 0!1 256!1 2 3 128!1 | passed: "
				   "| not requested: 2*1 1*1 0*3 | overdue: | position=0 | proposals=0");
	fixture_run(f, "257");		/* none is clean: in order */
	fixture_expect_coldest(f, "2 0 128 257 256");
	fixture_run(f, "=0 258");	/* the host may go, too */
	fixture_expect_coldest(f, "2 128 258 257 256");
	fixture_run(f, "259");
	fixture_expect_coldest(f, "128 259 258 257 256");
}

static void
expect_reason(const char *text, tp_reason reason, bool soon)
{
	fixture_run(f, text);
	assert_int_equal(f->pool.chooser->reason, reason);
	assert_int_equal(f->pool.chooser->wanted_soon, soon);
}

/* 3000 is read in three seconds, 640 in two thirds of one. */
static void
a_proposal_has_a_reason(void **unused)
{
	(void) unused;
	begin(1, 5);
	scan(0, 10000);
	fixture_run(f, "1:0 20000 3000 640 641");
	expect_reason("0", TP_BY_RECENCY, false);
	expect_reason("0 1", TP_BY_PREDICTION, false);
	expect_reason("2", TP_BY_PREDICTION, false);
	expect_reason("3", TP_BY_PREDICTION, true);

	/* one that was found unusable has left its block group */
	expect_reason("!640 !0 !1 !2 !3 ?640 4", TP_BY_PREDICTION, true);
}

static void
coldest_names_the_next_victims(void **unused)
{
	(void) unused;
	begin(1, 8);
	scan(0, 1024);
	fixture_run(f, "640 641 0 2000 2001 3000 384");
	fixture_expect_coldest(f, "2001 2000 3000 641 640 384 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(block_groups_are_as_their_pages),
		TEST(least_recently_used_block_group_goes_first),
		TEST(without_a_registry_none_is_requested),
		TEST(vacuum_and_repetition_do_not_promote),
		TEST(record_moves_when_its_page_goes),
		TEST(unusable_pages_are_passed_over),
		TEST(passed_pages_are_looked_at_again),
		TEST(a_restored_page_joins_its_block_group),
		TEST(no_victim_if_all_are_unusable),
		TEST(frames_come_and_go),
		TEST(requested_block_groups_stand_in_buckets),
		TEST(time_shifts_the_buckets),
		TEST(a_jump_is_as_many_steps),
		TEST(buckets_are_found_between_shifts),
		TEST(what_no_scan_has_come_to_is_found_later),
		TEST(overdue_are_kept_while_they_wait),
		TEST(either_end_of_a_block_group_counts),
		TEST(references_at_the_boundary_estimate_anew),
		TEST(references_a_slice_after_the_estimated_time_estimate_anew),
		TEST(the_furthest_goes_if_all_are_requested),
		TEST(more_victims_are_taken_without_a_look),
		TEST(eight_have_become_requested),
		TEST(a_block_group_no_longer_requested_goes),
		TEST(a_block_group_wanted_sooner_stays),
		TEST(a_block_group_wanted_later_goes),
		TEST(clean_pages_of_a_block_group_go_first),
		TEST(a_proposal_has_a_reason),
		TEST(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("pbm_pq", tests, NULL, NULL);
}
