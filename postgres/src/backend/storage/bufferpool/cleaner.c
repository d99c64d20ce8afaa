/*-------------------------------------------------------------------------
 *
 * cleaner.c
 *	  The rounds of the background writer, and of trickle writers, where an
 *	  algorithm chooses the victims.
 *
 * Stock BgBufferSync runs ahead of the clock's hand.  Here the algorithm names
 * the buffers that it is likely to evict soon, as many as will probably be
 * needed before the next round, and the dirty ones are written.
 *
 * The cost of a round depends on the number of evictions, not on the size of
 * the pool.  A round looks at no more than LOOKS_PER_VICTIM buffers for each,
 * and holds the pool's lock, if the algorithm needs it, for LOOKS_PER_HOLD
 * looks at a time.  Under the lock nothing is written and no buffer header is
 * read.  While nothing is dirty, rounds become few and short.
 *
 * src/backend/storage/bufferpool/cleaner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgwriter.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"

/*
 * Each look at a list may miss the cache: 11 microseconds in the median for 4
 * GB of buffers under lru with nothing in the caches.
 */
#define LOOKS_PER_HOLD 64

/*
 * Lists need one look for each expected victim.  A clock needs more, because
 * it passes over pages that were referenced.  So does a sweep for the coldest
 * pages: with 16 it goes round the pool once while a sixteenth of the pool is
 * evicted, and cleans that much more than the victims are drawn from
 * (cold_share in parts/walk.c).
 */
#define LOOKS_PER_VICTIM 16

/*
 * Victims that are kept clean even when none are expected.  No more than
 * these, since on a server that evicts nothing such writes are wasted.  One
 * hold of the lock can name them.  Chosen, not measured: with fewer the first
 * queries after a pause write their victims themselves.
 */
#define LEAST_VICTIMS 64
#define LEAST_SHARE 16			/* at most 1/16 of the pool */

/*
 * A round that writes nothing halves the effort of the next, down to this.
 * The first page that a round or a query has to write restores it.  Rounds at
 * full effort took 2 % of two CPUs while eight clients missed and nobody wrote.
 * 1/64 of that is chosen, not measured: less hardly saves more.
 */
#define LEAST_EFFORT (1.0 / 64)

/*
 * As in BgBufferSync, the smoothed rate follows a decline slowly and a rise at
 * once.  (At once is RISE_MILLISECONDS: rates over shorter times are noise.)
 * 20 is chosen, not measured: ten of the shortest rounds (LEAST_DELAY), and a
 * tenth of the default bgwriter_delay.  With less a single burst makes the
 * next round large, with more a rise is followed late.
 */
#define SMOOTHING_SAMPLES 16	/* of bgwriter_delay, BgBufferSync's number */
#define RISE_MILLISECONDS 20

/*
 * The interval between rounds declines so many times as fast as the rate: each
 * round looks at what the longest of the last ones would need, most of it again.
 * With 1 the writer took 22 % of a CPU under pbm that evicted 25,000 pages a second
 * (bench/background_writer.py), with 8 15 %.
 */
#define INTERVAL_DECLINE 8

/*
 * Algorithms that keep 1 % of the pool for newcomers (lirs, w_tinylfu) evict
 * most pages from there.  Rounds follow each other so fast that at most 1/512
 * of the pool is replaced between two: each newcomer stays for five rounds.
 * In 512 buffers under lirs, 2 % of the evictions then met a dirty page, with
 * rounds each 200 ms 65 % (the load of tests/server/test_cleaner.py).
 */
#define REPLACED_SHARE 512
#define LEAST_DELAY 2			/* milliseconds: at most 500 rounds a second */

/* ---- from round to round ---- */

typedef struct CleanerState
{
	uint64		last_round;		/* when it began (BufferPoolNow) */
	double		rate;			/* allocations per millisecond, smoothed */
	double		interval;		/* milliseconds from round to round, smoothed */
	double		allowance;		/* pages that may be written now */
	double		effort;			/* share of the expected victims to look for */
	uint32		dirty_victims;	/* the pool's, when the last round began */
	int			delay;			/* milliseconds until the next round */
} CleanerState;

