/*-------------------------------------------------------------------------
 *
 * warm_save.c
 *	  Save the list of the pages that the pools have.
 *
 * The pools change meanwhile: their locks are held for a slice at a time.  A
 * page that stays where it is throughout is on the list, one that comes or goes
 * may be.  A page is on it once, and a ghost is not on it as a page too unless
 * it came in in between.  If a pool gets another algorithm meanwhile, its entries
 * break off, and saving begins anew.
 *
 * src/backend/storage/bufferpool/warm_save.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define SLICE 64				/* looks in one hold of a pool's lock */
#define LOCK_FREE_SLICE 4096	/* between two looks for interrupts */

/*
 * If reading the old list was ended before its end, another one takes its place
 * when it has this share of its pages, or after so long.
 */
#define ENOUGH 0.9
#define LONG_ENOUGH_MILLISECONDS (60 * 60 * 1000)

/*
 * How often saving begins, if pools get other algorithms.  One that does spoils
 * two attempts at most: when it loses the old one, and when it gets the new one.
 */
#define ATTEMPTS 5

/* ---- relations ---- */

typedef struct RelationKey
{
	RelFileLocator locator;
	ForkNumber	fork;
} RelationKey;

typedef struct RelationEntry
{
	RelationKey key;
	uint32		number;
	bool		permanent;
} RelationEntry;

