/*-------------------------------------------------------------------------
 *
 * pages.c
 *	  The pages in the buffers of pools; to move them; and the options that
 *	  assign relations to pools.
 *
 * contrib/pg_bufferpool/pages.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "walk.h"

PG_FUNCTION_INFO_V1(pg_bufferpool_get_buffers);
PG_FUNCTION_INFO_V1(pg_bufferpool_get_relations);
PG_FUNCTION_INFO_V1(pg_bufferpool_move);
PG_FUNCTION_INFO_V1(pg_bufferpool_reset_options);

/* ---- looking at a buffer ---- */

typedef struct BufferLook
{
	uint32		state;
	BufferTag	tag;			/* if the state has BM_TAG_VALID */
	int			pool;
} BufferLook;

/*
 * Look at a buffer without locking its header, so that a walk over all buffers
 * writes to none of them.  Tag and state are of the same moment, unless the page
 * left and came back meanwhile.
 */
static void
look_at_buffer(int buf_id, BufferLook *look)
{
	BufferDesc *buf = GetBufferDescriptor(buf_id);

	for (;;)
	{
		look->state = pg_atomic_read_u32(&buf->state);
		pg_read_barrier();
		look->tag = buf->tag;
		look->pool = BufferPoolNumber(BufferPoolOf(buf_id));
		pg_read_barrier();
		if (!(look->state & BM_LOCKED) &&
			((pg_atomic_read_u32(&buf->state) ^ look->state) &
			 (BM_TAG_VALID | BM_VALID)) == 0)
			return;
		CHECK_FOR_INTERRUPTS();
	}
}

static const char *
pool_name(int number, BufferPoolDefinition *definitions)
{
	return definitions[number].name;
}

/* Names of all pools, so that each buffer's need no lock. */
static BufferPoolDefinition *
all_definitions(void)
{
	BufferPoolDefinition *definitions =
		palloc0_array(BufferPoolDefinition, BufferPoolsReserved());

	for (int i = 0; i < BufferPoolsReserved(); i++)
		BufferPoolReadDefinition(&BufferPools[i], &definitions[i]);
	return definitions;
}

/* ---- buffers ---- */

/* Where a page stands in its algorithm's lists; no name: in none. */
typedef struct Place
{
	const char *list;
	int			position;
} Place;

typedef struct PlaceSlice
{
	Place	   *places;			/* [NBuffers] */
	int			n;
	BufferPoolListEntry entries[SLICE];
} PlaceSlice;

/* Called under the pool's lock, so it neither allocates nor fails. */
static void
take_entry(void *arg, const BufferPoolListEntry *entry)
{
	PlaceSlice *slice = arg;

	slice->entries[slice->n++] = *entry;
}

static void
note_places(void *arg)
{
	PlaceSlice *slice = arg;

	for (int i = 0; i < slice->n; i++)
		if (slice->entries[i].buf_id >= 0)
			slice->places[slice->entries[i].buf_id] = (Place)
			{
				slice->entries[i].list, slice->entries[i].position
			};
	slice->n = 0;
}

static Place *
all_places(void)
{
	PlaceSlice *slice = palloc0_object(PlaceSlice);

	slice->places = palloc_extended(NBuffers * sizeof(Place),
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int i = 0; i < BufferPoolsReserved(); i++)
		if (BufferPoolHasAlgorithm(&BufferPools[i]))
			WalkBufferPoolLists(&BufferPools[i], take_entry, note_places, slice);
	return slice->places;
}

