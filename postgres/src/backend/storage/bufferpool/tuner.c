/*-------------------------------------------------------------------------
 *
 * tuner.c
 *	  Self-tuning: buffers go where they save most reading.
 *
 * The advisor knows for each pool what it would have read with other sizes.  Every
 * bufferpool.autotune_interval the two pools are found between which a move of
 * buffers saves the most time of reading, and the buffers are moved, unless they
 * save less than bufferpool.autotune_gain of all reading, or less than chance
 * may account for.  A pool takes part when it has been simulated for an interval.
 * A move that takes back the last one must save twice as much for a while:
 * otherwise pools with equal needs would exchange buffers for ever, each time
 * losing the pages in them.
 *
 * Moves keep to the pools' limits (min_size, max_size), and to DEFAULT's floor.
 * Not tuned are pools that never evict (keep), the pool of the remainder, with
 * DEFAULT if there is one, and RECYCLE.
 *
 * What operators have said stays in the file of definitions: a restart, and each
 * statement about sizes, begins with that.
 *
 * Everything here is the advisor's.  What has moved is in a list in shared memory,
 * which outlives it (moves.c).
 *
 * src/backend/storage/bufferpool/tuner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/bufferpool_internals.h"
#include "utils/timestamp.h"

int			bufferpool_autotune;
int			bufferpool_autotune_interval;
double		bufferpool_autotune_gain;

/*
 * Sums for tuning fade so that they amount to those of so many intervals.
 * Chosen: with fewer, chance moves buffers; with more, a change of the workload
 * is answered later.
 */
#define INTERVALS_OF_MEMORY 3

/* A move is a power of two of these parts of the shared buffers, up to half. */
#define PARTS 256

/*
 * Buffers that move before the advisor gives the lock on definitions back, and
 * looks at its ring and for signals.  Chosen, not measured: if all are dirty and
 * a write takes 10 ms, that is 0.6 s.
 */
#define BUFFERS_PER_STEP 64

/* A pool's reads lately, in the sample. */
typedef struct Recent
{
	uint64		noted;			/* the time of the last call, or 0 */
	double		age;			/* seconds since the simulation began */
	double		seconds;		/* that the sums amount to */
	double		fraction;		/* of the pages in the sample */
	double		here;			/* misses of the pool as it is, in miniature */
	double		reads;			/* as the server has counted */
	double		misses[TP_ADVICE_SIZES];
	double		last_here;		/* the advice's, at the last call */
	double		last_reads;
	double		last_misses[TP_ADVICE_SIZES];
	double		coefficients[TP_ADVICE_SIZES];
	int			buffers[TP_ADVICE_SIZES];
} Recent;

static Recent recent[BUFFERPOOL_NUMBERS];

/* ---- what pools read ---- */

/* The pool's simulation has ended. */
void
BufferPoolForgetReads(int pool)
{
	MemSet(&recent[pool], 0, sizeof(Recent));
}

/* A sum that fades to this share, and grows as another has done. */
static double
follow(double sum, double share, double now, double last)
{
	return sum * share + now - last;
}

/* The advice has changed, but not faded.  The first call is the beginning. */
void
BufferPoolNoteReads(int pool, const tp_advice *advice)
{
	Recent	   *of_pool = &recent[pool];
	uint64		now = BufferPoolNow();
	double		seconds = (now - of_pool->noted) / 1e6;
	double		memory = INTERVALS_OF_MEMORY * bufferpool_autotune_interval;
	double		share = exp(-seconds / memory);
	bool		begins = of_pool->noted == 0;

	of_pool->noted = now;
	if (begins)
	{
		BufferPoolRememberSums(pool, advice);
		return;
	}
	of_pool->age += seconds;
	of_pool->fraction = tp_sample_fraction(advice->rate);
	of_pool->seconds = of_pool->seconds * share + seconds;
	of_pool->reads = follow(of_pool->reads, share,
							tp_advice_counted_reads(advice), of_pool->last_reads);
	of_pool->here = follow(of_pool->here, share,
						   tp_advice_misses_here(advice), of_pool->last_here);
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
	{
		of_pool->misses[size] = follow(of_pool->misses[size], share,
									   tp_advice_misses(advice, 0, size),
									   of_pool->last_misses[size]);
		of_pool->coefficients[size] = tp_advice_coefficient(advice, 0, size);
		of_pool->buffers[size] = tp_advice_size(advice, size);
	}
	BufferPoolRememberSums(pool, advice);
}

/* The advice has faded: go on from there. */
void
BufferPoolRememberSums(int pool, const tp_advice *advice)
{
	Recent	   *of_pool = &recent[pool];

	of_pool->last_reads = tp_advice_counted_reads(advice);
	of_pool->last_here = tp_advice_misses_here(advice);
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
		of_pool->last_misses[size] = tp_advice_misses(advice, 0, size);
}

/* The pool's sample has this share of the pages that it had. */
void
BufferPoolScaleReads(int pool, double share)
{
	Recent	   *of_pool = &recent[pool];

	of_pool->fraction *= share;
	of_pool->here *= share;
	of_pool->last_here *= share;
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
	{
		of_pool->misses[size] *= share;
		of_pool->last_misses[size] *= share;
	}
}

