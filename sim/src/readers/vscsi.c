/*
 * vscsi.c
 *	  VMware's vSCSI traces, as CloudPhysics published them and libCacheSim
 *	  reads them.
 *
 * Little-endian records of one of two versions, 32 and 40 bytes:
 *
 *	version 1			version 2
 *	 0	uint32	serial	 0	uint16	command
 *	 4	uint32	bytes	 2	uint16	version
 *	 8	uint32	pieces	 4	uint32	serial
 *	12	uint16	command	 8	uint32	bytes
 *	14	uint16	version	12	uint32	pieces
 *	16	uint64	block	16	uint64	block
 *	24	uint64	time	24	uint64	time
 *						32	uint64	response time
 *
 * The high byte of the version is 1 or 2, in every record; the block is in
 * units of 512 bytes, the time in microseconds.  The command is the SCSI
 * operation code; commands that neither read nor write blocks are skipped.
 */
#include "reader.h"

#define BLOCK_BYTES 512
#define HEAD_BYTES 16			/* enough to see the version */

static unsigned
record_bytes(unsigned version)
{
	return version == 1 ? 32 : 40;
}

/*
 * The version of the first record, from its first HEAD_BYTES; 0 for neither.
 * A record that looks like both is of version 1: as version 2 it would be a
 * request of 16 million pieces.
 */
static uint8_t
version_of(const unsigned char *record)
{
	if (record[15] == 1)
		return 1;
	return record[3] == 2 ? 2 : 0;
}

typedef enum
{
	OTHER, READ, WRITE
} command_kind;

static command_kind
kind_of(unsigned command)
{
	switch (command)
	{
		case 0x08:				/* READ, with 6, 10, 12, 16 bytes */
		case 0x28:
		case 0xa8:
		case 0x88:
			return READ;
		case 0x0a:				/* WRITE, likewise */
		case 0x2a:
		case 0xaa:
		case 0x8a:
		case 0x2e:				/* WRITE AND VERIFY */
		case 0xae:
		case 0x8e:
		case 0x41:				/* WRITE SAME */
		case 0x93:
		case 0x9c:				/* WRITE ATOMIC */
			return WRITE;
		default:
			return OTHER;
	}
}

/* Begin the run of a request; false if it goes beyond the largest page. */
static bool
begin_request(tps_reader *reader, uint64_t block, uint32_t bytes)
{
	uint64_t	blocks_per_page = reader->page_bytes / BLOCK_BYTES;
	uint64_t	blocks;

	if (reader->page_bytes == 0)
		return begin_run(reader, block, 1);

	/* in blocks from the page's beginning, because bytes would overflow */
	blocks = block % blocks_per_page +
		((uint64_t) bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
	return begin_run(reader, block / blocks_per_page, bytes == 0 ? 0 :
					 (blocks + blocks_per_page - 1) / blocks_per_page);
}

/* Deal with the record that has been read; false if it is wrong. */
static bool
end_record(tps_reader *reader)
{
	const unsigned char *record = reader->record;
	const unsigned char *request = record + (reader->version == 1 ? 4 : 8);
	unsigned	command = get16(record + (reader->version == 1 ? 12 : 0));
	command_kind kind = kind_of(command);

	if (record[reader->version == 1 ? 15 : 3] != reader->version)
	{
		reader->error = "not a record of the trace's version";
		return false;
	}
	advance_time(reader, get64(record + 24));
	reader->kind = kind == WRITE;
	return kind == OTHER ||
		begin_request(reader, get64(record + 16), get32(request));
}

size_t
read_vscsi(tps_reader *reader, const unsigned char *bytes, size_t size,
		   tps_columns *columns)
{
	const unsigned char *p = bytes;
	const unsigned char *end = bytes + size;

	if (reader->version == 0)
	{
		if (!gather(reader, &p, end, HEAD_BYTES))
			return size;
		reader->version = version_of(reader->record);
		if (reader->version == 0)
		{
			reader->error = "not a record of version 1 or 2";
			return (size_t) (p - bytes);
		}
	}
	while (gather(reader, &p, end, record_bytes(reader->version)))
	{
		if (!end_record(reader))
			break;
		next_record(reader, record_bytes(reader->version));
		if (!write_run(reader, columns))
			break;
	}
	return (size_t) (p - bytes);
}
