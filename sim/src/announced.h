/*
 * announced.h
 *	  The scans that a trace announces, driven through a registry.
 *
 * A trace identifies its scans by ids, the registry by handles.  This maps ids
 * to handles, with 16 bytes for each scan of the trace.
 */
#ifndef TIDEPOOL_SIM_ANNOUNCED_H
#define TIDEPOOL_SIM_ANNOUNCED_H

#include "tidepool/prediction/scan.h"

#include "events.h"
#include "pagemap.h"

/* The usual registry takes 1.2 MB. */
#define ANNOUNCED_SCANS		1024	/* that can run at once; further ones are
									 * not predicted */
#define ANNOUNCED_BITMAPS	256 /* further bitmap scans count as ranges */

/* Marks for each scan of a server's registry, as in its scan_registry.c. */
#define MARKS_PER_SCAN		8

typedef struct announced
{
	tps_scans  *scans;
	pagemap		handles;		/* id in the trace to handle, with a bit for
								 * those that step */
} announced;

/* scans: as in tps_options.  False when memory ran out. */
bool		announced_init(announced *a, uint32_t scans);
void		announced_free(announced *a);

/* An event that is no reference: scan begin, advance or end; ignores others.
 * False when memory ran out. */
bool		announced_event(announced *a, const tps_events *events, size_t i);

/* A reference of scan `id` of the trace, which advances the scan unless the scan
 * steps.  Returns the scan's handle, 0 if there is none. */
uint64_t	announced_reference(announced *a, uint64_t id, uint64_t page,
								uint64_t now);

#endif							/* TIDEPOOL_SIM_ANNOUNCED_H */
