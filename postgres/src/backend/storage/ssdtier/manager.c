/*-------------------------------------------------------------------------
 *
 * manager.c
 *	  The storage manager of relations whose pages may be on an SSD: md.c, with
 *	  a tier in front of it.
 *
 * The disk always has the truth.  Whatever changes it tells the directory
 * first, so that a copy is read only while it equals the page on the disk.  Only
 * main forks have copies.
 *
 * src/backend/storage/ssdtier/manager.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_recorder.h"
#include "storage/md.h"
#include "storage/ssd_tier_internals.h"

/* ---- what becomes of files ---- */

/* Recovery also calls this for files that exist, and keeps what is in them. */
void
ssd_create(SMgrRelation reln, ForkNumber forknum, bool isRedo)
{
	if (forknum == MAIN_FORKNUM && !(isRedo && mdexists(reln, forknum)))
		SsdTierForgetRelation(&reln->smgr_rlocator.locator);
	mdcreate(reln, forknum, isRedo);
}

void
ssd_unlink(RelFileLocatorBackend rlocator, ForkNumber forknum, bool isRedo)
{
	if (!RelFileLocatorBackendIsTemp(rlocator) &&
		(forknum == MAIN_FORKNUM || forknum == InvalidForkNumber))
		SsdTierForgetRelation(&rlocator.locator);
	mdunlink(rlocator, forknum, isRedo);
}

void
ssd_truncate(SMgrRelation reln, ForkNumber forknum, BlockNumber old_blocks,
			 BlockNumber nblocks)
{
	if (forknum == MAIN_FORKNUM && nblocks < old_blocks)
		SsdTierForgetBlocks(&reln->smgr_rlocator.locator, nblocks,
							old_blocks - nblocks);
	mdtruncate(reln, forknum, old_blocks, nblocks);
}

void
ssd_extend(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum,
		   const void *buffer, bool skipFsync)
{
	if (forknum == MAIN_FORKNUM)
		SsdTierForgetBlocks(&reln->smgr_rlocator.locator, blocknum, 1);
	mdextend(reln, forknum, blocknum, buffer, skipFsync);
}

void
ssd_zeroextend(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum,
			   int nblocks, bool skipFsync)
{
	if (forknum == MAIN_FORKNUM)
		SsdTierForgetBlocks(&reln->smgr_rlocator.locator, blocknum, nblocks);
	mdzeroextend(reln, forknum, blocknum, nblocks, skipFsync);
}

/* ---- reads ---- */

/* Blocks on the SSD need no advice to the operating system. */
bool
ssd_prefetch(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum,
			 int nblocks)
{
	while (nblocks > 0)
	{
		bool		hit = false;
		int			run = nblocks;

		if (forknum == MAIN_FORKNUM)
			run = SsdTierRun(&reln->smgr_rlocator.locator, blocknum, nblocks,
							 &hit);
		if (!hit && !mdprefetch(reln, forknum, blocknum, run))
			return false;
		blocknum += run;
		nblocks -= run;
	}
	return true;
}

uint32
ssd_maxcombine(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum)
{
	uint32		limit = mdmaxcombine(reln, forknum, blocknum);
	bool		hit;

	if (forknum != MAIN_FORKNUM)
		return limit;
	return SsdTierRun(&reln->smgr_rlocator.locator, blocknum,
					  Min(limit, MAX_IO_COMBINE_LIMIT), &hit);
}

/* ---- writes ---- */

/*
 * The page goes to the queue first and is written to the disk from there: while
 * the buffer is written, hint bits in it may change.
 */
static void
write_both(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum,
		   uint32 entry, const void *page, bool skipFsync)
{
	const void *copy = SsdTierEntryPage(entry);

	memcpy(SsdTierEntryPage(entry), page, BLCKSZ);
	PG_TRY();
	{
		mdwritev(reln, forknum, blocknum, &copy, 1, skipFsync);
	}
	PG_CATCH();
	{
		SsdTierEntryFilled(entry, false);
		PG_RE_THROW();
	}
	PG_END_TRY();
	SsdTierEntryFilled(entry, true);
}

void
ssd_writev(SMgrRelation reln, ForkNumber forknum, BlockNumber blocknum,
		   const void **buffers, BlockNumber nblocks, bool skipFsync)
{
	const RelFileLocator *locator = &reln->smgr_rlocator.locator;

	if (forknum == MAIN_FORKNUM && nblocks == 1)
	{
		uint32		entry;

		SsdTierMakeRoom();
		entry = SsdTierBeginWrite(locator, blocknum);
		if (entry != TP_NONE)
		{
			write_both(reln, forknum, blocknum, entry, buffers[0], skipFsync);
			return;
		}
	}
	else
	{
		if (BufferPoolRecording())
			(void) BufferPoolRecordBelow(RECORD_PHYSICAL_WRITE, 0, locator,
										 forknum, blocknum, nblocks);
		if (forknum == MAIN_FORKNUM)
			SsdTierForgetBlocks(locator, blocknum, nblocks);
	}
	mdwritev(reln, forknum, blocknum, buffers, nblocks, skipFsync);
}
