/*
 * test_s3fifo.c
 *	  Literal states of S3-FIFO after short sequences.
 */
#include "fixture.h"

/* With small=50% and four frames S is to have two.  Pages 1, 2 and 3 went to
 * M, 1 was evicted from there; then 4 was evicted from S and came back. */
#define M_OF_THREE "1 1 1 2 2 2 3 3 3 4 5 2 2 3 6 4"
#define M_OF_THREE_STATE "S: 6 | M: 4 3*1 2*2 | G: 5 | target=2"

static void
pages_come_in_to_s(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 2 3",
				 "S: 3 2 1 | M: | G: | target=1");
}

static void
hits_raise_the_frequency_to_three(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 2 2 2 2 2 1",
				 "S: 2*3 1*1 | M: | G: | target=1");
}

static void
eviction_from_s_leaves_a_ghost(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 2 3 4",
				 "S: 4 3 2 | M: | G: 1 | target=1");
}

static void
one_reference_in_s_is_not_enough(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 2 3 4",
				 "S: 4 3 2 | M: | G: 1 | target=1");
}

static void
two_references_in_s_lead_to_m(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 1 2 3 4",
				 "S: 4 3 | M: 1 | G: 2 | target=1");
}

static void
ghost_hit_enters_m(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 1 2 3 4 2",
				 "S: 4 | M: 2 1 | G: 3 | target=1");
}

/* S sends three pages to M and is then below its target: M gives one, and
 * that is all for this miss. */
static void
m_gives_when_s_is_small(void **unused)
{
	(void) unused;
	expect_state("s3fifo", "small=0.5", 4, "1 1 1 2 2 2 3 3 3 4 5",
				 "S: 5 4 | M: 3 2 | G: | target=2");
}

static void
m_reinserts_referenced_pages(void **unused)
{
	fixture    *f = fixture_new("s3fifo", "small=0.5", 4);

	(void) unused;
	fixture_run(f, M_OF_THREE);
	fixture_expect(f, M_OF_THREE_STATE);
	fixture_run(f, "7");
	fixture_expect(f, "S: 7 6 | M: 3 2*1 | G: 5 | target=2");
	fixture_free(f);
}

static void
s_gives_when_m_has_no_usable_page(void **unused)
{
	(void) unused;
	expect_state("s3fifo", "small=0.5", 4, M_OF_THREE " !2 !3 !4 7",
				 "S: 7 | M: 4^ 3*1 2*2 | G: 6 5 | target=2");
}

static void
m_gives_when_s_has_no_usable_page(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 1 2 3 4 !4 !3 5",
				 "S: 5 4^ 3 | M: | G: 2 | target=1");
}

/*
 * Nothing in M is usable until 7, referenced twice, comes there from S: it is
 * the next to go, before 8, which was referenced once.
 */
static void
m_is_searched_again_when_a_page_comes_to_it(void **unused)
{
	fixture    *f = fixture_new("s3fifo", "small=0.5", 6);

	(void) unused;
	fixture_run(f, "1 1 1 2 2 2 3 3 3 4 4 4 5 6 7 8 5");
	fixture_expect(f, "S: 8 7 | M: 5 4 3 2 | G: 6 | target=3");
	fixture_run(f, "7 7 !5 !4 !3 !2 9");
	fixture_expect(f, "S: 9 8 | M: 5^ 4@ 3 2 | G: 6 | target=3");
	fixture_free(f);
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 2 3 !1 4",
				 "S: 4 3 1*1^ | M: | G: 2 | target=1");
}

static void
no_usable_frame_no_victim(void **unused)
{
	fixture    *f = fixture_new("s3fifo", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 2 2 !1 !2 3");
	fixture_expect(f, "S: 2*2^ 1 | M: | G: | target=1");
	assert_int_equal(f->refused, 1);
	fixture_free(f);
}

static void
ghosts_are_limited(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 2 3 4 5 6",
				 "S: 6 5 4 | M: | G: 3 2 | target=1");
	expect_state("s3fifo", "ghost=0", 3, "1 2 3 4 1",
				 "S: 1 4 3 | M: | G: | target=1");
}

