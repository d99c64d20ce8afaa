/*
 * hash.h
 *	  A pool's hash table: chains of entries that its user keeps.
 *
 * The table grows and shrinks with each frame that joins or leaves (linear
 * hashing: Litwin, VLDB 1980).  The lower half of a key's bits selects a slot
 * of the pool's members, the number of Litwin's bucket; the upper half selects
 * one of the buckets_per_frame chains of that slot.  So creating or resizing a
 * pool allocates nothing and never rehashes the whole table, and chains stay
 * short with many entries per frame.  Chains belong to the slot, not to the
 * frame in it: members may change places.
 *
 * Entries are numbers.  The user keeps each entry's key and its link to the
 * next entry of the chain, and passes two functions that reach them.  These
 * are constants in each user, so the compiler specialises the table for each.
 * A pool has one table: the ghost index's (ghost.h) if the policy has ghosts,
 * otherwise the policy's own if it declares TP_USES_HASH.
 */
#ifndef TIDEPOOL_HASH_H
#define TIDEPOOL_HASH_H

#include "tidepool/frame.h"

typedef uint64_t (*tp_hash_key) (const tp_pool *pool, uint32_t entry);
typedef uint32_t *(*tp_hash_link) (const tp_pool *pool, uint32_t entry);

/* Litwin's bucket of a key in a table of n, n > 0. */
static inline uint32_t
tp_linear_hash(uint64_t key, uint32_t n)
{
	uint32_t	h = (uint32_t) key;
	uint32_t	level = UINT32_C(1) << (31 - __builtin_clz(n));
	uint32_t	i = h & (2 * level - 1);

	return i < n ? i : h & (level - 1);
}

/* The slot whose keys were split when this one was filled; slot > 0. */
static inline uint32_t
tp_hash_parent(uint32_t slot)
{
	return slot & ~(UINT32_C(1) << (31 - __builtin_clz(slot)));
}

/* The buckets of a slot: the first entry of each, or TP_NONE. */
static inline uint32_t *
tp_hash_buckets(const tp_pool *pool, uint32_t slot)
{
	return &pool->buckets[tp_member_index(pool, slot) * pool->bucket_stride];
}

/* The chain of a key in a table of n members, n > 0. */
static inline uint32_t *
tp_hash_chain_in(const tp_pool *pool, uint64_t key, uint32_t n)
{
	uint32_t	slot = tp_linear_hash(key, n);
	uint64_t	bucket = (key >> 32) * pool->buckets_per_frame >> 32;

	return &tp_hash_buckets(pool, slot)[bucket];
}

/* The chain that an entry with this key is on; the pool has frames. */
static inline uint32_t *
tp_hash_chain_of(const tp_pool *pool, uint64_t key)
{
	return tp_hash_chain_in(pool, key, pool->header->frames);
}

/* Insert an entry, whose key is set. */
static inline void
tp_hash_insert(const tp_pool *pool, uint32_t entry, tp_hash_key key,
			   tp_hash_link link)
{
	uint32_t   *chain = tp_hash_chain_of(pool, key(pool, entry));

	*link(pool, entry) = *chain;
	*chain = entry;
}

/* The pointer to an entry in the table, for unlinking or replacing it. */
static inline uint32_t *
tp_hash_pointer_to(const tp_pool *pool, uint32_t entry, tp_hash_key key,
				   tp_hash_link link)
{
	uint32_t   *p = tp_hash_chain_of(pool, key(pool, entry));

	while (*p != entry)
		p = link(pool, *p);
	return p;
}

/* Move those entries of a chain that now belong to the last slot. */
static inline void
tp_hash_split(const tp_pool *pool, uint32_t *chain, uint32_t *bucket,
			  tp_hash_key key, tp_hash_link link)
{
	uint32_t	n = pool->header->frames;

	while (*chain != TP_NONE)
	{
		uint32_t	entry = *chain;

		if (tp_linear_hash(key(pool, entry), n) == n - 1)
		{
			*chain = *link(pool, entry);
			*link(pool, entry) = *bucket;
			*bucket = entry;
		}
		else
			chain = link(pool, entry);
	}
}

/* The pool has just gained the last of its members: fill its buckets. */
static inline void
tp_hash_join(const tp_pool *pool, tp_hash_key key, tp_hash_link link)
{
	uint32_t	last = pool->header->frames - 1;
	uint32_t   *added = tp_hash_buckets(pool, last);

	for (uint32_t b = 0; b < pool->buckets_per_frame; b++)
	{
		added[b] = TP_NONE;
		if (last > 0)
			tp_hash_split(pool, &tp_hash_buckets(pool, tp_hash_parent(last))[b],
						  &added[b], key, link);
	}
}

/*
 * The pool has just lost the last of its slots: append its chains to those
 * they were split from.  A table without frames has no entries.
 */
static inline void
tp_hash_leave(const tp_pool *pool, tp_hash_link link)
{
	uint32_t	last = pool->header->frames;
	uint32_t   *gone = tp_hash_buckets(pool, last);

	if (last == 0)
		return;
	for (uint32_t b = 0; b < pool->buckets_per_frame; b++)
	{
		uint32_t   *p = &tp_hash_buckets(pool, tp_hash_parent(last))[b];

		while (*p != TP_NONE)
			p = link(pool, *p);
		*p = gone[b];
	}
}

#endif							/* TIDEPOOL_HASH_H */