Datum
pg_bufferpool_get_buffers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolDefinition *definitions = all_definitions();
	Place	   *places = all_places();

	InitMaterializedSRF(fcinfo, 0);
	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
	{
		Datum		values[12] = {0};
		bool		nulls[12] = {0};
		const Place *place = &places[buf_id];
		BufferLook	look;

		look_at_buffer(buf_id, &look);
		values[0] = Int32GetDatum(buf_id + 1);
		if (look.state & BM_TAG_VALID)
		{
			values[1] = ObjectIdGetDatum(look.tag.relNumber);
			values[2] = ObjectIdGetDatum(look.tag.spcOid);
			values[3] = ObjectIdGetDatum(look.tag.dbOid);
			values[4] = Int16GetDatum(look.tag.forkNum);
			values[5] = Int64GetDatum(look.tag.blockNum);
			values[6] = BoolGetDatum((look.state & BM_DIRTY) != 0);
			values[7] = Int16GetDatum(BUF_STATE_GET_USAGECOUNT(look.state));
			values[8] = Int32GetDatum(BUF_STATE_GET_REFCOUNT(look.state));
		}
		else
			memset(&nulls[1], true, 8);
		values[9] = CStringGetTextDatum(pool_name(look.pool, definitions));
		nulls[10] = place->list == NULL || nulls[1];
		if (!nulls[10])
			values[10] = CStringGetTextDatum(place->list);
		nulls[11] = nulls[10] || place->position < 0;
		values[11] = Int32GetDatum(place->position);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- relations ---- */

typedef struct RelationKey
{
	RelFileLocator locator;
	int			pool;
} RelationKey;

typedef struct RelationPages
{
	RelationKey key;
	int64		resident;
	int64		dirty;
	int64		pinned;
	int64		usage;			/* sum of usage counts */
} RelationPages;

static void
count_page(HTAB * relations, const BufferLook *look)
{
	RelationKey key;
	RelationPages *pages;
	bool		found;

	memset(&key, 0, sizeof(key));
	key.locator = BufTagGetRelFileLocator(&look->tag);
	key.pool = look->pool;
	pages = hash_search(relations, &key, HASH_ENTER, &found);
	if (!found)
		memset((char *) pages + sizeof(RelationKey), 0,
			   sizeof(RelationPages) - sizeof(RelationKey));
	pages->resident++;
	pages->dirty += (look->state & BM_DIRTY) != 0;
	pages->pinned += BUF_STATE_GET_REFCOUNT(look->state) > 0;
	pages->usage += BUF_STATE_GET_USAGECOUNT(look->state);
}

static HTAB *
count_pages(void)
{
	HASHCTL		control = {.keysize = sizeof(RelationKey),
	.entrysize = sizeof(RelationPages), .hcxt = CurrentMemoryContext};
	HTAB	   *relations = hash_create("pages of relations", 256, &control,
										HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (int buf_id = 0; buf_id < NBuffers; buf_id++)
	{
		BufferLook	look;

		if (buf_id % SLICE == 0)
			CHECK_FOR_INTERRUPTS();
		look_at_buffer(buf_id, &look);
		if (look.state & BM_TAG_VALID)
			count_page(relations, &look);
	}
	return relations;
}

Datum
pg_bufferpool_get_relations(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	BufferPoolDefinition *definitions = all_definitions();
	HASH_SEQ_STATUS status;
	RelationPages *pages;

	InitMaterializedSRF(fcinfo, 0);
	hash_seq_init(&status, count_pages());
	while ((pages = hash_seq_search(&status)) != NULL)
	{
		Datum		values[8];
		bool		nulls[8] = {0};

		values[0] = CStringGetTextDatum(pool_name(pages->key.pool, definitions));
		values[1] = ObjectIdGetDatum(pages->key.locator.dbOid);
		values[2] = ObjectIdGetDatum(pages->key.locator.spcOid);
		values[3] = ObjectIdGetDatum(pages->key.locator.relNumber);
		values[4] = Int64GetDatum(pages->resident);
		values[5] = Int64GetDatum(pages->dirty);
		values[6] = Int64GetDatum(pages->pinned);
		values[7] = Float8GetDatum((double) pages->usage / pages->resident);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* ---- moving ---- */

/* Move what is resident of this relation.  Returns the number of pages. */
static int64
move_pages(Relation rel, BufferPool *pool)
{
	int64		moved = 0;
	bool		full = false;

	for (int buf_id = 0; buf_id < NBuffers && !full; buf_id++)
	{
		BufferLook	look;

		if (buf_id % SLICE == 0)
			CHECK_FOR_INTERRUPTS();
		look_at_buffer(buf_id, &look);
		if ((look.state & BM_VALID) && &BufferPools[look.pool] != pool &&
			BufTagMatchesRelFileLocator(&look.tag, &rel->rd_locator))
			moved += MovePageToPool(buf_id, pool, &full);
	}
	return moved;
}

Datum
pg_bufferpool_move(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel = relation_open(relid, AccessShareLock);
	BufferPool *pool;
	int64		moved;

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind) ||
		RelationUsesLocalBuffers(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" has no pages in shared buffers",
						RelationGetRelationName(rel)),
				 errdetail("It is a temporary relation, or one without storage.")));
	pool = BufferPoolForRelation(rel, NULL);
	moved = move_pages(rel, pool);
	relation_close(rel, AccessShareLock);
	PG_RETURN_INT64(moved);
}

/* ---- options ---- */

/* Remove the options from this relation.  Returns whether it had any. */
static bool
reset_options_of(Relation pg_class, Oid relid)
{
	HeapTuple	tuple;
	HeapTuple	changed;
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {0};
	bool		replaced[Natts_pg_class] = {0};
	int			column = Anum_pg_class_reloptions - 1;
	Datum		options;
	bool		isnull;

	LockRelationOid(relid, ShareUpdateExclusiveLock);
	tuple = SearchSysCacheLocked1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))	/* dropped meanwhile */
		return false;
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
	{
		values[column] = WithoutBufferPoolOptions(options);
		nulls[column] = DatumGetPointer(values[column]) == NULL;
		replaced[column] = true;
		changed = heap_modify_tuple(tuple, RelationGetDescr(pg_class), values,
									nulls, replaced);
		CatalogTupleUpdate(pg_class, &changed->t_self, changed);
		heap_freetuple(changed);
	}
	UnlockTuple(pg_class, &tuple->t_self, InplaceUpdateTupleLock);
	ReleaseSysCache(tuple);
	return !isnull;
}

/* The relations of this database that have such options. */
static List *
relations_with_options(Relation pg_class)
{
	SysScanDesc scan = systable_beginscan(pg_class, InvalidOid, false, NULL, 0,
										  NULL);
	List	   *relations = NIL;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		options = heap_getattr(tuple, Anum_pg_class_reloptions,
										   RelationGetDescr(pg_class), &isnull);

		if (!isnull && HasBufferPoolOptions(options))
			relations = lappend_oid(relations,
									((Form_pg_class) GETSTRUCT(tuple))->oid);
	}
	systable_endscan(scan);
	return relations;
}

Datum
pg_bufferpool_reset_options(PG_FUNCTION_ARGS)
{
	Relation	pg_class = table_open(RelationRelationId, RowExclusiveLock);
	int64		changed = 0;
	ListCell   *cell;

	foreach(cell, relations_with_options(pg_class))
		changed += reset_options_of(pg_class, lfirst_oid(cell));
	table_close(pg_class, RowExclusiveLock);
	PG_RETURN_INT64(changed);
}
