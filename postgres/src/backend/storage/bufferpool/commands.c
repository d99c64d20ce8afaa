/*-------------------------------------------------------------------------
 *
 * commands.c
 *	  CREATE, ALTER, DROP and COMMENT ON BUFFER POOL.
 *
 * One statement at a time changes pools, outside of transactions.  It checks
 * everything, then writes the file of definitions, then changes shared memory:
 * a crash leaves the old pools or the new ones.
 *
 * src/backend/storage/bufferpool/commands.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/bufferpool_internals.h"
#include "storage/lock.h"
#include "utils/builtins.h"

/* ---- one at a time ---- */

/* The keys of advisory locks have 1 or 2 here. */
#define DEFINITIONS_LOCK_CLASS 3

/*
 * Take the lock until the end of the transaction; unless wait, only if that is
 * possible at once.
 */
bool
BufferPoolLockDefinitions(bool wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, InvalidOid, 0, 0, DEFINITIONS_LOCK_CLASS);
	return LockAcquire(&tag, ExclusiveLock, false, !wait) !=
		LOCKACQUIRE_NOT_AVAIL;
}

/* ---- names ---- */

static void
check_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a buffer pool: \"%s\"", name)));
	if (pg_strcasecmp(name, BUFFERPOOL_DEFAULT_NAME) == 0 ||
		pg_strcasecmp(name, BUFFERPOOL_RECYCLE_NAME) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("buffer pool name \"%s\" is reserved", name)));
	if (FindBufferPool(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("buffer pool \"%s\" already exists", name)));
}

/* The pool of this name; NULL, with a notice, if it may be missing and is. */
static BufferPool *
find_pool(const BufferPoolStmt * stmt)
{
	BufferPool *pool = FindBufferPool(stmt->poolname);

	if (pool == NULL)
		ereport(stmt->missing_ok ? NOTICE : ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 stmt->missing_ok ?
				 errmsg("buffer pool \"%s\" does not exist, skipping",
						stmt->poolname) :
				 errmsg("buffer pool \"%s\" does not exist", stmt->poolname)));
	if (pool != NULL && pool == RecycleBufferPool)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("buffer pool %s cannot be changed",
						BUFFERPOOL_RECYCLE_NAME),
				 errhint("Set \"bufferpool.recycle_buffers\" and restart the server.")));
	return pool;
}

/* Likewise, but not DEFAULT. */
static BufferPool *
find_named(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_pool(stmt);

	if (pool == &DefaultBufferPool)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("buffer pool %s can only be given another handler or other options",
						BUFFERPOOL_DEFAULT_NAME),
				 errdetail("It has the buffers that no other pool has.")));
	return pool;
}

static BufferPool *
find_unused(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] == '\0')
			return &BufferPools[i];
	}
	if (BufferPoolMostNamed() == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no memory for buffer pools"),
				 errhint("Set \"bufferpool.max_pools\", or add a library with replacement algorithms to \"shared_preload_libraries\", and restart the server.")));
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("too many buffer pools"),
			 errdetail("There is memory for %d besides %s.", BufferPoolMostNamed(),
					   BUFFERPOOL_DEFAULT_NAME),
			 errhint("Raise \"bufferpool.max_pools\" and restart the server.")));
}

/* ---- sizes ---- */

/* "64MB" or a number of bytes, in whole buffers. */
static int
size_in_buffers(const BufferPoolStmt * stmt)
{
	int64		bytes = DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
														  CStringGetTextDatum(stmt->value)));

	if (bytes < 0 || bytes / BLCKSZ > INT_MAX / 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid size of buffer pool \"%s\": \"%s\"",
						stmt->poolname, stmt->value)));
	return (int) (bytes / BLCKSZ);
}

static void
check_no_remainder(const char *name)
{
	BufferPool *other = BufferPoolRemainder();
	BufferPoolDefinition definition;

	if (other == NULL)
		return;
	BufferPoolReadDefinition(other, &definition);
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("buffer pool \"%s\" cannot have the remainder of the shared buffers",
					name),
			 errdetail("Buffer pool \"%s\" has it.", definition.name),
			 errhint("Give that pool a size first.")));
}

