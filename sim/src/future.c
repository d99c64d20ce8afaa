/*
 * future.c
 *	  The position of each page's next reference, in one forward pass: when a
 *	  page is referenced again, the entry of its previous reference is filled
 *	  in, unless the page ceased to exist in between: no cache gains from
 *	  keeping such a page.
 */
#include <stdlib.h>

#include "lastuse.h"

struct tps_future
{
	lastuse		previous;		/* page to position of its last reference */
};

tps_future *
tps_future_new(void)
{
	tps_future *future = malloc(sizeof(*future));

	if (future != NULL && !lastuse_init(&future->previous))
	{
		free(future);
		return NULL;
	}
	return future;
}

void
tps_future_free(tps_future *future)
{
	if (future == NULL)
		return;
	lastuse_free(&future->previous);
	free(future);
}

static bool
reference(tps_future *future, uint64_t page, uint64_t position,
		  uint64_t *next_use)
{
	uint64_t   *previous;

	if (!lastuse_reserve(&future->previous, page))
		return false;
	previous = lastuse_at(&future->previous, page);
	if (next_use != NULL && *previous != LASTUSE_NEVER &&
		*previous != LASTUSE_FORGOTTEN)
		next_use[*previous] = position;
	*previous = position;
	return true;
}

bool
tps_future_feed(tps_future *future, const tps_events *events, uint64_t *next_use)
{
	for (size_t i = 0; i < events->n; i++)
	{
		uint64_t	position = events->position + i;
		bool		ok = true;

		if (i + EVENTS_AHEAD < events->n)
			pagemap_prefetch(&future->previous.map,
							 events->page[i + EVENTS_AHEAD]);
		if (next_use != NULL)
			next_use[position] = UINT64_MAX;
		if (event_is_reference(events, i))
			ok = reference(future, events->page[i], position, next_use);
		else if (event_kind(events, i) == EVENT_FORGET)
			ok = lastuse_forget(&future->previous, events, i, NULL, NULL);
		if (!ok)
			return false;
	}
	return true;
}

uint64_t
tps_future_distinct(const tps_future *future)
{
	return future->previous.map.count;
}
