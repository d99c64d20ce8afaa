/*
 * standing.h
 *	  What a policy knows of its pages and ghosts, to be kept while the pool is
 *	  gone, and given to another pool of the same policy and parameters.
 *
 * A caller saves the state (tp_save_state), the standing of each page with its
 * place on its list, and the ghosts.  Later, into a pool of any size:
 *
 *	  tp_resume			before the first page comes in
 *	  tp_reinstate		each page that is there again, list by list: a linked
 *						list from its head to its tail, a ring in the order of
 *						its members
 *	  tp_recall_begin, tp_recall, tp_recall_clean, tp_recall_end
 *						the ghosts, each list from its head to its tail
 *
 * If nothing else happens to the pool meanwhile, and it has the size of the old
 * one, it goes on as the old one would have; README.md has the exceptions.  If
 * pages have come in and been referenced since tp_resume, reinstated ones are
 * placed behind these.  In a smaller pool what does not fit on a list goes to
 * the one below it.
 *
 * Times (TP_USES_TIME) are kept as ages, so that the time in between does not
 * count.
 *
 * LOCKING.  tp_standing_of, tp_save_state, tp_reinstate and the recall are
 * operations as those of pool.h; in a shared pool a caller of tp_reinstate owns
 * the frame.
 */
#ifndef TIDEPOOL_STANDING_H
#define TIDEPOOL_STANDING_H

#include "tidepool/policy.h"

/* Changes when the standing of any policy's pages means something else. */
#define TP_STANDING_VERSION 1

/* A page's.  What a policy does not use is zero. */
typedef struct tp_standing
{
	uint64_t	word;			/* of a frame on a ring */
	uint64_t	extra[TP_MAX_EXTRA / 8];
	uint8_t		list;
	uint8_t		count;
	uint8_t		mark;
} tp_standing;

/* A ghost's. */
typedef struct tp_memory
{
	uint64_t	key;
	uint64_t	value;
	uint8_t		list;
	uint8_t		small[3];
} tp_memory;

/* The standing of the page in this resident frame. */
tp_standing tp_standing_of(const tp_pool *pool, uint32_t frame, uint64_t now);

/*
 * A page is in this claimed or free frame, and has this standing; as tp_admit.
 * Returns false, and does nothing, if the policy has no such list.
 */
bool		tp_reinstate(const tp_pool *pool, uint32_t frame, tp_page page,
						 const tp_standing *standing,
						 const tp_access *access);

/* The ghost in this slot. */
tp_memory	tp_memory_of(const tp_pool *pool, uint32_t slot);

/*
 * From tp_recall_begin to tp_recall_end a page may be both resident and
 * remembered: the caller does not know which ghosts are of pages that have come
 * back.  After all ghosts it calls tp_recall_clean for every frame that is a
 * member then, with pauses if it likes.
 *
 * tp_recall returns false if the policy has no room for the ghost, or it no
 * longer means anything.
 */
void		tp_recall_begin(const tp_pool *pool);
bool		tp_recall(const tp_pool *pool, const tp_memory *memory);
void		tp_recall_clean(const tp_pool *pool, uint32_t frame);
void		tp_recall_end(const tp_pool *pool);

/*
 * What the policy keeps besides: its struct in the header's state.  resume
 * begins an empty pool with it; frames: how many the pool had.
 */
static inline const void *
tp_save_state(const tp_pool *pool)
{
	return pool->header->state;
}

void		tp_resume(const tp_pool *pool, const void *state, uint32_t frames);

/* ---- for policies ---- */

/* Put the frame on its list, at the tail, with all that the standing has. */
void		tp_reinstate_at_tail(const tp_pool *pool, uint32_t frame,
								 unsigned list, const tp_standing *standing);

#endif							/* TIDEPOOL_STANDING_H */
