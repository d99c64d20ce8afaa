/*
 * arc.c
 *	  The traces of the ARC authors (Megiddo and Modha, FAST 2003), *.lis.
 *
 * A request a line: first block, number of blocks, an ignored number, and the
 * request's number.  A request references its blocks, of 512 bytes each, in
 * turn, as the authors counted them.  All four numbers are required, so that
 * a truncated line is found; blank lines are skipped.
 */
#include "reader.h"

enum
{
	SPACE,						/* between numbers */
	NUMBER
};

#define FIELDS 4

/* The end of a line; false if the line is wrong. */
static bool
end_line(tps_reader *reader)
{
	unsigned	fields = reader->fields;

	if (fields != 0 && fields != FIELDS)
	{
		reader->error = "not four numbers";
		return false;
	}
	if (fields == FIELDS)
	{
		/* as a SCSI command counts; more is a damaged file, not a request */
		if (reader->number[1] > UINT32_MAX)
		{
			reader->error = "number of blocks above 4294967295";
			return false;
		}
		if (!begin_run(reader, reader->number[0], reader->number[1]))
			return false;
	}
	reader->in = SPACE;
	reader->fields = 0;
	return true;
}

/* A byte within a line; false if it may not be there. */
static bool
in_line(tps_reader *reader, unsigned char c)
{
	if (is_space(c))
	{
		reader->in = SPACE;
		return true;
	}
	if (is_digit(c))
	{
		if (reader->in == SPACE)
		{
			if (reader->fields == FIELDS)
			{
				reader->error = "not four numbers";
				return false;
			}
			reader->in = NUMBER;
			reader->number[reader->fields++] = 0;
		}
		return add_digit(reader, &reader->number[reader->fields - 1], c);
	}
	reader->error = "not four numbers";
	return false;
}

size_t
read_arc(tps_reader *reader, const unsigned char *bytes, size_t size,
		 tps_columns *columns)
{
	for (size_t i = 0; i < size; i++)
	{
		if (bytes[i] != '\n')
		{
			if (!in_line(reader, bytes[i]))
				return i;
			continue;
		}
		if (!end_line(reader))
			return i;
		reader->position++;
		if (!write_run(reader, columns))
			return i + 1;
	}
	return size;
}

bool
finish_arc(tps_reader *reader, tps_columns *columns)
{
	return end_line(reader) && write_run(reader, columns);
}
