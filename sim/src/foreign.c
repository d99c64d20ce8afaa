/*
 * foreign.c
 *	  A policy whose decisions are made by functions of the caller.
 *
 * What the core needs to know of a frame, that it is resident, is kept here:
 * all resident frames are on one list, newest at the head.  Everything else
 * is the caller's, who is told of each event by frame.
 *
 * Of the core's operations two never reach the caller.  No replay undoes an
 * eviction (restore), and nothing asks a simulated pool for its coldest pages
 * unless its policy names no victim while the pool shrinks; then the oldest
 * page goes.
 */
#include <stdlib.h>

#include "tidepool/pool.h"
#include "tidepool/sim.h"

enum
{
	RESIDENT = 1				/* resident pages, newest at the head */
};

struct tps_foreign
{
	tp_policy	policy;			/* first: a pool's policy is this */
	tps_foreign *self;
	tps_foreign_calls calls;
	void	   *arg;
	bool		stopped;		/* calls are no longer made */
	tp_usable	usable;			/* of the search that goes on; NULL: all are */
	void	   *usable_arg;
};

static tps_foreign *
foreign_of(const tp_pool *pool)
{
	return ((const tps_foreign *) pool->policy)->self;
}

static void
foreign_join(const tp_pool *pool, uint32_t frame)
{
	tps_foreign *foreign = foreign_of(pool);

	(void) frame;
	if (!foreign->stopped)
		foreign->calls.resized(foreign->arg, pool->header->frames);
}

static void
foreign_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) slot;
	foreign_join(pool, frame);
}

static void
foreign_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tps_foreign *foreign = foreign_of(pool);

	if (!foreign->stopped)
		foreign->calls.hit(foreign->arg, frame, access);
}

static uint32_t
foreign_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			   void *arg, const tp_access *access)
{
	tps_foreign *foreign = foreign_of(pool);
	uint64_t	page = incoming.relation << 32 | incoming.block;
	uint32_t	frame = TP_NONE;

	if (!foreign->stopped)
	{
		foreign->usable = usable;
		foreign->usable_arg = arg;
		frame = foreign->calls.victim(foreign->arg, page, access);
	}
	/* the caller may have stopped just now, whatever it returned */
	return foreign->stopped ? tp_list_search(pool, RESIDENT, usable, arg) :
		frame;
}

static void
foreign_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tps_foreign *foreign = foreign_of(pool);

	tp_list_remove(pool, frame);
	if (!foreign->stopped)
		foreign->calls.evict(foreign->arg, frame, access);
}

static void
foreign_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tps_foreign *foreign = foreign_of(pool);
	const tp_node *node = &pool->nodes[frame];

	tp_list_push_head(pool, RESIDENT, frame);
	if (!foreign->stopped)
		foreign->calls.admit(foreign->arg, frame,
							 node->relation << 32 | node->block, access);
}

static void
foreign_forget(const tp_pool *pool, uint32_t frame)
{
	tps_foreign *foreign = foreign_of(pool);

	tp_list_remove(pool, frame);
	if (!foreign->stopped)
		foreign->calls.forget(foreign->arg, frame);
}

tps_foreign *
tps_foreign_new(const tps_foreign_calls *calls, void *arg, bool counts_all)
{
	const tp_policy policy = {
		.name = "foreign",
		.title = "a policy of the caller's",
		.source = "",
		.flags = counts_all ? TP_COUNTS_ALL : 0,
		.lists = {{"resident"}},
		.join = foreign_join,
		.leave = foreign_leave,
		.hit = foreign_hit,
		.victim = foreign_victim,
		.evict = foreign_evict,
		.admit = foreign_admit,
		.forget = foreign_forget,
	};
	tps_foreign *foreign = calloc(1, sizeof(tps_foreign));

	if (foreign == NULL)
		return NULL;
	foreign->policy = policy;
	foreign->self = foreign;
	foreign->calls = *calls;
	foreign->arg = arg;
	return foreign;
}

void
tps_foreign_free(tps_foreign *foreign)
{
	free(foreign);
}

const tp_policy *
tps_foreign_policy(const tps_foreign *foreign)
{
	return &foreign->policy;
}

bool
tps_foreign_usable(const tps_foreign *foreign, uint32_t frame)
{
	return foreign->usable == NULL ||
		foreign->usable(foreign->usable_arg, frame);
}

void
tps_foreign_stop(tps_foreign *foreign)
{
	foreign->stopped = true;
}
