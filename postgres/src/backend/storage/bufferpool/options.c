/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Storage parameters that assign relations to pools: buffer_pool, and
 *	  overflow_buffer_pool for the TOAST table of a relation.
 *
 * They are stored in pg_class.reloptions like any other, but are in no table of
 * options: access methods, also those of extensions, have no struct with a
 * place for them, and a stock server's structs stay as they are.
 * parseRelOptionsInternal passes over them, and the functions here look for
 * them in the text.
 *
 * A name is a name: that there is no such pool is worth a warning, since a dump
 * must be restored before the pools are created.
 *
 * src/backend/storage/bufferpool/options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "storage/bufferpool_internals.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#define BUFFER_POOL_OPTION "buffer_pool"
#define OVERFLOW_OPTION "overflow_buffer_pool"

/* The value if the text, of this length, is name=value; otherwise NULL. */
static const char *
value_of(const char *text, size_t length, const char *name)
{
	size_t		name_length = strlen(name);

	return length > name_length && text[name_length] == '=' &&
		strncmp(text, name, name_length) == 0 ? text + name_length + 1 : NULL;
}

/* Is "name=value" one of these options? */
bool
IsBufferPoolOption(const char *text, size_t length)
{
	return value_of(text, length, BUFFER_POOL_OPTION) != NULL ||
		value_of(text, length, OVERFLOW_OPTION) != NULL;
}

/* Is this the name of one of these options? */
bool
IsBufferPoolOptionName(const char *name)
{
	return strcmp(name, BUFFER_POOL_OPTION) == 0 ||
		strcmp(name, OVERFLOW_OPTION) == 0;
}

/* The value of an option in pg_class.reloptions, allocated; NULL if absent. */
static char *
get_option(Datum reloptions, const char *name)
{
	Datum	   *elements;
	int			count;

	if (DatumGetPointer(reloptions) == NULL)
		return NULL;
	deconstruct_array_builtin(DatumGetArrayTypeP(reloptions), TEXTOID,
							  &elements, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		const char *text = VARDATA_ANY(DatumGetPointer(elements[i]));
		size_t		length = VARSIZE_ANY_EXHDR(DatumGetPointer(elements[i]));
		const char *value = value_of(text, length, name);

		if (value != NULL)
			return pnstrdup(value, text + length - value);
	}
	return NULL;
}

/* The pool named by the relation's options, allocated; or NULL. */
char *
GetBufferPoolOption(Datum reloptions)
{
	return get_option(reloptions, BUFFER_POOL_OPTION);
}

/* Do these options name this pool, for the relation or for its TOAST table? */
bool
OptionsNameBufferPool(Datum reloptions, const char *pool)
{
	char	   *own = get_option(reloptions, BUFFER_POOL_OPTION);
	char	   *overflow = get_option(reloptions, OVERFLOW_OPTION);

	return (own != NULL && strcmp(own, pool) == 0) ||
		(overflow != NULL && strcmp(overflow, pool) == 0);
}

static int
count_options(Datum reloptions, const char *name)
{
	Datum	   *elements;
	int			count;
	int			found = 0;

	if (DatumGetPointer(reloptions) == NULL)
		return 0;
	deconstruct_array_builtin(DatumGetArrayTypeP(reloptions), TEXTOID,
							  &elements, NULL, &count);
	for (int i = 0; i < count; i++)
		found += value_of(VARDATA_ANY(DatumGetPointer(elements[i])),
						  VARSIZE_ANY_EXHDR(DatumGetPointer(elements[i])),
						  name) != NULL;
	return found;
}

static void
check_option(Datum reloptions, const char *option)
{
	char	   *name = get_option(reloptions, option);

	if (name == NULL)
		return;
	if (count_options(reloptions, option) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameter \"%s\" specified more than once", option)));
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", option, name),
				 errdetail("The name of a buffer pool has 1 to %d bytes.",
						   NAMEDATALEN - 1)));
}

static void
reject_option(Datum reloptions, const char *option)
{
	if (count_options(reloptions, option) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parameter \"%s\"", option)));
}

/*
 * Check these options of a relation.  overflow: it may have the one for its
 * TOAST table.
 */
void
CheckBufferPoolOptions(Datum reloptions, bool overflow)
{
	check_option(reloptions, BUFFER_POOL_OPTION);
	if (overflow)
		check_option(reloptions, OVERFLOW_OPTION);
	else
		reject_option(reloptions, OVERFLOW_OPTION);
}

static bool
is_pool_option(const DefElem * option)
{
	return option->arg != NULL && IsBufferPoolOptionName(option->defname);
}

/* Does one of the options before this one name the same pool? */
static bool
is_named_before(List * options, const DefElem * option, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *other = lfirst_node(DefElem, cell);

		if (other == option)
			break;
		if (is_pool_option(other) && strcmp(defGetString(other), name) == 0)
			return true;
	}
	return false;
}

