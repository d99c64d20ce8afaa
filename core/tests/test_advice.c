/*
 * test_advice.c
 *	  Samples, pools in miniature, and what they say of the pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tidepool/advice/advice.h"
#include "tidepool/pool.h"

/* ---- the sample ---- */

static unsigned
sampled(uint64_t relation, uint32_t first, uint32_t n, uint32_t rate)
{
	unsigned	found = 0;

	for (uint32_t block = first; block < first + n; block++)
		found += tp_page_sampled(tp_page_make(relation, block), rate);
	return found;
}

static void
a_run_of_blocks_has_its_share(void **unused)
{
	(void) unused;
	for (uint32_t frames = 3; frames < 2000; frames += 97)
	{
		uint32_t	rate = tp_sample_rate(frames, 16384);

		for (uint64_t relation = 1; relation < 50; relation++)
		{
			uint32_t	first = (uint32_t) relation * 1000003;
			double		expected = 5000 * tp_sample_fraction(rate);

			/* independent draws: up to 3 s.d. of the root of 610 */
			assert_true(sampled(relation, first, 5000, rate) >= expected - 5);
			assert_true(sampled(relation, first, 5000, rate) <= expected + 5);
		}
	}
}

static void
pages_of_small_relations_have_equal_chances(void **unused)
{
	uint32_t	rate = tp_sample_rate(1, 10);
	unsigned	found[5] = {0};

	(void) unused;
	for (uint64_t relation = 0; relation < 20000; relation++)
		for (uint32_t block = 0; block < 5; block++)
			found[block] += sampled(relation, block, 1, rate);
	for (int block = 0; block < 5; block++)
		assert_in_range(found[block], 1850, 2150);	/* 2000, s.d. 42 */
}

static void
the_share_is_as_asked_for(void **unused)
{
	(void) unused;
	for (uint32_t frames = 1; frames <= 750; frames += 7)
	{
		uint32_t	rate = tp_sample_rate(frames, 1000);
		double		found = 0;

		assert_float_equal(tp_sample_fraction(rate), (frames / 1000.0), 0.001);
		for (uint64_t relation = 1; relation <= 20; relation++)
			found += sampled(relation, 0, 10000, rate);
		assert_float_equal((found / 200), frames, (0.02 * frames + 1));
	}
}

static void
all_pages_can_be_sampled(void **unused)
{
	(void) unused;
	assert_int_equal(tp_sample_rate(7, 7), TP_SAMPLE_ALL);
	assert_int_equal(sampled(3, 0, 100000, TP_SAMPLE_ALL), 100000);
}

/* ---- miniatures ---- */

static tp_advice_policy
policy_named(const char *name)
{
	tp_advice_policy policy = {.policy = tp_policy_find(name)};

	assert_non_null(policy.policy);
	tp_policy_defaults(policy.policy, policy.params);
	return policy;
}

static bool
refer(tp_miniature *miniature, uint32_t block, bool admit)
{
	const tp_access access = {0};
	tp_page		page = tp_page_make(1, block);

	return tp_miniature_reference(miniature, page, tp_page_key(page), admit,
								  &access);
}

static void
every_policy_works_in_miniature(void **unused)
{
	(void) unused;
	for (int i = 0; tp_policies[i] != NULL; i++)
	{
		tp_advice_policy policy = policy_named(tp_policies[i]->name);
		void	   *memory = malloc(tp_miniature_size(policy.policy,
													  policy.params, 6));
		tp_miniature miniature;
		unsigned	hits = 0;

		tp_miniature_init(&miniature, policy.policy, policy.params, 6, 1,
						  &tp_no_services, memory);
		for (int step = 0; step < 3000; step++)
			hits += refer(&miniature, (uint32_t) (tp_mix64(step) % 12),
						  step % 7 != 0);
		assert_int_equal(tp_miniature_check(&miniature, NULL, NULL), 0);
		assert_in_range(hits, 300, 2900);
		free(memory);
	}
}

static void
what_passes_by_does_not_come_in(void **unused)
{
	tp_advice_policy lru = policy_named("lru");
	void	   *memory = malloc(tp_miniature_size(lru.policy, lru.params, 2));
	tp_miniature miniature;

	(void) unused;
	tp_miniature_init(&miniature, lru.policy, lru.params, 2, 1,
					  &tp_no_services, memory);
	assert_false(refer(&miniature, 1, false));
	assert_false(refer(&miniature, 1, true));
	assert_true(refer(&miniature, 1, false));
	free(memory);
}

/* ---- advice ---- */

typedef struct advised
{
	tp_advice	advice;
	void	   *memory;
} advised;

