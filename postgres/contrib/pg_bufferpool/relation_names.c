/*-------------------------------------------------------------------------
 *
 * relation_names.c
 *	  The names of relations, for a recording, which has only their files.
 *
 * contrib/pg_bufferpool/relation_names.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace_d.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "recorder.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relmapper.h"
#include "utils/ruleutils.h"

/*
 * Get the relation's file as recordings name it: tablespace, database, file.
 * Returns false if it has none in shared buffers.
 */
static bool
relation_place(Form_pg_class relation, RelFileLocator *place)
{
	if (!RELKIND_HAS_STORAGE(relation->relkind) ||
		relation->relpersistence == RELPERSISTENCE_TEMP)
		return false;
	place->spcOid = OidIsValid(relation->reltablespace) ?
		relation->reltablespace : MyDatabaseTableSpace;
	place->dbOid = relation->relisshared ? InvalidOid : MyDatabaseId;
	place->relNumber = relation->relfilenode;
	if (!RelFileNumberIsValid(place->relNumber))
		place->relNumber = RelationMapOidToFilenumber(relation->oid,
													  relation->relisshared);
	return RelFileNumberIsValid(place->relNumber);
}

/* The name in UTF-8, with the schema unless that is pg_catalog. */
static const char *
relation_name(Form_pg_class relation)
{
	const char *schema = relation->relnamespace == PG_CATALOG_NAMESPACE ?
		NULL : get_namespace_name(relation->relnamespace);
	char	   *name = quote_qualified_identifier(schema,
												  NameStr(relation->relname));

	/* the encoding of SQL_ASCII text is unknown */
	return GetDatabaseEncoding() == PG_SQL_ASCII ? name :
		pg_server_to_any(name, strlen(name), PG_UTF8);
}

/*
 * A JSON object with the names of the relations in this database, and of the
 * shared ones, by their files.
 *
 * The catalog is read without SQL, because SQL would look up functions,
 * operators and types in the search path of the user who stops the recording,
 * where they might be someone else's.  The path is restricted nevertheless,
 * because conversions of encodings use it.
 */
char *
RelationNames(void)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	MemoryContext row = AllocSetContextCreate(CurrentMemoryContext,
											  "name of a relation",
											  ALLOCSET_SMALL_SIZES);
	int			nest_level = NewGUCNestLevel();
	const char *separator = "";
	StringInfoData names;
	HeapTuple	tuple;

	RestrictSearchPath();
	(void) set_config_option("quote_all_identifiers", "off", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	initStringInfo(&names);
	appendStringInfoChar(&names, '{');
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class relation = (Form_pg_class) GETSTRUCT(tuple);
		RelFileLocator place;
		MemoryContext outside = MemoryContextSwitchTo(row);

		CHECK_FOR_INTERRUPTS();
		if (relation_place(relation, &place))
		{
			appendStringInfo(&names, "%s\"%u/%u/%u\":", separator, place.spcOid,
							 place.dbOid, place.relNumber);
			escape_json(&names, relation_name(relation));
			separator = ",";
		}
		MemoryContextSwitchTo(outside);
		MemoryContextReset(row);
	}
	appendStringInfoChar(&names, '}');
	AtEOXact_GUC(true, nest_level);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return names.data;
}
