/*-------------------------------------------------------------------------
 *
 * relation.c
 *	  Which pool a relation's pages come into.
 *
 * Asked on the miss path only.  A relation's cache entry has the name in its
 * storage parameter buffer_pool (rd_bufferpool).  A relation without one is in
 * bufferpool.default_pool, catalogs and their TOAST tables in DEFAULT.  A name
 * is looked up once for each meaning that it has: a counter in shared memory
 * changes when pools are created, renamed or dropped.  No catalog and no
 * relation cache needs to be told of that, so it works on a standby as well.
 *
 * Recovery has no cache entries, only file numbers.  A table in shared memory
 * has the pools of the files that sessions have read since the server started.
 * What it does not have is in DEFAULT, which costs no more than a page in
 * another pool.  The table is a hint: entries overwrite each other, and readers
 * take no lock.
 *
 * src/backend/storage/bufferpool/relation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlogutils.h"
#include "catalog/catalog.h"
#include "storage/bufferpool_internals.h"
#include "storage/shmem.h"
#include "utils/rel.h"

char	   *bufferpool_default_pool;

/* ---- shared memory ---- */

typedef struct KnownFile
{
	RelFileLocator locator;
	uint32		number;			/* of its pool */
} KnownFile;

/*
 * A power of 2; 64 KiB.  Only recovery and callers without a relation look
 * here.  A file whose place another one has taken counts as DEFAULT's until
 * its relation is next looked up.  Chosen, not measured: with more, that is
 * rarer where thousands of relations name pools, and a change of names takes
 * longer, since it clears all places under the spinlock.
 */
#define KNOWN_FILES 4096

typedef struct RelationPools
{
	pg_atomic_uint32 meanings;	/* changes with what names mean; never 0 */
	slock_t		lock;			/* for writing files */
	KnownFile	files[KNOWN_FILES];
} RelationPools;

static RelationPools *relation_pools;

Size
BufferPoolRelationShmemSize(void)
{
	return BufferPoolsReserved() > 1 ? sizeof(RelationPools) : 0;
}

void
BufferPoolRelationShmemInit(void)
{
	bool		found;

	if (BufferPoolsReserved() == 1)
		return;
	relation_pools = ShmemInitStruct("Buffer Pools of Relations",
									 sizeof(RelationPools), &found);
	if (found)
		return;
	MemSet(relation_pools, 0, sizeof(RelationPools));
	pg_atomic_init_u32(&relation_pools->meanings, 1);
	SpinLockInit(&relation_pools->lock);
}

/* ---- names ---- */

/* The pool of this name, or NULL. */
BufferPool *
FindBufferPool(const char *name)
{
	if (pg_strcasecmp(name, BUFFERPOOL_DEFAULT_NAME) == 0)
		return &DefaultBufferPool;
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] != '\0' && strcmp(definition.name, name) == 0)
			return &BufferPools[i];
	}
	return NULL;
}

/* Names mean other pools than before. */
void
BufferPoolNamesChanged(void)
{
	uint32		meanings = pg_atomic_add_fetch_u32(&relation_pools->meanings, 1);

	if (meanings == 0)			/* wrapped around */
		pg_atomic_fetch_add_u32(&relation_pools->meanings, 1);
	/* a file's pool may be another one from now on */
	SpinLockAcquire(&relation_pools->lock);
	MemSet(relation_pools->files, 0, sizeof(relation_pools->files));
	SpinLockRelease(&relation_pools->lock);
}

/* Is the pool being dropped? */
static bool
is_leaving(const BufferPool *pool)
{
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	return definition.leaving;
}

/*
 * The number of the pool of this name, DEFAULT if there is none.  It was
 * *number when names had the meaning *meaning (0: never looked up).  Returns
 * whether it had to be looked up.
 */
static bool
look_up(const char *name, int *number, uint32 *meaning)
{
	uint32		now = pg_atomic_read_u32(&relation_pools->meanings);
	const BufferPool *pool;

	if (*meaning == now)
		return false;
	pool = FindBufferPool(name);
	*number = pool == NULL || is_leaving(pool) ?
		BUFFERPOOL_DEFAULT : BufferPoolNumber(pool);
	*meaning = now;
	return true;
}

/* ---- files ---- */

