/*
 * furthest.h
 *	  The search for the pages that are expected furthest in the future, among
 *	  frames that are looked at one after the other.
 */
#ifndef TIDEPOOL_FURTHEST_H
#define TIDEPOOL_FURTHEST_H

#include "prediction/candidates.h"
#include "prediction/page_estimate.h"

typedef struct furthest
{
	page_estimates at;
	ranking		rank;
	newcomers_seen seen;
	candidate	list[MOST_CANDIDATES];
	uint32_t	n;				/* candidates in list */
	uint64_t	listed;			/* their bits, and perhaps more */
} furthest;

/* A bit of furthest.listed.  Where it is not set the frame is not in list. */
static inline uint64_t
listed_bit(uint32_t frame)
{
	return UINT64_C(1) << frame % 64;
}

/* Begin with what is remembered of the last choice. */
static inline void
furthest_begin(furthest *s, const chosen_frames *chosen)
{
	s->n = rank_remembered(chosen, &s->rank, s->at.busy, s->list);
	s->listed = 0;
	for (uint32_t i = 0; i < s->n; i++)
		s->listed |= listed_bit(s->list[i].frame);
	if (s->n > 0)
		tp_expect_frame(s->at.pool, s->list[0].frame);
}

/*
 * Does the page's own history tell that it is no further than the last of those
 * kept?  If that is not expected at all, nothing is, and the page used before
 * goes.
 */
static inline bool
is_no_further(const furthest *s, double wait, uint64_t last)
{
	const candidate *worst = &s->list[s->n - 1];

	return wait < worst->wait ||
		(worst->wait == TP_NEVER && !(s->rank.lru && last < worst->last));
}

/*
 * Rank a frame that its page's own history does not tell to be too near, unless it
 * is ranked already or vacant.
 */
static inline void
furthest_rank(furthest *s, uint32_t frame, const own_estimate *own)
{
	const tp_pool *pool = s->at.pool;
	const candidate *worst = s->n == s->rank.keep ? &s->list[s->n - 1] : NULL;
	candidate	c;

	if (!tp_is_resident(pool, frame))
		return;
	c.frame = frame;
	c.last = tp_load64(&page_history_of(pool, frame)->last);
	c.stale = c.usable = c.dirty = false;
	c.wait = estimate_page(&s->at, frame, own, worst != NULL ? worst->wait : 0,
						   &c.source);
	if (worst != NULL && !is_further(&c, worst, s->rank.lru))
		return;
	c.generation = tp_generation(pool, frame);
	if (s->listed & listed_bit(frame))
	{
		uint32_t	place = find_candidate(s->list, s->n, frame);

		if (place < s->n && s->list[place].generation == c.generation)
			return;
		if (place < s->n)		/* remembered with another page */
			s->n = drop_candidate(s->list, s->n, place);
	}
	s->listed |= listed_bit(frame);
	s->n = rank_candidate(s->list, s->n, &s->rank, &c);
	if (s->list[0].frame == frame)
		tp_expect_frame(pool, frame);
}

/*
 * Look at these frames: rank what is further than the last of those kept.  Most
 * are not.
 */
static inline void
furthest_look(furthest *s, const uint32_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
	{
		const page_history *page = page_history_of(s->at.pool, frames[i]);
		const own_estimate own = estimate_own(&s->at, page);

		s->seen.looked++;
		if (own.newcomer)
			newcomers_look(&s->seen, own.age);
		if (s->n < s->rank.keep ||
			!is_no_further(s, own.wait, tp_load64(&page->last)))
			furthest_rank(s, frames[i], &own);
	}
}

/*
 * Ask whether the victims may be taken, and drop those that may not; estimate
 * the stale ones anew; ask which are dirty.  Each may let others move up.
 */
static inline void
furthest_verify(furthest *s, tp_usable usable, void *arg)
{
	const tp_pool *pool = s->at.pool;

	for (uint32_t i = 0; i < s->n && i < s->rank.victims;)
	{
		candidate  *c = &s->list[i];

		if (c->usable)
		{
			i++;
			continue;
		}
		if (!may_be_taken(pool, c->frame, c->generation, usable, arg))
			s->n = drop_candidate(s->list, s->n, i);
		else
		{
			if (c->stale)
			{
				const page_history *page = page_history_of(pool, c->frame);
				const own_estimate own = estimate_own(&s->at, page);

				c->wait = estimate_page(&s->at, c->frame, &own, 0, &c->source);
				c->last = tp_load64(&page->last);
				c->stale = false;
			}
			c->usable = true;
			c->dirty = tp_is_dirty(pool, c->frame);
			move_candidate(s->list, s->n, i, s->rank.lru);
		}
		i = 0;
	}
}

#endif							/* TIDEPOOL_FURTHEST_H */
