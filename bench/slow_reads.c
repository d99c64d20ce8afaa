/*
 * slow_reads.c
 *	  A device that costs, for a server that is run with this library preloaded.
 *
 * Reads of a database's files take the time that one disk with one head would:
 * SLOW_DISK_SEEK microseconds, or as long as what lies between takes if the read
 * begins behind the last one, and a microsecond for each SLOW_DISK_RATE bytes.  Reads
 * of all processes wait for each other.  Where the bytes come from does not matter.
 *
 * With a SLOW_DISK_LATENCY it is a volume behind a network: a read comes so many
 * microseconds after its turn, while others have theirs, and its turn takes
 * SLOW_DISK_SEEK or as long as its bytes do, whichever is longer, wherever it lies.
 *
 * SLOW_DISK_STATE names a file that all processes map.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef struct disk
{
	_Atomic uint64_t free_at;	/* nanoseconds of the monotonic clock */
	_Atomic uint64_t file;		/* of the last read */
	_Atomic uint64_t end;		/* where it ended */
} disk;

static disk * the_disk;
static uint64_t seek_ns;
static uint64_t latency_ns;		/* 0: a disk with one head */
static double ns_per_byte;

static ssize_t (*real_pread) (int, void *, size_t, off_t);
static ssize_t (*real_preadv) (int, const struct iovec *, int, off_t);

__attribute__((constructor))
static void
begin(void)
{
	const char *path = getenv("SLOW_DISK_STATE");
	int			fd = path == NULL ? -1 : open(path, O_RDWR);

	real_pread = dlsym(RTLD_NEXT, "pread");
	real_preadv = dlsym(RTLD_NEXT, "preadv");
	if (fd < 0)
		return;
	seek_ns = strtoull(getenv("SLOW_DISK_SEEK"), NULL, 10) * 1000;
	latency_ns = strtoull(getenv("SLOW_DISK_LATENCY"), NULL, 10) * 1000;
	ns_per_byte = 1000 / strtod(getenv("SLOW_DISK_RATE"), NULL);
	the_disk = mmap(NULL, sizeof(disk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (the_disk == MAP_FAILED)
		the_disk = NULL;
	close(fd);
}

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void
sleep_until(uint64_t at)
{
	struct timespec t = {at / 1000000000, at % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
}

static int
is_relation(int fd, uint64_t *file)
{
	char		link[64];
	char		path[512];
	struct stat status;
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0 || fstat(fd, &status) != 0)
		return 0;
	path[length] = '\0';
	*file = status.st_ino;
	return strstr(path, "/base/") != NULL;
}

/* What it takes to get there: forward in the file no more than to read there. */
static uint64_t
way_to(uint64_t file, uint64_t offset)
{
	uint64_t	end = atomic_load(&the_disk->end);
	double		skip;

	if (atomic_exchange(&the_disk->file, file) != file || offset < end)
		return seek_ns;
	skip = (double) (offset - end) * ns_per_byte;
	return skip < (double) seek_ns ? (uint64_t) skip : seek_ns;
}

/* For how long a read keeps others waiting. */
static uint64_t
turn_of(uint64_t file, uint64_t offset, size_t size)
{
	uint64_t	transfer = (uint64_t) (size * ns_per_byte);

	if (latency_ns > 0)
		return transfer > seek_ns ? transfer : seek_ns;
	transfer += way_to(file, offset);
	atomic_store(&the_disk->end, offset + size);
	return transfer;
}

static void
pay(int fd, size_t size, off_t offset)
{
	uint64_t	file;
	uint64_t	cost;
	uint64_t	start;
	uint64_t	end;

	if (the_disk == NULL || !is_relation(fd, &file))
		return;
	cost = turn_of(file, (uint64_t) offset, size);
	start = atomic_load(&the_disk->free_at);
	do
		end = (start > now() ? start : now()) + cost;
	while (!atomic_compare_exchange_weak(&the_disk->free_at, &start, end));
	sleep_until(end + latency_ns);
}

ssize_t
pread(int fd, void *data, size_t size, off_t offset)
{
	pay(fd, size, offset);
	return real_pread(fd, data, size, offset);
}

ssize_t
preadv(int fd, const struct iovec *pieces, int count, off_t offset)
{
	size_t		size = 0;

	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	pay(fd, size, offset);
	return real_preadv(fd, pieces, count, offset);
}

/* What programs with large files call; on 64-bit systems the same functions. */
ssize_t		pread64(int fd, void *data, size_t size, off_t offset)
			__attribute__((alias("pread")));
ssize_t		preadv64(int fd, const struct iovec *pieces, int count, off_t offset)
			__attribute__((alias("preadv")));
