/*
 * slow_disk.c
 *	  A disk with one arm, for bench/devices.py: a FUSE file system with a single
 *	  file, "disk", that takes as long as such a disk would.
 *
 *	  slow_disk BACKING SHARED MOUNTPOINT
 *
 * What is read from the disk and written to it is in the file BACKING.  Both
 * sides map the file SHARED (struct disk): the bench says there what the disk
 * is like, which holds from the next request on, and the disk what it has done.
 *
 * The model.  Requests are served one at a time, in the order in which they
 * come.  A request costs its bytes at the disk's bandwidth, after the arm has
 * got there.  To get ahead by little, the arm waits until that has passed below
 * it, at the same bandwidth, if that takes less than a seek; anywhere else it
 * seeks, always for the same time.  Nothing is cached, nothing reordered: a write
 * costs as much as a read.  Flushing costs nothing, since nothing is held back.
 * With a bandwidth of 0 requests cost nothing at all and are not counted.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LARGEST_REQUEST (1 << 20)
#define SECOND INT64_C(1000000000)

struct work
{
	uint64_t	requests;
	uint64_t	bytes;
	uint64_t	nanoseconds;	/* for which the arm was busy */
	uint64_t	seeks;
};

struct disk
{
	uint64_t	seek;			/* nanoseconds */
	uint64_t	bandwidth;		/* bytes a second; 0: as fast as it can be had */
	struct work reads;
	struct work writes;
};

static struct disk *disk;
static int	backing;
static off_t size;

/* Where the arm is, and when it will have served all that has come so far. */
static pthread_mutex_t arm = PTHREAD_MUTEX_INITIALIZER;
static off_t position;
static int64_t served;

static int64_t
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* Wait for as long as the disk would take for a request. */
static void
serve(struct work *work, off_t offset, size_t bytes)
{
	uint64_t	bandwidth = disk->bandwidth;
	int64_t		seek = (int64_t) disk->seek;
	int64_t		cost;
	int64_t		end;
	struct timespec until;

	if (bandwidth == 0)
		return;
	pthread_mutex_lock(&arm);
	cost = (int64_t) ((double) (offset - position) / (double) bandwidth * SECOND);
	if (cost < 0 || cost > seek)
	{
		cost = seek;
		work->seeks++;
	}
	cost += (int64_t) ((double) bytes / (double) bandwidth * SECOND);
	end = now();
	if (served > end)
		end = served;
	end += cost;
	served = end;
	position = offset + (off_t) bytes;
	work->requests++;
	work->bytes += bytes;
	work->nanoseconds += (uint64_t) cost;
	pthread_mutex_unlock(&arm);

	until.tv_sec = end / SECOND;
	until.tv_nsec = end % SECOND;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static bool
is_disk(const char *path)
{
	return strcmp(path, "/disk") == 0;
}

static int
disk_getattr(const char *path, struct stat *status, struct fuse_file_info *file)
{
	(void) file;
	memset(status, 0, sizeof(*status));
	if (strcmp(path, "/") == 0)
	{
		status->st_mode = S_IFDIR | 0700;
		status->st_nlink = 2;
		return 0;
	}
	if (!is_disk(path))
		return -ENOENT;
	status->st_mode = S_IFREG | 0600;
	status->st_nlink = 1;
	status->st_size = size;
	return 0;
}

static int
disk_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
			 struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	(void) path;
	(void) offset;
	(void) file;
	(void) flags;
	fill(buffer, "disk", NULL, 0, 0);
	return 0;
}

/* Around the operating system's cache. */
static int
disk_open(const char *path, struct fuse_file_info *file)
{
	if (!is_disk(path))
		return -ENOENT;
	file->direct_io = 1;
	return 0;
}

static int
disk_read(const char *path, char *buffer, size_t bytes, off_t offset,
		  struct fuse_file_info *file)
{
	ssize_t		done;

	(void) path;
	(void) file;
	serve(&disk->reads, offset, bytes);
	done = pread(backing, buffer, bytes, offset);
	return done < 0 ? -errno : (int) done;
}

static int
disk_write(const char *path, const char *buffer, size_t bytes, off_t offset,
		   struct fuse_file_info *file)
{
	ssize_t		done;

	(void) path;
	(void) file;
	serve(&disk->writes, offset, bytes);
	done = pwrite(backing, buffer, bytes, offset);
	return done < 0 ? -errno : (int) done;
}

static int
disk_fsync(const char *path, int only_data, struct fuse_file_info *file)
{
	(void) path;
	(void) only_data;
	(void) file;
	return 0;
}

static void *
disk_init(struct fuse_conn_info *connection, struct fuse_config *configuration)
{
	(void) configuration;
	connection->max_read = LARGEST_REQUEST;
	connection->max_write = LARGEST_REQUEST;
	return NULL;
}

static const struct fuse_operations operations = {
	.getattr = disk_getattr,
	.readdir = disk_readdir,
	.open = disk_open,
	.read = disk_read,
	.write = disk_write,
	.fsync = disk_fsync,
	.init = disk_init,
};

int
main(int argc, char **argv)
{
	struct stat status;
	int			shared;
	char		limit[32];
	char	   *arguments[] = {argv[0], argc == 4 ? argv[3] : NULL, "-f", "-o", limit};

	if (argc != 4)
	{
		fprintf(stderr, "usage: %s BACKING SHARED MOUNTPOINT\n", argv[0]);
		return 2;
	}
	backing = open(argv[1], O_RDWR | O_CLOEXEC);
	if (backing < 0 || fstat(backing, &status) != 0)
	{
		perror(argv[1]);
		return 1;
	}
	size = status.st_size;
	shared = open(argv[2], O_RDWR | O_CLOEXEC);
	disk = mmap(NULL, sizeof(*disk), PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
	if (shared < 0 || disk == MAP_FAILED)
	{
		perror(argv[2]);
		return 1;
	}
	/* a sleep is to end when it should; threads inherit this */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	snprintf(limit, sizeof(limit), "max_read=%d", LARGEST_REQUEST);
	return fuse_main(5, arguments, &operations, NULL);
}
