/*-------------------------------------------------------------------------
 *
 * bufferpool_warm.h
 *	  Warm starts: the list of a server's pages, saved and read back.
 *
 * src/include/storage/bufferpool_warm.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_WARM_H
#define BUFFERPOOL_WARM_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "port/pg_crc32c.h"
#include "storage/bufferpool_internals.h"
#include "storage/dsm.h"
#include "storage/relfilelocator.h"
#include "tidepool/standing.h"

extern PGDLLIMPORT bool bufferpool_warm_start;
extern PGDLLIMPORT int bufferpool_warm_save_interval;
extern PGDLLIMPORT int bufferpool_warm_workers;
extern PGDLLIMPORT int bufferpool_warm_rate;
extern PGDLLIMPORT bool bufferpool_warm_primary;

/* ---- the list ---- */

#define WARM_FILE "pg_bufferpool_warm"
#define WARM_NEW_FILE WARM_FILE ".tmp"
#define WARM_MAGIC "TPWARM\r\n"
#define WARM_VERSION 1

/* A file of this server, or of one that was copied from or to it. */
typedef struct WarmHeader
{
	char		magic[8];
	uint32		version;		/* WARM_VERSION */
	uint32		standing_version;	/* TP_STANDING_VERSION */
	uint64		system;			/* identifier of the data directory */
	int64		saved_at;		/* TimestampTz */
	uint32		block_size;
	uint32		pools;			/* as many WarmPools follow */
	uint64		relations_at;	/* where in the file the relations are */
	uint32		relations;
	pg_crc32c	body_crc;		/* of all that follows the pools */
	uint64		size;			/* of the file */
	pg_crc32c	crc;			/* of this header so far, and the pools */
	uint32		unused;
} WarmHeader;

StaticAssertDecl(sizeof(WarmHeader) == 72, "the header has 72 bytes");

typedef struct WarmPool
{
	char		name[NAMEDATALEN];
	char		algorithm[NAMEDATALEN]; /* the one that ran */
	char		parameters[BUFFERPOOL_PARAMETERS_SIZE];
	double		params[TP_MAX_PARAMS];
	uint32		buffers;
	uint32		page_size;		/* of a page's entry */
	uint64		pages_at;		/* where in the file its pages are; then its
								 * ghosts */
	uint32		pages;
	uint32		ghosts;
	uint64		state[TP_STATE_SIZE / 8];	/* tp_save_state */
} WarmPool;

StaticAssertDecl(sizeof(WarmPool) == 1112, "a pool has 1112 bytes");

typedef struct WarmRelation
{
	RelFileLocator locator;
	uint8		fork;
	uint8		permanent;		/* as BM_PERMANENT */
	uint16		unused;
} WarmRelation;

StaticAssertDecl(sizeof(WarmRelation) == 16, "a relation has 16 bytes");

/*
 * A page, hottest first.  What follows it, up to page_size: the node's word if
 * the policy has rings, then the policy's extra bytes, in units of 8.
 */
typedef struct WarmPage
{
	uint32		relation;		/* from 0 */
	BlockNumber block;
	uint32		position;		/* on its list, from the head */
	uint8		list;			/* 0: of stock replacement */
	uint8		count;			/* stock: the usage count */
	uint8		mark;
	uint8		unused;
} WarmPage;

StaticAssertDecl(sizeof(WarmPage) == 16, "a page has 16 bytes");

StaticAssertDecl(sizeof(tp_memory) == 24, "a ghost has 24 bytes");

/* What a reader has of a pool: its entries, as in the file. */
typedef struct WarmPoolList
{
	WarmPool	head;
	char	   *pages;			/* head.pages of them, of head.page_size */
	tp_memory  *ghosts;
} WarmPoolList;

typedef struct WarmList
{
	WarmHeader	header;
	WarmRelation *relations;
	WarmPoolList *pools;
} WarmList;

static inline const WarmPage *
WarmPageOf(const WarmPoolList *pool, uint32 number)
{
	return (const WarmPage *) (pool->pages + (Size) number * pool->head.page_size);
}

