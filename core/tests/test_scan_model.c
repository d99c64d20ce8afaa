/*
 * test_scan_model.c
 *	  Estimates of random scans against a naive model: the list of the blocks
 *	  that a scan reads, in that order.
 *
 * Relations are small, so that after each advance every block is asked for.  A
 * scan's block time is a power of two, and it advances exactly as fast, so
 * that estimates are exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tidepool/prediction/scan.h"

#define RELATION 7
#define MOST_SCANS 12			/* that run at once: in two tp_scan_lanes */
#define MOST_BLOCKS 1024		/* of a relation */
#define GROUPS (MOST_BLOCKS / TP_BLOCK_GROUP)

/* A scan, and what it reads. */
typedef struct model
{
	uint64_t	handle;
	uint32_t	order[MOST_BLOCKS]; /* blocks in the order of reading */
	uint32_t	length;
	uint32_t	done;			/* blocks read so far */
	uint32_t	block_time;		/* microseconds */
} model;

static uint64_t seed;
static tp_scans scans;
static model models[MOST_SCANS];
static uint32_t running;		/* of them */

static uint32_t
below(uint32_t n)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) (((tp_mix64(seed) >> 32) * n) >> 32);
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

/* ---- scans ---- */

/* A range scan of the blocks low .. low + size - 1, from any of them on. */
static void
random_wrapping(tp_scan_spec *spec, model *m)
{
	uint32_t	size = 1 + below(60);
	uint32_t	low = below(20);
	uint32_t	at = low + below(size);

	spec->first = at;
	spec->count = 1 + below(size);
	spec->low = low;
	spec->size = size;
	for (m->length = 0; m->length < spec->count; m->length++)
	{
		m->order[m->length] = at;
		if (spec->backward)
			at = at == low ? low + size - 1 : at - 1;
		else
			at = at == low + size - 1 ? low : at + 1;
	}
}

/* A range scan that does not wrap. */
static void
random_straight(tp_scan_spec *spec, model *m)
{
	uint32_t	low = below(20);

	spec->count = 1 + below(60);
	spec->first = spec->backward ? low + spec->count - 1 : low;
	for (m->length = 0; m->length < spec->count; m->length++)
		m->order[m->length] = spec->backward ? spec->first - m->length :
			spec->first + m->length;
}

/* A bitmap scan of some of the block groups, from any one on. */
static void
random_bitmap(tp_scan_spec *spec, tp_bitmap *bitmap, model *m)
{
	uint32_t	set = 1 + below((1 << GROUPS) - 1);

	tp_bitmap_init(bitmap, MOST_BLOCKS);
	spec->bitmap = bitmap;
	spec->first = below(MOST_BLOCKS);
	for (uint32_t group = 0; group < GROUPS; group++)
		if ((set >> group & 1) != 0)
			tp_bitmap_add(bitmap,
						  group * TP_BLOCK_GROUP + below(TP_BLOCK_GROUP), 1);
	m->length = 0;
	for (uint32_t i = 0; i < GROUPS; i++)
	{
		uint32_t	group = (spec->first / TP_BLOCK_GROUP +
							 (spec->backward ? GROUPS - i : i)) % GROUPS;

		if ((set >> group & 1) == 0)
			continue;
		for (uint32_t j = 0; j < TP_BLOCK_GROUP; j++)
			m->order[m->length++] = group * TP_BLOCK_GROUP +
				(spec->backward ? TP_BLOCK_GROUP - 1 - j : j);
	}
}

typedef enum kind
{
	WRAPPING,
	STRAIGHT,
	BITMAP,
	ANY
} kind;

static void
begin(model *m, kind of, bool backward)
{
	tp_scan_spec spec = {.relation = RELATION, .backward = backward};
	tp_bitmap	bitmap;

	if (of == WRAPPING)
		random_wrapping(&spec, m);
	else if (of == STRAIGHT)
		random_straight(&spec, m);
	else
		random_bitmap(&spec, &bitmap, m);
	m->done = 0;
	m->block_time = UINT32_C(64) << below(5);
	spec.speed = 1e6 / m->block_time;
	m->handle = tp_scan_begin(&scans, &spec, 0);
	assert_int_not_equal(m->handle, 0);
}

