/*-------------------------------------------------------------------------
 *
 * definitions.c
 *	  The file of buffer pools: pg_bufferpools in the data directory.
 *
 * A line of text for each pool, in the order of creation, behind a line with
 * the format's version and a checksum of what follows:
 *
 *	  tidepool buffer pools 1 crc32c 8f3a90c2
 *	  name <tab> algorithm <tab> parameters <tab> size <tab> comment
 *			[<tab> min_size <tab> max_size [<tab> ssd_tier]]
 *
 * size is a number of bytes, or remainder: what the other pools leave.  It is the
 * operator's: what self-tuning makes of it is not kept.  min_size and max_size are
 * its limits, 0 for none.  What all later fields have by default is left out.  In
 * fields, a backslash stands before a backslash, t (a tab) and n (a newline).
 * Later versions may append fields.  The file is replaced as a whole and
 * durably, before the pools in shared memory change, so that a crash leaves the
 * old definitions or the new ones.  A stock server ignores it.
 *
 * It is read in the postmaster, where nothing may fail: what cannot be read is
 * left out with a warning, and the server starts.
 *
 * src/backend/storage/bufferpool/definitions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "lib/stringinfo.h"
#include "port/pg_crc32c.h"
#include "storage/bufferpool_internals.h"
#include "storage/fd.h"

#define DEFINITIONS_FILE "pg_bufferpools"
#define DEFINITIONS_TEMPORARY_FILE "pg_bufferpools.tmp"
#define DEFINITIONS_CORRUPT_FILE "pg_bufferpools.corrupt"
#define DEFINITIONS_VERSION 1
#define DEFINITIONS_HEADER "tidepool buffer pools %d crc32c %08x\n"

#define DEFINITIONS_REMAINDER "remainder"

/* A file of all pools, with the longest names and comments, is shorter. */
#define DEFINITIONS_MAX_SIZE (1024 * 1024)

static pg_crc32c
checksum(const char *data, size_t size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return crc;
}

/* ---- writing ---- */

static void
append_field(StringInfo text, const char *value, char end)
{
	for (; *value != '\0'; value++)
		switch (*value)
		{
			case '\\':
				appendStringInfoString(text, "\\\\");
				break;
			case '\t':
				appendStringInfoString(text, "\\t");
				break;
			case '\n':
				appendStringInfoString(text, "\\n");
				break;
			default:
				appendStringInfoChar(text, *value);
		}
	appendStringInfoChar(text, end);
}

static void
append_definition(StringInfo text, const BufferPoolDefinition *definition)
{
	append_field(text, definition->name, '\t');
	append_field(text, definition->algorithm, '\t');
	append_field(text, definition->parameters, '\t');
	if (definition->remainder)
		appendStringInfoString(text, DEFINITIONS_REMAINDER "\t");
	else
		appendStringInfo(text, UINT64_FORMAT "\t",
						 (uint64) BufferPoolDefinedSize(definition) * BLCKSZ);
	if (definition->least == 0 && definition->most == 0 &&
		definition->ssd_tier <= SSD_TIER_UNSET)
	{
		append_field(text, definition->comment, '\n');
		return;
	}
	append_field(text, definition->comment, '\t');
	appendStringInfo(text, UINT64_FORMAT "\t" UINT64_FORMAT,
					 (uint64) definition->least * BLCKSZ,
					 (uint64) definition->most * BLCKSZ);
	if (definition->ssd_tier > SSD_TIER_UNSET)
		appendStringInfo(text, "\t%s", SsdTierChoiceName(definition->ssd_tier));
	appendStringInfoChar(text, '\n');
}

static void
write_file(const char *data, int size)
{
	int			fd = OpenTransientFile(DEFINITIONS_TEMPORARY_FILE,
									   O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);

	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create file \"%s\": %m",
						DEFINITIONS_TEMPORARY_FILE)));
	errno = 0;
	if (write(fd, data, size) != size)
	{
		/* if write didn't set errno, assume problem is no disk space */
		if (errno == 0)
			errno = ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m",
						DEFINITIONS_TEMPORARY_FILE)));
	}
	if (pg_fsync(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not fsync file \"%s\": %m",
						DEFINITIONS_TEMPORARY_FILE)));
	if (CloseTransientFile(fd) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not close file \"%s\": %m",
						DEFINITIONS_TEMPORARY_FILE)));
}

/* Is the name among those of the pools, or of these definitions? */
static bool
is_known(const char *name, const BufferPoolDefinition *definitions, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(definitions[i].name, name) == 0)
			return true;
	return FindBufferPool(name) != NULL;
}

/*
 * Append what the file has of pools that there was no memory for at the start:
 * the next start may have it.
 */
static void
append_unmade(StringInfo text, const BufferPoolDefinition *definitions,
			  int count)
{
	BufferPoolDefinition *old = palloc_array(BufferPoolDefinition,
											 BUFFERPOOL_MAX_NAMED);
	int			nold = ReadBufferPoolDefinitions(old, BUFFERPOOL_MAX_NAMED,
													 WARNING);

	if (nold < 0)				/* someone may want to look at it */
		durable_rename(DEFINITIONS_FILE, DEFINITIONS_CORRUPT_FILE, ERROR);
	for (int i = 0; i < nold; i++)
		if (!is_known(old[i].name, definitions, count))
			append_definition(text, &old[i]);
	pfree(old);
}

/*
 * Replace the file by these definitions.  Raises an error, and leaves the file
 * as it is, if that fails.  The caller is the only one who does this now.
 */