/* ---- limits of self-tuning ---- */

static int
limit_in_buffers(const BufferPoolStmt * stmt, DefElem * option)
{
	int64		bytes = DatumGetInt64(DirectFunctionCall1(pg_size_bytes,
														  CStringGetTextDatum(defGetString(option))));

	if (bytes < 0 || bytes / BLCKSZ > INT_MAX / 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						option->defname, defGetString(option))));
	return (int) (bytes / BLCKSZ);
}

/*
 * Set the limits that the statement sets, or reset them.  Returns its other
 * options, which are the algorithm's.
 */
static List *
take_limits(const BufferPoolStmt * stmt, BufferPoolDefinition *definition)
{
	bool		reset = stmt->kind == BUFFER_POOL_RESET_OPTIONS;
	List	   *others = NIL;
	ListCell   *cell;

	foreach(cell, stmt->options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);
		bool		is_least = strcmp(option->defname, BUFFERPOOL_MIN_SIZE) == 0;

		if (option->defnamespace != NULL ||
			!(is_least || strcmp(option->defname, BUFFERPOOL_MAX_SIZE) == 0))
			others = lappend(others, option);
		else if (reset && option->arg != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("RESET must not include values for parameters")));
		else if (is_least)
			definition->least = reset ? 0 : limit_in_buffers(stmt, option);
		else
			definition->most = reset ? 0 : limit_in_buffers(stmt, option);
	}
	if (definition->most != 0 && definition->least > definition->most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" of buffer pool \"%s\" is larger than \"%s\"",
						BUFFERPOOL_MIN_SIZE, stmt->poolname,
						BUFFERPOOL_MAX_SIZE)));
	return others;
}

/* ---- the option that is not the algorithm's ---- */

static DefElem *
find_ssd_tier(List * options)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (option->defnamespace == NULL &&
			strcmp(option->defname, SSD_TIER_OPTION) == 0)
			return option;
	}
	return NULL;
}

/* Those of the statement's options without this one, which is in the definition then. */
static List *
take_ssd_tier(const BufferPoolStmt * stmt, List * options,
			  BufferPoolDefinition *definition)
{
	bool		reset = stmt->kind == BUFFER_POOL_RESET_OPTIONS;
	List	   *others = list_copy(options);
	DefElem    *option;

	while ((option = find_ssd_tier(others)) != NULL)
	{
		others = list_delete_ptr(others, option);
		if (find_ssd_tier(others) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("option \"%s\" specified more than once",
							SSD_TIER_OPTION)));
		if (reset && option->arg != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("RESET must not include values for parameters")));
		definition->ssd_tier = reset ? SSD_TIER_UNSET :
			CheckSsdTierChoice(SSD_TIER_OPTION, defGetString(option));
	}
	return others;
}

/* ---- statements ---- */

/*
 * Give all pools their sizes.  Self-tuning begins anew from there: an operator
 * who says how large pools are has said so of all.
 */
static void
reach_sizes(void)
{
	BufferPoolUndoTuning();
	BufferPoolReachTargets();
}

/* Make the pool known to all processes; it is empty. */
static void
begin_pool(BufferPool *pool, const BufferPoolDefinition *definition)
{
	HOLD_INTERRUPTS();
	LWLockAcquire(BufferPoolMembersLock(), LW_EXCLUSIVE);
	/* who follows the definition before it is ready waits, or finds no buffer */
	BufferPoolLock(pool);
	BufferPoolDefine(pool, definition);
	BufferPoolFollowDefinition(pool);
	BufferPoolBegin(pool);
	BufferPoolUnlock(pool);
	LWLockRelease(BufferPoolMembersLock());
	BufferPoolResetCounters(pool);
	BufferPoolAwaitFollowers();
	RESUME_INTERRUPTS();
}