/* It reads some more blocks, and says so for the last of them alone. */
static void
advance(model *m)
{
	m->done += 1 + below(m->length - m->done);
	tp_scan_advance(&scans, m->handle, m->order[m->done - 1],
					(uint64_t) m->done * m->block_time);
}

/* ---- estimates ---- */

static void
naive_waits(double *waits)
{
	for (uint32_t block = 0; block < MOST_BLOCKS; block++)
		waits[block] = TP_NEVER;
	for (const model *m = models; m < models + running; m++)
		for (uint32_t i = m->done; i < m->length; i++)
		{
			double		wait = (i - m->done) * m->block_time;
			double	   *least = &waits[m->order[i]];

			*least = wait < *least ? wait : *least;
		}
}

static void
expect_naive_waits(uint32_t blocks)
{
	double		waits[MOST_BLOCKS];
	tp_scan_found found = {0};

	naive_waits(waits);
	for (uint32_t block = 0; block < blocks; block++)
	{
		tp_page		page = tp_page_make(RELATION, block);
		double		wait = waits[block];
		double		from = below(50000);
		double		estimate = tp_scan_next_access(&scans, page, 0);
		double		rough = tp_scan_next_access_from(&scans, &found, page, from,
													 0);

		if (estimate != wait)
			fail_msg("block %u: %f us, not %f", block, estimate, wait);
		if (wait >= from ? rough != wait : rough < wait || rough >= from)
			fail_msg("block %u, from %f: %f us, not %f", block, from, rough,
					 wait);
	}
	assert_int_equal(tp_scans_check(&scans, report, NULL), 0);
}

/* Begin up to MOST_SCANS scans; let them read all that they read. */
static void
run(kind of, bool backward)
{
	bool		any = true;

	running = 0;
	for (uint32_t i = 1 + below(MOST_SCANS); i > 0; i--)
	{
		begin(&models[running], of == ANY ? (kind) below(ANY) : of,
			  of == ANY ? below(2) != 0 : backward);
		running++;
	}
	while (any)
	{
		expect_naive_waits(of < BITMAP ? 100 : MOST_BLOCKS);
		any = false;
		for (model *m = models; m < models + running; m++)
			if (m->done < m->length)
			{
				advance(m);
				any = true;
			}
	}
}

static void
run_often(kind of, bool backward, int runs)
{
	void	   *block = aligned_alloc(64, tp_scans_size(MOST_SCANS, MOST_SCANS));

	assert_non_null(block);
	seed = 1;
	while (runs-- > 0)
	{
		scans = tp_scans_init(MOST_SCANS, MOST_SCANS, block);
		run(of, backward);
	}
	free(block);
}

static void
wrapping_ranges(void **unused)
{
	(void) unused;
	run_often(WRAPPING, false, 500);
}

static void
wrapping_ranges_backward(void **unused)
{
	(void) unused;
	run_often(WRAPPING, true, 500);
}

static void
ranges(void **unused)
{
	(void) unused;
	run_often(STRAIGHT, false, 500);
}

static void
ranges_backward(void **unused)
{
	(void) unused;
	run_often(STRAIGHT, true, 500);
}

static void
bitmaps(void **unused)
{
	(void) unused;
	run_often(BITMAP, false, 50);
}

static void
bitmaps_backward(void **unused)
{
	(void) unused;
	run_often(BITMAP, true, 50);
}

static void
scans_of_all_kinds_at_once(void **unused)
{
	(void) unused;
	run_often(ANY, false, 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrapping_ranges),
		cmocka_unit_test(wrapping_ranges_backward),
		cmocka_unit_test(ranges),
		cmocka_unit_test(ranges_backward),
		cmocka_unit_test(bitmaps),
		cmocka_unit_test(bitmaps_backward),
		cmocka_unit_test(scans_of_all_kinds_at_once),
	};

	return cmocka_run_group_tests_name("scan_model", tests, NULL, NULL);
}
