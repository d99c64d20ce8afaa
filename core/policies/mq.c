/*
 * mq.c
 *	  Multi-queue.
 *
 * Source: Y. Zhou, J. F. Philbin, K. Li: The multi-queue replacement
 * algorithm for second level buffer caches. USENIX Annual Technical
 * Conference 2001.  The defaults of queues and qout are the paper's.
 *
 * Why the structure differs from the paper's, and the decisions do not:
 *	- The paper inserts at the tail of a queue and evicts at its head; lists
 *	  here are the other way round.
 *	- A frequency stops at 2^(queues - 1): from there on QueueNum gives the
 *	  highest queue whatever the frequency, so a byte suffices.
 *	- The paper stores when a block expires.  Here a frame has the time at
 *	  which it entered its queue, and expires when that is more than lifetime
 *	  ago: the same while lifetime is constant.
 *	- Adjust need not look at a queue while its head (here the tail) cannot
 *	  have expired (`oldest`).
 *
 * Where the decisions differ:
 *	1. lifetime is a number, or c.  The paper's best is the peak temporal
 *	   distance, the one above c that most references have; to estimate it
 *	   takes another time stamp per frame and per ghost, and a histogram.
 *	2. If the lowest queue has no usable page, the next one up is searched.
 *	3. A page that VACUUM or a correlated reference loads starts at frequency
 *	   1, even if it is in Qout, and time does not advance.
 *	4. When c changes so do lifetime, if it follows c, and Qout's bound.  Ages
 *	   are compared with the new lifetime, so queues stay ordered by expiry.
 *	   When c shrinks, Qout is trimmed at once.
 *
 * Costs: each hit moves a node, so hits need the pool's lock; a page that was
 * popular takes queues - 1 lifetimes to sink; many ghosts.
 * Benefits: distinguishes pages used often from pages used seldom, even if all
 * of them return after long times, as below another cache.
 * Memory: 8 bytes a frame beyond the node; qout (4) ghosts a frame.
 */
#include "tidepool/pool.h"
#include "tidepool/standing.h"

#define MAX_QUEUES 8			/* the paper's */

enum
{
	Q0 = 1						/* Qk is list Q0 + k */
};

static const uint8_t upwards[MAX_QUEUES] = {
	Q0, Q0 + 1, Q0 + 2, Q0 + 3, Q0 + 4, Q0 + 5, Q0 + 6, Q0 + 7
};

enum
{
	QOUT = 1					/* ghosts; small[0] = frequency */
};

enum
{
	PARAM_QUEUES,
	PARAM_LIFETIME,
	PARAM_QOUT
};

typedef struct mq_state
{
	uint64_t	time;			/* promoting references so far */
	uint64_t	lifetime;		/* after which a frame's stay has expired */
	uint64_t	oldest[MAX_QUEUES]; /* [k]: no frame entered Qk earlier; not
									 * kept for Q0 */
	uint32_t	queues;			/* number of queues in use */
} mq_state;

