/*-------------------------------------------------------------------------
 *
 * sampling.c
 *	  How references reach the advisor, and its advice those who ask.
 *
 * Of each pool a sample of the pages is drawn (tidepool/advice/sample.h).
 * References to them go through one ring in shared memory, in their order, to
 * the advisor (advisor.c).  Each place of the ring has a turn: the number of the
 * reference that it is free for, or, once that is complete, the next number.
 * A process claims a place by moving the head, and completes it; the advisor
 * takes them one by one and moves the tail.  (D. Vyukov's bounded queue for
 * many producers.)  So nobody waits: a full ring drops the reference and counts
 * that, and a process may put in references anywhere, except in a signal
 * handler.
 *
 * While there is no advisor this costs one branch at each hit.
 *
 * src/backend/storage/bufferpool/sampling.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"

typedef struct Place
{
	pg_atomic_uint32 turn;
	BufferPoolSample sample;
} Place;

/* What one pool's reads have taken since the advisor last asked. */
typedef struct ReadTimes
{
	pg_atomic_uint64 pages;
	pg_atomic_uint64 nanoseconds;
} ReadTimes;

typedef struct SamplingShared
{
	/* written rarely */
	volatile uint32 sampling;
	volatile	ProcNumber advisor;
	pg_atomic_uint32 resets_asked;
	pg_atomic_uint32 resets_done;
	volatile uint32 rates[BUFFERPOOL_NUMBERS];
	char		end_of_line[PG_CACHE_LINE_SIZE];

	/* written with each reference */
	pg_atomic_uint32 head;		/* the next one's number */
	pg_atomic_uint64 dropped;
	char		end_of_line2[PG_CACHE_LINE_SIZE];

	/* written by the advisor alone */
	uint32		tail;			/* the number of the next one to be taken */
	LWLock		lock;			/* guards the advice */
	ReadTimes	times[BUFFERPOOL_NUMBERS];
} SamplingShared;

/* What a process sees that has no shared memory. */
static uint32 never;
static uint32 no_rates[BUFFERPOOL_NUMBERS];

volatile uint32 *BufferPoolSamplingFlag = &never;
volatile uint32 *BufferPoolSampleRates = no_rates;

static SamplingShared *shared;
static Place *ring;				/* [BUFFERPOOL_SAMPLES] */
static BufferPoolAdvice *advices;	/* [number of the pool] */

/* ---- set-up ---- */

static Size
advices_size(void)
{
	return mul_size(BufferPoolsReserved(), sizeof(BufferPoolAdvice));
}

Size
BufferPoolSamplingShmemSize(void)
{
	Size		size = add_size(sizeof(SamplingShared), BUFFERPOOL_SAMPLES * sizeof(Place));

	return add_size(add_size(size, advices_size()), 3 * PG_CACHE_LINE_SIZE);
}

void
BufferPoolSamplingShmemInit(void)
{
	bool		found;

	shared = ShmemInitStruct("Buffer Pool Sampling", sizeof(SamplingShared),
							 &found);
	if (!found)
	{
		MemSet(shared, 0, sizeof(SamplingShared));
		shared->advisor = INVALID_PROC_NUMBER;
		pg_atomic_init_u32(&shared->resets_asked, 0);
		pg_atomic_init_u32(&shared->resets_done, 0);
		pg_atomic_init_u32(&shared->head, 0);
		pg_atomic_init_u64(&shared->dropped, 0);
		LWLockInitialize(&shared->lock, LWTRANCHE_BUFFER_POOL_ADVICE);
		for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		{
			pg_atomic_init_u64(&shared->times[i].pages, 0);
			pg_atomic_init_u64(&shared->times[i].nanoseconds, 0);
		}
	}
	ring = ShmemInitStruct("Buffer Pool Samples", BUFFERPOOL_SAMPLES * sizeof(Place),
						   &found);
	if (!found)
		for (uint32 i = 0; i < BUFFERPOOL_SAMPLES; i++)
			pg_atomic_init_u32(&ring[i].turn, i);
	advices = ShmemInitStruct("Buffer Pool Advice", advices_size(), &found);
	if (!found)
		MemSet(advices, 0, advices_size());
	BufferPoolSamplingFlag = &shared->sampling;
	BufferPoolSampleRates = shared->rates;
}

/* Bytes of shared memory that all pools have in common. */
Size
BufferPoolSamplingMemory(void)
{
	return sizeof(SamplingShared) + BUFFERPOOL_SAMPLES * sizeof(Place);
}

/* ---- the ring ---- */

static void
wake_advisor(void)
{
	ProcNumber	advisor = shared->advisor;

	if (advisor != INVALID_PROC_NUMBER)
		SetLatch(&GetPGProcByNumber(advisor)->procLatch);
}

