/*-------------------------------------------------------------------------
 *
 * bufferpool.h
 *	  Buffer pools with a replacement algorithm of one's choice.
 *
 * For extensions: how an algorithm is written and registered.  The rules are
 * in src/backend/storage/bufferpool/README.
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
#define BUFFERPOOL_HIT_NOTHING		0x02	/* hits say nothing to it */
#define BUFFERPOOL_COUNTS_ALL		0x04	/* wants also the references that
											 * do not promote: repetitions,
											 * and VACUUM's */
#define BUFFERPOOL_USES_TIME		0x08	/* needs the time of an access,
											 * which is 0 for others */
#define BUFFERPOOL_CHOICE_LOCK_FREE	0x10	/* victim, evict, admit, forget
											 * and restore run without the
											 * lock */
#define BUFFERPOOL_WANTS_WRITES		0x20	/* wants to know when a page
											 * becomes dirty: a correlated hit
											 * with TP_WRITE */
#define BUFFERPOOL_UPCOMING_LOCK_FREE	0x40	/* upcoming runs without the
												 * pool's lock */

/* A row of what an algorithm shows of itself; see lists below. */
typedef struct BufferPoolListEntry
{
	const char *list;			/* name of the list */
	int			position;		/* from 0, the most recent end; or -1 */
	int			buf_id;			/* -1: a ghost */
	uint64		ghost_key;		/* tp_page_key of the page, if a ghost */
	int			count;			/* usage count, frequency or mark */
} BufferPoolListEntry;

typedef void (*BufferPoolListCallback) (void *arg,
										const BufferPoolListEntry *entry);

typedef enum BufferPoolWalkStage
{
	BUFFERPOOL_WALK_LISTS,
	BUFFERPOOL_WALK_MOVED,		/* what was not on its list any more */
	BUFFERPOOL_WALK_GHOSTS,
	BUFFERPOOL_WALK_END
} BufferPoolWalkStage;

#define BUFFERPOOL_WALK_ANCHORS 16

/* A node that a walk has visited, and what was before it then. */
typedef struct BufferPoolListAnchor
{
	uint32		index;
	uint32		prev;
	uint64		identity;		/* of the page: generation, or key of a ghost */
} BufferPoolListAnchor;

/*
 * A walk over the lists of an algorithm.  Zero-initialised to begin, but for
 * the array; the rest is the algorithm's, and what it is for policies is in
 * lists.c.
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
 * attach.  In every call but configure, attach, begin_process and those that
 * the LOCK_FREE flags name the caller holds the pool's lock exclusively.
 * Callbacks must not allocate, raise errors, take locks or do I/O; they may be
 * called in the startup process, in critical sections, and in any process that
 * uses shared buffers.
 *
 * A buffer is, for the algorithm, resident (holds a page) or claimed (one
 * process is about to fill it, or it is on the server's freelist); all are
 * claimed at the start.
 *
 * Most algorithms are policies of the replacement core, which
 * RegisterBufferPoolPolicy turns into one of these; policy.h and pool.h tell
 * what the operations mean.
 */
struct BufferPoolRoutine
{
	const char *name;			/* what bufferpool.algorithm is set to */
	uint32		flags;

	/*
	 * Use these parameters, "name=value, …", from now on; the empty text:
	 * the defaults.  Returns false if they cannot be used, with the reason in
	 * problem.  Called before shmem_size, in the postmaster (or after exec);
	 * may allocate.  NULL: there are no parameters.
	 */
	bool		(*configure) (const BufferPoolRoutine *routine,
							  const char *parameters, char **problem);

	/* Bytes of shared memory for a pool of this many buffers. */
	Size		(*shmem_size) (const BufferPoolRoutine *routine, int nbuffers);

	/*
	 * This process begins to use the pool, whose memory is here.  init: it is
	 * zeroed memory that no process has used; prepare it, with all buffers 0
	 * .. nbuffers - 1 in the pool and claimed.  Called in the postmaster (or
	 * after exec); may allocate, and may set pool->flags, which are those of
	 * the routine, if they depend on the parameters.
	 */
	void		(*attach) (BufferPool *pool, void *memory, int nbuffers,
						   bool init);

