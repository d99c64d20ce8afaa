/*-------------------------------------------------------------------------
 *
 * dependents.c
 *	  The relations of all databases that name a buffer pool.
 *
 * Pools belong to the instance, relations to databases, of which a session can
 * see only one through its catalogs.  So each database's pg_class is read from
 * its buffers, as CREATE DATABASE reads its template's.  A lock on the database
 * keeps it from being dropped meanwhile, and one on its pg_class keeps that from
 * being rewritten.
 *
 * src/backend/storage/bufferpool/dependents.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "common/relpath.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/relmapper.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* More names would not help anyone. */
#define MOST_NAMES 10

typedef struct Search
{
	const char *pool;
	TupleDesc	descriptor;		/* of pg_class */
	Snapshot	snapshot;
	StringInfoData names;		/* of relations that name the pool */
	int			found;
} Search;

/* ---- one database ---- */

typedef struct Database
{
	Oid			oid;
	Oid			tablespace;
	char		name[NAMEDATALEN];
} Database;

static void
look_at_relation(Search *search, const Database *database, HeapTuple tuple)
{
	Form_pg_class relation = (Form_pg_class) GETSTRUCT(tuple);
	bool		isnull;
	Datum		options = heap_getattr(tuple, Anum_pg_class_reloptions,
									   search->descriptor, &isnull);

	if (isnull || !OptionsNameBufferPool(options, search->pool))
		return;
	if (search->found++ < MOST_NAMES)
		appendStringInfo(&search->names, "%s\"%s\" in database \"%s\"",
						 search->found > 1 ? ", " : "",
						 NameStr(relation->relname), database->name);
}

static void
look_at_page(Search *search, const Database *database, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	OffsetNumber last;

	if (PageIsNew(page) || PageIsEmpty(page))
		return;
	last = PageGetMaxOffsetNumber(page);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i = OffsetNumberNext(i))
	{
		ItemId		item = PageGetItemId(page, i);
		HeapTupleData tuple;

		if (!ItemIdIsNormal(item))
			continue;
		ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), i);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationRelationId;
		if (HeapTupleSatisfiesVisibility(&tuple, search->snapshot, buffer))
			look_at_relation(search, database, &tuple);
	}
}

static void
look_at_pg_class(Search *search, const Database *database)
{
	char	   *path = GetDatabasePath(database->oid, database->tablespace);
	RelFileLocator locator = {database->tablespace, database->oid};
	SMgrRelation smgr;
	BlockNumber blocks;

	locator.relNumber = RelationMapOidToFilenumberForDatabase(path,
															  RelationRelationId);
	smgr = smgropen(locator, INVALID_PROC_NUMBER);
	blocks = smgrnblocks(smgr, MAIN_FORKNUM);
	smgrclose(smgr);
	for (BlockNumber block = 0; block < blocks; block++)
	{
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferWithoutRelcache(locator, MAIN_FORKNUM, block,
										   RBM_NORMAL, NULL, true);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		look_at_page(search, database, buffer);
		UnlockReleaseBuffer(buffer);
	}
	pfree(path);
}

static void
look_at_database(Search *search, const Database *database)
{
	LOCKTAG		tag;

	LockSharedObject(DatabaseRelationId, database->oid, 0, AccessShareLock);
	if (SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(database->oid)))
	{
		SET_LOCKTAG_RELATION(tag, database->oid, RelationRelationId);
		(void) LockAcquire(&tag, AccessShareLock, false, false);
		look_at_pg_class(search, database);
		LockRelease(&tag, AccessShareLock, false);
	}
	UnlockSharedObject(DatabaseRelationId, database->oid, 0, AccessShareLock);
}

/* ---- all databases ---- */

static List *
all_databases(void)
{
	List	   *databases = NIL;
	Relation	rel = table_open(DatabaseRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_database row = (Form_pg_database) GETSTRUCT(tuple);
		Database   *database;

		if (database_is_invalid_form(row))
			continue;
		database = palloc0_object(Database);
		database->oid = row->oid;
		database->tablespace = row->dattablespace;
		strlcpy(database->name, NameStr(row->datname), NAMEDATALEN);
		databases = lappend(databases, database);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return databases;
}

/*
 * The relations that name this pool, as a list to show to users; NULL if there
 * are none.  Takes locks that others hold only for moments, except for VACUUM
 * FULL of a pg_class.
 */
char *
BufferPoolDependents(const char *name)
{
	Search		search = {.pool = name};
	Relation	pg_class = table_open(RelationRelationId, AccessShareLock);
	ListCell   *cell;

	initStringInfo(&search.names);
	search.descriptor = RelationGetDescr(pg_class);
	search.snapshot = RegisterSnapshot(GetLatestSnapshot());
	foreach(cell, all_databases())
		look_at_database(&search, lfirst(cell));
	UnregisterSnapshot(search.snapshot);
	table_close(pg_class, AccessShareLock);
	if (search.found > MOST_NAMES)
		appendStringInfo(&search.names, " and %d more",
						 search.found - MOST_NAMES);
	return search.found > 0 ? search.names.data : NULL;
}
