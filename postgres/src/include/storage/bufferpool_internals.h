/*-------------------------------------------------------------------------
 *
 * bufferpool_internals.h
 *	  Buffer pools as the buffer manager and the pg_bufferpool extension see
 *	  them.
 *
 * src/include/storage/bufferpool_internals.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_INTERNALS_H
#define BUFFERPOOL_INTERNALS_H

#include "storage/bufferpool_advice.h"
#include "storage/bufferpool_commands.h"
#include "storage/bufferpool_counting.h"
#include "storage/bufferpool_lists.h"
#include "storage/bufferpool_pool.h"
#include "storage/bufferpool_recorder.h"
#include "storage/bufferpool_scans.h"
#include "storage/bufferpool_tuning.h"
#include "tidepool/prediction/trail.h"

/* ---- configuration ---- */

extern PGDLLIMPORT char *bufferpool_algorithm;
extern PGDLLIMPORT char *bufferpool_parameters;
extern PGDLLIMPORT int bufferpool_batch_size;
extern PGDLLIMPORT int bufferpool_batch_threshold;
extern PGDLLIMPORT int bufferpool_bytes_per_buffer;
extern PGDLLIMPORT int bufferpool_max_pools;
extern PGDLLIMPORT int bufferpool_max_scans;
extern PGDLLIMPORT bool bufferpool_synchronize_bitmap_scans;
extern PGDLLIMPORT char *bufferpool_default_pool;
extern PGDLLIMPORT char *bufferpool_definitions;
extern PGDLLIMPORT int bufferpool_recycle_buffers;
extern PGDLLIMPORT int bufferpool_trickle_write_batch_size;
extern PGDLLIMPORT int bufferpool_trickle_flush_after;

/* ---- accesses ---- */

extern uint64 BufferPoolNow(void);
extern uint64 BufferPoolCoarseNow(void);

/* The time of an access, for an algorithm that uses it. */
static inline uint64
BufferPoolTime(const BufferPool *pool)
{
	return pool->flags & TP_USES_TIME ? BufferPoolNow() : 0;
}

/* An access by this process. */
static inline tp_access
BufferPoolAccessAt(uint64 time, uint32 flags)
{
	tp_access	access = {.now = time};

	if (!BufferPoolIsRecordedScan(BufferPoolReadingFor))
		access.scan = BufferPoolReadingFor;
	access.backend = MyProcNumber;
	access.flags = flags;
	return access;
}

static inline uint32
BufferPoolAccessFlags(IOContext io_context)
{
	return io_context == IOCONTEXT_VACUUM ? TP_VACUUM :
		io_context == IOCONTEXT_BULKREAD ? TP_SEQUENTIAL : 0;
}

/* What a reference through this context is to the advisor. */
static inline tp_advice_kind
BufferPoolSampleKind(const BufferPool *pool, IOContext io_context)
{
	bool		ring = io_context != IOCONTEXT_NORMAL &&
		(pool->flags & TP_ASKS_SCANS ? io_context != IOCONTEXT_BULKREAD :
		 (pool->flags & TP_TAKES_BULK) == 0);

	return ring ? TP_ADVICE_PASSING : TP_ADVICE_READ;
}

/*
 * A buffer's page in the core's terms.  The low half of the relation is the
 * file number; the upper half is a hash of tablespace and database, plus the
 * fork.  Two files with the same number in different databases collide with a
 * probability of 2^-32, which costs a wrong hint.
 */
static inline tp_page
BufferTagPage(const BufferTag *tag)
{
	uint32		place = murmurhash32(tag->dbOid ^ pg_rotate_left32(tag->spcOid, 16));

	return tp_page_make(tag->relNumber |
						(uint64) (place + (uint32) tag->forkNum) << 32,
						tag->blockNum);
}

/*
 * Is the page in this buffer?  Needs no header lock: a process that changes
 * this now reports it later.
 */
static inline bool
BufferHoldsPage(int buf_id, tp_page page)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);

	return (pg_atomic_read_u32(&buf->state) & BM_TAG_VALID) != 0 &&
		tp_page_equal(BufferTagPage(&buf->tag), page);
}

/*
 * The page that the algorithm believes to be in this buffer; returns false if
 * the buffer is claimed.  Without the pool's lock the answer may be out of
 * date, or mix the old page and the new one.
 */
static inline bool
BufferPoolKnowsPage(const BufferPool *pool, int buf_id, tp_page *page)
{
	if (!tp_is_resident(&pool->core, buf_id))
		return false;
	*page = tp_page_of(&pool->core, buf_id);
	return true;
}

/* lock.c */
extern bool BufferPoolTryLock(BufferPool *pool);
extern void BufferPoolLock(BufferPool *pool);
extern void BufferPoolUnlock(BufferPool *pool);

/* replacement.c */
extern BufferDesc *BufferPoolGetBuffer(BufferPool *pool, const BufferTag *tag,
									   BufferAccessStrategy strategy,
									   BufferPoolUse use, uint32 *buf_state,
									   bool *from_ring);
extern BufferDesc *BufferPoolGetVictim(BufferPool *pool, const BufferTag *tag,
									   BufferAccessStrategy strategy,
									   BufferPoolUse use, uint32 *buf_state,
									   bool *from_ring);
