/*
 * trail.c
 *	  Trailing index scans.  See trail.h.
 */
#include <string.h>

#include "tidepool/prediction/trail.h"

/* Fields that several write, or some while others read. */
static uint64_t
get(const uint64_t *field)
{
	return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static void
set(uint64_t *field, uint64_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELAXED);
}

/* ---- memory ---- */

static uint32_t
mark_places(uint32_t marks)
{
	uint32_t	places = 1;

	while (places < marks)
		places *= 2;
	return places;
}

static size_t
header_size(void)
{
	return (sizeof(tp_trails_header) + 63) & ~(size_t) 63;
}

size_t
tp_trails_size(uint32_t scans, uint32_t marks)
{
	return header_size() + scans * sizeof(tp_trail) +
		mark_places(marks) * sizeof(tp_trail_mark);
}

tp_trails
tp_trails_view(void *block)
{
	unsigned char *base = block;
	tp_trails	trails;

	trails.header = block;
	trails.scans = (tp_trail *) (void *) (base + header_size());
	trails.marks = (tp_trail_mark *) (void *)
		(trails.scans + trails.header->capacity);
	return trails;
}

tp_trails
tp_trails_init(uint32_t scans, uint32_t marks, void *block)
{
	tp_trails_header *header = block;

	memset(block, 0, tp_trails_size(scans, marks));
	header->capacity = scans;
	header->mark_mask = mark_places(marks) - 1;
	header->free_first = 0;
	header->free_last = scans - 1;
	for (uint32_t i = 0; i < scans; i++)
		tp_trails_view(block).scans[i].next = i + 1 < scans ? i + 1 : TP_NONE;
	return tp_trails_view(block);
}

/* ---- handles ---- */

static uint64_t
handle_of(const tp_trails *trails, uint32_t number)
{
	return (uint64_t) trails->scans[number].generation << 32 |
		TP_TRAIL_HANDLE | number;
}

/* The scan, running or ended; NULL if its place was used again. */
static tp_trail *
find(const tp_trails *trails, uint64_t handle)
{
	uint32_t	number = (uint32_t) (handle & ~TP_TRAIL_HANDLE);

	if (!tp_is_trail(handle) || number >= trails->header->capacity ||
		__atomic_load_n(&trails->scans[number].generation,
						__ATOMIC_RELAXED) != handle >> 32)
		return NULL;
	return &trails->scans[number];
}

static tp_trail *
find_running(const tp_trails *trails, uint64_t handle)
{
	tp_trail   *scan = find(trails, handle);

	if (scan == NULL || __atomic_load_n(&scan->running, __ATOMIC_RELAXED) == 0)
		return NULL;
	return scan;
}

/* ---- beginning and ending ---- */

/* The last to be reused of all that have ended. */
static void
end_scan(const tp_trails *trails, uint32_t number)
{
	tp_trails_header *header = trails->header;
	tp_trail   *scan = &trails->scans[number];

	__atomic_store_n(&scan->running, 0, __ATOMIC_RELAXED);
	scan->next = TP_NONE;
	if (header->free_last == TP_NONE)
		header->free_first = number;
	else
		trails->scans[header->free_last].next = number;
	header->free_last = number;
	header->running--;
}

/* Make room: end the scans that have not been heard of for long. */
static void
reclaim(const tp_trails *trails, uint64_t now)
{
	for (uint32_t i = 0; i < trails->header->capacity; i++)
		if (now > trails->scans[i].heard &&
			now - trails->scans[i].heard > TP_TRAIL_PATIENCE)
		{
			end_scan(trails, i);
			trails->header->counts.reclaimed++;
		}
}

uint64_t
tp_trail_begin(const tp_trails *trails, uint64_t index, uint32_t owner,
			   uint64_t now)
{
	tp_trails_header *header = trails->header;
	uint32_t	number;
	tp_trail   *scan;

	/* all are running */
	if (header->free_first == TP_NONE)
		reclaim(trails, now);
	number = header->free_first;
	if (number == TP_NONE)
	{
		header->counts.refused++;
		return 0;
	}
	scan = &trails->scans[number];
	header->free_first = scan->next;
	if (header->free_first == TP_NONE)
		header->free_last = TP_NONE;
	header->running++;
	header->counts.begun++;
	__atomic_store_n(&scan->generation, scan->generation + 1, __ATOMIC_RELAXED);
	set(&scan->follower, 0);
	set(&scan->index, index);
	set(&scan->heard, now);
	scan->owner = owner;
	__atomic_store_n(&scan->running, 1, __ATOMIC_RELAXED);
	return handle_of(trails, number);
}

