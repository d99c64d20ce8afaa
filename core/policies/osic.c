/*
 * osic.c
 *	  One-stage insert clock: pages cool before they go.
 *
 * Source: the OSIC pool of the PostgreSQL proposal "Multiple Buffer Pools";
 * the cooling is LeanStore's (Leis, Haubenschild, Kemper, Neumann, ICDE 2018)
 * without its list of cooling pages.
 *
 * Why the structure differs from the proposal's, and the decisions do not: the
 * proposal's flag means cool; here a count of 1 is hot and 0 cool, so that
 * the sweep is the clocks' (usage_ring.h).  The proposal's partitions each
 * have a lock; here there is the pool's.  The partitions still keep backends
 * on different frames, and a backend's next victim near its last one.
 *
 * Where the decisions differ:
 *	1. A page that VACUUM brings in is hot as any other; in the proposal cool.
 *	   No policy of this project lets VACUUM decide where a page enters.
 *	2. In the proposal a backend keeps to its partition as long as that has a
 *	   usable page.  One busy backend then works with a sixteenth of the pool,
 *	   and misses about as often as FIFO.  Here it goes on to the next
 *	   partition when the hand has come around, so that it sweeps the pool.
 *	3. The pool may be resized; the partitions follow.
 *
 * Costs: one bit of history, so that one partition chooses as
 * clock:max_usage=1 does; pages of a partition compete with each other only,
 * and some are evicted that are hotter than those kept elsewhere.
 * Benefits: a hit is at most one relaxed store on the page's own frame; two
 * backends that look for victims do not touch the same frames.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/usage_ring.h"

#define MAX_PARTITIONS 16		/* the proposal's */

enum
{
	PARAM_PARTITIONS
};

enum
{
	COOL,						/* to go when the hand comes back */
	HOT							/* referenced since the hand passed */
};

typedef struct osic_state
{
	uint32_t	partitions;		/* P, 1 .. MAX_PARTITIONS */
	uint32_t	per_partition;	/* frames of a partition ... */
	uint32_t	larger;			/* ... and one more in so many, the first */
	uint32_t	hands[MAX_PARTITIONS];	/* index in members of the next frame
										 * to look at; 0 beyond P */
	uint32_t	places[MAX_PARTITIONS]; /* [backend % P]: the partition where
										 * these backends look next; [i] is i
										 * beyond P */
} osic_state;

/* Index in members of a partition's first frame. */
static uint32_t
begin_of(const osic_state *state, uint32_t partition)
{
	return partition * state->per_partition +
		(partition < state->larger ? partition : state->larger);
}

static uint32_t
partitions_wanted(const tp_pool *pool)
{
	uint32_t	c = pool->header->frames;
	uint32_t	wanted = (uint32_t) pool->header->params[PARAM_PARTITIONS];

	if (wanted == 0)
		wanted = c < 256 ? 1 : c < 1024 ? 2 : c < 4096 ? 4 : c < 16384 ? 8 : 16;
	if (wanted > c)
		wanted = c;
	return wanted > 0 ? wanted : 1;
}

/*
 * The pool's size has changed: cut the ring again.  A hand stays if it is
 * inside its partition, and goes to its begin if not; a place stays as long as
 * there is such a partition.
 */
static void
cut(const tp_pool *pool)
{
	osic_state *state = tp_state(pool, osic_state);

	state->partitions = partitions_wanted(pool);
	state->per_partition = pool->header->frames / state->partitions;
	state->larger = pool->header->frames % state->partitions;
	for (uint32_t i = 0; i < MAX_PARTITIONS; i++)
	{
		uint32_t	begin = begin_of(state, i);

		if (i >= state->partitions)
			state->hands[i] = 0;
		else if (state->hands[i] < begin ||
				 state->hands[i] >= begin_of(state, i + 1))
			state->hands[i] = begin;
		if (i >= state->partitions || state->places[i] >= state->partitions)
			state->places[i] = i;
	}
}

static void
osic_join(const tp_pool *pool, uint32_t frame)
{
	(void) frame;
	cut(pool);
}

static void
osic_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	cut(pool);
}

static void
osic_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	raise_count(pool, frame, HOT);
}

static uint8_t
cooled(uint8_t usage)
{
	(void) usage;
	return COOL;
}

