/*
 * usage_ring.h
 *	  A ring of frames with usage counts: what the clocks have in common.
 *
 * clock, recycle and jam are this ring, one hand, and a rule for how the
 * sweep lowers a count; osic is this ring with a hand for each part of it.
 *
 * Definition.  All resident frames are on the ring "ring", in the order of
 * members; node->count is the usage count.  A page comes in at `initial`.  A
 * hit raises the count by one up to max_usage, also one that repeats another;
 * one by VACUUM up to 1 only.  An eviction or a forget sets the count to 0 and
 * moves no hand.
 *
 * The sweep is over a stretch of members that wraps around and has a hand of
 * its own, the index of the member to look at next.  Look at the frame under
 * the hand and move the hand on.  If the frame is free or not usable, nothing
 * happens to it; if its count is 0, it is the victim; otherwise its count is
 * lowered by the policy's rule.  Repeat.  If no frame of the stretch is both
 * resident and usable, there is no victim, and the hand stays where it was.
 *
 * upcoming, where the stretch is all members: the pages at 0 in the order of
 * members from the hand on.
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
	uint8_t		initial;		/* usage count of a page that comes in */
} usage_ring;

/*
 * The sweep over members first .. end-1.  Ends without a victim when
 * end - first frames in a row were free or not usable.
 *
 * Looks at most rounds * (end - first) times, where rounds is one more than
 * lower needs to bring the highest count to 0.  More it takes only when hits
 * race with the sweep; then the last usable frame that was passed must go.
 */
static inline uint32_t
usage_sweep(const tp_pool *pool, uint32_t first, uint32_t end, uint32_t *hand,
			uint32_t rounds, uint8_t (*lower) (uint8_t usage),
			tp_usable usable, void *arg)
{
	uint64_t	looks = (uint64_t) rounds * (end - first);
	uint32_t	in_vain = 0;	/* free or unusable frames in a row */
	uint32_t	passed = TP_NONE;

	for (; looks > 0 && in_vain < end - first; looks--)
	{
		uint32_t	frame = pool->members[*hand];
		uint8_t		usage;

		*hand = *hand + 1 < end ? *hand + 1 : first;
		if (pool->nodes[frame].list != RING ||
			(usable != NULL && !usable(arg, frame)))
		{
			in_vain++;
			continue;
		}
		usage = count_of(pool, frame);
		if (usage == 0)
			return frame;
		set_count(pool, frame, lower(usage));
		passed = frame;
		in_vain = 0;
	}
	return passed;
}

static inline void
usage_ring_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	/* VACUUM makes a page referenced, never more than once */
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
usage_ring_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

static inline void
usage_ring_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	usage_ring_forget(pool, frame);
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

/* The frames at 0, once round from where the hand was when the walk began. */
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
	while (cursor->position < n && !tp_cursor_sated(cursor) &&
		   tp_cursor_look(cursor))
	{
		uint64_t	i = (uint64_t) cursor->last + cursor->position++;
		uint32_t	frame = pool->members[i % n];

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
		bad += tp_expect(count_of(pool, pool->members[i]) <= state->max_usage,
						 "usage count above the maximum", pool->members[i],
						 report, arg);
	return bad;
}

#endif							/* TIDEPOOL_USAGE_RING_H */