static advised *
begin(const char *one, const char *two, uint32_t pool_frames, uint32_t frames)
{
	tp_advice_policy policies[2] = {policy_named(one), policy_named(two)};
	advised    *a = malloc(sizeof(*a));

	a->memory = malloc(tp_advice_memory(policies, 2, frames));
	tp_advice_init(&a->advice, policies, 2, pool_frames, frames, 1,
				   &tp_no_services, a->memory);
	return a;
}

static void
end(advised *a)
{
	assert_int_equal(tp_advice_check(&a->advice, NULL, NULL), 0);
	free(a->memory);
	free(a);
}

static void
give(advised *a, uint64_t relation, uint32_t block, tp_advice_kind kind)
{
	const tp_advice_reference reference = {
		.page = tp_page_make(relation, block),
		.kind = kind,
		.relation = (uint32_t) relation
	};

	if (tp_page_sampled(reference.page, a->advice.rate))
		tp_advice_refer(&a->advice, &reference, 1);
}

/* A loop over so many blocks, and what a pool of 100 frames would read. */
static void
loop(advised *a, uint32_t blocks, int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (uint32_t block = 0; block < blocks; block++)
			give(a, 1, block, TP_ADVICE_READ);
}

/* What has been given since the last call was all, and the pool has counted so much. */
static void
count(advised *a, uint64_t requests, uint64_t reads)
{
	tp_advice_weigh(&a->advice, 1, requests, reads);
	tp_advice_include(&a->advice);
}

static void
the_whole_pool_is_exact(void **unused)
{
	advised    *a = begin("lru", "mru", 100, 100);

	(void) unused;
	loop(a, 120, 10);
	count(a, 1200, 1200);
	for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
		assert_float_equal(tp_advice_reads(&a->advice, 0, size),
						   tp_advice_size(&a->advice, size) < 120 ? 1200 : 120,
						   0.001);
	/* mru keeps all but one of the first blocks */
	assert_float_equal(tp_advice_reads(&a->advice, 1, 5), 120 + 9 * 21, 10);
	end(a);
}

static void
a_loop_that_just_fits_does_in_the_sample(void **unused)
{
	advised    *a = begin("lru", "lru", 100000, 200);

	(void) unused;
	loop(a, 108000, 5);
	count(a, 540000, 540000);
	assert_true(tp_advice_reads(&a->advice, 0, 5) > 530000);	/* 100 % */
	assert_true(tp_advice_reads(&a->advice, 0, 6) < 112000);	/* 110 % */
	end(a);
}

static void
the_count_corrects_the_sample(void **unused)
{
	advised    *a = begin("lru", "clock", 1000, 100);

	(void) unused;
	loop(a, 5000, 4);
	/* the server has counted less, as it may */
	count(a, 20000, 18000);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 5), 18000, 0.001);
	assert_float_equal(tp_advice_reads(&a->advice, 1, 5), 18000, 200);
	end(a);
}

/*
 * A pool that nearly all fits in, and in whose sample a tenth too little is read.
 * Small sizes read what they read, however many pages a group has.
 */
static void
little_does_not_correct_much(void **unused)
{
	advised    *a = begin("lru", "clock", 100, 100);
	tp_advice_totals *totals = &a->advice.included;

	(void) unused;
	for (uint32_t i = 0; i < TP_ADVICE_GROUPS; i++)
	{
		double		references = 700 + 100 * (i % 7);
		double		here = references / 20 + i % 3;

		totals->references.of_group[i] = references;
		totals->references.all += references;
		totals->here.of_group[i] = here;
		totals->here.all += here;
		totals->of[0][0].of_group[i] = 0.9 * references;
		totals->of[0][0].all += 0.9 * references;
		totals->of[0][5].of_group[i] = here;
		totals->of[0][5].all += here;
		/* where the pool misses more, this size does */
		totals->of[0][4].of_group[i] = references / 10 + 2 * (i % 3);
		totals->of[0][4].all += references / 10 + 2 * (i % 3);
	}
	tp_advice_weigh(&a->advice, 1, (uint64_t) totals->references.all,
					(uint64_t) (1.1 * totals->here.all));
	assert_float_equal(tp_advice_coefficient(&a->advice, 0, 0), 0, 1e-6);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 0), totals->of[0][0].all, 0.1);
	assert_float_equal(tp_advice_coefficient(&a->advice, 0, 5), 1, 1e-6);
	assert_float_equal(tp_advice_coefficient(&a->advice, 0, 4), 2, 1e-6);
	end(a);
}

