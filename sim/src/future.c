/*
 * future.c
 *	  The position of each page's next reference, in one forward pass: when a
 *	  page is referenced again, the entry of its previous reference is filled
 *	  in.
 */
#include <stdlib.h>

#include "tidepool/sim.h"

#include "events.h"
#include "pagemap.h"

struct tps_future
{
	pagemap		previous;		/* page to position of its last reference */
};

tps_future *
tps_future_new(void)
{
	tps_future *future = malloc(sizeof(*future));

	if (future != NULL && !pagemap_init(&future->previous))
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
	pagemap_free(&future->previous);
	free(future);
}

bool
tps_future_feed(tps_future *future, const tps_events *events, uint64_t *next_use)
{
	for (size_t i = 0; i < events->n; i++)
	{
		uint64_t	position = events->position + i;
		uint64_t   *previous;

		if (i + EVENTS_AHEAD < events->n)
			pagemap_prefetch(&future->previous, events->page[i + EVENTS_AHEAD]);
		if (next_use != NULL)
			next_use[position] = UINT64_MAX;
		if (!event_is_reference(events, i))
			continue;
		if (!pagemap_reserve(&future->previous))
			return false;
		previous = pagemap_at(&future->previous, events->page[i]);
		if (next_use != NULL && *previous != PAGEMAP_ABSENT)
			next_use[*previous] = position;
		*previous = position;
	}
	return true;
}

uint64_t
tps_future_distinct(const tps_future *future)
{
	return future->previous.count;
}
