/*-------------------------------------------------------------------------
 *
 * bufferpool.h
 *	  Buffer pools with a replacement algorithm of your choice.
 *
 * For extensions that define and register an algorithm.  The rules are in
 * src/backend/storage/bufferpool/README.
 *
 * src/include/storage/bufferpool.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_H
#define BUFFERPOOL_H

#include "tidepool/batch.h"
#include "tidepool/pool.h"

typedef struct BufferPool BufferPool;
typedef struct BufferPoolRoutine BufferPoolRoutine;

/* Flags of an algorithm */
#define BUFFERPOOL_HIT_LOCK_FREE	0x01	/* hit runs without the pool's
											 * lock; otherwise hits are queued
											 * and committed under it */
#define BUFFERPOOL_HIT_NOTHING		0x02	/* ignores hits */
#define BUFFERPOOL_COUNTS_ALL		0x04	/* also wants references that do
											 * not promote: repetitions, and
											 * VACUUM's */
#define BUFFERPOOL_USES_TIME		0x08	/* needs the time of an access,
											 * which is 0 for others */
#define BUFFERPOOL_CHOICE_LOCK_FREE	0x10	/* victim, evict, admit, forget
											 * and restore run without the
											 * lock */
#define BUFFERPOOL_WANTS_WRITES		0x20	/* wants a hit with TP_WRITE and
											 * TP_DIRTIED when a page becomes
											 * dirty */
#define BUFFERPOOL_UPCOMING_LOCK_FREE	0x40	/* upcoming runs without the
												 * pool's lock */

/* A row of an algorithm's lists; see lists below. */
typedef struct BufferPoolListEntry
{
	const char *list;			/* name of the list */
	int			position;		/* from the most recent end, 0; -1: unknown */
	int			buf_id;			/* -1: a ghost */
	uint64		ghost_key;		/* tp_page_key of the page, if a ghost */
	int			count;			/* usage count, frequency or mark */
} BufferPoolListEntry;

typedef void (*BufferPoolListCallback) (void *arg,
										const BufferPoolListEntry *entry);

typedef enum BufferPoolWalkStage
{
	BUFFERPOOL_WALK_LISTS,
	BUFFERPOOL_WALK_MOVED,		/* pages that moved behind the walk */
	BUFFERPOOL_WALK_GHOSTS,
	BUFFERPOOL_WALK_END
} BufferPoolWalkStage;

#define BUFFERPOOL_WALK_ANCHORS 16

/* A node that a walk has visited, and its predecessor at that time. */
typedef struct BufferPoolListAnchor
{
	uint32		index;
	uint32		prev;
	uint64		identity;		/* of the page: generation, or ghost's key */
} BufferPoolListAnchor;

/*
 * A walk over the lists of an algorithm.  The caller provides the array shown,
 * and zero-initializes it and the rest.  The other fields belong to the
 * algorithm; for policies, lists.c explains them.
 */
typedef struct BufferPoolListWalk
{
	bool	   *shown;			/* [buf_id]: has been shown */
	BufferPoolWalkStage stage;
	unsigned	list;			/* which list of this stage, from 1 */
	uint32		visited;		/* nodes of the list, or members of the pool */
	int			position;		/* of the next entry */
	BufferPoolListAnchor anchors[BUFFERPOOL_WALK_ANCHORS];
} BufferPoolListWalk;

/*
 * A replacement algorithm.
 *
 * Buffers are numbered by buf_id.  pool->view is the algorithm's own, set by
 * attach.  The caller holds the pool's lock exclusively, unless the callback's
 * comment or a LOCK_FREE flag says otherwise.  Callbacks must not allocate,
 * raise errors, take locks or do I/O, unless their comment allows it.  They
 * may be called in the startup process, in critical sections, and in any
 * process that uses shared buffers.
 *
 * For the algorithm, a buffer is resident (holds a page) or claimed (a process
 * is about to fill it, or it is on the server's freelist).  All are claimed at
 * the start.
 *
 * Most algorithms are policies of the replacement core, which
 * RegisterBufferPoolPolicy turns into one of these; policy.h and pool.h define
 * the operations.
 */
struct BufferPoolRoutine
{
	const char *name;			/* value of bufferpool.algorithm */
	uint32		flags;

	/*
	 * Use these parameters, "name=value, …", from now on; empty text means
	 * the defaults.  If they are invalid, returns false with the reason in
	 * *problem.  Called without the lock, before shmem_size, in the
	 * postmaster (or after exec); may allocate.  NULL: there are no
	 * parameters.
	 */
	bool		(*configure) (const BufferPoolRoutine *routine,
							  const char *parameters, char **problem);

	/* Bytes of shared memory for a pool of this many buffers. */
	Size		(*shmem_size) (const BufferPoolRoutine *routine, int nbuffers);