/* Put in a reference.  Never blocks, allocates or fails. */
void
BufferPoolPutSample(const BufferTag *page, int pool, uint32 flags,
					tp_advice_kind kind)
{
	uint32		number = pg_atomic_read_u32(&shared->head);
	Place	   *place;

	for (;;)
	{
		int32		early;

		place = &ring[number % BUFFERPOOL_SAMPLES];
		early = (int32) (pg_atomic_read_u32(&place->turn) - number);
		if (early < 0)
		{
			pg_atomic_fetch_add_u64(&shared->dropped, 1);
			return;
		}
		if (early > 0)
			number = pg_atomic_read_u32(&shared->head);
		else if (pg_atomic_compare_exchange_u32(&shared->head, &number,
												number + 1))
			break;
	}
	place->sample.page = *page;
	place->sample.time = (uint32) BufferPoolNow();
	place->sample.flags = flags;
	place->sample.pool = pool;
	place->sample.kind = kind;
	pg_write_barrier();			/* complete it before others see that it is */
	pg_atomic_write_u32(&place->turn, number + 1);
	if (number % (BUFFERPOOL_SAMPLES / 4) == 0) /* a quarter is in use */
		wake_advisor();
}

/* Take the next reference; false if there is none.  For the advisor. */
bool
BufferPoolTakeSample(BufferPoolSample *sample)
{
	Place	   *place = &ring[shared->tail % BUFFERPOOL_SAMPLES];

	if (pg_atomic_read_u32(&place->turn) != shared->tail + 1)
		return false;
	pg_read_barrier();			/* see that it is complete, then read it */
	*sample = place->sample;
	pg_memory_barrier();		/* read it, then let others write there */
	pg_atomic_write_u32(&place->turn, shared->tail + BUFFERPOOL_SAMPLES);
	shared->tail++;
	return true;
}

/* How many have been put in so far; wraps around. */
uint32
BufferPoolSamplesOffered(void)
{
	return pg_atomic_read_u32(&shared->head);
}

/* ---- the advisor's beginning and end ---- */

static void
stop(void)
{
	shared->sampling = 0;
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		shared->rates[i] = 0;
}

/*
 * This process is the advisor from now on.  The caller has made sure that there
 * is no other.
 */
void
BufferPoolBeginSampling(void)
{
	BufferPoolSample old;

	stop();
	while (BufferPoolTakeSample(&old))
		;
	shared->advisor = MyProcNumber;
	pg_memory_barrier();
	shared->sampling = 1;
}

void
BufferPoolEndSampling(void)
{
	stop();
	shared->advisor = INVALID_PROC_NUMBER;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < BufferPoolsReserved(); i++)
		advices[i].valid = false;
	LWLockRelease(&shared->lock);
}

void
BufferPoolSetSampleRate(int pool, uint32 rate)
{
	shared->rates[pool] = rate;
}

void
BufferPoolAdvisorRuns(BufferPoolAdvisorState *state)
{
	ProcNumber	advisor = shared->advisor;

	state->pid = advisor == INVALID_PROC_NUMBER ? 0 :
		GetPGProcByNumber(advisor)->pid;
	state->dropped = pg_atomic_read_u64(&shared->dropped);
}

/* ---- advice ---- */

void
BufferPoolReadAdvice(int pool, BufferPoolAdvice *advice)
{
	LWLockAcquire(&shared->lock, LW_SHARED);
	*advice = advices[pool];
	LWLockRelease(&shared->lock);
}

void
BufferPoolPublishAdvice(int pool, const BufferPoolAdvice *advice)
{
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	advices[pool] = *advice;
	LWLockRelease(&shared->lock);
}

/*
 * Let the advisor begin anew.  Waits until it has, so that what happens next is
 * all that its advice is based on; not if there is no advisor.
 */
void
BufferPoolResetAdvice(void)
{
	uint32		mine;

	BufferPoolAddAllCounters(); /* what has happened is not to be added later */
	mine = pg_atomic_add_fetch_u32(&shared->resets_asked, 1);
	while (shared->advisor != INVALID_PROC_NUMBER &&
		   (int32) (pg_atomic_read_u32(&shared->resets_done) - mine) < 0)
	{
		wake_advisor();
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
}

uint32
BufferPoolAdviceResetsAsked(void)
{
	return pg_atomic_read_u32(&shared->resets_asked);
}

void
BufferPoolAdviceWasReset(uint32 resets)
{
	pg_atomic_write_u32(&shared->resets_done, resets);
}

/* ---- how long a read takes ---- */

/* For BufferPoolCountRead: count the time since start. */
void
BufferPoolAddReadTime(Buffer buffer, instr_time start, int pages)
{
	ReadTimes  *times;
	instr_time	now;

	if (BufferIsLocal(buffer))
		return;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	times = &shared->times[BufferPoolNumber(BufferPoolOf(buffer - 1))];
	pg_atomic_fetch_add_u64(&times->pages, pages);
	pg_atomic_fetch_add_u64(&times->nanoseconds, INSTR_TIME_GET_NANOSEC(now));
}

/* What has been counted since the last call. */
void
BufferPoolTakeReadTimes(int pool, uint64 *pages, uint64 *nanoseconds)
{
	*pages = pg_atomic_exchange_u64(&shared->times[pool].pages, 0);
	*nanoseconds = pg_atomic_exchange_u64(&shared->times[pool].nanoseconds, 0);
}
