/*-------------------------------------------------------------------------
 *
 * bufferpool_advice.h
 *	  What buffer pools would read with other sizes and algorithms.
 *
 * storage/bufferpool/sampling.c explains how references reach the advisor,
 * advised.c what it does with them.
 *
 * src/include/storage/bufferpool_advice.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_ADVICE_H
#define BUFFERPOOL_ADVICE_H

#include "common/relpath.h"
#include "datatype/timestamp.h"
#include "portability/instr_time.h"
#include "storage/buf_internals.h"
#include "tidepool/advice/advice.h"

extern PGDLLIMPORT bool bufferpool_advice;
extern PGDLLIMPORT char *bufferpool_advice_algorithms;
extern PGDLLIMPORT int bufferpool_advice_memory;
extern PGDLLIMPORT int bufferpool_advice_window;

/*
 * Least bufferpool.advice_memory, kilobytes.  With four algorithms half of it is
 * what miniatures and the ring take however small the sample is.
 */
#define LEAST_ADVICE_MEMORY 512

/* Is there an advisor that wants references?  May lag for an instant. */
extern PGDLLIMPORT volatile uint32 *BufferPoolSamplingFlag;

static inline bool
BufferPoolSampling(void)
{
	return unlikely(*BufferPoolSamplingFlag != 0);
}

/* ---- references on their way to the advisor ---- */

/*
 * References that there is room for, a power of two; 128 KiB.  Chosen, not
 * measured: it takes a sixtieth of a second to fill at the rate above which the
 * sample is halved, with four algorithms.
 */
#define BUFFERPOOL_SAMPLES 4096

/* [number of the pool]: rate of its sample (tp_page_sampled), or 0: no sample. */
extern PGDLLIMPORT volatile uint32 *BufferPoolSampleRates;

/* A reference of the sample. */
typedef struct BufferPoolSample
{
	BufferTag	page;
	uint32		time;			/* lower bits of BufferPoolNow() */
	uint16		flags;			/* as tp_access has them */
	uint8		pool;			/* its number */
	uint8		kind;			/* tp_advice_kind */
} BufferPoolSample;

/*
 * The page by which the sample is drawn.  The file's number is enough: that
 * files of two databases have the same one does no harm.
 */
static inline tp_page
BufferPoolSamplePage(const BufferTag *tag)
{
	return tp_page_make((uint64) tag->relNumber << 2 | tag->forkNum,
						tag->blockNum);
}

extern void BufferPoolPutSample(const BufferTag *page, int pool, uint32 flags,
								tp_advice_kind kind);
extern bool BufferPoolTakeSample(BufferPoolSample *sample);

/*
 * Does the advisor want references to this page?  pool: the number of the one
 * that the page is in, or came in for.
 */
static inline bool
BufferPoolIsSampled(const BufferTag *page, int pool)
{
	uint32		rate = BufferPoolSampleRates[pool];

	return rate != 0 && tp_page_sampled(BufferPoolSamplePage(page), rate);
}

/* Give the advisor a reference, if it wants it. */
static inline void
BufferPoolOfferSample(const BufferTag *page, int pool, uint32 flags,
					  tp_advice_kind kind)
{
	if (BufferPoolIsSampled(page, pool))
		BufferPoolPutSample(page, pool, flags, kind);
}

/* ---- what the advisor found ---- */

/* A relation of a pool; file is 0 if the place is unused. */
typedef struct BufferPoolAdviceRelation
{
	Oid			tablespace;
	Oid			database;
	RelFileNumber file;
	double		requests;		/* estimated */
	float		reads[TP_ADVICE_POLICIES][TP_ADVICE_SIZES];
} BufferPoolAdviceRelation;

/* Of one pool.  Sums are of the last period, estimated where that is said. */
typedef struct BufferPoolAdvice
{
	bool		valid;			/* there is one */
	TimestampTz since;			/* the simulation's beginning */
	double		seconds;		/* of the period */
	double		requests;		/* as counted */
	double		reads;			/* as counted, without new blocks */
	double		page_time;		/* milliseconds of a read; negative: unknown */
	uint32		frames;			/* of the sample at 100 % */
	double		sample_rate;
	uint64		samples;		/* references simulated */
	Size		memory;			/* bytes */
	uint32		began_with;		/* buffers that are 100 % */
	int			policies;
	char		algorithms[TP_ADVICE_POLICIES][NAMEDATALEN];
	int			buffers[TP_ADVICE_SIZES];
	double		estimates[TP_ADVICE_POLICIES][TP_ADVICE_SIZES]; /* reads */
	BufferPoolAdviceRelation relations[TP_ADVICE_RELATIONS];
} BufferPoolAdvice;

/* Of all pools. */
typedef struct BufferPoolAdvisorState
{
	int			pid;			/* of the advisor; 0: there is none */
	uint64		dropped;		/* references for which there was no room */
} BufferPoolAdvisorState;

/* ---- bursts ---- */

typedef enum BufferPoolBurstState
{
	BUFFERPOOL_BURST_LASTING,	/* all references are simulated, and count,
								 * and no rest is near */
	BUFFERPOOL_BURST_RESTING,	/* none are */
	BUFFERPOOL_BURST_WARMING,	/* all are, and do not count yet */
	BUFFERPOOL_BURST_COUNTING	/* they do */
} BufferPoolBurstState;

