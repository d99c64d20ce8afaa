/*-------------------------------------------------------------------------
 *
 * warm_output.c
 *	  Write the file of a warm start anew.
 *
 * The new file takes the old one's place when it is complete and durable, so a
 * crash or a full disk leaves the old one.  One process at a time may do that.
 *
 * The first failure is kept, and nothing is written after it.
 *
 * src/backend/storage/bufferpool/warm_output.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "storage/fd.h"

/* ---- whose turn it is ---- */

/* Become the process that writes the file.  Fails if another one does. */
void
WarmClaimFile(void)
{
	uint32		writer = 0;

	if (!pg_atomic_compare_exchange_u32(&BufferPoolWarm->writer, &writer,
										MyProcPid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the list for a warm start is being written by process %u",
						writer)));
}

/* To be called at an exit, too.  A new file that was not kept goes. */
void
WarmReleaseFile(int code, Datum arg)
{
	(void) unlink(WARM_NEW_FILE);
	pg_atomic_write_u32(&BufferPoolWarm->writer, 0);
}

/* ---- the new file ---- */

static void
report_failure(int error)
{
	errno = error;
	ereport(WARNING,
			(errcode_for_file_access(),
			 errmsg("could not write file \"%s\": %m", WARM_NEW_FILE),
			 errdetail("The list for a warm start that was saved before is kept.")));
}

/* Begin the new file.  Returns false, with a warning, if that cannot be. */
bool
WarmBeginFile(WarmOutput *output)
{
	output->at = 0;
	output->used = 0;
	output->error = 0;
	(void) unlink(WARM_NEW_FILE);	/* of a process that was interrupted */
	output->fd = OpenTransientFilePerm(WARM_NEW_FILE,
									   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | PG_BINARY,
									   S_IRUSR | S_IWUSR);
	if (output->fd < 0)
		report_failure(errno);
	return output->fd >= 0;
}

/*
 * Put the new file in the old one's place.  Returns false, with a warning, if
 * the old one is still there.
 */
bool
WarmKeepFile(WarmOutput *output)
{
	if (output->error == 0 && pg_fsync(output->fd) != 0)
		output->error = errno;
	if (CloseTransientFile(output->fd) != 0 && output->error == 0)
		output->error = errno;
	if (output->error != 0)
		report_failure(output->error);
	else if (durable_rename(WARM_NEW_FILE, WARM_FILE, WARNING) == 0)
		return true;
	(void) unlink(WARM_NEW_FILE);
	return false;
}

/* Leave the old file where it is. */
void
WarmDropFile(WarmOutput *output)
{
	(void) CloseTransientFile(output->fd);
	(void) unlink(WARM_NEW_FILE);
}

/* ---- what is in it ---- */

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