/* Sweep the partition of the backend's place, then the others in turn. */
static uint32_t
osic_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
			const tp_access *access)
{
	osic_state *state = tp_state(pool, osic_state);
	uint32_t   *place = &state->places[access->backend % state->partitions];
	uint32_t	partition = *place;

	(void) incoming;
	for (uint32_t tried = 0; tried < state->partitions; tried++)
	{
		uint32_t	begin = begin_of(state, partition);
		uint32_t	next = partition + 1 < state->partitions ? partition + 1 : 0;
		uint32_t	frame = usage_sweep(pool, begin,
										begin_of(state, partition + 1),
										&state->hands[partition], 2, cooled,
										usable, arg);

		if (frame != TP_NONE)
		{
			/* on to the next partition when the hand has come around */
			*place = state->hands[partition] == begin ? next : partition;
			return frame;
		}
		partition = next;
	}
	return TP_NONE;
}

static void
osic_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	set_count(pool, frame, HOT);
	tp_ring_add(pool, RING, frame);
}

/*
 * The cool pages, partition by partition, each from its hand on; then the hot
 * pages in the same way.  Stages 0 to P - 1 are the partitions for cool pages,
 * P to 2P - 1 for hot ones.  position: frames of the partition looked at.
 */
static uint32_t
osic_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	osic_state *state = tp_state(pool, osic_state);
	uint32_t	p = state->partitions;

	for (; cursor->stage < 2 * p; tp_cursor_end_stage(cursor))
	{
		uint32_t	partition = cursor->stage % p;
		uint32_t	end = begin_of(state, partition + 1);
		uint32_t	size = end - begin_of(state, partition);

		while (cursor->position < size)
		{
			uint32_t	i = state->hands[partition] + cursor->position;
			uint32_t	frame = tp_member(pool, i < end ? i : i - size);

			if (!tp_cursor_look(cursor))
				return TP_NONE;
			cursor->position++;
			if (tp_is_resident(pool, frame) &&
				count_of(pool, frame) == (cursor->stage < p ? COOL : HOT))
				return frame;
		}
	}
	return TP_NONE;
}

/*
 * Of each partition the cool pages among the next `share` frames, because any
 * partition may have to give all victims.  stage: a partition.  position:
 * frames of it looked at.
 */
static uint32_t
osic_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	const osic_state *state = tp_state(pool, osic_state);
	tp_cursor  *cursor = &ahead->cursor;

	for (; cursor->stage < state->partitions; tp_cursor_end_stage(cursor))
	{
		uint32_t	begin = begin_of(state, cursor->stage);
		uint32_t	size = begin_of(state, cursor->stage + 1) - begin;
		uint32_t	looks = cursor->share < size ? cursor->share : size;

		while (cursor->position < looks)
		{
			uint32_t	i = state->hands[cursor->stage] - begin +
				cursor->position;
			uint32_t	frame = tp_member(pool, begin + i % size);

			if (!tp_cursor_look(cursor))
				return TP_NONE;
			cursor->position++;
			if (tp_is_resident(pool, frame) && count_of(pool, frame) == COOL)
				return frame;
		}
	}
	return TP_NONE;
}

static int
osic_check(const tp_pool *pool, tp_report report, void *arg)
{
	osic_state *state = tp_state(pool, osic_state);
	uint32_t	n = pool->header->frames;
	int			bad = 0;

	bad += tp_expect(n == 0 || begin_of(state, state->partitions) == n,
					 "partitions do not make up the ring", state->partitions,
					 report, arg);
	for (uint32_t i = 0; n > 0 && i < state->partitions; i++)
		bad += tp_expect(state->hands[i] >= begin_of(state, i) &&
						 state->hands[i] < begin_of(state, i + 1),
						 "hand outside its partition", i, report, arg);
	bad += counts_check(pool, HOT, "page neither hot nor cool", report, arg);
	return bad;
}

static const tp_param osic_params[] = {
	[PARAM_PARTITIONS] = {
		.name = "partitions", .type = TP_PARAM_INTEGER,
		.default_value = 0, .min = 0, .max = MAX_PARTITIONS,
		.help = "parts of the ring with a hand each; 0 is by the pool's size"
	},
	{0}
};

/* the other hands show in coldest's order */
static const tp_field osic_fields[] = {
	{"partitions", TP_FIELD_U32, offsetof(osic_state, partitions)},
	{"hand", TP_FIELD_U32, offsetof(osic_state, hands)},
	{0}
};

const tp_policy tp_policy_osic = {
	.name = "osic",
	.title = "one-stage insert clock",
	.source = "PostgreSQL proposal \"Multiple Buffer Pools\"",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(osic_state),
	.params = osic_params,
	.fields = osic_fields,
	.lists = {{"ring", TP_RING}},
	.init = cut,
	.join = osic_join,
	.leave = osic_leave,
	.hit = osic_hit,
	.victim = osic_victim,
	.evict = usage_ring_evict,
	.admit = osic_admit,
	.forget = usage_ring_forget,
	.coldest = osic_coldest,
	.upcoming = osic_upcoming,
	.check = osic_check,
};
