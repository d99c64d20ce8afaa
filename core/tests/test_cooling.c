/*
 * test_cooling.c
 *	  Literal states of the clock over hot and cool pages.
 *
 * A page that is hot and referenced is shown as *2, a hot one as *1.
 */
#include "fixture.h"

static void
pages_come_in_cool(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 3, "1 2 3", "ring: 1 2 3 | hand=0");
}

static void
one_more_reference_makes_hot_and_more_do_nothing(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 2, "1 1", "ring: 1*2 | hand=0");
	expect_state("cooling", NULL, 2, "1 1 1 1 1", "ring: 1*2 | hand=0");
}

static void
the_hand_evicts_a_cool_page(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 3, "1 1 2 3 4", "ring: 1*1 4 3 | hand=2");
}

static void
a_hot_page_loses_its_bit_and_then_cools(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 2, "1 1 2 2 3", "ring: 3 2 | hand=1");
}

static void
a_reference_sets_the_bit_again(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 3, "1 1 2 3 4 1", "ring: 1*2 4 3 | hand=2");
}

static void
unusable_pages_stay_as_they_are(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 3, "1 1 2 3 !1 !2 4",
				 "ring: 1*2 2 4 | hand=0");
}

static void
repetition_counts_and_vacuum_does_not(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 3, "1 2 1c 2v", "ring: 1*2 2 | hand=0");
}

static void
frames_come_and_go(void **unused)
{
	(void) unused;
	expect_state("cooling", NULL, 2, "1 2 2 + 3", "ring: 1 2*2 3 | hand=0");
	expect_state("cooling", NULL, 3, "1 2 2 3 3 /", "ring: 3*2 2*2 | hand=1");
}

static void
coldest_names_the_next_victims(void **unused)
{
	fixture    *f = fixture_new("cooling", NULL, 3);

	(void) unused;
	fixture_run(f, "1 1 2 3 4");
	fixture_expect_coldest(f, "3 4 1");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_cool),
		cmocka_unit_test(one_more_reference_makes_hot_and_more_do_nothing),
		cmocka_unit_test(the_hand_evicts_a_cool_page),
		cmocka_unit_test(a_hot_page_loses_its_bit_and_then_cools),
		cmocka_unit_test(a_reference_sets_the_bit_again),
		cmocka_unit_test(unusable_pages_stay_as_they_are),
		cmocka_unit_test(repetition_counts_and_vacuum_does_not),
		cmocka_unit_test(frames_come_and_go),
		cmocka_unit_test(coldest_names_the_next_victims),
	};

	return cmocka_run_group_tests_name("cooling", tests, NULL, NULL);
}
