/*-------------------------------------------------------------------------
 *
 * recorder.c
 *	  The events of a recording: references, choices, pins, pools.
 *
 * Every process puts its events into a ring of its own (recorder_rings.c).
 * Events can be recorded anywhere, even in critical sections.
 *
 * src/backend/storage/bufferpool/recorder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker_internals.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"

/* When this process chose the buffer for the page it is bringing in, or 0. */
static uint64 chosen_at;

/* When this process's search for a victim began, if its algorithm was told. */
static uint64 search_began;

/*
 * What happened since the choice but is not part of it.  The page that comes
 * into the buffer is recorded with the time of the choice, and the times of a
 * ring do not fall: so this is put behind it.  A victim is written once, and with
 * an SSD tier a page comes or goes with it, so MOST_HELD is ample; what is more
 * goes into the ring at once, and the page seems to have been chosen later.
 */
#define MOST_HELD 16

typedef struct HeldEvent
{
	uint64		time;
	BufferTag	tag;
	uint32		flags;
	int			count;
	uint8		kind;
} HeldEvent;

static const BufferTag no_page = {.forkNum = MAIN_FORKNUM};

static HeldEvent held[MOST_HELD];
static int	held_events;

/* The recorder waits for events of this process (BufferPoolPendTime). */
static bool pends;

/* Nanoseconds on a clock that all processes share. */
uint64
BufferPoolRecorderTime(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_NANOSEC(now);
}

/* The time of what a search for a victim meets. */
static uint64
event_time(void)
{
	return search_began != 0 ? search_began :
		chosen_at != 0 ? chosen_at : BufferPoolRecorderTime();
}

static void
put_held(void)
{
	for (int i = 0; i < held_events; i++)
		(void) BufferPoolPutRecord(&held[i].tag, held[i].kind, held[i].flags,
								   held[i].count, held[i].time);
	held_events = 0;
}

/* The time of a search or choice, for whose events the recorder waits. */
static uint64
pend_time(void)
{
	pends = true;
	return BufferPoolPendTime();
}

/* What follows from the choice has been recorded, or will not be. */
static void
end_choice(void)
{
	chosen_at = 0;
	put_held();
	if (pends)
		BufferPoolPendNothing();
	pends = false;
}

/*
 * Record an event that is not part of a choice: behind the page that comes in, if
 * this process has just chosen its buffer.  May be called in critical sections.
 */
void
BufferPoolPutAfterChoice(const BufferTag *tag, uint8 kind, uint32 flags, int count,
						 uint64 time)
{
	if (chosen_at == 0 || held_events == MOST_HELD)
	{
		put_held();
		(void) BufferPoolPutRecord(tag, kind, flags, count, time);
		return;
	}
	held[held_events].time = time;
	held[held_events].tag = *tag;
	held[held_events].flags = flags;
	held[held_events].count = count;
	held[held_events].kind = kind;
	held_events++;
}

/*
 * Note that a search for a victim begins, by an algorithm that goes by the
 * time.  What the search meets and its choice are recorded with this time.
 * Returns it in microseconds, for the algorithm.
 */
uint64
BufferPoolRecordSearch(void)
{
	search_began = pend_time();
	return search_began / NS_PER_US;
}

/* Note that a search for a victim has ended without a choice, or that its choice is void. */
void
BufferPoolRecordNoChoice(void)
{
	search_began = 0;
	end_choice();
}

/*
 * Note that a search for a victim has chosen a buffer.  The page that comes
 * into it is recorded with this time, because a replay chooses when it reaches
 * the reference: it then sees the same past as this search did.
 *
 * The caller holds the lock under which it searched.
 */
void
BufferPoolRecordChoice(void)
{
	chosen_at = 0;
	put_held();
	if (BufferPoolRecording())
		chosen_at = search_began != 0 ? search_began : pend_time();
	search_began = 0;
}

/*
 * Record a reference to this page: RECORD_READ, or RECORD_WRITE for a new
 * block.  pool: the number of the one that the page is in, or came in for.
 * Returns the time in microseconds, for an algorithm that goes by it; 0 if the
 * page is not in the sample.  Never blocks, allocates or fails.
 */
uint64
BufferPoolRecordReference(const BufferTag *tag, uint8 kind, uint32 flags,
						  int pool)
{
	uint64		time = flags & RECORD_HIT ? 0 : chosen_at;
	bool		in_sample = BufferPoolInSample(tag);

	if (!in_sample || flags & RECORD_HIT)
		end_choice();
	if (!in_sample)
		return 0;
	if (time == 0)
		time = BufferPoolRecorderTime();
	if (BufferPoolReadingFor != 0 && BufferPoolRecordReader(time))
		flags |= RECORD_FOR_SCAN;
	(void) BufferPoolPutRecord(tag, kind, flags, pool, time);
	end_choice();
	BufferPoolWakeRecorder();
	return time / NS_PER_US;
}

/* Record that this page has become dirty.  May be in a critical section. */
void
BufferPoolRecordDirtied(const BufferTag *tag)
{
	if (BufferPoolInSample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_DIRTIED, 0, 0, BufferPoolRecorderTime());
}

/*
 * Record that this process is about to tell the algorithm what it has queued, at
 * a time that no other event has.  Returns the time in microseconds, for an
 * algorithm that goes by it.
 */
uint64
BufferPoolRecordReported(void)
{
	uint64		time = BufferPoolRecorderTime();

	BufferPoolPutAfterChoice(&no_page, RECORD_REPORTED, 0, 0, time);
	return time / NS_PER_US;
}

