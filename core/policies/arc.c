/*
 * arc.c
 *	  Adaptive replacement cache.
 *
 * Source: N. Megiddo, D. S. Modha: ARC: A self-tuning, low overhead
 * replacement cache. FAST 2003, Figure 4.
 *
 * Why the structure differs from Figure 4, and the decisions do not: the
 * figure serves a miss in one step, a pool in three.  victim is REPLACE, with
 * the p that cases II and III are about to set; evict leaves the ghost; admit
 * sets p, inserts the page, and trims the directory.
 *	- p: the eviction has lengthened B1 or B2 before admit adapts p.
 *	  node->origin tells which of them, so admit uses the sizes at the miss.
 *	- The directory: the figure trims before it replaces.  REPLACE looks at
 *	  nothing that is trimmed, so it may come first, and afterwards the same
 *	  page is the last of B1 (case IV A) or of B2 (case IV B).  If T1 alone
 *	  fills the cache, the figure evicts its last page without a ghost.  Here
 *	  T2 is empty then, so T1 gives the page, and admit trims its ghost, the
 *	  only one of B1.
 *
 * Where the decisions differ:
 *	1. If the list that REPLACE names has no usable page, the other one is
 *	   searched.
 *	2. A page that VACUUM or a correlated reference loads adapts nothing and
 *	   enters T1, even if it is in B1 or B2.
 *	3. Misses may overlap.  Each adapts p by the lists at its admission, its
 *	   own eviction's ghost left out.
 *	4. When c shrinks, p is clamped to c, and the directory is trimmed.
 *
 * Costs: each hit moves a node, so hits need the pool's lock; as many ghosts
 * as frames.
 * Benefits: no parameter; a scan passes through T1 and leaves T2 alone.
 * Memory: nothing beyond the node; one ghost a frame.
 */
#include "tidepool/parts/arc_directory.h"

/*
 * The size of a ghost list at the miss, before the eviction that made room in
 * this frame.  No less than least: that eviction's ghost may be gone already.
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

/* Case I. */
static void
arc_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_move_head(pool, T2, frame);
}

/* REPLACE, with the p that case II or III will set. */
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

/* Cases II and III, if the page has a ghost; case IV, if not. */
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
arc_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/* In the order of REPLACE for a page that is in neither B1 nor B2. */
static uint32_t
arc_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t t1_first[] = {T1, T2};
	static const uint8_t t2_first[] = {T2, T1};
	double		p = tp_state(pool, arc_state)->p;

	return tp_coldest_lists(pool, cursor, frames_on(pool, T1) > p ?
							t1_first : t2_first, 2);
}

/* Both lists: while |T1| is about p, they take turns. */
static uint32_t
arc_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const uint8_t lists[] = {T1, T2};

	return tp_upcoming_lists(pool, &ahead->cursor, lists, 2);
}

static int
arc_check(const tp_pool *pool, tp_report report, void *arg)
{
	/* a ghost made by an eviction is trimmed by the admission that follows */
	return arc_directory_check(pool, tp_vacant(pool), report, arg);
}

const tp_policy tp_policy_arc = {
	.name = "arc",
	.title = "adaptive replacement cache",
	.source = "Megiddo, Modha, FAST 2003",
	.state_size = sizeof(arc_state),
	.fields = arc_fields,
	.lists = {{"T1"}, {"T2"}},
	.ghost_lists = {"B1", "B2"},
	.ghosts = arc_directory_ghosts,
	.leave = arc_directory_leave,
	.hit = arc_hit,
	.victim = arc_victim,
	.evict = arc_directory_evict,
	.restore = arc_directory_restore,
	.admit = arc_admit,
	.forget = arc_forget,
	.coldest = arc_coldest,
	.upcoming = arc_upcoming,
	.recalls = arc_directory_recalls,
	.resume = arc_directory_resume,
	.check = arc_check,
};
