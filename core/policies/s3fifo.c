/*
 * s3fifo.c
 *	  S3-FIFO: a small, a main and a ghost queue.
 *
 * Source: J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi: FIFO queues are all
 * you need for cache eviction. SOSP 2023, Algorithm 1.
 *
 * Where this differs from Algorithm 1:
 *	1. When a page moves from S to M and M is thereby full, the paper evicts
 *	   from M and goes on in S until it has evicted there as well.  Here each
 *	   step asks anew whether S or M is to give a page, and the first page
 *	   evicted ends the search: one miss evicts one page.
 *	2. A page moves from S to M with its frequency set to 0, as the paper's
 *	   text says; the pseudo-code leaves it open.
 *	3. The paper evicts before it looks the incoming page up in G, so a ghost
 *	   hit on the oldest ghost is lost if the eviction leaves a ghost.  Kept.
 *	4. If a search of the queue whose turn it is finds no usable page, the other
 *	   is searched.
 *	5. A reference that does not promote (VACUUM's, or a repeated one) raises
 *	   no frequency; if it brings its page in, the page enters S even when G
 *	   remembers it.
 *	6. The targets follow the size of the pool; G is trimmed when it shrinks.
 *	7. The target of S is rounded down, but not to 0.  The paper compares |S|
 *	   with 10 % of the frames itself: where that is no whole number it lets S
 *	   have one page more.  On the test traces that changed the misses by up to
 *	   0.82 % either way (tests/test_papers.py).
 *
 * Definition.  S and M are queues of frames, G is one of ghosts, newest at
 * the head of each; node->count is the frequency, 0 .. 3.  The target of S is
 * max(1, floor(small * c)), the limit of G is floor(ghost * c).
 *
 * hit: the frequency is raised by one up to 3.
 *
 * victim: Search (list.h) S if |S| >= target, else M.  If the page that is found
 * is on S and its frequency is above 1, it goes to the head of M with frequency
 * 0; if it is on M and its frequency is above 0, it goes to the head of M with
 * one less; otherwise it is the victim, and stays where it is.  Repeat.  A queue
 * in which a search found nothing counts as exhausted, M until a page goes to
 * its head; the other one is searched instead.  If both are, or after 3r + 1
 * pages, r being the number of resident pages, which only hits that race with
 * the search make necessary: the first usable frame from S's tail, then from
 * M's.
 *
 * evict: from S: drop tails of G until |G| < limit, then push the page on the
 * head of G; no ghost if the limit is 0.  From M: no ghost.  node->count is 0
 * then.
 *
 * admit: to the head of M if the page is in G, else to the head of S; with
 * frequency 0.  Its ghost goes.
 *
 * join, leave: the target and the limit are computed anew; at leave tails of
 * G are dropped until |G| <= limit.
 *
 * coldest: pages of S with frequency 0 or 1 and pages of M with frequency 0,
 * S first if |S| >= target, else M first; then pages of S with 2 or 3; then
 * pages of M with 1, with 2, with 3; each from the tail.
 *
 * upcoming: pages of S with 0 or 1, and pages of M with 0, each from the tail:
 * from one miss to the next S may have its target size, or not.
 *
 * Costs: ghosts for 90 % of the frames; a page that is referenced again only
 * after it has left S costs a second miss before M takes it.
 * Benefits: a hit is at most one relaxed store on the page's own frame; what
 * is referenced once leaves by way of S and disturbs M not at all.
 * Memory: nothing beside the node; `ghost` ghosts per frame.
 */
#include "tidepool/parts/count.h"

enum
{
	S = 1,						/* small: where pages come in */
	M							/* main: referenced more than once in S, or
								 * remembered in G */
};

enum
{
	G = 1						/* ghosts of pages evicted from S */
};

enum
{
	PARAM_SMALL,
	PARAM_GHOST
};

#define MAX_FREQUENCY 3

typedef struct s3fifo_state
{
	uint32_t	target;			/* size of S from which on it gives the page */
	uint32_t	ghost_limit;	/* ghosts that G holds at most */
} s3fifo_state;

static bool
s_has_target_size(const tp_pool *pool)
{
	return tp_list_of(pool, S)->count >= tp_state(pool, s3fifo_state)->target;
}

/* The pool's size has changed. */
static void
set_targets(const tp_pool *pool)
{
	s3fifo_state *state = tp_state(pool, s3fifo_state);
	const double *params = pool->header->params;
	uint32_t	c = pool->header->frames;

	state->target = (uint32_t) (params[PARAM_SMALL] * c);
	if (state->target == 0)
		state->target = 1;
	state->ghost_limit = (uint32_t) (params[PARAM_GHOST] * c);
}

static void
s3fifo_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_targets(pool);
}

static void
s3fifo_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_targets(pool);
	tp_trim_ghosts(pool, tp_state(pool, s3fifo_state)->ghost_limit);
}

static void
s3fifo_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	raise_count(pool, frame, MAX_FREQUENCY);
}

/*
 * The page to be looked at next, or TP_NONE.  in_vain says of S and of M
 * whether a search of the queue has found nothing.
 */
