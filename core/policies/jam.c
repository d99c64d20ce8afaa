/*
 * jam.c
 *	  Clock whose counts decay fast, for pages written once and read seldom.
 *
 * Source: the JAM pool of the PostgreSQL proposal "Multiple Buffer Pools",
 * meant for TOAST data.
 *
 * Where the decisions differ:
 *	1. A page that VACUUM brings in starts at 1 as any other; in the proposal
 *	   at 0.  No policy of this project lets VACUUM decide where a page
 *	   enters.
 *	2. The proposal's writer walks from the hand over dirty pages at 0 or 1.
 *	   coldest yields every page, those at 0 that were written first, and
 *	   leaves it to the writer where to stop.
 *	3. The core does not know which pages are dirty.  A page counts as written
 *	   if a reference since it came in was a write, so a page cleaned in the
 *	   meantime still comes early; it costs the writer one look.
 *	4. Points 3 and 4 of clock.c.
 *
 * Costs: three references are forgotten in two rounds.
 * Benefits: as clock's; pages fall out soon once they are left alone.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/usage_ring.h"

enum
{
	PARAM_MAX_USAGE
};

/* coldest's bands: two for a count of 0, one for each number of halvings. */
#define BANDS (2 + 8)

static void
jam_init(const tp_pool *pool)
{
	usage_ring *state = tp_state(pool, usage_ring);

	state->max_usage = (uint8_t) pool->header->params[PARAM_MAX_USAGE];
	state->initial = 1;
}

/* Hits are lock-free: the mark is accessed as the count is (count.h). */
static bool
is_written(const tp_pool *pool, uint32_t frame)
{
	return __atomic_load_n(&pool->nodes[frame].mark, __ATOMIC_RELAXED) != 0;
}

/* Writes nothing where nothing changes, as raise_count. */
static void
set_written(const tp_pool *pool, uint32_t frame, bool written)
{
	if (is_written(pool, frame) != written)
		__atomic_store_n(&pool->nodes[frame].mark, (uint8_t) written,
						 __ATOMIC_RELAXED);
}

static void
jam_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	if ((access->flags & TP_DIRTIED) == 0)
		usage_ring_hit(pool, frame, access);
	if (access->flags & TP_WRITE)
		set_written(pool, frame, true);
}

static uint8_t
halved(uint8_t usage)
{
	return usage / 2;
}

/* How often a count must be halved to become 0. */
static uint32_t
halvings(uint32_t usage)
{
	return usage == 0 ? 0 : 32 - (uint32_t) __builtin_clz(usage);
}

static uint32_t
jam_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
		   const tp_access *access)
{
	usage_ring *state = tp_state(pool, usage_ring);

	(void) incoming;
	(void) access;
	return usage_sweep(pool, 0, pool->header->frames, &state->hand,
					   halvings(state->max_usage) + 1, halved, usable, arg);
}

static void
jam_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	usage_ring_admit(pool, frame, access);
	set_written(pool, frame, (access->flags & TP_WRITE) != 0);
}

static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	uint32_t	usage = count_of(pool, frame);

	if (usage == 0)
		return is_written(pool, frame) ? 0 : 1;
	return 1 + halvings(usage);
}

/* As the hand would take them, but of those at 0 the written pages first. */
static uint32_t
jam_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, BANDS,
							tp_state(pool, usage_ring)->hand, band_of);
}

static const tp_param jam_params[] = {
	[PARAM_MAX_USAGE] = {
		.name = "max_usage", .type = TP_PARAM_INTEGER,
		.default_value = 3, .min = 1, .max = 255,
		.help = "highest usage count; the sweep halves it"
	},
	{0}
};

static const tp_field jam_fields[] = {
	{"hand", TP_FIELD_U32, offsetof(usage_ring, hand)},
	{0}
};

const tp_policy tp_policy_jam = {
	.name = "jam",
	.title = "fast-decaying clock",
	.source = "PostgreSQL proposal \"Multiple Buffer Pools\"",
	.flags = TP_HIT_LOCK_FREE | TP_COUNTS_ALL | TP_WANTS_WRITES,
	.state_size = sizeof(usage_ring),
	.params = jam_params,
	.fields = jam_fields,
	.lists = {{"ring", TP_RING}},
	.init = jam_init,
	.leave = usage_ring_leave,
	.hit = jam_hit,
	.victim = jam_victim,
	.evict = usage_ring_evict,
	.admit = jam_admit,
	.forget = usage_ring_forget,
	.coldest = jam_coldest,
	.upcoming = usage_ring_upcoming,
	.check = usage_ring_check,
};