static void
create_pool(const BufferPoolStmt * stmt)
{
	BufferPoolDefinition definition = {0};
	BufferPool *pool;
	List	   *options;

	if (stmt->missing_ok && FindBufferPool(stmt->poolname) != NULL)
	{
		ereport(NOTICE,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("buffer pool \"%s\" already exists, skipping",
						stmt->poolname)));
		return;
	}
	check_name(stmt->poolname);
	strlcpy(definition.name, stmt->poolname, NAMEDATALEN);
	pool = find_unused();
	options = take_ssd_tier(stmt, take_limits(stmt, &definition), &definition);
	BufferPoolSetHandler(BufferPoolHandlerName(stmt->handler),
						 BufferPoolOptionsWith("", options), &definition);
	definition.remainder = stmt->value == NULL;
	if (definition.remainder)
		check_no_remainder(stmt->poolname);
	definition.target = definition.remainder ? BUFFERPOOL_LEAST_BUFFERS :
		size_in_buffers(stmt);
	BufferPoolCheckSize(pool, stmt->poolname, definition.target);

	BufferPoolWriteDefinitions(pool, &definition);
	begin_pool(pool, &definition);
	reach_sizes();
}

/* The pool of the remainder has a size of its own from now on. */
static void
resize_pool(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_named(stmt);
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	definition.target = size_in_buffers(stmt);
	definition.tuned = 0;
	definition.remainder = false;
	BufferPoolCheckSize(pool, stmt->poolname, definition.target);

	BufferPoolWriteDefinitions(pool, &definition);
	BufferPoolDescribe(pool, &definition);
	reach_sizes();
}

static void
switch_pool(BufferPool *pool, const BufferPoolDefinition *definition)
{
	BufferPoolWriteDefinitions(pool, definition);
	BufferPoolSwitch(pool, definition);
}

/* Another algorithm has its default options. */
static void
set_handler(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_pool(stmt);
	BufferPoolDefinition definition;

	BufferPoolReadDefinition(pool, &definition);
	BufferPoolSetHandler(BufferPoolHandlerName(stmt->handler), "", &definition);
	switch_pool(pool, &definition);
}

/* The algorithm that users set options of. */
static const tp_policy *
policy_with_options(const BufferPoolStmt * stmt, const BufferPool *pool,
					const BufferPoolDefinition *definition)
{
	if (!BufferPoolHasAlgorithm(pool))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("buffer pool \"%s\" has no options", stmt->poolname),
				 errdetail("PostgreSQL's own clock replaces its pages.")));
	return BufferPoolFindHandler(definition->algorithm, NULL);
}

static void
set_options(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_pool(stmt);
	BufferPoolDefinition definition;
	const tp_policy *policy;
	List	   *options;
	char	   *parameters;

	BufferPoolReadDefinition(pool, &definition);
	options = take_limits(stmt, &definition);
	if (list_length(options) < list_length(stmt->options))
		(void) find_named(stmt);	/* DEFAULT has a floor of its own */
	options = take_ssd_tier(stmt, options, &definition);
	if (options == NIL)
	{
		BufferPoolWriteDefinitions(pool, &definition);
		BufferPoolDescribe(pool, &definition);
		return;
	}
	policy = policy_with_options(stmt, pool, &definition);
	parameters = stmt->kind == BUFFER_POOL_SET_OPTIONS ?
		BufferPoolOptionsWith(definition.parameters, options) :
		BufferPoolOptionsWithout(policy, definition.parameters, options);
	BufferPoolSetHandler(definition.algorithm, parameters, &definition);
	switch_pool(pool, &definition);
}

