/*
 * car.c
 *	  Clock with adaptive replacement.
 *
 * Source: S. Bansal, D. S. Modha: CAR: Clock with adaptive replacement. FAST
 * 2004, Figure 2.
 *
 * Why the structure differs from Figure 2, and the decisions do not: the
 * figure serves a miss in one step, a pool in three.  victim is replace(),
 * lines 22 to 39, without the demotions of lines 27 and 34; evict demotes;
 * admit is lines 6 to 20.  That is the figure's order, so p is adapted by the
 * same sizes, B1's and B2's after the demotion.  Line 4's question, whether
 * the cache is full, is not asked: until it is, B1 and B2 are empty, T1 has
 * fewer than c pages, and lines 6 to 9 discard nothing.  A clock is a list,
 * with the page under the hand at its tail (the figure's head), and pages are
 * inserted at its head (the figure's tail).
 *
 * Where the decisions differ:
 *	1. After pages were forgotten, or evicted without a successor, there are
 *	   ghosts while the cache is not full.  Lines 6 to 9 apply all the same,
 *	   which keeps the bounds.
 *	2. Unusable frames keep their place and are passed over (search.h).  If one
 *	   clock has no usable frame, the other gives the page.
 *	3. If hits race with a search, it ends after 2r + 1 pages, r being the
 *	   number of resident pages, with the first usable frame from T1's tail, or
 *	   T2's.
 *	4. A reference by VACUUM, or a correlated one, sets no reference bit.  If
 *	   it loads a page, p stays and the page enters T1, even if it is in B1 or
 *	   B2.
 *	5. When c shrinks, p is clamped to c, and the directory is trimmed.
 *
 * Costs: as many ghosts as frames; a victim may take a round over both clocks.
 * Benefits: no parameter; ARC's adaptation and its resistance to scans, while
 * a hit is at most one relaxed store on the page's own frame.
 * Memory: nothing beside the node; one ghost a frame.
 */
#include "tidepool/parts/count.h"
#include "tidepool/parts/queue_pair.h"

enum
{
	T1 = 1,						/* referenced once lately */
	T2							/* referenced at least twice lately */
};

enum
{
	B1 = 1,						/* ghosts of T1 */
	B2							/* ghosts of T2 */
};

typedef struct car_state
{
	double		p;				/* target size of T1, 0 .. c */
} car_state;

static uint32_t
frames_on(const tp_pool *pool, unsigned list)
{
	return tp_list_of(pool, list)->count;
}

static uint32_t
ghosts_on(const tp_pool *pool, unsigned list)
{
	return tp_ghost_list_of(pool, list)->count;
}

/* Line 24: |T1| >= max(1, p). */
static bool
t1_first(const tp_pool *pool)
{
	uint32_t	t1 = frames_on(pool, T1);

	return t1 >= 1 && t1 >= tp_state(pool, car_state)->p;
}

/* Lines 1 and 2. */
static void
car_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	raise_count(pool, frame, 1);
}

/* Lines 22 to 39, replace(), without lines 27 and 34. */
static uint32_t
car_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	static const uint8_t order[] = {T1, T2};
	queue_pair_search search = {{false}};

	(void) incoming;
	(void) access;
	for (uint64_t looks = UINT64_C(2) * tp_resident(pool) + 1; looks > 0; looks--)
	{
		bool		t1 = t1_first(pool);	/* line 24 */
		uint32_t	frame = queue_pair_next(pool, &search, t1 ? T1 : T2,
											t1 ? T2 : T1, usable, arg);

		if (frame == TP_NONE)
			break;
		if (count_of(pool, frame) == 0)
			return frame;		/* lines 25, 32 */
		set_count(pool, frame, 0);	/* lines 29, 36 */
		queue_pair_move(pool, &search, T2, frame);
	}
	return tp_lists_usable_tail(pool, order, 2, usable, arg);
}

/* Lines 6 to 10: room in the directory for a page that is not in it. */
static void
make_room(const tp_pool *pool)
{
	uint32_t	c = pool->header->frames;

	if (frames_on(pool, T1) + ghosts_on(pool, B1) == c)
		tp_ghost_drop_tail(pool, B1);	/* line 7 */
	else if ((uint64_t) frames_on(pool, T1) + frames_on(pool, T2) +
			 pool->header->ghost_count == 2 * (uint64_t) c)
		tp_ghost_drop_tail(pool, B2);	/* line 9 */
}

