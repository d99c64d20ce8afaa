/*-------------------------------------------------------------------------
 *
 * cleaner.c
 *	  The background writer's work where an algorithm chooses the victims.
 *
 * Stock BgBufferSync runs ahead of the clock's hand.  Here the algorithm names
 * the buffers that it is likely to evict soon, as many as are expected to be
 * needed until the next round, and those that are dirty are written.
 *
 * What a round costs goes by the number of evictions, whatever the size of the
 * pool: it looks at LOOKS_PER_VICTIM buffers for each at most, and holds the
 * pool's lock, if the algorithm needs that at all, for LOOKS_PER_HOLD looks at
 * a time.  Nothing is written, nor any buffer's header looked at, under it.
 * While there is nothing to write, rounds become few and short.
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
 * Each look at a list may miss the cache: 11 microseconds in the median for 4
 * GB of buffers under lru with nothing in the caches.
 */
#define LOOKS_PER_HOLD 64

/*
 * Lists need one look for each victim expected.  A clock needs more, for the
 * pages that were referenced, and so does a sweep for the coldest pages: with
 * 16 it comes by once while a sixteenth of the pool is evicted, and what it
 * makes clean is that much more than the victims are drawn from (list.h).
 */
#define LOOKS_PER_VICTIM 16

/*
 * Victims that are kept clean where none are expected, for when that changes:
 * no more, since on a server that evicts nothing these writes save none.
 */
#define LEAST_VICTIMS 64
#define LEAST_SHARE 16			/* and no more than this part of the pool */

/*
 * Where nobody writes there is nothing to clean.  A round that finds no page
 * to write, with none that a query had to write since the last one, halves the
 * effort of the next, down to this; the first dirty page restores it.
 */
#define LEAST_EFFORT (1.0 / 64)

/*
 * As in BgBufferSync: a decline is followed this slowly, a rise at once.  Or
 * nearly so, since in a very short time anything may happen.
 */
#define SMOOTHING_SAMPLES 16	/* of bgwriter_delay */
#define RISE_MILLISECONDS 20

/*
 * Algorithms that keep 1 % of the pool for newcomers (lirs, w_tinylfu) evict
 * most of them from there.  So that each page is there for some rounds, no
 * more than this part of the pool is to be replaced between two.
 */
#define REPLACED_SHARE 512
#define LEAST_DELAY 2			/* milliseconds */

/* ---- from round to round ---- */

typedef struct Pace
{
	uint64		last_round;		/* when it began, as BufferPoolNow */
	double		rate;			/* allocations in a millisecond, smoothed */
	double		allowance;		/* pages that may be written now */
	double		effort;			/* share of the victims that are looked for */
	uint32		dirty_victims;	/* the pool's, when the last round began */
	int			delay;			/* milliseconds until the next round */
} Pace;

static Pace pace = {.effort = 1};

/*
 * Another round begins, when so many buffers were allocated since the last
 * one.  Returns how many victims there will be until the next.
 */
static int
begin_round(uint32 recent_alloc)
{
	uint64		now = BufferPoolNow();
	double		elapsed = Max((now - pace.last_round) / 1000.0, 1);
	double		rate = recent_alloc / elapsed;
	double		most_replaced = Max(NBuffers / REPLACED_SHARE, 1);
	uint32		dirty_victims =
		pg_atomic_read_u32(&DefaultBufferPool.shared->dirty_victims);
	double		victims;

	pace.last_round = now;
	if (pace.rate <= rate)
		pace.rate += (rate - pace.rate) * Min(elapsed / RISE_MILLISECONDS, 1);
	else
		pace.rate += (rate - pace.rate) *
			Min(elapsed / BgWriterDelay, 1) / SMOOTHING_SAMPLES;
	if (dirty_victims != pace.dirty_victims)
		pace.effort = 1;
	pace.dirty_victims = dirty_victims;
	pace.delay = BgWriterDelay;
	if (pace.rate * pace.effort * pace.delay > most_replaced)
		pace.delay = Max(most_replaced / (pace.rate * pace.effort), LEAST_DELAY);
	pace.allowance = Min(pace.allowance +
						 bgwriter_lru_maxpages * elapsed / BgWriterDelay,
						 bgwriter_lru_maxpages);

	/* where processes wait for a CPU the next round will be late as this is */
	victims = pace.rate * Max(pace.delay, Min(elapsed, 10.0 * BgWriterDelay)) *
		bgwriter_lru_multiplier;
	if (victims < 1)
		pace.rate = 0;			/* or it would underflow in the end */
	victims *= pace.effort;
	victims = Max(victims, Min(LEAST_VICTIMS, NBuffers / LEAST_SHARE));
	return (int) Min(victims, NBuffers);
}

/* Milliseconds for the background writer to sleep after a round. */
int
BufferPoolCleanDelay(void)
{
	return bgwriter_lru_maxpages > 0 && pace.delay > 0 ? pace.delay :
		BgWriterDelay;
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

/* Dirty and not pinned; a page that could not be written waits for a checkpoint. */
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

/* What the algorithm names in one hold of its lock; returns how many. */
static int
look_ahead(BufferPool *pool, tp_lookahead *ahead, int *buf_ids)
{
	bool		locked = !(pool->routine->flags & BUFFERPOOL_UPCOMING_LOCK_FREE);
	uint64		before = ahead->cursor.looks;
	uint64	   *longest = &MyBufferPoolCounters->count[BUFFERPOOL_CLEANER_LONGEST_HOLD];
	int			n = 0;
	int			buf_id;

	ahead->cursor.pause = before + LOOKS_PER_HOLD;
	if (locked)
		BufferPoolLock(pool);
	while ((buf_id = pool->routine->upcoming(pool, ahead)) >= 0)
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
 * Where the algorithm names no victims the clock does: clean so many of the
 * buffers ahead of its hand that it can take.
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
 * One round, to be called by the background writer alone: recent_alloc buffers
 * were allocated since the last one, and bgwriter_lru_maxpages is above 0.
 * Returns whether the background writer may hibernate.
 */
bool
BufferPoolClean(uint32 recent_alloc, WritebackContext *wb_context)
{
	static tp_lookahead ahead;
	int			victims = begin_round(recent_alloc);
	Round		round = {0};

	round.wb_context = wb_context;
	round.most_looks = (uint64) victims * LOOKS_PER_VICTIM;
	round.most_written = (int) pace.allowance;
	tp_upcoming_begin(&ahead, victims, is_worth_writing, NULL);
	clean_upcoming(&DefaultBufferPool, &ahead, &round);
	if (round.looks == 0)
		clean_ahead_of_clock(victims, &round);

	pace.allowance -= round.written;
	pace.effort = round.written > 0 || round.most_written == 0 ? 1 :
		Max(pace.effort / 2, LEAST_EFFORT);
	if (round.written > 0 && round.written >= round.most_written)
		PendingBgWriterStats.maxwritten_clean++;
	PendingBgWriterStats.buf_written_clean += round.written;
	BufferPoolCount(BUFFERPOOL_CLEANER_ROUNDS);
	MyBufferPoolCounters->count[BUFFERPOOL_CLEANER_LOOKS] += round.looks;
	MyBufferPoolCounters->count[BUFFERPOOL_CLEANED] += round.written;
	return round.written == 0 && recent_alloc == 0;
}
