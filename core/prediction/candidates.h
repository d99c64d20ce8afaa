/*
 * candidates.h
 *	  Candidates for eviction, and those that a process keeps from one choice
 *	  to the next.
 *
 * A choice ranks candidates by the time until their next reference, furthest
 * first, and keeps the first few.  The first `due` of these are its victims:
 * one now, the others at the next evictions.  The rest are remembered for the
 * next choice, which considers them again.
 */
#ifndef TIDEPOOL_CANDIDATES_H
#define TIDEPOOL_CANDIDATES_H

#include "tidepool/assertion.h"
#include "tidepool/text.h"

#include "prediction/page_history.h"

enum
{
	MOST_VICTIMS = 16,
	MOST_REMEMBERED = 16,
	MOST_CANDIDATES = MOST_VICTIMS + MOST_REMEMBERED
};

typedef struct candidate
{
	uint32_t	frame;
	uint32_t	generation;		/* of the page that was looked at */
	double		wait;			/* microseconds until the next reference */
	uint64_t	last;			/* time of the last one */
	tp_reason	source;			/* of wait, unless it is TP_NEVER */
	bool		stale;			/* remembered: wait, last and source are not
								 * current */
	bool		usable;			/* the caller was asked and may take it */
	bool		dirty;			/* and would have to write it; false: or not
								 * asked yet */
} candidate;

/* How candidates are ranked. */
typedef struct ranking
{
	uint32_t	victims;		/* chosen at once, 1 .. MOST_VICTIMS */
	uint32_t	keep;			/* victims and remembered candidates */
	bool		lru;			/* of equals, the least recently used first */
} ranking;

/* A candidate that was chosen or is remembered. */
typedef struct chosen_frame
{
	uint32_t	frame;
	uint32_t	generation;
	double		expected;		/* time of the next reference, as estimated */
	uint64_t	last;			/* time of the last one, as of then */
} chosen_frame;

/* What one process keeps.  Zero-initialise before use. */
typedef struct chosen_frames
{
	uint64_t	chosen_at;		/* time of the choice: all are the pool's */
	uint32_t	count;
	uint32_t	due;			/* number of victims, the first of list */
	uint32_t	next;			/* index of the next victim */
	chosen_frame list[MOST_CANDIDATES]; /* furthest first */
	uint8_t		sources[MOST_VICTIMS];	/* of the victims' estimates: a
										 * tp_reason */
} chosen_frames;

/* ---- the ranking ---- */

static inline bool
is_further(const candidate *a, const candidate *b, bool lru)
{
	if (a->wait != b->wait)
		return a->wait > b->wait;
	if (a->dirty != b->dirty)
		return b->dirty;
	return lru && a->last < b->last;
}

/* Take a candidate off a list of n.  Returns how many remain. */
static inline uint32_t
drop_candidate(candidate *list, uint32_t n, uint32_t place)
{
	n--;
	for (uint32_t i = place; i < n; i++)
		list[i] = list[i + 1];
	return n;
}

/*
 * Insert a newcomer into a list of n, furthest first, after its equals.  Keeps
 * at most rank->keep.  Returns how many remain.
 */
static inline uint32_t
rank_candidate(candidate *list, uint32_t n, const ranking *rank,
			   const candidate *newcomer)
{
	uint32_t	place = n;

	while (place > 0 && is_further(newcomer, &list[place - 1], rank->lru))
		place--;
	if (place == rank->keep)
		return n;
	n = n < rank->keep ? n + 1 : n;
	for (uint32_t i = n - 1; i > place; i--)
		list[i] = list[i - 1];
	list[place] = *newcomer;
	return n;
}

/*
 * Move a candidate on a list of n, whose rank may have changed, to its place,
 * after its equals.
 */
static inline void
move_candidate(candidate *list, uint32_t n, uint32_t place, bool lru)
{
	const candidate moved = list[place];

	for (; place + 1 < n && !is_further(&moved, &list[place + 1], lru); place++)
		list[place] = list[place + 1];
	for (; place > 0 && is_further(&moved, &list[place - 1], lru); place--)
		list[place] = list[place - 1];
	list[place] = moved;
}

