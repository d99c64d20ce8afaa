/*-------------------------------------------------------------------------
 *
 * sample_size.c
 *	  How large the samples are that the advisor simulates.
 *
 * A sample is as large as memory admits, unless references come faster in its
 * bursts (bursts.c) than the advisor can take them: then it is halved, and
 * doubled when they have come more slowly for a while.
 *
 * src/backend/storage/bufferpool/sample_size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"

/*
 * Passages of a reference through a miniature in a second, while all pools have
 * bursts.  One takes 30 to 60 ns, so these are half of a processor.  Samples that
 * come to more are halved, and if they come to less than a quarter they are
 * doubled.
 */
#define MOST_PASSAGES 10000000.0

static bool
can_be_halved(const BufferPoolSampleSize *size)
{
	return size->frames > BUFFERPOOL_LEAST_SAMPLE;
}

/* Does it take at least half as much as that which takes most? */
static bool
is_large(const BufferPoolSampleSize *size, double most)
{
	return can_be_halved(size) && 2 * size->passages >= most;
}

/*
 * Halve the samples that take most.  Not if all of these take less than a quarter
 * of the whole: the rest then goes to samples that are as small as they get.
 */
static void
halve_samples(const BufferPoolSampleSize *sizes, double sum)
{
	double		most = 0;
	double		halved = 0;

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
 * Halve samples that take too much of the advisor's time, so that references are
 * dropped; double those that need not be so small, if it has been calm.  Returns
 * whether it has done either.
 */
bool
BufferPoolAdjustSamples(bool dropped, bool calm)
{
	BufferPoolSampleSize sizes[BUFFERPOOL_NUMBERS] = {0};
	double		sum = 0;

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolReadSampleSize(i, &sizes[i]);
		sum += sizes[i].passages;
	}
	if (dropped || sum > MOST_PASSAGES)
		halve_samples(sizes, sum);
	else if (calm && sum < MOST_PASSAGES / 4)
		double_samples(sizes);
	else
		return false;
	return true;
}