static void
new_pages_are_not_read(void **unused)
{
	advised    *a = begin("lru", "arc", 100, 100);

	(void) unused;
	for (uint32_t block = 0; block < 500; block++)
		give(a, 1, block, TP_ADVICE_NEW);
	give(a, 1, 499, TP_ADVICE_READ);
	give(a, 1, 0, TP_ADVICE_READ);
	count(a, 502, 1);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 9), 1, 0.001);
	end(a);
}

static void
a_seed_is_resident_and_not_counted(void **unused)
{
	const tp_access access = {0};
	advised    *a = begin("lru", "arc", 100, 100);

	(void) unused;
	for (uint32_t block = 0; block < 100; block++)
		tp_advice_seed(&a->advice, tp_page_make(1, block), &access);
	loop(a, 100, 1);
	count(a, 100, 0);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 5), 0, 0.001);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 4), 100, 0.001);
	end(a);
}

static void
relations_share_the_reads(void **unused)
{
	advised    *a = begin("lru", "arc", 100, 100);

	(void) unused;
	for (uint32_t block = 0; block < 300; block++)
	{
		give(a, 1, block, TP_ADVICE_READ);
		give(a, 2, block % 10, TP_ADVICE_READ);
	}
	count(a, 600, 310);
	assert_float_equal(tp_advice_relation_reads(&a->advice, 0, 5, 1), 300, 0.01);
	assert_float_equal(tp_advice_relation_reads(&a->advice, 0, 5, 2), 10, 0.01);
	assert_float_equal(tp_advice_relation_requests(&a->advice, 1), 300, 0.01);
	assert_float_equal(tp_advice_relation_requests(&a->advice, 2), 300, 0.01);
	tp_advice_drop_relation(&a->advice, 2);
	assert_float_equal(tp_advice_relation_reads(&a->advice, 0, 5, 2), 0, 0.01);
	assert_float_equal(tp_advice_relation_requests(&a->advice, 2), 0, 0.01);
	end(a);
}

static void
sums_fade(void **unused)
{
	advised    *a = begin("lru", "arc", 100, 100);

	(void) unused;
	loop(a, 200, 2);
	count(a, 400, 400);
	tp_advice_fade(&a->advice, 0.25);
	assert_float_equal(tp_advice_reads(&a->advice, 0, 5), 100, 0.001);
	assert_float_equal(a->advice.requests, 100, 0.001);
	end(a);
}

static void
some_stand_for_others(void **unused)
{
	advised    *all = begin("lru", "arc", 100, 100);
	advised    *part = begin("lru", "arc", 100, 100);

	(void) unused;
	loop(all, 105, 40);
	count(all, 4200, 4200);

	/*
	 * an eighth of the rounds, which begin in mid-loop, and without the first
	 * of each
	 */
	for (int i = 0; i < 5; i++)
	{
		for (uint32_t block = 50; block < 105; block++)
			give(part, 1, block, TP_ADVICE_READ);
		loop(part, 105, 1);
		assert_float_equal(tp_advice_misses(&part->advice, 0, 5), i * 840, 0.001);
		tp_advice_include(&part->advice);	/* not weighed */
		loop(part, 105, 1);
		for (uint64_t times = 2; times <= 8; times += 3)
		{
			tp_advice_weigh(&part->advice, (double) times, 105 * times, 105 * times);
			assert_float_equal(tp_advice_misses(&part->advice, 0, 5),
							   (double) (i * 840 + 105 * times), 0.001);
			assert_float_equal(tp_advice_reads(&part->advice, 0, 5),
							   (double) (i * 840 + 105 * times), 0.001);
			assert_float_equal(tp_advice_relation_requests(&part->advice, 1),
							   (double) (i * 840 + 105 * times), 0.001);
			assert_float_equal(tp_advice_variance_here(&part->advice),
							   (double) (i * 105 * 64 + 105 * times * times), 0.001);
		}
		tp_advice_include(&part->advice);
	}
	tp_advice_fade(&part->advice, 0.5);
	assert_float_equal(tp_advice_variance_here(&part->advice), 5 * 105 * 64 / 4.0, 0.001);
	tp_advice_fade(&part->advice, 2);
	for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
	{
		bool		fits = tp_advice_size(&all->advice, size) >= 105;

		assert_float_equal(tp_advice_misses(&all->advice, 0, size),
						   fits ? 105 : 4200, 0.001);
		/* the first round is not among those that count */
		assert_float_equal(tp_advice_misses(&part->advice, 0, size),
						   fits ? 0 : 4200, 0.001);
	}
	end(all);
	end(part);
}

