/*
 * test_mq.c
 *	  Literal states of the multi-queue after short sequences.
 *
 * The paper's time starts at 0 and is raised at the end of each reference, so
 * the n-th reference enters its page at time n - 1 and looks for expired ones
 * at time n.
 */
#include "fixture.h"

#define NO_Q1_UP "Q1: | Q2: | Q3: | Q4: | Q5: | Q6: | Q7: | "
#define NO_Q2_UP "Q2: | Q3: | Q4: | Q5: | Q6: | Q7: | "
#define NO_Q3_UP "Q3: | Q4: | Q5: | Q6: | Q7: | "

static void
new_pages_enter_q0(void **unused)
{
	(void) unused;
	expect_state("mq", NULL, 3, "1 2 3",
				 "Q0: 3*1 2*1 1*1 | " NO_Q1_UP "Qout: | time=3 | lifetime=3");
}

/* Queue k holds the frequencies from 2^k to below 2^(k + 1). */
static void
queues_follow_the_logarithm_of_frequency(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100", 4);

	(void) unused;
	fixture_run(f, "1 2 2 3 3 3 4 4 4 4");
	fixture_expect(f, "Q0: 1*1 | Q1: 3*3 2*2 | Q2: 4*4 | " NO_Q3_UP
				   "Qout: | time=10 | lifetime=100");
	fixture_run(f, "2 3 1");
	fixture_expect(f, "Q0: | Q1: 1*2 2*3 | Q2: 3*4 4*4 | " NO_Q3_UP
				   "Qout: | time=13 | lifetime=100");
	fixture_free(f);
}

static void
frequency_stops_at_the_highest_queue(void **unused)
{
	(void) unused;
	expect_state("mq", "queues=1", 2, "1 2 1 3",
				 "Q0: 3*1 1*1 | " NO_Q1_UP "Qout: 2 | time=4 | lifetime=2");
	expect_state("mq", "queues=2,lifetime=100", 2, "1 1 1 1 1 2",
				 "Q0: 2*1 | Q1: 1*2 | " NO_Q2_UP
				 "Qout: | time=6 | lifetime=100");
	expect_state("mq", "queues=3,lifetime=100", 2, "1 1 1 1 1 2",
				 "Q0: 2*1 | Q1: | Q2: 1*4 | " NO_Q3_UP
				 "Qout: | time=6 | lifetime=100");
}

/* Page 1 enters Q1 at time 1 and has been there for more than 4 at time 6. */
static void
expired_page_sinks(void **unused)
{
	fixture    *f = fixture_new("mq", NULL, 4);

	(void) unused;
	fixture_run(f, "1 1 2 3 4");
	fixture_expect(f, "Q0: 4*1 3*1 2*1 | Q1: 1*2 | " NO_Q2_UP
				   "Qout: | time=5 | lifetime=4");
	fixture_run(f, "4");
	fixture_expect(f, "Q0: 1*2 3*1 2*1 | Q1: 4*2 | " NO_Q2_UP
				   "Qout: | time=6 | lifetime=4");
	fixture_free(f);
}

/* A page that has sunk keeps its frequency and begins a new lifetime. */
static void
pages_sink_one_queue_at_a_time(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=2", 4);

	(void) unused;
	fixture_run(f, "1 1 1 1 3 2");
	fixture_expect(f, "Q0: 2*1 3*1 | Q1: 1*4 | " NO_Q2_UP
				   "Qout: | time=6 | lifetime=2");
	fixture_run(f, "3 4");
	fixture_expect(f, "Q0: 4*1 2*1 | Q1: 3*2 1*4 | " NO_Q2_UP
				   "Qout: | time=8 | lifetime=2");
	fixture_free(f);
}

/* Pages 1 and 3 have both been in Q1 since time 6: they leave it in turn. */
static void
one_page_of_a_queue_sinks_per_reference(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=2", 4);

	(void) unused;
	fixture_run(f, "1 1 1 1 3 2 3 4 5");
	fixture_expect(f, "Q0: 1*4 5*1 4*1 | Q1: 3*2 | " NO_Q2_UP
				   "Qout: 2 | time=9 | lifetime=2");
	fixture_run(f, "6");
	fixture_expect(f, "Q0: 3*2 6*1 1*4 5*1 | " NO_Q1_UP
				   "Qout: 4 2 | time=10 | lifetime=2");
	fixture_run(f, "1");
	fixture_expect(f, "Q0: 3*2 6*1 5*1 | Q1: | Q2: 1*5 | " NO_Q3_UP
				   "Qout: 4 2 | time=11 | lifetime=2");
	fixture_free(f);
}

/*
 * With eight frames none has expired at time 8; with three, Q1's tail (since
 * 5) and Q2's (since 3) have at time 9.
 */
