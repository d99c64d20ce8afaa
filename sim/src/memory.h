/*
 * memory.h
 *	  Memory of caches.
 */
#ifndef TIDEPOOL_SIM_MEMORY_H
#define TIDEPOOL_SIM_MEMORY_H

#include <stddef.h>

/*
 * Uninitialised memory for free(), aligned to cache lines; NULL when memory
 * ran out.  Large pieces get huge pages if the system grants them: a replay
 * touches a cache at random, and with small pages it waits for the TLB.
 */
void	   *memory_of_cache(size_t size);

#endif							/* TIDEPOOL_SIM_MEMORY_H */
