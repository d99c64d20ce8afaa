/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  Who has had the data directory, and the file with the SSD's pages.
 *
 * What a server knows of the SSD holds for the next one only if nobody else has
 * changed the data directory meanwhile: the checksum of the control file, which
 * everybody writes who starts a server or rewrites files, must be that of the last
 * control file that was written by this server.  Nor may anybody else have used
 * the file with the pages: who does removes the table (saved.c), and leaves a
 * mark of its own.
 *
 * src/backend/storage/ssdtier/owner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "storage/ssd_tier_internals.h"

/* Is this a file of the server's account alone?  If so, says how large it is. */
bool
SsdTierIsPrivate(int fd, off_t * size)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
		status.st_uid != geteuid() ||
		(status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return false;
	*size = status.st_size;
	return true;
}

/* ---- the data directory ---- */

/* Has nobody but this owner changed the data directory? */
bool
SsdTierOwnerIsPresent(const SsdTierOwner *owner)
{
	return owner->system == GetSystemIdentifier() &&
		owner->control == GetControlFileChecksum();
}

/* This server has written the control file, or is about to begin. */
void
SsdTierFollowControlFile(void)
{
	if (SsdTierConfigured)
		SsdTier.shared->owner = (SsdTierOwner)
	{
		GetSystemIdentifier(), GetControlFileChecksum()
	};
}

/* ---- the file with the pages ---- */

#define MARK_NAME "tidepool.ssd.owner"
#define MARK_MAGIC "TPSSDOWN"

typedef struct Mark
{
	char		magic[8];
	uint64		number;			/* known to this server alone */
} Mark;

static const char *
mark_name(void)
{
	static char name[MAXPGPATH];

	snprintf(name, sizeof(name), "%s/%s", ssd_tier_path, MARK_NAME);
	return name;
}

static bool
read_mark(Mark *mark)
{
	int			fd = open(mark_name(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	off_t		length;
	bool		found;

	if (fd < 0)
		return false;
	found = SsdTierIsPrivate(fd, &length) && length == sizeof(*mark) &&
		read(fd, mark, sizeof(*mark)) == sizeof(*mark) &&
		memcmp(mark->magic, MARK_MAGIC, sizeof(mark->magic)) == 0;
	close(fd);
	return found;
}

/* In place of what is there, whosever it is.  False, with errno, if that fails. */
static bool
write_mark(const Mark *mark)
{
	ssize_t		bytes;
	int			error;
	int			fd;

	(void) unlink(mark_name());
	fd = open(mark_name(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  S_IRUSR | S_IWUSR);
	if (fd < 0)
		return false;
	bytes = write(fd, mark, sizeof(*mark));
	error = bytes < 0 ? errno : ENOSPC;
	close(fd);
	errno = error;
	return bytes == sizeof(*mark);
}

/* Is the mark this server's?  Ask with a lock of the file with the pages. */
bool
SsdTierHasMark(void)
{
	Mark		mark;

	return SsdTier.shared->mark != 0 && read_mark(&mark) &&
		mark.number == SsdTier.shared->mark;
}

/*
 * This server has the file with the pages for itself now: leave a mark.  If
 * another one has left its own since, what the slots had is lost.  Returns false,
 * with errno, if the mark cannot be left.
 */
bool
SsdTierMark(void)
{
	SsdTierShared *shared = SsdTier.shared;
	Mark		mark;

	if (shared->mark != 0 && !SsdTierHasMark())
		SsdTierDistrust();
	memcpy(mark.magic, MARK_MAGIC, sizeof(mark.magic));
	if (!pg_strong_random(&mark.number, sizeof(mark.number)))
	{
		errno = EAGAIN;
		return false;
	}
	mark.number |= 1;			/* 0 is none */
	shared->mark = write_mark(&mark) ? mark.number : 0;
	return shared->mark != 0;
}