/* ---- what is shared ---- */

typedef enum WarmPhase
{
	WARM_OFF,					/* nobody saves or reads a list */
	WARM_STARTING,
	WARM_LOADING,				/* workers read pages */
	WARM_PLACING,				/* the algorithms learn what they knew */
	WARM_DONE					/* the list has been read back */
} WarmPhase;

typedef enum WarmCounter
{
	WARM_WANTED,				/* pages on the list that is read back; so the
								 * next */
	WARM_READ,					/* read */
	WARM_PRESENT,				/* somebody else had read them */
	WARM_GONE,					/* of relations or blocks that are no more */
	WARM_NO_ROOM,				/* no free buffer was left */
	WARM_LEFT,					/* not tried: of a database that takes no
								 * connections, or a table that is locked; or
								 * the warm start was ended, or had no memory
								 * for them */
	WARM_RECALLED,				/* ghosts */
	WARM_WORKERS,				/* started */
	WARM_PAUSES,				/* in favour of queries that wait for reads */
	WARM_SAVES,
	WARM_FAILED_SAVES,
	WARM_FETCHES,				/* of the primary's list */
	WARM_FAILED_FETCHES,
	WARM_NUM_COUNTERS
} WarmCounter;

/* More than any list has. */
#define WARM_PAGES_UNKNOWN PG_UINT64_MAX

typedef struct WarmShared
{
	pg_atomic_uint32 writer;	/* process that writes the file, or 0 */
	slock_t		mutex;			/* what follows, up to the counters */
	WarmPhase	phase;
	bool		loaded;			/* a list was read since the server started,
								 * or there was none */
	bool		interrupted;	/* not all of it was read */
	int			pid;			/* of the leader, or 0 */
	uint64		old_pages;		/* on the list in the file, as many as there
								 * are buffers for; or WARM_PAGES_UNKNOWN */
	TimestampTz began;			/* to read the list */
	TimestampTz ended;
	TimestampTz list_of;		/* when the file's list was saved */
	double		save_seconds;	/* that the last save took */
	dsm_handle	work;			/* for the workers, or DSM_HANDLE_INVALID */
	pg_atomic_uint64 counters[WARM_NUM_COUNTERS];
} WarmShared;

extern PGDLLIMPORT WarmShared *BufferPoolWarm;

static inline void
WarmCount(WarmCounter counter, uint64 count)
{
	pg_atomic_fetch_add_u64(&BufferPoolWarm->counters[counter], count);
}

/* ---- the workers' list ---- */

/* A page that is wanted. */
typedef struct WarmWant
{
	uint32		relation;
	BlockNumber block;
	uint32		number;			/* among all pages: its place in results */
	uint8		pool;			/* number, of the pool that it goes to */
	uint8		level;			/* of its region, less than WARM_LEVELS; 0
								 * comes first */
	uint8		list;			/* number, of the pool's list in the file */
	uint8		unused;
} WarmWant;

/* Pages of one database, or the shared catalogs. */
typedef struct WarmGroup
{
	Oid			database;
	uint32		next;			/* want that is claimed next; guarded by the
								 * work's mutex */
	uint32		end;
	bool		skipped;		/* it cannot be connected to */
	int			workers;		/* that serve it; the leader's */
	int			failures;		/* likewise, and the rest: in a row */
	TimestampTz not_before;		/* the next worker */
} WarmGroup;

typedef struct WarmWork
{
	slock_t		mutex;
	uint32		groups;
	uint32		relations;
	uint32		wants;
	bool		follow;			/* pages may take others' buffers */
	pg_atomic_uint32 left[BUFFERPOOL_NUMBERS];	/* [list]: not done yet */
	Size		groups_at;		/* from the beginning of this */
	Size		relations_at;
	Size		wants_at;
	Size		results_at;
} WarmWork;

#define WarmGroups(work) ((WarmGroup *) ((char *) (work) + (work)->groups_at))
#define WarmRelations(work) ((WarmRelation *) ((char *) (work) + (work)->relations_at))
#define WarmWants(work) ((WarmWant *) ((char *) (work) + (work)->wants_at))
/* [number]: the buffer that the page was found or read in; -1: none */
#define WarmResults(work) ((int32 *) ((char *) (work) + (work)->results_at))