static void
another_sample_goes_on(void **unused)
{
	advised    *a = begin("lru", "mru", 1000, 200);
	advised    *b = begin("lru", "mru", 1000, 60);

	(void) unused;
	tp_advice_resized(&a->advice, 1050);
	loop(a, 1200, 5);
	count(a, 6000, 5500);
	tp_advice_take_over(&b->advice, &a->advice);
	for (uint32_t policy = 0; policy < 2; policy++)
		for (uint32_t size = 0; size < TP_ADVICE_SIZES; size++)
		{
			assert_float_equal(tp_advice_reads(&b->advice, policy, size),
							   tp_advice_reads(&a->advice, policy, size), 0.001);
			assert_float_equal(tp_advice_relation_reads(&b->advice, policy, size, 1),
							   tp_advice_relation_reads(&a->advice, policy, size, 1),
							   0.001);
		}
	assert_float_equal(tp_advice_relation_requests(&b->advice, 1),
					   tp_advice_relation_requests(&a->advice, 1), 0.001);
	assert_float_equal(b->advice.requests, 6000, 0.001);
	/* what follows is counted as the new sample has it */
	loop(b, 1200, 1);
	count(b, 1200, 1100);
	assert_float_equal((b->advice.included.here.all /
						tp_sample_fraction(b->advice.rate)), 7200, 200);
	end(a);
	end(b);
}

static void
long_windows_are_counted(void **unused)
{
	const double many = 1 << 24;	/* where a float stops counting by ones */
	advised    *a = begin("lru", "arc", 100, 100);
	tp_advice_sums *sums = &a->advice.included.of[0][5];
	uint64_t	group = tp_page_key(tp_page_make(1, 7)) % TP_ADVICE_GROUPS;

	(void) unused;
	sums->of_group[group] = many;
	sums->of_relation[1] = many;
	give(a, 1, 7, TP_ADVICE_READ);
	count(a, 1, 1);
	assert_true(sums->of_group[group] == many + 1);
	assert_true(sums->of_relation[1] == many + 1);
	end(a);
}

static void
a_pool_that_grows_is_between_two_sizes(void **unused)
{
	advised    *a = begin("lru", "arc", 100, 100);

	(void) unused;
	/* halfway between 100 and 110: the loop fits into the one, not the other */
	tp_advice_resized(&a->advice, 105);
	loop(a, 107, 100);
	count(a, 10700, 10700);
	assert_float_equal(a->advice.included.here.all, (10700 + 107) / 2.0, 0.1);
	tp_advice_resized(&a->advice, 1);
	assert_int_equal(a->advice.lower, 0);
	tp_advice_resized(&a->advice, 1000);
	assert_int_equal(a->advice.lower, TP_ADVICE_SIZES - 2);
	end(a);
}

static void
frames_are_what_memory_admits(void **unused)
{
	tp_advice_policy policies[2] = {policy_named("arc"), policy_named("lirs")};
	uint32_t	frames = tp_advice_frames(policies, 2, 1000000, 1000000, 500000);

	(void) unused;
	assert_in_range(frames, 100, 1000);
	assert_int_equal(frames % 20, 0);
	assert_true(tp_advice_memory(policies, 2, frames) <= 500000);
	assert_true(tp_advice_memory(policies, 2, frames + 20) > 500000);
	assert_int_equal(tp_advice_frames(policies, 2, 37, 37, 500000), 37);
	assert_int_equal(tp_advice_frames(policies, 2, 1000000, 75, 500000), 60);
	/* nearly all is not possible */
	assert_int_equal(tp_advice_frames(policies, 2, 128, 120, 500000), 80);
	assert_int_equal(tp_advice_frames(policies, 2, 1000000, 1000000, 1000), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_of_blocks_has_its_share),
		cmocka_unit_test(pages_of_small_relations_have_equal_chances),
		cmocka_unit_test(the_share_is_as_asked_for),
		cmocka_unit_test(all_pages_can_be_sampled),
		cmocka_unit_test(every_policy_works_in_miniature),
		cmocka_unit_test(what_passes_by_does_not_come_in),
		cmocka_unit_test(the_whole_pool_is_exact),
		cmocka_unit_test(a_loop_that_just_fits_does_in_the_sample),
		cmocka_unit_test(the_count_corrects_the_sample),
		cmocka_unit_test(little_does_not_correct_much),
		cmocka_unit_test(new_pages_are_not_read),
		cmocka_unit_test(a_seed_is_resident_and_not_counted),
		cmocka_unit_test(relations_share_the_reads),
		cmocka_unit_test(sums_fade),
		cmocka_unit_test(some_stand_for_others),
		cmocka_unit_test(another_sample_goes_on),
		cmocka_unit_test(long_windows_are_counted),
		cmocka_unit_test(a_pool_that_grows_is_between_two_sizes),
		cmocka_unit_test(frames_are_what_memory_admits),
	};

	return cmocka_run_group_tests_name("advice", tests, NULL, NULL);
}
