/*
 * text.c
 *	  A page number a line.
 *
 * Decimal numbers below 2^64.  '#' begins a comment that lasts to the end of
 * the line.  Lines without a number are skipped, and so are lines of a single
 * '*'.  In the traces of the LIRS authors (Jiang and Zhang, SIGMETRICS 2002)
 * these are breakpoints, at which their program prints its state.
 */
#include "reader.h"

enum
{
	BLANK,						/* nothing but space on the line so far */
	NUMBER,						/* in the number */
	REST,						/* behind it: space or a comment may follow */
	COMMENT
};

/* End the number; false, without ending it, if the columns are full. */
static bool
end_number(tps_reader *reader, tps_columns *columns)
{
	if (columns->rows == columns->capacity)
		return false;
	columns->page[columns->rows++] = reader->number[0];
	reader->in = REST;
	return true;
}

static bool
take_digit(tps_reader *reader, unsigned char c)
{
	if (reader->in == REST)
	{
		reader->error = "more than a page number";
		return false;
	}
	if (reader->in == BLANK)
	{
		reader->in = NUMBER;
		reader->number[0] = 0;
	}
	return add_digit(reader, &reader->number[0], c);
}

/* Take the next byte; false if it may not be there. */
static bool
take(tps_reader *reader, unsigned char c)
{
	if (c == '\n')
	{
		reader->in = BLANK;
		reader->position++;
		return true;
	}
	if (reader->in == COMMENT || is_space(c))
		return true;
	if (is_digit(c))
		return take_digit(reader, c);
	if (c == '#')
	{
		reader->in = COMMENT;
		return true;
	}
	if (c == '*' && reader->in == BLANK)
	{
		reader->in = REST;
		return true;
	}
	reader->error = "not a page number";
	return false;
}

size_t
read_text(tps_reader *reader, const unsigned char *bytes, size_t size,
		  tps_columns *columns)
{
	for (size_t i = 0; i < size; i++)
	{
		if (reader->in == NUMBER && !is_digit(bytes[i]) &&
			!end_number(reader, columns))
			return i;
		if (!take(reader, bytes[i]))
			return i;
	}
	return size;
}

bool
finish_text(tps_reader *reader, tps_columns *columns)
{
	return reader->in != NUMBER || end_number(reader, columns);
}
