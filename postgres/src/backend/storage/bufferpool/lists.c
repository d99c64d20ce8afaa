/*-------------------------------------------------------------------------
 *
 * lists.c
 *	  The lists of a policy, shown a slice at a time.
 *
 * The pool's lock is held for one slice only, so the lists change while they
 * are read.  Guarantees:
 *
 *	  - A frame is shown at most once: the caller's array marks those shown.
 *	  - A page that stays in its frame throughout is shown.  If it moved from
 *		the unread part to the part already read, a final pass over the pool's
 *		members finds it; it then has no rank.
 *	  - Ghosts may be missed or, rarely, shown twice.
 *
 * Between slices, the last few nodes visited (anchors) remember the place in a
 * linked list.  An anchor has not moved if it still has the same page and the
 * same predecessor; the walk continues with its successor.  If all anchors
 * have moved, the walk begins at the list's head again and passes over what
 * has been shown; what came in ahead of that meanwhile is left to the pass over
 * the members.  A ghost list ends there: nothing says which ghosts were shown.
 *
 * src/backend/storage/bufferpool/lists.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"

/*
 * A walk over a list visits at most this many times as many nodes as there can
 * be.  Chosen, not measured: each lost place takes less than one round.
 */
#define MOST_ROUNDS 4

/* One slice of a walk over a pool's lists. */
typedef struct Walk
{
	const tp_pool *pool;
	BufferPoolListWalk *state;
	int			steps;			/* left in this slice */
	BufferPoolListCallback callback;
	void	   *arg;
} Walk;

/* What frames and ghosts have in common. */
typedef struct Link
{
	uint64		identity;		/* changes when the node gets another page */
	uint32		prev;
	uint32		next;
	unsigned	list;
} Link;

static Link
link_of(const Walk *walk, uint32 index)
{
	if (walk->state->stage == BUFFERPOOL_WALK_GHOSTS)
	{
		const tp_ghost *ghost = &walk->pool->ghosts[index];

		return (Link)
		{
			ghost->key, ghost->prev, ghost->next, ghost->list
		};
	}
	else
	{
		const tp_node *node = &walk->pool->nodes[index];

		return (Link)
		{
			node->generation, node->prev, node->next, node->list
		};
	}
}

/* ---- entries ---- */

static void
show_frame(Walk *walk, uint32 frame, int position)
{
	const tp_node *node = &walk->pool->nodes[frame];
	BufferPoolListEntry entry = {0};

	entry.list = walk->pool->policy->lists[node->list - 1].name;
	entry.position = position;
	entry.buf_id = frame;
	entry.count = node->count;
	walk->state->shown[frame] = true;
	walk->callback(walk->arg, &entry);
}

static void
show_ghost(Walk *walk, uint32 slot, int position)
{
	const tp_ghost *ghost = &walk->pool->ghosts[slot];
	BufferPoolListEntry entry = {0};

	entry.list = walk->pool->policy->ghost_lists[ghost->list - 1];
	entry.position = position;
	entry.buf_id = -1;
	entry.ghost_key = ghost->key;
	entry.ghost_slot = slot;
	walk->callback(walk->arg, &entry);
}

/* ---- linked lists ---- */

static void
remember(Walk *walk, uint32 index)
{
	BufferPoolListWalk *state = walk->state;
	Link		link = link_of(walk, index);

	state->anchors[state->visited++ % BUFFERPOOL_WALK_ANCHORS] =
		(BufferPoolListAnchor)
	{
		index, link.prev, link.identity
	};
}

/* Has the walk visited this node?  Of ghosts, only the anchors are known. */
static bool
was_visited(const Walk *walk, uint32 index)
{
	const BufferPoolListWalk *state = walk->state;

	if (state->stage != BUFFERPOOL_WALK_GHOSTS)
		return state->shown[index];
	for (uint32 i = 0; i < Min(state->visited, BUFFERPOOL_WALK_ANCHORS); i++)
		if (state->anchors[i].index == index &&
			state->anchors[i].identity == link_of(walk, index).identity)
			return true;
	return false;
}

/*
 * The node at which a walk over a list resumes: the first one not visited
 * behind the latest anchor that has not moved, TP_NONE if there is nothing.
 * Without such an anchor, the head of a list of frames.
 */
static uint32
find_place(Walk *walk, unsigned list, uint32 head)
{
	BufferPoolListWalk *state = walk->state;

	for (uint32 back = 1; back <= Min(state->visited, BUFFERPOOL_WALK_ANCHORS);
		 back++)
	{
		const BufferPoolListAnchor *anchor =
			&state->anchors[(state->visited - back) % BUFFERPOOL_WALK_ANCHORS];
		Link		link = link_of(walk, anchor->index);
		uint32		index = link.next;

		if (link.list != list || link.identity != anchor->identity ||
			link.prev != anchor->prev)
			continue;
		for (int i = 0; i < BUFFERPOOL_WALK_ANCHORS && index != TP_NONE &&
			 was_visited(walk, index); i++)
			index = link_of(walk, index).next;
		return index;
	}
	if (state->stage == BUFFERPOOL_WALK_GHOSTS)
		return TP_NONE;
	state->is_behind = true;
	return head;
}