	/*
	 * Begin to use the pool in this process.  memory: the pool's.  init: the
	 * memory is zeroed and no process has used it; initialize it, with
	 * buffers 0 .. nbuffers - 1 in the pool and claimed.  Called without the
	 * lock, in the postmaster (or after exec); may allocate, and may change
	 * pool->flags, initially the routine's, if they depend on the parameters.
	 */
	void		(*attach) (BufferPool *pool, void *memory, int nbuffers,
						   bool init);

	/*
	 * Reset what this process remembers of its choices.  Called without the
	 * lock, when the process has just started or the pool was reset.  NULL:
	 * nothing to do.
	 */
	void		(*begin_process) (BufferPool *pool, int process);

	/*
	 * Return to the state after attach with init: all buffers are claimed,
	 * and nothing is remembered.  Meanwhile other processes may call page_of
	 * and prefetch, and victim if that needs no lock.
	 */
	void		(*reset) (BufferPool *pool);

	/*
	 * A resident page was referenced; the caller has it pinned.  Only called
	 * for BUFFERPOOL_HIT_LOCK_FREE, at any time, concurrently with anything.
	 */
	void		(*hit) (BufferPool *pool, int buf_id, const tp_access *access);

	/*
	 * A resident page is about to be referenced: prefetch what hit will
	 * touch.  Only called for BUFFERPOOL_HIT_LOCK_FREE, before the page is
	 * pinned, so that the two waits overlap.  NULL: nothing to do.
	 */
	void		(*expect_hit) (BufferPool *pool, int buf_id);

	/* Prefetch what commit will touch.  Called without the lock.  Or NULL. */
	void		(*prefetch) (BufferPool *pool, const tp_batch *batch);

	/*
	 * Commit one process's queue (tidepool/batch.h): hits, admissions, and
	 * evictions that were not carried out.  Must skip entries that no longer
	 * apply; holds checks whether a page is in a buffer.  Empties the queue.
	 * Returns the number of entries skipped.
	 */
	uint32		(*commit) (BufferPool *pool, tp_batch *batch,
						   const tp_access *access, tp_holds holds, void *arg);

	/*
	 * A victim is about to be chosen: prefetch what that will touch.  Called
	 * without the lock.  NULL: nothing to do.
	 */
	void		(*expect_victim) (BufferPool *pool);

	/*
	 * Choose the buffer whose page should make room for incoming, among those
	 * for which usable is true; -1 if there is none.  This is a proposal:
	 * nothing is removed.
	 */
	int			(*victim) (BufferPool *pool, tp_page incoming,
						   tp_usable usable, void *arg,
						   const tp_access *access);

	/*
	 * The page in this buffer, which the algorithm has proposed, is evicted,
	 * and the buffer becomes claimed.  May leave a ghost of the page.
	 */
	void		(*evict) (BufferPool *pool, int buf_id,
						  const tp_access *access);

	/* A page came into this claimed buffer, which becomes resident. */
	void		(*admit) (BufferPool *pool, int buf_id, tp_page page,
						  const tp_access *access);

	/*
	 * The page in this buffer ceased to exist, or was replaced without asking
	 * the algorithm.  Leaves no ghost; the buffer becomes claimed.
	 */
	void		(*forget) (BufferPool *pool, int buf_id);

	/*
	 * The page that the algorithm believes to be in this buffer; returns
	 * false if the buffer is claimed.  Also called without the lock: then the
	 * answer may be out of date, or mix the old page and the new one.
	 */
	bool		(*page_of) (BufferPool *pool, int buf_id, tp_page *page);

	/*
	 * For the background writer: the next buffer whose page is likely to be
	 * evicted soon; -1 at the end, and where tp_cursor_look returns false.
	 * See upcoming in policy.h.
	 */
	int			(*upcoming) (BufferPool *pool, tp_lookahead *ahead);

	/* Verify all invariants.  Returns the number of violations. */
	int			(*check) (BufferPool *pool, tp_report report, void *arg);

	/*
	 * Show a slice of the lists and the ghost lists, each from its most
	 * recent end, in at most max steps.  Returns false after the last slice.
	 * The lock is released between two calls, so the lists may change.  A
	 * page that stays in its buffer must be shown once, at a rank that it had
	 * when the walk passed it, or without one.
	 */
	bool		(*lists) (BufferPool *pool, BufferPoolListWalk *walk, int max,
						  BufferPoolListCallback callback, void *arg);
};

/*
 * Register an algorithm by its name.  Call from _PG_init of a library in
 * shared_preload_libraries.  The arguments must live as long as the process.
 * Raises an error if the name is taken.
 */
extern void RegisterBufferPoolRoutine(const BufferPoolRoutine *routine);
extern void RegisterBufferPoolPolicy(const tp_policy *policy,
									 const char *name);

#endif							/* BUFFERPOOL_H */
