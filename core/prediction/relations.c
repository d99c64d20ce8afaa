/*
 * relations.c
 *	  The relations that are being scanned, by hash.
 */
#include "tidepool/relaxed.h"

#include "prediction/relations.h"

uint32_t
scan_relation(const tp_scans *scans, uint64_t relation, uint32_t *vacant)
{
	uint32_t	mask = scans->header->relation_mask;
	uint32_t	home = (uint32_t) tp_mix64(relation);

	*vacant = TP_NONE;
	for (uint32_t probe = 0; probe < TP_SCAN_PROBES; probe++)
	{
		uint32_t	i = (home + probe) & mask;
		const tp_scan_relation *place = &scans->relations[i];

		if (tp_load32(&place->lanes) == TP_NONE)
			*vacant = *vacant == TP_NONE ? i : *vacant;
		else if (tp_load64(&place->relation) == relation)
			return i;
	}
	return TP_NONE;
}

bool
tp_scan_reads(const tp_scans *scans, uint64_t relation)
{
	uint32_t	vacant;

	return scan_relation(scans, relation, &vacant) != TP_NONE;
}
