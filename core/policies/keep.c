/*
 * keep.c
 *	  Never evict: memory set aside for pages that must stay.
 *
 * Source: the KEEP pool of the PostgreSQL proposal "Multiple Buffer Pools".
 *
 * Where this differs from the proposal: nowhere in what it orders.  on_full
 * is this project's name for the two answers to a full pool.
 *
 * Definition.  Resident frames are on the list "kept" in the order in which
 * their pages came in, the newest at the head.  A hit changes nothing.
 * victim refuses: TP_NONE, always; so a miss is served while a free frame is
 * usable, and then no more.  What happens to the page that found no room is
 * the caller's part, since it is about other pools: on_full tells a server
 * whether it goes to the default pool (spill) or the statement fails (error);
 * the core does not read it, and a simulation counts the miss as refused
 * either way.
 *
 * evict is for callers who take frames away although the policy proposes
 * none: to shrink or drop the pool they evict in the order of coldest, which
 * is that of the list from its tail, the page that came first.  upcoming: none.
 *
 * Costs: a page nobody wants any more stays until it is forgotten.
 * Benefits: a hit costs nothing; no traffic in other tables can take a page
 * away.
 * Memory: nothing beside the node; no ghosts.
 */
#include "tidepool/pool.h"

enum
{
	KEPT = 1					/* resident pages, newest at the head */
};

enum
{
	PARAM_ON_FULL
};

static uint32_t
keep_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
			const tp_access *access)
{
	(void) pool;
	(void) incoming;
	(void) usable;
	(void) arg;
	(void) access;
	return TP_NONE;
}

static void
keep_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, KEPT, frame);
}

static void
keep_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_remove(pool, frame);
}

static void
keep_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

static uint32_t
keep_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {KEPT};

	return tp_coldest_lists(pool, cursor, order, 1);
}

static uint32_t
keep_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	(void) pool;
	(void) ahead;
	return TP_NONE;
}

static const tp_param keep_params[] = {
	[PARAM_ON_FULL] = {
		.name = "on_full", .type = TP_PARAM_ENUM,
		.default_value = 0, .min = 0, .max = 1,
		.help = "what the server does with a page that finds no room",
		.choices = (const char *const[]) {"spill", "error", NULL}
	},
	{0}
};

const tp_policy tp_policy_keep = {
	.name = "keep",
	.title = "never evict",
	.source = "PostgreSQL proposal \"Multiple Buffer Pools\"",
	.flags = TP_HIT_NOTHING,
	.params = keep_params,
	.lists = {"kept"},
	.victim = keep_victim,
	.evict = keep_evict,
	.admit = keep_admit,
	.forget = keep_forget,
	.coldest = keep_coldest,
	.upcoming = keep_upcoming,
};
