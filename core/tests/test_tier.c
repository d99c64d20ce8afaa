/*
 * test_tier.c
 *	  What happens to the pages of a tier on an SSD, one step at a time.
 */
#include <stdlib.h>

#include "fixture.h"
#include "tidepool/tier/tier.h"

static const tp_device hdd = {10000, 50, 10000, 50};
static const tp_device ssd = {100, 20, 40, 20};

/* A fixture's pool as the SSD's frames. */
typedef struct tier_fixture
{
	fixture    *f;
	tp_tier		tier;
	tp_tier_counters counters;
	tp_budget	budget;
	tp_kept		kept;
	tp_extents *extents;		/* if the policy reads none */
	unsigned char stale[FIXTURE_CAPACITY];
} tier_fixture;

/* Blocks from this one on are to be kept. */
#define KEPT 1000

/* In which no read is sequential. */
static tp_extents *
extents_of(const tier_fixture *t, uint32_t frames)
{
	tp_extents *extents = malloc(tp_extents_size(64));
	tp_extents_settings settings;

	assert_non_null(extents);
	tp_extents_settings_of(t->f->pool.policy, t->f->params, &settings);
	tp_tier_savings(&hdd, &ssd, &settings);
	settings.window = settings.sequential_above = 1;
	settings.aging_per_frame = 1000;
	tp_extents_init(extents, 64, frames, &settings);
	return extents;
}

static tier_fixture *
tier_new(const char *policy, const char *params, uint32_t frames)
{
	tier_fixture *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->f = fixture_new(policy, params, frames);
	t->tier.pool = t->f->pool;
	t->tier.extents = t->f->extents;
	if (t->tier.extents == NULL)
		t->tier.extents = t->extents = extents_of(t, frames);
	t->tier.stale = t->stale;
	t->tier.counters = &t->counters;
	return t;
}

