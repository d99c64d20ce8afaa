/*-------------------------------------------------------------------------
 *
 * recorded_io.c
 *	  What a recording knows of the reads and writes below shared buffers.
 *
 * A physical read is recorded as it is issued, with the blocks that are read at
 * once.  With an SSD tier, that and all that happens to the tier's pages is
 * recorded under the tier's lock (directory.c), so that a replay meets the same
 * states in the same order.  Without one, the storage manager's functions record
 * it (smgr.c).  A sample lacks all this.
 *
 * How long reads take is only summed up.  Without a tier a callback of the I/O
 * measures it: it puts the time of the start into the upper half of the word
 * that the buffer manager attaches to the I/O for its first page.
 *
 * src/backend/storage/bufferpool/recorded_io.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/aio.h"
#include "storage/aio_internal.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"

/*
 * Record that count blocks from this one on are read or written below shared
 * buffers, or what the SSD tier does with them.  Returns the time in
 * microseconds, for an algorithm that goes by it.  May be called in critical
 * sections, and under the tier's lock.
 */
uint64
BufferPoolRecordBelow(uint8 kind, uint32 flags, const RelFileLocator *locator,
					  ForkNumber fork, BlockNumber block, int count)
{
	uint64		time = BufferPoolRecorderTime();
	BufferTag	tag;

	if (BufferPoolRecordingAllPages())
	{
		InitBufferTag(&tag, locator, fork, block);
		BufferPoolPutAfterChoice(&tag, kind, flags, count, time);
		BufferPoolWakeRecorder();
	}
	return time / NS_PER_US;
}

/* Record what becomes of a place in the SSD tier, under its lock. */
void
BufferPoolRecordPlace(uint8 kind, uint32 place)
{
	const RelFileLocator none = {0};

	(void) BufferPoolRecordBelow(kind, 0, &none, MAIN_FORKNUM, place, 0);
}

/* ---- how long reads take ---- */

void
BufferPoolInitRecordedReadTimes(void)
{
	RecordedReadTimes *times = BufferPoolRecordedReadTimes();

	for (int i = 0; i < RECORDED_NUM_READS; i++)
	{
		pg_atomic_init_u64(&times->pages[i], 0);
		pg_atomic_init_u64(&times->nanoseconds[i], 0);
	}
}

/* So many pages were read, in so many microseconds each. */
void
BufferPoolRecordReadTime(RecordedReads kind, double microseconds, int pages)
{
	RecordedReadTimes *times = BufferPoolRecordedReadTimes();

	pg_atomic_fetch_add_u64(&times->pages[kind], pages);
	pg_atomic_fetch_add_u64(&times->nanoseconds[kind],
							(uint64) (microseconds * pages * NS_PER_US));
}

/* ---- servers without an SSD tier ---- */

static uint32
microseconds_now(void)
{
	return (uint32) (BufferPoolRecorderTime() / NS_PER_US);
}

/* A read is about to start. */
void
BufferPoolRecordStartRead(PgAioHandle *ioh, const RelFileLocator *locator,
						  ForkNumber fork, BlockNumber block, int count)
{
	uint8		length;
	uint64	   *words = pgaio_io_get_handle_data(ioh, &length);

	(void) BufferPoolRecordBelow(RECORD_PHYSICAL_READ, 0, locator, fork, block, count);
	if (length == 0)
		return;
	words[0] = (words[0] & PG_UINT32_MAX) | (uint64) microseconds_now() << 32;
	pgaio_io_register_callbacks(ioh, PGAIO_HCB_RECORDED_READ, 0);
}

static PgAioResult
recorded_read_complete(PgAioHandle *ioh, PgAioResult prior_result, uint8 cb_data)
{
	const PgAioTargetData *target = pgaio_io_get_target_data(ioh);
	uint8		length;
	uint32		began = (uint32) (pgaio_io_get_handle_data(ioh, &length)[0] >> 32);
	int			pages = target->smgr.nblocks;

	/* not if the disk will be asked for part of the read again */
	if (prior_result.status != PGAIO_RS_ERROR && prior_result.result == pages)
		BufferPoolRecordReadTime(pages > 1 ? RECORDED_DISK_SEQUENTIAL :
								 RECORDED_DISK_RANDOM,
								 (double) (microseconds_now() - began) / pages,
								 pages);
	return prior_result;
}

const		PgAioHandleCallbacks aio_recorded_read_cb = {
	.complete_shared = recorded_read_complete,
};
