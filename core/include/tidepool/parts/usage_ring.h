/*
 * usage_ring.h
 *	  A ring of frames with usage counts: what the clocks have in common.
 *
 * clock, recycle and jam are this ring with one hand, and a rule by which the
 * sweep lowers a count; osic has a hand for each of its partitions.
 *
 * The order is that of the pool's members, and a hand is the index in members
 * of the frame to look at next.  Evicting or forgetting a page moves no hand.
 */
#ifndef TIDEPOOL_USAGE_RING_H
#define TIDEPOOL_USAGE_RING_H

#include "tidepool/parts/count.h"

enum
{
	RING = 1					/* resident pages; count = usage count */
};

/* The state of a ring with one hand. */
typedef struct usage_ring
{
	uint32_t	hand;			/* index in members of the next frame to look
								 * at; below frames, or 0 */
	uint8_t		max_usage;		/* highest usage count */
	uint8_t		initial;		/* usage count of a page that has come in */
} usage_ring;

/*
 * Sweep members first .. end-1 from the hand on, wrapping around: the first
 * usable frame with a count of 0 is the victim; the counts of other usable
 * frames are lowered.  When a whole round finds no resident usable frame,
 * returns TP_NONE; the hand is where it began.
 *
 * rounds is one more than lower needs to bring the highest count to 0.  No
 * sweep takes more rounds than that, unless hits race with it; then the victim
 * is the usable frame that was passed last.
 */
static inline uint32_t
usage_sweep(const tp_pool *pool, uint32_t first, uint32_t end, uint32_t *hand,
			uint32_t rounds, uint8_t (*lower) (uint8_t usage),
			tp_usable usable, void *arg)
{
	uint64_t	looks = (uint64_t) rounds * (end - first);
	uint32_t	in_vain = 0;	/* vacant or unusable frames in a row */
	uint32_t	passed = TP_NONE;
	uint32_t	at = *hand;		/* in a register: a store to a count, which is
								 * atomic, may alias the hand */

	for (; looks > 0 && in_vain < end - first; looks--)
	{
		uint32_t	frame = tp_member(pool, at);
		uint8_t		usage;

		at = at + 1 < end ? at + 1 : first;
		if (pool->nodes[frame].list != RING ||
			(usable != NULL && !usable(arg, frame)))
		{
			in_vain++;
			continue;
		}
		passed = frame;
		usage = count_of(pool, frame);
		if (usage == 0)
			break;
		set_count(pool, frame, lower(usage));
		in_vain = 0;
	}
	*hand = at;
	return passed;
}

static inline void
usage_ring_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	/* as PostgreSQL's rings count: VACUUM raises a count to 1 at most */
	raise_count(pool, frame, (access->flags & TP_VACUUM) ? 1 :
				tp_state(pool, usage_ring)->max_usage);
}

static inline void
usage_ring_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	set_count(pool, frame, tp_state(pool, usage_ring)->initial);
	tp_ring_add(pool, RING, frame);
}

static inline void
usage_ring_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	tp_ring_remove(pool, frame);
}

static inline void
usage_ring_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

static inline void
usage_ring_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	usage_ring *state = tp_state(pool, usage_ring);

	(void) frame;
	(void) slot;
	if (state->hand >= pool->header->frames)
		state->hand = 0;
}

/* The frames at 0, for one round from where the hand was at the start. */
static inline uint32_t
usage_ring_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	tp_cursor  *cursor = &ahead->cursor;
	uint32_t	n = pool->header->frames;

	if (!cursor->started)
	{
		cursor->started = true;
		cursor->last = tp_state(pool, usage_ring)->hand;
	}
	while (cursor->position < n && !tp_cursor_full(cursor) &&
		   tp_cursor_look(cursor))
	{
		uint64_t	i = (uint64_t) cursor->last + cursor->position++;
		uint32_t	frame = tp_member(pool, (uint32_t) (i % n));

		if (tp_is_resident(pool, frame) && count_of(pool, frame) == 0)
		{
			cursor->taken++;
			return frame;
		}
	}
	return TP_NONE;
}

static inline int
usage_ring_check(const tp_pool *pool, tp_report report, void *arg)
{
	usage_ring *state = tp_state(pool, usage_ring);
	uint32_t	n = pool->header->frames;
	int			bad = 0;

	bad += tp_expect(state->hand < n || state->hand == 0,
					 "hand outside the ring", state->hand, report, arg);
	for (uint32_t i = 0; i < n; i++)
		bad += tp_expect(count_of(pool, tp_member(pool, i)) <= state->max_usage,
						 "usage count above the maximum", tp_member(pool, i),
						 report, arg);
	return bad;
}

#endif							/* TIDEPOOL_USAGE_RING_H */
