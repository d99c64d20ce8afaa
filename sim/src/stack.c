/*
 * stack.c
 *	  LRU stack distances in one pass.
 *
 * Source: R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation
 * techniques for storage hierarchies. IBM Systems Journal 9(2), 1970; the
 * tree: B. T. Bennett, V. J. Kruskal: LRU stack processing. IBM Journal of
 * Research and Development 19(4), 1975, as a binary indexed tree (P. M.
 * Fenwick, 1994).
 *
 * Each page is at the time of its last reference.  The stack distance of a
 * reference is one more than the number of times taken later than its own
 * page's.  Times are renumbered densely when they run out, so the tree is at
 * most four times as large as the number of places.
 *
 * A page that ceases to exist leaves a hole: a free frame in every cache that
 * held the page.  The hole keeps its place until a reference to a page below
 * it, or to a page not in the stack, pushes the pages above it down into it.
 * In the larger caches, where that reference hits, the frame is still free: the
 * hole moves to where the page came from.  So the curve is also LRU's for
 * traces with truncated and dropped tables.
 */
#include <stdlib.h>
#include <string.h>

#include "lastuse.h"

struct tps_stack
{
	uint64_t	warmup_left;
	uint64_t	requests;
	uint64_t	cold;
	lastuse		last;			/* page to its time */
	uint64_t	places;			/* times taken, by pages or holes */
	uint32_t   *tree;			/* [1 .. room]: Fenwick tree over the times, 1
								 * where one is taken */
	uint64_t   *page_at;		/* [1 .. room]: page referenced at a time */
	uint64_t   *holes;			/* their times, a heap with the latest on top */
	uint64_t	holes_count;
	uint64_t	holes_room;
	uint64_t	room;			/* number of times */
	uint64_t	now;			/* times used so far */
	uint64_t   *counts;			/* [d - 1] */
	uint64_t	counts_room;
	uint64_t	deepest;		/* largest d counted */
};

#define FIRST_ROOM 4096

tps_stack *
tps_stack_new(uint64_t warmup)
{
	tps_stack  *stack = calloc(1, sizeof(*stack));

	if (stack == NULL)
		return NULL;
	stack->warmup_left = warmup;
	stack->room = FIRST_ROOM;
	stack->tree = calloc(stack->room + 1, sizeof(*stack->tree));
	stack->page_at = malloc((stack->room + 1) * sizeof(*stack->page_at));
	if (!lastuse_init(&stack->last) || stack->tree == NULL ||
		stack->page_at == NULL)
	{
		tps_stack_free(stack);
		return NULL;
	}
	return stack;
}

void
tps_stack_free(tps_stack *stack)
{
	if (stack == NULL)
		return;
	lastuse_free(&stack->last);
	free(stack->tree);
	free(stack->page_at);
	free(stack->holes);
	free(stack->counts);
	free(stack);
}

/* ---- the tree: which times are taken ---- */

static void
add(tps_stack *stack, uint64_t time, uint32_t difference)
{
	for (; time <= stack->room; time += time & -time)
		stack->tree[time] += difference;	/* wraps for -1, as intended */
}

static void
take(tps_stack *stack, uint64_t time)
{
	add(stack, time, 1);
	stack->places++;
}

static void
give_up(tps_stack *stack, uint64_t time)
{
	add(stack, time, UINT32_MAX);
	stack->places--;
}

/* Times taken up to this one. */
static uint64_t
taken_up_to(const tps_stack *stack, uint64_t time)
{
	uint64_t	sum = 0;

	for (; time > 0; time &= time - 1)
		sum += stack->tree[time];
	return sum;
}

/* Convert the tree to the array that it sums up: 1 where a time is taken. */
static void
unfold(uint32_t *tree, uint64_t room)
{
	for (uint64_t i = room; i > 0; i--)
		if (i + (i & -i) <= room)
			tree[i + (i & -i)] -= tree[i];
}

/* The reverse, for an array of n ones and then zeros. */
static void
fold_ones(uint32_t *tree, uint64_t n, uint64_t room)
{
	for (uint64_t i = 1; i <= room; i++)
	{
		uint64_t	parent = i + (i & -i);

		tree[i] += i <= n;
		if (parent <= room)
			tree[parent] += tree[i];
	}
}

/*
 * Times have run out: renumber the places 1, 2, 3 ... in order, and leave room
 * for at least three times as many after them.
 */
static bool
renumber(tps_stack *stack)
{
	uint64_t	room = stack->room;
	uint32_t	n = 0;
	uint32_t   *tree;
	uint64_t   *page_at;

	while (room < 4 * stack->places)
		room *= 2;
	tree = calloc(room + 1, sizeof(*tree));
	page_at = malloc((room + 1) * sizeof(*page_at));
	if (tree == NULL || page_at == NULL)
	{
		free(tree);
		free(page_at);
		return false;
	}
	unfold(stack->tree, stack->room);
	for (uint64_t time = 1; time <= stack->now; time++)
		if (stack->tree[time] != 0)
		{
			uint64_t   *last = lastuse_at(&stack->last, stack->page_at[time]);

			stack->tree[time] = ++n;	/* from here on: the new time */
			page_at[n] = stack->page_at[time];
			if (*last == time)
				*last = n;
		}

	/* their order does not change, so the heap stays one */
	for (uint64_t i = 0; i < stack->holes_count; i++)
		stack->holes[i] = stack->tree[stack->holes[i]];
	fold_ones(tree, n, room);
	free(stack->tree);
	free(stack->page_at);
	stack->tree = tree;
	stack->page_at = page_at;
	stack->room = room;
	stack->now = n;
	return true;
}

