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
 * Every page stands at the time of its last reference.  The stack distance of
 * a reference is one more than the number of pages that stand later than its
 * own page did.  Times are renumbered densely when they run out, so the tree
 * is at most four times as large as there are pages.
 */
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "pagemap.h"

struct tps_stack
{
	uint64_t	warmup_left;
	uint64_t	requests;
	uint64_t	cold;
	pagemap		last;			/* page to its time */
	uint32_t   *tree;			/* [1 .. room]: Fenwick tree over times */
	uint64_t   *page_at;		/* [1 .. room]: page that stands at a time */
	uint64_t	room;			/* times there are */
	uint64_t	now;			/* times given out */
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
	if (!pagemap_init(&stack->last) || stack->tree == NULL ||
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
	pagemap_free(&stack->last);
	free(stack->tree);
	free(stack->page_at);
	free(stack->counts);
	free(stack);
}

/* ---- the tree: which times a page stands at ---- */

static void
add(tps_stack *stack, uint64_t time, uint32_t difference)
{
	for (; time <= stack->room; time += time & -time)
		stack->tree[time] += difference;	/* wraps for -1, as intended */
}

/* Pages that stand at times up to this one. */
static uint64_t
standing_up_to(const tps_stack *stack, uint64_t time)
{
	uint64_t	sum = 0;

	for (; time > 0; time &= time - 1)
		sum += stack->tree[time];
	return sum;
}

/*
 * Times have run out: renumber the pages 1, 2, 3 ... in their order, and
 * leave at least three times as much room behind them.
 */
static bool
renumber(tps_stack *stack)
{
	uint64_t	pages = stack->last.count;
	uint64_t	room = stack->room;
	uint64_t	n = 0;
	uint32_t   *tree;
	uint64_t   *page_at;

	while (room < 4 * pages)
		room *= 2;
	tree = calloc(room + 1, sizeof(*tree));
	page_at = malloc((room + 1) * sizeof(*page_at));
	if (tree == NULL || page_at == NULL)
	{
		free(tree);
		free(page_at);
		return false;
	}
	for (uint64_t time = 1; time <= stack->now; time++)
	{
		uint64_t   *last = pagemap_at(&stack->last, stack->page_at[time]);

		if (*last == time)
		{
			page_at[++n] = stack->page_at[time];
			*last = n;
		}
	}

	/* a tree over n ones and then zeros, in linear time */
	for (uint64_t i = 1; i <= room; i++)
	{
		uint64_t	parent = i + (i & -i);

		tree[i] += i <= n;
		if (parent <= room)
			tree[parent] += tree[i];
	}
	free(stack->tree);
	free(stack->page_at);
	stack->tree = tree;
	stack->page_at = page_at;
	stack->room = room;
	stack->now = n;
	return true;
}

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

	if (!pagemap_reserve(&stack->last) ||
		(stack->now == stack->room && !renumber(stack)))
		return false;
	last = pagemap_at(&stack->last, page);
	stack->requests += counted;
	stack->warmup_left -= !counted;
	if (*last == PAGEMAP_ABSENT)
		stack->cold += counted;
	else
	{
		/* all pages stand at times up to now; this one among them */
		uint64_t	later = stack->last.count - standing_up_to(stack, *last);

		if (counted && !count_distance(stack, later + 1))
			return false;
		add(stack, *last, UINT32_MAX);
	}
	*last = ++stack->now;
	stack->page_at[stack->now] = page;
	add(stack, stack->now, 1);
	return true;
}

bool
tps_stack_feed(tps_stack *stack, const tps_events *events)
{
	for (size_t i = 0; i < events->n; i++)
	{
		if (i + EVENTS_AHEAD < events->n)
			pagemap_prefetch(&stack->last, events->page[i + EVENTS_AHEAD]);
		if (event_is_reference(events, i) && !reference(stack, events->page[i]))
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
	*distinct = stack->last.count;
}

size_t
tps_stack_histogram(const tps_stack *stack, const uint64_t **counts)
{
	*counts = stack->counts;
	return (size_t) stack->deepest;
}
