/*-------------------------------------------------------------------------
 *
 * sample_size.c
 *	  How large the samples are that the advisor simulates.
 *
 * A sample is as large as memory admits, unless the references to all samples
 * take the advisor too much time: then it is halved, and doubled when there is
 * time again.
 *
 * src/backend/storage/bufferpool/sample_size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#include <unistd.h>

#include "storage/bufferpool_internals.h"

/*
 * Passages of a reference through a miniature in a second, all pools together,
 * for each processor; and at most.  One takes 30 to 60 ns, so these are 0.5 to
 * 0.9 % of each processor, and a third of one.  Samples that come to more are
 * halved, and if they come to less than a quarter they are doubled.
 */
#define PASSAGES_PER_PROCESSOR 150000.0
#define MOST_PASSAGES 6000000.0

/* Processors that the server may use. */
static int
count_processors(void)
{
	cpu_set_t	usable;

	if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
		return CPU_COUNT(&usable);
	return Max(1, (int) sysconf(_SC_NPROCESSORS_ONLN));
}

static bool
can_be_halved(const BufferPoolSampleSize *size)
{
	return size->frames > BUFFERPOOL_LEAST_SAMPLE;
}

/* Does it take at least half as much as that which takes most? */
static bool
is_large(const BufferPoolSampleSize *size, uint64 most)
{
	return can_be_halved(size) && 2 * size->passages >= most;
}

/*
 * Halve the samples that take most.  Not if all of these take less than a quarter
 * of the whole: the rest then goes to samples that are as small as they get.
 */
static void
halve_samples(const BufferPoolSampleSize *sizes, uint64 sum)
{
	uint64		most = 0;
	uint64		halved = 0;

	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		if (can_be_halved(&sizes[i]))
			most = Max(most, sizes[i].passages);
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		if (is_large(&sizes[i], most))
			halved += sizes[i].passages;
	if (4 * halved < sum)
		return;
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		if (is_large(&sizes[i], most))
			BufferPoolLimitSample(i, Max(BUFFERPOOL_LEAST_SAMPLE,
										 sizes[i].frames / 2));
}

/* Double the samples that are smaller than memory admits. */
static void
double_samples(const BufferPoolSampleSize *sizes)
{
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		if (sizes[i].limited)
		{
			uint32		frames = 2 * sizes[i].frames;
			bool		nearly_all = frames >= sizes[i].began_with / 4 * 3;

			BufferPoolLimitSample(i, nearly_all ? 0 : frames);
		}
}

/*
 * So many seconds after the last call: halve samples that take too much of the
 * advisor's time; double those that need not be so small, unless references have
 * been dropped.
 */
void
BufferPoolAdjustSamples(double seconds, bool dropped)
{
	BufferPoolSampleSize sizes[BUFFERPOOL_NUMBERS] = {0};
	double		limit = Min(PASSAGES_PER_PROCESSOR * count_processors(),
							MOST_PASSAGES) * seconds;
	uint64		sum = 0;

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolReadSampleSize(i, &sizes[i]);
		sum += sizes[i].passages;
	}
	if (sum > limit)
		halve_samples(sizes, sum);
	else if (sum < limit / 4 && !dropped)
		double_samples(sizes);
}