/* Reads in a second, with this size of the simulation. */
static double
reads_at(const Recent *of_pool, int size)
{
	double		wrong = of_pool->here / of_pool->fraction - of_pool->reads;
	double		reads = of_pool->misses[size] / of_pool->fraction -
		of_pool->coefficients[size] * wrong;

	return Max(reads, 0) / of_pool->seconds;
}

/*
 * Reads in a second, with so many buffers: between those of two sizes.  Beyond
 * the largest, as with that.
 */
static double
reads_with(const Recent *of_pool, int buffers)
{
	int			upper = 1;
	double		part;

	while (upper + 1 < TP_ADVICE_SIZES && of_pool->buffers[upper] < buffers)
		upper++;
	part = (double) (buffers - of_pool->buffers[upper - 1]) /
		(of_pool->buffers[upper] - of_pool->buffers[upper - 1]);
	part = Min(Max(part, 0), 1);
	return reads_at(of_pool, upper - 1) * (1 - part) +
		reads_at(of_pool, upper) * part;
}

/* ---- the best move ---- */

/* A pool that may give or take. */
typedef struct Tuned
{
	BufferPool *pool;
	const Recent *of_pool;
	char		name[NAMEDATALEN];
	int			buffers;
	int			least;
	int			most;
	double		page_time;		/* milliseconds */
} Tuned;

static double
time_with(const Tuned *tuned, int buffers)
{
	return reads_with(tuned->of_pool, buffers) * tuned->page_time;
}

/*
 * Is the pool one that is tuned?  The memory of an algorithm that keeps what it
 * has is a promise; a pool of the remainder has what others leave, and DEFAULT
 * beside one only its floor.
 */
static bool
is_tuned(const BufferPool *pool, const BufferPoolDefinition *definition)
{
	return definition->name[0] != '\0' && !definition->leaving &&
		!definition->remainder && pool != RecycleBufferPool &&
		strcmp(definition->running, "keep") != 0 &&
		!(pool == &DefaultBufferPool && BufferPoolRemainder() != NULL);
}

static int
least_of(const BufferPool *pool, const BufferPoolDefinition *definition)
{
	return pool == &DefaultBufferPool ? BufferPoolFloorOfDefault() :
		Max(definition->least, BUFFERPOOL_LEAST_BUFFERS);
}

static int
most_of(const BufferPoolDefinition *definition)
{
	return definition->most != 0 ? definition->most : NBuffers;
}

/* Is the pool still what it was when the move was chosen? */
static bool
is_unchanged(const Tuned *tuned)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(tuned->pool, &definition);
	return strcmp(definition.name, tuned->name) == 0 &&
		is_tuned(tuned->pool, &definition) &&
		least_of(tuned->pool, &definition) == tuned->least &&
		most_of(&definition) == tuned->most;
}

/*
 * The pools that may be tuned; returns how many.  page_times: milliseconds of a
 * read from each pool, or less than 0.
 */
static int
find_tuned(Tuned *all, const double *page_times)
{
	double		mean = 0;
	int			timed = 0;
	int			n = 0;

	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPool *pool = &BufferPools[i];
		Tuned	   *tuned = &all[n];
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(pool, &definition);
		if (!is_tuned(pool, &definition) ||
			recent[i].age < bufferpool_autotune_interval)
			continue;
		tuned->pool = pool;
		tuned->of_pool = &recent[i];
		strlcpy(tuned->name, definition.name, NAMEDATALEN);
		tuned->buffers = BufferPoolSize(pool);
		tuned->least = least_of(pool, &definition);
		tuned->most = most_of(&definition);
		tuned->page_time = page_times[i];
		if (page_times[i] >= 0)
		{
			mean += page_times[i];
			timed++;
		}
		n++;
	}
	/* one of which no read has been timed reads as the others do */
	for (int i = 0; i < n; i++)
		if (all[i].page_time < 0)
			all[i].page_time = timed > 0 ? mean / timed : 0;
	return n;
}

/*
 * What chance may account for in the difference of two estimates: two standard
 * errors, if misses of the sample are independent.
 */
static double
chance(const Tuned *from, const Tuned *to)
{
	double		sum = 0;

	for (int i = 0; i < 2; i++)
	{
		const Tuned *tuned = i == 0 ? from : to;
		double		error = sqrt(Max(tuned->of_pool->here, 1)) /
			tuned->of_pool->fraction / tuned->of_pool->seconds;

		sum += error * error * tuned->page_time * tuned->page_time;
	}
	return 2 * sqrt(sum);
}

static bool
takes_back(const Tuned *from, const Tuned *to, const BufferPoolMoveRecord *last)
{
	return last != NULL && (strcmp(from->name, last->to) == 0 ||
							strcmp(to->name, last->from) == 0);
}

/*
 * Find the move that saves most, of those that save enough.  Returns false if
 * there is none.
 */