extern bool BufferPoolIsDirty(void *arg, uint32 buf_id);
extern void BufferPoolExpectVictim(void *arg, uint32 buf_id);
extern void BufferPoolNoBuffer(BufferPool *pool);
extern void BufferPoolDropChoice(const BufferPool *pool);
extern void BufferPoolVictimKept(BufferDesc *buf);
extern void BufferPoolVictimTaken(BufferDesc *buf, uint32 old_state,
								  bool from_ring);
extern void BufferPoolPageCameIn(BufferDesc *buf, IOContext io_context,
								 bool extended);
extern void BufferPoolPageLeft(BufferDesc *buf);
extern void BufferPoolPageMoved(BufferDesc *buf);
extern void BufferPoolAtEOXact(void);

/* check.c */
extern int	BufferPoolCheckBuffers(BufferPool *pool, int first, int count,
								   tp_report report, void *arg);
extern int	BufferPoolCheckAlgorithm(BufferPool *pool, tp_report report,
									 void *arg);
extern int	BufferPoolCheckMembers(tp_report report, void *arg);

/* writer.c */
extern bool BufferPoolCleanNamed(WritebackContext *wb_context);
extern int	BufferPoolBgWriterDelay(void);
extern void BufferPoolEndWriter(BufferPool *pool);
extern void BufferPoolWriterMain(Datum main_arg);

/* scan_registry.c */

/* A running scan. */
typedef struct BufferPoolScanLook
{
	tp_scan_look scan;
	Oid			database;
	Oid			relation;
	BufferPoolScanKind kind;
	int			pool;			/* number of the relation's */
	int			met_pid;		/* of the scan that it met, or 0 */
} BufferPoolScanLook;

extern tp_services BufferPoolServices;

extern Size BufferPoolScansShmemSize(bool has_algorithms);
extern void BufferPoolScansShmemInit(bool has_algorithms);
extern void BufferPoolForgetScans(void);
extern uint32 BufferPoolScanCapacity(void);
extern uint32 BufferPoolScanPlaces(void);
extern bool BufferPoolLookAtScan(uint32 number, BufferPoolScanLook *look);
extern bool BufferPoolScanAwaits(uint32 number, BlockNumber block);

/* scans.c */
extern void BufferPoolEndScansAtExit(void);

/* reset.c */
extern void BufferPoolReset(void);

/* choosers.c */
extern Size BufferPoolChoosersShmemSize(void);
extern void BufferPoolChoosersShmemInit(void);
extern void BufferPoolChoosersInitProcess(void);
extern uint32 BufferPoolFormerProcesses(void);
extern void BufferPoolUseOwnChooser(BufferPool *pool);
extern void BufferPoolFollowReset(BufferPool *pool);

/* cleaner.c */
extern int	BufferPoolClean(BufferPool *pool, uint32 recent_alloc,
							int maxpages, WritebackContext *wb_context);
extern int	BufferPoolCleanDelay(const BufferPool *pool);

/*
 * Call when a page was found in this buffer, before the buffer is pinned and
 * BufferPoolHit is called.
 */
TP_PREFETCHES static inline void
BufferPoolExpectHit(int buf_id)
{
	const BufferPool *pool;

	if (!BufferPoolActive)
		return;
	pool = BufferPoolOf(buf_id);
	if (!(pool->flags & TP_HIT_NOTHING))
		tp_prefetch(&pool->core, buf_id);
}

/* hits.c */
extern void BufferPoolHit(BufferPool *pool, BufferDesc *buf,
						  IOContext io_context);
extern void BufferPoolDirtied(BufferDesc *buf);

/*
 * The page in this buffer, which the caller has pinned and locked, has just
 * become dirty.  May be called in a critical section.
 */
static inline void
BufferPoolNoteDirtied(BufferDesc *buf)
{
	if (BufferPoolRecording())
		BufferPoolRecordDirtied(&buf->tag);
	if (BufferPoolOf(buf->buf_id)->flags & TP_WANTS_WRITES)
		BufferPoolDirtied(buf);
}

extern void BufferPoolReferenced(const BufferDesc *buf);
extern void BufferPoolStatementEnded(void);

/* queue.c */
extern void BufferPoolQueueHit(BufferPool *pool, int buf_id, tp_page page,
							   uint32 flags);
extern void BufferPoolQueueWrite(BufferPool *pool, int buf_id, tp_page page);
extern void BufferPoolQueueAdmission(BufferPool *pool, int buf_id,
									 tp_page page, uint32 flags);
extern void BufferPoolQueueRestoration(BufferPool *pool, int buf_id,
									   tp_page page);
extern void BufferPoolPrefetchQueue(BufferPool *pool);
extern void BufferPoolCommitQueue(BufferPool *pool, const tp_access *access);
extern void BufferPoolReportQueue(BufferPool *pool, bool due);
extern void BufferPoolDropQueue(const BufferPool *pool);
extern void BufferPoolBeforeIdle(void);
extern void BufferPoolAtProcExit(void);

extern PGDLLIMPORT volatile sig_atomic_t BufferPoolCommitPending;
extern void ProcessBufferPoolCommitInterrupt(void);

#endif							/* BUFFERPOOL_INTERNALS_H */
