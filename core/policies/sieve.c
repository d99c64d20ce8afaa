/*
 * sieve.c
 *	  SIEVE: a FIFO with a hand that moves against the stream.
 *
 * Source: Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi: SIEVE is
 * simpler than LRU: an efficient turn-key eviction algorithm for web caches.
 * NSDI 2024, Algorithm 1.
 *
 * Why the structure differs from Algorithm 1, and the decisions do not: a
 * proposal may not be carried out, so victim leaves the hand on the page that
 * it proposes, and evict moves it past that page.  If the page is evicted the
 * hand is where Algorithm 1 puts it; if not, the next search starts at that
 * page again, and passes it if it was referenced meanwhile.
 *
 * Where the decisions differ:
 *	1. Unusable frames are passed with their bit unchanged.
 *	2. A reference by VACUUM, or a correlated one, does not set the bit.
 *	3. If hits race with a search, it ends after two rounds, with the first
 *	   usable frame from the tail.
 *
 * Costs: a search may take two rounds; old pages that are referenced now and
 * then keep their place at the tail, so that a scan is sifted only where the
 * hand is.
 * Benefits: a hit is at most one relaxed store on the page's own frame, and
 * survivors are not moved at all; no parameter.
 * Memory: nothing beyond the node; no ghosts.
 */
#include "tidepool/parts/count.h"
#include "tidepool/standing.h"

enum
{
	QUEUE = 1					/* resident pages, newest at the head; count:
								 * the visited bit */
};

typedef struct sieve_state
{
	uint32_t	hand;			/* a frame on QUEUE; TP_NONE: at the tail */
} sieve_state;

static void
sieve_init(const tp_pool *pool)
{
	tp_state(pool, sieve_state)->hand = TP_NONE;
}

/* The mark only shows the hand to tp_describe's readers. */
static void
put_hand(const tp_pool *pool, uint32_t frame)
{
	sieve_state *state = tp_state(pool, sieve_state);

	if (state->hand != TP_NONE)
		pool->nodes[state->hand].mark = 0;
	if (frame != TP_NONE)
		pool->nodes[frame].mark = 1;
	state->hand = frame;
}

/* The frame that a search looks at first; TP_NONE if the queue is empty. */
static uint32_t
search_begin(const tp_pool *pool)
{
	uint32_t	hand = tp_state(pool, sieve_state)->hand;

	return hand != TP_NONE ? hand : tp_list_of(pool, QUEUE)->tail;
}

/* The frame that a search looks at after this one. */
static uint32_t
search_next(const tp_pool *pool, uint32_t frame)
{
	uint32_t	newer = pool->nodes[frame].prev;

	return newer != TP_NONE ? newer : tp_list_of(pool, QUEUE)->tail;
}

/* "Cache hit". */
static void
sieve_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	raise_count(pool, frame, 1);
}

/* "Cache full": from the hand on, while o is visited. */
static uint32_t
sieve_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			 void *arg, const tp_access *access)
{
	uint32_t	frame = search_begin(pool);
	uint64_t	looks = UINT64_C(2) * tp_list_of(pool, QUEUE)->count;

	(void) incoming;
	(void) access;
	for (; looks > 0; looks--, frame = search_next(pool, frame))
	{
		if (usable != NULL && !usable(arg, frame))
			continue;
		if (count_of(pool, frame) == 0)
			break;
		set_count(pool, frame, 0);
	}
	if (looks == 0)
		frame = tp_list_usable_tail(pool, QUEUE, usable, arg);
	if (frame != TP_NONE)
		put_hand(pool, frame);
	return frame;
}

/* "Insertion". */
static void
sieve_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	set_count(pool, frame, 0);
	tp_list_push_head(pool, QUEUE, frame);
}

/* A hand at this page moves on; past the head, to nowhere. */
static void
take(const tp_pool *pool, uint32_t frame)
{
	if (tp_state(pool, sieve_state)->hand == frame)
		put_hand(pool, pool->nodes[frame].prev);
	tp_list_remove(pool, frame);
}

/* "Eviction". */
static void
sieve_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	take(pool, frame);
}

static void
sieve_forget(const tp_pool *pool, uint32_t frame)
{
	take(pool, frame);
}

/* Is the walk's next page still in its place in the queue? */
static bool
in_place(const tp_pool *pool, const tp_cursor *cursor)
{
	return tp_walk_holds(pool, cursor) &&
		search_next(pool, cursor->last) == cursor->position;
}

/*
 * The pages with this bit in the order of a search.  If the queue has changed
 * where the walk was, the walk starts again.
 */
static uint32_t
walk(const tp_pool *pool, tp_cursor *cursor, uint8_t bit)
{
	if (!cursor->started)
	{
		cursor->started = true;
		cursor->left = tp_list_of(pool, QUEUE)->count;
		tp_walk_to(pool, cursor, search_begin(pool));
	}
	else if (!in_place(pool, cursor))
		tp_walk_to(pool, cursor, search_begin(pool));
	while (cursor->left > 0 && cursor->position != TP_NONE &&
		   !tp_cursor_full(cursor) && tp_cursor_look(cursor))
	{
		cursor->left--;
		cursor->last = cursor->position;
		tp_walk_to(pool, cursor, search_next(pool, cursor->last));
		if (count_of(pool, cursor->last) == bit)
		{
			cursor->taken++;
			return cursor->last;
		}
	}
	return TP_NONE;
}

/* Pages without the bit, then those with it.  stage: the bit. */
static uint32_t
sieve_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	for (; cursor->stage <= 1; tp_cursor_end_stage(cursor))
	{
		uint32_t	frame = walk(pool, cursor, (uint8_t) cursor->stage);

		if (frame != TP_NONE || tp_cursor_paused(cursor))
			return frame;
	}
	return TP_NONE;
}

static uint32_t
sieve_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return walk(pool, &ahead->cursor, 0);
}

/* The hand is where the page with the mark is. */
static void
sieve_reinstate(const tp_pool *pool, uint32_t frame,
				const tp_standing *standing, const tp_access *access)
{
	bool		hand = standing->mark != 0 &&
		tp_state(pool, sieve_state)->hand == TP_NONE;

	(void) access;
	tp_reinstate_at_tail(pool, frame, QUEUE, standing);
	pool->nodes[frame].mark = 0;
	if (hand)
		put_hand(pool, frame);
}

static int
sieve_check(const tp_pool *pool, tp_report report, void *arg)
{
	uint32_t	hand = tp_state(pool, sieve_state)->hand;
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);

		bad += tp_expect((pool->nodes[frame].mark != 0) == (frame == hand),
						 "hand not where it is marked", frame, report, arg);
		bad += tp_expect(frame != hand || tp_is_resident(pool, frame),
						 "hand at a free frame", frame, report, arg);
		bad += tp_expect(count_of(pool, frame) <= 1, "visited bit above 1",
						 frame, report, arg);
	}
	return bad;
}

const tp_policy tp_policy_sieve = {
	.name = "sieve",
	.title = "SIEVE",
	.source = "Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(sieve_state),
	.lists = {{"queue"}},
	.init = sieve_init,
	.hit = sieve_hit,
	.victim = sieve_victim,
	.evict = sieve_evict,
	.admit = sieve_admit,
	.forget = sieve_forget,
	.coldest = sieve_coldest,
	.upcoming = sieve_upcoming,
	.reinstate = sieve_reinstate,
	.check = sieve_check,
};
