/*
 * ghost.c
 *	  The ghost index.  See ghost.h.
 */
#include <string.h>

#include "tidepool/assertion.h"
#include "tidepool/parts/ghost.h"
#include "tidepool/standing.h"

/* ---- ghost lists ---- */

static void
link_head(const tp_pool *pool, unsigned list, uint32_t slot)
{
	tp_list    *l = tp_ghost_list_of(pool, list);
	tp_ghost   *ghost = &pool->ghosts[slot];

	ghost->list = (uint8_t) list;
	ghost->prev = TP_NONE;
	ghost->next = l->head;
	if (l->head != TP_NONE)
		pool->ghosts[l->head].prev = slot;
	else
		l->tail = slot;
	l->head = slot;
	l->count++;
}

static void
link_tail(const tp_pool *pool, unsigned list, uint32_t slot)
{
	tp_list    *l = tp_ghost_list_of(pool, list);
	tp_ghost   *ghost = &pool->ghosts[slot];

	ghost->list = (uint8_t) list;
	ghost->next = TP_NONE;
	ghost->prev = l->tail;
	if (l->tail != TP_NONE)
		pool->ghosts[l->tail].next = slot;
	else
		l->head = slot;
	l->tail = slot;
	l->count++;
}

static void
unlink_ghost(const tp_pool *pool, uint32_t slot)
{
	tp_ghost   *ghost = &pool->ghosts[slot];
	tp_list    *l = tp_ghost_list_of(pool, ghost->list);

	if (ghost->prev != TP_NONE)
		pool->ghosts[ghost->prev].next = ghost->next;
	else
		l->head = ghost->next;
	if (ghost->next != TP_NONE)
		pool->ghosts[ghost->next].prev = ghost->prev;
	else
		l->tail = ghost->prev;
	l->count--;
}

/* ---- as entries of the hash table ---- */

static uint64_t
key_of(const tp_pool *pool, uint32_t slot)
{
	return pool->ghosts[slot].key;
}

static uint32_t *
link_of(const tp_pool *pool, uint32_t slot)
{
	return &pool->ghosts[slot].chain;
}

static uint32_t *
pointer_to(const tp_pool *pool, uint32_t slot)
{
	return tp_hash_pointer_to(pool, slot, key_of, link_of);
}

/* Take a free slot for a ghost with this key, which is on no list yet. */
static uint32_t
take_slot(const tp_pool *pool, uint64_t key)
{
	uint32_t	slot = tp_ghost_list_of(pool, TP_FREE)->head;

	TP_ASSERT(slot != TP_NONE && tp_ghost_find(pool, key) == TP_NONE);
	unlink_ghost(pool, slot);
	pool->ghosts[slot].key = key;
	tp_hash_insert(pool, slot, key_of, link_of);
	pool->header->ghost_count++;
	return slot;
}

uint32_t
tp_ghost_push(const tp_pool *pool, unsigned list, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];
	uint32_t	slot;
	tp_ghost   *ghost;

	if (__builtin_expect(pool->header->recalling, 0))
		tp_recall_clean(pool, frame);
	slot = take_slot(pool, tp_page_key(tp_page_make(node->relation,
													node->block)));
	ghost = &pool->ghosts[slot];
	ghost->small[0] = ghost->small[1] = ghost->small[2] = 0;
	ghost->value = 0;
	link_head(pool, list, slot);
	node->origin = (uint8_t) list;
	return slot;
}

void
tp_ghost_append(const tp_pool *pool, const tp_memory *memory)
{
	uint32_t	slot = take_slot(pool, memory->key);
	tp_ghost   *ghost = &pool->ghosts[slot];

	ghost->value = memory->value;
	memcpy(ghost->small, memory->small, sizeof(ghost->small));
	link_tail(pool, memory->list, slot);
}

/*
 * Ghosts are mostly dropped from the tail of a list, and each drop walks a
 * chain.  Prefetch for the next four drops: the second ghost of the chain for
 * the first, the first ghost for the second, the chain for the third, the ghost
 * itself for the fourth.
 */
TP_PREFETCHES static inline void
prefetch_next_tails(const tp_pool *pool, uint32_t slot)
{
	const tp_ghost *ghost = &pool->ghosts[slot];

	if (ghost->next != TP_NONE || ghost->prev == TP_NONE)
		return;
	ghost = &pool->ghosts[ghost->prev];
	tp_ghost_prefetch_second(pool, ghost->key);
	if (ghost->prev == TP_NONE)
		return;
	ghost = &pool->ghosts[ghost->prev];
	tp_ghost_prefetch_first(pool, ghost->key);
	if (ghost->prev == TP_NONE)
		return;
	ghost = &pool->ghosts[ghost->prev];
	tp_ghost_prefetch_chain(pool, ghost->key);
	if (ghost->prev != TP_NONE)
		__builtin_prefetch(&pool->ghosts[ghost->prev]);
}

void
tp_ghost_remove(const tp_pool *pool, uint32_t slot)
{
	TP_ASSERT(pool->ghosts[slot].list != TP_FREE);
	prefetch_next_tails(pool, slot);
	*pointer_to(pool, slot) = pool->ghosts[slot].chain;
	unlink_ghost(pool, slot);
	link_head(pool, TP_FREE, slot);
	pool->header->ghost_count--;
}

void
tp_trim_ghosts(const tp_pool *pool, uint32_t limit)
{
	for (unsigned list = TP_MAX_GHOST_LISTS - 1; list > TP_FREE; list--)
		while (pool->header->ghost_count > limit &&
			   tp_ghost_drop_tail(pool, list))
			;
}

