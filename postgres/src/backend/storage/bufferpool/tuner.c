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
 * losing the pages in them.  If a pool's reads are others by now than in the
 * intervals before, these are forgotten, so that a change is answered at once.
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

/*
 * Sums of so many intervals tell that the workload has changed: if a pool of the
 * same size would read more or less than before, by this share of what it read
 * and by so many standard errors.  Then what came before is forgotten.  Chosen.
 */
#define INTERVALS_TO_NOTICE 0.5
#define CHANGED_BY 0.5
#define CHANGED_BY_ERRORS 4

/* A move is a power of two of these parts of the shared buffers, up to half. */
#define PARTS 256

/*
 * Buffers that move before the advisor gives the lock on definitions back, and
 * looks at its ring and for signals.  Chosen, not measured: if all are dirty and
 * a write takes 10 ms, that is 0.6 s.
 */
#define BUFFERS_PER_STEP 64

/* What a pool has read, in the sample. */
typedef struct Reads
{
	double		seconds;
	double		reads;			/* as the server has counted */
	double		here;			/* misses of the pool as it is, in miniature */
	double		variance;		/* of these */
	double		misses[TP_ADVICE_SIZES];
} Reads;

/* A pool's, lately. */
typedef struct Recent
{
	uint64		noted;			/* the time of the last call, or 0 */
	double		age;			/* seconds since the simulation began */
	double		fraction;		/* of the pages in the sample */
	Reads		last;			/* the advice's, at the last call */
	Reads		longer;			/* sums that fade, of INTERVALS_OF_MEMORY */
	Reads		lately;			/* likewise, of INTERVALS_TO_NOTICE */
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

static Reads
reads_of(const tp_advice *advice)
{
	Reads		reads = {
		.reads = tp_advice_counted_reads(advice),
		.here = tp_advice_misses_here(advice),
		.variance = tp_advice_variance_here(advice)
	};

	for (int size = 0; size < TP_ADVICE_SIZES; size++)
		reads.misses[size] = tp_advice_misses(advice, 0, size);
	return reads;
}

static double
plus(double sum, double share, double last, double now)
{
	return sum * share + now - last;
}

/* Let sums fade, to those of so many seconds, and add what has come since last. */
static void
follow(Reads *sums, double memory, double seconds,
	   const Reads *last, const Reads *now)
{
	double		share = exp(-seconds / memory);

	sums->seconds = sums->seconds * share + seconds;
	sums->variance = plus(sums->variance, share * share, last->variance, now->variance);
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
		sums->misses[size] = plus(sums->misses[size], share, last->misses[size],
								  now->misses[size]);
	sums->reads = plus(sums->reads, share, last->reads, now->reads);
	sums->here = plus(sums->here, share, last->here, now->here);
}

/* The advice has changed, but not faded.  The first call is the beginning. */
void
BufferPoolNoteReads(int pool, const tp_advice *advice)
{
	Recent	   *of_pool = &recent[pool];
	uint64		now = BufferPoolNow();
	double		seconds = (now - of_pool->noted) / 1e6;
	double		interval = bufferpool_autotune_interval;
	bool		begins = of_pool->noted == 0;
	Reads		reads = reads_of(advice);

	of_pool->noted = now;
	if (!begins)
	{
		of_pool->age += seconds;
		of_pool->fraction = tp_sample_fraction(advice->rate);
		follow(&of_pool->longer, INTERVALS_OF_MEMORY * interval, seconds,
			   &of_pool->last, &reads);
		follow(&of_pool->lately, INTERVALS_TO_NOTICE * interval, seconds,
			   &of_pool->last, &reads);
		for (int size = 0; size < TP_ADVICE_SIZES; size++)
		{
			of_pool->coefficients[size] = tp_advice_coefficient(advice, 0, size);
			of_pool->buffers[size] = tp_advice_size(advice, size);
		}
	}
	of_pool->last = reads;
}

/* The advice has faded: go on from there. */
void
BufferPoolRememberSums(int pool, const tp_advice *advice)
{
	recent[pool].last = reads_of(advice);
}

static void
scale(Reads *reads, double share)
{
	reads->here *= share;
	reads->variance *= share * share;
	for (int size = 0; size < TP_ADVICE_SIZES; size++)
		reads->misses[size] *= share;
}

/* The pool's sample has this share of the pages that it had. */
void
BufferPoolScaleReads(int pool, double share)
{
	recent[pool].fraction *= share;
	scale(&recent[pool].last, share);
	scale(&recent[pool].longer, share);
	scale(&recent[pool].lately, share);
}

/* Standard error of the sample's misses in a second. */
static double
error_of(const Reads *sums)
{
	return sqrt(Max(sums->variance, 1)) / sums->seconds;
}

/* Do sums of half an interval say that the workload is another one by now? */
static bool
has_changed(const Recent *of_pool)
{
	const Reads *before = &of_pool->longer;
	const Reads *now = &of_pool->lately;
	double		old = before->misses[TP_ADVICE_SIZES / 2] / before->seconds;
	double		new = now->misses[TP_ADVICE_SIZES / 2] / now->seconds;
	double		error = error_of(before) + error_of(now);

	return fabs(new - old) > Max(CHANGED_BY * old, CHANGED_BY_ERRORS * error);
}

static void
forget_what_has_changed(void)
{
	for (int pool = 0; pool < BUFFERPOOL_NUMBERS; pool++)
		if (recent[pool].noted != 0 && has_changed(&recent[pool]))
			recent[pool].longer = recent[pool].lately;
}

/* Reads in a second, with this size of the simulation. */
static double
reads_at(const Recent *of_pool, int size)
{
	const Reads *sums = &of_pool->longer;
	double		wrong = sums->here / of_pool->fraction - sums->reads;
	double		reads = sums->misses[size] / of_pool->fraction -
		of_pool->coefficients[size] * wrong;

	return Max(reads, 0) / sums->seconds;
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
		double		error = error_of(&tuned->of_pool->longer) /
			tuned->of_pool->fraction;

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
	forget_what_has_changed();
	all = palloc_array(Tuned, BUFFERPOOL_NUMBERS);
	n = find_tuned(all, page_times);
	if (find_best(all, n, &move, &from, &to))
		carry_out(&all[from], &all[to], &move);
	pfree(all);
}
