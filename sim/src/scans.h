/*
 * scans.h
 *	  Internals of the running scans of a simulation.
 */
#ifndef TIDEPOOL_SIM_SCANS_H
#define TIDEPOOL_SIM_SCANS_H

#include "tidepool/sim.h"
#include "tidepool/prediction/trail.h"

struct tps_scans
{
	tp_scans	view;
	tp_trails	trails;
	void	   *block;			/* what view points into */
	void	   *trails_block;	/* what trails points into */
	uint32_t	capacity;		/* scans of either kind */
	uint32_t	bitmaps;
	uint32_t	marks;
};

#endif							/* TIDEPOOL_SIM_SCANS_H */
