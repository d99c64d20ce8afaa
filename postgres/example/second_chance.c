/*-------------------------------------------------------------------------
 *
 * second_chance.c
 *	  A replacement algorithm as an extension: second chance.
 *
 * Pages queue up in the order in which they came in.  The one at the end is
 * evicted, unless it has been referenced since it came in or since it was last
 * at the end; then its mark is cleared and it returns to the head.
 *
 * This is a policy of the replacement core (tidepool/policy.h has the
 * contract); one call makes it a replacement algorithm of the server.  Frames
 * are buffers.  A policy has no memory of its own: here the queue is a list of
 * the pool, and the reference mark is the node's count.
 *
 * To use it:
 *	shared_preload_libraries = 'second_chance'
 *	bufferpool.algorithm = 'second_chance'
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/bufferpool.h"

PG_MODULE_MAGIC;

/* Lists are numbered from 1, in the order of the table's lists. */
enum
{
	QUEUE = 1
};

/*
 * A resident page was referenced.  Declared TP_HIT_LOCK_FREE below, so it may
 * run concurrently with anything: it writes one byte of its own frame, and
 * only if that changes it.
 */
static void
hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint8_t    *referenced = &pool->nodes[frame].count;

	if (__atomic_load_n(referenced, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(referenced, 1, __ATOMIC_RELAXED);
}

/*
 * Propose the next page to evict.  Nothing is removed, but second chances are
 * given.  Frames that the caller cannot take, those not usable, are skipped as
 * though they were absent.  The loop ends because each frame gets at most one
 * second chance in a call.
 */
static uint32_t
victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
	   const tp_access *access)
{
	uint32_t	chances = tp_list_of(pool, QUEUE)->count;

	for (;;)
	{
		uint32_t	frame = tp_list_usable_tail(pool, QUEUE, usable, arg);
		uint8_t    *referenced;

		if (frame == TP_NONE)
			return TP_NONE;
		referenced = &pool->nodes[frame].count;
		if (__atomic_load_n(referenced, __ATOMIC_RELAXED) == 0 || chances-- == 0)
			return frame;
		__atomic_store_n(referenced, 0, __ATOMIC_RELAXED);
		tp_list_move_head(pool, QUEUE, frame);
	}
}

/* The page in this frame was evicted.  This policy keeps no ghosts. */
static void
evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_list_remove(pool, frame);
}

/* A page came into this frame. */
static void
admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	pool->nodes[frame].count = 0;
	tp_list_push_head(pool, QUEUE, frame);
}

/* The page in this frame ceased to exist. */
static void
forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/* For the background writer: the pages in order of eviction. */
static uint32_t
coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const uint8_t order[] = {QUEUE};

	return tp_coldest_lists(pool, cursor, order, 1);
}

/* pg_bufferpool_check() calls this after the checks common to all policies. */
static int
check(const tp_pool *pool, tp_report report, void *arg)
{
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
		bad += tp_expect(pool->nodes[tp_member(pool, i)].count <= 1,
						 "neither referenced nor not", tp_member(pool, i),
						 report, arg);
	return bad;
}

static const tp_policy second_chance = {
	.name = "second_chance",
	.title = "second chance",
	.source = "textbooks",
	.flags = TP_HIT_LOCK_FREE,
	.lists = {{"queue"}},
	.hit = hit,
	.victim = victim,
	.evict = evict,
	.admit = admit,
	.forget = forget,
	.coldest = coldest,
	.check = check,
};

void
_PG_init(void)
{
	RegisterBufferPoolPolicy(&second_chance, second_chance.name);
}