/* The time at which this frame was put on its queue. */
static uint64_t *
entered(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

static uint32_t
tail_of(const tp_pool *pool, unsigned list)
{
	return tp_list_of(pool, list)->tail;
}

static uint8_t
max_frequency(const tp_pool *pool)
{
	return (uint8_t) (1u << (tp_state(pool, mq_state)->queues - 1));
}

/* "QueueNum", as the number of a list. */
static unsigned
queue_of(uint8_t frequency)
{
	return Q0 + 31 - (unsigned) __builtin_clz(frequency);
}

static uint32_t
qout_bound(const tp_pool *pool)
{
	return (uint32_t) (pool->header->params[PARAM_QOUT] *
					   pool->header->frames);
}

static void
set_lifetime(const tp_pool *pool)
{
	uint64_t	given = (uint64_t) pool->header->params[PARAM_LIFETIME];

	tp_state(pool, mq_state)->lifetime = given > 0 ? given :
		pool->header->frames;
}

static void
mq_init(const tp_pool *pool)
{
	tp_state(pool, mq_state)->queues =
		(uint32_t) pool->header->params[PARAM_QUEUES];
	set_lifetime(pool);
}

/*
 * Move the tail of a queue above Q0 one queue down if it has expired.  Returns
 * when the queue's tail entered, before which none of the queue did.
 */
static uint64_t
sink_tail(const tp_pool *pool, unsigned list)
{
	mq_state   *state = tp_state(pool, mq_state);
	uint32_t	frame = tail_of(pool, list);

	if (frame != TP_NONE &&
		state->time - *entered(pool, frame) > state->lifetime)
	{
		tp_list_move_head(pool, list - 1, frame);
		*entered(pool, frame) = state->time;
		frame = tail_of(pool, list);

		/* Adjust looks at the page before it when this one has gone */
		if (frame != TP_NONE && pool->nodes[frame].prev != TP_NONE)
		{
			__builtin_prefetch(&pool->nodes[pool->nodes[frame].prev]);
			__builtin_prefetch(entered(pool, pool->nodes[frame].prev));
		}
	}
	return frame == TP_NONE ? state->time : *entered(pool, frame);
}

/* "Adjust": expired tails move one queue down, one of each queue. */
static void
adjust(const tp_pool *pool)
{
	mq_state   *state = tp_state(pool, mq_state);
	unsigned	expired = 0;	/* bit k: Qk's tail may have expired */

	/* one branch for all queues: which one expires cannot be predicted */
	state->time++;
	for (unsigned k = 1; k < MAX_QUEUES; k++)
		expired |= (unsigned) (state->time - state->oldest[k] >
							   state->lifetime) << k;
	for (; expired != 0; expired &= expired - 1)
	{
		unsigned	k = (unsigned) __builtin_ctz(expired);

		state->oldest[k] = sink_tail(pool, Q0 + k);
	}
}

/* The frequency after one more reference. */
static uint8_t
raised(const tp_pool *pool, uint8_t frequency)
{
	return frequency < max_frequency(pool) ? frequency + 1 : frequency;
}

/* The procedure for a reference to block b, if b is in the cache. */
static void
mq_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];

	(void) access;
	node->count = raised(pool, node->count);
	tp_list_move_head(pool, queue_of(node->count), frame);
	*entered(pool, frame) = tp_state(pool, mq_state)->time;
	adjust(pool);
}

/* "EvictBlock": the first non-empty queue gives the victim. */
static uint32_t
mq_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		  const tp_access *access)
{
	(void) incoming;
	(void) access;
	return tp_lists_search(pool, upwards, tp_state(pool, mq_state)->queues,
						   usable, arg);
}

/* The same, if b had to be loaded: it may be in Qout. */
static void
mq_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];
	uint32_t	ghost = tp_ghost_of_node(pool, frame);

	node->count = 0;
	if (ghost != TP_NONE)
	{
		if (tp_promotes(access))
			node->count = pool->ghosts[ghost].small[0];
		tp_ghost_remove(pool, ghost);
	}
	node->count = raised(pool, node->count);
	tp_list_push_head(pool, queue_of(node->count), frame);
	*entered(pool, frame) = tp_state(pool, mq_state)->time;
	if (tp_promotes(access))
		adjust(pool);
}

/* "EvictBlock": the victim goes to Qout. */
static void
mq_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];
	uint32_t	bound = qout_bound(pool);

	(void) access;
	tp_list_remove(pool, frame);
	if (bound > 0)
	{
		/* the slots are no fewer than the bound, so one is free now */
		tp_trim_ghosts(pool, bound - 1);
		pool->ghosts[tp_ghost_push(pool, QOUT, frame)].small[0] = node->count;
	}
}

/*
 * The page counts as having entered its queue between its neighbours, since
 * the queue is ordered by that.
 */
static void
mq_restore(const tp_pool *pool, unsigned list, uint32_t frame,
		   const tp_access *access)
{
	const tp_node *node = &pool->nodes[frame];
	uint64_t   *time = entered(pool, frame);

	(void) access;
	tp_list_put_back(pool, list, frame);
	if (node->prev != TP_NONE && *time > *entered(pool, node->prev))
		*time = *entered(pool, node->prev);
	if (node->next != TP_NONE && *time < *entered(pool, node->next))
		*time = *entered(pool, node->next);
	if (*time < tp_state(pool, mq_state)->oldest[list - Q0])
		tp_state(pool, mq_state)->oldest[list - Q0] = *time;
}

static void
mq_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static void
mq_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_lifetime(pool);
}

static void
mq_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_lifetime(pool);
	tp_trim_ghosts(pool, qout_bound(pool));
}

/* A queue is ordered by the time of entry, so the page entered no later. */
static void
mq_reinstate(const tp_pool *pool, uint32_t frame, const tp_standing *standing,
			 const tp_access *access)
{
	mq_state   *state = tp_state(pool, mq_state);
	uint64_t   *oldest = &state->oldest[standing->list - Q0];
	uint32_t	above = tail_of(pool, standing->list);
	uint64_t	latest = above == TP_NONE ? state->time : *entered(pool, above);

	(void) access;
	tp_reinstate_at_tail(pool, frame, standing->list, standing);
	if (*entered(pool, frame) > latest)
		*entered(pool, frame) = latest;
	if (*entered(pool, frame) < *oldest)
		*oldest = *entered(pool, frame);
}