/* Of each pool that this process cleans. */
static CleanerState states[BUFFERPOOL_NUMBERS];

static CleanerState *
state_of(const BufferPool *pool)
{
	CleanerState *state = &states[BufferPoolNumber(pool)];

	if (state->effort == 0)
		state->effort = 1;		/* the first round */
	return state;
}

/*
 * Begin a round; recent_alloc buffers were allocated since the last one.
 * Returns the number of victims expected before the next round.
 */
static int
begin_round(BufferPool *pool, uint32 recent_alloc, int maxpages)
{
	CleanerState *state = state_of(pool);
	int			buffers = pg_atomic_read_u32(&pool->shared->buffers);
	uint64		now = BufferPoolNow();
	double		elapsed = Max((now - state->last_round) / 1000.0, 1);
	double		rate = recent_alloc / elapsed;
	double		decline = Min(elapsed / BgWriterDelay, 1) / SMOOTHING_SAMPLES;
	double		most_replaced = Max(buffers / REPLACED_SHARE, 1);
	uint32		dirty_victims =
		pg_atomic_read_u32(&pool->shared->dirty_victims);
	double		victims;

	state->last_round = now;
	if (state->rate <= rate)
		state->rate += (rate - state->rate) * Min(elapsed / RISE_MILLISECONDS, 1);
	else
		state->rate += (rate - state->rate) * decline;
	if (dirty_victims != state->dirty_victims)
		state->effort = 1;
	state->dirty_victims = dirty_victims;
	state->delay = BgWriterDelay;
	if (state->rate * state->effort * state->delay > most_replaced)
		state->delay = Max(most_replaced / (state->rate * state->effort),
						   LEAST_DELAY);
	state->allowance = Min(state->allowance +
						   maxpages * elapsed / BgWriterDelay, maxpages);

	/*
	 * If processes wait for a CPU, one of the next rounds will be as late as
	 * one of the last: it follows a rise at once, too.  More than ten delays
	 * was a pause, not a queue for the CPU (chosen).
	 */
	if (elapsed <= 10.0 * BgWriterDelay)
		state->interval = Max(elapsed, state->interval +
							  (elapsed - state->interval) *
							  Min(INTERVAL_DECLINE * decline, 1));
	victims = state->rate * Max(state->delay, state->interval) *
		bgwriter_lru_multiplier;
	if (victims < 1)
		state->rate = 0;		/* or it would underflow eventually */
	victims *= state->effort;
	victims = Max(victims, Min(LEAST_VICTIMS, buffers / LEAST_SHARE));
	return (int) Min(victims, buffers);
}

/* Milliseconds to sleep after a round for this pool. */
int
BufferPoolCleanDelay(const BufferPool *pool)
{
	int			delay = state_of(pool)->delay;

	return delay > 0 ? delay : BgWriterDelay;
}

/* ---- a round ---- */

typedef struct Round
{
	WritebackContext *wb_context;
	uint64		looks;			/* so far */
	uint64		most_looks;
	int			written;		/* pages, so far */
	int			most_written;
} Round;

static bool
has_ended(const Round *round)
{
	return round->looks >= round->most_looks ||
		round->written >= round->most_written;
}

/*
 * Is the page dirty and unpinned?  One that could not be written is left to
 * the checkpoint.
 */
static bool
is_worth_writing(void *arg, uint32 buf_id)
{
	uint32		buf_state = pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state);

	return BUF_STATE_GET_REFCOUNT(buf_state) == 0 &&
		(buf_state & (BM_DIRTY | BM_IO_ERROR)) == BM_DIRTY;
}

static void
clean(Round *round, int buf_id)
{
	if (!has_ended(round) && is_worth_writing(NULL, buf_id) &&
		SyncColdBuffer(buf_id, round->wb_context))
		round->written++;
}

