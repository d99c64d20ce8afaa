/*
 * relations.h
 *	  The relations that are being scanned, by hash.
 */
#ifndef TIDEPOOL_RELATIONS_H
#define TIDEPOOL_RELATIONS_H

#include "tidepool/prediction/scan.h"

/*
 * The relation's index in scans->relations, or TP_NONE.  If TP_NONE, *vacant is
 * an empty place for it, or TP_NONE as well.  Needs no lock.
 */
uint32_t	scan_relation(const tp_scans *scans, uint64_t relation,
						  uint32_t *vacant);

/* Forget what was found of another relation. */
static inline void
found_of(tp_scan_found *found, uint64_t relation)
{
	const tp_scan_found nothing = {.relation = relation};

	if (found->relation != relation)
		*found = nothing;
}

#endif							/* TIDEPOOL_RELATIONS_H */
