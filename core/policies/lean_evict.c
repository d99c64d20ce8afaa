/*
 * lean_evict.c
 *	  LeanEvict: random pages go through a cooling stage.
 *
 * Source: V. Leis, M. Haubenschild, A. Kemper, T. Neumann: LeanStore:
 * In-memory data management beyond main memory. ICDE 2018.
 *
 * LeanStore has changed since.  Its later versions drop the queue: a frame
 * picked at random is marked cool, and evicted if it is picked again before
 * its page is used (see osic, which is of that kind).  The queue is what
 * later comparisons by the same authors call LeanEvict, with 20 % of the
 * frames in it or more; the paper itself suggests about 10 %.
 *
 * Where the decisions differ:
 *	1. Frames are cooled when a victim is asked for, rather than when pages
 *	   come in or by threads that keep frames free; and at most 64 are drawn
 *	   for a victim, so that nobody waits for a whole stage to be filled.
 *	2. The paper cools no page while a page below it in its tree is in memory,
 *	   since swizzled pointers need that.  A pool sees no trees.
 *	3. If no cooling page is usable, a hot one is taken: the first usable one
 *	   from a random member on.
 *	4. When c shrinks, the pages that began to cool last are warmed again.
 *	5. A reference by VACUUM, or a correlated one, does not warm a page.
 *
 * Costs: a hot page is as likely to be cooled as any other, and only a
 * reference in time saves it; a hit must look whether the page is cooling, and
 * warms it, so hits need the pool's lock.
 * Benefits: a hit on a hot page changes nothing.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/pool.h"
#include "tidepool/parts/random.h"

enum
{
	HOT = 1,					/* a ring */
	COOLING						/* a queue: in at the head, out at the tail */
};

enum
{
	PARAM_COOLING
};

enum
{
	MAX_DRAWS = 64				/* for one victim */
};

typedef struct lean_evict_state
{
	uint32_t	target;			/* pages that should be cooling */
} lean_evict_state;

static void
warm(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
	tp_ring_add(pool, HOT, frame);
}

static void
cool(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
	tp_list_push_head(pool, COOLING, frame);
}

static bool
is_hot(const tp_pool *pool, uint32_t frame, tp_usable usable, void *arg)
{
	return pool->nodes[frame].list == HOT &&
		(usable == NULL || usable(arg, frame));
}

static void
lean_evict_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	if (pool->nodes[frame].list == COOLING)
		warm(pool, frame);
}

/* Section III.B: random pages begin to cool, until the stage is full. */
static void
fill_cooling_stage(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	target = tp_state(pool, lean_evict_state)->target;

	for (int draws = MAX_DRAWS;
		 draws > 0 && tp_list_of(pool, COOLING)->count < target &&
		 tp_list_of(pool, HOT)->count > 0; draws--)
	{
		uint32_t	frame = tp_random_member(pool);

		if (is_hot(pool, frame, usable, arg))
			cool(pool, frame);
	}
}

/* The first usable hot page from a random member on. */
static uint32_t
any_hot(const tp_pool *pool, tp_usable usable, void *arg)
{
	uint32_t	n = pool->header->frames;
	uint32_t	start = tp_random_below(pool, n);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	frame = tp_member(pool, (uint32_t) (((uint64_t) start + i) % n));

		if (is_hot(pool, frame, usable, arg))
			return frame;
	}
	return TP_NONE;
}

static uint32_t
lean_evict_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
				  void *arg, const tp_access *access)
{
	uint32_t	frame;

	(void) incoming;
	(void) access;
	fill_cooling_stage(pool, usable, arg);
	frame = tp_list_usable_tail(pool, COOLING, usable, arg);
	return frame != TP_NONE ? frame : any_hot(pool, usable, arg);
}

static void
lean_evict_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_ring_add(pool, HOT, frame);
}

static void
take(const tp_pool *pool, uint32_t frame)
{
	if (pool->nodes[frame].list == HOT)
		tp_ring_remove(pool, frame);
	else
		tp_list_remove(pool, frame);
}

static void
lean_evict_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	take(pool, frame);
}

/* A cooling page becomes hot if others have filled the stage meanwhile. */
static void
lean_evict_restore(const tp_pool *pool, unsigned list, uint32_t frame,
				   const tp_access *access)
{
	(void) access;
	if (list == COOLING && tp_list_of(pool, COOLING)->count <
		tp_state(pool, lean_evict_state)->target)
		tp_list_put_back(pool, COOLING, frame);
	else
		tp_ring_add(pool, HOT, frame);
}

static void
lean_evict_forget(const tp_pool *pool, uint32_t frame)
{
	take(pool, frame);
}

/* Pages in excess of the new target become hot, the last to cool first. */
static void
set_target(const tp_pool *pool)
{
	uint32_t	c = pool->header->frames;
	uint32_t	target = (uint32_t) (pool->header->params[PARAM_COOLING] * c);

	if (target == 0 && c > 0)
		target = 1;
	tp_state(pool, lean_evict_state)->target = target;
	while (tp_list_of(pool, COOLING)->count > target)
		warm(pool, tp_list_of(pool, COOLING)->head);
}

static void
lean_evict_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_target(pool);
}

static void
lean_evict_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_target(pool);
}

static uint32_t
walk_cooling(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {COOLING};

	return tp_coldest_lists(pool, cursor, order, 1);
}

static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	return pool->nodes[frame].list == HOT ? 1 : 0;
}

/* Stage 0: cooling.  Stage 1: hot. */
static uint32_t
lean_evict_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	if (cursor->stage == 0)
	{
		uint32_t	frame = walk_cooling(pool, cursor);

		if (frame != TP_NONE || cursor->stage == 0)
			return frame;
	}
	return tp_coldest_bands(pool, cursor, 2, 0, band_of);
}

/* A page goes only after it has been cooling. */
static uint32_t
lean_evict_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return walk_cooling(pool, &ahead->cursor);
}

static int
lean_evict_check(const tp_pool *pool, tp_report report, void *arg)
{
	return tp_expect(tp_list_of(pool, COOLING)->count <=
					 tp_state(pool, lean_evict_state)->target,
					 "more pages cooling than wanted", 0, report, arg);
}

static const tp_param lean_evict_params[] = {
	[PARAM_COOLING] = {
		.name = "cooling", .type = TP_PARAM_FRACTION,
		.default_value = 0.20, .min = 0, .max = 1,
		.help = "share of the frames that are cooling; at least one"
	},
	{0}
};

static const tp_field lean_evict_fields[] = {
	{"target", TP_FIELD_U32, offsetof(lean_evict_state, target)},
	{0}
};

const tp_policy tp_policy_lean_evict = {
	.name = "lean_evict",
	.title = "LeanStore's random cooling stage",
	.source = "Leis, Haubenschild, Kemper, Neumann, ICDE 2018",
	.flags = TP_RANDOMIZED,
	.state_size = sizeof(lean_evict_state),
	.params = lean_evict_params,
	.fields = lean_evict_fields,
	.lists = {{"hot", TP_RING}, {"cooling"}},
	.join = lean_evict_join,
	.leave = lean_evict_leave,
	.hit = lean_evict_hit,
	.victim = lean_evict_victim,
	.evict = lean_evict_evict,
	.restore = lean_evict_restore,
	.admit = lean_evict_admit,
	.forget = lean_evict_forget,
	.coldest = lean_evict_coldest,
	.upcoming = lean_evict_upcoming,
	.check = lean_evict_check,
};
