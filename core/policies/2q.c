/*
 * 2q.c
 *	  2Q, full version.
 *
 * Source: T. Johnson, D. Shasha: 2Q: A low overhead high performance buffer
 * management replacement algorithm. VLDB 1994, there "2Q, full version".  The
 * defaults of kin and kout are the paper's.
 *
 * Why the structure differs from the paper's, and the decisions do not: the
 * paper looks X up in A1out, reclaims a page slot for it (reclaimfor), which
 * trims A1out, and inserts X.  Here victim and evict carry out reclaimfor
 * except for the trimming, which is left to admit, after the lookup.  So X is
 * found, as in the paper, even if its own reclaimfor removes it from A1out.
 *
 * Where the decisions differ:
 *	1. X leaves A1out when it enters Am, after the trimming; otherwise the page
 *	   would be both resident and remembered.  The paper leaves it open.
 *	2. If the list that reclaimfor names has no usable page, the other one is
 *	   searched.
 *	3. A page that VACUUM or a correlated reference loads enters A1in, even if
 *	   it is in A1out.
 *	4. When c changes so do Kin and Kout.  When c shrinks, A1out is trimmed at
 *	   once; A1in shrinks by the evictions that follow.
 *
 * Costs: two parameters; a hit on Am moves a node, so hits need the pool's
 * lock; a page in use is read twice before it is kept.
 * Benefits: a scan passes through A1in and leaves Am alone; repeated
 * references in quick succession count once.
 * Memory: nothing beyond the node; kout ghosts a frame, rounded up.
 */
#include "tidepool/pool.h"
#include "tidepool/standing.h"

enum
{
	A1IN = 1,					/* FIFO of pages seen once */
	AM							/* LRU of pages seen again */
};

enum
{
	A1OUT = 1					/* ghosts of A1in */
};

enum
{
	PARAM_KIN,
	PARAM_KOUT
};

typedef struct two_q_state
{
	uint32_t	kin;			/* frames beyond which A1in yields */
	uint32_t	kout;			/* ghosts that A1out keeps */
} two_q_state;

/* This fraction of the frames, at least one. */
static uint32_t
share(const tp_pool *pool, unsigned param)
{
	uint32_t	whole = (uint32_t) (pool->header->params[param] *
									pool->header->frames);

	return whole > 0 ? whole : 1;
}

static void
set_bounds(const tp_pool *pool)
{
	two_q_state *state = tp_state(pool, two_q_state);

	state->kin = share(pool, PARAM_KIN);
	state->kout = share(pool, PARAM_KOUT);
}

/* reclaimfor: |A1in| > Kin. */
static bool
a1in_yields(const tp_pool *pool)
{
	return tp_list_of(pool, A1IN)->count > tp_state(pool, two_q_state)->kin;
}

/* The cases of X in Am, and in A1in. */
static void
two_q_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	if (pool->nodes[frame].list == AM)
		tp_list_move_head(pool, AM, frame);
}

/* reclaimfor: the tail of A1in or of Am. */
static uint32_t
two_q_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			 void *arg, const tp_access *access)
{
	static const uint8_t in_first[] = {A1IN, AM};
	static const uint8_t main_first[] = {AM, A1IN};

	(void) incoming;
	(void) access;
	return tp_lists_search(pool, a1in_yields(pool) ? in_first : main_first, 2,
						   usable, arg);
}

/* The cases of X in A1out, and in no queue. */
static void
two_q_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	bool		seen = ghost != TP_NONE;

	/* reclaimfor: |A1out| > Kout */
	tp_trim_ghosts(pool, tp_state(pool, two_q_state)->kout);
	if (seen && pool->ghosts[ghost].list == A1OUT)
		tp_ghost_remove(pool, ghost);
	tp_list_push_head(pool, seen && tp_promotes(access) ? AM : A1IN, frame);
}

/* reclaimfor: a page of A1in is remembered in A1out, one of Am is not. */
static void
two_q_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
	if (pool->nodes[frame].list == AM)
		return;
	tp_make_ghost_room(pool);
	tp_ghost_push(pool, A1OUT, frame);
}

static void
two_q_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
two_q_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_bounds(pool);
}

static void
two_q_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_bounds(pool);
	tp_trim_ghosts(pool, tp_state(pool, two_q_state)->kout);
}

static uint32_t
two_q_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t in_first[] = {A1IN, AM};
	static const uint8_t main_first[] = {AM, A1IN};

	return tp_coldest_lists(pool, cursor,
							a1in_yields(pool) ? in_first : main_first, 2);
}

/* Both lists: while |A1in| is about Kin, they take turns. */
static uint32_t
two_q_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const uint8_t lists[] = {A1IN, AM};

	return tp_upcoming_lists(pool, &ahead->cursor, lists, 2);
}

static bool
two_q_recalls(const tp_pool *pool, const tp_memory *memory)
{
	(void) memory;
	return pool->header->ghost_count < tp_state(pool, two_q_state)->kout;
}

static int
two_q_check(const tp_pool *pool, tp_report report, void *arg)
{
	two_q_state *state = tp_state(pool, two_q_state);
	uint32_t	pending = tp_vacant(pool);
	int			bad = 0;

	bad += tp_expect(state->kin == share(pool, PARAM_KIN),
					 "Kin is not its share of the frames", state->kin, report, arg);
	bad += tp_expect(state->kout == share(pool, PARAM_KOUT),
					 "Kout is not its share of the frames", state->kout, report, arg);

	/* a ghost made by an eviction is trimmed by the admission that follows */
	bad += tp_expect(pool->header->ghost_count <= state->kout + pending,
					 "|A1out| > Kout", pool->header->ghost_count, report, arg);
	return bad;
}

static double
two_q_ghosts(const double *params)
{
	return params[PARAM_KOUT];
}

static const tp_param two_q_params[] = {
	[PARAM_KIN] = {
		.name = "kin", .type = TP_PARAM_FRACTION,
		.default_value = 0.25, .min = 0.01, .max = 1,
		.help = "share of the frames that pages seen once may fill"
	},
	[PARAM_KOUT] = {
		.name = "kout", .type = TP_PARAM_FRACTION,
		.default_value = 0.5, .min = 0.01, .max = 8,
		.help = "evicted pages to remember, as a share of the frames"
	},
	{0}
};

static const tp_field two_q_fields[] = {
	{"Kin", TP_FIELD_U32, offsetof(two_q_state, kin)},
	{"Kout", TP_FIELD_U32, offsetof(two_q_state, kout)},
	{0}
};

const tp_policy tp_policy_2q = {
	.name = "2q",
	.title = "2Q, full version",
	.source = "Johnson, Shasha, VLDB 1994",
	.state_size = sizeof(two_q_state),
	.params = two_q_params,
	.fields = two_q_fields,
	.lists = {{"A1in"}, {"Am"}},
	.ghost_lists = {"A1out"},
	.ghosts = two_q_ghosts,
	.init = set_bounds,
	.join = two_q_join,
	.leave = two_q_leave,
	.hit = two_q_hit,
	.victim = two_q_victim,
	.evict = two_q_evict,
	.admit = two_q_admit,
	.forget = two_q_forget,
	.coldest = two_q_coldest,
	.upcoming = two_q_upcoming,
	.recalls = two_q_recalls,
	.check = two_q_check,
};