/* When a pool's references are simulated; bursts.c.  Times are BufferPoolNow()'s. */
typedef struct BufferPoolBurst
{
	BufferPoolBurstState state;
	uint64		since;			/* it has this state, or its speed is measured */
	uint64		references;		/* simulated since then */
	double		passages;		/* a second, through miniatures, in bursts */

	/* since the last inclusion */
	uint64		simulated;
	uint64		not_counted;	/* of them */

	/* the advisor's time */
	uint64		followed;		/* the last time, or 0 */
	uint64		not_charged;	/* references simulated since then */
	double		unused;			/* passages that may be made at once */
} BufferPoolBurst;

/* What BufferPoolFollowBurst has found. */
typedef enum BufferPoolBurstEvent
{
	BUFFERPOOL_BURST_GOES_ON,
	BUFFERPOOL_BURST_BEGINS,	/* include what has been simulated, and let
								 * references come in again */
	BUFFERPOOL_BURST_COUNTS,	/* those up to now do not count */
	BUFFERPOOL_BURST_ENDS		/* let no more come in */
} BufferPoolBurstEvent;

/* ---- the sample's size ---- */

/*
 * A sample has at least so many pages for the pool's buffers.  Chosen, not
 * measured: the smallest size then has six.
 */
#define BUFFERPOOL_LEAST_SAMPLE 60

typedef struct BufferPoolSampleSize
{
	uint32		frames;			/* that stand for the pool's */
	uint32		began_with;		/* buffers of the pool */
	bool		limited;		/* memory would admit more */
	double		passages;		/* as BufferPoolBurst has them */
} BufferPoolSampleSize;

/* sampling.c */
extern Size BufferPoolSamplingShmemSize(void);
extern void BufferPoolSamplingShmemInit(void);
extern Size BufferPoolSamplingMemory(void);
extern uint32 BufferPoolSamplesOffered(void);
extern void BufferPoolBeginSampling(void);
extern void BufferPoolEndSampling(void);
extern void BufferPoolSetSampleRate(int pool, uint32 rate);
extern void BufferPoolAdvisorRuns(BufferPoolAdvisorState *state);
extern void BufferPoolReadAdvice(int pool, BufferPoolAdvice *advice);
extern void BufferPoolPublishAdvice(int pool, const BufferPoolAdvice *advice);
extern void BufferPoolResetAdvice(void);
extern uint32 BufferPoolAdviceResetsAsked(void);
extern void BufferPoolAdviceWasReset(uint32 resets);
extern void BufferPoolTakeReadTimes(int pool, uint64 *pages,
									uint64 *nanoseconds);
extern void BufferPoolAddReadTime(Buffer buffer, instr_time start, int pages);

/* advisor.c */
extern void BufferPoolStartAdvisor(void);
extern void BufferPoolAdvisorMain(Datum main_arg);

/* advised.c */
extern bool BufferPoolTakeSamples(void);
extern void BufferPoolFollowAdvised(int number);
extern void BufferPoolForgetAdvice(int number);
extern void BufferPoolPublishAdvised(int number);
extern bool BufferPoolFollowBursts(void);
extern double BufferPoolAdvisedPageTime(int number);
extern void BufferPoolReadSampleSize(int number, BufferPoolSampleSize *size);
extern void BufferPoolLimitSample(int number, uint32 frames);

/* bursts.c */
extern void BufferPoolBeginBursts(BufferPoolBurst *burst, uint64 now);
extern BufferPoolBurstEvent BufferPoolFollowBurst(BufferPoolBurst *burst,
												  uint32 frames,
												  uint32 miniatures,
												  double passages,
												  uint64 now);
extern void BufferPoolCountSimulated(BufferPoolBurst *burst, size_t references);
extern bool BufferPoolBurstCounts(const BufferPoolBurst *burst);
extern double BufferPoolBurstTimes(const BufferPoolBurst *burst,
								   uint64 requests, uint64 offered, bool whole);
extern void BufferPoolBurstIncluded(BufferPoolBurst *burst);
extern double BufferPoolPassagesOf(int pool, const double *passages, int n);

/* sample_size.c */
extern bool BufferPoolAdjustSamples(bool dropped, bool calm);

/*
 * Of one read in so many the time is taken, whatever track_io_timing is.
 * Chosen, not measured: reading the clock twice costs 50 ns of a read's
 * microseconds.
 */
#define READS_PER_TIMING 16

/*
 * Call before a read that begins with this block is issued, and before it is
 * waited for; give the answer to BufferPoolCountRead.
 */
static inline instr_time
BufferPoolTimeRead(BlockNumber block)
{
	instr_time	start;

	INSTR_TIME_SET_ZERO(start);
	if (BufferPoolSampling() && tp_mix64(block) % READS_PER_TIMING == 0)
		INSTR_TIME_SET_CURRENT(start);
	return start;
}

/*
 * Count the time since start, if it was taken, of a read into this buffer and
 * those behind it.  pages: 0 if they have been counted.
 */
static inline void
BufferPoolCountRead(Buffer buffer, instr_time start, int pages)
{
	if (unlikely(!INSTR_TIME_IS_ZERO(start)))
		BufferPoolAddReadTime(buffer, start, pages);
}

#endif							/* BUFFERPOOL_ADVICE_H */
