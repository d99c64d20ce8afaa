/*
 * random.c
 *	  Random replacement.
 *
 * Source: L. A. Belady: A study of replacement algorithms for a
 * virtual-storage computer. IBM Systems Journal 5(2), 1966 (there RAND).
 *
 * Where the decisions differ:
 *	1. A draw that falls on a free or unusable frame is repeated, up to 16
 *	   draws in all.  Then the first usable page from one more random member on
 *	   is taken, which is not quite uniform.  So a pool that is nearly all
 *	   pinned is searched in bounded time, and a usable page is always found.
 *
 * Costs: ignores the workload; results differ from seed to seed.
 * Benefits: a hit costs nothing at all; no pattern is its worst case.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/sample.h"

/*
 * Draws before members are searched in order.  With half of the frames usable,
 * one search in 65,536 gets there.
 */
#define DRAWS 16

enum
{
	FRAMES = 1					/* resident pages */
};

static bool
eligible(const tp_pool *pool, uint32_t frame, tp_usable usable, void *arg)
{
	return tp_is_resident(pool, frame) && (usable == NULL || usable(arg, frame));
}

static uint32_t
random_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	return sample_expect(pool, 1, frames);
}

static uint32_t
random_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			  void *arg, const tp_access *access)
{
	uint32_t	n = pool->header->frames;
	uint32_t	frame;
	uint32_t	i;

	(void) incoming;
	(void) access;
	for (int draw = 0; draw < DRAWS; draw++)
	{
		frame = tp_random_member(pool);
		if (eligible(pool, frame, usable, arg))
			return frame;
	}
	i = tp_random_below(pool, n);
	for (uint32_t looks = 0; looks < n; looks++)
	{
		frame = tp_member(pool, i);
		if (eligible(pool, frame, usable, arg))
			return frame;
		i = i + 1 < n ? i + 1 : 0;
	}
	return TP_NONE;
}

static void
random_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_ring_add(pool, FRAMES, frame);
}

static void
random_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_ring_remove(pool, frame);
}

static void
random_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

static uint32_t
only_band(const tp_pool *pool, uint32_t frame)
{
	(void) pool;
	(void) frame;
	return 0;
}

/* No page is colder than another. */
static uint32_t
random_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, 1, 0, only_band);
}

static uint32_t
random_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return tp_upcoming_sweep(pool, ahead, 1, 1, only_band);
}

const tp_policy tp_policy_random = {
	.name = "random",
	.title = "random replacement",
	.source = "Belady, IBM Systems Journal 1966",
	.flags = TP_HIT_NOTHING | TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE |
		TP_RANDOMIZED,
	.lists = {{"frames", TP_RING}},
	.expect_choice = random_expect_choice,
	.victim = random_victim,
	.evict = random_evict,
	.admit = random_admit,
	.forget = random_forget,
	.coldest = random_coldest,
	.upcoming = random_upcoming,
};
