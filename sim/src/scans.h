/*
 * scans.h
 *	  Inside of the running scans of a simulation.
 */
#ifndef TIDEPOOL_SIM_SCANS_H
#define TIDEPOOL_SIM_SCANS_H

#include "tidepool/scan.h"
#include "tidepool/sim.h"

struct tps_scans
{
	tp_scans	view;
	void	   *block;			/* what view points into */
	uint32_t	capacity;
	uint32_t	bitmaps;
};

#endif							/* TIDEPOOL_SIM_SCANS_H */