static void
rename_pool(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_named(stmt);
	BufferPoolDefinition definition;
	char	   *dependents = BufferPoolDependents(stmt->poolname);

	check_name(stmt->value);
	BufferPoolReadDefinition(pool, &definition);
	strlcpy(definition.name, stmt->value, NAMEDATALEN);
	BufferPoolWriteDefinitions(pool, &definition);
	BufferPoolDescribe(pool, &definition);
	BufferPoolNamesChanged();
	if (dependents != NULL)
		ereport(WARNING,
				(errmsg("relations still name buffer pool \"%s\"",
						stmt->poolname),
				 errdetail("Their pages go to the pool %s from now on: %s.",
						   BUFFERPOOL_DEFAULT_NAME, dependents),
				 errhint("Use ALTER TABLE ... SET (buffer_pool = ...) to let them follow.")));
}

static void
comment_on_pool(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_named(stmt);
	const char *comment = stmt->value != NULL ? stmt->value : "";
	BufferPoolDefinition definition;

	if (strlen(comment) >= BUFFERPOOL_COMMENT_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_STRING_DATA_RIGHT_TRUNCATION),
				 errmsg("comment on buffer pool \"%s\" is too long",
						stmt->poolname),
				 errdetail("It has %zu bytes; the maximum is %d.",
						   strlen(comment), BUFFERPOOL_COMMENT_SIZE - 1)));
	BufferPoolReadDefinition(pool, &definition);
	strlcpy(definition.comment, comment, BUFFERPOOL_COMMENT_SIZE);
	BufferPoolWriteDefinitions(pool, &definition);
	BufferPoolDescribe(pool, &definition);
}

/* No process will know the pool any more; it is empty. */
static void
end_pool(BufferPool *pool)
{
	BufferPoolDefinition none = {0};

	HOLD_INTERRUPTS();
	BufferPoolDefine(pool, &none);
	BufferPoolAwaitFollowers();
	BufferPoolNamesChanged();
	RESUME_INTERRUPTS();
	BufferPoolEndWriter(pool);
}

static void
drop_pool(const BufferPoolStmt * stmt)
{
	BufferPool *pool = find_named(stmt);
	BufferPoolDefinition none = {0};
	BufferPoolDefinition definition;
	char	   *dependents;

	if (pool == NULL)
		return;
	dependents = stmt->behavior == DROP_CASCADE ? NULL :
		BufferPoolDependents(stmt->poolname);
	if (dependents != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot drop buffer pool \"%s\" because relations name it",
						stmt->poolname),
				 errdetail("%s", dependents),
				 errhint("Use DROP ... CASCADE to let their pages go to the pool %s.",
						 BUFFERPOOL_DEFAULT_NAME)));
	BufferPoolWriteDefinitions(pool, &none);
	BufferPoolReadDefinition(pool, &definition);
	definition.target = definition.tuned = 0;
	definition.leaving = true;
	BufferPoolDescribe(pool, &definition);
	reach_sizes();
	end_pool(pool);
}

/*
 * End pools that an earlier statement has left half-way: its session was
 * terminated, or it was canceled before the pool had a buffer.
 */
static void
finish_drops(void)
{
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (!definition.leaving)
			continue;
		BufferPoolReachTargets();
		end_pool(&BufferPools[i]);
	}
}

void
ExecBufferPoolStmt(const BufferPoolStmt * stmt)
{
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to change buffer pools"),
				 errdetail("Only superusers may do that.")));
	(void) BufferPoolLockDefinitions(true);
	finish_drops();
	switch (stmt->kind)
	{
		case BUFFER_POOL_CREATE:
			create_pool(stmt);
			break;
		case BUFFER_POOL_SET_SIZE:
			resize_pool(stmt);
			break;
		case BUFFER_POOL_SET_HANDLER:
			set_handler(stmt);
			break;
		case BUFFER_POOL_SET_OPTIONS:
		case BUFFER_POOL_RESET_OPTIONS:
			set_options(stmt);
			break;
		case BUFFER_POOL_RENAME:
			rename_pool(stmt);
			break;
		case BUFFER_POOL_DROP:
			drop_pool(stmt);
			break;
		case BUFFER_POOL_COMMENT:
			comment_on_pool(stmt);
			break;
	}
}
