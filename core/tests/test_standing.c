/*
 * test_standing.c
 *	  A pool that is saved and given back page by page goes on as the one that
 *	  was not.
 *
 * Each policy serves some thousand references.  Then its state, the standings of
 * its pages and its ghosts are given to a new pool, and both serve the same
 * references.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tidepool/standing.h"

#define FRAMES 32
#define PAGES 80
#define WARM_UP 3000
#define GO_ON 1500

/* What may be claimed of the pool that was given back. */
typedef enum claim
{
	SAME_MISSES,				/* the same hits and victims */
	SAME_ORDER,					/* coldest has the same order; its choice
								 * among equals depends on what is not kept */
	SAME_PAGES					/* nothing more */
} claim;

static claim
claim_of(const tp_policy *policy)
{
	const char *name = policy->name;

	if (strcmp(name, "w_tinylfu") == 0 || strcmp(name, "pbm_pq") == 0 ||
		policy->flags & TP_READS_EXTENTS)
		return SAME_PAGES;		/* sketch, scans, and temperatures are not the
								 * pages' */
	return policy->flags & TP_ASKS_SCANS ? SAME_ORDER : SAME_MISSES;
}

/* Its walk is in the order of members, which a heap makes by its history. */
static bool
has_heap(const tp_policy *policy)
{
	return strcmp(policy->name, "lru_k") == 0;
}

/* A skewed choice of pages, and a loop over some others. */
static uint32_t
draw(uint64_t *random)
{
	uint32_t	x;

	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	x = (uint32_t) (*random >> 33);
	return x % 5 == 0 ? 60 + x / 5 % 20 : x / 5 % (1 + x / 400 % 60);
}

static void
serve(fixture *f, uint64_t *random, int references)
{
	char		text[16];

	for (int i = 0; i < references; i++)
	{
		snprintf(text, sizeof(text), "%u%s", draw(random),
				 *random >> 60 == 0 ? "w" : *random >> 60 == 1 ? "v" : "");
		fixture_run(f, text);
	}
}

static uint32_t
hand_of(const fixture *f)
{
	const tp_field *field = f->pool.policy->fields;

	if (strcmp(f->pool.policy->name, "osic") == 0)
		return ((const uint32_t *) f->pool.header->state)[3];
	for (; field != NULL && field->name != NULL; field++)
		if (strcmp(field->name, "hand") == 0)
			return *(const uint32_t *) ((const char *) f->pool.header->state +
										field->offset);
	return 0;
}

static void
give_page(const fixture *from, fixture *to, uint32_t frame, uint32_t to_frame)
{
	const tp_access access = {.now = to->now};
	tp_standing standing = tp_standing_of(&from->pool, frame, from->now);

	assert_true(tp_reinstate(&to->pool, to_frame, tp_page_of(&from->pool, frame),
							 &standing, &access));
	to->dirty[to_frame] = from->dirty[frame];
}

/*
 * Lists from head to tail into the same frames; rings by their members, the
 * one at the hand first, so that the hand of the new pool is there.
 */
static void
give_pages(const fixture *from, fixture *to)
{
	const tp_policy *policy = from->pool.policy;

	for (unsigned list = 1; policy->lists[list - 1].name != NULL; list++)
		if (policy->lists[list - 1].order == TP_LINKED)
			for (uint32_t frame = tp_list_of(&from->pool, list)->head;
				 frame != TP_NONE; frame = from->pool.nodes[frame].next)
				give_page(from, to, frame, frame);
		else
			for (uint32_t i = 0; i < FRAMES; i++)
			{
				uint32_t	frame = tp_member(&from->pool, (hand_of(from) + i) % FRAMES);

				if (tp_is_resident(&from->pool, frame) &&
					from->pool.nodes[frame].list == list)
					give_page(from, to, frame, policy->lists[1].name != NULL ? frame :
							  hand_of(from) == 0 ? frame : i);
			}
}

