/*
 * hash.h
 *	  A pool's hash table: from keys to entries that somebody else keeps.
 *
 * The table has one bucket per frame of the pool, bucket number i being the
 * one of members[i], and grows and shrinks by one bucket with each frame that
 * joins or leaves (linear hashing: Litwin, VLDB 1980).  So nothing is
 * allocated or rehashed as a whole when a pool is made or resized.
 *
 * Entries are numbers.  Where an entry's key and its link to the next entry
 * of the same bucket are kept, the user of the table says; these functions
 * are constants in each user, so the compiler makes a table of its own for
 * each.  A pool has one such table: the ghost index (ghost.h) has it if the
 * policy has ghosts, otherwise the policy may use it.
 */
#ifndef TIDEPOOL_HASH_H
#define TIDEPOOL_HASH_H

#include "tidepool/policy.h"

typedef uint64_t (*tp_hash_key) (const tp_pool *pool, uint32_t entry);
typedef uint32_t *(*tp_hash_link) (const tp_pool *pool, uint32_t entry);

/* Bucket number of a key in a table of n buckets, n > 0. */
static inline uint32_t
tp_hash_bucket(uint64_t key, uint32_t n)
{
	uint32_t	h = (uint32_t) key;
	uint32_t	level = UINT32_C(1) << (31 - __builtin_clz(n));
	uint32_t	i = h & (2 * level - 1);

	return i < n ? i : h & (level - 1);
}

/* The bucket that number `added` was part of before the table had it. */
static inline uint32_t
tp_hash_parent(uint32_t added)
{
	return added & ~(UINT32_C(1) << (31 - __builtin_clz(added)));
}

/* The first entry of a bucket, or TP_NONE. */
static inline uint32_t *
tp_hash_chain(const tp_pool *pool, uint32_t bucket)
{
	return &pool->buckets[pool->members[bucket]];
}

/* The chain that an entry with this key is on; the pool has frames. */
static inline uint32_t *
tp_hash_chain_of(const tp_pool *pool, uint64_t key)
{
	return tp_hash_chain(pool, tp_hash_bucket(key, pool->header->frames));
}

/* Enter an entry, whose key may be asked for. */
static inline void
tp_hash_insert(const tp_pool *pool, uint32_t entry, tp_hash_key key,
			   tp_hash_link link)
{
	uint32_t   *chain = tp_hash_chain_of(pool, key(pool, entry));

	*link(pool, entry) = *chain;
	*chain = entry;
}

/* What points at an entry that is in the table: to unlink or exchange it. */
static inline uint32_t *
tp_hash_pointer_to(const tp_pool *pool, uint32_t entry, tp_hash_key key,
				   tp_hash_link link)
{
	uint32_t   *p = tp_hash_chain_of(pool, key(pool, entry));

	while (*p != entry)
		p = link(pool, *p);
	return p;
}

/*
 * The pool has just gained the last of its members, and with it a bucket:
 * split the one that this was part of.
 */
static inline void
tp_hash_join(const tp_pool *pool, tp_hash_key key, tp_hash_link link)
{
	uint32_t	n = pool->header->frames;
	uint32_t	added = n - 1;
	uint32_t   *new_chain = tp_hash_chain(pool, added);
	uint32_t   *p;

	*new_chain = TP_NONE;
	if (added == 0)
		return;
	p = tp_hash_chain(pool, tp_hash_parent(added));
	while (*p != TP_NONE)
	{
		uint32_t	entry = *p;

		if (tp_hash_bucket(key(pool, entry), n) == added)
		{
			*p = *link(pool, entry);
			*link(pool, entry) = *new_chain;
			*new_chain = entry;
		}
		else
			p = link(pool, entry);
	}
}

/*
 * The pool has just lost this frame, and with it a bucket: append the last
 * one to the one it was split from.  slot as in tp_policy.leave; members and
 * the number of frames are as they are now.  If no frame is left no entry may
 * be.
 */
static inline void
tp_hash_leave(const tp_pool *pool, uint32_t frame, uint32_t slot,
			  tp_hash_link link)
{
	uint32_t	last = pool->header->frames;
	uint32_t	chain = pool->buckets[frame];
	uint32_t   *p;

	/* what lay with the frame goes where its place in members went */
	if (slot != last)
	{
		uint32_t	moved = pool->members[slot];

		chain = pool->buckets[moved];
		pool->buckets[moved] = pool->buckets[frame];
	}
	if (last == 0)
		return;
	p = tp_hash_chain(pool, tp_hash_parent(last));
	while (*p != TP_NONE)
		p = link(pool, *p);
	*p = chain;
}

#endif							/* TIDEPOOL_HASH_H */
