/*
 * tier_queue.c
 *	  The small buffer of pages on their way to the SSD.
 *
 * A writer takes them in order and needs ssd.random_write for each, while the
 * cache goes on.  When the buffer is full the page of the coldest extent, the
 * one that comes included, is dropped: it is not on the SSD then.  Of equals
 * the latest goes.
 */
#include <stdlib.h>
#include <string.h>

#include "tier.h"

bool
queue_init(tier_queue *queue, uint32_t room, uint32_t capacity)
{
	memset(queue, 0, sizeof(*queue));
	if (room == 0)
		return true;
	queue->room = room;
	queue->frames = malloc(((size_t) room + 1) * sizeof(*queue->frames));
	queue->waiting = calloc(capacity, 1);
	return queue->frames != NULL && queue->waiting != NULL;
}

void
queue_free(tier_queue *queue)
{
	free(queue->frames);
	free(queue->waiting);
}

static void
written(tps_tier *tier)
{
	tier->totals.ssd_writes++;
	tier->totals.ssd_write_time += tier->options.ssd.random_write;
}

static void
take_out(tier_queue *queue, uint32_t i)
{
	queue->waiting[queue->frames[i]] = 0;
	queue->n--;
	memmove(&queue->frames[i], &queue->frames[i + 1],
			(queue->n - i) * sizeof(*queue->frames));
}

void
queue_drain(tps_tier *tier)
{
	tier_queue *queue = &tier->queue;
	double		each = tier->options.ssd.random_write;
	uint32_t	done = 0;

	while (done < queue->n && queue->idle_since + each <= tier->clock)
	{
		queue->idle_since += each;
		queue->waiting[queue->frames[done++]] = 0;
		written(tier);
	}
	if (done == 0)
		return;
	queue->n -= done;
	memmove(queue->frames, queue->frames + done,
			queue->n * sizeof(*queue->frames));
}

static tp_temperature
temperature(const tps_tier *tier, uint32_t frame)
{
	return tp_extents_temperature(tier->core.extents,
								  tp_page_of(&tier->core.pool, frame));
}

static void
drop_coldest(tps_tier *tier)
{
	tier_queue *queue = &tier->queue;
	uint32_t	coldest = 0;
	uint32_t	frame;

	for (uint32_t i = 1; i < queue->n; i++)
		if (!tp_colder(temperature(tier, queue->frames[coldest]),
					   temperature(tier, queue->frames[i])))
			coldest = i;
	frame = queue->frames[coldest];
	take_out(queue, coldest);
	tier->totals.dropped++;
	tier_forget(tier, frame);
}

void
queue_write(tps_tier *tier, uint32_t frame)
{
	tier_queue *queue = &tier->queue;

	if (queue->room == 0)
	{
		written(tier);
		return;
	}
	if (queue->waiting[frame])
		return;
	if (queue->n == 0)
		queue->idle_since = tier->clock;
	queue->frames[queue->n++] = frame;
	queue->waiting[frame] = 1;

	/* one place is kept for the page that comes */
	if (queue->n == queue->room + 1)
		drop_coldest(tier);
}

void
queue_cancel(tier_queue *queue, uint32_t frame)
{
	uint32_t	i = 0;

	if (queue->room == 0 || !queue->waiting[frame])
		return;
	while (queue->frames[i] != frame)
		i++;
	take_out(queue, i);
}
