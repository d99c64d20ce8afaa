/*-------------------------------------------------------------------------
 *
 * recorder.c
 *	  The events of a recording: references, choices, pins, pools.
 *
 * Every process puts its events into a ring of its own (recorder_rings.c).
 * Events can be recorded anywhere, even in critical sections.
 *
 * A sample has no choices: a replay of it makes its own.  So all that puts them
 * into their order is left out.
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

/* When the page that was in it left the mapping, or 0. */
static uint64 left_at;

/*
 * When that page entered the mapping, or 0.  It is recorded with this time, since
 * others may find it before this process records it.
 */
static uint64 mapped_at;

/* When this process's search for a victim began, if its algorithm was told. */
static uint64 search_began;

/*
 * The page that this process searches a buffer for, or has chosen one for, and the
 * number of the pool in which it does.
 */
static BufferTag searched_for;
static int	searched_in;
static int	chosen_in;

/*
 * Pages that a search has found pinned.  A replay searches when it reaches the
 * choice, whose time is that of the search's end: it must find these pinned then,
 * also those that have been unpinned since the search looked at them.  With the
 * times of the looks, it would not.  Pages beyond MOST_MET are recorded with
 * these: hardly any search passes over as many.
 */
#define MOST_MET 64

typedef struct MetPage
{
	BufferTag	tag;
	int			buf_id;
	bool		recorded;		/* as pinned, by an earlier search */
} MetPage;

static MetPage met[MOST_MET];
static int	met_pages;
static bool collects_met;
static bool trusts_earlier;		/* no other search may yet record its pages */

