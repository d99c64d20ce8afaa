/*-------------------------------------------------------------------------
 *
 * bursts.c
 *	  When a pool's references are simulated, and for how many others they stand.
 *
 * A reference of the sample passes 40 miniatures.  Where all is in memory they
 * come faster than the advisor may simulate them.  Then it takes them in bursts of
 * some for each frame of the sample, and rests until it has kept to its time.
 * While it rests no process offers any.  Some seconds of unused time are kept, so
 * load that does not last is simulated as a whole.
 *
 * Two bursts are spliced: the miniatures are as the last one left them, and what
 * the pool's clients do has gone on.  So the first references of a burst do not
 * count, until each frame may have got another page.  Those that do count stand
 * for the rests, too: of each rest one half goes to the burst before it and the
 * other to that behind it, so load that begins and ends is not over- or
 * underestimated.
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
#define WARMING_PER_FRAME 4
#define COUNTING_PER_FRAME 28

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

/* A burst of which all references count: a simulation has begun. */
void
BufferPoolBeginBurst(BufferPoolBurst *burst, uint64 now)
{
	MemSet(burst, 0, sizeof(*burst));
	burst->since = burst->counts_since = burst->stands_since = now;
}

/* ---- a burst's course ---- */

static void
begin_again(BufferPoolBurst *burst, uint64 now)
{
	burst->resting = false;
	burst->warming = true;
	burst->since = now;
	burst->references = 0;
	burst->not_counted = 0;
}

/* At its end it rests, if more time has been used than there was. */
static BufferPoolBurstEvent
end(BufferPoolBurst *burst, double cost, double passages, uint64 now)
{
	burst->passages = cost * 1e6 / Max(1, now - burst->since);
	burst->since = now;
	burst->references = 0;
	burst->not_counted = 0;
	burst->unused -= cost;
	if (burst->unused >= 0)
		return BUFFERPOOL_BURST_INCLUDES;
	burst->resting = true;
	burst->rest = (uint64) (-burst->unused * 1e6 / passages);
	return BUFFERPOOL_BURST_ENDS;
}

/* Passages that would have been allowed since the last call. */
static void
add_time(BufferPoolBurst *burst, double passages, uint64 now)
{
	double		seconds = burst->followed == 0 ? SECONDS_KEPT :
		(now - burst->followed) / 1e6;

	burst->unused = Min(burst->unused + passages * seconds,
						passages * SECONDS_KEPT);
	burst->followed = now;
}

/*
 * What is to be done at this time?  frames: that stand for the pool's; miniatures
 * that a reference passes; passages that the pool may have in a second.
 */
BufferPoolBurstEvent
BufferPoolFollowBurst(BufferPoolBurst *burst, uint32 frames, uint32 miniatures,
					  double passages, uint64 now)
{
	uint64		took = now - burst->since;
	double		cost = (double) burst->references * miniatures;

	add_time(burst, passages, now);
	if (burst->resting)
	{
		if (took < burst->rest)
			return BUFFERPOOL_BURST_GOES_ON;
		begin_again(burst, now);
		return BUFFERPOOL_BURST_BEGINS;
	}
	if (burst->warming &&
		(burst->references >= (uint64) frames * WARMING_PER_FRAME ||
		 took >= LONGEST_WARMING))
	{
		burst->warming = false;
		burst->counts_since = now;
		burst->not_counted = burst->references;
		return BUFFERPOOL_BURST_COUNTS;
	}
	if (!burst->warming && burst->references - burst->not_counted >=
		(uint64) frames * COUNTING_PER_FRAME)
		return end(burst, cost, passages, now);
	/* references have become rarer since the last burst */
	if (burst->passages * took > cost * 1e6)
		burst->passages = cost * 1e6 / took;
	return BUFFERPOOL_BURST_GOES_ON;
}

/*
 * May what counts so far be included before the burst ends?  Few references would
 * stand for many shortly after a rest.
 */
bool
BufferPoolBurstIncludes(const BufferPoolBurst *burst, uint64 now)
{
	return !burst->resting && !burst->warming &&
		2 * (now - burst->counts_since) >= now - burst->stands_since;
}

/* Include it: returns for how many references each stands. */
double
BufferPoolInclude(BufferPoolBurst *burst, uint64 now)
{
	uint64		until = burst->resting ? now + burst->rest / 2 : now;
	double		times = 1;

	if (burst->resting || burst->counts_since != burst->stands_since)
		times = (double) (until - burst->stands_since) /
			Max(1, now - burst->counts_since);
	burst->counts_since = now;
	burst->stands_since = until;
	return times;
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