/* Lines 15 and 18: a page of this ghost list was missed. */
static void
adapt(const tp_pool *pool, unsigned ghost_list)
{
	car_state  *state = tp_state(pool, car_state);
	double		c = pool->header->frames;
	uint32_t	b1 = ghosts_on(pool, B1);
	uint32_t	b2 = ghosts_on(pool, B2);

	if (ghost_list == B1)		/* line 15 */
	{
		state->p += b1 >= b2 ? 1.0 : (double) b2 / b1;
		if (state->p > c)
			state->p = c;
	}
	else						/* line 18 */
	{
		state->p -= b2 >= b1 ? 1.0 : (double) b1 / b2;
		if (state->p < 0)
			state->p = 0;
	}
}

/* Lines 6 to 20. */
static void
car_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	unsigned	list = T1;

	if (ghost != TP_NONE)
	{
		if (tp_promotes(access))
		{
			adapt(pool, pool->ghosts[ghost].list);
			list = T2;			/* lines 16, 19 */
		}
		tp_ghost_remove(pool, ghost);
	}
	if (list == T1)
		make_room(pool);
	set_count(pool, frame, 0);
	tp_list_push_head(pool, list, frame);	/* line 13 on T1 */
}

/* Lines 27 and 34. */
static void
car_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	unsigned	ghost_list = pool->nodes[frame].list == T1 ? B1 : B2;

	(void) access;
	tp_list_remove(pool, frame);
	tp_make_ghost_room(pool);
	tp_ghost_push(pool, ghost_list, frame);
}

/* The paper's bounds: |T1| + |B1| <= c, and all four lists <= 2c. */
static void
trim_directory(const tp_pool *pool)
{
	uint32_t	c = pool->header->frames;
	uint64_t	most = 2 * (uint64_t) c - tp_resident(pool);

	while (frames_on(pool, T1) + ghosts_on(pool, B1) > c &&
		   tp_ghost_drop_tail(pool, B1))
		;
	if (pool->header->ghost_count > most)
		tp_trim_ghosts(pool, (uint32_t) most);
}

static void
car_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) access;
	tp_list_put_back(pool, list, frame);
	trim_directory(pool);
}

static void
car_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
car_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	car_state  *state = tp_state(pool, car_state);

	(void) frame;
	(void) slot;
	if (state->p > pool->header->frames)
		state->p = pool->header->frames;
	trim_directory(pool);
}

/*
 * As if nothing were referenced any more: pages without the bit, those of the
 * clock whose turn it is first; then pages with the bit, of T2 before T1,
 * whose pages go to T2's head.
 */
static uint32_t
car_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const count_stage t1_then_t2[] = {
		{T1, 0, 0}, {T2, 0, 0}, {T2, 1, 1}, {T1, 1, 1}
	};
	static const count_stage t2_then_t1[] = {
		{T2, 0, 0}, {T1, 0, 0}, {T2, 1, 1}, {T1, 1, 1}
	};

	return coldest_by_count(pool, cursor,
							t1_first(pool) ? t1_then_t2 : t2_then_t1, 4);
}

/* Pages without the bit of both clocks: any miss may turn to the other one. */
static uint32_t
car_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const count_stage t1_and_t2[] = {{T1, 0, 0}, {T2, 0, 0}};

	return coldest_by_count(pool, &ahead->cursor, t1_and_t2, 2);
}

/* Those of the paper's invariants I1 to I7 that hold between steps. */
static int
car_check(const tp_pool *pool, tp_report report, void *arg)
{
	double		p = tp_state(pool, car_state)->p;
	uint32_t	c = pool->header->frames;
	int			bad = 0;

	bad += tp_expect(p >= 0 && p <= c, "p outside 0 .. c", 0, report, arg);
	bad += tp_expect(frames_on(pool, T1) + ghosts_on(pool, B1) <= c,
					 "|T1| + |B1| > c", 0, report, arg);
	bad += tp_expect((uint64_t) tp_resident(pool) + pool->header->ghost_count <=
					 2 * (uint64_t) c,
					 "directory larger than 2c", 0, report, arg);
	bad += counts_check(pool, 1, "reference bit above 1", report, arg);
	return bad;
}

static double
car_ghosts(const double *params)
{
	(void) params;
	return 1.0;
}

static const tp_field car_fields[] = {
	{"p", TP_FIELD_DOUBLE, offsetof(car_state, p)},
	{0}
};

const tp_policy tp_policy_car = {
	.name = "car",
	.title = "clock with adaptive replacement",
	.source = "Bansal, Modha, FAST 2004",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(car_state),
	.fields = car_fields,
	.lists = {{"T1"}, {"T2"}},
	.ghost_lists = {"B1", "B2"},
	.ghosts = car_ghosts,
	.leave = car_leave,
	.hit = car_hit,
	.victim = car_victim,
	.evict = car_evict,
	.restore = car_restore,
	.admit = car_admit,
	.forget = car_forget,
	.coldest = car_coldest,
	.upcoming = car_upcoming,
	.check = car_check,
};
