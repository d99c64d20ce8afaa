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

#include "common/hashfn.h"
#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/buf_internals.h"
#include "storage/bufferpool.h"
#include "storage/bufferpool_recorder.h"
#include "storage/bufferpool_scans.h"
#include "storage/lwlock.h"
#include "storage/smgr.h"
#include "storage/spin.h"
#include "tidepool/prediction/trail.h"
#include "utils/relcache.h"

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

#define BUFFERPOOL_CLOCK "clock"	/* the name of stock replacement */

/*
 * Bytes of these texts with their end, in the shared part of each pool.  All
 * parameters of the algorithm with the most text (pbm) take 116 with their
 * defaults.  The comment's size is chosen, for a line or two.
 */
#define BUFFERPOOL_PARAMETERS_SIZE 256
#define BUFFERPOOL_COMMENT_SIZE 256

/* The same at each start, so that a simulation makes the same choices. */
#define BUFFERPOOL_SEED 1

/* ---- statistics ---- */

typedef enum BufferPoolCounter
{
	BUFFERPOOL_HITS,			/* references to resident pages */
	BUFFERPOOL_READS,			/* pages brought in to be read or zeroed */
	BUFFERPOOL_EXTENDS,			/* pages brought in as new blocks */
	BUFFERPOOL_EVICTIONS,		/* pages evicted, by the algorithm's choice */
	BUFFERPOOL_REUSES,			/* pages evicted, by a ring's choice */
	BUFFERPOOL_DIRTY_EVICTIONS, /* of both, those written first */
	BUFFERPOOL_PREDICTED_EVICTIONS, /* evictions by what scans read, */
	BUFFERPOOL_FREQUENCY_EVICTIONS, /* by frequency, */
	BUFFERPOOL_RECENCY_EVICTIONS,	/* by recency alone: as tp_reason */
	BUFFERPOOL_PREMATURE_EVICTIONS, /* wanted by a scan within TP_SOON */
	BUFFERPOOL_WRITES,			/* pages written, by any process */
	BUFFERPOOL_READ_TIME,		/* microseconds, if track_io_timing */
	BUFFERPOOL_WRITE_TIME,
	BUFFERPOOL_SEARCHES,		/* for a victim, by the algorithm */
	BUFFERPOOL_LOOKS,			/* buffers that these looked at */
	BUFFERPOOL_RETRIES,			/* choices given up: pinned or dirtied since */
	BUFFERPOOL_REJECTS,			/* of them, a ring's: would flush WAL */
	BUFFERPOOL_FALLBACKS,		/* the algorithm had none: DEFAULT's clock's
								 * choices */
	BUFFERPOOL_SPILLED,			/* pages that went to DEFAULT because the
								 * algorithm refused them */
	BUFFERPOOL_BORROWED,		/* pages that went to DEFAULT because all
								 * buffers were pinned, or the algorithm was
								 * being changed */
	BUFFERPOOL_FORGOTTEN,		/* pages dropped, or replaced unasked */
	BUFFERPOOL_CORRELATED,		/* hits not reported: repetitions */
	BUFFERPOOL_VACUUMED,		/* hits not reported: VACUUM's */
	BUFFERPOOL_BATCHES,			/* commits of queues */
	BUFFERPOOL_BATCHED_HITS,	/* entries in them */
	BUFFERPOOL_STALE_HITS,		/* of them, skipped: the page had left */
	BUFFERPOOL_LOCKS,			/* acquisitions of the pool's lock */
	BUFFERPOOL_LOCK_WAITS,		/* of them, those that had to wait */
	BUFFERPOOL_TRY_FAILURES,	/* commits put off: the lock was busy */
	BUFFERPOOL_SCANS_BEGUN,		/* announced to the algorithm */
	BUFFERPOOL_SCANS_ENDED,		/* of them, those that ended by themselves */
	BUFFERPOOL_SCANS_ABANDONED, /* of them, ended by an error or a cancel */
	BUFFERPOOL_SCANS_REFUSED,	/* not announced: no place was left */
	BUFFERPOOL_MARKING_SCANS,	/* index scans that left marks */
	BUFFERPOOL_TRAILING_SCANS,	/* of them, those that found others' marks */
	BUFFERPOOL_MARKS,			/* left by them */
	BUFFERPOOL_CLEANED,			/* pages that the bgwriter wrote ahead */
	BUFFERPOOL_CLEANER_ROUNDS,	/* its searches for such pages */
	BUFFERPOOL_CLEANER_LOOKS,	/* buffers looked at in them */
	BUFFERPOOL_CLEANER_LONGEST_HOLD,	/* most of these in one hold of the
										 * pool's lock; not a sum, never reset */
	BUFFERPOOL_NUM_COUNTERS
} BufferPoolCounter;

