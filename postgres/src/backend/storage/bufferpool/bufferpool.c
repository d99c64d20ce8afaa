/*-------------------------------------------------------------------------
 *
 * bufferpool.c
 *	  The buffer pool and its replacement algorithm: set-up, replacements,
 *	  verification.  How hits get to the algorithm is in hits.c.
 *
 * A replacement goes through these states; each step but the last may fail,
 * and then nothing has changed but that the algorithm has looked:
 *
 *	  proposed		the algorithm names an unpinned buffer
 *	  pinned		the caller alone has it pinned	  (BufferPoolGetVictim)
 *	  written		its page is not dirty any more	  (GetVictimBuffer)
 *	  invalidated	its page has left the mapping, and
 *	  evicted		the algorithm knows				  (BufferPoolEvicted)
 *	  admitted		it holds the new page			  (BufferPoolAdmitted)
 *
 * src/backend/storage/bufferpool/bufferpool.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"
#include "storage/shmem.h"

/* Proposals that turn out pinned before another way is tried. */
#define MAX_PROPOSALS 64

char	   *bufferpool_algorithm;
int			bufferpool_batch_size;
int			bufferpool_batch_threshold;

BufferPool	DefaultBufferPool;

/* ---- set-up ---- */

/*
 * The algorithm that is asked for; NULL for stock replacement, which is also
 * what bootstrap and single-user mode get: they see no preloaded libraries,
 * or need no algorithm.
 */
static const BufferPoolRoutine *
configured_routine(bool complain)
{
	const BufferPoolRoutine *routine;

	if (!IsPostmasterEnvironment ||
		strcmp(bufferpool_algorithm, BUFFERPOOL_CLOCK) == 0)
		return NULL;
	routine = FindBufferPoolRoutine(bufferpool_algorithm);
	if (routine == NULL && complain)
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("replacement algorithm \"%s\" does not exist, using \"%s\"",
						bufferpool_algorithm, BUFFERPOOL_CLOCK),
				 errhint("Add the library that has it to \"shared_preload_libraries\".")));
	return routine;
}

Size
BufferPoolShmemSize(void)
{
	const BufferPoolRoutine *routine = configured_routine(false);
	Size		size = add_size(sizeof(BufferPoolShared) + PG_CACHE_LINE_SIZE,
								BufferPoolStatsShmemSize());

	size = add_size(size, BufferPoolRecorderShmemSize());
	if (routine != NULL)
		size = add_size(size, routine->shmem_size(routine, NBuffers) +
						PG_CACHE_LINE_SIZE);
	return size;
}

/* init: in the postmaster, at the start or after a crash */
void
BufferPoolShmemInit(bool init)
{
	BufferPool *pool = &DefaultBufferPool;
	const BufferPoolRoutine *routine = configured_routine(init);
	const char *algorithm = routine ? routine->name : BUFFERPOOL_CLOCK;
	bool		found;

	BufferPoolStatsShmemInit();
	BufferPoolRecorderShmemInit();
	pool->routine = routine;
	pool->shared = ShmemInitStruct("Buffer Pool", sizeof(BufferPoolShared),
								   &found);
	if (!found)
	{
		LWLockInitialize(&pool->shared->lock, LWTRANCHE_BUFFER_POOL);
		strlcpy(pool->shared->algorithm, algorithm, NAMEDATALEN);
	}
	else if (strcmp(pool->shared->algorithm, algorithm) != 0)
		elog(FATAL, "replacement algorithm \"%s\" is not known to this process",
			 pool->shared->algorithm);
	if (routine != NULL)
	{
		void	   *memory = ShmemInitStruct("Buffer Pool Algorithm",
											 routine->shmem_size(routine, NBuffers),
											 &found);

		routine->attach(pool, memory, NBuffers, !found);
	}
}

/* ---- the lock, and what an access is ---- */

/* Wait for the pool's lock, having prefetched what the commit will touch. */
void
BufferPoolLock(BufferPool *pool)
{
	BufferPoolPrefetchHits(pool);
	BufferPoolCount(BUFFERPOOL_LOCKS);
	if (!LWLockConditionalAcquire(&pool->shared->lock, LW_EXCLUSIVE))
	{
		BufferPoolCount(BUFFERPOOL_LOCK_WAITS);
		LWLockAcquire(&pool->shared->lock, LW_EXCLUSIVE);
	}
}

void
BufferPoolUnlock(BufferPool *pool)
{
	LWLockRelease(&pool->shared->lock);
}