/* ---- frames come and go ---- */

static void
slot_appears(const tp_pool *pool, uint32_t slot)
{
	link_head(pool, TP_FREE, slot);
}

/* The frame is the last of members already, and counted in frames. */
void
tp_ghosts_join(const tp_pool *pool, uint32_t frame)
{
	uint32_t	per_frame = pool->ghosts_per_frame;

	if (per_frame == 0)
		return;
	tp_hash_join(pool, key_of, link_of);
	for (uint32_t k = 0; k < per_frame; k++)
		slot_appears(pool, frame * pool->ghost_stride + k);
}

/* Move a ghost to the free slot `to`; its old slot becomes free. */
static void
relocate(const tp_pool *pool, uint32_t from, uint32_t to)
{
	tp_ghost   *ghost = &pool->ghosts[from];
	tp_list    *l = tp_ghost_list_of(pool, ghost->list);

	unlink_ghost(pool, to);
	*pointer_to(pool, from) = to;
	pool->ghosts[to] = *ghost;
	if (ghost->prev != TP_NONE)
		pool->ghosts[ghost->prev].next = to;
	else
		l->head = to;
	if (ghost->next != TP_NONE)
		pool->ghosts[ghost->next].prev = to;
	else
		l->tail = to;
	link_head(pool, TP_FREE, from);
}

/*
 * The frame is still in members and counted in frames.  At most
 * (frames - 1) * ghosts_per_frame + 1 ghosts are in use.
 */
void
tp_ghosts_move_out(const tp_pool *pool, uint32_t frame)
{
	uint32_t	per_frame = pool->ghosts_per_frame;
	uint32_t	first = frame * pool->ghost_stride;

	for (uint32_t k = 0; k < per_frame; k++)
		if (pool->ghosts[first + k].list == TP_FREE)
			unlink_ghost(pool, first + k);
	for (uint32_t k = 0; k < per_frame; k++)
		if (pool->ghosts[first + k].list != TP_FREE)
		{
			relocate(pool, first + k, tp_ghost_list_of(pool, TP_FREE)->head);
			unlink_ghost(pool, first + k);
		}
}

/* The last slot is gone, and no longer counted in frames. */
void
tp_ghosts_leave(const tp_pool *pool)
{
	if (pool->ghosts_per_frame > 0)
		tp_hash_leave(pool, link_of);
}

/* ---- verification ---- */

/* The chains hold these ghosts, each in its bucket. */
static int
check_buckets(const tp_pool *pool, uint64_t ghosts, tp_report report, void *arg)
{
	uint32_t	frames = pool->header->frames;
	uint32_t	per_frame = pool->buckets_per_frame;
	int			bad = 0;

	for (uint64_t i = 0; i < (uint64_t) frames * per_frame; i++)
	{
		uint32_t   *bucket = &tp_hash_buckets(pool, (uint32_t) (i / per_frame))[i % per_frame];

		for (uint32_t slot = *bucket; slot != TP_NONE && ghosts > 0;
			 slot = pool->ghosts[slot].chain)
		{
			bad += tp_expect(tp_hash_chain_of(pool, pool->ghosts[slot].key) ==
							 bucket, "ghost in the wrong bucket", slot, report, arg);
			bad += tp_expect(pool->ghosts[slot].list != TP_FREE,
							 "free ghost in a bucket", slot, report, arg);
			ghosts--;
		}
	}
	return bad + tp_expect(ghosts == 0 || frames == 0, "ghost in no bucket", 0,
						   report, arg);
}

int
tp_ghosts_check(const tp_pool *pool, tp_report report, void *arg)
{
	tp_header  *header = pool->header;
	uint64_t	slots = (uint64_t) header->frames * pool->ghosts_per_frame;
	uint64_t	listed = 0;
	uint64_t	hashed = 0;
	int			bad = 0;

	if (pool->ghosts_per_frame == 0)
		return tp_expect(header->ghost_count == 0, "ghosts without slots", 0,
						 report, arg);
	slots++;					/* the spare one */
	for (unsigned list = 0; list < TP_MAX_GHOST_LISTS; list++)
	{
		tp_list    *l = tp_ghost_list_of(pool, list);
		uint32_t	prev = TP_NONE;
		uint32_t	count = 0;

		for (uint32_t slot = l->head; slot != TP_NONE && count <= slots;
			 slot = pool->ghosts[slot].next)
		{
			bad += tp_expect(pool->ghosts[slot].list == list,
							 "ghost on a list it is not tagged with", slot, report, arg);
			bad += tp_expect(pool->ghosts[slot].prev == prev,
							 "ghost list: wrong backward link", slot, report, arg);
			bad += tp_expect(slot == pool->spare_ghost ||
							 pool->nodes[slot / pool->ghost_stride].slot <
							 header->frames,
							 "ghost in a slot the pool does not own", slot, report, arg);
			prev = slot;
			count++;
		}
		bad += tp_expect(count == l->count, "ghost list: wrong count", list,
						 report, arg);
		bad += tp_expect(l->tail == prev, "ghost list: wrong tail", list, report,
						 arg);
		listed += count;
		if (list != TP_FREE)
			hashed += count;
	}
	bad += tp_expect(listed == slots, "ghost slots lost or listed twice", 0,
					 report, arg);
	bad += tp_expect(hashed == header->ghost_count, "wrong number of ghosts",
					 header->ghost_count, report, arg);
	return bad + check_buckets(pool, hashed, report, arg);
}
