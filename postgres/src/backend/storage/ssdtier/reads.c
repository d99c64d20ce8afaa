/*-------------------------------------------------------------------------
 *
 * reads.c
 *	  Reads through the SSD tier, as asynchronous I/O.
 *
 * A read from the SSD has a target of its own, so that an I/O worker opens the
 * SSD's file and not the relation's.  When it completes, each page is compared
 * with its checksum.  A page that is not right counts as not read: the buffer
 * manager repeats the read, which finds the slot marked as bad and goes to the
 * disk.  So no query fails because of the SSD.
 *
 * A read from the disk is md.c's.  A callback between md.c's and the buffer
 * manager's copies the pages that were admitted into the queue: at that moment
 * nobody else can see them, so the copies equal what is on the disk.
 *
 * The callbacks are told what they need through the upper halves of the words
 * that the buffer manager attaches to the I/O, one for each page; it reads the
 * lower halves.
 *
 * src/backend/storage/ssdtier/reads.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/uio.h>

#include "access/xlogrecovery.h"
#include "miscadmin.h"
#include "storage/aio.h"
#include "storage/aio_internal.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/io_worker.h"
#include "storage/md.h"
#include "storage/ssd_tier_internals.h"

/* ---- what the callbacks are told ---- */

/*
 * In the upper half of a page's word, for a read from the disk: the entry of
 * the queue plus 1, or 0, in 12 bits; in the first page's, which cost it is an
 * example of, in two, and 18 bits of the time in units of 16 microseconds.  For a
 * read from the SSD: the first has 32 bits of the time in microseconds.
 */
#define ENTRY_BITS 12
#define COST_BITS 2
#define TICK_SHIFT (ENTRY_BITS + COST_BITS)
#define TICK_MICROSECONDS 16
#define TICK_MASK ((1 << (32 - TICK_SHIFT)) - 1)

StaticAssertDecl(SSD_TIER_NUM_COSTS < (1 << COST_BITS), "costs do not fit");
StaticAssertDecl(SSD_TIER_MAX_WRITE_BUFFERS < (1 << ENTRY_BITS),
				 "entries of the queue do not fit");

static uint32
ticks_now(void)
{
	return (uint32) (BufferPoolNow() / TICK_MICROSECONDS) & TICK_MASK;
}

static void
tell(PgAioHandle *ioh, int page, uint32 what)
{
	uint8		length;
	uint64	   *words = pgaio_io_get_handle_data(ioh, &length);

	Assert(page < length);
	words[page] = (words[page] & PG_UINT32_MAX) | (uint64) what << 32;
}

static uint32
told(PgAioHandle *ioh, int page)
{
	uint8		length;

	return (uint32) (pgaio_io_get_handle_data(ioh, &length)[page] >> 32);
}

/* The memory of a page of the read. */
static char *
page_of(PgAioHandle *ioh, int page)
{
	uint8		length;

	return BufferGetBlock((Buffer) (uint32) pgaio_io_get_handle_data(ioh, &length)[page]);
}

/* ---- from the disk ---- */