typedef struct BufferPoolCounters
{
	uint64		count[BUFFERPOOL_NUM_COUNTERS];
} BufferPoolCounters;

#ifdef BUFFERPOOL_TIME_LOCK
#define BUFFERPOOL_HOLD_BINS 256	/* eight for each power of two, to 34 s */
#endif

/* ---- pools ---- */

/*
 * A number must fit into a byte, here and in recordings: 254 pools could be
 * named.  64 is chosen, not measured: each number costs a process a queue of
 * 24 KiB, untouched if never used; looking up a name goes through all pools.
 */
#define BUFFERPOOL_MAX_NAMED 64
#define BUFFERPOOL_NUMBERS (2 + BUFFERPOOL_MAX_NAMED)	/* DEFAULT, RECYCLE */
#define BUFFERPOOL_DEFAULT 0	/* number of the pool of all other buffers */
#define BUFFERPOOL_DEFAULT_NAME "DEFAULT"
#define BUFFERPOOL_RECYCLE_NAME "RECYCLE"

/* What a pool is.  name is empty: there is no pool of this number. */
typedef struct BufferPoolDefinition
{
	char		name[NAMEDATALEN];
	char		algorithm[NAMEDATALEN]; /* as defined */
	char		running[NAMEDATALEN];	/* the one in use; clock if no library
										 * has the other; empty while it is
										 * changed */
	char		parameters[BUFFERPOOL_PARAMETERS_SIZE]; /* as given, or empty */
	double		params[TP_MAX_PARAMS];	/* values in use, and the defaults */
	int			target;			/* buffers that the pool should have */
	bool		remainder;		/* these are what others leave */
	bool		leaving;		/* it is being dropped */
	char		comment[BUFFERPOOL_COMMENT_SIZE];
} BufferPoolDefinition;

/*
 * The shared part of a pool, except for the algorithm's own memory.  What
 * misses write without the lock is not in its cache line, which those who wait
 * for the lock read again and again.
 */
typedef struct BufferPoolShared
{
	LWLock		lock;			/* guards the algorithm's state */
	pg_atomic_uint32 resets;	/* how often the pool was reset */
	pg_atomic_uint32 buffers;	/* that the pool has */
	pg_atomic_uint32 writer;	/* process ID of its trickle writer, or 0 */
	char		end_of_line[PG_CACHE_LINE_SIZE - sizeof(LWLock) -
							3 * sizeof(pg_atomic_uint32)];

	pg_atomic_uint32 allocations;	/* of buffers; not of DEFAULT, which has
									 * StrategyControl's; wraps around */
	pg_atomic_uint32 dirty_victims; /* dirty pages evicted; wraps around */
	slock_t		free_lock;		/* the two below */
	int			first_free;		/* of the buffers without a page; not of
								 * DEFAULT, which has StrategyControl's */
	int			last_free;		/* if there is a first */

	slock_t		definition_lock;	/* the two below */
	uint32		version;		/* changes with the definition */
	BufferPoolDefinition definition;

	/* Totals of all processes, and what they were at the last reset. */
	pg_atomic_uint64 counters[BUFFERPOOL_NUM_COUNTERS];
	slock_t		stats_lock;		/* the two below */
	TimestampTz stats_reset;
	BufferPoolCounters baseline;
#ifdef BUFFERPOOL_TIME_LOCK
	uint64		holds[BUFFERPOOL_HOLD_BINS];	/* guarded by lock */
#endif
} BufferPoolShared;

/* One process's view of a pool. */
typedef struct BufferPool
{
	BufferPoolShared *shared;
	uint32		version;		/* of the definition that this is of */
	bool		followed_resets;	/* the chooser has been initialized */
	uint32		resets;			/* when it was */
	uint32		flags;			/* of the policy, for these parameters:
								 * TP_HIT_LOCK_FREE etc.  TP_CHOICE_LOCK_FREE
								 * only if the pool is shared (tp_share) */
	bool		fails_when_full;	/* a refused page fails the statement */
	tp_pool		core;			/* policy is NULL: stock replacement */
	BufferPoolCounters counted; /* not added to the totals yet */
} BufferPool;

extern PGDLLIMPORT BufferPool BufferPools[BUFFERPOOL_NUMBERS];

/* How many there is memory for: DEFAULT, and those that may be created. */
extern int	BufferPoolsReserved(void);