/* Microseconds since a moment that is the same for all processes. */
uint64
BufferPoolNow(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_MICROSEC(now);
}

/* An access of this process now. */
tp_access
BufferPoolAccess(IOContext io_context)
{
	tp_access	access = {0};

	access.now = BufferPoolNow();
	access.backend = MyProcNumber;
	if (io_context == IOCONTEXT_VACUUM)
		access.flags = TP_VACUUM;
	else if (io_context == IOCONTEXT_BULKREAD)
		access.flags = TP_SEQUENTIAL;
	return access;
}

/* ---- replacements ---- */

typedef struct Usable
{
	uint32		unwanted;		/* flags of buffers to pass over */
} Usable;

/* Without the header's lock: whoever takes the buffer looks again. */
static bool
is_usable(void *arg, uint32 buf_id)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = pg_atomic_read_u32(&buf->state);
	bool		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;

	if (BufferPoolRecording() && BufferPoolMetPinned[buf_id] != pinned)
	{
		buf_state = LockBufHdr(buf);
		BufferPoolRecordMet(buf, buf_state);
		UnlockBufHdr(buf, buf_state);
		pinned = BUF_STATE_GET_REFCOUNT(buf_state) != 0;
	}
	return !pinned && (buf_state & ((Usable *) arg)->unwanted) == 0;
}

/*
 * A buffer for the page with this tag (NULL: for a new block), as the
 * algorithm chooses, pinned by this process alone; *buf_state is its state
 * just before.  NULL if the algorithm has none to offer.
 *
 * Buffers whose page could not be written are taken only if nothing else is
 * left: otherwise one such page at the cold end would fail every query.
 *
 * The caller has room for a pin in its resource owner, and holds no locks but
 * heavyweight ones and content locks.
 */
BufferDesc *
BufferPoolGetVictim(const BufferTag *tag, IOContext io_context,
					uint32 *buf_state)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access = BufferPoolAccess(io_context);
	tp_page		incoming = tag != NULL ? BufferTagPage(tag) :
		tp_page_make(0, InvalidBlockNumber);
	Usable		usable = {BM_IO_ERROR};
	BufferDesc *victim = NULL;

	BufferPoolLock(pool);
	BufferPoolCommitHits(pool);
	for (int i = 0; i < MAX_PROPOSALS && victim == NULL; i++)
	{
		int			buf_id = pool->routine->victim(pool, incoming, is_usable,
												   &usable, &access);

		if (buf_id >= 0)
		{
			BufferDesc *proposed = GetBufferDescriptor(buf_id);

			if (PinVictimBuffer(proposed, buf_state))
				victim = proposed;
			else
				BufferPoolCount(BUFFERPOOL_RETRIES);
		}
		else if (usable.unwanted != 0)
			usable.unwanted = 0;
		else
			break;
	}
	if (victim != NULL)
		BufferPoolRecordChoice();
	BufferPoolUnlock(pool);
	if (victim == NULL)
		BufferPoolCount(BUFFERPOOL_FALLBACKS);
	return victim;
}

/*
 * The page in this buffer is about to leave the mapping: the caller has the
 * buffer pinned, and holds the lock on the page's mapping partition.  Under
 * that lock, so that the algorithm learns that the page has left before it
 * can learn that the page is back.
 */
void
BufferPoolEvicted(BufferDesc *buf)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access;

	if (!BufferPoolActive())
		return;
	access = BufferPoolAccess(IOCONTEXT_NORMAL);
	BufferPoolLock(pool);
	pool->routine->evict(pool, buf->buf_id, &access);
	BufferPoolUnlock(pool);
}

/*
 * This process has got the buffer for another page: it alone has it pinned,
 * and no page is in it.  old_state tells what was in it before.
 *
 * If there was none, the algorithm may still know of a page that had ceased
 * to exist, since InvalidateBuffer does not tell it: that may happen in a
 * critical section, and for many buffers in a row.
 */
void
BufferPoolClaimed(BufferDesc *buf, uint32 old_state, bool from_ring)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_page		page;

	if (old_state & BM_TAG_VALID)
	{
		BufferPoolCount(from_ring ? BUFFERPOOL_REUSES : BUFFERPOOL_EVICTIONS);
		if (old_state & BM_DIRTY)
			BufferPoolCount(BUFFERPOOL_DIRTY_EVICTIONS);
	}
	else if (BufferPoolActive() &&
			 pool->routine->page_of(pool, buf->buf_id, &page))
	{
		BufferPoolLock(pool);
		if (pool->routine->page_of(pool, buf->buf_id, &page))
		{
			/* there was no BufferPoolReset meanwhile */
			BufferPoolCount(BUFFERPOOL_FORGOTTEN);
			pool->routine->forget(pool, buf->buf_id);
		}
		BufferPoolUnlock(pool);
	}
}