static KnownFile *
place_of(const RelFileLocator *locator)
{
	uint32		hash = murmurhash32(locator->relNumber ^
									pg_rotate_left32(locator->dbOid, 16) ^
									pg_rotate_left32(locator->spcOid, 8));

	return &relation_pools->files[hash & (KNOWN_FILES - 1)];
}

static void
note_file(const RelFileLocator *locator, int number)
{
	KnownFile  *place = place_of(locator);

	if (number == BUFFERPOOL_DEFAULT &&
		!RelFileLocatorEquals(place->locator, *locator))
		return;
	SpinLockAcquire(&relation_pools->lock);
	place->locator = *locator;
	place->number = number;
	SpinLockRelease(&relation_pools->lock);
}

static int
pool_of_file(const RelFileLocator *locator)
{
	const KnownFile *place = place_of(locator);
	int			number = place->number;

	return RelFileLocatorEquals(place->locator, *locator) &&
		number < BufferPoolsReserved() ? number : BUFFERPOOL_DEFAULT;
}

/* ---- relations ---- */

/* bufferpool.default_pool, and the meaning that it was looked up with. */
static int	default_number;
static uint32 default_meaning;

void
assign_bufferpool_default_pool(const char *newval, void *extra)
{
	default_meaning = 0;
}

static int
pool_of_relation(Relation rel)
{
	if (rel->rd_bufferpool != NULL)
	{
		if (look_up(rel->rd_bufferpool, &rel->rd_bufferpool_number,
					&rel->rd_bufferpool_meaning))
			note_file(&rel->rd_locator, rel->rd_bufferpool_number);
		return rel->rd_bufferpool_number;
	}
	if (bufferpool_default_pool == NULL || bufferpool_default_pool[0] == '\0' ||
		IsCatalogRelation(rel))
		return BUFFERPOOL_DEFAULT;
	look_up(bufferpool_default_pool, &default_number, &default_meaning);
	return default_number;
}

/*
 * The pool for pages of this relation.  rel may be NULL if smgr is given.
 * Names of no pool mean DEFAULT.
 */
BufferPool *
BufferPoolForRelation(Relation rel, SMgrRelation smgr)
{
	if (BufferPoolNumbers == NULL)
		return &DefaultBufferPool;
	if (rel != NULL && !InRecovery)
		return &BufferPools[pool_of_relation(rel)];
	return &BufferPools[pool_of_file(rel != NULL ? &rel->rd_locator :
									 &smgr->smgr_rlocator.locator)];
}

/*
 * The pool for a page of this relation that comes in through a ring, or, if
 * strategy is NULL, without one.  RECYCLE takes the place of rings only.
 */
BufferPool *
BufferPoolForPage(Relation rel, SMgrRelation smgr,
				  BufferAccessStrategy strategy)
{
	BufferPool *pool = BufferPoolForRelation(rel, smgr);

	if (strategy == NULL || RecycleBufferPool == NULL ||
		((pool->flags & TP_ASKS_SCANS) && !BufferPoolUsesRing(pool, strategy)))
		return pool;
	return RecycleBufferPool;
}

/* ---- shares of a pool ---- */

static int
size_of(const BufferPool *pool)
{
	return BufferPoolNumbers == NULL ? NBuffers : BufferPoolSize(pool);
}

/* Buffers of the pool for pages of this relation. */
int
BufferPoolBuffersFor(Relation rel)
{
	return size_of(BufferPoolForRelation(rel, NULL));
}

/*
 * Buffers of the pool that one ring, scan or extension may have at a time.  While
 * DEFAULT has all buffers, stock PostgreSQL's limits are enough.  An eighth, as
 * stock's rings have at most.  Chosen, not measured: with more, fewer scans exhaust
 * the pool, and pages go to DEFAULT; with less, scans of small pools read less
 * ahead.
 */
uint32
BufferPoolPinLimit(const BufferPool *pool)
{
	int			size = size_of(pool);

	return size == NBuffers ? PG_UINT32_MAX : Max(size / 8, 1);
}

/*
 * Likewise of a read stream, which also keeps to a backend's share of all buffers.
 * Of DEFAULT it is a backend's share of that pool: nobody is sent on from there.
 */
uint32
BufferPoolStreamPinLimit(const BufferPool *pool)
{
	uint32		share = GetPinLimit();

	if (pool == &DefaultBufferPool)
		share = (uint32) ((uint64) share * size_of(pool) / NBuffers);
	return Min(share, BufferPoolPinLimit(pool));
}
