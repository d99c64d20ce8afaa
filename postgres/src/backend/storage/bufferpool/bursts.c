/*-------------------------------------------------------------------------
 *
 * bursts.c
 *	  When a pool's references are simulated, and for how many others they stand.
 *
 * A reference of the sample passes 40 miniatures.  Where all is in memory they
 * come faster than the advisor may simulate them.  Then it rests until it has kept
 * to its time, takes a burst of them, some for each frame of the sample, and rests
 * again.  While it rests no process offers any.  Some seconds of unused time are
 * kept, so load that does not last is simulated as a whole.
 *
 * Two bursts are spliced: the miniatures are as the last one left them, and what
 * the pool's clients do has gone on.  So the first references of a burst do not
 * count, until each frame may have got several other pages.  Those that do count
 * stand for these and for the rest behind the burst, too.  For how many is known by
 * counting: processes count their references, and those that they have made while
 * the advisor took them.  Times would tell it only if references came evenly.
 *
 * A smaller sample would take less time, too, but it cannot tell where a loop
 * just fits.  A rest loses little: references only come so fast if the pool's
 * pages are referenced many times a second.
 *
 * src/backend/storage/bufferpool/bursts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#include <unistd.h>

#include "storage/bufferpool_internals.h"

/*
 * References of a burst for each frame that stands for the pool's: those that do
 * not count (the largest miniature has two frames for each), and those that do.
 */
#define WARMING_PER_FRAME 8
#define COUNTING_PER_FRAME 56

/*
 * Of so many seconds unused time is kept.  Chosen, not measured: these are less
 * than a tenth of a second of each processor.
 */
#define SECONDS_KEPT 10

/* After so long all count, in microseconds. */
#define LONGEST_WARMING 1000000

/*
 * Passages of a reference through a miniature in a second, all pools together,
 * for each processor; and at most.  One takes 30 to 60 ns, so these are 0.5 to
 * 0.9 % of each processor, and a third of one.
 */
#define PASSAGES_PER_PROCESSOR 150000.0
#define MOST_PASSAGES 6000000.0

/* A simulation begins, with all the time that may be kept. */
void
BufferPoolBeginBursts(BufferPoolBurst *burst, uint64 now)
{
	MemSet(burst, 0, sizeof(*burst));
	burst->since = now;
}

/* So many references have been simulated. */
void
BufferPoolCountSimulated(BufferPoolBurst *burst, size_t references)
{
	burst->references += references;
	burst->not_charged += references;
	burst->simulated += references;
}

/* ---- a burst's course ---- */

/* Passages that were allowed since the last call, less those that were made. */
static void
account(BufferPoolBurst *burst, uint32 miniatures, double passages, uint64 now)
{
	double		seconds = burst->followed == 0 ? SECONDS_KEPT :
		(now - burst->followed) / 1e6;

	burst->followed = now;
	burst->unused -= (double) burst->not_charged * miniatures;
	burst->not_charged = 0;
	burst->unused = Min(burst->unused + passages * seconds,
						passages * SECONDS_KEPT);
}

/* Note how fast references come. */
static void
measure(BufferPoolBurst *burst, uint32 miniatures, uint64 now)
{
	burst->passages = (double) burst->references * miniatures * 1e6 /
		Max(1, now - burst->since);
}

static void
enter(BufferPoolBurst *burst, BufferPoolBurstState state, uint64 now)
{
	burst->state = state;
	burst->since = now;
	burst->references = 0;
}

/* Those simulated so far have only prepared the miniatures. */
static void
begin_to_count(BufferPoolBurst *burst, uint64 now)
{
	enter(burst, BUFFERPOOL_BURST_COUNTING, now);
	burst->not_counted = burst->simulated;
}

static BufferPoolBurstEvent
rest(BufferPoolBurst *burst, uint64 now)
{
	enter(burst, BUFFERPOOL_BURST_RESTING, now);
	return BUFFERPOOL_BURST_ENDS;
}

/*
 * What is to be done at this time?  frames: that stand for the pool's; miniatures
 * that a reference passes; passages that the pool may have in a second.
 *
 * Before the first rest as many references count as in a burst, because they stand
 * for it: so they begin to do so while there is still time for them.
 */
