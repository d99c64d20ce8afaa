/*
 * test_batch.c
 *	  Queued hits: when they are due, in which order they are committed, and
 *	  that those whose page has left are skipped.
 */
#include "fixture.h"
#include "tidepool/batch.h"

static tp_batch batch;
static const tp_access none;

static tp_batch_due
add(fixture *f, uint32_t block, uint32_t flags)
{
	for (uint32_t frame = 0; frame < f->pool.header->frames; frame++)
		if (tp_is_resident(&f->pool, frame) && tp_page_of(&f->pool, frame).block == block)
			return tp_batch_add(&batch, frame, tp_page_make(0, block), flags, 3, 4);
	fail_msg("block %u is not resident", block);
	return TP_BATCH_FULL;
}

static void
due_at_threshold_and_size(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	assert_int_equal(add(f, 1, 0), TP_BATCH_QUEUED);
	assert_int_equal(add(f, 2, 0), TP_BATCH_QUEUED);
	assert_int_equal(add(f, 3, 0), TP_BATCH_TRY);
	assert_int_equal(add(f, 4, 0), TP_BATCH_FULL);
	fixture_expect(f, "recent: 4 3 2 1");	/* nothing was told to the policy */
	tp_batch_commit(&f->pool, &batch, &none, NULL, NULL);
	fixture_free(f);
}

static void
size_one_is_due_at_once(void **unused)
{
	(void) unused;
	assert_int_equal(tp_batch_add(&batch, 0, tp_page_make(0, 1), 0, 32, 1),
					 TP_BATCH_FULL);
	batch.count = 0;
}

static void
commits_in_order(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 4);

	(void) unused;
	fixture_run(f, "1 2 3 4");
	add(f, 3, 0);
	add(f, 1, 0);
	add(f, 2, 0);
	tp_batch_prefetch(&f->pool, &batch);
	assert_int_equal(tp_batch_commit(&f->pool, &batch, &none, NULL, NULL), 0);
	fixture_expect(f, "recent: 2 1 3 4");
	assert_int_equal(batch.count, 0);
	assert_int_equal(tp_batch_commit(&f->pool, &batch, &none, NULL, NULL), 0);
	fixture_expect(f, "recent: 2 1 3 4");
	fixture_free(f);
}

static void
skips_pages_that_left(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3");
	add(f, 1, 0);
	add(f, 2, 0);
	add(f, 3, 0);
	fixture_run(f, "4 -2");		/* 1 was evicted for 4, 2 forgotten */
	assert_int_equal(tp_batch_commit(&f->pool, &batch, &none, NULL, NULL), 2);
	fixture_expect(f, "recent: 3 4");
	fixture_free(f);
}

static void
counts_pages_that_came_back(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 2);

	(void) unused;
	fixture_run(f, "1 2");
	add(f, 1, 0);
	fixture_run(f, "-1 1 2");	/* to the frame it was in */
	assert_int_equal(tp_batch_commit(&f->pool, &batch, &none, NULL, NULL), 0);
	fixture_expect(f, "recent: 1 2");
	fixture_free(f);
}

static void
flags_are_the_entries_own(void **unused)
{
	fixture    *f = fixture_new("lru", NULL, 3);

	(void) unused;
	fixture_run(f, "1 2 3");
	add(f, 1, TP_VACUUM);
	add(f, 2, 0);
	tp_batch_commit(&f->pool, &batch, &none, NULL, NULL);
	fixture_expect(f, "recent: 2 3 1");
	fixture_free(f);
}

/* ---- admissions and restorations ---- */

static const tp_page seven = {0, 7};

/* Is page 7 in frame 0, as the argument says? */
static bool
holds(void *arg, uint32_t frame, tp_page page)
{
	assert_int_equal(frame, 0);
	assert_int_equal(page.block, 7);
	return *(bool *) arg;
}

static uint32_t
commit(fixture *f, bool seven_is_there)
{
	return tp_batch_commit(&f->pool, &batch, &none, holds, &seven_is_there);
}

/* Evicts page 1, and brings in page 7 in its frame, 0; that is queued. */
static fixture *
page_seven_came_in(void)
{
	fixture    *f = fixture_new("lru", NULL, 3);

	fixture_run(f, "1 2 3");
	tp_evict(&f->pool, 0, &none);
	assert_int_equal(tp_batch_admit(&batch, 0, seven, 0, 3, 4),
					 TP_BATCH_QUEUED);
	fixture_expect(f, "recent: 3 2");
	return f;
}

static void
admits_before_the_hits_that_follow(void **unused)
{
	fixture    *f = page_seven_came_in();

	(void) unused;
	add(f, 3, 0);
	assert_int_equal(tp_batch_add(&batch, 0, seven, 0, 4, 4), TP_BATCH_QUEUED);
	assert_int_equal(batch.frames, 1);
	tp_batch_prefetch(&f->pool, &batch);
	assert_int_equal(commit(f, true), 0);
	assert_int_equal(batch.frames, 0);
	fixture_expect(f, "recent: 7 3 2");
	fixture_free(f);
}

