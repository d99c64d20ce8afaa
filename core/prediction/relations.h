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

#endif							/* TIDEPOOL_RELATIONS_H */