/* The candidate in this frame, among n; n if there is none. */
static inline uint32_t
find_candidate(const candidate *list, uint32_t n, uint32_t frame)
{
	uint32_t	i = 0;

	while (i < n && list[i].frame != frame)
		i++;
	return i;
}

/* ---- from choice to choice ---- */

/* Does the frame still hold that page, and may the caller take it? */
static inline bool
may_be_taken(const tp_pool *pool, uint32_t frame, uint32_t generation,
			 tp_usable usable, void *arg)
{
	return tp_generation(pool, frame) == generation &&
		(usable == NULL || usable(arg, frame));
}

/*
 * The next victim of the last choice, or TP_NONE.  Skips pages that have been
 * referenced since.
 */
static inline uint32_t
next_chosen(const tp_pool *pool, chosen_frames *chosen, tp_usable usable,
			void *arg)
{
	for (; chosen->next < chosen->due; chosen->next++)
	{
		const chosen_frame *c = &chosen->list[chosen->next];

		if (may_be_taken(pool, c->frame, c->generation, usable, arg) &&
			tp_load64(&page_history_of(pool, c->frame)->last) <=
			chosen->chosen_at)
			return c->frame;
	}
	return TP_NONE;
}

/*
 * Rank the remembered candidates by their old estimates, without touching
 * their pages.  Returns how many there are, which is less than rank->keep.
 */
static inline uint32_t
rank_remembered(const chosen_frames *chosen, const ranking *rank, uint64_t now,
				candidate *list)
{
	uint32_t	n = 0;

	for (uint32_t i = rank->victims; i < chosen->count; i++, n++)
	{
		const chosen_frame *c = &chosen->list[i];
		candidate  *remembered = &list[n];
		double		wait = c->expected - (double) now;

		remembered->frame = c->frame;
		remembered->generation = c->generation;
		remembered->wait = wait > 0 ? wait : 0;
		remembered->last = c->last;
		remembered->stale = true;
		remembered->usable = false;
		remembered->dirty = false;
		/* they are stored in order, but for those that were dirty */
		if (n > 0 && is_further(remembered, remembered - 1, rank->lru))
			move_candidate(list, n + 1, n, rank->lru);
	}
	return n;
}

/* Store these n as the choice; the caller proposes the first one now. */
static inline void
choose_candidates(chosen_frames *chosen, const ranking *rank, uint64_t now,
				  const candidate *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		chosen->list[i].frame = list[i].frame;
		chosen->list[i].generation = list[i].generation;
		chosen->list[i].expected = (double) now + list[i].wait;
		chosen->list[i].last = list[i].last;
	}
	for (uint32_t i = 0; i < n && i < rank->victims; i++)
		chosen->sources[i] = (uint8_t) list[i].source;
	chosen->count = n;
	chosen->due = n < rank->victims ? n : rank->victims;
	chosen->next = 1;
	chosen->chosen_at = now;
}

/* For a policy's check. */
static inline int
chosen_check(const chosen_frames *chosen, const ranking *rank,
			 tp_report report, void *arg)
{
	int			bad = 0;

	bad += tp_expect(chosen->count <= rank->keep,
					 "more frames chosen than wanted", chosen->count, report, arg);
	bad += tp_expect(chosen->due <= chosen->count &&
					 chosen->due <= rank->victims,
					 "more frames due than chosen", chosen->due, report, arg);
	for (uint32_t i = 0; i < chosen->count; i++)
		for (uint32_t j = 0; j < i; j++)
			bad += tp_expect(chosen->list[i].frame != chosen->list[j].frame,
							 "frame chosen twice", chosen->list[i].frame, report,
							 arg);
	return bad;
}

/* For a policy's describe. */
static inline void
chosen_describe(const chosen_frames *chosen, struct tp_text *text)
{
	tp_text_string(text, " | listed=");
	tp_text_unsigned(text, chosen->count);
	tp_text_string(text, " | due=");
	tp_text_unsigned(text, chosen->due);
	tp_text_string(text, " | next=");
	tp_text_unsigned(text, chosen->next);
}

#endif							/* TIDEPOOL_CANDIDATES_H */
