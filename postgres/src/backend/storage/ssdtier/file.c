/*-------------------------------------------------------------------------
 *
 * file.c
 *	  The file on the SSD: a slot of BLCKSZ bytes for each page, and no more.
 *
 * The writer makes the file and publishes which one it is.  Other processes open
 * it when they first need it, and take no other file in its place.
 *
 * No two servers share a file.  Who claims one has it locked for itself alone while
 * it leaves its mark beside it (owner.c), and from then on as a shared one.  So has
 * each process of the server that has the file open, and it looks for the mark when
 * it has its lock.  So nobody can claim the file while a single process of the
 * server has it, whatever becomes of the writer.
 *
 * What is read back is compared with a checksum that is kept in memory.  It
 * covers the page's identity, so a page of another slot, or one that was in
 * this slot before, is not mistaken for the right one.
 *
 * src/backend/storage/ssdtier/file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/aio.h"
#include "storage/fd.h"
#include "storage/ssd_tier_internals.h"
#include "utils/wait_event.h"

#define FILE_NAME "tidepool.ssd"

#ifndef O_DIRECT
#define O_DIRECT 0
#endif

/* Of this process. */
static int	file = -1;
static uint32 file_number;		/* which of the tier's files it is */

/* The writer's, which knows no other one in its place, either. */
static int	claimed_file = -1;

const char *
SsdTierFileName(void)
{
	static char name[MAXPGPATH];

	snprintf(name, sizeof(name), "%s/%s", ssd_tier_path, FILE_NAME);
	return name;
}

static off_t
offset_of(uint32 slot)
{
	return (off_t) slot * BLCKSZ;
}

/* ---- making it ---- */

static bool
complain(const char *problem, const char *hint)
{
	ereport(LOG,
			(errmsg("cannot use \"%s\" for the SSD tier: %s", SsdTierFileName(),
					problem),
			 hint == NULL ? 0 : errhint("%s", hint)));
	return false;
}

static bool
is_in_data_directory(void)
{
	char		path[PATH_MAX];
	char		data[PATH_MAX];
	size_t		length;

	if (realpath(ssd_tier_path, path) == NULL || realpath(DataDir, data) == NULL)
		return false;
	length = strlen(data);
	return strncmp(path, data, length) == 0 &&
		(path[length] == '/' || path[length] == '\0');
}

/*
 * Is this a file that nobody else can have prepared?  The directory may be one
 * in which others can make files.
 */