static bool
find_best(const Tuned *all, int n, BufferPoolMoveRecord *best, int *best_from,
		  int *best_to)
{
	const BufferPoolMoveRecord *last = BufferPoolLastMove();
	double		sum = 0;
	double		most = 0;

	for (int i = 0; i < n; i++)
		sum += time_with(&all[i], all[i].buffers);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			for (int part = 1; i != j && part <= PARTS / 2; part *= 2)
			{
				int			buffers = Max(NBuffers * (int64) part / PARTS, 1);
				const Tuned *from = &all[i];
				const Tuned *to = &all[j];
				double		lost;
				double		saved;
				double		needed = bufferpool_autotune_gain * sum;

				if (from->buffers - buffers < from->least ||
					to->buffers + buffers > to->most)
					break;
				lost = time_with(from, from->buffers - buffers) -
					time_with(from, from->buffers);
				saved = time_with(to, to->buffers) -
					time_with(to, to->buffers + buffers);
				needed = Max(needed, chance(from, to));
				if (takes_back(from, to, last))
					needed *= 2;
				if (saved - lost <= most || saved - lost <= needed)
					continue;
				most = saved - lost;
				best->wanted = buffers;
				best->saved = saved;
				best->lost = lost;
				best->gain = most / sum;
				*best_from = i;
				*best_to = j;
			}
	return most > 0;
}

/* ---- moving ---- */

/*
 * Move up to so many buffers, as many as are not pinned, and count them in the
 * record.  Whatever happens, what has moved is what the pools should have.  The
 * caller has the lock on definitions, so that nobody else changes sizes.
 */
static void
move_some(const Tuned *from, const Tuned *to, int count,
		  BufferPoolMoveRecord *move)
{
	int			before = BufferPoolSize(to->pool);

	PG_TRY();
	{
		(void) BufferPoolMove(from->pool, to->pool, count);
	}
	PG_FINALLY();
	{
		int			moved = BufferPoolSize(to->pool) - before;

		BufferPoolHasMoved(from->pool, to->pool, moved);
		move->moved += moved;
	}
	PG_END_TRY();
}

/*
 * Move the buffers of this record, or as many as are not pinned.  Waits neither
 * for pins nor for a statement that changes pools: if there is one, or another
 * setting, or the server stops, what has moved stays so, and the next interval
 * may go on.
 */
static void
move_buffers(const Tuned *from, const Tuned *to, BufferPoolMoveRecord *move)
{
	uint32		statements = BufferPoolSizeStatements();
	int			before = -1;

	while (move->moved < move->wanted && move->moved > before &&
		   !ShutdownRequestPending && !ConfigReloadPending)
	{
		before = move->moved;
		StartTransactionCommand();
		if (BufferPoolLockDefinitions(false) &&
			BufferPoolSizeStatements() == statements &&
			is_unchanged(from) && is_unchanged(to))
			move_some(from, to, Min(move->wanted - before, BUFFERS_PER_STEP),
					  move);
		CommitTransactionCommand();
		(void) BufferPoolTakeSamples();
	}
}

/* Move the buffers, or say that they should move. */
static void
carry_out(const Tuned *from, const Tuned *to, BufferPoolMoveRecord *move)
{
	move->time = GetCurrentTimestamp();
	strlcpy(move->from, from->name, NAMEDATALEN);
	strlcpy(move->to, to->name, NAMEDATALEN);
	move->from_buffers = from->buffers;
	move->to_buffers = to->buffers;
	move->moved = -1;
	if (bufferpool_autotune != BUFFERPOOL_AUTOTUNE_ON)
	{
		BufferPoolNoteMove(move);
		return;
	}
	move->moved = 0;
	PG_TRY();
	{
		move_buffers(from, to, move);
	}
	PG_FINALLY();
	{
		BufferPoolNoteMove(move);
	}
	PG_END_TRY();
}

/* Is it time for a move?  Not soon after the last, nor after a statement. */
static bool
is_time(void)
{
	static TimestampTz last = 0;
	static uint32 statements = 0;
	static TimestampTz last_statement = 0;
	TimestampTz now = GetCurrentTimestamp();
	int			interval = bufferpool_autotune_interval * 1000;

	if (statements != BufferPoolSizeStatements())
	{
		statements = BufferPoolSizeStatements();
		last_statement = now;
	}
	if (!TimestampDifferenceExceeds(last, now, interval) ||
		!TimestampDifferenceExceeds(last_statement, now,
									TUNING_INTERVALS_OF_REST * interval))
		return false;
	last = now;
	return true;
}

/*
 * Called each second: move buffers if that is worth it.  page_times:
 * milliseconds of a read from each pool, less than 0 if none has been timed.
 */
void
BufferPoolTune(const double *page_times)
{
	Tuned	   *all;
	BufferPoolMoveRecord move = {0};
	int			from = 0;
	int			to = 0;
	int			n;

	if (bufferpool_autotune == BUFFERPOOL_AUTOTUNE_OFF || !is_time())
		return;
	all = palloc_array(Tuned, BUFFERPOOL_NUMBERS);
	n = find_tuned(all, page_times);
	if (find_best(all, n, &move, &from, &to))
		carry_out(&all[from], &all[to], &move);
	pfree(all);
}
