/*
 * repetitions.c
 *	  Finding references that repeat their backend's previous one.
 */
#include <stdlib.h>

#include "backends.h"
#include "events.h"

struct tps_repetitions
{
	uint64_t	window;			/* microseconds */
	backend_state backends[BACKEND_SLOTS];
};

tps_repetitions *
tps_repetitions_new(uint64_t window)
{
	tps_repetitions *repetitions = calloc(1, sizeof(*repetitions));

	if (repetitions != NULL)
		repetitions->window = window;
	return repetitions;
}

void
tps_repetitions_free(tps_repetitions *repetitions)
{
	free(repetitions);
}

void
tps_repetitions_feed(tps_repetitions *repetitions, const tps_events *events,
					 uint16_t *flags)
{
	for (size_t i = 0; i < events->n; i++)
	{
		uint32_t	backend = events->backend == NULL ? 0 : events->backend[i];

		flags[i] = events->flags == NULL ? 0 : events->flags[i];
		if (event_is_reference(events, i) &&
			backend_repeats(backend_of(repetitions->backends, backend),
							backend, events->page[i], event_time(events, i),
							repetitions->window))
			flags[i] |= TP_CORRELATED;
	}
}
