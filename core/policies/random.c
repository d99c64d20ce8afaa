/*
 * random.c
 *	  Random replacement.
 *
 * Source: L. A. Belady: A study of replacement algorithms for a
 * virtual-storage computer. IBM Systems Journal 5(2), 1966 (there RAND).
 *
 * Where this differs from Belady:
 *	1. A draw that falls on a free or unusable frame is repeated at most 15
 *	   times; then the next such frame from a last random place is taken, not
 *	   quite uniformly any more.  So a pool that is nearly all pinned is still
 *	   searched in bounded time, and a usable frame is always found.
 *
 * Definition:
 *	frames	resident pages, a ring: in the order of members.
 *	hit		nothing.
 *	victim	up to 16 draws of tp_random_member, until one is resident and
 *			usable: that one.  Otherwise one tp_random_below(c), and from
 *			that index of members upward, wrapping, the first resident and
 *			usable frame.
 *	admit	onto the ring, whatever the access was.
 *	evict, forget	off the ring.
 *	join, leave	nothing.
 *	coldest	in the order of members from index 0: no page is colder.
 *	upcoming	tp_upcoming_sweep (list.h): all are alike.
 *
 * Costs: knows nothing of the workload; results differ from seed to seed.
 * Benefits: a hit costs nothing at all; no pattern is its worst case.
 * Memory: nothing beside the node; no ghosts.
 */
#include "tidepool/parts/sample.h"

#define DRAWS 16				/* before the members are searched in order */

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
		frame = pool->members[i];
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
