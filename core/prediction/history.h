/*
 * history.h
 *	  How the relations have been scanned so far.
 */
#ifndef TIDEPOOL_HISTORY_H
#define TIDEPOOL_HISTORY_H

#include "tidepool/prediction/scan.h"

/*
 * A scan of a relation with blocks below `end` begins.  Returns the index of
 * the relation's history.  counts: it is not a companion.  The caller holds the
 * registry's lock.
 */
uint32_t	history_begin(const tp_scans *scans, uint64_t relation,
						  uint64_t end, bool counts, uint64_t now);

/* The scan has reached this block.  Only the scan's owner calls it, without a
 * lock. */
void		history_pass(const tp_scans *scans, uint32_t number, uint32_t block,
						 uint64_t now);

/* The index of the relation's history, or TP_NONE.  Needs no lock. */
uint32_t	history_find(const tp_scans *scans, uint64_t relation);

/* Mean times in microseconds between scans that enter a region. */
typedef struct history_intervals
{
	double		all;			/* TP_NEVER if none has */
	double		others;			/* likewise, without the running scan that is
								 * going to read the block; never more than
								 * all */
} history_intervals;

/* Of the block's region.  place: of the relation's history, or TP_NONE.  Needs no
 * lock. */
history_intervals history_at(const tp_scans *scans, uint32_t place,
							 uint32_t block, uint64_t now);

#endif							/* TIDEPOOL_HISTORY_H */