#define DefaultBufferPool BufferPools[BUFFERPOOL_DEFAULT]

static inline int
BufferPoolNumber(const BufferPool *pool)
{
	return (int) (pool - BufferPools);
}

/*
 * [buf_id]: the number of the pool that the buffer belongs to.  NULL if there
 * is memory for DEFAULT only.  Written by members.c, with the buffer's header
 * locked.
 */
extern PGDLLIMPORT uint8 *BufferPoolNumbers;

/*
 * The pool that this buffer belongs to.  It stays so while the caller has the
 * buffer pinned or its header locked.
 */
static inline BufferPool *
BufferPoolOf(int buf_id)
{
	return BufferPoolNumbers == NULL ? &DefaultBufferPool :
		&BufferPools[BufferPoolNumbers[buf_id]];
}

/* The pool that takes the place of all rings, or NULL. */
extern PGDLLIMPORT BufferPool *RecycleBufferPool;

/* Buffers that the pool has. */
static inline int
BufferPoolSize(const BufferPool *pool)
{
	return pg_atomic_read_u32(&pool->shared->buffers);
}

/*
 * Do pages that come in through this strategy reuse a ring of the pool's
 * buffers?  Those of large scans do not where the algorithm knows what scans
 * read.  VACUUM and bulk writes still do: a ring also lets them write what they
 * have changed themselves.
 */
static inline bool
BufferPoolUsesRing(const BufferPool *pool, BufferAccessStrategy strategy)
{
	if (pool->flags & TP_ASKS_SCANS)
		return IOContextForStrategy(strategy) != IOCONTEXT_BULKREAD;
	return (pool->flags & TP_TAKES_BULK) == 0;
}

/* Pools that may be named. */
static inline int
BufferPoolMostNamed(void)
{
	return BufferPoolsReserved() - (RecycleBufferPool != NULL ? 2 : 1);
}

/* Does an algorithm, rather than the clock, replace the pool's pages? */
static inline bool
BufferPoolHasAlgorithm(const BufferPool *pool)
{
	return pool->core.policy != NULL;
}

/* Does an algorithm replace the pages of any pool? */
extern PGDLLIMPORT bool BufferPoolActive;

/* stats.c */
extern int	BufferPoolProcessCount(void);
extern Size BufferPoolStatsShmemSize(void);
extern void BufferPoolStatsShmemInit(void);
extern void BufferPoolStatsInitProcess(void);
extern void BufferPoolInitCounters(BufferPoolShared *shared);
extern void BufferPoolAddCounters(BufferPool *pool);
extern void BufferPoolAddAllCounters(void);
extern bool BufferPoolHasCounted(void);
extern void BufferPoolReadCounters(BufferPool *pool, BufferPoolCounters *sums,
								   TimestampTz *stats_reset);
extern void BufferPoolResetCounters(BufferPool *pool);
extern void BufferPoolSetPending(const BufferPool *pool, uint32 pending);
extern uint32 BufferPoolPending(const BufferPool *pool);
#ifdef BUFFERPOOL_TIME_LOCK
extern void BufferPoolCountHold(BufferPool *pool, uint64 nanoseconds);
extern uint64 BufferPoolHoldBinStart(int bin);
#endif

/*
 * Events of one kind after which a process adds its counts to the totals,
 * which so lag behind a busy process.  Chosen, not measured: at 256 one event
 * in 256 writes shared cache lines; with more the totals lag further.
 */
#define BUFFERPOOL_COUNTED_MAX 256

static inline void
BufferPoolCountMany(BufferPool *pool, BufferPoolCounter counter, uint64 events)
{
	pool->counted.count[counter] += events;
}

static inline void
BufferPoolCount(BufferPool *pool, BufferPoolCounter counter)
{
	pool->counted.count[counter]++;
}

/* Count what happens at each reference or miss, and add up now and then. */
static inline void
BufferPoolCountOften(BufferPool *pool, BufferPoolCounter counter)
{
	if (unlikely(++pool->counted.count[counter] >= BUFFERPOOL_COUNTED_MAX))
		BufferPoolAddCounters(pool);
}

extern void BufferPoolCountTime(Buffer buffer, BufferPoolCounter counter,
								instr_time start);
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

/* registry.c */
extern const tp_policy *FindBufferPoolPolicy(const char *name,
											 const char **registered);
extern const char *NextBufferPoolPolicy(int *position);
extern bool HasLibraryBufferPoolPolicies(void);

/* parameters.c */
extern bool ParsePolicyParameters(const tp_policy *policy, const char *text,
								  double *params, char **problem);

/* lists.c */

