/*
 * reference_history.h
 *	  LRU-K's history control block of a page: HIST(1) to HIST(K), and LAST.
 *
 * A frame keeps HIST(1), LAST as the distance from it, and the gaps between
 * the HISTs, in 16 bytes; a ghost keeps HIST(1) and the first gap.  The caller
 * counts how many of the HISTs are known.  Distances that do not fit are
 * clipped to the largest that does.
 */
#ifndef TIDEPOOL_REFERENCE_HISTORY_H
#define TIDEPOOL_REFERENCE_HISTORY_H

#include "tidepool/policy.h"

#define K_MAX 3					/* two times of a ghost, and the admission */
#define TIME_MAX ((UINT64_C(1) << 48) - 1)
#define RUN_MAX UINT16_MAX

typedef struct lru_k_history
{
	uint32_t	gap[K_MAX - 1]; /* HIST(i+1) - HIST(i+2) */
	uint64_t	hist1:48;		/* HIST(1) */
	uint64_t	run:16;			/* LAST - HIST(1) */
} lru_k_history;

static inline uint64_t
history_last(const lru_k_history *page)
{
	return page->hist1 + page->run;
}

/* HIST(k) */
static inline uint64_t
history_time(const lru_k_history *page, uint32_t k)
{
	uint64_t	time = page->hist1;

	for (uint32_t i = 0; i + 1 < k; i++)
		time -= page->gap[i];
	return time;
}

/* The first known reference to the page, at time t. */
static inline void
history_begin(lru_k_history *page, uint64_t t)
{
	*page = (lru_k_history)
	{
		.hist1 = t & TIME_MAX
	};
}

/*
 * Another reference, "a new, uncorrelated" one.  Since gaps are kept and not
 * times, all older times move up by the correlated period.  Writes the first
 * k - 1 gaps only; with K = 2 lru_k.c keeps something else in the other.
 */
static inline void
history_add(lru_k_history *page, uint64_t t, uint32_t k)
{
	uint64_t	gap = t - history_last(page);

	for (unsigned i = k - 1; i-- > 1;)
		page->gap[i] = page->gap[i - 1];
	page->gap[0] = gap < UINT32_MAX ? (uint32_t) gap : UINT32_MAX;
	page->hist1 = t & TIME_MAX;
	page->run = 0;
}

/* "A correlated reference". */
static inline void
history_repeat(lru_k_history *page, uint64_t t)
{
	uint64_t	run = t - page->hist1;

	page->run = run < RUN_MAX ? run & RUN_MAX : RUN_MAX;
}

/* In a ghost: gap[0], HIST(1) in value and small[0..1]; count in small[2]. */
static inline void
history_write(tp_ghost *ghost, const lru_k_history *page, uint8_t count)
{
	ghost->value = (uint64_t) page->gap[0] << 32 | (uint32_t) page->hist1;
	ghost->small[0] = (uint8_t) (page->hist1 >> 32);
	ghost->small[1] = (uint8_t) (page->hist1 >> 40);
	ghost->small[2] = count;
}

/* Returns the count.  LAST becomes HIST(1). */
static inline uint8_t
history_read(lru_k_history *page, const tp_ghost *ghost)
{
	uint64_t	high = (uint64_t) ghost->small[1] << 8 | ghost->small[0];

	*page = (lru_k_history)
	{
		.gap =
		{
			(uint32_t) (ghost->value >> 32)
		},
			.hist1 = (high << 32 | (uint32_t) ghost->value) & TIME_MAX
	};
	return ghost->small[2];
}

#endif							/* TIDEPOOL_REFERENCE_HISTORY_H */