/* The part of this process in the writing of pages. */
static uint32
writer_flags(void)
{
	switch (MyBackendType)
	{
		case B_BG_WRITER:
			return RECORD_BY_BGWRITER;
		case B_CHECKPOINTER:
			return RECORD_BY_CHECKPOINTER;
		case B_BG_WORKER:
			return strcmp(MyBgworkerEntry->bgw_function_name,
						  "BufferPoolWriterMain") == 0 ? RECORD_BY_POOL_WRITER : 0;
		default:
			return 0;
	}
}

/*
 * Record that this page was written.  If this process has just chosen its
 * buffer, with the time of that, as for the page that comes into it.
 */
void
BufferPoolRecordWritten(const BufferTag *tag)
{
	if (BufferPoolInSample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_WRITTEN, writer_flags(), 0,
								   chosen_at != 0 ? chosen_at : BufferPoolRecorderTime());
}

/* The time of the choice that this event follows from, if there was one. */
static uint64
time_of_choice(void)
{
	uint64		time = chosen_at;

	chosen_at = 0;
	return time != 0 ? time : BufferPoolRecorderTime();
}

/*
 * Record that a buffer, which this process has chosen, has gone from one pool to
 * another.  A replay chooses when it reaches this event.
 */
void
BufferPoolRecordMoved(int from, int to)
{
	BufferTag	tag = no_page;
	uint64		time = time_of_choice();

	if (!BufferPoolRecording())
		return;
	tag.blockNum = to;
	(void) BufferPoolPutRecord(&tag, RECORD_MOVED, 0, from, time);
	end_choice();
	BufferPoolWakeRecorder();
}

/* Record that a resident page has gone to a buffer of this pool. */
void
BufferPoolRecordPageMoved(const BufferTag *tag, int pool)
{
	uint64		time = time_of_choice();

	if (BufferPoolInSample(tag))
		(void) BufferPoolPutRecord(tag, RECORD_PAGE_MOVED, 0, pool, time);
	end_choice();
	BufferPoolWakeRecorder();
}

/* Put an event that is a text: it is described in docs/trace-format.md. */
static void
put_event_of_text(uint8 kind, int pool, const char *text)
{
	uint64		time = BufferPoolRecorderTime();
	BufferTag	tag = no_page;
	size_t		size = strlen(text);

	tag.blockNum = size;
	if (BufferPoolPutRecord(&tag, kind, 0, pool, time))
		BufferPoolPutText(text, size, pool, time);
	BufferPoolWakeRecorder();
}

/* Record that a pool has this definition from now on. */
void
BufferPoolRecordDefinition(int pool, const char *text)
{
	put_event_of_text(RECORD_POOL, pool, text);
}

/* Record that the SSD tier is in this state from now on. */
void
BufferPoolRecordSsd(const char *text)
{
	if (BufferPoolRecordingAllPages())
		put_event_of_text(RECORD_SSD, 0, text);
}

/* Record that this fork's blocks from first on are about to cease to exist. */
void
BufferPoolRecordForget(RelFileLocator locator, ForkNumber fork,
					   BlockNumber first)
{
	BufferTag	tag;

	if (!BufferPoolRecording())
		return;
	InitBufferTag(&tag, &locator, fork, first);
	(void) BufferPoolPutRecord(&tag, RECORD_FORGET, 0, 0, BufferPoolRecorderTime());
	BufferPoolWakeRecorder();
}

/*
 * Record whether the page in this buffer is pinned, unless the last record
 * says the same.  If there is no room, the next call for the buffer tries
 * again.
 */
static void
record_pins(BufferDesc *buf, bool pinned)
{
	if (BufferPoolMetPinned[buf->buf_id] != pinned &&
		(!BufferPoolInSample(&buf->tag) ||
		 BufferPoolPutRecord(&buf->tag, pinned ? RECORD_PINNED : RECORD_UNPINNED, 0, 0,
							 event_time())))
		BufferPoolMetPinned[buf->buf_id] = pinned;
}

/*
 * Called when a search for a victim comes to this buffer.  Records the first
 * time that a search finds its page pinned, and the end of that pin; many
 * searches may pass over the page in between.
 *
 * The caller holds the header's spinlock, so changes of one page enter the
 * rings, of whichever processes, in their order.
 */
void
BufferPoolRecordMet(BufferDesc *buf, uint32 buf_state)
{
	if (buf_state & BM_TAG_VALID)
		record_pins(buf, BUF_STATE_GET_REFCOUNT(buf_state) != 0);
}

/* A search found the page in this buffer pinned; it may be unpinned now. */
void
BufferPoolRecordMetUnpinned(BufferDesc *buf)
{
	uint32		buf_state = LockBufHdr(buf);

	BufferPoolRecordMet(buf, buf_state);
	UnlockBufHdr(buf, buf_state);
}

/*
 * The page in this buffer is about to leave it.  If a search has found it
 * pinned, perhaps by the process that replaces it, record the end of that.
 * The caller holds the header's spinlock.
 */
void
BufferPoolRecordLeaves(BufferDesc *buf)
{
	if (BufferPoolRecording())
		record_pins(buf, false);
}

/*
 * The algorithm's parameters, as NAME=VALUE,...  Those not named have their
 * defaults.
 */
const char *
BufferPoolParameters(void)
{
	return show_bufferpool_parameters();
}