static bool
mq_recalls(const tp_pool *pool, const tp_memory *memory)
{
	return pool->header->ghost_count < qout_bound(pool) &&
		memory->small[0] >= 1 && memory->small[0] <= max_frequency(pool);
}

/* Time goes on; no frame has entered a queue yet. */
static void
mq_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	mq_state   *state = tp_state(pool, mq_state);

	(void) frames;
	state->time = ((const mq_state *) saved)->time;
	for (unsigned k = 0; k < MAX_QUEUES; k++)
		state->oldest[k] = state->time;
}

static int
check_queue(const tp_pool *pool, unsigned list, tp_report report, void *arg)
{
	mq_state   *state = tp_state(pool, mq_state);
	uint64_t	last = list == Q0 ? 0 : state->oldest[list - Q0];
	int			bad = 0;

	for (uint32_t frame = tail_of(pool, list); frame != TP_NONE;
		 frame = pool->nodes[frame].prev)
	{
		uint8_t		frequency = pool->nodes[frame].count;

		bad += tp_expect(frequency >= 1 && frequency <= max_frequency(pool),
						 "frequency out of range", frame, report, arg);
		bad += tp_expect(frequency >= 1u << (list - Q0),
						 "frequency too low for the queue", frame, report, arg);
		bad += tp_expect(*entered(pool, frame) >= last,
						 "queue is not ordered by time of entry", frame, report, arg);
		bad += tp_expect(*entered(pool, frame) <= state->time,
						 "entered in the future", frame, report, arg);
		last = *entered(pool, frame);
	}
	return bad;
}

static int
mq_check(const tp_pool *pool, tp_report report, void *arg)
{
	tp_header  *header = pool->header;
	int			bad = 0;

	for (unsigned list = Q0; list < Q0 + MAX_QUEUES; list++)
		bad += check_queue(pool, list, report, arg);
	bad += tp_expect(header->ghost_count <= qout_bound(pool),
					 "Qout exceeds its bound", header->ghost_count, report, arg);
	for (uint32_t slot = tp_ghost_list_of(pool, QOUT)->head; slot != TP_NONE;
		 slot = pool->ghosts[slot].next)
		bad += tp_expect(pool->ghosts[slot].small[0] >= 1 &&
						 pool->ghosts[slot].small[0] <= max_frequency(pool),
						 "ghost's frequency out of range", slot, report, arg);
	return bad;
}

static double
mq_ghosts(const double *params)
{
	return params[PARAM_QOUT];
}

static const tp_param mq_params[] = {
	[PARAM_QUEUES] = {
		.name = "queues", .type = TP_PARAM_INTEGER,
		.default_value = MAX_QUEUES, .min = 1, .max = MAX_QUEUES,
		.help = "number of queues"
	},
	[PARAM_LIFETIME] = {
		.name = "lifetime", .type = TP_PARAM_INTEGER,
		.default_value = 0, .min = 0, .max = UINT32_MAX,
		.help = "references that a page stays in a queue without being used; "
		"0 for as many as there are frames"
	},
	[PARAM_QOUT] = {
		.name = "qout", .type = TP_PARAM_FRACTION,
		.default_value = 4, .min = 0, .max = 16,
		.help = "evicted pages to remember, as a share of the frames"
	},
	{0}
};

static const tp_field mq_fields[] = {
	{"time", TP_FIELD_U64, offsetof(mq_state, time)},
	{"lifetime", TP_FIELD_U64, offsetof(mq_state, lifetime)},
	{0}
};

const tp_policy tp_policy_mq = {
	.name = "mq",
	.title = "multi-queue",
	.source = "Zhou, Philbin, Li, USENIX 2001",
	.state_size = sizeof(mq_state),
	.extra_size = sizeof(uint64_t),
	.params = mq_params,
	.fields = mq_fields,
	.lists = {{"Q0"}, {"Q1"}, {"Q2"}, {"Q3"}, {"Q4"}, {"Q5"}, {"Q6"}, {"Q7"}},
	.ghost_lists = {"Qout"},
	.ghosts = mq_ghosts,
	.init = mq_init,
	.join = mq_join,
	.leave = mq_leave,
	.hit = mq_hit,
	.victim = mq_victim,
	.evict = mq_evict,
	.restore = mq_restore,
	.admit = mq_admit,
	.forget = mq_forget,
	.reinstate = mq_reinstate,
	.recalls = mq_recalls,
	.resume = mq_resume,
	.check = mq_check,
};
