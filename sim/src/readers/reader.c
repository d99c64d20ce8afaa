/*
 * reader.c
 *	  The parsers by format.  See readers.h.
 */
#include "reader.h"

void
tps_reader_init(tps_reader *reader, tps_format format, uint32_t page_bytes)
{
	memset(reader, 0, sizeof(*reader));
	reader->format = format;
	reader->page_bytes = page_bytes;
	if (format == TPS_TEXT || format == TPS_ARC)
		reader->position = 1;
}

size_t
tps_reader_feed(tps_reader *reader, const unsigned char *bytes, size_t size,
				tps_columns *columns)
{
	if (reader->error != NULL || !write_run(reader, columns) || size == 0)
		return 0;
	switch (reader->format)
	{
		case TPS_TEXT:
			return read_text(reader, bytes, size, columns);
		case TPS_ARC:
			return read_arc(reader, bytes, size, columns);
		case TPS_ORACLE_GENERAL:
			return read_oracle_general(reader, bytes, size, columns);
		case TPS_VSCSI:
			return read_vscsi(reader, bytes, size, columns);
	}
	return 0;
}

bool
tps_reader_finish(tps_reader *reader, tps_columns *columns)
{
	if (reader->error != NULL || !write_run(reader, columns))
		return false;
	switch (reader->format)
	{
		case TPS_TEXT:
			return finish_text(reader, columns);
		case TPS_ARC:
			return finish_arc(reader, columns);
		case TPS_ORACLE_GENERAL:
		case TPS_VSCSI:
			return finish_record(reader, columns);
	}
	return false;
}

bool
finish_record(tps_reader *reader, tps_columns *columns)
{
	(void) columns;
	if (reader->have > 0)
		reader->error = "the file ends within a record";
	return reader->error == NULL;
}