/* Pages have come in by this process. */
static void
record_admissions(const Buffer *buffers, int nbuffers, IOContext io_context,
				  bool extended)
{
	uint32		flags = BufferPoolAccess(io_context).flags;

	for (int i = 0; i < nbuffers; i++)
	{
		const BufferTag *tag = &GetBufferDescriptor(buffers[i] - 1)->tag;

		BufferPoolRecordReference(tag, extended ? RECORD_WRITE : RECORD_READ,
								  flags);
		BufferPoolReferenced(BufferTagPage(tag));
	}
}

/*
 * These buffers, claimed by this process and still pinned, hold new pages and
 * are in the mapping.  (Or one of them was found there by an extension; then
 * the algorithm knows it already.)
 */
void
BufferPoolAdmitted(const Buffer *buffers, int nbuffers, IOContext io_context,
				   bool extended)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_access	access;

	MyBufferPoolCounters->count[extended ? BUFFERPOOL_EXTENDS :
								BUFFERPOOL_READS] += nbuffers;
	if (BufferPoolRecording())
		record_admissions(buffers, nbuffers, io_context, extended);
	if (!BufferPoolActive() || nbuffers == 0)
		return;
	access = BufferPoolAccess(io_context);
	if (extended)
		access.flags |= TP_WRITE;
	BufferPoolLock(pool);
	for (int i = 0; i < nbuffers; i++)
	{
		BufferDesc *buf = GetBufferDescriptor(buffers[i] - 1);
		tp_page		page = BufferTagPage(&buf->tag);
		tp_page		known;

		if (!pool->routine->page_of(pool, buf->buf_id, &known))
			pool->routine->admit(pool, buf->buf_id, page, &access);
		else
			Assert(tp_page_equal(page, known));
		BufferPoolReferenced(page);
	}
	BufferPoolUnlock(pool);
}

/* ---- for the background writer ---- */

/*
 * The unpinned buffers that the algorithm will evict next, first one first,
 * at most max.  Returns their number.
 */
int
BufferPoolColdest(int *buf_ids, int max)
{
	BufferPool *pool = &DefaultBufferPool;
	tp_cursor	cursor = {0};
	int			n = 0;
	int			buf_id;

	BufferPoolLock(pool);
	while (n < max && (buf_id = pool->routine->coldest(pool, &cursor)) >= 0)
		if (BUF_STATE_GET_REFCOUNT(pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state)) == 0)
			buf_ids[n++] = buf_id;
	BufferPoolUnlock(pool);
	return n;
}

/* ---- verification ---- */

/*
 * Compare what the algorithm knows of a buffer with the buffer.  Whoever has
 * it pinned may be about to tell of a change, so only unpinned buffers count;
 * a page that ceased to exist unnoticed is no violation, and forgotten here.
 */
static int
check_buffer(BufferPool *pool, int buf_id, tp_report report, void *arg)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		buf_state = LockBufHdr(buf);
	tp_page		page = BufferTagPage(&buf->tag);
	tp_page		known;
	bool		has_page = pool->routine->page_of(pool, buf_id, &known);

	UnlockBufHdr(buf, buf_state);
	if (BUF_STATE_GET_REFCOUNT(buf_state) != 0)
		return 0;
	if (buf_state & BM_TAG_VALID)
		return tp_expect(has_page && tp_page_equal(page, known),
						 "algorithm does not know the page in the buffer",
						 buf_id, report, arg);
	if (has_page)
	{
		BufferPoolCount(BUFFERPOOL_FORGOTTEN);
		pool->routine->forget(pool, buf_id);
	}
	return 0;
}

/*
 * Verify the algorithm's state, by itself and against the buffers.  Returns
 * the number of violations, each of which report is told; it is called under
 * the lock.  Takes as long as it takes, and nobody can replace meanwhile.
 */
int
BufferPoolCheck(tp_report report, void *arg)
{
	BufferPool *pool = &DefaultBufferPool;
	int			bad = 0;

	if (!BufferPoolActive())
		return 0;
	BufferPoolLock(pool);
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
		bad += check_buffer(pool, buf_id, report, arg);
	bad += pool->routine->check(pool, report, arg);
	BufferPoolUnlock(pool);
	return bad;
}