/* ---- holes ---- */

static bool
reserve_hole(tps_stack *stack)
{
	uint64_t	room = stack->holes_room == 0 ? 256 : 2 * stack->holes_room;
	uint64_t   *holes;

	if (stack->holes_count < stack->holes_room)
		return true;
	holes = realloc(stack->holes, room * sizeof(*holes));
	if (holes == NULL)
		return false;
	stack->holes = holes;
	stack->holes_room = room;
	return true;
}

/* The place at this time becomes a hole and stays taken.  A lastuse_gone. */
static bool
make_hole(void *arg, uint64_t time)
{
	tps_stack  *stack = arg;
	uint64_t	i;

	if (!reserve_hole(stack))
		return false;
	i = stack->holes_count++;
	while (i > 0 && stack->holes[(i - 1) / 2] < time)
	{
		stack->holes[i] = stack->holes[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	stack->holes[i] = time;
	return true;
}

/* The pages above the topmost hole move down into it. */
static void
fill_hole(tps_stack *stack)
{
	uint64_t	moved = stack->holes[--stack->holes_count];
	uint64_t	n = stack->holes_count;
	uint64_t	i = 0;

	give_up(stack, stack->holes[0]);
	for (;;)
	{
		uint64_t	child = 2 * i + 1;

		if (child + 1 < n && stack->holes[child + 1] > stack->holes[child])
			child++;
		if (child >= n || stack->holes[child] <= moved)
			break;
		stack->holes[i] = stack->holes[child];
		i = child;
	}
	stack->holes[i] = moved;
}

/* ---- references ---- */

static bool
count_distance(tps_stack *stack, uint64_t distance)
{
	if (distance > stack->counts_room)
	{
		uint64_t	room = stack->counts_room == 0 ? FIRST_ROOM :
			2 * stack->counts_room;
		uint64_t   *counts;

		while (room < distance)
			room *= 2;
		counts = realloc(stack->counts, room * sizeof(*counts));
		if (counts == NULL)
			return false;
		memset(counts + stack->counts_room, 0,
			   (room - stack->counts_room) * sizeof(*counts));
		stack->counts = counts;
		stack->counts_room = room;
	}
	stack->counts[distance - 1]++;
	if (distance > stack->deepest)
		stack->deepest = distance;
	return true;
}

static bool
reference(tps_stack *stack, uint64_t page)
{
	bool		counted = stack->warmup_left == 0;
	uint64_t   *last;
	uint64_t	time;

	if (!lastuse_reserve(&stack->last, page) ||
		(stack->now == stack->room && !renumber(stack)))
		return false;
	last = lastuse_at(&stack->last, page);
	time = *last;
	stack->requests += counted;
	stack->warmup_left -= !counted;
	if (time == LASTUSE_NEVER || time == LASTUSE_FORGOTTEN)
	{
		stack->cold += counted;
		if (stack->holes_count > 0)
			fill_hole(stack);
	}
	else
	{
		/* all places are at times up to now; this one among them */
		uint64_t	later = stack->places - taken_up_to(stack, time);

		if (counted && !count_distance(stack, later + 1))
			return false;
		if (stack->holes_count > 0 && stack->holes[0] > time)
		{
			fill_hole(stack);
			if (!make_hole(stack, time))
				return false;
		}
		else
			give_up(stack, time);
	}
	*last = ++stack->now;
	stack->page_at[stack->now] = page;
	take(stack, stack->now);
	return true;
}

bool
tps_stack_feed(tps_stack *stack, const tps_events *events)
{
	for (size_t i = 0; i < events->n; i++)
	{
		bool		ok = true;

		if (i + EVENTS_AHEAD < events->n)
			pagemap_prefetch(&stack->last.map, events->page[i + EVENTS_AHEAD]);
		if (event_is_reference(events, i))
			ok = reference(stack, events->page[i]);
		else if (event_kind(events, i) == EVENT_FORGET)
			ok = lastuse_forget(&stack->last, events, i, make_hole, stack);
		if (!ok)
			return false;
	}
	return true;
}

void
tps_stack_totals(const tps_stack *stack, uint64_t *requests, uint64_t *cold,
				 uint64_t *distinct)
{
	*requests = stack->requests;
	*cold = stack->cold;
	*distinct = stack->last.map.count;
}

size_t
tps_stack_histogram(const tps_stack *stack, const uint64_t **counts)
{
	*counts = stack->counts;
	return (size_t) stack->deepest;
}
