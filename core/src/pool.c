/*
 * pool.c
 *	  Pools: initialisation, membership, verification.  See pool.h.
 */
#include <string.h>

#include "tidepool/pool.h"

_Static_assert(sizeof(tp_node) == 32, "a node is half a cache line");
_Static_assert(sizeof(tp_ghost) == 32, "a ghost is half a cache line");
_Static_assert(sizeof(tp_header) <= 2048, "a header is at most 2 KiB");

const tp_services tp_no_services = {0};

void
tp_pool_init(const tp_pool *pool, const double *params, uint64_t seed)
{
	const tp_policy *policy = pool->policy;
	tp_header  *header = pool->header;
	const tp_list empty = {TP_NONE, TP_NONE, 0};
	const tp_passed none = {TP_NONE, TP_NONE};

	memset(header, 0, sizeof(*header));
	if (params != NULL)
		memcpy(header->params, params, sizeof(header->params));
	else
		tp_policy_defaults(policy, header->params);
	for (unsigned i = 0; i < TP_MAX_LISTS; i++)
	{
		header->lists[i] = empty;
		header->passed[i] = none;
	}
	for (unsigned i = 0; i < TP_MAX_GHOST_LISTS; i++)
		header->ghost_lists[i] = empty;
	if (pool->ghosts_per_frame > 0)
	{
		tp_ghost   *spare = &pool->ghosts[pool->spare_ghost];

		memset(spare, 0, sizeof(*spare));
		spare->prev = spare->next = TP_NONE;
		header->ghost_lists[TP_FREE] = (tp_list)
		{
			pool->spare_ghost, pool->spare_ghost, 1
		};
	}
	tp_chooser_init(pool, seed, 0, 0);
	if (policy->init != NULL)
		policy->init(pool);
}

void
tp_chooser_init(const tp_pool *pool, uint64_t seed, uint32_t backend, uint32_t former)
{
	uint64_t	who = (uint64_t) former << 32 | backend;

	memset(pool->chooser, 0, sizeof(*pool->chooser));
	pool->chooser->random_state = who == 0 ? seed : tp_mix64(seed + tp_mix64(who));
	if (pool->policy->init_chooser != NULL)
		pool->policy->init_chooser(pool);
}

void
tp_share(const tp_pool *pool)
{
	TP_ASSERT(tp_can_share(pool));
	TP_ASSERT(pool->header->lists[TP_FREE].count == 0);
	pool->header->shared = true;
}

/* The pool is about to gain a member: make sure that it has a place for it. */
static void
take_chunk(const tp_pool *pool)
{
	uint32_t	slot = pool->header->frames;
	tp_free_chunks *free = pool->free_chunks;

	if (slot % TP_CHUNK == 0)
		__atomic_store_n(&pool->chunks[slot / TP_CHUNK],
						 free->begin[--free->count], __ATOMIC_RELAXED);
}

/* The pool has no member in this slot any more, nor in those above. */
static void
give_chunk(const tp_pool *pool, uint32_t slot)
{
	tp_free_chunks *free = pool->free_chunks;

	if (slot % TP_CHUNK == 0)
		free->begin[free->count++] = pool->chunks[slot / TP_CHUNK];
}

/* The pool has a member more, which is not on a list yet. */
static void
add_member(const tp_pool *pool, uint32_t frame)
{
	tp_header  *header = pool->header;
	tp_node    *node = &pool->nodes[frame];

	node->relation = 0;
	node->block = 0;
	node->generation++;
	node->count = 0;
	node->mark = 0;
	node->origin = TP_FREE;
	memset(tp_extra(pool, frame), 0, pool->policy->extra_size);
	take_chunk(pool);
	tp_place_member(pool, header->frames, frame);
	__atomic_store_n(&header->frames, header->frames + 1, __ATOMIC_RELAXED);
}

static void
tell_of_member(const tp_pool *pool, uint32_t frame)
{
	tp_ghosts_join(pool, frame);
	if (pool->policy->join != NULL)
		pool->policy->join(pool, frame);
}

void
tp_join(const tp_pool *pool, uint32_t frame)
{
	add_member(pool, frame);
	tp_list_push_tail(pool, TP_FREE, frame);
	tell_of_member(pool, frame);
}

void
tp_join_claimed(const tp_pool *pool, uint32_t frame)
{
	__atomic_store_n(&pool->nodes[frame].list, TP_CLAIMED | TP_FREE,
					 __ATOMIC_RELAXED);
	add_member(pool, frame);
	if (!pool->header->shared)
		pool->header->claimed++;
	tell_of_member(pool, frame);
}

void
tp_disband(const tp_pool *pool)
{
	tp_header  *header = pool->header;

	while (header->frames > 0)
	{
		header->frames--;
		pool->nodes[tp_member(pool, header->frames)].slot = TP_NONE;
		give_chunk(pool, header->frames);
	}
}

void
tp_restore(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	tp_node    *node = &pool->nodes[frame];
	unsigned	list = node->list & ~(unsigned) TP_CLAIMED;

	TP_ASSERT(tp_is_claimed(pool, frame) && list != TP_FREE);
	if (node->origin != TP_FREE)
	{
		uint32_t	ghost = tp_ghost_of_node(pool, frame);

		if (ghost != TP_NONE)
			tp_ghost_remove(pool, ghost);
		else
			node->origin = TP_FREE;
	}
	if (!pool->header->shared)
		pool->header->claimed--;
	__atomic_store_n(&node->generation, node->generation + 1, __ATOMIC_RELAXED);
	if (pool->policy->restore != NULL)
		pool->policy->restore(pool, list, frame, access);
	else if (tp_list_is_ring(pool->policy, list))
		tp_ring_add(pool, list, frame);
	else
		tp_list_put_back(pool, list, frame);
}