#define WARM_LEVELS 16

/*
 * Pages that are read on the way to the next one, at most.  Chosen by the devices
 * of docs/ssd-tier.md: so many take 0.4 ms of a disk, which takes 12 to be asked
 * again, and 0.12 of a SATA SSD, which takes 0.08.
 */
#define WARM_LONGEST_GAP 8

/* warm.c */
extern Size BufferPoolWarmShmemSize(void);
extern void BufferPoolWarmShmemInit(void);
extern void BufferPoolWarmRegister(void);
extern void BufferPoolWarmMain(Datum main_arg);

/* warm_file.c */
extern bool WarmHasWord(const tp_policy *policy);
extern uint32 WarmPageSize(const tp_policy *policy);
extern bool ReadWarmHeads(WarmHeader *header, WarmPool **pools, int elevel);
extern bool ReadWarmList(WarmList *list);
extern const char *WarmProblemOfFile(const char *path);

/* Bytes of the file that ReadWarmPart returns at most. */
#define WARM_PART_SIZE ((Size) 1024 * 1024)

extern bytea * ReadWarmPart(uint64 at);

/* warm_output.c */

#define WARM_OUTPUT_SIZE (64 * 1024)

typedef struct WarmOutput
{
	int			fd;
	uint64		at;				/* in the file, of data */
	Size		used;
	pg_crc32c	crc;			/* of all that went through data */
	int			error;			/* errno of the first failure, or 0 */
	char		data[WARM_OUTPUT_SIZE];
} WarmOutput;

extern void WarmClaimFile(void);
extern void WarmReleaseFile(int code, Datum arg);
extern bool WarmBeginFile(WarmOutput *output);
extern bool WarmKeepFile(WarmOutput *output);
extern void WarmDropFile(WarmOutput *output);
extern void WarmWriteAt(WarmOutput *output, const void *data, Size size,
						uint64 at);
extern void WarmFlush(WarmOutput *output);
extern void WarmPut(WarmOutput *output, const void *data, Size size);
extern uint64 WarmPlaceOf(const WarmOutput *output);

/* warm_save.c */
extern int64 BufferPoolSaveWarmList(bool force);

/* warm_resume.c */
extern void BufferPoolResumeWarm(void);
extern bool WarmPoolIsSame(const WarmPool *head, const BufferPool *pool);

/* warm_plan.c */

typedef struct WarmPlan
{
	WarmList	list;
	uint64		pages;			/* on the list that the pools have buffers for */
	uint64		planned;		/* of them */
	dsm_segment *segment;		/* NULL: there is no memory for one */
	WarmWork   *work;			/* in it */
	uint32	   *first;			/* [list]: number of its first page */
	bool	   *placed;			/* [list]: its pages are where they were */
	BufferPool **pools;			/* [list]: where its pages go */
} WarmPlan;

extern void MakeWarmPlan(WarmPlan *plan, bool follow);
extern int	WarmFindPage(const WarmRelation *relation, BlockNumber block);

/* warm_load.c */
extern void BufferPoolLoadWarmList(void);
extern void BufferPoolFollowWarmList(void);

/* warm_follow.c */
extern bool WarmFollowsPrimary(void);
extern bool WarmFetchList(int seconds);
extern void BufferPoolWarmFetchMain(Datum main_arg);

/* warm_place.c */
extern void PlaceWarmPages(BufferPool *pool, const WarmPoolList *list,
						   const WarmRelation *relations, const int32 *results);
extern void ReferenceWarmPages(BufferPool *pool, const WarmPoolList *list,
							   const WarmRelation *relations,
							   const int32 *results);

/* warm_worker.c */
extern void BufferPoolWarmWorkerMain(Datum main_arg);
extern bool BufferPoolHasReserve;
extern BufferDesc *BufferPoolTakeReserved(void);

#endif							/* BUFFERPOOL_WARM_H */