static void
tier_free(tier_fixture *t)
{
	assert_int_equal(tp_tier_check(&t->tier, NULL, NULL), 0);
	fixture_free(t->f);
	free(t->extents);
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

static bool
is_kept(void *arg, uint32_t frame)
{
	return ((const tp_tier *) arg)->pool.nodes[frame].block >= KEPT;
}

/* As tier_new; pages to be kept may have this share. */
static tier_fixture *
tier_that_keeps(const char *policy, const char *params, uint32_t frames,
				double share)
{
	tier_fixture *t = tier_new(policy, params, frames);

	t->kept.share = share;
	t->tier.kept = &t->kept;
	t->tier.is_kept = is_kept;
	t->tier.is_kept_arg = &t->tier;
	return t;
}

/* Memory misses a block of relation 0: whether the SSD had it. */
static bool
miss(tier_fixture *t, uint32_t block)
{
	tp_access	plain = {.flags = block >= KEPT ? TP_KEEP : 0};
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

	(void) unused;
	miss(t, 1);
	miss(t, 100);
	assert_true(miss(t, 1));
	miss(t, 200);
	assert_true(miss(t, 1));
	assert_false(miss(t, 100));
	assert_int_equal(t->counters.evicted, 2);
	assert_true(tp_extents_temperature(t->tier.extents, tp_page_make(0, 1)).saved ==
				3 * 9900.0);
	tier_free(t);
}

/* ---- pages to be kept ---- */

static void
a_page_to_be_kept_is_not_refused(void **unused)
{
	static const char *const policies[] = {"tac", "page_temperature", "lru"};

	(void) unused;
	for (int i = 0; i < 3; i++)
	{
		tier_fixture *t = tier_that_keeps(policies[i], NULL, 2, 1);

		for (int times = 0; times < 5; times++)
		{
			miss(t, 0);
			miss(t, 100);
		}
		miss(t, KEPT);
		assert_true(miss(t, KEPT));
		assert_int_equal(t->kept.frames, 1);
		assert_int_equal(t->counters.refused, 0);
		tier_free(t);
	}
}

/* The warmest of others takes no kept page's place, however cold that is. */
static void
others_do_not_displace_kept_pages(void **unused)
{
	static const char *const policies[] = {"tac", "page_temperature", "lru"};

	(void) unused;
	for (int i = 0; i < 3; i++)
	{
		tier_fixture *t = tier_that_keeps(policies[i], NULL, 4, 0.5);

		miss(t, KEPT);
		miss(t, KEPT + 100);
		for (uint32_t block = 0; block < 1000; block++)
			miss(t, block / 5 * 32 % 990);
		assert_int_equal(t->kept.frames, 2);
		assert_true(miss(t, KEPT));
		assert_true(miss(t, KEPT + 100));
		tier_free(t);
	}
}

/* Beyond their share they compete, and are counted when they lose. */
static void
beyond_their_share_they_are_like_others(void **unused)
{
	tier_fixture *t = tier_that_keeps("tac", NULL, 4, 0.5);

	(void) unused;
	for (int times = 0; times < 3; times++)
		for (uint32_t i = 0; i < 4; i++)
			miss(t, i < 2 ? KEPT + 100 * i : 100 * i);
	miss(t, KEPT + 500);
	assert_int_equal(t->counters.crowded, 1);
	assert_int_equal(t->counters.refused, 0);
	assert_int_equal(frame_of(t, KEPT + 500), TP_NONE);
	for (int times = 0; times < 4; times++)
		miss(t, KEPT + 500);
	assert_true(miss(t, KEPT + 500));

	/* more than their share: anybody who is warmer takes the place of one */
	if (t->kept.frames == 2)
		t->kept.share = 0.25;
	for (uint32_t block = 600; block < 900; block += 100)
		for (int times = 0; times < 9; times++)
			miss(t, block);
	assert_true(t->kept.frames <= 2);
	tier_free(t);
}

static void
without_other_frames_others_are_refused(void **unused)
{
	tier_fixture *t = tier_that_keeps("lru", NULL, 2, 1);

	(void) unused;
	miss(t, KEPT);
	miss(t, KEPT + 1);
	miss(t, 0);
	assert_int_equal(t->counters.crowded, 1);
	assert_int_equal(t->kept.frames, 2);
	tp_tier_forget(&t->tier, frame_of(t, KEPT));
	assert_int_equal(t->kept.frames, 1);
	miss(t, 0);
	assert_true(miss(t, 0));
	tier_free(t);
}

/* So that a search for one of them is short. */
static void
a_few_frames_are_for_others(void **unused)
{
	tier_fixture *t = tier_that_keeps("lru", NULL, TP_TIER_NOT_KEPT, 1);

	(void) unused;
	for (uint32_t i = 0; i < TP_TIER_NOT_KEPT; i++)
		miss(t, KEPT + 100 * i);
	miss(t, 0);
	assert_true(miss(t, 0));
	assert_int_equal(t->kept.frames, TP_TIER_NOT_KEPT - 1);
	tier_free(t);
}

static void
check_counts_kept_frames(void **unused)
{
	tier_fixture *t = tier_that_keeps("lru", NULL, 2, 1);

	(void) unused;
	miss(t, KEPT);
	tp_tier_keep(&t->tier, 1);
	assert_int_equal(tp_tier_check(&t->tier, NULL, NULL), 1);
	tp_tier_keep(&t->tier, -1);
	tier_free(t);
}

/* ---- the budget ---- */

/* A tier with a day's budget of 100 pages, so many of them written. */
static tier_fixture *
tier_with_budget(const char *policy, uint32_t frames, int written)
{
	tier_fixture *t = tier_that_keeps(policy, NULL, frames, 0.5);

	tp_budget_init(&t->budget);
	tp_budget_set(&t->budget, 0, 100);
	for (int i = 0; i < written; i++)
		tp_budget_spend(&t->budget);
	t->tier.budget = &t->budget;
	return t;
}

static void
writes_are_counted(void **unused)
{
	tier_fixture *t = tier_with_budget("tac", 3, 0);
	static const tp_access access = {0};

	(void) unused;
	miss(t, 0);
	miss(t, 100);
	tp_tier_written(&t->tier, frame_of(t, 0));
	assert_int_equal(t->budget.day, 3);
	tp_tier_adopt(&t->tier, 2, tp_page_make(0, 500), &access);
	assert_int_equal(t->budget.day, 3);
	assert_int_equal(t->counters.admitted, 2);
	tier_free(t);
}

/* With 60 of 100 pages written a write must save 3 random reads. */
static void
a_write_must_be_worth_its_price(void **unused)
{
	tier_fixture *t = tier_with_budget("tac", 2, 60);

	(void) unused;
	miss(t, 0);
	miss(t, 0);
	assert_int_equal(t->counters.too_dear, 2);
	assert_int_equal(frame_of(t, 0), TP_NONE);
	miss(t, 0);
	assert_true(miss(t, 0));
	assert_int_equal(t->counters.too_dear, 2);
	tier_free(t);
}

/* Also under a policy that refuses nothing itself; the one that goes counts. */
static void
the_page_that_goes_is_worth_something(void **unused)
{
	tier_fixture *t = tier_with_budget("lru", 1, 59);

	(void) unused;
	for (int i = 0; i < 5; i++)
		miss(t, 0);
	assert_true(miss(t, 0));
	for (int i = 0; i < 7; i++)
		miss(t, 100);
	assert_int_equal(frame_of(t, 100), TP_NONE);
	miss(t, 100);
	assert_int_equal(frame_of(t, 100), TP_NONE);
	miss(t, 100);
	assert_true(miss(t, 100));
	tier_free(t);
}

static void
cold_copies_are_not_written_again(void **unused)
{
	tier_fixture *t = tier_with_budget("tac", 2, 0);

	(void) unused;
	miss(t, 0);
	miss(t, KEPT);
	assert_true(tp_tier_renews(&t->tier, frame_of(t, 0)));
	for (int i = 0; i < 58; i++)
		tp_budget_spend(&t->budget);
	assert_false(tp_tier_renews(&t->tier, frame_of(t, 0)));
	assert_true(tp_tier_renews(&t->tier, frame_of(t, KEPT)));
	assert_int_equal(t->counters.too_dear, 1);
	miss(t, 0);
	miss(t, 0);
	assert_true(tp_tier_renews(&t->tier, frame_of(t, 0)));
	tier_free(t);
}

/* What gains nothing is not worth a write that has a price. */
static void
an_ssd_that_saves_nothing_is_not_written(void **unused)
{
	tier_fixture *t = tier_with_budget("lru", 2, 0);

	(void) unused;
	miss(t, 0);
	t->extents->settings.random_saving = 0;
	assert_true(tp_tier_renews(&t->tier, frame_of(t, 0)));
	for (int i = 0; i < 60; i++)
		tp_budget_spend(&t->budget);
	assert_false(tp_tier_renews(&t->tier, frame_of(t, 0)));
	miss(t, 100);
	assert_int_equal(frame_of(t, 100), TP_NONE);
	assert_int_equal(t->counters.too_dear, 2);
	tier_free(t);
}

/* However much has been spent: the keeper has been warned. */
static void
pages_to_be_kept_do_not_ask_the_price(void **unused)
{
	tier_fixture *t = tier_with_budget("tac", 2, 100);

	(void) unused;
	miss(t, KEPT);
	assert_true(miss(t, KEPT));
	assert_int_equal(t->budget.day, 101);
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
		cmocka_unit_test(a_page_to_be_kept_is_not_refused),
		cmocka_unit_test(others_do_not_displace_kept_pages),
		cmocka_unit_test(beyond_their_share_they_are_like_others),
		cmocka_unit_test(without_other_frames_others_are_refused),
		cmocka_unit_test(a_few_frames_are_for_others),
		cmocka_unit_test(check_counts_kept_frames),
		cmocka_unit_test(writes_are_counted),
		cmocka_unit_test(a_write_must_be_worth_its_price),
		cmocka_unit_test(the_page_that_goes_is_worth_something),
		cmocka_unit_test(cold_copies_are_not_written_again),
		cmocka_unit_test(an_ssd_that_saves_nothing_is_not_written),
		cmocka_unit_test(pages_to_be_kept_do_not_ask_the_price),
	};

	return cmocka_run_group_tests_name("tier", tests, NULL, NULL);
}
