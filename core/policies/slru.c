/*
 * slru.c
 *	  Segmented LRU.
 *
 * Source: R. Karedla, J. S. Love, B. G. Wherry: Caching strategies to improve
 * disk system performance. IEEE Computer 27(3), 1994.
 *
 * Where this differs from the paper: nowhere.
 *
 * Costs: each hit moves a node, so hits need the pool's lock.  The protected
 * segment has a fixed size, and its pages leave it only when others enter.
 * Benefits: a scan passes through probation and leaves the protected pages
 * alone.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/pool.h"
#include "tidepool/standing.h"

enum
{
	PROBATION = 1,				/* pages referenced once since they came in or
								 * were demoted */
	PROTECTED					/* pages referenced in probation */
};

enum
{
	PARAM_PROTECTED
};

typedef struct slru_state
{
	uint32_t	limit;			/* size of the protected segment */
} slru_state;

/* What does not fit in the protected segment gets another chance. */
static void
demote(const tp_pool *pool)
{
	const tp_list *protected = tp_list_of(pool, PROTECTED);

	while (protected->count > tp_state(pool, slru_state)->limit)
		tp_list_move_head(pool, PROBATION, protected->tail);
}

static void
slru_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_move_head(pool, PROTECTED, frame);
	demote(pool);
}

static uint32_t
slru_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			void *arg, const tp_access *access)
{
	static const uint8_t order[] = {PROBATION, PROTECTED};

	(void) incoming;
	(void) access;
	return tp_lists_search(pool, order, 2, usable, arg);
}

static void
slru_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, PROBATION, frame);
}

static void
slru_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

static void
slru_restore(const tp_pool *pool, unsigned list, uint32_t frame,
			 const tp_access *access)
{
	(void) access;
	tp_list_put_back(pool, list, frame);
	demote(pool);
}

static void
slru_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/* The pool's size has changed. */
static void
set_limit(const tp_pool *pool)
{
	double		share = pool->header->params[PARAM_PROTECTED];

	tp_state(pool, slru_state)->limit = (uint32_t) (share * pool->header->frames);
}

static void
slru_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	set_limit(pool);
}

static void
slru_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	set_limit(pool);
	demote(pool);
}

static void
slru_reinstate(const tp_pool *pool, uint32_t frame, const tp_standing *standing,
			   const tp_access *access)
{
	bool		full = tp_list_of(pool, PROTECTED)->count >=
		tp_state(pool, slru_state)->limit;

	(void) access;
	tp_reinstate_at_tail(pool, frame, full ? PROBATION : standing->list,
						 standing);
}

static int
slru_check(const tp_pool *pool, tp_report report, void *arg)
{
	return tp_expect(tp_list_of(pool, PROTECTED)->count <=
					 tp_state(pool, slru_state)->limit,
					 "protected segment too large", 0, report, arg);
}

static const tp_param slru_params[] = {
	[PARAM_PROTECTED] = {
		.name = "protected", .type = TP_PARAM_FRACTION,
		.default_value = 0.8, .min = 0, .max = 1,
		.help = "size of the protected segment"
	},
	{0}
};

static const tp_field slru_fields[] = {
	{"limit", TP_FIELD_U32, offsetof(slru_state, limit)},
	{0}
};

const tp_policy tp_policy_slru = {
	.name = "slru",
	.title = "segmented LRU",
	.source = "Karedla, Love, Wherry, IEEE Computer 1994",
	.state_size = sizeof(slru_state),
	.params = slru_params,
	.fields = slru_fields,
	.lists = {{"probation"}, {"protected"}},
	.join = slru_join,
	.leave = slru_leave,
	.hit = slru_hit,
	.victim = slru_victim,
	.evict = slru_evict,
	.restore = slru_restore,
	.admit = slru_admit,
	.forget = slru_forget,
	.reinstate = slru_reinstate,
	.check = slru_check,
};
