/*-------------------------------------------------------------------------
 *
 * bufferpool_lists.h
 *	  Walks over the lists of a pool's algorithm.
 *
 * src/include/storage/bufferpool_lists.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_LISTS_H
#define BUFFERPOOL_LISTS_H

#include "storage/bufferpool_pool.h"

/* lists.c */

/* A row of a pool's lists. */
typedef struct BufferPoolListEntry
{
	const char *list;			/* name of the list */
	int			position;		/* from the most recent end, 0; -1: unknown */
	int			buf_id;			/* -1: a ghost */
	uint64		ghost_key;		/* tp_page_key of the page, if a ghost */
	uint32		ghost_slot;		/* likewise; valid while the lock is held */
	int			count;			/* usage count, frequency or mark */
} BufferPoolListEntry;

typedef void (*BufferPoolListCallback) (void *arg,
										const BufferPoolListEntry *entry);

typedef enum BufferPoolWalkStage
{
	BUFFERPOOL_WALK_LISTS,
	BUFFERPOOL_WALK_MOVED,		/* pages that moved behind the walk */
	BUFFERPOOL_WALK_GHOSTS,
	BUFFERPOOL_WALK_END
} BufferPoolWalkStage;

/*
 * Nodes that a walk remembers, 16 bytes each.  It loses its place only if all
 * of them have moved.  Then it looks for it from the head on; the rest of a ghost
 * list is not shown.  Chosen, not measured: more makes that rarer.
 */
#define BUFFERPOOL_WALK_ANCHORS 16

/* A node that a walk has visited, and its predecessor at that time. */
typedef struct BufferPoolListAnchor
{
	uint32		index;
	uint32		prev;
	uint64		identity;		/* of the page: generation, or ghost's key */
} BufferPoolListAnchor;

/*
 * A walk over the lists of a pool.  The caller provides the array shown, and
 * zero-initializes it and the rest.  lists.c explains the other fields.
 */
typedef struct BufferPoolListWalk
{
	bool	   *shown;			/* [buf_id]: has been shown */
	BufferPoolWalkStage stage;
	unsigned	list;			/* which list of this stage, from 1 */
	uint32		visited;		/* nodes of the list, or members of the pool */
	int			position;		/* of the next entry */
	bool		is_behind;		/* looking for its place from the head on */
	BufferPoolListAnchor anchors[BUFFERPOOL_WALK_ANCHORS];
} BufferPoolListWalk;

extern bool BufferPoolShowLists(const BufferPool *pool,
								BufferPoolListWalk *state, int max,
								BufferPoolListCallback callback, void *arg);

#endif							/* BUFFERPOOL_LISTS_H */