static uint32_t
next_page(const tp_pool *pool, bool *in_vain, tp_usable usable, void *arg)
{
	unsigned	first = s_has_target_size(pool) ? S : M;
	const unsigned queues[] = {first, first == S ? M : S};

	for (int i = 0; i < 2; i++)
	{
		uint32_t	frame = in_vain[queues[i]] ? TP_NONE :
			tp_list_search(pool, queues[i], usable, arg);

		if (frame != TP_NONE)
			return frame;
		in_vain[queues[i]] = true;
	}
	return TP_NONE;
}

/* Lines 14 to 40, EVICT, without the eviction. */
static uint32_t
s3fifo_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			  void *arg, const tp_access *access)
{
	static const uint8_t order[] = {S, M};
	bool		in_vain[M + 1] = {false};

	(void) incoming;
	(void) access;
	for (uint64_t looks = UINT64_C(3) * tp_resident(pool) + 1; looks > 0; looks--)
	{
		uint32_t	frame = next_page(pool, in_vain, usable, arg);
		uint8_t		frequency;
		bool		on_s;

		if (frame == TP_NONE)
			break;
		frequency = count_of(pool, frame);
		on_s = pool->nodes[frame].list == S;
		if (frequency <= (on_s ? 1 : 0))
			return frame;
		set_count(pool, frame, on_s ? 0 : (uint8_t) (frequency - 1));
		tp_list_move_head(pool, M, frame);
		in_vain[M] = false;
	}
	return tp_lists_usable_tail(pool, order, 2, usable, arg);
}

static void
s3fifo_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	ghost = tp_ghost_of_node(pool, frame);
	unsigned	list = S;

	if (ghost != TP_NONE)
	{
		if (tp_promotes(access))
			list = M;
		tp_ghost_remove(pool, ghost);
	}
	set_count(pool, frame, 0);
	tp_list_push_head(pool, list, frame);
}

static void
s3fifo_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
s3fifo_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint32_t	limit = tp_state(pool, s3fifo_state)->ghost_limit;
	bool		from_s = pool->nodes[frame].list == S;

	(void) access;
	s3fifo_forget(pool, frame);
	if (!from_s || limit == 0)
		return;
	tp_trim_ghosts(pool, limit - 1);
	tp_ghost_push(pool, G, frame);
}

static uint32_t
s3fifo_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const count_stage s_then_m[] = {
		{S, 0, 1}, {M, 0, 0}, {S, 2, 3}, {M, 1, 1}, {M, 2, 2}, {M, 3, 3}
	};
	static const count_stage m_then_s[] = {
		{M, 0, 0}, {S, 0, 1}, {S, 2, 3}, {M, 1, 1}, {M, 2, 2}, {M, 3, 3}
	};

	return coldest_by_count(pool, cursor,
							s_has_target_size(pool) ? s_then_m : m_then_s, 6);
}

static uint32_t
s3fifo_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const count_stage s_and_m[] = {{S, 0, 1}, {M, 0, 0}};

	return coldest_by_count(pool, &ahead->cursor, s_and_m, 2);
}

static int
s3fifo_check(const tp_pool *pool, tp_report report, void *arg)
{
	s3fifo_state *state = tp_state(pool, s3fifo_state);
	int			bad = 0;

	bad += tp_expect(state->target >= 1, "no target for S", 0, report, arg);
	bad += tp_expect(pool->header->ghost_count <= state->ghost_limit,
					 "more ghosts than G may hold", pool->header->ghost_count,
					 report, arg);
	for (uint32_t i = 0; i < pool->header->frames; i++)
		bad += tp_expect(count_of(pool, pool->members[i]) <= MAX_FREQUENCY,
						 "frequency above the maximum", pool->members[i],
						 report, arg);
	return bad;
}

static double
s3fifo_ghosts(const double *params)
{
	return params[PARAM_GHOST];
}

static const tp_param s3fifo_params[] = {
	[PARAM_SMALL] = {
		.name = "small", .type = TP_PARAM_FRACTION,
		.default_value = 0.1, .min = 0, .max = 1,
		.help = "target size of the small queue"
	},
	[PARAM_GHOST] = {
		.name = "ghost", .type = TP_PARAM_FRACTION,
		.default_value = 0.9, .min = 0, .max = 8,
		.help = "limit of the ghost queue"
	},
	{0}
};

static const tp_field s3fifo_fields[] = {
	{"target", TP_FIELD_U32, offsetof(s3fifo_state, target)},
	{0}
};

const tp_policy tp_policy_s3fifo = {
	.name = "s3fifo",
	.title = "S3-FIFO",
	.source = "Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(s3fifo_state),
	.params = s3fifo_params,
	.fields = s3fifo_fields,
	.lists = {{"S"}, {"M"}},
	.ghost_lists = {"G"},
	.ghosts = s3fifo_ghosts,
	.init = set_targets,
	.join = s3fifo_join,
	.leave = s3fifo_leave,
	.hit = s3fifo_hit,
	.victim = s3fifo_victim,
	.evict = s3fifo_evict,
	.admit = s3fifo_admit,
	.forget = s3fifo_forget,
	.coldest = s3fifo_coldest,
	.upcoming = s3fifo_upcoming,
	.check = s3fifo_check,
};