static bool
is_ours(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return complain(strerror(errno), NULL);
	if (!S_ISREG(status.st_mode))
		return complain("it is not a regular file", "Remove it, or name another directory.");
	if (status.st_uid != geteuid() || status.st_nlink != 1 ||
		(status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return complain("others have access to it, or have made it",
						"Remove it, or name another directory.");
	if (SsdTier.shared->device != status.st_dev ||
		SsdTier.shared->inode != status.st_ino ||
		status.st_size < offset_of(SsdTier.shared->slots))
		SsdTierDistrust();
	SsdTier.shared->device = status.st_dev;
	SsdTier.shared->inode = status.st_ino;
	return true;
}

/* Can pages be read around the operating system's cache? */
static bool
can_be_direct(void)
{
	static PGIOAlignedBlock block;
	int			fd;
	bool		can;

	if (O_DIRECT == 0)
		return false;
	fd = open(SsdTierFileName(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_DIRECT);
	if (fd < 0)
		return false;
	can = pg_pread(fd, block.data, BLCKSZ, 0) >= 0; /* 0: it has no pages yet */
	close(fd);
	return can;
}

/* As one of the processes of this server; the mark is looked at with the lock. */
static bool
share(int fd)
{
	return flock(fd, LOCK_SH | LOCK_NB) == 0 && SsdTierHasMark();
}

/*
 * Claim the file for this server, unless it has it: after errors, other processes
 * may not have let go of it yet.
 */
static bool
claim(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
	{
		/* another server that had the file must not believe what it has saved */
		SsdTierRemoveTable();
		if (!SsdTierMark())
			return complain(strerror(errno), NULL);
	}
	else if (errno != EWOULDBLOCK)
		return complain(strerror(errno), NULL);
	if (share(fd))
		return true;
	return complain("another server uses it",
					"Give each server a directory of its own in \"bufferpool.ssd_path\".");
}

static void
close_claimed(void)
{
	if (claimed_file >= 0)
		close(claimed_file);
	claimed_file = -1;
}

static bool
open_and_claim(void)
{
	if (!is_absolute_path(ssd_tier_path))
		return complain("\"bufferpool.ssd_path\" must be an absolute path", NULL);
	if (is_in_data_directory())
		return complain("it is in the data directory",
						"Backups would copy it. Name a directory on the SSD.");
	close_claimed();
	claimed_file = open(SsdTierFileName(),
						O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
						S_IRUSR | S_IWUSR);
	if (claimed_file < 0)
		return complain(strerror(errno), NULL);
	return claim(claimed_file) && is_ours(claimed_file);
}

/* Is this the file that the tier has? */
static bool
is_the_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_dev == SsdTier.shared->device &&
		status.st_ino == SsdTier.shared->inode;
}

/*
 * A writer takes over the file from one that has ended, while the tier is on.
 * Returns false if that is impossible: then the tier cannot stay on.
 */
bool
SsdTierInheritFile(void)
{
	close_claimed();
	claimed_file = open(SsdTierFileName(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (claimed_file < 0)
		return complain(strerror(errno), NULL);
	if (!is_the_file(claimed_file) || !share(claimed_file))
		return complain("it is another file, or another server has claimed it", NULL);
	return true;
}

/* Bytes that the file system can still give. */
static int64
free_space(void)
{
	struct statvfs system;

	return fstatvfs(claimed_file, &system) != 0 ? PG_INT64_MAX :
		(int64) system.f_bavail * (int64) system.f_frsize;
}

/*
 * The file has room for so many slots.  If that is impossible it stays as it
 * was: it must not take the last free space from others.
 */
static bool
allocate(uint32 slots)
{
	off_t		size = offset_of(slots);
	struct stat status;
	int			error = 0;

	if (fstat(claimed_file, &status) != 0)
		return complain(strerror(errno), NULL);
	if (status.st_size > size && ftruncate(claimed_file, size) != 0)
		return complain(strerror(errno), NULL);
	if ((int64) size - (int64) status.st_blocks * 512 > free_space())
		error = ENOSPC;
	else if (size > 0)
		do
			error = posix_fallocate(claimed_file, 0, size);
		while (error == EINTR);
	if (error == 0)
		return true;
	if (status.st_size < size)
		(void) ftruncate(claimed_file, status.st_size);
	return complain(strerror(error),
					error == ENOSPC ? "Make room, or lower \"bufferpool.ssd_size\"." : NULL);
}

/*
 * Make the file, or give it another size.  Called by the writer.  Returns false
 * if that is impossible, and has said why.
 */
bool
SsdTierMakeFile(uint32 slots)
{
	bool		anew = pg_atomic_read_u32(&SsdTier.shared->status) != SSD_TIER_ON;

	if (anew && !open_and_claim())
		return false;
	if (!allocate(slots))
		return false;
	if (anew)
	{
		SsdTier.shared->direct = can_be_direct();
		pg_atomic_fetch_add_u32(&SsdTier.shared->file, 1);
	}
	return true;
}

/* ---- using it ---- */

static void
close_file(void)
{
	pgaio_closing_fd(file);
	close(file);
	ReleaseExternalFD();
	file = -1;
}

/* While the tier is off, nobody keeps the file open who has an occasion to close it. */
void
SsdTierLetGoOfFile(void)
{
	if (unlikely(file >= 0))
		close_file();
}

/*
 * This process's descriptor of the tier's file, or -1: it cannot be opened, or is
 * not the one that this server has claimed, which has been counted.
 */
int
SsdTierFile(void)
{
	uint32		number = pg_atomic_read_u32(&SsdTier.shared->file);

	if (likely(file >= 0 && file_number == number))
		return file;
	SsdTierLetGoOfFile();
	pg_read_barrier();
	ReserveExternalFD();
	file_number = number;
	file = BasicOpenFile(SsdTierFileName(), O_RDWR | O_NOFOLLOW | O_CLOEXEC |
						 (SsdTier.shared->direct ? O_DIRECT : 0));
	if (file < 0)
	{
		ReleaseExternalFD();
		SsdTierError(SSD_TIER_READ_ERRORS, errno);
	}
	else if (!is_the_file(file) || !share(file))
	{
		close_file();
		SsdTierError(SSD_TIER_READ_ERRORS, ESTALE);
	}
	return file;
}

/* Of a page and its identity. */
pg_crc32c
SsdTierChecksum(const void *page, const RelFileLocator *locator,
				BlockNumber block)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, locator, sizeof(*locator));
	COMP_CRC32C(crc, &block, sizeof(block));
	COMP_CRC32C(crc, page, BLCKSZ);
	FIN_CRC32C(crc);
	return crc;
}

static bool
failed(SsdTierCounter counter, ssize_t bytes)
{
	if (bytes == BLCKSZ)
		return false;
	SsdTierError(counter, bytes < 0 ? errno : EIO);
	return true;
}

/* page is aligned for direct I/O.  Returns false after an error. */
bool
SsdTierReadSlot(uint32 slot, void *page)
{
	int			fd = SsdTierFile();
	ssize_t		bytes;

	if (fd < 0)
		return false;
	pgstat_report_wait_start(WAIT_EVENT_SSD_TIER_READ);
	bytes = pg_pread(fd, page, BLCKSZ, offset_of(slot));
	pgstat_report_wait_end();
	return !failed(SSD_TIER_READ_ERRORS, bytes);
}

/* Likewise. */
bool
SsdTierWriteSlot(uint32 slot, const void *page)
{
	int			fd = SsdTierFile();
	ssize_t		bytes;

	if (fd < 0)
		return false;
	pgstat_report_wait_start(WAIT_EVENT_SSD_TIER_WRITE);
	bytes = pg_pwrite(fd, page, BLCKSZ, offset_of(slot));
	pgstat_report_wait_end();
	return !failed(SSD_TIER_WRITE_ERRORS, bytes);
}
