/*
 * oracle_general.c
 *	  libCacheSim's oracleGeneral traces.
 *
 * Records of 24 bytes, packed and little-endian:
 *
 *	 0	uint32	time in seconds
 *	 4	uint64	object
 *	12	uint32	size of the object in bytes
 *	16	int64	number of the request that references the object next,
 *				from 1; -1: none does
 *
 * An object is a page here, whatever its size.  The next access is ignored:
 * OPT computes its own (tps_future).
 */
#include "reader.h"

#define RECORD_BYTES 24

size_t
read_oracle_general(tps_reader *reader, const unsigned char *bytes,
					size_t size, tps_columns *columns)
{
	const unsigned char *p = bytes;

	while (gather(reader, &p, bytes + size, RECORD_BYTES))
	{
		advance_time(reader, get32(reader->record) * UINT64_C(1000000));
		reader->page = get64(reader->record + 4);
		reader->left = 1;
		next_record(reader, RECORD_BYTES);
		if (!write_run(reader, columns))
			break;
	}
	return (size_t) (p - bytes);
}
