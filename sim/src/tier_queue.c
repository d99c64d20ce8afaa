/*
 * tier_queue.c
 *	  See tier_queue.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tier_queue.h"

bool
tier_queue_init(tier_queue *queue, uint32_t room, uint32_t capacity,
				double each)
{
	memset(queue, 0, sizeof(*queue));
	queue->each = each;
	if (room == 0)
		return true;
	queue->room = room;
	queue->frames = malloc(((size_t) room + 1) * sizeof(*queue->frames));
	queue->waiting = calloc(capacity, 1);
	return queue->frames != NULL && queue->waiting != NULL;
}

void
tier_queue_free(tier_queue *queue)
{
	free(queue->frames);
	free(queue->waiting);
}

static void
take_out(tier_queue *queue, uint32_t i)
{
	queue->waiting[queue->frames[i]] = 0;
	queue->n--;
	memmove(&queue->frames[i], &queue->frames[i + 1],
			(queue->n - i) * sizeof(*queue->frames));
}

uint32_t
tier_queue_drain(tier_queue *queue, double now)
{
	uint32_t	done = 0;

	while (done < queue->n && queue->idle_since + queue->each <= now)
	{
		queue->idle_since += queue->each;
		queue->waiting[queue->frames[done++]] = 0;
	}
	if (done == 0)
		return 0;
	queue->n -= done;
	memmove(queue->frames, queue->frames + done,
			queue->n * sizeof(*queue->frames));
	return done;
}

bool
tier_queue_add(tier_queue *queue, uint32_t frame, double now)
{
	if (queue->waiting[frame])
		return false;
	if (queue->n == 0)
		queue->idle_since = now;
	queue->frames[queue->n++] = frame;
	queue->waiting[frame] = 1;

	/* the last place is only for the page just added */
	return queue->n == queue->room + 1;
}

static tp_temperature
temperature(const tp_tier *tier, uint32_t frame)
{
	return tp_extents_temperature(tier->extents,
								  tp_page_of(&tier->pool, frame));
}

uint32_t
tier_queue_drop(tier_queue *queue, const tp_tier *tier)
{
	uint32_t	coldest = 0;
	uint32_t	frame;

	for (uint32_t i = 1; i < queue->n; i++)
		if (!tp_colder(temperature(tier, queue->frames[coldest]),
					   temperature(tier, queue->frames[i])))
			coldest = i;
	frame = queue->frames[coldest];
	take_out(queue, coldest);
	return frame;
}

void
tier_queue_cancel(tier_queue *queue, uint32_t frame)
{
	uint32_t	i = 0;

	if (queue->room == 0 || !queue->waiting[frame])
		return;
	while (queue->frames[i] != frame)
		i++;
	take_out(queue, i);
}
