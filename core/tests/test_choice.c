/*
 * test_choice.c
 *	  What tp_expect_choice names is where the next choice looks, and asking
 *	  changes nothing.
 */
#include <stdio.h>
#include <string.h>

#include "fixture.h"

typedef struct look_log
{
	uint32_t	frames[FIXTURE_CAPACITY];
	uint32_t	count;
} look_log;

static bool
take_none(void *arg, uint32_t frame)
{
	look_log   *made = arg;

	if (made->count < FIXTURE_CAPACITY)
		made->frames[made->count++] = frame;
	return false;
}

static bool
take_any(void *arg, uint32_t frame)
{
	look_log   *made = arg;

	made->frames[made->count++] = frame;
	return true;
}

static void
fill(fixture *f, uint32_t pages)
{
	char		text[16];

	for (uint32_t page = 1; page <= pages; page++)
	{
		snprintf(text, sizeof(text), "%u", page);
		fixture_run(f, text);
	}
}

static look_log
search(fixture *f, tp_usable usable)
{
	look_log	made = {.count = 0};
	tp_access	access = {.now = f->now};

	(void) tp_victim(&f->pool, tp_page_make(9, 9), usable, &made, &access);
	return made;
}

static void
expect_lists_ends(const char *policy, uint32_t count, const uint32_t *blocks)
{
	fixture    *f = fixture_new(policy, NULL, 4);
	uint32_t	frames[TP_MAX_EXPECTED];

	fixture_run(f, "1 2 3 4 1 2");
	assert_int_equal(tp_expect_choice(&f->pool, frames), count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(tp_page_of(&f->pool, frames[i]).block, blocks[i]);
	fixture_free(f);
}

static void
of_lists_the_tail_and_the_one_before_it(void **unused)
{
	const uint32_t lru[] = {3, 4};
	const uint32_t arc[] = {3, 1, 4, 2};	/* T1: 4 3, T2: 2 1 */

	(void) unused;
	expect_lists_ends("lru", 2, lru);
	expect_lists_ends("arc", 4, arc);
}

/* The draws are foreseen, and it is the search that draws, not the question. */
static void
of_a_sample_of_one_what_will_be_drawn(void **unused)
{
	fixture    *f = fixture_new("random", NULL, FIXTURE_CAPACITY);
	uint32_t	frames[TP_MAX_EXPECTED];
	look_log	made;

	(void) unused;
	fill(f, FIXTURE_CAPACITY + 8);
	for (int i = 0; i < 3; i++)
	{
		assert_int_equal(tp_expect_choice(&f->pool, frames), 1);
		made = search(f, take_any);
		assert_int_equal(made.count, 1);
		assert_int_equal(made.frames[0], frames[0]);
	}
	fixture_free(f);
}

/* Of a larger one only the least is asked, which is not known before. */
static void
of_larger_samples_one_frame_is_asked(void **unused)
{
	static const char *const policies[] = {"hyperbolic", "watt"};

	(void) unused;
	for (int i = 0; i < 2; i++)
	{
		fixture    *f = fixture_new(policies[i], "sample=7", FIXTURE_CAPACITY);
		uint32_t	frames[TP_MAX_EXPECTED];

		fill(f, FIXTURE_CAPACITY + 8);
		assert_int_equal(tp_expect_choice(&f->pool, frames), 0);
		assert_int_equal(search(f, take_any).count, 1);
		assert_true(search(f, take_none).count >= 14);
		fixture_free(f);
	}
}

/* Not before the search, but while it looks at the others. */
static void
of_larger_samples_that_frame_is_expected(void **unused)
{
	static const char *const policies[] = {"hyperbolic", "watt", "pbm"};

	(void) unused;
	for (int i = 0; i < 3; i++)
	{
		fixture    *f = fixture_new(policies[i], NULL, FIXTURE_CAPACITY);

		fill(f, FIXTURE_CAPACITY + 8);
		for (int searches = 0; searches < 20; searches++)
		{
			look_log	made;

			f->expected = TP_NONE;
			made = search(f, take_any);
			assert_int_equal(made.frames[0], f->expected);
		}
		fixture_free(f);
	}
}

static void
of_a_pool_no_larger_than_the_sample_nothing(void **unused)
{
	fixture    *f = fixture_new("hyperbolic", "sample=8", 8);
	uint32_t	frames[TP_MAX_EXPECTED];

	(void) unused;
	fill(f, 9);
	assert_int_equal(tp_expect_choice(&f->pool, frames), 0);
	fixture_free(f);
}

/*
 * Of a page that is furthest and not usable the next one is taken; what is
 * remembered of the search is the best guess for the next.
 */
static void
pbm_looks_only_at_what_it_would_take(void **unused)
{
	fixture    *f = fixture_new("pbm", "samples=10,remember=8,frequency=2", FIXTURE_CAPACITY);
	uint32_t	frames[TP_MAX_EXPECTED];
	look_log	made;

	(void) unused;
	fill(f, FIXTURE_CAPACITY + 8);
	made = search(f, take_any);
	assert_int_equal(made.count, 1);
	assert_int_equal(tp_expect_choice(&f->pool, frames), 1);
	assert_true(frames[0] != made.frames[0]);
	fixture_free(f);
}

/* A list of frames all of which are in use must not hide the one that is not. */
static void
pbm_finds_the_only_usable_frame(void **unused)
{
	fixture    *f = fixture_new("pbm", "samples=4,remember=2", FIXTURE_CAPACITY);

	(void) unused;
	fill(f, FIXTURE_CAPACITY);
	for (uint32_t frame = 0; frame < FIXTURE_CAPACITY; frame++)
		f->pinned[frame] = frame != 17;
	for (uint32_t page = 100; page < 150; page++)
	{
		char		text[16];

		snprintf(text, sizeof(text), "%u", page);
		fixture_run(f, text);
		assert_int_equal(tp_page_of(&f->pool, 17).block, page);
	}
	fixture_free(f);
}

/*
 * What was drawn when the choice was expected is what it looks at, or, if frames
 * have joined since, what is drawn then.
 */
static void
what_was_drawn_is_chosen_from(void **unused)
{
	(void) unused;
	for (int joins = 0; joins < 2; joins++)
	{
		uint32_t	victims[2];

		for (int expected = 0; expected < 2; expected++)
		{
			fixture    *f = fixture_new("pbm", "samples=4,remember=0,neighbours=0", 32);
			uint32_t	frames[TP_MAX_EXPECTED];

			fill(f, 40);
			if (expected)
			{
				(void) tp_expect_choice(&f->pool, frames);
				assert_int_equal(f->pool.chooser->drawn_count, 4);
			}
			for (uint32_t page = 41; joins && page < 65; page++)
			{
				char		text[16];

				snprintf(text, sizeof(text), "+ %u", page);
				fixture_run(f, text);
			}
			victims[expected] = search(f, take_any).frames[0];
			fixture_free(f);
		}
		assert_int_equal(victims[0], victims[1]);
	}
}

/* But for what a chooser has drawn, which its choice takes then. */
static void
asking_changes_nothing(void **unused)
{
	(void) unused;
	for (unsigned i = 0; tp_policies[i] != NULL; i++)
	{
		fixture    *f = fixture_new(tp_policies[i]->name, NULL, 8);
		uint32_t	frames[TP_MAX_EXPECTED];
		tp_header	before;
		uint32_t	n;

		fixture_run(f, "1 2 3 4 5 6 7 8 9 10 3 4 11 12 1 2");
		before = *f->pool.header;
		n = tp_expect_choice(&f->pool, frames);
		assert_true(n <= TP_MAX_EXPECTED);
		for (uint32_t k = 0; k < n; k++)
			assert_true(frames[k] < 8);
		for (uint32_t page = 0; page < 13; page++)	/* resident, ghost, or
													 * neither */
			tp_expect_ghost(&f->pool,
							tp_expect_page(&f->pool, tp_page_make(0, page)));
		before.chooser.drawn_count = f->pool.header->chooser.drawn_count;
		before.chooser.drawn_from = f->pool.header->chooser.drawn_from;
		before.chooser.drawn_among = f->pool.header->chooser.drawn_among;
		memcpy(before.chooser.drawn, f->pool.header->chooser.drawn,
			   sizeof(before.chooser.drawn));
		assert_memory_equal(&before, f->pool.header, sizeof(before));
		assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
		fixture_free(f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_lists_the_tail_and_the_one_before_it),
		cmocka_unit_test(of_a_sample_of_one_what_will_be_drawn),
		cmocka_unit_test(of_larger_samples_one_frame_is_asked),
		cmocka_unit_test(of_larger_samples_that_frame_is_expected),
		cmocka_unit_test(of_a_pool_no_larger_than_the_sample_nothing),
		cmocka_unit_test(pbm_looks_only_at_what_it_would_take),
		cmocka_unit_test(pbm_finds_the_only_usable_frame),
		cmocka_unit_test(what_was_drawn_is_chosen_from),
		cmocka_unit_test(asking_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
