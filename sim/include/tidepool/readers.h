/*
 * readers.h
 *	  Parsers of trace formats.
 *
 * The caller feeds the file's bytes to a parser in blocks of any size, and the
 * parser writes references into the caller's columns.  It can stop at any byte,
 * allocates nothing, and has no undefined behaviour whatever the bytes.  Its
 * output does not depend on how the file is divided into blocks.
 * docs/trace-format.md describes the formats.
 */
#ifndef TIDEPOOL_READERS_H
#define TIDEPOOL_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The binding is generated from the text between the two marks. */
/* cffi: begin */

typedef enum tps_format
{
	TPS_TEXT,					/* pages, a line each; writes page */
	TPS_ARC,					/* runs of pages, a line each; writes page */
	TPS_ORACLE_GENERAL,			/* writes page, time */
	TPS_VSCSI					/* writes page, time, kind */
} tps_format;

/* The output.  Columns that the format does not write may be NULL. */
typedef struct tps_columns
{
	uint64_t   *page;
	uint64_t   *time;			/* microseconds, never decreasing */
	uint8_t    *kind;			/* 0 read, 1 write */
	size_t		capacity;		/* rows that the columns have room for */
	size_t		rows;			/* rows written; the caller sets it back */
} tps_columns;

/* Read error and position; the rest is the parser's own. */
typedef struct tps_reader
{
	const char *error;			/* what is wrong with the file; NULL: nothing */
	uint64_t	position;		/* text: the current line, from 1; binary:
								 * offset of the current record */
	tps_format	format;
	uint32_t	page_bytes;

	/* the run of references that is being written */
	uint64_t	page;			/* the next one */
	uint64_t	left;			/* how many are still to be written */
	uint64_t	time;
	uint8_t		kind;

	/* of text formats: the current line */
	uint8_t		in;				/* the parser's state before the next byte */
	uint8_t		fields;			/* numbers begun on the line */
	uint64_t	number[4];

	/* of binary formats: the current record */
	uint8_t		version;
	uint8_t		have;			/* bytes of it that have been seen */
	unsigned char record[40];
} tps_reader;

/*
 * Begin a file.  page_bytes is for TPS_VSCSI: the size of the pages into
 * which a request is divided, a multiple of 512; 0 makes each request one
 * reference to its first block.
 */
void		tps_reader_init(tps_reader *reader, tps_format format,
							uint32_t page_bytes);

/*
 * Parse the next bytes of the file; returns how many were used.  All are used
 * unless the columns are full (empty them and call again with the rest) or the
 * file is wrong (error is set; the rows before the error are valid).
 */
size_t		tps_reader_feed(tps_reader *reader, const unsigned char *bytes,
							size_t size, tps_columns *columns);

/*
 * The file has no more bytes.  Returns true when all references have been
 * written; false if the columns are full (empty them and call again) or the
 * file is wrong.
 */
bool		tps_reader_finish(tps_reader *reader, tps_columns *columns);

/* cffi: end */

#endif							/* TIDEPOOL_READERS_H */
