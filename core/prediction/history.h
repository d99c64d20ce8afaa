/*
 * history.h
 *	  How the relations have been scanned so far.
 */
#ifndef TIDEPOOL_HISTORY_H
#define TIDEPOOL_HISTORY_H

#include "tidepool/prediction/scan.h"

/*
 * A scan of a relation that has blocks up to `end` begins.  Returns the index
 * of the relation's history.  The caller holds the registry's lock.
 */
uint32_t	history_begin(const tp_scans *scans, uint64_t relation,
						  uint64_t end, uint64_t now);

/* The scan has come to this block: without a lock, by the scan's owner. */
void		history_pass(const tp_scans *scans, uint32_t number, uint32_t block,
						 uint64_t now);

/*
 * Microseconds from one scan that comes to the page's region to the next, on
 * average; TP_NEVER if none has.  Without a lock.
 */
double		history_interval(const tp_scans *scans, tp_page page, uint64_t now);

#endif							/* TIDEPOOL_HISTORY_H */