/* Collect the buffers named in one hold of the lock.  Returns their number. */
static int
look_ahead(BufferPool *pool, tp_lookahead *ahead, int *buf_ids)
{
	bool		locked = !(pool->flags & TP_UPCOMING_LOCK_FREE);
	uint64		before = ahead->cursor.looks;
	uint64	   *longest = &pool->counted.count[BUFFERPOOL_CLEANER_LONGEST_HOLD];
	int			n = 0;
	uint32		buf_id;

	ahead->cursor.pause = before + LOOKS_PER_HOLD;
	if (locked)
		BufferPoolLock(pool);
	while ((buf_id = tp_upcoming(&pool->core, ahead)) != TP_NONE)
		buf_ids[n++] = buf_id;
	if (locked)
	{
		BufferPoolUnlock(pool);
		*longest = Max(*longest, ahead->cursor.looks - before);
	}
	Assert(n <= LOOKS_PER_HOLD);
	return n;
}

static void
clean_upcoming(BufferPool *pool, tp_lookahead *ahead, Round *round)
{
	while (!has_ended(round) && !ahead->cursor.over)
	{
		int			buf_ids[LOOKS_PER_HOLD];
		int			n = look_ahead(pool, ahead, buf_ids);

		round->looks = ahead->cursor.looks;
		for (int i = 0; i < n; i++)
			clean(round, buf_ids[i]);
	}
}

/*
 * If the algorithm names no victims, the clock chooses them: clean the next
 * victims buffers ahead of its hand that it can take.
 */
static void
clean_ahead_of_clock(int victims, Round *round)
{
	int			buf_id = StrategySyncStart(NULL, NULL);

	for (int i = 0; i < NBuffers && victims > 0 && !has_ended(round); i++)
	{
		uint32		buf_state = pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state);

		round->looks++;
		if (BUF_STATE_GET_REFCOUNT(buf_state) == 0 &&
			BUF_STATE_GET_USAGECOUNT(buf_state) == 0)
		{
			clean(round, buf_id);
			victims--;
		}
		buf_id = (buf_id + 1) % NBuffers;
	}
}

/*
 * Run a round for a pool with an algorithm.  recent_alloc: buffers of the pool
 * allocated since the last one.  maxpages: that may be written in each
 * bgwriter_delay, above 0.  Returns the number of pages written.
 */
int
BufferPoolClean(BufferPool *pool, uint32 recent_alloc, int maxpages,
				WritebackContext *wb_context)
{
	static tp_lookahead lookaheads[BUFFERPOOL_NUMBERS];
	tp_lookahead *ahead = &lookaheads[BufferPoolNumber(pool)];
	CleanerState *state = state_of(pool);
	int			victims = begin_round(pool, recent_alloc, maxpages);
	Round		round = {0};

	round.wb_context = wb_context;
	round.most_looks = (uint64) victims * LOOKS_PER_VICTIM;
	round.most_written = (int) state->allowance;
	tp_upcoming_begin(ahead, victims, is_worth_writing, NULL);
	clean_upcoming(pool, ahead, &round);
	if (round.looks == 0 && pool == &DefaultBufferPool)
		clean_ahead_of_clock(victims, &round);

	state->allowance -= round.written;
	state->effort = round.written > 0 || round.most_written == 0 ? 1 :
		Max(state->effort / 2, LEAST_EFFORT);
	if (AmBackgroundWriterProcess())
	{
		if (round.written > 0 && round.written >= round.most_written)
			PendingBgWriterStats.maxwritten_clean++;
		PendingBgWriterStats.buf_written_clean += round.written;
	}
	BufferPoolCount(pool, BUFFERPOOL_CLEANER_ROUNDS);
	BufferPoolCountMany(pool, BUFFERPOOL_CLEANER_LOOKS, round.looks);
	BufferPoolCountMany(pool, BUFFERPOOL_CLEANED, round.written);
	BufferPoolAddCounters(pool);
	return round.written;
}
