/*
 * page.h
 *	  The identity of a page.
 *
 * A page is a relation (with its fork) and a block of it.  The core never
 * looks into the relation number: it is whatever 64 bits the caller uses to
 * tell relations and forks apart.
 */
#ifndef TIDEPOOL_PAGE_H
#define TIDEPOOL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "No frame", "no ghost", "no member". */
#define TP_NONE UINT32_MAX

/* In place of a victim: the policy does not want the page that comes in. */
#define TP_REFUSED (UINT32_MAX - 1)

typedef struct tp_page
{
	uint64_t	relation;		/* relation and fork, the caller's numbering */
	uint32_t	block;			/* block number within it */
} tp_page;

static inline tp_page
tp_page_make(uint64_t relation, uint32_t block)
{
	tp_page		page = {relation, block};

	return page;
}

/* Finalizer of splitmix64 (Steele, Lea, Flood 2014): a bijection on 64 bits. */
static inline uint64_t
tp_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * A well-mixed 64-bit key of a page.  Distinct pages have distinct keys as
 * long as relation numbers stay below 2^32.  Beyond that, the upper half of
 * the number spreads them over all 64 bits, so that some two of n pages share
 * a key with probability about n^2 / 2^65; the worst that follows is one ghost
 * taken for another.
 */
static inline uint64_t
tp_page_key(tp_page page)
{
	return tp_mix64(((page.relation << 32) | page.block) +
					(page.relation >> 32) * UINT64_C(0xd1342543de82ef95) +
					UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * The page with this key, for pages whose relation number is below 2^32 (the
 * simulator's and the tests' all are); meaningless for others.
 */
static inline tp_page
tp_page_of_key(uint64_t key)
{
	/* each step of tp_mix64 undone; the multipliers are modular inverses */
	key ^= (key >> 31) ^ (key >> 62);
	key *= UINT64_C(0x319642b2d24d8ec3);
	key ^= (key >> 27) ^ (key >> 54);
	key *= UINT64_C(0x96de1b173f119089);
	key ^= (key >> 30) ^ (key >> 60);
	key -= UINT64_C(0x9e3779b97f4a7c15);
	return tp_page_make(key >> 32, (uint32_t) key);
}

static inline bool
tp_page_equal(tp_page a, tp_page b)
{
	return a.relation == b.relation && a.block == b.block;
}

#endif							/* TIDEPOOL_PAGE_H */
