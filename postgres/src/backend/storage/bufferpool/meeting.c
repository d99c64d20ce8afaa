/*-------------------------------------------------------------------------
 *
 * meeting.c
 *	  Where scans that may begin anywhere do, to share most with running ones.
 *
 * src/backend/storage/bufferpool/meeting.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_scan_registry.h"
#include "storage/proc.h"

bool		bufferpool_synchronize_bitmap_scans;

/*
 * Scans meet at multiples of this: the blocks that the other scan has just read
 * are still there.  As many as between two hints of synchronize_seqscans, so
 * that, as there, the first scans of a small table all begin at its beginning.
 */
#define MEETING_STEP 16

/* As tp_scan_meet; *met_pid: of the process whose scan it meets, 0 if none. */
static BlockNumber
meet(const tp_scan_spec *spec, int *met_pid)
{
	uint64		now;
	uint64		met;
	BlockNumber block;
	tp_scan_look look;

	*met_pid = 0;
	if (!tp_scan_reads(BufferPoolServices.scans, spec->relation))
		return spec->first;
	now = BufferPoolNow();
	block = tp_scan_meet(BufferPoolServices.scans, spec, now, &met);
	*met_pid = met != 0 &&
		tp_scan_look_at(BufferPoolServices.scans, tp_scan_number(met), now,
						&look) ?
		GetPGProcByNumber(look.owner)->pid : 0;
	return block;
}

/*
 * Where a scan of all blocks of the relation, which BufferPoolAnnounces said
 * shall be announced, should begin to share most with a running one.  hint if
 * there is none to meet; then *met_pid is 0, else that scan's process.
 */
BlockNumber
BufferPoolMeetingBlock(Relation rel, BlockNumber blocks, BlockNumber hint,
					   int *met_pid)
{
	tp_scan_spec spec = {0};
	BlockNumber block;

	*met_pid = 0;
	if (!BufferPoolPoolAsks(rel))
		return hint;
	spec.relation = BufferPoolRelationNumber(rel);
	spec.count = spec.size = blocks;
	block = meet(&spec, met_pid);
	block -= block % MEETING_STEP;
	if (block > 0)
		return block;
	if (hint > 0)
		*met_pid = 0;
	return hint;
}

/* Likewise for the blocks in the bitmap: 0, or a block at which a group begins. */
BlockNumber
BufferPoolMeetingGroup(Relation rel, BlockNumber blocks,
					   const tp_bitmap *bitmap, int *met_pid)
{
	tp_scan_spec spec = {0};

	*met_pid = 0;
	if (!synchronize_seqscans || !bufferpool_synchronize_bitmap_scans ||
		!BufferPoolPoolAsks(rel))
		return 0;
	spec.relation = BufferPoolRelationNumber(rel);
	spec.size = blocks;
	spec.bitmap = bitmap;
	return meet(&spec, met_pid);
}
