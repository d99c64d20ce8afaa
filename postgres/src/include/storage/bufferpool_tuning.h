/*-------------------------------------------------------------------------
 *
 * bufferpool_tuning.h
 *	  Moving buffers between pools by what they save.
 *
 * src/include/storage/bufferpool_tuning.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_TUNING_H
#define BUFFERPOOL_TUNING_H

#include "datatype/timestamp.h"
#include "tidepool/advice/advice.h"

typedef enum BufferPoolAutotune
{
	BUFFERPOOL_AUTOTUNE_OFF,
	BUFFERPOOL_AUTOTUNE_ADVISE, /* only say what would be moved */
	BUFFERPOOL_AUTOTUNE_ON
} BufferPoolAutotune;

extern PGDLLIMPORT int bufferpool_autotune;
extern PGDLLIMPORT int bufferpool_autotune_interval;
extern PGDLLIMPORT double bufferpool_autotune_gain;

/* Moves that are remembered. */
#define BUFFERPOOL_MOVES 64

/* A move, or one that was only advised. */
typedef struct BufferPoolMoveRecord
{
	TimestampTz time;			/* 0: the place is unused */
	char		from[NAMEDATALEN];
	char		to[NAMEDATALEN];
	int			wanted;			/* buffers */
	int			moved;			/* of them; -1: only advised */
	int			from_buffers;	/* that the pools had before */
	int			to_buffers;
	double		saved;			/* expected milliseconds of reading in a
								 * second */
	double		lost;			/* likewise, in the pool that gives */
	double		gain;			/* the difference, as a share of all reading */
} BufferPoolMoveRecord;

/*
 * Intervals after which a move no longer counts against one that takes it back,
 * and advice is given again; and for which nothing moves after a statement about
 * sizes.
 */
#define TUNING_INTERVALS_OF_REST 6

/* moves.c */
extern Size BufferPoolTuningShmemSize(void);
extern void BufferPoolTuningShmemInit(void);
extern int	BufferPoolReadMoves(BufferPoolMoveRecord *moves);
extern const BufferPoolMoveRecord *BufferPoolLastMove(void);
extern void BufferPoolNoteMove(const BufferPoolMoveRecord *move);

/* tuner.c */
extern void BufferPoolNoteReads(int pool, const tp_advice *advice);
extern void BufferPoolRememberSums(int pool, const tp_advice *advice);
extern void BufferPoolForgetReads(int pool);
extern void BufferPoolScaleReads(int pool, double share);
extern void BufferPoolTune(const double *page_times);

#endif							/* BUFFERPOOL_TUNING_H */
