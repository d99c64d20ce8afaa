/*-------------------------------------------------------------------------
 *
 * bufferpool_advised.h
 *	  The simulation of a buffer pool in miniature, in the advisor.
 *
 * advised_start.c makes one, advised.c lets references go through it.
 *
 * src/include/storage/bufferpool_advised.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_ADVISED_H
#define BUFFERPOOL_ADVISED_H

#include "storage/bufferpool_advice.h"
#include "storage/bufferpool_pool.h"

/* References that go through a pool's miniatures together. */
#define BUFFERPOOL_ADVICE_BATCH 256

/* What the server has counted of a pool. */
typedef struct BufferPoolCounted
{
	uint64		requests;
	uint64		reads;			/* of them */
	uint64		offered;		/* of them, as BUFFERPOOL_OFFERED */
} BufferPoolCounted;

/* A pool, as the advisor knows it. */
typedef struct BufferPoolAdvised
{
	MemoryContext context;		/* of all that follows; NULL: not advised */
	BufferPoolAdvice published;
	char		algorithm[NAMEDATALEN];
	double		params[TP_MAX_PARAMS];
	uint64		included;		/* the time of the last inclusion, */
	BufferPoolCounted included_counts;	/* what had been counted by then, */
	double		seconds;		/* that the sums amounted to */
	BufferPoolCounted counts;	/* what has been counted by now */
	double		timed_pages;	/* fading, like the sums */
	double		timed_milliseconds;
	BufferPoolBurst burst;
	double		weights[TP_ADVICE_RELATIONS];	/* requests of the sample */
	size_t		count;			/* of references not simulated yet */
	tp_advice_reference batch[BUFFERPOOL_ADVICE_BATCH];
	tp_advice	advice;
} BufferPoolAdvised;

/* advised_start.c */
extern bool BufferPoolCanSimulate(const tp_policy *policy);
extern BufferPoolAdvised *BufferPoolMakeAdvised(BufferPool *buffer_pool,
												const BufferPoolDefinition *definition,
												int buffers, uint32 *limit);
extern void BufferPoolSeedAdvised(BufferPoolAdvised *pool, int number);

#endif							/* BUFFERPOOL_ADVISED_H */
