/*
 * classes.c
 *	  Classifying reads as sequential or random, as the device sees them.
 */
#include <stdlib.h>

#include "tidepool/ssd.h"
#include "tidepool/tier/streams.h"

#include "cache.h"
#include "events.h"

struct tps_classes
{
	tp_streams	reads;
};

tps_classes *
tps_classes_new(void)
{
	return calloc(1, sizeof(tps_classes));
}

void
tps_classes_free(tps_classes *classes)
{
	free(classes);
}

void
tps_classes_feed(tps_classes *classes, const tps_events *events,
				 uint8_t *sequential)
{
	for (size_t i = 0; i < events->n; i++)
		sequential[i] = event_kind(events, i) == EVENT_READ &&
			tp_streams_access(&classes->reads, cache_page(events->page[i]));
}