static void
several_queues_sink_at_once(void **unused)
{
	fixture    *f = fixture_new("mq", NULL, 8);

	(void) unused;
	fixture_run(f, "1 1 1 1 2 2 3 3 / / / / /");
	fixture_expect(f, "Q0: | Q1: 3*2 2*2 | Q2: 1*4 | " NO_Q3_UP
				   "Qout: | time=8 | lifetime=3");
	fixture_run(f, "3");
	fixture_expect(f, "Q0: 2*2 | Q1: 1*4 3*3 | " NO_Q2_UP
				   "Qout: | time=9 | lifetime=3");
	fixture_free(f);
}

/* Page 2 in Q2 is younger than page 1 in Q1, which expires at time 7. */
static void
higher_queue_does_not_hide_an_older_page(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=5", 3);

	(void) unused;
	fixture_run(f, "1 1 2 2 2 2");
	fixture_expect(f, "Q0: | Q1: 1*2 | Q2: 2*4 | " NO_Q3_UP
				   "Qout: | time=6 | lifetime=5");
	fixture_run(f, "3");
	fixture_expect(f, "Q0: 1*2 3*1 | Q1: | Q2: 2*4 | " NO_Q3_UP
				   "Qout: | time=7 | lifetime=5");
	fixture_free(f);
}

static void
lowest_queue_yields(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100", 3);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 4");
	fixture_expect(f, "Q0: 4*1 | Q1: 2*2 1*2 | " NO_Q2_UP
				   "Qout: 3 | time=6 | lifetime=100");
	fixture_run(f, "4 5");
	fixture_expect(f, "Q0: 5*1 | Q1: 4*2 2*2 | " NO_Q2_UP
				   "Qout: 1 3 | time=8 | lifetime=100");
	fixture_free(f);
}

static void
remembered_page_resumes_its_frequency(void **unused)
{
	(void) unused;
	expect_state("mq", "lifetime=100", 1, "1 1 1 2 1",
				 "Q0: | Q1: | Q2: 1*4 | " NO_Q3_UP
				 "Qout: 2 | time=5 | lifetime=100");
}

/* The eviction for a page may push that very page out of Qout. */
static void
qout_drops_its_oldest_before_the_lookup(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100,qout=1", 1);

	(void) unused;
	fixture_run(f, "1 1 2");
	fixture_expect(f, "Q0: 2*1 | " NO_Q1_UP
				   "Qout: 1 | time=3 | lifetime=100");
	fixture_run(f, "1");
	fixture_expect(f, "Q0: 1*1 | " NO_Q1_UP
				   "Qout: 2 | time=4 | lifetime=100");
	fixture_free(f);
}

static void
qout_may_be_absent(void **unused)
{
	(void) unused;
	expect_state("mq", "qout=0", 1, "1 2 1",
				 "Q0: 1*1 | " NO_Q1_UP "Qout: | time=3 | lifetime=1");
	expect_state("mq", "qout=0.4", 2, "1 2 3",
				 "Q0: 3*1 2*1 | " NO_Q1_UP "Qout: | time=3 | lifetime=2");
}

static void
unusable_frames_are_passed_over(void **unused)
{
	(void) unused;
	expect_state("mq", "lifetime=100", 2, "1 2 !1 3",
				 "Q0: 3*1 1*1^ | " NO_Q1_UP
				 "Qout: 2 | time=3 | lifetime=100");
	expect_state("mq", "lifetime=100", 2, "1 1 2 !2 3",
				 "Q0: 3*1 2*1^ | " NO_Q1_UP
				 "Qout: 1 | time=4 | lifetime=100");
}

static void
no_usable_frame_is_no_victim(void **unused)
{
	fixture    *f = fixture_new("mq", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2 !1 !2 3");
	assert_int_equal(f->refused, 1);
	fixture_expect(f, "Q0: 2*1^ 1*1 | " NO_Q1_UP
				   "Qout: | time=2 | lifetime=2");
	fixture_free(f);
}

static void
forget_leaves_no_ghost(void **unused)
{
	(void) unused;
	expect_state("mq", "lifetime=100", 2, "1 1 2 -1 -2 1",
				 "Q0: 1*1 | " NO_Q1_UP "Qout: | time=4 | lifetime=100");
}

/*
 * 3 entered Q1 at time 5, and 2 again at time 6.  3 goes back before 2, and so
 * counts as having entered at 6, too (the check asserts the order).
 */
static void
restored_page_keeps_the_order_of_entry(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100", 4);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 3 <3 2 >3");
	fixture_expect(f, "Q0: | Q1: 3*2 2*3 1*2 | " NO_Q2_UP
				   "Qout: | time=7 | lifetime=100");
	fixture_free(f);
}

