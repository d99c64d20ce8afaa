/*
 * machine.c
 *	  A library to preload: a machine that is slow, or has little shared memory.
 *
 * What it is like is in a file of settings, which the test maps and changes while
 * the server runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct Machine
{
	uint32_t	slow_process;	/* whose reads and writes of databases' files
								 * are slow; 0: all processes' */
	uint32_t	read_time;		/* microseconds */
	uint32_t	write_time;
	uint32_t	list_time;		/* of a read of the list for a warm start */
	uint32_t	lookup_time;	/* of a host's name, milliseconds */
	uint32_t	list_fails;		/* reads of more than 4 kB of that list do */
	uint64_t	shared_memory;	/* bytes of the largest segment that a warm
								 * start can have; 0: any */
	uint64_t	tier_memory;	/* likewise, an SSD tier, or anybody by mmap
								 * without a file */
} Machine;

static const volatile Machine *machine;

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("TEST_MACHINE");
	int			fd = path == NULL ? -1 : open(path, O_RDONLY);
	void	   *map;

	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(Machine), PROT_READ, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		machine = map;
	close(fd);
}

/* The next function of this name: the C library's. */
#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static bool
is_warmer(void)
{
	char		title[256];
	int			fd = open("/proc/self/cmdline", O_RDONLY);
	ssize_t		length = fd < 0 ? 0 : read(fd, title, sizeof(title) - 1);

	if (fd >= 0)
		close(fd);
	title[length < 0 ? 0 : length] = '\0';
	return strstr(title, "buffer pool warmer") != NULL;
}

/* Whatever signals arrive. */
static void
take(uint64_t nanoseconds)
{
	struct timespec left = {nanoseconds / 1000000000, nanoseconds % 1000000000};

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static bool
is_in(int fd, const char *directory)
{
	char		link[64];
	char		path[512];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	return strstr(path, directory) != NULL;
}

static void
transfer(int fd, uint32_t microseconds)
{
	if (microseconds > 0 && is_in(fd, "/base/") &&
		(machine->slow_process == 0 ||
		 machine->slow_process == (uint32_t) getpid()))
		take(UINT64_C(1000) * microseconds);
}

/* ---- reads and writes ---- */

ssize_t
pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	if (machine != NULL)
		transfer(fd, machine->read_time);
	if (machine != NULL && machine->list_time > 0 &&
		is_in(fd, "/pg_bufferpool_warm"))
		take(UINT64_C(1000) * machine->list_time);
	if (machine != NULL && machine->list_fails && size > 4096 &&
		is_in(fd, "/pg_bufferpool_warm"))
	{
		errno = EIO;
		return -1;
	}
	return NEXT(pread64) (fd, buffer, size, offset);
}

ssize_t
preadv64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	if (machine != NULL)
		transfer(fd, machine->read_time);
	return NEXT(preadv64) (fd, parts, count, offset);
}

ssize_t
pwrite64(int fd, const void *buffer, size_t size, off64_t offset)
{
	if (machine != NULL)
		transfer(fd, machine->write_time);
	return NEXT(pwrite64) (fd, buffer, size, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
	if (machine != NULL)
		transfer(fd, machine->write_time);
	return NEXT(pwritev64) (fd, parts, count, offset);
}

/* On 64-bit systems the same functions. */
ssize_t		pread(int fd, void *buffer, size_t size, off_t offset)
			__attribute__((alias("pread64")));
ssize_t		preadv(int fd, const struct iovec *parts, int count, off_t offset)
			__attribute__((alias("preadv64")));
ssize_t		pwrite(int fd, const void *buffer, size_t size, off_t offset)
			__attribute__((alias("pwrite64")));
ssize_t		pwritev(int fd, const struct iovec *parts, int count, off_t offset)
			__attribute__((alias("pwritev64")));

/* ---- shared memory, and names ---- */

int
posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	if (machine != NULL && machine->shared_memory > 0 &&
		(uint64_t) size > machine->shared_memory &&
		is_in(fd, "/dev/shm/PostgreSQL.") && is_warmer())
		return ENOSPC;
	if (machine != NULL && machine->tier_memory > 0 &&
		(uint64_t) size > machine->tier_memory && is_in(fd, "/dev/shm/tidepool."))
		return ENOSPC;
	return NEXT(posix_fallocate64) (fd, offset, size);
}

int			posix_fallocate(int fd, off_t offset, off_t size)
			__attribute__((alias("posix_fallocate64")));

void *
mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
	if (machine != NULL && machine->tier_memory > 0 &&
		size > machine->tier_memory && (flags & MAP_ANONYMOUS) != 0)
	{
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return NEXT(mmap64) (address, size, protection, flags, fd, offset);
}

void	   *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
			__attribute__((alias("mmap64")));

int
getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
			struct addrinfo **found)
{
	bool		is_name = host != NULL &&
		(hints == NULL || (hints->ai_flags & AI_NUMERICHOST) == 0);

	for (uint32_t taken = 0; is_name && machine != NULL &&
		 taken < machine->lookup_time; taken += 10)
		take(10000000);
	return NEXT(getaddrinfo) (host, port, hints, found);
}