void
tp_leave(const tp_pool *pool, uint32_t frame)
{
	tp_header  *header = pool->header;
	tp_node    *node = &pool->nodes[frame];
	uint32_t	slot = node->slot;
	uint32_t	last = header->frames - 1;
	uint32_t	moved = tp_member(pool, last);

	TP_ASSERT(!tp_is_resident(pool, frame));
	if (tp_list_tag(pool, frame) == TP_FREE)
		tp_list_remove(pool, frame);
	else if (!header->shared)
		header->claimed--;

	/* all that the frame's departure leaves room for, the spare one too */
	tp_trim_ghosts(pool, last == 0 ? 0 : last * pool->ghosts_per_frame + 1);
	tp_ghosts_move_out(pool, frame);
	tp_place_member(pool, slot, moved);
	node->slot = TP_NONE;
	__atomic_store_n(&header->frames, last, __ATOMIC_RELAXED);
	tp_ghosts_leave(pool);
	if (pool->policy->leave != NULL)
		pool->policy->leave(pool, frame, slot);
	give_chunk(pool, last);
}

/* ---- verification ---- */

static int
check_members(const tp_pool *pool, tp_report report, void *arg)
{
	tp_header  *header = pool->header;
	uint32_t	counts[TP_MAX_LISTS] = {0};
	uint32_t	claimed = 0;
	int			bad = 0;

	for (uint32_t i = 0; i < header->frames; i++)
	{
		tp_node    *node = &pool->nodes[tp_member(pool, i)];

		bad += tp_expect(node->slot == i, "member does not know its slot",
						 tp_member(pool, i), report, arg);
		if (node->list >= TP_CLAIMED)
			claimed++;
		else if (node->list < TP_MAX_LISTS)
			counts[node->list]++;
		else
			bad += tp_expect(false, "frame on a list that is not there",
							 tp_member(pool, i), report, arg);
	}
	bad += tp_expect(header->shared || claimed == header->claimed,
					 "wrong number of claimed frames", claimed, report, arg);
	for (unsigned list = 0; list < TP_MAX_LISTS; list++)
	{
		bad += tp_expect(header->shared || counts[list] == header->lists[list].count,
						 "list count is not the number of frames on it", list,
						 report, arg);
		if (list > 0 && counts[list] > 0)
			bad += tp_expect(pool->policy->lists[list - 1].name != NULL,
							 "frames on a list without a name", list, report, arg);
	}
	return bad;
}

/* Are the passed frames at the tail, and the hand among them? */
static int
check_passed(const tp_pool *pool, unsigned list, tp_report report, void *arg)
{
	const tp_passed *passed = &pool->header->passed[list];
	uint32_t	frame = tp_list_of(pool, list)->tail;
	bool		hand_met = passed->hand == TP_NONE;

	if (passed->last == TP_NONE)
		return tp_expect(hand_met, "hand on a list without passed frames", list,
						 report, arg);
	while (frame != TP_NONE && frame != passed->last)
	{
		hand_met |= frame == passed->hand;
		frame = pool->nodes[frame].prev;
	}
	hand_met |= frame == passed->hand;
	return tp_expect(frame != TP_NONE, "last passed frame not on its list", list,
					 report, arg) +
		tp_expect(hand_met, "hand not at a passed frame", list, report, arg);
}

static int
check_list(const tp_pool *pool, unsigned list, tp_report report, void *arg)
{
	tp_list    *l = tp_list_of(pool, list);
	uint32_t	prev = TP_NONE;
	uint32_t	count = 0;
	int			bad = 0;

	for (uint32_t frame = l->head;
		 frame != TP_NONE && count <= pool->header->frames;
		 frame = pool->nodes[frame].next)
	{
		bad += tp_expect(pool->nodes[frame].list == list,
						 "frame on a list it is not tagged with", frame, report, arg);
		bad += tp_expect(pool->nodes[frame].prev == prev,
						 "wrong backward link", frame, report, arg);
		bad += tp_expect(pool->nodes[frame].slot < pool->header->frames,
						 "frame of another pool on a list", frame, report, arg);
		prev = frame;
		count++;
	}
	bad += tp_expect(count == l->count, "wrong list count", list, report, arg);
	bad += tp_expect(l->tail == prev, "wrong list tail", list, report, arg);
	return bad > 0 ? bad : check_passed(pool, list, report, arg);
}

int
tp_check(const tp_pool *pool, tp_holds holds, void *holds_arg,
		 tp_report report, void *arg)
{
	const tp_policy *policy = pool->policy;
	const tp_header *header = pool->header;
	int			bad = check_members(pool, report, arg);

	bad += check_list(pool, TP_FREE, report, arg);
	for (unsigned list = 1;
		 list < TP_MAX_LISTS && policy->lists[list - 1].name != NULL; list++)
		if (!tp_list_is_ring(policy, list))
			bad += check_list(pool, list, report, arg);
	bad += tp_ghosts_check(pool, report, arg);

	/* no page is both resident and a ghost */
	for (uint32_t i = 0; bad == 0 && !header->recalling && i < header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);

		if (tp_is_resident(pool, frame) &&
			tp_ghost_of_node(pool, frame) != TP_NONE &&
			(holds == NULL || holds(holds_arg, frame, tp_page_of(pool, frame))))
			bad += tp_expect(false, "ghost of a resident page", frame, report,
							 arg);
	}
	if (bad == 0 && policy->check != NULL)
		bad += policy->check(pool, report, arg);
	return bad;
}