/*
 * What happened since the choice but is not part of it.  The choice is recorded,
 * with its time, when the page comes into the buffer, and the times of a ring do
 * not fall: so this is put behind it.  A victim is written once, and with
 * an SSD tier a page comes or goes with it, so MOST_HELD is ample; what is more
 * goes into the ring at once, and the choice seems to have been made later.
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

/* Put what is held until this time into the ring. */
static void
put_held(uint64 until)
{
	int			n = 0;

	if (held_events == 0)
		return;
	for (; n < held_events && held[n].time <= until; n++)
		(void) BufferPoolPutRecord(&held[n].tag, held[n].kind, held[n].flags,
								   held[n].count, held[n].time);
	held_events -= n;
	memmove(held, held + n, held_events * sizeof(HeldEvent));
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
	/* for hits, of which there are many */
	if (chosen_at == 0 && mapped_at == 0 && held_events == 0 && !pends)
		return;
	chosen_at = 0;
	left_at = 0;
	mapped_at = 0;
	put_held(PG_UINT64_MAX);
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
	if ((chosen_at == 0 && mapped_at == 0) || held_events == MOST_HELD)
	{
		put_held(PG_UINT64_MAX);
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
 * Note that a search for a victim begins in the pool with this number, for the
 * page with this tag (NULL: for a new block).  by_time: the algorithm goes by the
 * time, so what the search meets and its choice are recorded with the time of this
 * call, which is returned in microseconds; else 0 is, and they are with that of the
 * search's end.  alone: no other process searches this pool meanwhile.
 */
uint64
BufferPoolRecordSearch(int pool, const BufferTag *tag, bool by_time, bool alone)
{
	bool		all_pages = BufferPoolRecordingAllPages();

	search_began = 0;
	searched_in = pool;
	searched_for = tag != NULL ? *tag : no_page;
	met_pages = 0;
	collects_met = all_pages && !by_time;
	trusts_earlier = alone;
	if (!by_time)
		return 0;
	if (!all_pages)
		return BufferPoolRecorderTime() / NS_PER_US;
	search_began = pend_time();
	return search_began / NS_PER_US;
}

/*
 * Record, as of the end of the search, the pages that it has found pinned, and
 * behind its choice those that are not any more.  A header's lock makes sure that
 * who unpins a page has recorded that, or will with a later time.
 */
static void
put_met(uint64 time)
{
	bool		gone[MOST_MET];

	for (int i = 0; i < met_pages; i++)
	{
		const MetPage *page = &met[i];
		BufferDesc *buf = GetBufferDescriptor(page->buf_id);
		uint32		buf_state = LockBufHdr(buf);

		gone[i] = !BufferPoolMetPinned[page->buf_id] ||
			!BufferTagsEqual(&buf->tag, &page->tag);
		UnlockBufHdr(buf, buf_state);
		if (gone[i] || !page->recorded)
			(void) BufferPoolPutRecord(&page->tag, RECORD_PINNED, 0, 0, time);
	}
	for (int i = 0; i < met_pages; i++)
		if (gone[i])
			BufferPoolPutAfterChoice(&met[i].tag, RECORD_UNPINNED, 0, 0, time);
	met_pages = 0;
}

/* Note that a search for a victim has ended without a choice, or that its choice is void. */
void
BufferPoolRecordNoChoice(void)
{
	search_began = 0;
	searched_in = 0;
	collects_met = false;
	if (met_pages > 0)
		put_met(BufferPoolRecorderTime());
	end_choice();
}

/*
 * Note that a search for a victim has chosen a buffer.  A replay of the same
 * algorithm chooses when it reaches this time: it then sees the same past as this
 * search did.
 *
 * The caller holds the lock under which it searched.  Without a search before,
 * PostgreSQL's clock has chosen.
 */
void
BufferPoolRecordChoice(void)
{
	chosen_at = 0;
	left_at = 0;
	mapped_at = 0;
	put_held(PG_UINT64_MAX);
	if (BufferPoolRecordingAllPages())
		chosen_at = search_began != 0 ? search_began : pend_time();
	search_began = 0;
	collects_met = false;
	chosen_in = searched_in;
	searched_in = 0;
	if (chosen_at != 0)
		put_met(chosen_at);
}

/* The flag of what is for the scan that this process reads for. */
static uint32
scan_flag(uint64 time)
{
	return BufferPoolReadingFor != 0 && BufferPoolRecordReader(time) ?
		RECORD_FOR_SCAN : 0;
}

/*
 * Note that a page enters the mapping, which this process is bringing in.  The
 * caller holds the partition's lock, so nobody has found it yet.
 */
void
BufferPoolRecordMapped(void)
{
	if (BufferPoolRecordingAllPages())
		mapped_at = chosen_at != 0 ? BufferPoolRecorderTime() : pend_time();
}

/*
 * Record the choice for this page, if there was one, and that the buffer has been
 * emptied.
 */
static void
put_choice(const BufferTag *tag, uint32 flags)
{
	if (chosen_at == 0)
		return;
	(void) BufferPoolPutRecord(tag, RECORD_CHOSEN, flags | scan_flag(chosen_at),
							   chosen_in, chosen_at);
	if (left_at == 0)
		return;
	put_held(left_at);
	(void) BufferPoolPutRecord(tag, RECORD_LEFT, 0, chosen_in, left_at);
}

/*
 * Record that this process has not taken the buffer that it had chosen.  flags:
 * RECORD_FREED, or 0: its page stays.
 */
static void
put_given_up(uint32 flags)
{
	bool		chosen = chosen_at != 0;

	put_choice(&searched_for, 0);
	end_choice();
	if (chosen)
		(void) BufferPoolPutRecord(&searched_for, RECORD_GIVEN_UP, flags, chosen_in,
								   BufferPoolRecorderTime());
}

/*
 * Record that the buffer which the search has found was in use by then, so that it
 * goes on.
 */
void
BufferPoolRecordInUse(void)
{
	uint64		time = search_began;

	if (!BufferPoolRecordingAllPages())
		return;
	if (time == 0)
		chosen_at = time = pend_time();
	put_met(time);
	(void) BufferPoolPutRecord(&searched_for, RECORD_CHOSEN,
							   RECORD_IN_USE | scan_flag(time), searched_in, time);
	if (search_began == 0)
		end_choice();
}

/* This process gives up the buffer that it has chosen, in which the page stays. */
void
BufferPoolRecordGivenUp(void)
{
	put_given_up(0);
}

/*
 * A buffer is about to become free.  If this process has made a choice, it is that
 * buffer: another process has brought in the page, or an error came.
 */
void
BufferPoolRecordFreed(void)
{
	put_given_up(RECORD_FREED);
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
	uint64		time = mapped_at;

	if (!BufferPoolInSample(tag))
		return 0;
	if (flags & RECORD_HIT)
		end_choice();
	else
		put_choice(tag, flags);
	if (time == 0 || flags & RECORD_HIT)
		time = BufferPoolRecorderTime();
	put_held(time);
	(void) BufferPoolPutRecord(tag, kind, flags | scan_flag(time), pool, time);
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
 * Record that this process is about to tell the algorithm of a pool what it has
 * queued, without a choice.  Who holds the pool's lock calls this: so processes
 * come in their order.  flags: RECORD_DUE, or 0.  Returns the time in
 * microseconds, for an algorithm that goes by it.
 */
uint64
BufferPoolRecordReported(int pool, uint32 flags)
{
	bool		after_choice = chosen_at != 0;
	uint64		time = after_choice ? BufferPoolRecorderTime() : pend_time();

	BufferPoolPutAfterChoice(&no_page, RECORD_REPORTED, flags, pool, time);
	if (!after_choice)
		end_choice();
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
 * Record whether the page in this buffer, which is in the sample, is pinned, unless
 * the last record says the same.  If there is no room, the next call for the buffer
 * tries again.
 */
static void
record_pins(BufferDesc *buf, bool pinned)
{
	if (BufferPoolMetPinned[buf->buf_id] != pinned &&
		BufferPoolPutRecord(&buf->tag, pinned ? RECORD_PINNED : RECORD_UNPINNED, 0, 0,
							event_time()))
		BufferPoolMetPinned[buf->buf_id] = pinned;
}

/* Note a page that the search has found pinned.  False: there is no room. */
static bool
note_met(const BufferDesc *buf)
{
	for (int i = 0; i < met_pages; i++)
		if (met[i].buf_id == buf->buf_id)
			return true;
	if (met_pages == MOST_MET)
		return false;
	met[met_pages].tag = buf->tag;
	met[met_pages].buf_id = buf->buf_id;
	met[met_pages].recorded = trusts_earlier && BufferPoolMetPinned[buf->buf_id];
	met_pages++;
	return true;
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
	bool		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;

	if (!(buf_state & BM_TAG_VALID))
		return;
	if (!BufferPoolInSample(&buf->tag))
		BufferPoolMetPinned[buf->buf_id] = false;
	else if (pinned && collects_met && note_met(buf))
		BufferPoolMetPinned[buf->buf_id] = true;
	else
		record_pins(buf, pinned);
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
	if (!BufferPoolRecording())
		return;
	if (BufferPoolMetPinned[buf->buf_id])
		record_pins(buf, false);
	if (chosen_at != 0)
		left_at = BufferPoolRecorderTime();
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