void
tp_trail_end(const tp_trails *trails, uint64_t handle)
{
	tp_trail   *scan = find_running(trails, handle);

	if (scan == NULL)
		return;
	end_scan(trails, (uint32_t) (scan - trails->scans));
	trails->header->counts.ended++;
}

uint32_t
tp_trail_end_owner(const tp_trails *trails, uint32_t owner)
{
	uint32_t	found = 0;

	for (uint32_t i = 0; i < trails->header->capacity; i++)
		if (trails->scans[i].running != 0 && trails->scans[i].owner == owner)
		{
			end_scan(trails, i);
			found++;
		}
	trails->header->counts.abandoned += found;
	return found;
}

/* ---- marks ---- */

/* This scan has found a mark that was left by another at that time. */
static void
follow(const tp_trails *trails, tp_trail *scan, uint64_t handle,
	   uint64_t leader_handle, uint64_t time, uint64_t now)
{
	tp_trail   *leader = find_running(trails, leader_handle);

	if (leader == NULL || leader == scan ||
		get(&leader->index) != get(&scan->index) || time > now)
		return;
	set(&leader->delay, now - time);
	set(&leader->follower, handle);
	if (get(&scan->follower) == leader_handle)
		set(&scan->follower, 0);	/* overtaken */
}

void
tp_trail_tuple(const tp_trails *trails, uint64_t handle, uint64_t tuple,
			   uint64_t now)
{
	tp_trail   *scan = find_running(trails, handle);
	tp_trail_mark *mark;
	uint64_t	key;

	if (scan == NULL)
		return;
	key = tp_mix64(tuple + tp_mix64(scan->index));
	if (key % TP_TRAIL_EVERY != 0)
		return;
	mark = &trails->marks[(key / TP_TRAIL_EVERY) & trails->header->mark_mask];
	if (get(&mark->key) == key)
		follow(trails, scan, handle, get(&mark->scan), get(&mark->time), now);
	set(&mark->key, key);
	set(&mark->time, now);
	set(&mark->scan, handle);
	set(&scan->heard, now);
}

double
tp_trail_delay(const tp_trails *trails, uint64_t handle)
{
	const tp_trail *scan = find(trails, handle);

	if (scan == NULL || find_running(trails, get(&scan->follower)) == NULL)
		return TP_NEVER;
	return (double) get(&scan->delay);
}

/* ---- verification ---- */

int
tp_trails_check(const tp_trails *trails,
				void (*report) (void *arg, const char *violation,
								uint32_t index),
				void *arg)
{
	const tp_trails_header *header = trails->header;
	uint32_t	running = 0;
	uint32_t	ended = 0;
	uint32_t	last = TP_NONE;
	int			bad = 0;

#define EXPECT(claim, violation, index) \
	if (!(claim) && ++bad && report != NULL) \
		report(arg, violation, index)

	for (uint32_t i = 0; i < header->capacity; i++)
	{
		const tp_trail *scan = &trails->scans[i];

		EXPECT(scan->running <= 1, "neither running nor ended", i);
		EXPECT(scan->follower != handle_of(trails, i), "follows itself", i);
		running += scan->running;
	}
	for (uint32_t i = header->free_first;
		 i != TP_NONE && ended <= header->capacity; i = trails->scans[i].next)
	{
		EXPECT(trails->scans[i].running == 0, "running scan to be reused", i);
		ended++;
		last = i;
	}
	EXPECT(last == header->free_last, "wrong last one to be reused", last);
	EXPECT(running == header->running, "running scans miscounted", running);
	EXPECT(running + ended == header->capacity, "scans lost", ended);
	for (uint32_t i = 0; i <= header->mark_mask; i++)
	{
		uint64_t	key = trails->marks[i].key;

		EXPECT(key == 0 ||
			   (key % TP_TRAIL_EVERY == 0 &&
				((key / TP_TRAIL_EVERY) & header->mark_mask) == i),
			   "mark where it is not looked for", i);
	}
	return bad;
#undef EXPECT
}
