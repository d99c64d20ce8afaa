/*
 * ssd_faults.c
 *	  A library to preload: makes an SSD that fails, and a slow disk.
 *
 * Reads and writes of files named tidepool.ssd fail at random, in the ways and
 * with the rates that a file of settings says, which the test maps and changes
 * while the server runs.  The random numbers depend on the seed in it and on how
 * many calls there have been.  Counts what it has done.
 *
 * Reads by io_uring fail in the same ways: entries of the submission queue are
 * changed before the kernel sees them, and bits after it has read.
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
#if __has_include(<liburing.h>)
#include <liburing.h>
#define HAVE_IO_URING
#endif

enum
{
	READ_EIO,					/* a read fails */
	READ_SHORT,					/* it gives only a part */
	READ_NOTHING,				/* it gives no byte, as behind the end */
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
	ROOM_HELD,					/* to make room waits until the rate is 0 */
	DISK_SLOW,					/* a write to another file takes
								 * SLOW_DISK_MICROSECONDS longer */
	KINDS
};

typedef struct Faults
{
	uint64_t	seed;
	uint64_t	calls;
	uint32_t	rates[KINDS];	/* of 65536 calls */
	uint32_t	done[KINDS];
	uint32_t	in_ring[KINDS]; /* those of them that struck io_uring */
	uint32_t	only_in_ring;	/* other reads are spared */
} Faults;

static Faults *faults;

#define SLOW_READ_MICROSECONDS 5000
#define SLOW_WRITE_MICROSECONDS 10000
#define SLOW_DISK_MICROSECONDS 5000

#define MAX_FDS 65536
static unsigned char is_ssd[MAX_FDS];

/*
 * A bit to flip when a read by io_uring is complete.  Any process can complete
 * it, so these are in memory that all processes share; the buffer and the I/O's
 * user data mean the same in all of them.
 */
typedef struct Flip
{
	uint64_t	read;			/* the user data of the read; 0: none;
								 * CLAIMED: byte is about to be set */
	unsigned char *byte;
} Flip;

#define CLAIMED UINT64_MAX
#define FLIP_BITS 10			/* of the index, a hash of the user data */
static Flip *flips;

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
	flips = mmap(NULL, sizeof(Flip) << FLIP_BITS, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (flips == MAP_FAILED)
		abort();
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

	if (faults != NULL && faults->only_in_ring)
		return NEXT(pread64) (fd, buffer, size, offset);
	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (strikes(fd, READ_EIO))
		return fail(EIO);
	if (strikes(fd, READ_SLOW))
		usleep(SLOW_READ_MICROSECONDS);
	if (strikes(fd, READ_NOTHING))
		return 0;
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

	if (faults != NULL && faults->only_in_ring)
		return NEXT(preadv64) (fd, parts, count, offset);
	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (strikes(fd, READ_EIO))
		return fail(EIO);
	if (strikes(fd, READ_SLOW))
		usleep(SLOW_READ_MICROSECONDS);
	if (strikes(fd, READ_NOTHING))
		return 0;
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

/* ---- reads by io_uring: the tier writes with pwrite() under any io_method ---- */

#ifdef HAVE_IO_URING

#define BEYOND_END (UINT64_C(1) << 40)	/* of any test's file */

static bool
strikes_in_ring(int fd, int kind)
{
	if (!strikes(fd, kind))
		return false;
	__atomic_fetch_add(&faults->in_ring[kind], 1, __ATOMIC_RELAXED);
	return true;
}

static Flip *
flip_of(uint64_t read)
{
	return &flips[read * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FLIP_BITS)];
}

/* Flip a bit of this part of a read, unless a read in flight has its place. */
static void
flip_later(const struct io_uring_sqe *read, struct iovec part)
{
	Flip	   *flip = flip_of(read->user_data);
	uint64_t	none = 0;

	if (!__atomic_compare_exchange_n(&flip->read, &none, CLAIMED, false,
									 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (!strikes_in_ring(read->fd, READ_FLIP))
	{
		__atomic_store_n(&flip->read, 0, __ATOMIC_RELEASE);
		return;
	}
	flip->byte = (unsigned char *) part.iov_base + faults->calls % part.iov_len;
	__atomic_store_n(&flip->read, read->user_data, __ATOMIC_RELEASE);
}

static void
flip_now(const struct io_uring_cqe *completed)
{
	Flip	   *flip = flip_of(completed->user_data);

	if (__atomic_load_n(&flip->read, __ATOMIC_ACQUIRE) != completed->user_data)
		return;
	if (completed->res > 0)
		*flip->byte ^= 1;
	__atomic_store_n(&flip->read, 0, __ATOMIC_RELEASE);
}

/* The length of an entry is in bytes, or in parts if there are several. */
static void
strike_read(struct io_uring_sqe *read)
{
	void	   *address = (void *) (uintptr_t) read->addr;
	struct iovec first = {.iov_base = address, .iov_len = read->len};

	if (read->opcode == IORING_OP_READV)
		first = *(const struct iovec *) address;
	if (strikes_in_ring(read->fd, GONE) || strikes_in_ring(read->fd, READ_EIO))
	{
		read->fd = -1;			/* the read completes with EBADF */
		return;
	}
	if (strikes_in_ring(read->fd, READ_SLOW))
		usleep(SLOW_READ_MICROSECONDS);
	if (strikes_in_ring(read->fd, READ_NOTHING))
		read->off = BEYOND_END;
	if (read->len > 1 && strikes_in_ring(read->fd, READ_SHORT))
		read->len /= 2;
	if (read->off > 0 && strikes_in_ring(read->fd, READ_SHIFTED))
		read->off -= first.iov_len;
	flip_later(read, first);
}

int
io_uring_submit(struct io_uring *ring)
{
	struct io_uring_sq *queue = &ring->sq;

	for (unsigned i = queue->sqe_head; faults != NULL && i != queue->sqe_tail; i++)
	{
		/* not ring_mask, which older versions of the library do not have */
		struct io_uring_sqe *entry = &queue->sqes[i & *queue->kring_mask];

		if (entry->opcode == IORING_OP_READ || entry->opcode == IORING_OP_READV)
			strike_read(entry);
	}
	return NEXT(io_uring_submit) (ring);
}

/* The server takes completions from here only, each once. */
unsigned
io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **completed,
						unsigned count)
{
	count = NEXT(io_uring_peek_batch_cqe) (ring, completed, count);
	for (unsigned i = 0; faults != NULL && i < count; i++)
		flip_now(completed[i]);
	return count;
}

#endif

/* ---- writes ---- */

ssize_t
pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	if (strikes(fd, GONE))
		return fail(ENODEV);
	if (fd >= 0 && fd < MAX_FDS && !is_ssd[fd] && chosen(DISK_SLOW))
		usleep(SLOW_DISK_MICROSECONDS);
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
	while (strikes(fd, ROOM_HELD))
		usleep(1000);
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