/* A row of a pool's lists. */
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

/*
 * Nodes that a walk remembers, 16 bytes each.  It loses its place only if all
 * of them have moved.  Then the rest of a list is shown without ranks, that of
 * a ghost list not at all.  Chosen, not measured: more makes that rarer.
 */
#define BUFFERPOOL_WALK_ANCHORS 16

/* A node that a walk has visited, and its predecessor at that time. */
typedef struct BufferPoolListAnchor
{
	uint32		index;
	uint32		prev;
	uint64		identity;		/* of the page: generation, or ghost's key */
} BufferPoolListAnchor;

/*
 * A walk over the lists of a pool.  The caller provides the array shown, and
 * zero-initializes it and the rest.  lists.c explains the other fields.
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

extern bool BufferPoolShowLists(const BufferPool *pool,
								BufferPoolListWalk *state, int max,
								BufferPoolListCallback callback, void *arg);

/* bufferpool.c */
extern Size BufferPoolShmemSize(void);
extern void BufferPoolShmemInit(bool init);
extern void BufferPoolInitProcess(void);
extern void BufferPoolBegin(BufferPool *pool);
extern const char *show_bufferpool_algorithm(void);
extern const char *show_bufferpool_parameters(void);
extern const char *show_bufferpool_batch_threshold(void);
extern void BufferPoolAppendJson(StringInfo text, const BufferPool *pool,
								 const BufferPoolDefinition *definition,
								 int buffers);
extern void BufferPoolReadDefinition(const BufferPool *pool,
									 BufferPoolDefinition *definition);
extern void BufferPoolDefine(BufferPool *pool,
							 const BufferPoolDefinition *definition);
extern void BufferPoolDescribe(BufferPool *pool,
							   const BufferPoolDefinition *definition);
extern void BufferPoolSetView(BufferPool *pool,
							  const BufferPoolDefinition *definition);
extern void BufferPoolFollowDefinition(BufferPool *pool);
extern int	BufferPoolFrameBytes(void);
extern uint64 BufferPoolMemory(int buffers);
extern bool BufferPoolHasMemoryFor(const tp_policy *policy,
								   const double *params);

/* followers.c */
extern Size BufferPoolFollowersShmemSize(void);
extern void BufferPoolFollowersShmemInit(void);
extern void BufferPoolDefinitionChanged(void);
extern void BufferPoolFollowDefinitions(void);
extern void BufferPoolAwaitFollowers(void);
extern bool ProcessBarrierBufferPools(void);

/* restore.c */
extern void BufferPoolMakePools(void);

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

/* members.c */
extern void BufferPoolPushFree(BufferPool *pool, BufferDesc *buf);
extern BufferDesc *BufferPoolPopFree(BufferPool *pool, uint32 *buf_state);
extern void BufferPoolFreeNone(void);
extern int	BufferPoolMove(BufferPool *from, BufferPool *to, int count);
extern LWLock *BufferPoolMembersLock(void);

/* definitions.c */
extern void WriteBufferPoolDefinitions(const BufferPoolDefinition *definitions,
									   int count);
extern int	ReadBufferPoolDefinitions(BufferPoolDefinition *definitions,
									  int max, int elevel);

/* layout.c */

/* A pool has at least so many buffers: the least value of shared_buffers. */
#define BUFFERPOOL_LEAST_BUFFERS 16

typedef enum BufferPoolStage
{
	BUFFERPOOL_IDLE,
	BUFFERPOOL_MOVING,			/* buffers move */
	BUFFERPOOL_WAITING,			/* all that must move are pinned */
	BUFFERPOOL_SWITCHING		/* the algorithm is replaced */
} BufferPoolStage;

/* What the statement that changes pools now is doing. */
typedef struct BufferPoolProgress
{
	int			pid;
	BufferPoolStage stage;
	char		pool[NAMEDATALEN];
	int			first;			/* buffers that it had */
	int			target;			/* that it shall have */
	TimestampTz since;
} BufferPoolProgress;

extern Size BufferPoolLayoutShmemSize(void);
extern void BufferPoolLayoutShmemInit(void);
extern bool BufferPoolReadProgress(BufferPoolProgress *progress);
extern bool BufferPoolIsSwitching(const BufferPool *pool);
extern void BufferPoolBeginProgress(const BufferPool *pool,
									BufferPoolStage stage);
extern void BufferPoolEndProgress(void);
extern int	BufferPoolFloorOfDefault(void);
extern void BufferPoolCheckSize(const BufferPool *pool, const char *name,
								int buffers);
