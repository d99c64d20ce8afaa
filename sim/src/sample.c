/*
 * sample.c
 *	  Spatial sampling: all references to a random subset of the pages.
 *
 * Source: C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad: Efficient MRC
 * construction with SHARDS. FAST 2015, section 3.
 */
#include "tidepool/sim.h"

#include "events.h"

uint64_t
tps_sample_hash(uint64_t page, uint64_t seed)
{
	return tp_mix64(page + tp_mix64(seed + UINT64_C(0x9e3779b97f4a7c15)));
}

size_t
tps_sample(const tps_events *events, uint64_t seed, uint64_t threshold,
		   uint64_t references, uint32_t *chosen, uint64_t *before)
{
	uint64_t	offset = tp_mix64(seed + UINT64_C(0x9e3779b97f4a7c15));
	size_t		n = 0;

	for (size_t i = 0; i < events->n; i++)
	{
		bool		reference = event_is_reference(events, i);

		/* write always, keep if chosen: no branch to mispredict */
		chosen[n] = (uint32_t) i;
		if (before != NULL)
			before[n] = references;
		references += reference;
		n += tp_mix64(events->page[i] + offset) < threshold || !reference;
	}
	return n;
}