/*
 * Returns whether the end of the list was reached.  The walk also ends after a
 * bounded number of visits, in case nodes keep moving to behind its place, or
 * it keeps losing it.
 */
static bool
walk_linked(Walk *walk, unsigned list, uint32 head)
{
	BufferPoolListWalk *state = walk->state;
	uint64		frames = walk->pool->header->frames;
	uint64		most = MOST_ROUNDS * frames * Max(walk->pool->ghosts_per_frame, 1);
	uint32		index = state->visited == 0 ? head : find_place(walk, list, head);

	if (state->visited > most)
		return true;
	while (index != TP_NONE && walk->steps > 0)
	{
		if (state->stage == BUFFERPOOL_WALK_GHOSTS)
			show_ghost(walk, index, state->position++);
		else if (state->shown[index])
			state->is_behind = false;
		else if (!state->is_behind)
			show_frame(walk, index, state->position++);
		remember(walk, index);
		index = link_of(walk, index).next;
		walk->steps--;
	}
	return index == TP_NONE;
}

/* ---- members ---- */

/*
 * Show the frames on this list, a ring.  With TP_FREE: show the frames on any
 * list that have not been shown yet, without a rank.  Returns whether all
 * members were seen.
 */
static bool
walk_members(Walk *walk, unsigned ring)
{
	const tp_pool *pool = walk->pool;
	BufferPoolListWalk *state = walk->state;

	for (; state->visited < pool->header->frames && walk->steps > 0;
		 state->visited++, walk->steps--)
	{
		uint32		frame = tp_member(pool, state->visited);

		if (state->shown[frame] || !tp_is_resident(pool, frame))
			continue;
		if (ring == TP_FREE)
			show_frame(walk, frame, -1);
		else if (pool->nodes[frame].list == ring)
			show_frame(walk, frame, state->position++);
	}
	return state->visited >= pool->header->frames;
}

/* ---- the walk ---- */

/*
 * Show the list that the walk has reached.  Returns whether its end was
 * reached.
 */
static bool
walk_list(Walk *walk)
{
	const tp_pool *pool = walk->pool;
	unsigned	list = walk->state->list;

	switch (walk->state->stage)
	{
		case BUFFERPOOL_WALK_LISTS:
			return tp_list_is_ring(pool->policy, list) ?
				walk_members(walk, list) :
				walk_linked(walk, list, tp_list_of(pool, list)->head);
		case BUFFERPOOL_WALK_MOVED:
			return walk_members(walk, TP_FREE);
		case BUFFERPOOL_WALK_GHOSTS:
			return walk_linked(walk, list, tp_ghost_list_of(pool, list)->head);
		case BUFFERPOOL_WALK_END:
			break;
	}
	return true;
}

/* Does this stage have a list of this number? */
static bool
has_list(const tp_policy *policy, BufferPoolWalkStage stage, unsigned list)
{
	switch (stage)
	{
		case BUFFERPOOL_WALK_LISTS:
			return list < TP_MAX_LISTS && policy->lists[list - 1].name != NULL;
		case BUFFERPOOL_WALK_MOVED:
			return list == 1;
		case BUFFERPOOL_WALK_GHOSTS:
			return list < TP_MAX_GHOST_LISTS &&
				policy->ghost_lists[list - 1] != NULL;
		case BUFFERPOOL_WALK_END:
			break;
	}
	return false;
}

/*
 * Show a slice of the lists and the ghost lists, each from its most recent end,
 * in at most max steps.  Returns false after the last slice.  The caller holds
 * the pool's lock, and releases it between two slices.
 */
bool
BufferPoolShowLists(const BufferPool *pool, BufferPoolListWalk *state, int max,
					BufferPoolListCallback callback, void *arg)
{
	Walk		walk = {&pool->core, state, max, callback, arg};

	while (state->stage != BUFFERPOOL_WALK_END && walk.steps > 0)
	{
		if (state->list == 0)
			state->list = 1;
		if (!has_list(pool->core.policy, state->stage, state->list))
		{
			state->stage++;
			state->list = 0;
		}
		else if (walk_list(&walk))
			state->list++;
		else
			continue;
		state->visited = 0;
		state->position = 0;
		state->is_behind = false;
	}
	return state->stage != BUFFERPOOL_WALK_END;
}
