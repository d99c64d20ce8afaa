/*
 * prefetch.h
 *	  Loading into the cache what will soon be needed.
 */
#ifndef TIDEPOOL_PREFETCH_H
#define TIDEPOOL_PREFETCH_H

/*
 * Of an inline function that does nothing but prefetch.  Unless it is inlined
 * at once, gcc takes it for one without any effect and drops the call.
 */
#define TP_PREFETCHES __attribute__((always_inline))

#endif							/* TIDEPOOL_PREFETCH_H */
