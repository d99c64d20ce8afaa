/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  The SSD tier's shared memory, which outlives a crash of the server.
 *
 * All that is shared about the tier lies in a segment of shared memory with a
 * name, which stays when the processes are gone.  What a slot's state says there
 * was true at every moment: it ceases to be VALID before the disk's page changes.
 * So the next server takes the segment over as it is.  If somebody died while
 * holding the lock, it takes over the VALID slots only.  When the operating system
 * has crashed there is no segment, and the tier begins empty: nobody knows then
 * what reached which device.
 *
 * After a clean stop there is a file instead (saved.c), and the segment is removed.
 *
 * Either is used only if nobody else has had the data directory or the file with
 * the pages meanwhile (owner.c).
 *
 * src/backend/storage/ssdtier/segment.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/ssd_tier_internals.h"

/* Bits of an LWLock's state: held in any mode, by any process. */
#define LOCK_HELD_MASK ((uint32) ((MAX_BACKENDS + 1) | MAX_BACKENDS))

static char *segment;
static Size segment_size;
static bool segment_has_name;

/* A name for this data directory and account. */
static const char *
segment_name(void)
{
	static char name[64];
	struct stat status;

	if (stat(DataDir, &status) != 0)
		return NULL;
	snprintf(name, sizeof(name), "/tidepool.%u.%llx.%llx", (unsigned) geteuid(),
			 (unsigned long long) status.st_dev,
			 (unsigned long long) status.st_ino);
	return name;
}

/*
 * Give the segment room.  What cannot be had must be missed now: a process that
 * touches it later would be killed.
 */
static bool
make_room(int fd, Size size)
{
	int			error;

	if (ftruncate(fd, 0) != 0)
		return false;
	do
		error = posix_fallocate(fd, 0, size);
	while (error == EINTR);
	errno = error;
	return error == 0;
}

static char *
map_segment(Size size, bool *old)
{
	const char *name = segment_name();
	off_t		old_size;
	int			fd = name == NULL ? -1 : shm_open(name, O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
	void	   *memory = MAP_FAILED;

	if (fd >= 0 && !SsdTierIsPrivate(fd, &old_size))
		errno = EACCES;
	else if (fd >= 0)
	{
		*old = old_size == (off_t) size;
		if (*old || make_room(fd, size))
			memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	segment_has_name = memory != MAP_FAILED;
	if (!segment_has_name)
	{
		int			error = errno;

		if (fd >= 0)
			shm_unlink(name);
		ereport(LOG,
				(errmsg("after a crash the SSD tier will begin empty: %s",
						strerror(error)),
				 errdetail("It needs %zu bytes of POSIX shared memory.", size)));
		*old = false;
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (fd >= 0)
		close(fd);
	if (memory != MAP_FAILED)
		return memory;
	ereport(WARNING,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("there is no SSD tier: could not map %zu bytes of shared memory: %m",
					size),
			 errhint("Lower \"%s\" or \"%s\".", "bufferpool.ssd_size",
					 "bufferpool.ssd_max_size")));
	return NULL;
}

/* The postmaster ends: keep the segment unless there is a file in its stead. */
static void
leave_segment(int code, Datum arg)
{
	if (segment_has_name && SsdTier.shared->saved)
		shm_unlink(segment_name());
}

/*
 * The tier's shared memory.  Called in the postmaster, which all processes
 * inherit it from; again after a crash of one of them.  *old: it has what it had
 * before, perhaps of another server.  NULL, after a warning, if there is none.
 */
char *
SsdTierMap(Size size, bool *old)
{
	*old = segment != NULL && segment_size == size;
	if (!*old)
	{
		segment = map_segment(size, old);
		segment_size = size;
		if (segment != NULL)
			on_proc_exit(leave_segment, 0);
	}
	return segment;
}

/* There is no tier, and no memory of one. */
void
SsdTierRemoveSegment(void)
{
	const char *name = segment_name();

	if (name != NULL)
		shm_unlink(name);
}

/* ---- taking over the segment ---- */

typedef struct FoundPage
{
	uint32		slot;
	uint32		relation;
	BlockNumber block;
	pg_crc32c	crc;
} FoundPage;

/*
 * The segment is not consistent: begin with an empty pool, and put back the
 * VALID slots.
 */
static void
rescue(void (*empty_pool) (void))
{
	uint32		slots = SsdTier.shared->slots;
	FoundPage  *pages = palloc_extended((Size) slots * sizeof(FoundPage),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	uint32		count = 0;

	for (uint32 slot = 0; pages != NULL && slot < slots; slot++)
		if (SsdTierDescribeSlot(slot, &pages[count].relation, &pages[count].block,
								&pages[count].crc))
			pages[count++].slot = slot;
	empty_pool();
	SsdTierEmptyDirectory();
	(void) SsdTierResize(slots);
	for (uint32 i = 0; i < count; i++)
	{
		RelFileLocator locator = SsdTier.relations[pages[i].relation].locator;

		SsdTierRestorePage(pages[i].slot, &locator, pages[i].block, pages[i].crc);
	}
	if (pages != NULL)
		pfree(pages);
}

/*
 * Take over a segment that a server has left, and which is of this data
 * directory and of the same shape.  empty_pool lets the core's pool begin anew,
 * without members.  A start that is killed in the middle of this leaves taking_over
 * set, and what there is then, nobody takes over.
 */
void
SsdTierTakeOver(void (*empty_pool) (void))
{
	bool		torn = (pg_atomic_read_u32(&SsdTier.shared->lock.state) &
						LOCK_HELD_MASK) != 0;

	SsdTier.shared->taking_over = true;
	pg_write_barrier();			/* before the lock forgets that it was held */
	LWLockInitialize(&SsdTier.shared->lock, LWTRANCHE_SSD_TIER);
	/* those who read from the disk then are gone */
	pg_atomic_write_u32(&SsdTier.shared->disk_reads, 0);
	if (!torn)
		SsdTierEndAll();
	if (torn || SsdTierCheck(NULL, NULL) > 0)
		rescue(empty_pool);
	SsdTier.shared->warm = true;
	pg_write_barrier();
	SsdTier.shared->taking_over = false;
}
