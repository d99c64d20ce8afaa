/*
 * access.h
 *	  A reference to a page, as its caller describes it.
 */
#ifndef TIDEPOOL_ACCESS_H
#define TIDEPOOL_ACCESS_H

#include "tidepool/page.h"

/* What a reference was. */
#define TP_WRITE		0x01	/* the page was modified */
#define TP_CORRELATED	0x02	/* repeats the same backend's previous
								 * reference within the correlation window:
								 * the two count as one */
#define TP_VACUUM		0x04	/* made by VACUUM: no evidence about the
								 * workload, must not promote */
#define TP_DIRTIED		0x08	/* with TP_WRITE: not a reference; the page
								 * became dirty after its last one */
#define TP_SEQUENTIAL	0x10	/* through a sequential scan */
#define TP_BITMAP		0x20	/* through a bitmap scan */
#define TP_INDEX		0x40	/* through an index scan */
#define TP_KEEP			0x80	/* the incoming page is to be kept: whatever
								 * the policy thinks of it, it does not refuse
								 * it (tier/tier.h) */

typedef struct tp_access
{
	uint64_t	now;			/* microseconds, the caller's monotonic clock */
	uint64_t	scan;			/* handle of the registered scan that made it
								 * (prediction/scan.h, prediction/trail.h), or
								 * 0 */
	uint32_t	backend;		/* who made it */
	uint32_t	flags;			/* TP_WRITE | ... */
} tp_access;

/* Does this reference count as new evidence that the page is wanted? */
static inline bool
tp_promotes(const tp_access *access)
{
	return (access->flags & (TP_CORRELATED | TP_VACUUM | TP_DIRTIED)) == 0;
}

/* May the caller take this frame?  NULL stands for "any". */
typedef bool (*tp_usable) (void *arg, uint32_t frame);

/*
 * Does this frame hold this page?  In a server a node may be stale: its page
 * has gone, and the policy has not been told.  NULL stands for "always".
 */
typedef bool (*tp_holds) (void *arg, uint32_t frame, tp_page page);

#endif							/* TIDEPOOL_ACCESS_H */
