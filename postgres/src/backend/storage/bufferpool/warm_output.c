/*-------------------------------------------------------------------------
 *
 * warm_output.c
 *	  Output to the file of a warm start.
 *
 * The first failure is kept, and nothing is written after it.
 *
 * src/backend/storage/bufferpool/warm_output.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "storage/bufferpool_warm.h"

void
WarmWriteAt(WarmOutput *output, const void *data, Size size, uint64 at)
{
	const char *p = data;

	while (size > 0 && output->error == 0)
	{
		ssize_t		put;

		errno = 0;
		put = pg_pwrite(output->fd, p, size, at);
		if (put <= 0)
		{
			/* if write didn't set errno, assume problem is no disk space */
			output->error = errno != 0 ? errno : ENOSPC;
			return;
		}
		p += put;
		at += put;
		size -= put;
	}
}

void
WarmFlush(WarmOutput *output)
{
	COMP_CRC32C(output->crc, output->data, output->used);
	WarmWriteAt(output, output->data, output->used, output->at);
	output->at += output->used;
	output->used = 0;
}

void
WarmPut(WarmOutput *output, const void *data, Size size)
{
	Assert(size <= WARM_OUTPUT_SIZE);
	if (output->used + size > WARM_OUTPUT_SIZE)
		WarmFlush(output);
	memcpy(output->data + output->used, data, size);
	output->used += size;
}

/* Where in the file the next byte will be. */
uint64
WarmPlaceOf(const WarmOutput *output)
{
	return output->at + output->used;
}
