/*
 * group_index.h
 *	  The block groups of a pool, by relation and number.  A group exists from
 *	  its first page to its last.
 *
 * Uses the pool's hash table, so the policy has no ghosts.  The policy calls
 * block_groups_join and _leave from its join and leave.
 *
 * Costs: a lookup is three dependent loads, as for a ghost.
 * Benefits: all operations are O(1); memory does not depend on the size of the
 * relations.
 */
#ifndef TIDEPOOL_GROUP_INDEX_H
#define TIDEPOOL_GROUP_INDEX_H

#include "tidepool/parts/hash.h"

#include "prediction/block_group.h"

/* ---- the hash table ---- */

static inline uint64_t
group_key(const tp_pool *pool, uint32_t group)
{
	return tp_page_key(group_of_frame(pool, group));
}

static inline uint32_t *
group_chain(const tp_pool *pool, uint32_t group)
{
	return &group_at(pool, group)->chain;
}

/* The block group of a page, or TP_NONE.  The pool has frames. */
static inline uint32_t
group_find(const tp_pool *pool, tp_page page)
{
	tp_page		wanted = group_of_page(page);
	uint32_t	group = *tp_hash_chain_of(pool, tp_page_key(wanted));

	while (group != TP_NONE &&
		   !tp_page_equal(group_of_frame(pool, group), wanted))
		group = *group_chain(pool, group);
	return group;
}

static inline void
block_groups_join(const tp_pool *pool)
{
	tp_hash_join(pool, group_key, group_chain);
}

static inline void
block_groups_leave(const tp_pool *pool)
{
	tp_hash_leave(pool, group_chain);
}

/* ---- pages come and go ---- */

/* Make the group of this frame's page.  The caller puts it on a list. */
static inline void
group_begin(const tp_pool *pool, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];
	block_group *record = group_at(pool, frame);

	node->mark = 1;
	node->prev = node->next = frame;
	record->lowest = record->highest =
		(uint8_t) (node->block % TP_BLOCK_GROUP);
	record->next_access = GROUP_NEVER;
	tp_hash_insert(pool, frame, group_key, group_chain);
}

/* The page in this frame joins the group. */
static inline void
group_add(const tp_pool *pool, uint32_t group, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];
	tp_node    *host = &pool->nodes[group];
	block_group *record = group_at(pool, group);
	uint8_t		block = (uint8_t) (node->block % TP_BLOCK_GROUP);

	node->mark = 0;
	node->prev = group;
	node->next = host->next;
	pool->nodes[host->next].prev = frame;
	host->next = frame;
	if (block < record->lowest)
		record->lowest = block;
	if (block > record->highest)
		record->highest = block;
}

/* Another of the group's frames becomes the host of its record. */
static inline void
group_move(const tp_pool *pool, uint32_t from, uint32_t to)
{
	const list_links *links = links_of(pool, from);

	*group_at(pool, to) = *group_at(pool, from);
	links_of(pool, links->prev)->next = to;
	links_of(pool, links->next)->prev = to;
	*tp_hash_pointer_to(pool, from, group_key, group_chain) = to;
	pool->nodes[from].mark = 0;
	pool->nodes[to].mark = 1;
}

/* The page in this frame leaves its group; the last one ends the group. */
static inline void
group_remove(const tp_pool *pool, uint32_t frame)
{
	tp_node    *node = &pool->nodes[frame];

	if (is_host(pool, frame) && node->next != frame)
		group_move(pool, frame, node->next);
	if (is_host(pool, frame))
	{
		group_list_remove(pool, frame);
		*tp_hash_pointer_to(pool, frame, group_key, group_chain) =
			*group_chain(pool, frame);
		node->mark = 0;
	}
	pool->nodes[node->prev].next = node->next;
	pool->nodes[node->next].prev = node->prev;
}

/* ---- verification ---- */

/* Pages of a group; frames + 1 if its circle does not close. */
static inline uint32_t
group_pages(const tp_pool *pool, uint32_t group)
{
	uint32_t	pages = 1;

	for (uint32_t frame = pool->nodes[group].next;
		 frame != group && pages <= pool->header->frames;
		 frame = pool->nodes[frame].next)
		pages++;
	return pages;
}

static inline uint32_t
block_groups_count(const tp_pool *pool)
{
	uint32_t	groups = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
		if (tp_is_resident(pool, tp_member(pool, i)))
			groups += is_host(pool, tp_member(pool, i));
	return groups;
}

/* For a policy's check: each page on this ring is in its block group, once. */
static inline int
block_groups_check(const tp_pool *pool, unsigned ring, tp_report report,
				   void *arg)
{
	uint64_t	pages = 0;
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames && bad == 0; i++)
	{
		uint32_t	frame = tp_member(pool, i);
		const tp_node *node = &pool->nodes[frame];
		uint32_t	group;

		if (node->list != ring)
			continue;
		group = group_find(pool, tp_page_of(pool, frame));
		bad += tp_expect(group != TP_NONE && is_host(pool, group),
						 "page without a block group", frame, report, arg);
		bad += tp_expect(pool->nodes[node->next].prev == frame,
						 "block group: wrong backward link", frame, report, arg);
		bad += tp_expect(tp_page_equal(group_of_frame(pool, node->next),
									   group_of_frame(pool, frame)),
						 "page in another block group", frame, report, arg);
		if (bad > 0)
			break;
		bad += tp_expect(is_host(pool, frame) == (group == frame),
						 "two hosts of a block group", frame, report, arg);
		bad += tp_expect(node->block % TP_BLOCK_GROUP >= group_at(pool, group)->lowest &&
						 node->block % TP_BLOCK_GROUP <= group_at(pool, group)->highest,
						 "page outside of its block group's span", frame, report, arg);
		if (group == frame)
			pages += group_pages(pool, group);
	}
	return bad > 0 ? bad : tp_expect(pages == tp_list_of(pool, ring)->count,
									 "page outside of its block group's circle", 0, report, arg);
}

#endif							/* TIDEPOOL_GROUP_INDEX_H */