/*
 * Warn of pools that do not exist and that a statement assigns a relation, or
 * its TOAST table, to.  Options that are stored already are not warned of again.
 */
void
WarnOfMissingBufferPools(List * options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		char	   *name;

		if (!is_pool_option(option))
			continue;
		name = defGetString(option);
		if (FindBufferPool(name) == NULL &&
			!is_named_before(options, option, name))
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("buffer pool \"%s\" does not exist", name),
					 errdetail("Until it is created, the relation's pages go to the pool %s.",
							   BUFFERPOOL_DEFAULT_NAME)));
	}
}

/* Check the options of something that has no pages. */
void
RejectBufferPoolOptions(Datum reloptions)
{
	reject_option(reloptions, BUFFER_POOL_OPTION);
	reject_option(reloptions, OVERFLOW_OPTION);
}

/* Does reloptions have these options? */
bool
HasBufferPoolOptions(Datum reloptions)
{
	return count_options(reloptions, BUFFER_POOL_OPTION) > 0 ||
		count_options(reloptions, OVERFLOW_OPTION) > 0;
}

/* Does it have others? */
bool
HasOtherOptions(Datum reloptions)
{
	if (DatumGetPointer(reloptions) == NULL)
		return false;
	return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(reloptions)),
						  ARR_DIMS(DatumGetArrayTypeP(reloptions))) >
		count_options(reloptions, BUFFER_POOL_OPTION) +
		count_options(reloptions, OVERFLOW_OPTION);
}

/* ---- options that follow from others ---- */

/* The options without this one, and, unless value is NULL, with it anew. */
static Datum
replace_option(Datum reloptions, const char *name, const char *value)
{
	ArrayBuildState *result = NULL;
	Datum	   *elements = NULL;
	int			count = 0;

	if (DatumGetPointer(reloptions) != NULL)
		deconstruct_array_builtin(DatumGetArrayTypeP(reloptions), TEXTOID,
								  &elements, NULL, &count);
	for (int i = 0; i < count; i++)
		if (value_of(VARDATA_ANY(DatumGetPointer(elements[i])),
					 VARSIZE_ANY_EXHDR(DatumGetPointer(elements[i])),
					 name) == NULL)
			result = accumArrayResult(result, elements[i], false, TEXTOID,
									  CurrentMemoryContext);
	if (value != NULL)
		result = accumArrayResult(result,
								  CStringGetTextDatum(psprintf("%s=%s", name,
															   value)),
								  false, TEXTOID, CurrentMemoryContext);
	return result == NULL ? (Datum) 0 :
		makeArrayResult(result, CurrentMemoryContext);
}

/* The options without these. */
Datum
WithoutBufferPoolOptions(Datum reloptions)
{
	return replace_option(replace_option(reloptions, BUFFER_POOL_OPTION, NULL),
						  OVERFLOW_OPTION, NULL);
}

/*
 * The options of a TOAST table that is made for a relation with these options:
 * unless it has a pool of its own, it is in the relation's overflow pool.
 */
Datum
ToastOptionsWithPool(Datum toast_options, Datum relation_options)
{
	char	   *pool = get_option(relation_options, OVERFLOW_OPTION);

	if (pool == NULL || GetBufferPoolOption(toast_options) != NULL)
		return toast_options;
	return replace_option(toast_options, BUFFER_POOL_OPTION, pool);
}

/*
 * The options of a TOAST table whose relation gets, or, if reset, loses, these:
 * it follows the overflow pool, unless its own is among them.
 */
Datum
ToastOptionsAfterAlter(Datum toast_options, List * changes, bool reset)
{
	DefElem    *overflow = NULL;
	ListCell   *cell;

	foreach(cell, changes)
	{
		DefElem    *change = lfirst_node(DefElem, cell);

		if (change->defnamespace != NULL &&
			strcmp(change->defname, BUFFER_POOL_OPTION) == 0)
			return toast_options;
		if (change->defnamespace == NULL &&
			strcmp(change->defname, OVERFLOW_OPTION) == 0)
			overflow = change;
	}
	if (overflow == NULL)
		return toast_options;
	return replace_option(toast_options, BUFFER_POOL_OPTION,
						  reset ? NULL : defGetString(overflow));
}

/* A partition's options when it is made: it follows its parent. */
Datum
PartitionOptionsWithPool(Datum reloptions, Oid parent)
{
	static const char *const names[] = {BUFFER_POOL_OPTION, OVERFLOW_OPTION};
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(parent));
	Datum		parents;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", parent);
	parents = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	for (int i = 0; i < lengthof(names) && !isnull; i++)
	{
		char	   *pool = get_option(parents, names[i]);

		if (pool != NULL && get_option(reloptions, names[i]) == NULL)
			reloptions = replace_option(reloptions, names[i], pool);
	}
	ReleaseSysCache(tuple);
	return reloptions;
}
