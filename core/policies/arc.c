/*
 * arc.c
 *	  Adaptive replacement cache.
 *
 * Source: N. Megiddo, D. S. Modha: ARC: A self-tuning, low overhead
 * replacement cache. FAST 2003, Figure 4.
 *
 * Where this differs from Figure 4:
 *	1. The paper adapts p, evicts, and inserts in one step.  Here victim
 *	   foresees the new p without storing it, evict makes the ghost, and admit
 *	   adapts p and trims the directory; sizes of B1 and B2 are taken as they
 *	   were before this frame's own eviction (node->origin), so the numbers
 *	   are the paper's.
 *	2. Case IV(A) with |T1| = c deletes T1's last page without a ghost; here
 *	   it becomes a ghost and is trimmed on admission: the same state.
 *	3. If a search of the list that REPLACE names finds no usable page, the
 *	   other list is searched.
 *	4. A page loaded by VACUUM or by a correlated reference adapts nothing and
 *	   enters T1 even when it is remembered in B1 or B2.
 *	5. When c shrinks, p is clamped to c and the directory trimmed to the
 *	   bounds |T1|+|B1| <= c (from B1) and all <= 2c (from B2, then B1).
 *
 * Definition (c frames):
 *	T1, T2	resident pages, most recent at the head.
 *	B1, B2	ghosts of T1 and of T2, newest at the head.
 *	p		target size of T1, a real number; 0 at first.
 *	adapted p, given sizes b1 and b2 of B1 and B2: if the access promotes and
 *			the page is in B1, min(p + d, c) with d = 1 if b1 >= b2, else
 *			b2 / b1; if it promotes and the page is in B2, max(p - d, 0) with
 *			d = 1 if b2 >= b1, else b1 / b2; otherwise p.
 *	hit		to T2's head.
 *	victim	REPLACE, with the adapted p given |B1| and |B2| as they are: T1 if
 *			it is not empty and |T1| > p, or |T1| = p and the access promotes
 *			and the page is in B2; otherwise T2.  That list is searched
 *			(list.h: its tail, unless that is unusable), then the other.
 *	evict	if no ghost slot is free, one ghost is trimmed; then a ghost to the
 *			head of B1 if the frame was on T1, of B2 if on T2.
 *	admit	1. p becomes the adapted p, given |B1| and |B2|, the one that the
 *			frame's last page went to less one; but no less than 1 for the
 *			one that the page is in, than 0 for the other.  (They differ from
 *			the sizes at the miss only if that ghost has gone meanwhile or is
 *			the page's own.)  2. The page's ghost is dropped.  3. If it had
 *			one and the access promotes, to T2's head, otherwise to T1's.
 *			4. The directory is trimmed.
 *	restore	to its place; the directory is trimmed.
 *	forget	off its list.
 *	join	nothing.
 *	leave	p = min(p, c); the directory is trimmed.
 *	trimming	of the directory: B1's tail is dropped while |T1| + |B1| > c and
 *			there is one; then ghosts are trimmed while all four lists are
 *			more than 2c.  Of ghosts: B2's tail, when B2 is empty B1's.
 *	coldest	T1 then T2 if |T1| > p, otherwise T2 then T1; each from tail to
 *			head.
 *	upcoming	T1 and T2, each from tail to head: while T1 is about as long as
 *			p they take turns.
 *
 * Costs: every hit moves a node, so hits need the pool's lock; as many ghosts
 * as frames.
 * Benefits: no parameter; a scan passes through T1 and leaves T2 alone.
 * Memory: nothing beside the node; one ghost per frame.
 */
#include "tidepool/pool.h"

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

typedef struct arc_state
{
	double		p;				/* target size of T1, 0 .. c */
} arc_state;

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

/*
 * p after a miss on a page remembered in ghost_list (cases II and III), given
 * the sizes of B1 and B2 at the time of the miss.
 */
static double
adapted(const tp_pool *pool, unsigned ghost_list, uint32_t b1, uint32_t b2)
{
	double		p = tp_state(pool, arc_state)->p;
	double		c = pool->header->frames;
	double		delta;

	if (ghost_list == B1)
	{
		delta = b1 >= b2 ? 1.0 : (double) b2 / b1;
		return p + delta < c ? p + delta : c;
	}
	delta = b2 >= b1 ? 1.0 : (double) b1 / b2;
	return p - delta > 0 ? p - delta : 0;
}

/*
 * The size that a ghost list had at the miss, before the eviction that made
 * room for this frame's page.  At least least, since that ghost may have been
 * trimmed in the meantime.
 */
static uint32_t
size_at_miss(const tp_pool *pool, unsigned ghost_list, uint32_t frame,
			 uint32_t least)
{
	uint32_t	size = ghosts_on(pool, ghost_list);

	if (pool->nodes[frame].origin == ghost_list && size > least)
		size--;
	return size;
}