static void
read_from_disk(PgAioHandle *ioh, SMgrRelation reln, BlockNumber blocknum,
			   void **buffers, BlockNumber nblocks, const SsdTierRead *read)
{
	for (BlockNumber i = 0; i < nblocks; i++)
		tell(ioh, i, read->entries[i] == TP_NONE ? 0 : read->entries[i] + 1);
	tell(ioh, 0, told(ioh, 0) | (uint32) read->cost << ENTRY_BITS |
		 ticks_now() << TICK_SHIFT);
	pgaio_io_register_callbacks(ioh, PGAIO_HCB_SSD_TIER_ADMIT, 0);
	pg_atomic_fetch_add_u32(&SsdTier.shared->disk_reads, 1);
	PG_TRY();
	{
		mdstartreadv(ioh, reln, MAIN_FORKNUM, blocknum, buffers, nblocks);
	}
	PG_CATCH();
	{
		pg_atomic_fetch_sub_u32(&SsdTier.shared->disk_reads, 1);
		for (BlockNumber i = 0; i < nblocks; i++)
			if (read->entries[i] != TP_NONE)
				SsdTierEntryFilled(read->entries[i], false);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * How long the disk took, if it was not asked for part of the read again: since
 * the read was begun, or since the one before it ended, if that was later.  For
 * as long as that the disk had others to serve, as it has in read-ahead.  What a
 * read at random brings beyond its first page, it brings as a scan would.
 */
static void
measure_disk(PgAioHandle *ioh, const PgAioTargetData *target, int pages)
{
	uint32		first = told(ioh, 0);
	SsdTierCost cost = (first >> ENTRY_BITS) & ((1 << COST_BITS) - 1);
	uint64		now = BufferPoolNow();
	uint64		before = pg_atomic_exchange_u64(&SsdTier.shared->disk_served, now);
	uint32		ticks = (ticks_now() - (first >> TICK_SHIFT)) & TICK_MASK;
	double		took = Min((double) ticks * TICK_MICROSECONDS,
						   (double) now - (double) before);

	if (pages != target->smgr.nblocks || cost == SSD_TIER_NUM_COSTS)
		return;
	if (cost == SSD_TIER_COST_DISK_SEQUENTIAL)
		took /= pages;
	else
		took -= (pages - 1) * SsdTierReadTime(SSD_TIER_COST_DISK_SEQUENTIAL);
	SsdTierMeasured(cost, Max(took, 0),
					cost == SSD_TIER_COST_DISK_SEQUENTIAL ? pages : 1);
}

static PgAioResult
ssd_admit_complete(PgAioHandle *ioh, PgAioResult prior_result, uint8 cb_data)
{
	const PgAioTargetData *target = pgaio_io_get_target_data(ioh);
	int			pages = prior_result.status == PGAIO_RS_ERROR ? 0 :
		prior_result.result;

	pg_atomic_fetch_sub_u32(&SsdTier.shared->disk_reads, 1);
	if (pages > 0)
		measure_disk(ioh, target, pages);
	for (int i = 0; i < target->smgr.nblocks; i++)
	{
		uint32		entry = told(ioh, i) & ((1 << ENTRY_BITS) - 1);

		if (entry == 0)
			continue;
		if (i < pages)
			memcpy(SsdTierEntryPage(entry - 1), page_of(ioh, i), BLCKSZ);
		SsdTierEntryFilled(entry - 1, i < pages);
	}
	return prior_result;
}

const		PgAioHandleCallbacks aio_ssd_tier_admit_cb = {
	.complete_shared = ssd_admit_complete,
};

/* ---- from the SSD ---- */

/*
 * I/O workers that are all busy with the disk would let reads of the SSD wait for
 * it: then the process reads by itself.
 */
static bool
would_wait_for_workers(void)
{
	return io_method == IOMETHOD_WORKER &&
		pg_atomic_read_u32(&SsdTier.shared->disk_reads) >= (uint32) io_workers;
}

/* When this I/O worker began the read that it is at; in others 0. */
static uint64 worker_began;

static void
read_from_ssd(PgAioHandle *ioh, SMgrRelation reln, BlockNumber blocknum,
			  void **buffers, BlockNumber nblocks, uint32 slot, int fd)
{
	PgAioTargetData *target = pgaio_io_get_target_data(ioh);
	struct iovec *iov;

	pgaio_io_get_iovec(ioh, &iov);
	for (BlockNumber i = 0; i < nblocks; i++)
		iov[i] = (struct iovec)
	{
		.iov_base = buffers[i], .iov_len = BLCKSZ
	};
	tell(ioh, 0, (uint32) BufferPoolNow());
	if (!SsdTier.shared->direct)
		pgaio_io_set_flag(ioh, PGAIO_HF_BUFFERED);
	if (would_wait_for_workers())
		pgaio_io_set_flag(ioh, PGAIO_HF_SYNCHRONOUS);
	pgaio_io_set_target(ioh, PGAIO_TID_SSD_TIER);
	target->smgr.rlocator = reln->smgr_rlocator.locator;
	target->smgr.forkNum = MAIN_FORKNUM;
	target->smgr.blockNum = blocknum;
	target->smgr.nblocks = nblocks;
	target->smgr.is_temp = false;
	target->smgr.skip_fsync = false;
	pgaio_io_register_callbacks(ioh, PGAIO_HCB_SSD_TIER_READV, 0);
	pgaio_io_start_readv(ioh, fd, nblocks, (uint64) slot * BLCKSZ);
}

static PgAioResult
ssd_readv_complete(PgAioHandle *ioh, PgAioResult prior_result, uint8 cb_data)
{
	const PgAioTargetData *target = pgaio_io_get_target_data(ioh);
	uint32		slot = (uint32) (pgaio_io_get_op_data(ioh)->read.offset / BLCKSZ);
	int			wanted = target->smgr.nblocks;
	int			pages = prior_result.result < 0 ? 0 : prior_result.result / BLCKSZ;
	int			good = 0;
	PgAioResult result = {.id = PGAIO_HCB_SSD_TIER_READV};

	if (prior_result.result < wanted * BLCKSZ)
		SsdTierError(SSD_TIER_READ_ERRORS,
					 prior_result.result < 0 ? -prior_result.result : EIO);
	while (good < pages &&
		   SsdTierChecksum(page_of(ioh, good), &target->smgr.rlocator,
						   target->smgr.blockNum + good) == SsdTier.slots[slot + good].crc)
		good++;
	if (good < pages)
		SsdTierError(SSD_TIER_BAD_PAGES, 0);
	if (good == wanted)
	{
		/* how long it waited for a worker is not the device's time */
		uint32		began = worker_began != 0 ? (uint32) worker_began : told(ioh, 0);

		SsdTierMeasured(SSD_TIER_COST_SSD,
						(double) ((uint32) BufferPoolNow() - began) / wanted,
						wanted);
	}
	worker_began = 0;

	/* the page after the good ones is bad; those behind it are read again */
	for (int i = 0; i < wanted; i++)
		SsdTierUnpin(slot + i, i == good);
	result.status = good == wanted ? PGAIO_RS_OK : PGAIO_RS_PARTIAL;
	result.result = good;
	return result;
}

static void
ssd_readv_report(PgAioResult result, const PgAioTargetData *target, int elevel)
{
	ereport(elevel,
			errmsg_internal("read only %d of blocks %u..%u from the SSD tier",
							result.result, target->smgr.blockNum,
							target->smgr.blockNum + target->smgr.nblocks - 1));
}

const		PgAioHandleCallbacks aio_ssd_tier_readv_cb = {
	.complete_shared = ssd_readv_complete,
	.report = ssd_readv_report,
};

/* In the process that reads.  Without the file the read fails, and is repeated. */
static void
ssd_reopen(PgAioHandle *ioh)
{
	pgaio_io_get_op_data(ioh)->read.fd = SsdTierFile();
	worker_began = BufferPoolNow();
}

static char *
ssd_describe_identity(const PgAioTargetData *target)
{
	return psprintf("SSD tier, for blocks %u..%u in file \"%s\"",
					target->smgr.blockNum,
					target->smgr.blockNum + target->smgr.nblocks - 1,
					relpathperm(target->smgr.rlocator,
								target->smgr.forkNum).str);
}

const		PgAioTargetInfo aio_ssd_tier_target_info = {
	.name = "ssd_tier",
	.reopen = ssd_reopen,
	.describe_identity = ssd_describe_identity,
};

/* ---- verification ---- */

/*
 * Compare a pinned slot with the disk.  The page is not in memory, so nobody
 * changes it there.  A slot whose checksum is wrong will not be used, which is
 * as it should be.
 */
static void
verify(SMgrRelation reln, BlockNumber blocknum, uint32 slot)
{
	static PGIOAlignedBlock copy;
	static PGIOAlignedBlock truth;
	void	   *buffer = truth.data;
	const RelFileLocator *locator = &reln->smgr_rlocator.locator;

	if (!SsdTierReadSlot(slot, copy.data) ||
		SsdTierChecksum(copy.data, locator, blocknum) != SsdTier.slots[slot].crc)
	{
		elog(LOG, "cannot verify the SSD tier's copy of block %u of \"%s\"",
			 blocknum, relpathperm(*locator, MAIN_FORKNUM).str);
		return;
	}
	mdreadv(reln, MAIN_FORKNUM, blocknum, &buffer, 1);
	if (memcmp(copy.data, truth.data, BLCKSZ) != 0)
		ereport(PANIC,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the SSD tier's copy of block %u of \"%s\" differs from the disk's",
						blocknum,
						relpathperm(*locator, MAIN_FORKNUM).str)));
	SsdTierCount(SSD_TIER_VERIFIED, 1);
}