/* 3 entered at time 5, but is put back behind 1, which entered at 1. */
static void
page_restored_to_the_tail_expires_with_the_one_before(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=7", 4);

	(void) unused;
	fixture_run(f, "1 1 2 2 3 3 <3 2 2 >3");
	fixture_expect(f, "Q0: | Q1: 1*2 3*2 | Q2: 2*4 | " NO_Q3_UP
				   "Qout: | time=8 | lifetime=7");
	fixture_run(f, "4");
	fixture_expect(f, "Q0: 3*2 4*1 | Q1: 1*2 | Q2: 2*4 | " NO_Q3_UP
				   "Qout: | time=9 | lifetime=7");
	fixture_free(f);
}

/* 1 entered Q1 at time 1; at time 3 Q1 was empty. */
static void
restored_page_begins_no_new_lifetime(void **unused)
{
	(void) unused;
	expect_state("mq", "lifetime=2", 4, "1 1 <1 2 >1 3",
				 "Q0: 1*2 3*1 2*1 | " NO_Q1_UP
				 "Qout: | time=4 | lifetime=2");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100", 1);

	(void) unused;
	fixture_run(f, "1 1c 1 1v 2");
	fixture_expect(f, "Q0: 2*1 | " NO_Q1_UP
				   "Qout: 1 | time=3 | lifetime=100");
	fixture_run(f, "1v");
	fixture_expect(f, "Q0: 1*1 | " NO_Q1_UP
				   "Qout: 2 | time=3 | lifetime=100");
	fixture_run(f, "2c 2");
	fixture_expect(f, "Q0: | Q1: 2*2 | " NO_Q2_UP
				   "Qout: 1 | time=4 | lifetime=100");
	fixture_free(f);
}

static void
leaving_frames_shrink_qout(void **unused)
{
	fixture    *f = fixture_new("mq", "qout=1", 4);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 6 7 8");
	fixture_expect(f, "Q0: 8*1 7*1 6*1 5*1 | " NO_Q1_UP
				   "Qout: 4 3 2 1 | time=8 | lifetime=4");
	fixture_run(f, "/");
	fixture_expect(f, "Q0: 8*1 7*1 6*1 | " NO_Q1_UP
				   "Qout: 5 4 3 | time=8 | lifetime=3");
	fixture_run(f, "+ + 9 10 11");
	fixture_expect(f, "Q0: 11*1 10*1 9*1 8*1 7*1 | " NO_Q1_UP
				   "Qout: 6 5 4 3 | time=11 | lifetime=5");
	fixture_free(f);
}

/* Page 1 has been in Q1 since time 1; with two frames fewer that is enough. */
static void
lifetime_follows_the_frames(void **unused)
{
	fixture    *f = fixture_new("mq", NULL, 6);

	(void) unused;
	fixture_run(f, "1 1 2 3 4 4");
	fixture_expect(f, "Q0: 3*1 2*1 | Q1: 4*2 1*2 | " NO_Q2_UP
				   "Qout: | time=6 | lifetime=6");
	fixture_run(f, "/ / 4");
	fixture_expect(f, "Q0: 1*2 3*1 2*1 | Q1: 4*3 | " NO_Q2_UP
				   "Qout: | time=7 | lifetime=4");
	fixture_free(f);
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("mq", "lifetime=100", 5);

	(void) unused;
	fixture_run(f, "1 2 3 4 5 2 1 1 1 4");
	fixture_expect_coldest(f, "3 5 2 4 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_pages_enter_q0),
		cmocka_unit_test(queues_follow_the_logarithm_of_frequency),
		cmocka_unit_test(frequency_stops_at_the_highest_queue),
		cmocka_unit_test(expired_page_sinks),
		cmocka_unit_test(pages_sink_one_queue_at_a_time),
		cmocka_unit_test(one_page_of_a_queue_sinks_per_reference),
		cmocka_unit_test(several_queues_sink_at_once),
		cmocka_unit_test(higher_queue_does_not_hide_an_older_page),
		cmocka_unit_test(lowest_queue_yields),
		cmocka_unit_test(remembered_page_resumes_its_frequency),
		cmocka_unit_test(qout_drops_its_oldest_before_the_lookup),
		cmocka_unit_test(qout_may_be_absent),
		cmocka_unit_test(unusable_frames_are_passed_over),
		cmocka_unit_test(no_usable_frame_is_no_victim),
		cmocka_unit_test(forget_leaves_no_ghost),
		cmocka_unit_test(restored_page_keeps_the_order_of_entry),
		cmocka_unit_test(page_restored_to_the_tail_expires_with_the_one_before),
		cmocka_unit_test(restored_page_begins_no_new_lifetime),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(leaving_frames_shrink_qout),
		cmocka_unit_test(lifetime_follows_the_frames),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("mq", tests, NULL, NULL);
}
