/*
 * cursor.h
 *	  Positions of walks over a pool that may pause while it changes.
 */
#ifndef TIDEPOOL_CURSOR_H
#define TIDEPOOL_CURSOR_H

#include "tidepool/access.h"

/*
 * Position of a walk with coldest or upcoming.  Zero-initialised to begin.
 *
 * A walk may pause and resume later, whatever happens to the pool meanwhile.
 * If nothing happens the pause makes no difference.  Otherwise the walk may
 * miss frames or return some twice, but each is a frame of the pool, and the
 * walk ends.
 */
typedef struct tp_cursor
{
	uint64_t	looks;			/* frames looked at since the walk began */
	uint64_t	pause;			/* looks at which to pause; 0: never */
	uint32_t	stage;			/* list or band, counted in order of eviction */
	uint32_t	position;		/* frame, member or cell to look at next */
	uint32_t	generation;		/* of that frame */
	uint32_t	last;			/* of a list: the frame looked at before */
	uint32_t	left;			/* of a list: looks that remain in this stage */
	uint32_t	taken;			/* frames that have come, towards the share */
	uint32_t	share;			/* most frames to come; 0: all */
	bool		started;		/* within the stage */
	bool		over;			/* the walk has ended */
} tp_cursor;

static inline bool
tp_cursor_paused(const tp_cursor *cursor)
{
	return cursor->pause != 0 && cursor->looks >= cursor->pause;
}

/* At the walk's next frame: may it look?  Otherwise it returns TP_NONE. */
static inline bool
tp_cursor_look(tp_cursor *cursor)
{
	if (tp_cursor_paused(cursor))
		return false;
	cursor->looks++;
	return true;
}

/* Have enough frames come? */
static inline bool
tp_cursor_full(const tp_cursor *cursor)
{
	return cursor->share != 0 && cursor->taken >= cursor->share;
}

static inline void
tp_cursor_end_stage(tp_cursor *cursor)
{
	cursor->stage++;
	cursor->position = 0;
	cursor->started = false;
}

#define TP_MAX_BANDS 64			/* of a policy that sweeps */

/*
 * What a background writer, or another caller of upcoming, keeps between its
 * slices and rounds, in its own memory.  Zero-initialised to begin.  The fields
 * from next on belong to policies that sweep (tp_upcoming_sweep).
 */
typedef struct tp_lookahead
{
	tp_cursor	cursor;			/* of this round */
	tp_usable	wanted;			/* frames of interest (dirty ones, say), where
								 * this is cheaper to tell than how cold a
								 * page is; NULL: any */
	void	   *arg;			/* of wanted */
	uint32_t	next;			/* member that the sweep goes on with */
	uint32_t	passed;			/* resident frames looked at */
	uint32_t	counted;		/* pages in bands[], since it was cleared */
	uint32_t	bands[TP_MAX_BANDS];	/* pages by how cold they are */
	bool		learned;		/* the three below are meaningful */
	uint32_t	threshold;		/* pages of lower bands will go soon; ... */
	double		portion;		/* ... and so much of this band */
	double		credit;			/* of a page of this band, up to 1 */
} tp_lookahead;

#endif							/* TIDEPOOL_CURSOR_H */