/* If the disk cannot be read, nor is the SSD. */
static void
verify_all(SMgrRelation reln, BlockNumber blocknum, BlockNumber nblocks,
		   uint32 slot)
{
	PG_TRY();
	{
		for (BlockNumber i = 0; i < nblocks; i++)
			verify(reln, blocknum + i, slot + i);
	}
	PG_CATCH();
	{
		for (BlockNumber i = 0; i < nblocks; i++)
			SsdTierUnpin(slot + i, false);
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/* ---- the storage manager's function ---- */

/*
 * While the SSD is not useful, a read now and then goes to it if its pages are
 * there, or is measured: so rarely that the SSD takes at most this share of a
 * process's time, however slow it is.  Of a disk that has become slow that is each
 * read, so it is noticed within a second or two.
 */
#define PROBE_SHARE (1 / 64.0)

/*
 * What a page costs at least if it does not pass the SSD by, in microseconds, since
 * the directory is asked, too.  Chosen.
 */
#define LEAST_PROBE 20

static bool
is_useless(BlockNumber nblocks)
{
	static uint64 next;			/* when one may go there */
	uint64		now;

	if (SsdTierIsUseful())
		return false;
	now = BufferPoolNow();
	if (now >= next)
	{
		next = now + (uint64) (nblocks / PROBE_SHARE *
							   Max(SsdTierReadTime(SSD_TIER_COST_SSD),
								   LEAST_PROBE));
		return false;
	}
	return true;
}

/*
 * Until the database is consistent, replay asks the disk.  That may have lost pages
 * that were written before the crash, and the SSD have their newer copies: then
 * replay would leave out what the disk's page lacks, unless the log has the whole
 * page (full_page_writes).
 */
static bool
may_have_lost_pages(void)
{
	return unlikely(AmStartupProcess()) && !reachedConsistency;
}

/* Does this read of so many pages pass the SSD by? */
static bool
is_skipped(BlockNumber nblocks)
{
	if (!may_have_lost_pages() && !is_useless(nblocks))
		return false;
	pg_atomic_fetch_add_u64(&SsdTier.shared->skipped, nblocks);
	return true;
}

void
ssd_startreadv(PgAioHandle *ioh, SMgrRelation reln, ForkNumber forknum,
			   BlockNumber blocknum, void **buffers, BlockNumber nblocks)
{
	SsdTierAsk	ask = SsdTierTakeAsk(&reln->smgr_rlocator.locator);
	SsdTierRead read;
	int			fd;

	if (!SsdTierIsOn())
		SsdTierLetGoOfFile();
	if (forknum != MAIN_FORKNUM || !SsdTierIsOn() || is_skipped(nblocks) ||
		(fd = SsdTierFile()) < 0)
	{
		if (BufferPoolRecording())
			(void) BufferPoolRecordBelow(RECORD_PHYSICAL_READ, 0,
										 &reln->smgr_rlocator.locator, forknum,
										 blocknum, nblocks);
		mdstartreadv(ioh, reln, forknum, blocknum, buffers, nblocks);
		return;
	}
	SsdTierBeginRead(&ask, &reln->smgr_rlocator.locator, blocknum, nblocks, &read);
	if (!read.hit)
	{
		read_from_disk(ioh, reln, blocknum, buffers, nblocks, &read);
		return;
	}
	if (ssd_tier_verify)
		verify_all(reln, blocknum, nblocks, read.slot);
	read_from_ssd(ioh, reln, blocknum, buffers, nblocks, read.slot, fd);
}