/* The eviction's own ghost pushes the page out of G before it is looked up. */
static void
oldest_ghost_is_lost_to_the_eviction(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 2 3 4 5 6 2",
				 "S: 2 6 5 | M: | G: 4 3 | target=1");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	fixture    *f = fixture_new("s3fifo", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1c 1v 2 3 4");
	fixture_expect(f, "S: 4 3 2 | M: | G: 1 | target=1");
	fixture_run(f, "1v");
	fixture_expect(f, "S: 1 4 3 | M: | G: 2 | target=1");
	fixture_free(f);
}

static void
forget_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("s3fifo", NULL, 3, "1 1 1 2 3 4 -1 -3 5",
				 "S: 5 4 | M: | G: 2 | target=1");
}

static void
target_and_ghosts_follow_the_size(void **unused)
{
	(void) unused;
	expect_state("s3fifo", "small=0.5", 3, "1 +",
				 "S: 1 | M: | G: | target=2");
	expect_state("s3fifo", "small=0.5", 4, "1 /",
				 "S: 1 | M: | G: | target=1");
	expect_state("s3fifo", NULL, 3, "1 2 3 4 5 6 /",
				 "S: 6 5 | M: | G: 4 | target=1");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("s3fifo", "small=0.5", 4);

	(void) unused;
	fixture_run(f, M_OF_THREE);
	fixture_expect_coldest(f, "4 6 3 2");
	fixture_run(f, "7 7 7 7 3 3 3");
	fixture_expect(f, "S: 7*3 6 | M: 3*3 2*1 | G: 5 | target=2");
	fixture_expect_coldest(f, "6 7 2 3");
	fixture_free(f);
}

/* Hits every frame it is asked about, as other backends might meanwhile. */
static bool
hit_while_asked(void *arg, uint32_t frame)
{
	const fixture *f = arg;
	tp_access	access = {0};

	for (int i = 0; i < 3; i++)
		tp_hit(&f->pool, frame, &access);
	return true;
}

/* Ten looks, three of which move pages to M, then the tail of M. */
static void
racing_hits_do_not_prolong_the_search(void **unused)
{
	fixture    *f = fixture_new("s3fifo", NULL, 3);
	tp_access	access = {0};

	(void) unused;
	fixture_run(f, "1 2 3");
	assert_int_equal(tp_victim(&f->pool, tp_page_make(0, 9), hit_while_asked, f,
							   &access), 1);
	fixture_expect(f, "S: | M: 1*2 3*2 2*3 | G: | target=1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_to_s),
		cmocka_unit_test(hits_raise_the_frequency_to_three),
		cmocka_unit_test(eviction_from_s_leaves_a_ghost),
		cmocka_unit_test(one_reference_in_s_is_not_enough),
		cmocka_unit_test(two_references_in_s_lead_to_m),
		cmocka_unit_test(ghost_hit_enters_m),
		cmocka_unit_test(m_gives_when_s_is_small),
		cmocka_unit_test(m_reinserts_referenced_pages),
		cmocka_unit_test(s_gives_when_m_has_no_usable_page),
		cmocka_unit_test(m_gives_when_s_has_no_usable_page),
		cmocka_unit_test(m_is_searched_again_when_a_page_comes_to_it),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(no_usable_frame_no_victim),
		cmocka_unit_test(ghosts_are_limited),
		cmocka_unit_test(oldest_ghost_is_lost_to_the_eviction),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(target_and_ghosts_follow_the_size),
		cmocka_unit_test(coldest_names_the_next_victims),
		cmocka_unit_test(racing_hits_do_not_prolong_the_search),
	};

	return cmocka_run_group_tests_name("s3fifo", tests, NULL, NULL);
}
