/*-------------------------------------------------------------------------
 *
 * statements.c
 *	  SHOW bufferpool.definitions: the statements that make the pools.
 *
 * src/backend/storage/bufferpool/statements.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "storage/bufferpool_internals.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

char	   *bufferpool_definitions;

/* "min_size = '...', " and so on, if there is such a limit. */
static void
append_limit(StringInfo text, const char **separator, const char *name,
			 int buffers)
{
	if (buffers == 0)
		return;
	appendStringInfo(text, "%s%s = '" UINT64_FORMAT "'", *separator, name,
					 (uint64) buffers * BLCKSZ);
	*separator = ", ";
}

/* "a=1,b=2", and what is not the algorithm's, as WITH (a = '1', b = '2', min_size = '...'). */
static void
append_with(StringInfo text, const BufferPoolDefinition *definition)
{
	char	   *rest = pstrdup(definition->parameters);
	char	   *item;
	const char *separator = " WITH (";

	if (definition->ssd_tier > SSD_TIER_UNSET)
	{
		appendStringInfo(text, "%s%s = '%s'", separator, SSD_TIER_OPTION,
						 SsdTierChoiceName(definition->ssd_tier));
		separator = ", ";
	}
	while ((item = strsep(&rest, ",")) != NULL)
	{
		char	   *value = strchr(item, '=');

		if (value == NULL)
			continue;
		*value++ = '\0';
		appendStringInfo(text, "%s%s = %s", separator, quote_identifier(item),
						 quote_literal_cstr(value));
		separator = ", ";
	}
	append_limit(text, &separator, BUFFERPOOL_MIN_SIZE, definition->least);
	append_limit(text, &separator, BUFFERPOOL_MAX_SIZE, definition->most);
	if (strcmp(separator, ", ") == 0)
		appendStringInfoChar(text, ')');
}

static void
append_statements(StringInfo text, const BufferPoolDefinition *definition)
{
	appendStringInfo(text, "CREATE BUFFER POOL %s%s HANDLER %s",
					 quote_identifier(definition->name),
					 definition->remainder ? " REMAINDER" : "",
					 quote_identifier(definition->algorithm));
	if (!definition->remainder)
		appendStringInfo(text, " SIZE '" UINT64_FORMAT "'",
						 (uint64) BufferPoolDefinedSize(definition) * BLCKSZ);
	append_with(text, definition);
	appendStringInfoString(text, ";\n");
	if (definition->comment[0] != '\0')
		appendStringInfo(text, "COMMENT ON BUFFER POOL %s IS %s;\n",
						 quote_identifier(definition->name),
						 quote_literal_cstr(definition->comment));
}

const char *
show_bufferpool_definitions(void)
{
	static char *shown = NULL;
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 1; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		if (BufferPools[i].shared == NULL || &BufferPools[i] == RecycleBufferPool)
			continue;
		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] != '\0')
			append_statements(&text, &definition);
	}
	if (shown != NULL)
		pfree(shown);
	shown = MemoryContextStrdup(TopMemoryContext, text.data);
	pfree(text.data);
	return shown;
}
