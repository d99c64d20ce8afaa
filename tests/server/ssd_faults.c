/*
 * ssd_faults.c
 *	  A library to preload: makes an SSD that fails.
 *
 * Reads and writes of files named tidepool.ssd fail at random, in the ways and
 * with the rates that a file of settings says, which the test maps and changes
 * while the server runs.  The random numbers depend on the seed in it and on how
 * many calls there have been.  Counts what it has done.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum
{
	READ_EIO,					/* a read fails */
	READ_SHORT,					/* it gives only a part */
	READ_FLIP,					/* a bit is wrong */
	READ_SHIFTED,				/* it gives another page */
	WRITE_EIO,					/* a write fails */
	WRITE_SHORT,				/* only a part is written, and it says so */
	WRITE_ENOSPC,
	WRITE_EROFS,				/* the file system has become read-only */
	WRITE_LOST,					/* it succeeds, but the old page stays */
	WRITE_TORN,					/* only a part of the page arrives */
	NO_SPACE,					/* the file gets a part of the room that it is
								 * to have */
	READ_SLOW,					/* a read takes SLOW_READ_MICROSECONDS longer */
	WRITE_SLOW,					/* likewise */
	GONE,						/* the device is not there: nothing can be
								 * opened, read or written */
	KINDS
};

typedef struct Faults
{
	uint64_t	seed;
	uint64_t	calls;
	uint32_t	rates[KINDS];	/* of 65536 calls */
	uint32_t	done[KINDS];
} Faults;

static Faults *faults;

#define SLOW_READ_MICROSECONDS 5000
#define SLOW_WRITE_MICROSECONDS 10000

#define MAX_FDS 65536
static unsigned char is_ssd[MAX_FDS];

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("SSD_FAULTS");
	int			fd = path == NULL ? -1 : open(path, O_RDWR);

	if (fd < 0)
		return;
	faults = mmap(NULL, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (faults == MAP_FAILED)
		faults = NULL;
	close(fd);
}

/* The next function of this name: the C library's. */
#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static bool
is_tier(const char *path)
{
	size_t		length = strlen(path);

	return length >= 12 && strcmp(path + length - 12, "tidepool.ssd") == 0;
}

static int
opened(int fd, const char *path)
{
	if (fd >= 0 && fd < MAX_FDS)
		is_ssd[fd] = is_tier(path);
	return fd;
}

/* Shall this call fail in this way?  The caller knows that it is the tier's. */
static bool
chosen(int kind)
{
	uint64_t	x;

	if (faults == NULL || faults->rates[kind] == 0)
		return false;
	x = faults->seed + __atomic_fetch_add(&faults->calls, 1, __ATOMIC_RELAXED);
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	if ((x >> 48) >= faults->rates[kind])
		return false;
	__atomic_fetch_add(&faults->done[kind], 1, __ATOMIC_RELAXED);
	return true;
}

static bool
strikes(int fd, int kind)
{
	return fd >= 0 && fd < MAX_FDS && is_ssd[fd] && chosen(kind);
}

static int
fail(int error)
{
	errno = error;
	return -1;
}

int
open(const char *path, int flags,...)
{
	va_list		arguments;
	mode_t		mode;

	va_start(arguments, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (is_tier(path) && chosen(GONE))
		return fail(ENODEV);
	return opened(NEXT(open) (path, flags, mode), path);
}

int
open64(const char *path, int flags,...)
{
	va_list		arguments;
	mode_t		mode;

	va_start(arguments, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (is_tier(path) && chosen(GONE))
		return fail(ENODEV);
	return opened(NEXT(open64) (path, flags, mode), path);
}

/* ---- reads ---- */

ssize_t
pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	ssize_t		bytes;

	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (strikes(fd, READ_EIO))
		return fail(EIO);
	if (strikes(fd, READ_SLOW))
		usleep(SLOW_READ_MICROSECONDS);
	if (strikes(fd, READ_SHORT))
		size /= 2;
	if (offset > 0 && strikes(fd, READ_SHIFTED))
		offset -= (off64_t) size;
	bytes = NEXT(pread64) (fd, buffer, size, offset);
	if (bytes > 0 && strikes(fd, READ_FLIP))
		((unsigned char *) buffer)[faults->calls % (size_t) bytes] ^= 1;
	return bytes;
}

ssize_t
pread(int fd, void *buffer, size_t size, off_t offset)
{
	return pread64(fd, buffer, size, offset);
}

ssize_t
preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	ssize_t		bytes;

	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (strikes(fd, READ_EIO))
		return fail(EIO);
	if (strikes(fd, READ_SLOW))
		usleep(SLOW_READ_MICROSECONDS);
	if (count > 1 && strikes(fd, READ_SHORT))
		count /= 2;
	if (offset > 0 && strikes(fd, READ_SHIFTED))
		offset -= (off64_t) parts[0].iov_len;
	bytes = NEXT(preadv64) (fd, parts, count, offset);
	if (bytes > 0 && strikes(fd, READ_FLIP))
		((unsigned char *) parts[0].iov_base)[faults->calls % parts[0].iov_len] ^= 1;
	return bytes;
}

ssize_t
preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	return preadv64(fd, parts, count, offset);
}

/* ---- writes ---- */

ssize_t
pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (strikes(fd, WRITE_SLOW))
		usleep(SLOW_WRITE_MICROSECONDS);
	if (strikes(fd, WRITE_EIO))
		return fail(EIO);
	if (strikes(fd, WRITE_ENOSPC))
		return fail(ENOSPC);
	if (strikes(fd, WRITE_EROFS))
		return fail(EROFS);
	if (strikes(fd, WRITE_SHORT))
		return NEXT(pwrite64) (fd, buffer, size / 2, offset);
	if (strikes(fd, WRITE_LOST))
		return (ssize_t) size;
	if (strikes(fd, WRITE_TORN))
	{
		(void) NEXT(pwrite64) (fd, buffer, size / 2, offset);
		return (ssize_t) size;
	}
	return NEXT(pwrite64) (fd, buffer, size, offset);
}

ssize_t
pwrite(int fd, const void *buffer, size_t size, off_t offset)
{
	return pwrite64(fd, buffer, size, offset);
}

/* ---- room ---- */

int
posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	if (size > 0 && strikes(fd, NO_SPACE))
	{
		(void) NEXT(posix_fallocate64) (fd, offset, size / 2);
		return ENOSPC;
	}
	return NEXT(posix_fallocate64) (fd, offset, size);
}

int
posix_fallocate(int fd, off_t offset, off_t size)
{
	return posix_fallocate64(fd, offset, size);
}
