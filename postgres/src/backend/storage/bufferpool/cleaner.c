/*-------------------------------------------------------------------------
 *
 * cleaner.c
 *	  The background writer's work where an algorithm chooses the victims.
 *
 * Stock BgBufferSync runs ahead of the clock's hand.  Here there is no hand,
 * but the algorithm can name its next victims: as many of them are written as
 * are expected to be needed until the next round.
 *
 * src/backend/storage/bufferpool/cleaner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"
#include "postmaster/bgwriter.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Victims looked at in one round, so that the pool's lock is not held for
 * long; ten times what bgwriter_lru_maxpages lets be written by default.
 */
#define MAX_CANDIDATES 1024

/* As in BgBufferSync: a decline is followed this slowly, a rise at once. */
#define SMOOTHING_SAMPLES 16

/* As there: also an idle server looks at all its buffers in this time. */
#define WHOLE_POOL_MILLISECONDS 120000.0

static int
victims_expected(uint32 recent_alloc)
{
	static float smoothed_alloc = 0;
	int			expected;
	int			least = (int) (NBuffers / (WHOLE_POOL_MILLISECONDS / BgWriterDelay));

	if (smoothed_alloc <= (float) recent_alloc)
		smoothed_alloc = recent_alloc;
	else
		smoothed_alloc += ((float) recent_alloc - smoothed_alloc) /
			SMOOTHING_SAMPLES;
	expected = (int) (smoothed_alloc * bgwriter_lru_multiplier);
	if (expected == 0)
		smoothed_alloc = 0;		/* or it would underflow in the end */
	return Min(Max(expected, least), MAX_CANDIDATES);
}

/*
 * One round, to be called by the background writer alone: recent_alloc buffers
 * were allocated since the last one, and bgwriter_lru_maxpages is above 0.
 * Returns whether the background writer may hibernate.
 */
bool
BufferPoolClean(uint32 recent_alloc, WritebackContext *wb_context)
{
	static int	candidates[MAX_CANDIDATES];
	int			n = BufferPoolColdest(candidates, victims_expected(recent_alloc));
	int			written = 0;

	for (int i = 0; i < n; i++)
		if (SyncColdBuffer(candidates[i], wb_context) &&
			++written >= bgwriter_lru_maxpages)
		{
			PendingBgWriterStats.maxwritten_clean++;
			break;
		}
	PendingBgWriterStats.buf_written_clean += written;
	MyBufferPoolCounters->count[BUFFERPOOL_CLEANED] += written;
	return written == 0 && recent_alloc == 0;
}
