/*
 * keep.c
 *	  Never evict: memory set aside for pages that must stay.
 *
 * Source: the KEEP pool of the PostgreSQL proposal "Multiple Buffer Pools".
 *
 * The decisions do not differ.  Where a page goes that finds no room concerns
 * other pools, so the caller does what on_full says: spill, read it into
 * another pool, or error, fail the statement.
 *
 * Large scans and bulk writes have no ring in such a pool: a ring would evict
 * the pages that it brought in.
 *
 * Costs: a page that nobody wants any more stays until it is forgotten.
 * Benefits: a hit costs nothing; no traffic in other tables can evict a page.
 * Memory: nothing beyond the node; no ghosts.
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
	return TP_REFUSED;
}

static void
keep_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_list_push_head(pool, KEPT, frame);
}

/* Only when a caller shrinks or drops the pool, in coldest's order. */
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
keep_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	(void) pool;
	(void) ahead;
	return TP_NONE;
}

static const char *const on_full_choices[] = {"spill", "error", NULL};

static const tp_param keep_params[] = {
	[PARAM_ON_FULL] = {
		.name = "on_full", .type = TP_PARAM_ENUM,
		.default_value = TP_ON_FULL_SPILL,
		.min = TP_ON_FULL_SPILL, .max = TP_ON_FULL_ERROR,
		.help = "what a page does that finds no room (a server with several pools)",
		.choices = on_full_choices
	},
	{0}
};

const tp_policy tp_policy_keep = {
	.name = "keep",
	.title = "never evict",
	.source = "PostgreSQL proposal \"Multiple Buffer Pools\"",
	.flags = TP_HIT_NOTHING | TP_TAKES_BULK,
	.params = keep_params,
	.lists = {{"kept"}},
	.victim = keep_victim,
	.evict = keep_evict,
	.admit = keep_admit,
	.forget = keep_forget,
	.upcoming = keep_upcoming,
};