extern BufferPool *BufferPoolRemainder(void);
extern void BufferPoolReachTargets(void);
extern void BufferPoolWriteDefinitions(const BufferPool *changed,
									   const BufferPoolDefinition *definition);

/* switch.c */
extern void BufferPoolSwitch(BufferPool *pool,
							 const BufferPoolDefinition *definition);

/* handler.c */
struct List;
extern char *BufferPoolHandlerName(struct List *handler);
extern const tp_policy *BufferPoolFindHandler(const char *algorithm,
											  const char **registered);
extern void BufferPoolSetHandler(const char *algorithm, const char *parameters,
								 BufferPoolDefinition *definition);
extern char *BufferPoolOptionsWith(const char *old, struct List *options);
extern char *BufferPoolOptionsWithout(const tp_policy *policy, const char *old,
									  struct List *options);

/* commands.c */
struct BufferPoolStmt;
extern void ExecBufferPoolStmt(const struct BufferPoolStmt *stmt);
extern const char *show_bufferpool_definitions(void);

/* dependents.c */
extern char *BufferPoolDependents(const char *name);

/* writer.c */
extern bool BufferPoolCleanNamed(WritebackContext *wb_context);
extern int	BufferPoolBgWriterDelay(void);
extern void BufferPoolEndWriter(BufferPool *pool);
extern void BufferPoolWriterMain(Datum main_arg);

/* options.c */
extern bool IsBufferPoolOption(const char *text, size_t length);
extern bool IsBufferPoolOptionName(const char *name);
extern bool OptionsNameBufferPool(Datum reloptions, const char *pool);
extern char *GetBufferPoolOption(Datum reloptions);
extern void CheckBufferPoolOptions(Datum reloptions, bool overflow);
extern void WarnOfMissingBufferPools(struct List *options);
extern void RejectBufferPoolOptions(Datum reloptions);
extern bool HasBufferPoolOptions(Datum reloptions);
extern bool HasOtherOptions(Datum reloptions);
extern Datum WithoutBufferPoolOptions(Datum reloptions);
extern Datum ToastOptionsWithPool(Datum toast_options, Datum relation_options);
extern Datum ToastOptionsAfterAlter(Datum toast_options,
									struct List *changes, bool reset);
extern Datum PartitionOptionsWithPool(Datum reloptions, Oid parent);

/* relation.c */
extern Size BufferPoolRelationShmemSize(void);
extern void BufferPoolRelationShmemInit(void);
extern void assign_bufferpool_default_pool(const char *newval, void *extra);
extern BufferPool *FindBufferPool(const char *name);
extern void BufferPoolNamesChanged(void);
extern BufferPool *BufferPoolForRelation(Relation rel, SMgrRelation smgr);
extern BufferPool *BufferPoolForPage(Relation rel, SMgrRelation smgr,
									 BufferAccessStrategy strategy);
extern int	BufferPoolBuffersFor(Relation rel);
extern uint32 BufferPoolPinLimit(const BufferPool *pool);

/* scans.c */

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
extern void BufferPoolEndScansAtExit(void);
extern void BufferPoolForgetScans(void);
extern uint32 BufferPoolScanPlaces(void);
extern bool BufferPoolLookAtScan(uint32 number, BufferPoolScanLook *look);
extern bool BufferPoolScanAwaits(uint32 number, BlockNumber block);

/* reset.c */
extern void BufferPoolReset(void);
extern void BufferPoolFollowReset(BufferPool *pool);

/* cleaner.c */
extern int	BufferPoolClean(BufferPool *pool, uint32 recent_alloc,
							int maxpages, WritebackContext *wb_context);
extern int	BufferPoolCleanDelay(const BufferPool *pool);

/*
 * Call when a page was found in this buffer, before the buffer is pinned and
 * BufferPoolHit is called.
 */
static inline void
BufferPoolExpectHit(int buf_id)
{
	const BufferPool *pool = BufferPoolOf(buf_id);

	if (pool->flags & TP_HIT_LOCK_FREE)
		tp_prefetch(&pool->core, buf_id);
}

/* hits.c */
extern void BufferPoolHit(BufferDesc *buf, IOContext io_context);
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

extern void BufferPoolReferenced(const BufferTag *page);

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
extern void BufferPoolDropQueue(const BufferPool *pool);
extern void BufferPoolBeforeIdle(void);
extern void BufferPoolAtProcExit(void);

extern PGDLLIMPORT volatile sig_atomic_t BufferPoolCommitPending;
extern void ProcessBufferPoolCommitInterrupt(void);

#endif							/* BUFFERPOOL_INTERNALS_H */
