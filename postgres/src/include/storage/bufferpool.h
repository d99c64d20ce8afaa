/*-------------------------------------------------------------------------
 *
 * bufferpool.h
 *	  Replacement algorithms for buffer pools: for extensions that have one.
 *
 * An algorithm is a policy of the replacement core: tidepool/policy.h has the
 * contract, tidepool/pool.h and tidepool/parts what policies are built from.
 * Frames are buffers, numbered by buf_id.  postgres/example shows a complete
 * one.
 *
 * src/include/storage/bufferpool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_H
#define BUFFERPOOL_H

#include "tidepool/batch.h"
#include "tidepool/pool.h"

/*
 * Register an algorithm by its name.  Call from _PG_init of a library in
 * shared_preload_libraries.  The arguments must live as long as the process.
 * Raises an error if the name is taken.
 */
extern void RegisterBufferPoolPolicy(const tp_policy *policy,
									 const char *name);

#endif							/* BUFFERPOOL_H */
