/*
 * block_group.h
 *	  Block groups with pages in a pool, and lists of them.
 *
 * A block group is TP_BLOCK_GROUP consecutive blocks of a relation.  While the
 * pool holds pages of it, it has a record in the extra bytes of one of their
 * frames, its host.  The host's number is the group's.  So records need no
 * memory of their own.  If the host's page leaves first, the record moves to
 * another frame.
 *
 *	  frames of a group		a circle through node.prev and next.  The host is
 *							marked (node.mark); the page that joined last is
 *							next to it
 *	  groups of a list		a circle through links, which closes at the list's
 *							own links in the state.  Lists have numbers like
 *							groups, from FIRST_LIST on, so a group can be
 *							removed without knowing its list
 *	  groups of a bucket	of the pool's hash table: a chain through chain
 *							(group_index.h)
 *
 * A policy that uses block groups keeps their frames on one ring and begins its
 * state with an array of list_links.
 *
 * Memory: 24 bytes a frame.
 */
#ifndef TIDEPOOL_BLOCK_GROUP_H
#define TIDEPOOL_BLOCK_GROUP_H

#include "tidepool/pool.h"
#include "tidepool/prediction/scan.h"

/* Numbers of lists begin after those of frames. */
#define FIRST_LIST TP_MAX_FRAMES

typedef struct list_links
{
	uint32_t	prev;			/* towards the head; of a list: its tail */
	uint32_t	next;			/* towards the tail; of a list: its head */
} list_links;

typedef struct block_group
{
	list_links	links;			/* of its list */
	uint32_t	chain;			/* next group in the same bucket, or TP_NONE */
	uint8_t		lowest;			/* the lowest and the highest block within */
	uint8_t		highest;		/* the group that have joined it */
	uint64_t	next_access;	/* time in microseconds, as last estimated;
								 * GROUP_NEVER: not requested */
} block_group;

#define GROUP_NEVER UINT64_MAX

_Static_assert(TP_BLOCK_GROUP - 1 <= UINT8_MAX, "lowest and highest are bytes");

/* The record that this frame hosts. */
static inline block_group *
group_at(const tp_pool *pool, uint32_t host)
{
	return tp_extra(pool, host);
}

static inline bool
is_host(const tp_pool *pool, uint32_t frame)
{
	return pool->nodes[frame].mark != 0;
}

/* The page's block group: its relation and number, as a page. */
static inline tp_page
group_of_page(tp_page page)
{
	return tp_page_make(page.relation, page.block / TP_BLOCK_GROUP);
}

static inline tp_page
group_of_frame(const tp_pool *pool, uint32_t frame)
{
	return group_of_page(tp_page_of(pool, frame));
}

/* ---- lists ---- */

static inline list_links *
links_of(const tp_pool *pool, uint32_t group_or_list)
{
	if (group_or_list >= FIRST_LIST)
		return tp_state(pool, list_links) + (group_or_list - FIRST_LIST);
	return &group_at(pool, group_or_list)->links;
}

static inline void
group_list_init(const tp_pool *pool, uint32_t list)
{
	links_of(pool, list)->prev = links_of(pool, list)->next = list;
}

/* The group at the tail of a list; the list itself if it is empty. */
static inline uint32_t
group_list_tail(const tp_pool *pool, uint32_t list)
{
	return links_of(pool, list)->prev;
}

static inline bool
group_list_is_empty(const tp_pool *pool, uint32_t list)
{
	return group_list_tail(pool, list) == list;
}

static inline void
group_list_push_head(const tp_pool *pool, uint32_t list, uint32_t group)
{
	list_links *links = links_of(pool, group);
	list_links *l = links_of(pool, list);

	links->prev = list;
	links->next = l->next;
	links_of(pool, l->next)->prev = group;
	l->next = group;
}

static inline void
group_list_remove(const tp_pool *pool, uint32_t group)
{
	const list_links *links = links_of(pool, group);

	links_of(pool, links->prev)->next = links->next;
	links_of(pool, links->next)->prev = links->prev;
}

/* Move all groups of one list to the head of another. */
static inline void
group_list_prepend(const tp_pool *pool, uint32_t from, uint32_t to)
{
	list_links *source = links_of(pool, from);
	list_links *target = links_of(pool, to);

	if (group_list_is_empty(pool, from))
		return;
	links_of(pool, source->next)->prev = to;
	links_of(pool, source->prev)->next = target->next;
	links_of(pool, target->next)->prev = source->prev;
	target->next = source->next;
	group_list_init(pool, from);
}

/* ---- when it will be read ---- */

static inline double
group_wait(const tp_pool *pool, uint32_t group, uint32_t block, uint64_t now)
{
	tp_page		page = group_of_frame(pool, group);

	page.block = page.block * TP_BLOCK_GROUP + block;
	return tp_scan_next_access(pool->services->scans, page, now);
}

/*
 * Ask the running scans for the time of the next access: to the lowest or to
 * the highest block that has joined, whichever is sooner.
 */
static inline void
group_estimate(const tp_pool *pool, uint32_t group, uint64_t now)
{
	const double longest = (double) (UINT64_C(1) << 62);
	block_group *record = group_at(pool, group);
	double		wait = TP_NEVER;

	if (pool->services->scans != NULL)
	{
		double		other = group_wait(pool, group, record->highest, now);

		wait = group_wait(pool, group, record->lowest, now);
		wait = wait < other ? wait : other;
	}
	if (wait == TP_NEVER)
		record->next_access = GROUP_NEVER;
	else
		record->next_access = now + (uint64_t) (wait < longest ? wait : longest);
}

#endif							/* TIDEPOOL_BLOCK_GROUP_H */