	/*
	 * What this process remembers of its own choices begins anew: it has just
	 * been started, or the pool was reset.  NULL: nothing.
	 */
	void		(*begin_process) (BufferPool *pool, int process);

	/*
	 * Begin anew, as after attach with init: all buffers are claimed, and
	 * nothing is remembered.  Other processes may call page_of and prefetch
	 * meanwhile, and victim if that needs no lock.
	 */
	void		(*reset) (BufferPool *pool);

	/*
	 * A resident page was referenced; the caller has it pinned.  Only called
	 * for BUFFERPOOL_HIT_LOCK_FREE, at any time beside anything.
	 */
	void		(*hit) (BufferPool *pool, int buf_id, const tp_access *access);

	/*
	 * A resident page is about to be referenced: load into the cache what hit
	 * will touch.  Only called for BUFFERPOOL_HIT_LOCK_FREE, before the page
	 * is pinned, so that the waits overlap.  Or NULL.
	 */
	void		(*expect_hit) (BufferPool *pool, int buf_id);

	/* Load into the cache what commit will touch.  Without lock.  Or NULL. */
	void		(*prefetch) (BufferPool *pool, const tp_batch *batch);

	/*
	 * What one process has queued (tidepool/batch.h): hits, admissions and
	 * evictions that were not carried out.  Must skip what is no longer so;
	 * holds tells whether a page is in a buffer.  Empties the queue, returns
	 * how many entries were skipped.
	 */
	uint32		(*commit) (BufferPool *pool, tp_batch *batch,
						   const tp_access *access, tp_holds holds, void *arg);

	/*
	 * A victim is about to be chosen: load into the cache what that will
	 * touch.  Without lock.  Or NULL.
	 */
	void		(*expect_victim) (BufferPool *pool);

	/*
	 * The buffer whose page should go so that incoming can come, among those
	 * for which usable is true, or -1.  A proposal: nothing is removed.
	 */
	int			(*victim) (BufferPool *pool, tp_page incoming,
						   tp_usable usable, void *arg,
						   const tp_access *access);

	/*
	 * The page in this buffer, which the algorithm has proposed, is evicted:
	 * the buffer is claimed.  May leave a ghost of it.
	 */
	void		(*evict) (BufferPool *pool, int buf_id,
						  const tp_access *access);

	/* A page came into the buffer, which was claimed. */
	void		(*admit) (BufferPool *pool, int buf_id, tp_page page,
						  const tp_access *access);

	/*
	 * The page in the buffer ceased to exist, or was replaced without asking
	 * the algorithm: no ghost of it, the buffer is claimed.
	 */
	void		(*forget) (BufferPool *pool, int buf_id);

	/*
	 * What page the buffer holds as far as the algorithm knows; false if it
	 * is claimed.  Also called without the lock: then the answer may be out
	 * of date, or the page be neither the old nor the new one.
	 */
	bool		(*page_of) (BufferPool *pool, int buf_id, tp_page *page);

	/*
	 * For the background writer: the next buffer whose page is likely to be
	 * evicted soon; -1 at the end, or where tp_cursor_look says so.  See
	 * upcoming in policy.h.
	 */
	int			(*upcoming) (BufferPool *pool, tp_lookahead *ahead);

	/* Assert all invariants; returns the number of violations. */
	int			(*check) (BufferPool *pool, tp_report report, void *arg);

	/*
	 * Show a part of the lists and the ghost lists, in at most max steps:
	 * each from its recent end on.  Returns false if that was all.  The lock
	 * is released between two calls, so the lists may change.  A page that
	 * stays in its buffer must be shown once, at a rank that it had when the
	 * walk came by, or without one.
	 */
	bool		(*lists) (BufferPool *pool, BufferPoolListWalk *walk, int max,
						  BufferPoolListCallback callback, void *arg);
};

/*
 * Make an algorithm known by its name.  To be called from _PG_init of a
 * library in shared_preload_libraries.  What is passed must live as long as
 * the process.  A name that is taken already is an error.
 */
extern void RegisterBufferPoolRoutine(const BufferPoolRoutine *routine);
extern void RegisterBufferPoolPolicy(const tp_policy *policy,
									 const char *name);

#endif							/* BUFFERPOOL_H */
