/*
 * events.h
 *	  Reading the columns of tps_events.
 */
#ifndef TIDEPOOL_SIM_EVENTS_H
#define TIDEPOOL_SIM_EVENTS_H

#include "tidepool/sim.h"

/* Kinds of events, as in the trace format. */
enum
{
	EVENT_READ,
	EVENT_WRITE,
	EVENT_SCAN_BEGIN,
	EVENT_SCAN_ADVANCE,
	EVENT_SCAN_END,
	EVENT_FORGET,
	EVENT_PINNED,
	EVENT_UNPINNED,
	EVENT_DIRTIED,
	EVENT_WRITTEN,
	EVENT_POOL,
	EVENT_MOVED,
	EVENT_PAGE_MOVED,
	EVENT_PHYSICAL_READ,
	EVENT_PHYSICAL_WRITE,
	EVENT_SSD_HAS,
	EVENT_SSD_LOST,
	EVENT_SSD,
	EVENT_SSD_BUSY,
	EVENT_SSD_FREED,
	EVENT_SSD_RELATION,
	EVENT_REPORTED,
	EVENT_CHOSEN,
	EVENT_GIVEN_UP,
	EVENT_LEFT,
	EVENT_PROCESS,
	EVENT_EVICTED				/* not of traces: a clean page has left the
								 * cache above a tier (io.h) */
};

/* Flags of events that are the core's. */
#define EVENT_ACCESS_FLAGS (TP_CORRELATED | TP_VACUUM | TP_SEQUENTIAL | \
							TP_BITMAP | TP_INDEX)

/*
 * Flags of written: by the background writer, a pool's writer or the
 * checkpointer; none: by who evicts the page.
 */
#define EVENT_WRITTEN_AHEAD 0x1c00

/*
 * Flags of physical read: the server's SSD tier was asked, and has served it; the
 * relation's pages are to be kept there; these were not to come.
 */
#define EVENT_SSD_ASKED 0x200
#define EVENT_SSD_KEPT 0x400
#define EVENT_SSD_UNWANTED 0x800
#define EVENT_HIT 0x100

/*
 * Flags of scan begin: the scan goes from the last block to the first; its
 * references do not advance it; it is one of several processes of a scan.
 */
#define EVENT_BACKWARD 0x200
#define EVENT_STEPS 0x2000
#define EVENT_COMPANION 0x4000

/* Flag of reported: because so much was queued. */
#define EVENT_DUE 0x200

/* Flag of chosen: the search went on, since the page was in use. */
#define EVENT_IN_USE 0x200

/* Flag of given up: the page has left nevertheless, and its frame is free. */
#define EVENT_FREED 0x200

/* How far ahead of a reference its hash table slot is prefetched. */
#define EVENTS_AHEAD 16

static inline unsigned
event_kind(const tps_events *events, size_t i)
{
	return events->kind == NULL ? EVENT_READ : events->kind[i];
}

static inline bool
event_is_reference(const tps_events *events, size_t i)
{
	return event_kind(events, i) <= EVENT_WRITE;
}

static inline uint64_t
event_time(const tps_events *events, size_t i)
{
	return events->time == NULL ? events->position + i : events->time[i];
}

/* Whose event it is, and when it was. */
static inline tp_access
event_access(const tps_events *events, size_t i)
{
	const tp_access access = {
		.now = event_time(events, i),
		.backend = events->backend == NULL ? 0 : events->backend[i]
	};

	return access;
}

#endif							/* TIDEPOOL_SIM_EVENTS_H */
