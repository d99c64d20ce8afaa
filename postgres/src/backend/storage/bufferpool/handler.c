/*-------------------------------------------------------------------------
 *
 * handler.c
 *	  HANDLER and WITH in the statements about buffer pools: an algorithm and
 *	  its options.
 *
 * Options are kept as text, "name=value,...".  What does not exist, is out of
 * range or needs more memory than is reserved raises an error.
 *
 * src/backend/storage/bufferpool/handler.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "lib/stringinfo.h"
#include "nodes/parsenodes.h"
#include "storage/bufferpool_internals.h"
#include "tidepool/arrays.h"

/* ---- the algorithm ---- */

#define HANDLER_SUFFIX "_pool_handler"

/* The name of the algorithm: HANDLER arc, or arc_pool_handler. */
char *
BufferPoolHandlerName(List * handler)
{
	char	   *name = pstrdup(strVal(llast(handler)));
	size_t		length = strlen(name);
	size_t		suffix = strlen(HANDLER_SUFFIX);

	if (length > suffix && strcmp(name + length - suffix, HANDLER_SUFFIX) == 0)
		name[length - suffix] = '\0';
	return name;
}

/* The algorithm of this name; *registered (or NULL) is how it is spelled. */
const tp_policy *
BufferPoolFindHandler(const char *algorithm, const char **registered)
{
	const tp_policy *policy = FindBufferPoolPolicy(algorithm, registered);

	if (policy == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("replacement algorithm \"%s\" does not exist", algorithm),
				 errhint("Add the library that has it to \"shared_preload_libraries\" and restart the server.")));
	return policy;
}

static int
bytes_per_buffer(const tp_policy *policy, const double *params)
{
	return (int) tp_needs_bytes(tp_policy_needs(policy, params));
}

/* The parameter that memory depends on, or NULL. */
static const char *
parameter_of_memory(const tp_policy *policy, const double *params)
{
	for (int i = 0; i < tp_policy_param_count(policy); i++)
	{
		double		lowered[TP_MAX_PARAMS];

		memcpy(lowered, params, sizeof(lowered));
		lowered[i] = policy->params[i].min;
		if (bytes_per_buffer(policy, lowered) < bytes_per_buffer(policy, params))
			return policy->params[i].name;
	}
	return NULL;
}

/*
 * There is not enough memory for an algorithm with these parameters.  Memory
 * for the default ones is reserved if they need few enough bytes.
 */
static void
memory_error(const char *algorithm, const tp_policy *policy,
			 const double *params)
{
	const char *parameter = parameter_of_memory(policy, params);
	bool		by_default = BufferPoolHasMemoryFor(policy, NULL);

	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("not enough memory for replacement algorithm \"%s\" with these options",
					algorithm),
			 errdetail("It needs %d bytes for each buffer, of which the server has reserved %d.",
					   bytes_per_buffer(policy, params), BufferPoolFrameBytes()),
			 BufferPoolMostNamed() == 0 ?
			 errhint("Set \"bufferpool.max_pools\" and restart the server.") :
			 by_default && parameter != NULL ?
			 errhint("Use the default options, or lower \"%s\".", parameter) :
			 parameter != NULL ?
			 errhint("Set \"bufferpool.bytes_per_buffer\" to at least %d and restart the server, or lower \"%s\".",
					 bytes_per_buffer(policy, NULL), parameter) :
			 errhint("Set \"bufferpool.bytes_per_buffer\" to at least %d and restart the server.",
					 bytes_per_buffer(policy, NULL))));
}

/* Set algorithm and parameters ("name=value,..."). */
void
BufferPoolSetHandler(const char *algorithm, const char *parameters,
					 BufferPoolDefinition *definition)
{
	const char *registered;
	const tp_policy *policy = BufferPoolFindHandler(algorithm, &registered);
	char	   *problem;

	if (strlen(parameters) >= BUFFERPOOL_PARAMETERS_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of replacement algorithm \"%s\" are longer than %d bytes",
						registered, BUFFERPOOL_PARAMETERS_SIZE - 1)));
	if (!ParsePolicyParameters(policy, parameters, definition->params, &problem))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid options of replacement algorithm \"%s\": %s",
						registered, problem)));
	if (!BufferPoolHasMemoryFor(policy, definition->params))
		memory_error(registered, policy, definition->params);
	strlcpy(definition->algorithm, registered, NAMEDATALEN);
	strlcpy(definition->running, registered, NAMEDATALEN);
	strlcpy(definition->parameters, parameters, BUFFERPOOL_PARAMETERS_SIZE);
}

/* ---- its options ---- */

static void
append_option(StringInfo text, const char *name, const char *value)
{
	appendStringInfo(text, "%s%s=%s", text->len > 0 ? "," : "", name, value);
}

static void
check_option(const DefElem * option)
{
	const char *value = option->arg != NULL ?
		defGetString(unconstify(DefElem *, option)) : "";

	if (option->defnamespace != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parameter namespace \"%s\"",
						option->defnamespace)));
	if (strpbrk(value, ",=") != NULL || strpbrk(option->defname, ",=") != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"",
						option->defname, value)));
}

static bool
has_option(List * options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
		if (pg_strcasecmp(lfirst_node(DefElem, cell)->defname, name) == 0)
			return true;
	return false;
}

/* Append those of the options in text that are not in the list. */
static void
append_others(StringInfo text, const char *old, List * options)
{
	char	   *rest = pstrdup(old);
	char	   *item;

	while ((item = strsep(&rest, ",")) != NULL)
	{
		char	   *value = strchr(item, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		if (!has_option(options, item))
			append_option(text, item, value);
	}
}

/* The options in text, with those in the list instead or in addition. */
char *
BufferPoolOptionsWith(const char *old, List * options)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	append_others(&text, old, options);
	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		check_option(option);
		append_option(&text, option->defname, defGetString(option));
	}
	return text.data;
}

/* The options in text without those in the list, which must be there. */
char *
BufferPoolOptionsWithout(const tp_policy *policy, const char *old,
						 List * options)
{
	StringInfoData text;
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		check_option(option);
		if (option->arg != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 errmsg("RESET must not include values for parameters")));
		if (tp_policy_param_find(policy, option->defname) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("replacement algorithm \"%s\" has no option \"%s\"",
							policy->name, option->defname)));
	}
	initStringInfo(&text);
	append_others(&text, old, options);
	return text.data;
}