static void
a_claimed_frame_is_no_victim(void **unused)
{
	fixture    *f = page_seven_came_in();

	(void) unused;
	fixture_run(f, "4");
	fixture_expect(f, "recent: 4 3");
	assert_int_equal(commit(f, true), 0);
	fixture_expect(f, "recent: 7 4 3");
	fixture_free(f);
}

static void
skips_a_page_that_has_left_again(void **unused)
{
	fixture    *f = page_seven_came_in();

	(void) unused;
	assert_int_equal(tp_batch_add(&batch, 0, seven, 0, 4, 4), TP_BATCH_QUEUED);
	assert_int_equal(commit(f, false), 2);
	fixture_expect(f, "recent: 3 2");
	assert_true(tp_is_claimed(&f->pool, 0));
	fixture_free(f);
}

/* Somebody has put another page into the frame, without asking the policy. */
static void
forgets_what_was_replaced_unasked(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);
	uint32_t	forgotten = batch.forgotten;

	(void) unused;
	fixture_run(f, "1 2 3");
	tp_batch_admit(&batch, 0, seven, 0, 3, 4);
	assert_int_equal(commit(f, true), 0);
	assert_int_equal(batch.forgotten, forgotten + 1);
	fixture_expect(f, "T1: 7 3 2 | T2: | B1: | B2: | p=0");
	tp_batch_admit(&batch, 0, seven, 0, 3, 4);
	assert_int_equal(commit(f, true), 1);	/* known already */
	fixture_expect(f, "T1: 7 3 2 | T2: | B1: | B2: | p=0");
	fixture_free(f);
}

static void
an_admission_alone_asks_for_no_lock(void **unused)
{
	(void) unused;
	assert_int_equal(tp_batch_admit(&batch, 0, seven, 0, 1, 1),
					 TP_BATCH_QUEUED);
	assert_int_equal(tp_batch_add(&batch, 0, seven, 0, 1, 1), TP_BATCH_FULL);
	batch.count = batch.frames = 0;
}

static void
restores_what_has_stayed(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "7 2 3");
	tp_evict(&f->pool, 0, &none);
	fixture_expect(f, "T1: 3 2 | T2: | B1: 7 | B2: | p=0");
	tp_batch_restore(&batch, 0, seven, 3, 4);
	assert_int_equal(commit(f, true), 0);
	fixture_expect(f, "T1: 3 2 7 | T2: | B1: | B2: | p=0");
	tp_batch_restore(&batch, 0, seven, 3, 4);
	assert_int_equal(commit(f, true), 1);	/* it is there */
	tp_evict(&f->pool, 0, &none);
	tp_batch_restore(&batch, 0, seven, 3, 4);
	assert_int_equal(commit(f, false), 1);	/* it has been replaced after all */
	fixture_expect(f, "T1: 3 2 | T2: | B1: 7 | B2: | p=0");
	fixture_free(f);
}

static bool
never_holds(void *arg, uint32_t frame, tp_page page)
{
	(void) arg;
	(void) frame;
	(void) page;
	return false;
}

/*
 * Page 7 has gone unnoticed from frame 0, was read into frame 1 and evicted
 * there: a ghost of a page that seems to be resident.  That is a violation only
 * if frame 0 holds it; and when it comes back there, the ghost goes.
 */
static void
a_page_that_comes_back_has_no_ghost(void **unused)
{
	fixture    *f = fixture_new("arc", NULL, 3);

	(void) unused;
	fixture_run(f, "7 2 3");
	tp_evict(&f->pool, 1, &none);
	tp_admit(&f->pool, 1, seven, &none);
	tp_evict(&f->pool, 1, &none);
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 1);
	assert_int_equal(tp_check(&f->pool, never_holds, NULL, NULL, NULL), 0);
	tp_batch_admit(&batch, 0, seven, 0, 3, 4);
	assert_int_equal(commit(f, true), 0);
	assert_int_equal(tp_check(&f->pool, NULL, NULL, NULL, NULL), 0);
	fixture_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_that_comes_back_has_no_ghost),
		cmocka_unit_test(due_at_threshold_and_size),
		cmocka_unit_test(size_one_is_due_at_once),
		cmocka_unit_test(commits_in_order),
		cmocka_unit_test(skips_pages_that_left),
		cmocka_unit_test(counts_pages_that_came_back),
		cmocka_unit_test(flags_are_the_entries_own),
		cmocka_unit_test(admits_before_the_hits_that_follow),
		cmocka_unit_test(a_claimed_frame_is_no_victim),
		cmocka_unit_test(skips_a_page_that_has_left_again),
		cmocka_unit_test(forgets_what_was_replaced_unasked),
		cmocka_unit_test(an_admission_alone_asks_for_no_lock),
		cmocka_unit_test(restores_what_has_stayed),
	};

	return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