void
WriteBufferPoolDefinitions(const BufferPoolDefinition *definitions, int count)
{
	StringInfoData body;
	StringInfoData text;

	initStringInfo(&body);
	for (int i = 0; i < count; i++)
		append_definition(&body, &definitions[i]);
	append_unmade(&body, definitions, count);
	initStringInfo(&text);
	appendStringInfo(&text, DEFINITIONS_HEADER, DEFINITIONS_VERSION,
					 checksum(body.data, body.len));
	appendBinaryStringInfo(&text, body.data, body.len);

	/* of a statement that a crash or an error has interrupted */
	(void) unlink(DEFINITIONS_TEMPORARY_FILE);
	write_file(text.data, text.len);
	durable_rename(DEFINITIONS_TEMPORARY_FILE, DEFINITIONS_FILE, ERROR);
}

/* ---- reading ---- */

/* The contents of the file; NULL if there is none, or it cannot be read. */
static char *
read_file(int elevel)
{
	char	   *data;
	int			size;
	int			fd = OpenTransientFile(DEFINITIONS_FILE, O_RDONLY | PG_BINARY);

	if (fd < 0)
	{
		if (errno != ENOENT)
			ereport(elevel,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", DEFINITIONS_FILE)));
		return NULL;
	}
	data = palloc(DEFINITIONS_MAX_SIZE + 1);
	size = read(fd, data, DEFINITIONS_MAX_SIZE + 1);
	(void) CloseTransientFile(fd);
	if (size < 0 || size > DEFINITIONS_MAX_SIZE)
	{
		ereport(elevel,
				(errmsg("could not read file \"%s\"", DEFINITIONS_FILE)));
		return NULL;
	}
	data[size] = '\0';
	return data;
}

/*
 * Cut off the next field, up to a tab or the end of the line, and resolve its
 * escapes.  Returns false if it does not fit.
 */
static bool
take_field(char **line, char *value, size_t size)
{
	size_t		length = 0;
	char	   *p = *line;

	for (; *p != '\0' && *p != '\t'; p++)
	{
		char		c = *p;

		if (c == '\\')
		{
			p++;
			c = *p == 't' ? '\t' : *p == 'n' ? '\n' : *p;
			if (c == '\0')
				return false;
		}
		if (length + 1 >= size)
			return false;
		value[length++] = c;
	}
	value[length] = '\0';
	*line = *p == '\t' ? p + 1 : p;
	return true;
}

/* A number of bytes, in buffers. */
static bool
parse_bytes(const char *text, int *buffers)
{
	char	   *end;
	uint64		bytes;

	errno = 0;
	bytes = strtou64(text, &end, 10);
	if (errno != 0 || *end != '\0' || end == text || bytes / BLCKSZ > INT_MAX / 2)
		return false;
	*buffers = (int) (bytes / BLCKSZ);
	return true;
}

static bool
parse_size(const char *text, BufferPoolDefinition *definition)
{
	if (strcmp(text, DEFINITIONS_REMAINDER) == 0)
	{
		definition->remainder = true;
		return true;
	}
	return parse_bytes(text, &definition->target);
}

/* The fields that files of older servers do not have. */
static bool
parse_later_fields(char *line, BufferPoolDefinition *definition)
{
	char		least[32];
	char		most[32];
	char		choice[32];

	if (*line == '\0')
		return true;
	if (!take_field(&line, least, sizeof(least)) ||
		!take_field(&line, most, sizeof(most)) ||
		!take_field(&line, choice, sizeof(choice)) ||
		!parse_bytes(least, &definition->least) ||
		!parse_bytes(most, &definition->most))
		return false;
	definition->ssd_tier = SsdTierFindChoice(choice);
	return true;
}

static bool
parse_definition(char *line, BufferPoolDefinition *definition)
{
	char		size[32];

	MemSet(definition, 0, sizeof(*definition));
	return take_field(&line, definition->name, sizeof(definition->name)) &&
		take_field(&line, definition->algorithm, sizeof(definition->algorithm)) &&
		take_field(&line, definition->parameters, sizeof(definition->parameters)) &&
		take_field(&line, size, sizeof(size)) &&
		take_field(&line, definition->comment, sizeof(definition->comment)) &&
		definition->name[0] != '\0' && parse_size(size, definition) &&
		parse_later_fields(line, definition);
}

/* The text behind a valid header, or NULL. */
static char *
check_header(char *data)
{
	char	   *body = strchr(data, '\n');
	int			version;
	unsigned int crc;

	if (body == NULL)
		return NULL;
	body++;
	if (sscanf(data, DEFINITIONS_HEADER, &version, &crc) != 2 ||
		version != DEFINITIONS_VERSION || crc != checksum(body, strlen(body)))
		return NULL;
	return body;
}

/*
 * Read the definitions, at most max.  Returns how many; -1 if the file is of no
 * use.  Parameters are not parsed yet.  Raises no error; what is left out is
 * reported at elevel, WARNING or less.
 */
int
ReadBufferPoolDefinitions(BufferPoolDefinition *definitions, int max, int elevel)
{
	char	   *data = read_file(elevel);
	char	   *line;
	int			count = 0;

	if (data == NULL)
		return 0;
	line = check_header(data);
	if (line == NULL)
	{
		ereport(elevel,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is corrupt or of another version",
						DEFINITIONS_FILE),
				 errdetail("The buffer pools that it defines are not made."),
				 errhint("Create the pools again, or restore the file from a backup and restart the server.")));
		return -1;
	}
	while (*line != '\0')
	{
		char	   *end = strchr(line, '\n');

		if (end == NULL)
			break;
		*end = '\0';
		if (count < max && parse_definition(line, &definitions[count]))
			count++;
		else
			ereport(elevel,
					(errmsg("ignoring a buffer pool in file \"%s\": \"%s\"",
							DEFINITIONS_FILE, line)));
		line = end + 1;
	}
	return count;
}