static HTAB *
make_relations(void)
{
	HASHCTL		ctl = {.keysize = sizeof(RelationKey),
	.entrysize = sizeof(RelationEntry), .hcxt = CurrentMemoryContext};

	return hash_create("pages' relations", 256, &ctl,
					   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static uint32
number_of(HTAB * relations, const BufferTag *tag, bool permanent)
{
	RelationKey key = {BufTagGetRelFileLocator(tag), BufTagGetForkNum(tag)};
	RelationEntry *entry;
	bool		found;

	entry = hash_search(relations, &key, HASH_ENTER, &found);
	if (!found)
	{
		entry->number = hash_get_num_entries(relations) - 1;
		entry->permanent = permanent;
	}
	return entry->number;
}

/* In the order of their numbers. */
static void
put_relations(WarmOutput *output, HTAB * relations)
{
	long		count = hash_get_num_entries(relations);
	WarmRelation *rows = palloc0_array(WarmRelation, Max(count, 1));
	HASH_SEQ_STATUS scan;
	RelationEntry *entry;

	hash_seq_init(&scan, relations);
	while ((entry = hash_seq_search(&scan)) != NULL)
		rows[entry->number] = (WarmRelation)
	{
		entry->key.locator, entry->key.fork, entry->permanent
	};
	for (long i = 0; i < count; i++)
		WarmPut(output, &rows[i], sizeof(rows[i]));
	pfree(rows);
}

/* ---- the pages of a pool ---- */

typedef struct Save
{
	WarmOutput	output;
	HTAB	   *relations;
	WarmPool   *heads;
	uint32		pools;
	uint64		pages;
	bool		broken_off;		/* a pool has got another algorithm */
	TimestampTz saved_at;
	/* of the pool that is being saved */
	BufferPool *pool;
	WarmPool   *head;
	const tp_policy *policy;
	uint32		version;
	BufferPoolListWalk walk;
	uint32	   *positions;		/* [buf_id]: on its list */
	int		   *order;			/* coldest first */
	int			ordered;
	bool	   *included;		/* [buf_id]: in order */
	bool		ghosts_too;
	int			nghosts;		/* of the slice */
	tp_memory	ghosts[SLICE];
} Save;

/* Is the pool's algorithm the one that is being saved?  Notes if it is not. */
static bool
goes_on(Save *save)
{
	if (save->pool->version == save->version &&
		save->pool->core.policy == save->policy)
		return true;
	save->broken_off = true;
	return false;
}

static void
lock(const Save *save)
{
	if (!(save->pool->flags & TP_CHOICE_LOCK_FREE))
		BufferPoolLock(save->pool);
}

static void
unlock(const Save *save)
{
	if (!(save->pool->flags & TP_CHOICE_LOCK_FREE))
		BufferPoolUnlock(save->pool);
}

static void
append(Save *save, int buf_id)
{
	if (save->included[buf_id])
		return;
	save->included[buf_id] = true;
	save->order[save->ordered++] = buf_id;
}

/* A page's place on its list, or a ghost. */
static void
note_entry(void *arg, const BufferPoolListEntry *entry)
{
	Save	   *save = arg;

	if (entry->buf_id >= 0)
		save->positions[entry->buf_id] = Max(entry->position, 0);
	else if (save->ghosts_too)
		save->ghosts[save->nghosts++] = tp_memory_of(&save->pool->core,
													 entry->ghost_slot);
}

/* Walk the lists from this stage on, up to that of the ghosts or with it. */
static void
walk_lists(Save *save, BufferPoolWalkStage first)
{
	bool		more = true;

	save->walk.stage = first;
	save->walk.list = 0;
	save->walk.visited = 0;
	save->ghosts_too = first == BUFFERPOOL_WALK_GHOSTS;
	while (more && (save->ghosts_too ||
					save->walk.stage < BUFFERPOOL_WALK_GHOSTS))
	{
		CHECK_FOR_INTERRUPTS();
		if (!goes_on(save))
			return;
		save->nghosts = 0;
		BufferPoolLock(save->pool);
		more = BufferPoolShowLists(save->pool, &save->walk, SLICE,
								   note_entry, save);
		BufferPoolUnlock(save->pool);
		for (int i = 0; i < save->nghosts; i++)
			WarmPut(&save->output, &save->ghosts[i], sizeof(save->ghosts[i]));
		save->head->ghosts += save->nghosts;
	}
}

static void
order_coldest(Save *save)
{
	bool		lock_free = (save->pool->flags & TP_CHOICE_LOCK_FREE) != 0;
	tp_cursor	cursor = {0};

	while (!cursor.over)
	{
		uint32		buf_id;

		CHECK_FOR_INTERRUPTS();
		if (!goes_on(save))
			return;
		cursor.pause = cursor.looks + (lock_free ? LOCK_FREE_SLICE : SLICE);
		lock(save);
		while ((buf_id = tp_coldest(&save->pool->core, &cursor)) != TP_NONE)
			append(save, buf_id);
		unlock(save);
	}
}

/* Those that the walk has missed were referenced meanwhile: the hottest. */
static void
order_others(Save *save)
{
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
		if (save->walk.shown[buf_id])
			append(save, buf_id);
}

/* As the clock would take them. */
static void
order_as_clock(Save *save)
{
	int			hand = StrategySyncStart(NULL, NULL);

	for (int usage = 0; usage <= BM_MAX_USAGE_COUNT; usage++)
		for (int i = 0; i < NBuffers; i++)
		{
			int			buf_id = (hand + i) % NBuffers;
			uint32		state = pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state);

			if ((state & BM_VALID) && BufferPoolOf(buf_id) == save->pool &&
				BUF_STATE_GET_USAGECOUNT(state) == usage)
				append(save, buf_id);
		}
}

typedef union PageEntry
{
	WarmPage	page;
	uint64		words[(sizeof(WarmPage) + sizeof(uint64) + TP_MAX_EXTRA) / 8];
} PageEntry;

/* The page in this buffer; returns false if it is not one to list. */
static bool
describe_page(Save *save, int buf_id, uint64 now, BufferTag *tag,
			  bool *permanent, PageEntry *entry)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);
	uint32		state = LockBufHdr(buf);
	tp_standing standing = {0};
	tp_page		known;
	int			words = sizeof(WarmPage) / 8;

	*tag = buf->tag;
	*permanent = (state & BM_PERMANENT) != 0;
	UnlockBufHdr(buf, state);
	if (!(state & BM_VALID) || BufferPoolOf(buf_id) != save->pool)
		return false;
	if (save->policy == NULL)
		standing.count = BUF_STATE_GET_USAGECOUNT(state);
	else if (BufferPoolKnowsPage(save->pool, buf_id, &known) &&
			 tp_page_equal(known, BufferTagPage(tag)))
		standing = tp_standing_of(&save->pool->core, buf_id, now);
	else
		return false;
	memset(entry, 0, sizeof(*entry));
	entry->page = (WarmPage)
	{
		.block = tag->blockNum, .position = save->positions[buf_id],
			.list = standing.list, .count = standing.count, .mark = standing.mark
	};
	if (save->policy != NULL && WarmHasWord(save->policy))
		entry->words[words++] = standing.word;
	if (save->policy != NULL)
		memcpy(&entry->words[words], standing.extra,
			   TYPEALIGN(8, save->policy->extra_size));
	return true;
}

