/*
 * trail.c
 *	  Trailing index scans.  See trail.h.
 *
 * Fields that tp_trail_tuple and tp_trail_delay use without the lock are
 * relaxed atomics everywhere; the lock guards the rest.
 */
#include <string.h>

#include "tidepool/prediction/trail.h"
#include "tidepool/relaxed.h"

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

/* The scan, running or ended; NULL if its place has been reused. */
static tp_trail *
find(const tp_trails *trails, uint64_t handle)
{
	uint32_t	number = (uint32_t) (handle & ~TP_TRAIL_HANDLE);

	if (!tp_is_trail(handle) || number >= trails->header->capacity ||
		tp_load32(&trails->scans[number].generation) != handle >> 32)
		return NULL;
	return &trails->scans[number];
}

static tp_trail *
find_running(const tp_trails *trails, uint64_t handle)
{
	tp_trail   *scan = find(trails, handle);

	if (scan == NULL || tp_load32(&scan->running) == 0)
		return NULL;
	return scan;
}

/* ---- beginning and ending ---- */

/* Queue its place for reuse, after those of scans that ended earlier. */
static void
end_scan(const tp_trails *trails, uint32_t number)
{
	tp_trails_header *header = trails->header;
	tp_trail   *scan = &trails->scans[number];

	tp_store32(&scan->running, 0);
	scan->next = TP_NONE;
	if (header->free_last == TP_NONE)
		header->free_first = number;
	else
		trails->scans[header->free_last].next = number;
	header->free_last = number;
	header->running--;
}

/* Make room when all places are taken: end the scans that count as gone. */
static void
reclaim(const tp_trails *trails, uint64_t now)
{
	for (uint32_t i = 0; i < trails->header->capacity; i++)
	{
		uint64_t	last_mark = tp_load64(&trails->scans[i].last_mark);

		if (now > last_mark && now - last_mark > TP_TRAIL_TIMEOUT)
		{
			end_scan(trails, i);
			trails->header->counts.reclaimed++;
		}
	}
}

uint64_t
tp_trail_begin(const tp_trails *trails, uint64_t index, uint32_t owner,
			   uint64_t now)
{
	tp_trails_header *header = trails->header;
	uint32_t	number;
	tp_trail   *scan;

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
	tp_store32(&scan->generation, scan->generation + 1);
	tp_store64(&scan->follower, 0);
	tp_store64(&scan->index, index);
	tp_store64(&scan->last_mark, now);
	scan->owner = owner;
	tp_store32(&scan->running, 1);
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

/*
 * This scan has found a mark that another left at that time.  False if it does
 * not follow that one.
 */
static bool
follow(const tp_trails *trails, tp_trail *scan, uint64_t handle,
	   uint64_t leader_handle, uint64_t time, uint64_t now)
{
	tp_trail   *leader = find_running(trails, leader_handle);

	if (leader == NULL || leader == scan ||
		tp_load64(&leader->index) != tp_load64(&scan->index) || time > now)
		return false;
	tp_store64(&leader->delay, now - time);
	tp_store64(&leader->follower, handle);
	if (tp_load64(&scan->follower) == leader_handle)
		tp_store64(&scan->follower, 0); /* overtaken */
	return true;
}

tp_trail_step
tp_trail_tuple(const tp_trails *trails, uint64_t handle, uint64_t tuple,
			   uint64_t now)
{
	tp_trail   *scan = find_running(trails, handle);
	tp_trail_mark *mark;
	uint64_t	key;
	bool		follows;

	if (scan == NULL)
		return TP_TRAIL_NONE;
	key = tp_trail_hash(tp_trail_salt(tp_load64(&scan->index)), tuple);
	if (key % TP_TRAIL_EVERY != 0)
		return TP_TRAIL_NONE;
	mark = &trails->marks[(key / TP_TRAIL_EVERY) & trails->header->mark_mask];
	follows = tp_load64(&mark->key) == key &&
		follow(trails, scan, handle, tp_load64(&mark->scan),
			   tp_load64(&mark->time), now);
	tp_store64(&mark->key, key);
	tp_store64(&mark->time, now);
	tp_store64(&mark->scan, handle);
	tp_store64(&scan->last_mark, now);
	return follows ? TP_TRAIL_FOLLOWED : TP_TRAIL_MARKED;
}

double
tp_trail_delay(const tp_trails *trails, uint64_t handle)
{
	const tp_trail *scan = find(trails, handle);

	if (scan == NULL || find_running(trails, tp_load64(&scan->follower)) == NULL)
		return TP_NEVER;
	return (double) tp_load64(&scan->delay);
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