BufferPoolBurstEvent
BufferPoolFollowBurst(BufferPoolBurst *burst, uint32 frames, uint32 miniatures,
					  double passages, uint64 now)
{
	uint64		took = now - burst->since;
	uint64		counting = (uint64) frames * COUNTING_PER_FRAME;

	account(burst, miniatures, passages, now);
	switch (burst->state)
	{
		case BUFFERPOOL_BURST_RESTING:
			if (burst->unused < 0)
				return BUFFERPOOL_BURST_GOES_ON;
			enter(burst, BUFFERPOOL_BURST_WARMING, now);
			return BUFFERPOOL_BURST_BEGINS;
		case BUFFERPOOL_BURST_WARMING:
			if (burst->references < (uint64) frames * WARMING_PER_FRAME &&
				took < LONGEST_WARMING)
				return BUFFERPOOL_BURST_GOES_ON;
			begin_to_count(burst, now);
			return BUFFERPOOL_BURST_COUNTS;
		case BUFFERPOOL_BURST_COUNTING:
			if (burst->references >= counting)
			{
				measure(burst, miniatures, now);
				if (burst->unused < 0)
					return rest(burst, now);
				enter(burst, BUFFERPOOL_BURST_LASTING, now);
			}
			/* references have become rare */
			if (burst->unused >= passages * SECONDS_KEPT)
				enter(burst, BUFFERPOOL_BURST_LASTING, now);
			break;
		case BUFFERPOOL_BURST_LASTING:
			if (burst->references >= counting)
			{
				measure(burst, miniatures, now);
				enter(burst, BUFFERPOOL_BURST_LASTING, now);
			}
			if (burst->unused < Min((double) counting * miniatures,
									passages * SECONDS_KEPT / 2))
				enter(burst, BUFFERPOOL_BURST_COUNTING, now);
			break;
	}
	/* references have become rarer */
	if (burst->passages * (now - burst->since) >
		(double) burst->references * miniatures * 1e6)
		measure(burst, miniatures, now);
	return BUFFERPOOL_BURST_GOES_ON;
}

/* ---- what its references stand for ---- */

/*
 * Do enough references count to stand for all?  Shortly after those that do not,
 * few would stand for many.
 */
bool
BufferPoolBurstCounts(const BufferPoolBurst *burst)
{
	return burst->state != BUFFERPOOL_BURST_WARMING &&
		2 * burst->not_counted <= burst->simulated;
}

/*
 * For how many references each stands that counts, of those since the last
 * inclusion.  requests: the pool's since then; offered: of them, those made while
 * the advisor took them; whole: the sample has all pages.
 *
 * Processes add both counts together, so the difference is exact whatever they
 * have yet to add.  What was offered may have some that were simulated before the
 * last inclusion.  Of a whole sample it is known exactly how many were offered since
 * then; of others these are few beside the burst.
 */
double
BufferPoolBurstTimes(const BufferPoolBurst *burst, uint64 requests,
					 uint64 offered, bool whole)
{
	uint64		counted = burst->simulated - burst->not_counted;
	double		times = (double) burst->simulated / Max(1, counted);
	double		others = (double) requests - (double) offered;

	return times * (1 + Max(0, others) / Max(1, whole ? burst->simulated : offered));
}

/* All references so far have been included. */
void
BufferPoolBurstIncluded(BufferPoolBurst *burst)
{
	burst->simulated = 0;
	burst->not_counted = 0;
}

/* ---- the advisor's time ---- */

/* Processors that the server may use. */
static int
count_processors(void)
{
	cpu_set_t	usable;

	if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
		return CPU_COUNT(&usable);
	return Max(1, (int) sysconf(_SC_NPROCESSORS_ONLN));
}

/*
 * Passages in a second that this one of n pools may have, all of which have so
 * many: an equal share, and of what others leave.
 */
double
BufferPoolPassagesOf(int pool, const double *passages, int n)
{
	double		left = Min(PASSAGES_PER_PROCESSOR * count_processors(),
						   MOST_PASSAGES);
	double		each = left / n;
	double		before;

	do
	{
		double		others = left;
		int			want_more = 0;

		before = each;
		for (int i = 0; i < n; i++)
			if (i == pool || passages[i] > before)
				want_more++;
			else
				others -= passages[i];
		each = others / want_more;
	} while (each > before);
	return each;
}