static void
put_pages(Save *save)
{
	PageEntry	entries[SLICE];
	BufferTag	tags[SLICE];
	bool		permanent[SLICE];

	for (int at = save->ordered; at > 0;)
	{
		uint64		now = BufferPoolTime(save->pool);
		int			n = 0;

		CHECK_FOR_INTERRUPTS();
		if (!goes_on(save))
			return;
		if (save->policy != NULL)
			lock(save);
		for (int i = 0; i < SLICE && at > 0; i++)
			if (describe_page(save, save->order[--at], now, &tags[n],
							  &permanent[n], &entries[n]))
				n++;
		if (save->policy != NULL)
			unlock(save);
		for (int i = 0; i < n; i++)
		{
			entries[i].page.relation = number_of(save->relations, &tags[i],
												 permanent[i]);
			WarmPut(&save->output, &entries[i], save->head->page_size);
		}
		save->head->pages += n;
	}
}

static void
save_pool(Save *save, BufferPool *pool)
{
	BufferPoolDefinition definition;
	WarmPool   *head = &save->heads[save->pools++];

	BufferPoolReadDefinition(pool, &definition);
	save->pool = pool;
	save->head = head;
	save->policy = pool->core.policy;
	save->version = pool->version;
	memset(&save->walk, 0, offsetof(BufferPoolListWalk, anchors));
	save->walk.shown = palloc_extended(NBuffers * sizeof(bool),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	memset(save->included, 0, NBuffers * sizeof(bool));
	save->ordered = 0;

	strlcpy(head->name, definition.name, NAMEDATALEN);
	strlcpy(head->algorithm, definition.running, NAMEDATALEN);
	strlcpy(head->parameters, definition.parameters, sizeof(head->parameters));
	memcpy(head->params, definition.params, sizeof(head->params));
	head->buffers = BufferPoolSize(pool);
	head->page_size = WarmPageSize(save->policy);
	head->pages_at = WarmPlaceOf(&save->output);
	if (save->policy == NULL)
		order_as_clock(save);
	else
	{
		lock(save);
		memcpy(head->state, tp_save_state(&pool->core), sizeof(head->state));
		unlock(save);
		order_coldest(save);
		walk_lists(save, BUFFERPOOL_WALK_LISTS);
		order_others(save);
	}
	put_pages(save);
	if (save->policy != NULL)
		walk_lists(save, BUFFERPOOL_WALK_GHOSTS);
	save->pages += head->pages;
	pfree(save->walk.shown);
}

/* ---- the file ---- */

static void
put_heads(Save *save, uint64 relations_at)
{
	WarmHeader	header = {
		.version = WARM_VERSION,
		.standing_version = TP_STANDING_VERSION,
		.system = GetSystemIdentifier(),
		.saved_at = save->saved_at,
		.block_size = BLCKSZ,
		.pools = save->pools,
		.relations_at = relations_at,
		.relations = hash_get_num_entries(save->relations),
		.body_crc = save->output.crc,
		.size = save->output.at
	};

	memcpy(header.magic, WARM_MAGIC, sizeof(header.magic));
	INIT_CRC32C(header.crc);
	COMP_CRC32C(header.crc, &header, offsetof(WarmHeader, crc));
	COMP_CRC32C(header.crc, save->heads, sizeof(WarmPool) * save->pools);
	FIN_CRC32C(header.crc);
	WarmWriteAt(&save->output, &header, sizeof(header), 0);
	WarmWriteAt(&save->output, save->heads, sizeof(WarmPool) * save->pools,
				sizeof(header));
}

static int
existing_pools(void)
{
	int			count = 0;

	for (int i = 0; i < BufferPoolsReserved(); i++)
		count += BufferPoolSize(&BufferPools[i]) > 0;
	return count;
}

static void
write_list(Save *save)
{
	int			most = existing_pools();
	uint64		relations_at;

	save->relations = make_relations();
	save->heads = palloc0_array(WarmPool, most);
	save->positions = palloc_extended(NBuffers * sizeof(uint32),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	save->order = palloc_extended(NBuffers * sizeof(int), MCXT_ALLOC_HUGE);
	save->included = palloc_extended(NBuffers * sizeof(bool), MCXT_ALLOC_HUGE);
	save->output.at = sizeof(WarmHeader) + sizeof(WarmPool) * most;
	INIT_CRC32C(save->output.crc);
	for (int i = 0; i < BufferPoolsReserved() && save->pools < most &&
		 !save->broken_off; i++)
		if (BufferPoolSize(&BufferPools[i]) > 0)
			save_pool(save, &BufferPools[i]);
	for (; save->pools < most; save->pools++)	/* dropped meanwhile */
		save->heads[save->pools] = (WarmPool)
	{
		.page_size = sizeof(WarmPage), .pages_at = WarmPlaceOf(&save->output)
	};
	relations_at = WarmPlaceOf(&save->output);
	put_relations(&save->output, save->relations);
	WarmFlush(&save->output);
	FIN_CRC32C(save->output.crc);
	save->saved_at = GetCurrentTimestamp();
	put_heads(save, relations_at);
}

/*
 * Is the list good enough to take the old one's place?  The old one was read
 * back, or as much of it as there was room for.  If that was ended before its
 * end, this server must have come far by itself.
 */
static bool
is_good(uint64 pages)
{
	bool		good;

	SpinLockAcquire(&BufferPoolWarm->mutex);
	good = BufferPoolWarm->loaded &&
		(!BufferPoolWarm->interrupted ||
		 pages >= ENOUGH * BufferPoolWarm->old_pages ||
		 TimestampDifferenceExceeds(BufferPoolWarm->began,
									GetCurrentTimestamp(),
									LONG_ENOUGH_MILLISECONDS));
	SpinLockRelease(&BufferPoolWarm->mutex);
	return good;
}

/*
 * Write the list, and put it in its place.  Returns as below; *again: a pool has
 * got another algorithm, and nothing has been kept.
 */
static int64
save_list(bool force, bool *again)
{
	Save	   *save = palloc0_object(Save);
	TimestampTz began = GetCurrentTimestamp();

	if (!WarmBeginFile(&save->output))
	{
		WarmCount(WARM_FAILED_SAVES, 1);
		return -1;
	}
	write_list(save);
	*again = save->broken_off && save->output.error == 0;
	if (*again || (save->output.error == 0 && !force && !is_good(save->pages)))
	{
		WarmDropFile(&save->output);
		return -1;
	}
	if (!WarmKeepFile(&save->output))
	{
		WarmCount(WARM_FAILED_SAVES, 1);
		return -1;
	}
	WarmCount(WARM_SAVES, 1);
	SpinLockAcquire(&BufferPoolWarm->mutex);
	BufferPoolWarm->list_of = save->saved_at;
	BufferPoolWarm->save_seconds = (GetCurrentTimestamp() - began) / 1e6;
	SpinLockRelease(&BufferPoolWarm->mutex);
	return save->pages;
}

static int64
save_in_context(bool force, bool *again)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "warm list",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int64		pages;

	*again = false;
	pages = save_list(force, again);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return pages;
}

/*
 * Save the list.  Returns the number of pages on it; -1 if the old list was
 * kept, because this one is not good enough (unless force), because pools get
 * other algorithms all the time, or because it could not be written, which is a
 * warning.  Fails if another process writes the list.
 */
int64
BufferPoolSaveWarmList(bool force)
{
	int64		pages = -1;
	bool		again = true;

	WarmClaimFile();
	PG_ENSURE_ERROR_CLEANUP(WarmReleaseFile, (Datum) 0);
	{
		for (int i = 0; i < ATTEMPTS && again; i++)
			pages = save_in_context(force, &again);
	}
	PG_END_ENSURE_ERROR_CLEANUP(WarmReleaseFile, (Datum) 0);
	WarmReleaseFile(0, (Datum) 0);
	return pages;
}
