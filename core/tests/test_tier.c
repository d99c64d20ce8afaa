/*
 * test_tier.c
 *	  What happens to the pages of a tier on an SSD, one step at a time.
 */
#include <stdlib.h>

#include "fixture.h"
#include "tidepool/tier/tier.h"

static const tp_device hdd = {10000, 50, 10000, 50};
static const tp_device ssd = {100, 20, 40, 20};
static const tp_access plain = {0};

/* A fixture's pool as the SSD's frames. */
typedef struct tier_fixture
{
	fixture    *f;
	tp_tier		tier;
	tp_tier_counters counters;
	unsigned char stale[FIXTURE_CAPACITY];
} tier_fixture;

static tier_fixture *
tier_new(const char *policy, const char *params, uint32_t frames)
{
	tier_fixture *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->f = fixture_new(policy, params, frames);
	t->tier.pool = t->f->pool;
	t->tier.extents = t->f->extents;
	t->tier.stale = t->stale;
	t->tier.counters = &t->counters;
	return t;
}

static void
tier_free(tier_fixture *t)
{
	assert_int_equal(tp_tier_check(&t->tier, NULL, NULL), 0);
	fixture_free(t->f);
	free(t);
}

static uint32_t
frame_of(const tier_fixture *t, uint32_t block)
{
	for (uint32_t frame = 0; frame < FIXTURE_CAPACITY; frame++)
		if (tp_is_resident(&t->tier.pool, frame) &&
			t->tier.pool.nodes[frame].block == block)
			return frame;
	return TP_NONE;
}

/* Memory misses a block of relation 0: whether the SSD had it. */
static bool
miss(tier_fixture *t, uint32_t block)
{
	tp_page		page = tp_page_make(0, block);
	uint32_t	frame = frame_of(t, block);
	bool		served = tp_tier_read(&t->tier, page, frame, &plain);

	if (served || frame != TP_NONE)
		return served;
	frame = tp_tier_offer(&t->tier, page, NULL, NULL, &plain);
	if (!tp_is_frame(frame))
		return false;
	if (tp_is_resident(&t->tier.pool, frame))
		tp_tier_evict(&t->tier, frame, &plain);
	tp_tier_admit(&t->tier, frame, page, &plain);
	return false;
}

static void
savings_are_against_a_random_read_of_the_ssd(void **unused)
{
	tp_extents_settings settings;
	tp_device	slow = ssd;

	(void) unused;
	slow.random_read = 30;
	tp_tier_savings(&hdd, &slow, &settings);
	assert_true(settings.random_saving == 9970);
	assert_true(settings.sequential_saving == 20);
	tp_tier_savings(&hdd, &ssd, &settings);
	assert_true(settings.random_saving == 9900);
	assert_true(settings.sequential_saving == 0);
}

static void
a_page_read_twice_is_served_by_the_ssd(void **unused)
{
	tier_fixture *t = tier_new("tac", "extent=4", 2);

	(void) unused;
	assert_false(miss(t, 0));
	assert_true(miss(t, 0));
	assert_int_equal(t->counters.reads, 2);
	assert_int_equal(t->counters.hits, 1);
	assert_int_equal(t->counters.admitted, 1);

	/* both reads have warmed it */
	assert_true(tp_extents_temperature(t->tier.extents, tp_page_make(0, 0)).saved ==
				2 * FIXTURE_RANDOM);
	tier_free(t);
}

static void
cold_pages_are_refused_and_counted(void **unused)
{
	tier_fixture *t = tier_new("tac", "extent=4", 1);

	(void) unused;
	miss(t, 0);
	miss(t, 8);
	assert_int_equal(t->counters.refused, 1);
	assert_int_equal(t->counters.evicted, 0);
	miss(t, 8);
	assert_int_equal(t->counters.evicted, 1);
	assert_int_equal(frame_of(t, 8), 0);
	assert_int_equal(frame_of(t, 0), TP_NONE);
	tier_free(t);
}

static void
a_stale_copy_is_not_served(void **unused)
{
	tier_fixture *t = tier_new("tac", "extent=4", 2);

	(void) unused;
	miss(t, 0);
	tp_tier_dirtied(&t->tier, frame_of(t, 0));
	assert_false(miss(t, 0));
	assert_int_equal(t->counters.stale, 1);
	assert_int_equal(t->counters.hits, 0);
	tp_tier_written(&t->tier, frame_of(t, 0));
	assert_true(miss(t, 0));
	assert_int_equal(t->counters.updated, 1);
	tier_free(t);
}

/* What the frame held before was stale, what it holds next is not. */
static void
staleness_goes_with_the_page(void **unused)
{
	tier_fixture *t = tier_new("tac", "extent=4", 1);

	(void) unused;
	miss(t, 0);
	tp_tier_dirtied(&t->tier, 0);
	tp_tier_forget(&t->tier, 0);
	assert_int_equal(t->counters.forgotten, 1);
	assert_int_equal(tp_tier_check(&t->tier, NULL, NULL), 0);
	miss(t, 8);
	assert_true(miss(t, 8));
	tp_tier_dirtied(&t->tier, 0);
	miss(t, 16);
	miss(t, 16);
	miss(t, 16);
	assert_true(miss(t, 16));
	tier_free(t);
}

static void
check_finds_a_stale_free_frame(void **unused)
{
	tier_fixture *t = tier_new("tac", "extent=4", 1);

	(void) unused;
	t->stale[0] = 1;
	assert_int_equal(tp_tier_check(&t->tier, NULL, NULL), 1);
	t->stale[0] = 0;
	tier_free(t);
}

/* Temperatures are kept whichever policy orders the frames. */
static void
any_policy_serves(void **unused)
{
	tier_fixture *t = tier_new("lru", NULL, 2);
	tp_extents_settings settings;
	tp_extents *extents = malloc(tp_extents_size(64));

	(void) unused;
	assert_non_null(extents);
	tp_extents_settings_of(t->tier.pool.policy, t->f->params, &settings);
	tp_tier_savings(&hdd, &ssd, &settings);
	tp_extents_init(extents, 64, 2, &settings);
	t->tier.extents = extents;
	miss(t, 1);
	miss(t, 100);
	assert_true(miss(t, 1));
	miss(t, 200);
	assert_true(miss(t, 1));
	assert_false(miss(t, 100));
	assert_int_equal(t->counters.evicted, 2);
	assert_true(tp_extents_temperature(extents, tp_page_make(0, 1)).saved ==
				3 * 9900.0);
	free(extents);
	tier_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(savings_are_against_a_random_read_of_the_ssd),
		cmocka_unit_test(a_page_read_twice_is_served_by_the_ssd),
		cmocka_unit_test(cold_pages_are_refused_and_counted),
		cmocka_unit_test(a_stale_copy_is_not_served),
		cmocka_unit_test(staleness_goes_with_the_page),
		cmocka_unit_test(check_finds_a_stale_free_frame),
		cmocka_unit_test(any_policy_serves),
	};

	return cmocka_run_group_tests_name("tier", tests, NULL, NULL);
}