static void
arc_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_move_head(pool, T2, frame);
}

/* REPLACE(x_t, p) of Figure 4. */
static uint32_t
arc_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	static const uint8_t t1_first[] = {T1, T2};
	static const uint8_t t2_first[] = {T2, T1};
	double		p = tp_state(pool, arc_state)->p;
	uint32_t	t1 = frames_on(pool, T1);
	bool		in_b2 = false;

	if (tp_promotes(access))
	{
		uint32_t	ghost = tp_ghost_find(pool, tp_page_key(incoming));

		if (ghost != TP_NONE)
		{
			unsigned	ghost_list = pool->ghosts[ghost].list;

			in_b2 = ghost_list == B2;
			p = adapted(pool, ghost_list, ghosts_on(pool, B1),
						ghosts_on(pool, B2));
		}
	}
	return tp_lists_search(pool, t1 > 0 && (t1 > p || (in_b2 && t1 == p)) ?
						   t1_first : t2_first, 2, usable, arg);
}

/* The bounds of section III.B: |L1| <= c, |L1| + |L2| <= 2c. */
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
arc_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	arc_state  *state = tp_state(pool, arc_state);
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	unsigned	list = T1;

	if (ghost != TP_NONE)
	{
		if (tp_promotes(access))
		{
			unsigned	ghost_list = pool->ghosts[ghost].list;

			state->p = adapted(pool, ghost_list,
							   size_at_miss(pool, B1, frame, ghost_list == B1),
							   size_at_miss(pool, B2, frame, ghost_list == B2));
			list = T2;
		}
		tp_ghost_remove(pool, ghost);
	}
	tp_list_push_head(pool, list, frame);
	trim_directory(pool);
}

static void
arc_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	unsigned	ghost_list = pool->nodes[frame].list == T1 ? B1 : B2;

	(void) access;
	tp_list_remove(pool, frame);
	tp_make_ghost_room(pool);
	tp_ghost_push(pool, ghost_list, frame);
}

static void
arc_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			const tp_access *access)
{
	(void) access;
	tp_list_put_back(pool, list, frame);
	trim_directory(pool);
}

static void
arc_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
arc_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	arc_state  *state = tp_state(pool, arc_state);

	(void) frame;
	(void) slot;
	if (state->p > pool->header->frames)
		state->p = pool->header->frames;
	trim_directory(pool);
}

static uint32_t
arc_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t recent_first[] = {T1, T2};
	static const uint8_t frequent_first[] = {T2, T1};
	bool		t1_first = frames_on(pool, T1) > tp_state(pool, arc_state)->p;

	return tp_coldest_lists(pool, cursor,
							t1_first ? recent_first : frequent_first, 2);
}

static uint32_t
arc_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const uint8_t lists[] = {T1, T2};

	return tp_upcoming_lists(pool, &ahead->cursor, lists, 2);
}

static int
arc_check(const tp_pool *pool, tp_report report, void *arg)
{
	double		p = tp_state(pool, arc_state)->p;
	uint32_t	c = pool->header->frames;
	uint32_t	pending = tp_vacant(pool);
	int			bad = 0;

	/* a ghost made by an eviction is trimmed by the admission that follows */
	bad += tp_expect(p >= 0 && p <= c, "p outside 0 .. c", 0, report, arg);
	bad += tp_expect(frames_on(pool, T1) + ghosts_on(pool, B1) <= c + pending,
					 "|T1| + |B1| > c", 0, report, arg);
	bad += tp_expect((uint64_t) tp_resident(pool) + pool->header->ghost_count <=
					 2 * (uint64_t) c + pending, "directory larger than 2c", 0, report, arg);
	return bad;
}

static double
arc_ghosts(const double *params)
{
	(void) params;
	return 1.0;
}

static const tp_field arc_fields[] = {
	{"p", TP_FIELD_DOUBLE, offsetof(arc_state, p)},
	{0}
};

const tp_policy tp_policy_arc = {
	.name = "arc",
	.title = "adaptive replacement cache",
	.source = "Megiddo, Modha, FAST 2003",
	.state_size = sizeof(arc_state),
	.fields = arc_fields,
	.lists = {{"T1"}, {"T2"}},
	.ghost_lists = {"B1", "B2"},
	.ghosts = arc_ghosts,
	.leave = arc_leave,
	.hit = arc_hit,
	.victim = arc_victim,
	.evict = arc_evict,
	.restore = arc_restore,
	.admit = arc_admit,
	.forget = arc_forget,
	.coldest = arc_coldest,
	.upcoming = arc_upcoming,
	.check = arc_check,
};
