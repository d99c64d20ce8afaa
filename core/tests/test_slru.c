/*
 * test_slru.c
 *	  Literal states of segmented LRU after short sequences.
 */
#include "fixture.h"

static void
pages_come_in_on_probation(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3",
				 "probation: 3 2 1 | protected: | limit=2");
}

static void
a_hit_protects(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3 1",
				 "probation: 3 2 | protected: 1 | limit=2");
	expect_state("slru", NULL, 3, "1 2 3 1 2 1",
				 "probation: 3 | protected: 1 2 | limit=2");
}

static void
overflow_returns_to_the_head_of_probation(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3 1 2 3",
				 "probation: 1 | protected: 3 2 | limit=2");
}

static void
probation_gives_the_victim(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3 1 4",
				 "probation: 4 3 | protected: 1 | limit=2");
}

static void
protected_gives_it_if_probation_cannot(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3 1 2 !3 4",
				 "probation: 4 3^ | protected: 2 | limit=2");
}

static void
without_a_protected_segment_it_is_lru(void **unused)
{
	(void) unused;
	expect_state("slru", "protected=0", 3, "1 2 3 1 4",
				 "probation: 4 1 3 | protected: | limit=0");
}

static void
vacuum_and_repetition_do_not_promote(void **unused)
{
	(void) unused;
	expect_state("slru", NULL, 3, "1 2 3 1v 2c",
				 "probation: 3 2 1 | protected: | limit=2");
}

static void
the_segment_follows_the_size(void **unused)
{
	(void) unused;
	expect_state("slru", "protected=0.5", 4, "1 2 3 4 1 2 / /",
				 "probation: 1 | protected: 2 | limit=1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_come_in_on_probation),
		cmocka_unit_test(a_hit_protects),
		cmocka_unit_test(overflow_returns_to_the_head_of_probation),
		cmocka_unit_test(probation_gives_the_victim),
		cmocka_unit_test(protected_gives_it_if_probation_cannot),
		cmocka_unit_test(without_a_protected_segment_it_is_lru),
		cmocka_unit_test(vacuum_and_repetition_do_not_promote),
		cmocka_unit_test(the_segment_follows_the_size),
	};

	return cmocka_run_group_tests_name("slru", tests, NULL, NULL);
}
