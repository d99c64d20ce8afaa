/*-------------------------------------------------------------------------
 *
 * file.c
 *	  The file on the SSD: a slot of BLCKSZ bytes for each page, and no more.
 *
 * The writer makes the file and holds a lock on it, so that no two servers
 * share one.  It publishes which file it is.  Other processes open it when they
 * first need it, and take no other file in its place.
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
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
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

/* The writer's, which holds the lock. */
static int	locked_file = -1;

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
		SsdTier.shared->warm = false;
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
	can = pg_pread(fd, block.data, BLCKSZ, 0) == BLCKSZ;
	close(fd);
	return can;
}

static bool
open_and_lock(void)
{
	if (!is_absolute_path(ssd_tier_path))
		return complain("\"bufferpool.ssd_path\" must be an absolute path", NULL);
	if (is_in_data_directory())
		return complain("it is in the data directory",
						"Backups would copy it. Name a directory on the SSD.");
	if (locked_file >= 0)
		close(locked_file);
	locked_file = open(SsdTierFileName(),
					   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
					   S_IRUSR | S_IWUSR);
	if (locked_file < 0)
		return complain(strerror(errno), NULL);
	if (flock(locked_file, LOCK_EX | LOCK_NB) != 0)
		return complain(errno == EWOULDBLOCK ? "another server uses it" : strerror(errno),
						errno == EWOULDBLOCK ?
						"Give each server a directory of its own in \"bufferpool.ssd_path\"." : NULL);

	/* another server that had the file must not believe what it has saved */
	SsdTierRemoveTable();
	if (!SsdTierMark())
		return complain(strerror(errno), NULL);
	return is_ours(locked_file);
}

/* The file has room for so many slots. */
static bool
allocate(uint32 slots)
{
	off_t		size = offset_of(slots);
	struct stat status;
	int			error;

	if (fstat(locked_file, &status) != 0)
		return complain(strerror(errno), NULL);
	if (status.st_size > size && ftruncate(locked_file, size) != 0)
		return complain(strerror(errno), NULL);
	do
		error = posix_fallocate(locked_file, 0, size);
	while (error == EINTR);
	if (error != 0)
		return complain(strerror(error),
						error == ENOSPC ? "Make room, or lower \"bufferpool.ssd_size\"." : NULL);
	return true;
}

/*
 * Make the file, or give it another size.  Called by the writer.  Returns false
 * if that is impossible, and has said why.
 */
bool
SsdTierMakeFile(uint32 slots)
{
	bool		anew = pg_atomic_read_u32(&SsdTier.shared->status) != SSD_TIER_ON;

	if (anew && !open_and_lock())
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

/*
 * This process's descriptor of the tier's file, or -1: it cannot be opened, or
 * another file is in its place, which has been counted.
 */
int
SsdTierFile(void)
{
	const SsdTierShared *shared = SsdTier.shared;
	uint32		number = pg_atomic_read_u32(&SsdTier.shared->file);
	struct stat status;

	if (likely(file >= 0 && file_number == number))
		return file;
	if (file >= 0)
		close(file);
	else
		ReserveExternalFD();
	pg_read_barrier();
	file_number = number;
	file = BasicOpenFile(SsdTierFileName(), O_RDWR | O_NOFOLLOW | O_CLOEXEC |
						 (shared->direct ? O_DIRECT : 0));
	if (file < 0)
		SsdTierError(SSD_TIER_READ_ERRORS, errno);
	else if (fstat(file, &status) != 0 || status.st_dev != shared->device ||
			 status.st_ino != shared->inode)
	{
		close(file);
		file = -1;
		SsdTierError(SSD_TIER_READ_ERRORS, ESTALE);
	}
	if (file < 0)
		ReleaseExternalFD();
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