static void
give_ghosts(const fixture *from, fixture *to)
{
	tp_recall_begin(&to->pool);
	for (unsigned list = 1; list < TP_MAX_GHOST_LISTS; list++)
		for (uint32_t slot = tp_ghost_list_of(&from->pool, list)->head;
			 slot != TP_NONE; slot = from->pool.ghosts[slot].next)
		{
			const tp_memory memory = tp_memory_of(&from->pool, slot);
			bool		recalled = tp_recall(&to->pool, &memory);

			/* LIRS: a ghost that has fallen out of S means nothing */
			assert_true(recalled || strncmp(from->pool.policy->name, "lirs", 4) == 0);
		}
	for (uint32_t i = 0; i < to->pool.header->frames; i++)
		tp_recall_clean(&to->pool, tp_member(&to->pool, i));
	tp_recall_end(&to->pool);
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

static void
expect_sound(const fixture *f)
{
	assert_int_equal(tp_check(&f->pool, NULL, NULL, report, NULL), 0);
}

static fixture *
given(const fixture *from, uint32_t frames)
{
	fixture    *to = fixture_new(from->pool.policy->name, NULL, frames);

	to->now = from->now;
	if (from->extents != NULL)
		memcpy(to->extents, from->extents, tp_extents_size(FIXTURE_EXTENTS));
	tp_resume(&to->pool, tp_save_state(&from->pool), FRAMES);
	return to;
}

static void
list_coldest(const fixture *f, uint32_t *blocks)
{
	tp_cursor	cursor = {0};
	uint32_t	frame;

	memset(blocks, 0, FRAMES * sizeof(*blocks));
	while ((frame = tp_coldest(&f->pool, &cursor)) != TP_NONE)
		*blocks++ = f->pool.nodes[frame].block;
}

static int
compare(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

static void
expect_same_coldest(const fixture *a, const fixture *b, bool ordered)
{
	uint32_t	x[FRAMES];
	uint32_t	y[FRAMES];

	list_coldest(a, x);
	list_coldest(b, y);
	if (!ordered)
	{
		qsort(x, FRAMES, sizeof(*x), compare);
		qsort(y, FRAMES, sizeof(*y), compare);
	}
	assert_memory_equal(x, y, sizeof(x));
}

static void
expect_same_misses(fixture *a, fixture *b, uint64_t random)
{
	for (int i = 0; i < GO_ON; i++)
	{
		uint64_t	other = random;

		serve(a, &random, 1);
		serve(b, &other, 1);
		if (a->misses - a->refused != b->misses - b->refused)
			fail_msg("%s: reference %d is a hit in one pool, a miss in the other",
					 a->pool.policy->name, i);
	}
	expect_same_coldest(a, b, !has_heap(a->pool.policy));
}

static void
the_pool_goes_on(void **state)
{
	(void) state;
	for (const tp_policy *const *policy = tp_policies; *policy != NULL; policy++)
	{
		uint64_t	random = 42;
		claim		is = claim_of(*policy);
		fixture    *old = fixture_new((*policy)->name, NULL, FRAMES);
		fixture    *new;

		serve(old, &random, WARM_UP);
		old->misses = old->refused = 0;
		new = given(old, FRAMES);
		give_pages(old, new);
		if (old->pool.ghosts_per_frame > 0)
			give_ghosts(old, new);
		new->pool.header->chooser.random_state = old->pool.header->chooser.random_state;
		expect_sound(new);
		expect_same_coldest(old, new, is != SAME_PAGES && !has_heap(*policy));
		if (is == SAME_MISSES)
			expect_same_misses(old, new, random);
		else
			serve(new, &random, GO_ON);
		fixture_free(old);
		fixture_free(new);
	}
}

static bool
has_page(const fixture *f, tp_page page)
{
	for (uint32_t i = 0; i < f->pool.header->frames; i++)
		if (tp_is_resident(&f->pool, tp_member(&f->pool, i)) &&
			tp_page_equal(tp_page_of(&f->pool, tp_member(&f->pool, i)), page))
			return true;
	return false;
}

/* All states hold in between, whatever comes in, in a pool of any size. */
static void
other_pages_come_in(uint32_t frames, bool resume)
{
	for (const tp_policy *const *policy = tp_policies; *policy != NULL; policy++)
	{
		uint64_t	random = 43;
		fixture    *old = fixture_new((*policy)->name, NULL, FRAMES);
		fixture    *new;

		serve(old, &random, WARM_UP);
		new = resume ? given(old, frames) :
			fixture_new((*policy)->name, NULL, frames);
		for (uint32_t i = 0; i < FRAMES; i++)
		{
			uint32_t	frame = tp_member(&old->pool, i);
			const tp_list *free;

			if (i % 3 == 0)
				serve(new, &random, 2);
			free = tp_list_of(&new->pool, TP_FREE);
			if (tp_is_resident(&old->pool, frame) && free->count > 0 &&
				!has_page(new, tp_page_of(&old->pool, frame)))
				give_page(old, new, frame, free->head);
			expect_sound(new);
		}
		if (old->pool.ghosts_per_frame > 0)
		{
			tp_recall_begin(&new->pool);
			for (unsigned list = 1; list < TP_MAX_GHOST_LISTS; list++)
				for (uint32_t slot = tp_ghost_list_of(&old->pool, list)->head;
					 slot != TP_NONE; slot = old->pool.ghosts[slot].next)
				{
					const tp_memory memory = tp_memory_of(&old->pool, slot);

					(void) tp_recall(&new->pool, &memory);
					if (slot % 4 == 0)
						serve(new, &random, 1);
					expect_sound(new);
				}
			for (uint32_t i = 0; i < new->pool.header->frames; i++)
				tp_recall_clean(&new->pool, tp_member(&new->pool, i));
			tp_recall_end(&new->pool);
		}
		expect_sound(new);
		serve(new, &random, GO_ON);
		fixture_free(old);
		fixture_free(new);
	}
}

static void
other_pages_come_in_meanwhile(void **state)
{
	(void) state;
	other_pages_come_in(FRAMES, true);
}

static void
the_pool_is_smaller(void **state)
{
	(void) state;
	other_pages_come_in(FRAMES / 3, true);
}

static void
the_pool_is_larger(void **state)
{
	(void) state;
	other_pages_come_in(FIXTURE_CAPACITY, true);
}

static void
the_state_is_unknown(void **state)
{
	(void) state;
	other_pages_come_in(FRAMES, false);
}

static void
lists_that_do_not_exist_are_refused(void **state)
{
	const tp_access access = {0};

	(void) state;
	for (const tp_policy *const *policy = tp_policies; *policy != NULL; policy++)
	{
		fixture    *f = fixture_new((*policy)->name, NULL, 4);

		for (unsigned list = 0; list < 256; list++)
		{
			tp_standing standing = {.list = (uint8_t) list};
			bool		exists = list > 0 && list < TP_MAX_LISTS;

			for (unsigned i = 0; exists && i < list; i++)
				exists = (*policy)->lists[i].name != NULL;
			if (!exists)
				assert_false(tp_reinstate(&f->pool, 0, tp_page_make(0, 1),
										  &standing, &access));
		}
		assert_int_equal(tp_list_of(&f->pool, TP_FREE)->count, 4);
		assert_true(f->pool.policy->ghost_lists[0] == NULL ||
					f->pool.policy->recalls != NULL);
		fixture_free(f);
	}
}

/* 7 is remembered, then resident; 8 is behind it in the order. */
static void
a_page_is_not_remembered_when_it_is_back(void **state)
{
	fixture    *f = fixture_new("arc", NULL, 4);
	tp_memory	memory = {.key = tp_page_key(tp_page_make(0, 7)), .list = 2};

	(void) state;
	fixture_run(f, "7 8");
	tp_recall_begin(&f->pool);
	assert_true(tp_recall(&f->pool, &memory));
	assert_false(tp_recall(&f->pool, &memory));
	fixture_expect(f, "T1: 8 7 | T2: | B1: | B2: 7 | p=0");
	fixture_run(f, "<7");		/* its ghost is replaced, not doubled */
	fixture_expect(f, "T1: 8 | T2: | B1: 7 | B2: | p=0");
	fixture_run(f, ">7");
	assert_true(tp_recall(&f->pool, &memory));
	for (uint32_t i = 0; i < 4; i++)
		tp_recall_clean(&f->pool, i);
	tp_recall_end(&f->pool);
	fixture_expect(f, "T1: 8 7 | T2: | B1: | B2: | p=0");
	expect_sound(f);
	fixture_free(f);
}

static void
pages_are_placed_behind_those_in_use(void **state)
{
	const tp_access access = {0};
	fixture    *f = fixture_new("lru", NULL, 6);
	tp_standing standing = {.list = 1};

	(void) state;
	fixture_run(f, "1 2");
	for (uint32_t block = 10; block < 13; block++)
		assert_true(tp_reinstate(&f->pool, tp_list_of(&f->pool, TP_FREE)->head,
								 tp_page_make(0, block), &standing, &access));
	fixture_run(f, "3 11");
	fixture_expect(f, "recent: 11 3 2 1 10 12");
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_goes_on),
		cmocka_unit_test(other_pages_come_in_meanwhile),
		cmocka_unit_test(the_pool_is_smaller),
		cmocka_unit_test(the_pool_is_larger),
		cmocka_unit_test(the_state_is_unknown),
		cmocka_unit_test(lists_that_do_not_exist_are_refused),
		cmocka_unit_test(a_page_is_not_remembered_when_it_is_back),
		cmocka_unit_test(pages_are_placed_behind_those_in_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
