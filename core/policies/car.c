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
 * Memory: nothing beyond the node; one ghost a frame.
 */
#include "tidepool/parts/arc_directory.h"
#include "tidepool/parts/count.h"
#include "tidepool/parts/queue_pair.h"

/* Line 24: |T1| >= max(1, p). */
static bool
t1_first(const tp_pool *pool)
{
	uint32_t	t1 = frames_on(pool, T1);

	return t1 >= 1 && t1 >= tp_state(pool, arc_state)->p;
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
			tp_state(pool, arc_state)->p =
				adapted(pool, pool->ghosts[ghost].list, ghosts_on(pool, B1),
						ghosts_on(pool, B2));	/* lines 15, 18 */
			list = T2;			/* lines 16, 19 */
		}
		tp_ghost_remove(pool, ghost);
	}
	if (list == T1)
		make_room(pool);
	set_count(pool, frame, 0);
	tp_list_push_head(pool, list, frame);	/* line 13 on T1 */
}

static void
car_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
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
	return arc_directory_check(pool, 0, report, arg) +
		counts_check(pool, 1, "reference bit above 1", report, arg);
}

const tp_policy tp_policy_car = {
	.name = "car",
	.title = "clock with adaptive replacement",
	.source = "Bansal, Modha, FAST 2004",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(arc_state),
	.fields = arc_fields,
	.lists = {{"T1"}, {"T2"}},
	.ghost_lists = {"B1", "B2"},
	.ghosts = arc_directory_ghosts,
	.leave = arc_directory_leave,
	.hit = car_hit,
	.victim = car_victim,
	.evict = arc_directory_evict,	/* lines 27 and 34 */
	.restore = arc_directory_restore,
	.admit = car_admit,
	.forget = car_forget,
	.coldest = car_coldest,
	.upcoming = car_upcoming,
	.recalls = arc_directory_recalls,
	.resume = arc_directory_resume,
	.check = car_check,
};
