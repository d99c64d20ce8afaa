/*
 * reader.h
 *	  What the parsers share.
 *
 * A record or line becomes a run: `left` references to consecutive pages from
 * `page` on, at one time, of one kind.  The run is written out, as far as the
 * columns have room, before more is read.
 */
#ifndef TIDEPOOL_READER_H
#define TIDEPOOL_READER_H

#include <string.h>

#include "tidepool/readers.h"

size_t		read_text(tps_reader *reader, const unsigned char *bytes,
					  size_t size, tps_columns *columns);
bool		finish_text(tps_reader *reader, tps_columns *columns);

size_t		read_arc(tps_reader *reader, const unsigned char *bytes,
					 size_t size, tps_columns *columns);
bool		finish_arc(tps_reader *reader, tps_columns *columns);

size_t		read_oracle_general(tps_reader *reader, const unsigned char *bytes,
								size_t size, tps_columns *columns);
size_t		read_vscsi(tps_reader *reader, const unsigned char *bytes,
					   size_t size, tps_columns *columns);
bool		finish_record(tps_reader *reader, tps_columns *columns);

/* Write out the run; false if the columns are full before its end. */
static inline bool
write_run(tps_reader *reader, tps_columns *columns)
{
	bool		requests = reader->format == TPS_VSCSI;
	bool		records = reader->format == TPS_ORACLE_GENERAL || requests;

	while (reader->left > 0)
	{
		size_t		row = columns->rows;

		if (row == columns->capacity)
			return false;
		columns->page[row] = reader->page++;
		if (records)
			columns->time[row] = reader->time;
		if (requests)
			columns->kind[row] = reader->kind;
		columns->rows = row + 1;
		reader->left--;
	}
	return true;
}

/*
 * Begin a run of count pages, which may be 0.  False if it would go beyond the
 * largest page number.
 */
static inline bool
begin_run(tps_reader *reader, uint64_t first, uint64_t count)
{
	if (count > 0 && first > UINT64_MAX - (count - 1))
	{
		reader->error = "blocks beyond 18446744073709551615";
		return false;
	}
	reader->page = first;
	reader->left = count;
	return true;
}

/* ---- text ---- */

static inline bool
is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* A carriage return counts as space, so lines may end as on Windows. */
static inline bool
is_space(unsigned char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Append a digit to a decimal number; false if it no longer fits. */
static inline bool
add_digit(tps_reader *reader, uint64_t *number, unsigned char c)
{
	unsigned	digit = c - (unsigned) '0';

	if (*number > (UINT64_MAX - digit) / 10)
	{
		reader->error = "number above 18446744073709551615";
		return false;
	}
	*number = *number * 10 + digit;
	return true;
}

/* ---- binary, little-endian ---- */

static inline uint16_t
get16(const unsigned char *p)
{
	return (uint16_t) (p[0] | p[1] << 8);
}

static inline uint32_t
get32(const unsigned char *p)
{
	return get16(p) | (uint32_t) get16(p + 2) << 16;
}

static inline uint64_t
get64(const unsigned char *p)
{
	return get32(p) | (uint64_t) get32(p + 4) << 32;
}

/*
 * Take bytes from *bytes … end until the current record, reader->record, has
 * `want` of them; false if there are too few.
 */
static inline bool
gather(tps_reader *reader, const unsigned char **bytes,
	   const unsigned char *end, unsigned want)
{
	size_t		n = want - reader->have;

	if ((size_t) (end - *bytes) < n)
		n = (size_t) (end - *bytes);
	if (n > 0)
		memcpy(reader->record + reader->have, *bytes, n);
	reader->have = (uint8_t) (reader->have + n);
	*bytes += n;
	return reader->have == want;
}

/* The current record, of size bytes, has been dealt with. */
static inline void
next_record(tps_reader *reader, unsigned size)
{
	reader->have = 0;
	reader->position += size;
}

/* Time never decreases in a trace, but sometimes does in the files. */
static inline void
advance_time(tps_reader *reader, uint64_t time)
{
	if (time > reader->time)
		reader->time = time;
}

#endif							/* TIDEPOOL_READER_H */
