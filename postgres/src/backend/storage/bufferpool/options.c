/*-------------------------------------------------------------------------
 *
 * options.c
 *	  Storage parameters that assign relations to pools: buffer_pool, and
 *	  overflow_buffer_pool for the TOAST table of a relation; and ssd_tier, which
 *	  says whether its pages come to the SSD.
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

static const char *const option_names[] = {
	BUFFER_POOL_OPTION, OVERFLOW_OPTION, SSD_TIER_OPTION
};

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
	for (int i = 0; i < lengthof(option_names); i++)
		if (value_of(text, length, option_names[i]) != NULL)
			return true;
	return false;
}

/* Is this the name of one of these options? */
bool
IsBufferPoolOptionName(const char *name)
{
	for (int i = 0; i < lengthof(option_names); i++)
		if (strcmp(name, option_names[i]) == 0)
			return true;
	return false;
}

/* Likewise, and its value is the name of a pool. */
static bool
names_pool(const char *name)
{
	return IsBufferPoolOptionName(name) && strcmp(name, SSD_TIER_OPTION) != 0;
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

/* What these options want of the SSD tier; what is not known is not set. */
SsdTierChoice
GetSsdTierOption(Datum reloptions)
{
	char	   *value = get_option(reloptions, SSD_TIER_OPTION);
	SsdTierChoice choice = value == NULL ? SSD_TIER_UNSET : SsdTierFindChoice(value);

	return Max(choice, SSD_TIER_UNSET);
}

/* The choice of this name, given for this option; raises an error if there is none. */
SsdTierChoice
CheckSsdTierChoice(const char *option, const char *name)
{
	SsdTierChoice choice = SsdTierFindChoice(name);

	if (choice == SSD_TIER_UNKNOWN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", option, name),
				 errdetail("Valid values are \"auto\", \"keep\", and \"none\".")));
	return choice;
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
check_once(Datum reloptions, const char *option)
{
	if (count_options(reloptions, option) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameter \"%s\" specified more than once", option)));
}

static void
check_option(Datum reloptions, const char *option)
{
	char	   *name = get_option(reloptions, option);

	if (name == NULL)
		return;
	check_once(reloptions, option);
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
	check_once(reloptions, SSD_TIER_OPTION);
	if (count_options(reloptions, SSD_TIER_OPTION) > 0)
		(void) CheckSsdTierChoice(SSD_TIER_OPTION,
								  get_option(reloptions, SSD_TIER_OPTION));
}

static bool
is_pool_option(const DefElem * option)
{
	return option->arg != NULL && names_pool(option->defname);
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
	for (int i = 0; i < lengthof(option_names); i++)
		reject_option(reloptions, option_names[i]);
}

static int
count_all_options(Datum reloptions)
{
	int			count = 0;

	for (int i = 0; i < lengthof(option_names); i++)
		count += count_options(reloptions, option_names[i]);
	return count;
}

/* Does reloptions have these options? */
bool
HasBufferPoolOptions(Datum reloptions)
{
	return count_all_options(reloptions) > 0;
}

/* Does it have others? */
bool
HasOtherOptions(Datum reloptions)
{
	if (DatumGetPointer(reloptions) == NULL)
		return false;
	return ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(reloptions)),
						  ARR_DIMS(DatumGetArrayTypeP(reloptions))) >
		count_all_options(reloptions);
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
	for (int i = 0; i < lengthof(option_names); i++)
		reloptions = replace_option(reloptions, option_names[i], NULL);
	return reloptions;
}

/* A parameter of a TOAST table, and the one of its table that it follows. */
static const struct
{
	const char *own;
	const char *tables;
}			followed[] = {
	{BUFFER_POOL_OPTION, OVERFLOW_OPTION},
	{SSD_TIER_OPTION, SSD_TIER_OPTION}
};

/*
 * The options of a TOAST table that is made for a relation with these options:
 * unless it has its own it is in the relation's overflow pool, and wants of the
 * SSD tier what the relation does.
 */
Datum
ToastOptionsWithPool(Datum toast_options, Datum relation_options)
{
	for (int i = 0; i < lengthof(followed); i++)
	{
		char	   *value = get_option(relation_options, followed[i].tables);

		if (value != NULL && get_option(toast_options, followed[i].own) == NULL)
			toast_options = replace_option(toast_options, followed[i].own, value);
	}
	return toast_options;
}

/* The last change of this option of a table, or of its TOAST table; or NULL. */
static DefElem *
find_change(List * changes, const char *name, bool toast)
{
	DefElem    *found = NULL;
	ListCell   *cell;

	foreach(cell, changes)
	{
		DefElem    *change = lfirst_node(DefElem, cell);

		if ((change->defnamespace != NULL) == toast &&
			strcmp(change->defname, name) == 0)
			found = change;
	}
	return found;
}

/*
 * The options of a TOAST table whose relation gets, or, if reset, loses, these:
 * it follows its relation, unless its own are among them.
 */
Datum
ToastOptionsAfterAlter(Datum toast_options, List * changes, bool reset)
{
	for (int i = 0; i < lengthof(followed); i++)
	{
		DefElem    *change = find_change(changes, followed[i].tables, false);

		if (change != NULL && find_change(changes, followed[i].own, true) == NULL)
			toast_options = replace_option(toast_options, followed[i].own,
										   reset ? NULL : defGetString(change));
	}
	return toast_options;
}

/* A partition's options when it is made: it follows its parent. */
Datum
PartitionOptionsWithPool(Datum reloptions, Oid parent)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(parent));
	Datum		parents;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", parent);
	parents = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	for (int i = 0; i < lengthof(option_names) && !isnull; i++)
	{
		char	   *value = get_option(parents, option_names[i]);

		if (value != NULL && get_option(reloptions, option_names[i]) == NULL)
			reloptions = replace_option(reloptions, option_names[i], value);
	}
	ReleaseSysCache(tuple);
	return reloptions;
}
