/*-------------------------------------------------------------------------
 *
 * moves.c
 *	  The moves of self-tuning, and those that it has only advised.
 *
 * The last of them are in shared memory: for the view, and for the advisor, which
 * looks up there what it has done and said lately, since a restart of it does not
 * make that undone.
 *
 * src/backend/storage/bufferpool/moves.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

typedef struct TuningShared
{
	LWLock		lock;			/* guards the rest, which only the advisor
								 * writes */
	uint32		moves;			/* ever */
	BufferPoolMoveRecord move[BUFFERPOOL_MOVES];
} TuningShared;

static TuningShared *shared;

Size
BufferPoolTuningShmemSize(void)
{
	return sizeof(TuningShared);
}

void
BufferPoolTuningShmemInit(void)
{
	bool		found;

	shared = ShmemInitStruct("Buffer Pool Tuning", sizeof(TuningShared), &found);
	if (found)
		return;
	MemSet(shared, 0, sizeof(TuningShared));
	LWLockInitialize(&shared->lock, LWTRANCHE_BUFFER_POOL_ADVICE);
}

static void
remember_move(const BufferPoolMoveRecord *move)
{
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	shared->move[shared->moves++ % BUFFERPOOL_MOVES] = *move;
	LWLockRelease(&shared->lock);
}

/* Copy the moves, the last one first; returns how many. */
int
BufferPoolReadMoves(BufferPoolMoveRecord *moves)
{
	uint32		n;

	LWLockAcquire(&shared->lock, LW_SHARED);
	n = Min(shared->moves, BUFFERPOOL_MOVES);
	for (uint32 i = 0; i < n; i++)
		moves[i] = shared->move[(shared->moves - 1 - i) % BUFFERPOOL_MOVES];
	LWLockRelease(&shared->lock);
	return n;
}

/* The move before the last `back` ones.  For the advisor. */
static const BufferPoolMoveRecord *
move_before(uint32 back)
{
	return &shared->move[(shared->moves - 1 - back) % BUFFERPOOL_MOVES];
}

static bool
is_recent(const BufferPoolMoveRecord *move)
{
	return !TimestampDifferenceExceeds(move->time, GetCurrentTimestamp(),
									   TUNING_INTERVALS_OF_REST * 1000 * bufferpool_autotune_interval);
}

/* The last move of any buffers, if it was lately; else NULL. */
const BufferPoolMoveRecord *
BufferPoolLastMove(void)
{
	uint32		n = Min(shared->moves, BUFFERPOOL_MOVES);

	for (uint32 i = 0; i < n && is_recent(move_before(i)); i++)
		if (move_before(i)->moved > 0)
			return move_before(i);
	return NULL;
}

/*
 * Has it been said lately that buffers should move from the one pool to the
 * other?  Then it is not said again, unless some have moved.
 */
static bool
is_known(const BufferPoolMoveRecord *move)
{
	uint32		n = Min(shared->moves, BUFFERPOOL_MOVES);

	if (move->moved > 0)
		return false;
	for (uint32 i = 0; i < n && is_recent(move_before(i)); i++)
	{
		const BufferPoolMoveRecord *known = move_before(i);

		if (strcmp(move->from, known->from) == 0 &&
			strcmp(move->to, known->to) == 0 &&
			(move->moved < 0) == (known->moved < 0))
			return true;
	}
	return false;
}

static void
log_move(const BufferPoolMoveRecord *move)
{
	const char *detail = "It saves %.3f milliseconds of reading a second in the one, and costs %.3f in the other: %.1f%% of all reading.";

	if (move->moved < 0)
		ereport(LOG,
				(errmsg("self-tuning would move %d buffers from buffer pool \"%s\" (%d) to \"%s\" (%d)",
						move->wanted, move->from, move->from_buffers, move->to,
						move->to_buffers),
				 errdetail_internal(detail, move->saved, move->lost,
									100 * move->gain)));
	else
		ereport(LOG,
				(errmsg("self-tuning moved %d buffers from buffer pool \"%s\" (%d) to \"%s\" (%d)",
						move->moved, move->from, move->from_buffers, move->to,
						move->to_buffers),
				 errdetail_internal(detail, move->saved, move->lost,
									100 * move->gain)));
}

/* Remember and log it, unless that has been said. */
void
BufferPoolNoteMove(const BufferPoolMoveRecord *move)
{
	if (is_known(move))
		return;
	remember_move(move);
	log_move(move);
}
