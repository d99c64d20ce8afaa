/*-------------------------------------------------------------------------
 *
 * persist.c
 *	  How the SSD tier outlives the server: what is on the SSD is known again
 *	  after a restart.
 *
 * After a crash: all that is shared about the tier lies in a segment of shared
 * memory with a name, which stays when the processes are gone.  What a slot's
 * state says there was true at every moment: it ceases to be VALID before the
 * disk's page changes.  So the next server takes the segment over as it is.  If
 * somebody died while holding the lock, it takes over the VALID slots only.  When
 * the operating system has crashed there is no segment, and the tier begins
 * empty: nobody knows then what reached which device.
 *
 * After a clean stop: the checkpointer writes a file, after the last checkpoint,
 * and the segment is removed.
 *
 * Either is used only if nobody else has changed the data directory meanwhile:
 * the checksum of the control file, which everybody writes who starts a server
 * or rewrites files, must be that of the last control file that was written by
 * this server.  Nor may anybody else have used the file with the pages: who does
 * removes the table, and leaves a mark of its own (SsdTierMark).
 *
 * The file, all numbers little-endian:
 *
 *	  header	64 bytes, SavedHeader
 *	  relations 16 bytes each, SavedRelation: tablespace, database, file number,
 *				choice
 *	  pages		16 bytes each: slot, relation (from 0), block, checksum; those
 *				that the algorithm would evict first come first
 *	  extents	64 bytes each: relation, number, two temperatures, counts
 *	  budget	104 bytes, SavedBudget: pages written in each of the last 24 hours
 *	  checksum	4 bytes: CRC-32C of all before it
 *
 * src/backend/storage/ssdtier/persist.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/ssd_tier_internals.h"

/* ---- the segment ---- */

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

static bool
is_private(int fd, off_t * size)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || status.st_uid != geteuid() ||
		(status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return false;
	*size = status.st_size;
	return true;
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

	if (fd >= 0 && is_private(fd, &old_size))
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
	if (memory == MAP_FAILED)
		ereport(FATAL,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("could not map %zu bytes of shared memory for the SSD tier: %m",
						size),
				 errhint("Lower \"%s\" or \"%s\".", "bufferpool.ssd_size",
						 "bufferpool.ssd_max_size")));
	return memory;
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
 * before, perhaps of another server.
 */
char *
SsdTierMap(Size size, bool *old)
{
	*old = segment != NULL && segment_size == size;
	if (!*old)
	{
		segment = map_segment(size, old);
		segment_size = size;
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

/* Bits of an LWLock's state: held in any mode, by any process. */
#define LOCK_HELD_MASK ((uint32) ((MAX_BACKENDS + 1) | MAX_BACKENDS))

/* ---- who has had the data directory ---- */

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

/* ---- the file ---- */

#define FILE_NAME "tidepool.ssd.table"
#define MAGIC "TPSSDTB2"

typedef struct SavedHeader
{
	char		magic[8];
	uint64		system;			/* identifier of the data directory */
	uint64		device;			/* of the file with the pages */
	uint64		inode;
	uint32		control;		/* checksum of the control file */
	uint32		block_size;
	uint32		slots;
	uint32		relations;
	uint32		pages;
	uint32		extents;
	uint32		unused[2];
} SavedHeader;

StaticAssertDecl(sizeof(SavedHeader) == 64, "the header has 64 bytes");

typedef struct SavedRelation
{
	RelFileLocator locator;
	uint8		choice;			/* SsdTierChoice */
	uint8		own;
	uint8		unused[2];
} SavedRelation;

StaticAssertDecl(sizeof(SavedRelation) == 16, "a relation has 16 bytes");

typedef struct SavedPage
{
	uint32		slot;
	uint32		relation;
	BlockNumber block;
	pg_crc32c	crc;
} SavedPage;

typedef struct SavedExtent
{
	uint32		relation;
	uint32		number;
	double		saved;
	double		recent;
	uint8		counts[TP_EXTENT_COUNTS];
	uint64		unused;
} SavedExtent;

StaticAssertDecl(sizeof(SavedExtent) == 64, "an extent has 64 bytes");

typedef struct SavedBudget
{
	uint64		hour;			/* since 1970: the last */
	uint32		written[TP_BUDGET_HOURS];	/* in each, by its number modulo
											 * 24 */
} SavedBudget;

StaticAssertDecl(sizeof(SavedBudget) == 104, "the budget has 104 bytes");

static const char *
table_name(void)
{
	static char name[MAXPGPATH];

	snprintf(name, sizeof(name), "%s/%s", ssd_tier_path, FILE_NAME);
	return name;
}

/* What it says is not true of the file with the pages any more. */
void
SsdTierRemoveTable(void)
{
	(void) unlink(table_name());
}

/* ---- the mark ---- */

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
	int			fd = open(mark_name(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	off_t		length;
	bool		found;

	if (fd < 0)
		return false;
	found = is_private(fd, &length) && length == sizeof(*mark) &&
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

/*
 * This server has the lock of the file with the pages now: leave a mark.  If
 * another one has left its own since, what the slots had is lost.  Returns false,
 * with errno, if the mark cannot be left.
 */
bool
SsdTierMark(void)
{
	SsdTierShared *shared = SsdTier.shared;
	Mark		mark;

	if (shared->mark != 0 && !(read_mark(&mark) && mark.number == shared->mark))
		shared->warm = false;
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

#ifndef WORDS_BIGENDIAN
#define CAN_SAVE true
#else
#define CAN_SAVE false
#endif

/* ---- writing it ---- */

typedef struct Output
{
	FILE	   *file;
	pg_crc32c	crc;
	bool		failed;
} Output;

static void
put(Output *output, const void *data, Size size)
{
	COMP_CRC32C(output->crc, data, size);
	output->failed = output->failed || fwrite(data, 1, size, output->file) != size;
}

/* The number of each relation's place among those that are saved, or TP_NONE. */
static uint32 *
number_relations(SavedHeader *header)
{
	uint32	   *numbers = palloc_array(uint32, SsdTier.max_relations);

	for (uint32 i = 0; i < SsdTier.max_relations; i++)
		numbers[i] = SsdTier.relations[i].used && !SsdTier.relations[i].gone ?
			header->relations++ : TP_NONE;
	return numbers;
}

static void
put_relations(Output *output)
{
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		const SsdTierRelation *relation = &SsdTier.relations[i];
		SavedRelation saved = {
			.locator = relation->locator,
			.choice = relation->choice,
			.own = relation->own
		};

		if (relation->used && !relation->gone)
			put(output, &saved, sizeof(saved));
	}
}

static void
put_budget(Output *output)
{
	const tp_budget *budget = &SsdTier.shared->budget;
	SavedBudget saved = {.hour = budget->hour};

	memcpy(saved.written, budget->written, sizeof(saved.written));
	put(output, &saved, sizeof(saved));
}

/* The pages that can be read, next victim first; only counted without output. */
static uint32
put_pages(Output *output, const uint32 *numbers)
{
	tp_cursor	cursor = {0};
	uint32		count = 0;
	uint32		slot;

	while ((slot = tp_coldest(&SsdTier.core.pool, &cursor)) != TP_NONE || !cursor.over)
	{
		SavedPage	page;

		if (slot == TP_NONE)
			continue;
		if (!SsdTierDescribeSlot(slot, &page.relation, &page.block, &page.crc) ||
			numbers[page.relation] == TP_NONE)
			continue;
		count++;
		page.slot = slot;
		page.relation = numbers[page.relation];
		if (output != NULL)
			put(output, &page, sizeof(page));
	}
	return count;
}

static uint32
put_extents(Output *output, const uint32 *numbers)
{
	uint32		count = 0;

	for (uint32 i = 0; i <= SsdTier.core.extents->mask; i++)
	{
		SavedExtent extent = {0};
		const tp_extent *from = &SsdTier.core.extents->slots[i];
		tp_extent	now;

		if (!SsdTierDescribeExtent(i, &extent.relation, &extent.number) ||
			numbers[extent.relation] == TP_NONE)
			continue;
		count++;
		extent.relation = numbers[extent.relation];
		now = tp_extents_now(SsdTier.core.extents, from);
		extent.saved = now.saved;
		extent.recent = now.recent;
		memcpy(extent.counts, now.counts, sizeof(extent.counts));
		if (output != NULL)
			put(output, &extent, sizeof(extent));
	}
	return count;
}

static bool
write_table(FILE *file)
{
	Output		output = {.file = file};
	SavedHeader header = {
		.system = SsdTier.shared->owner.system,
		.control = SsdTier.shared->owner.control,
		.device = SsdTier.shared->device,
		.inode = SsdTier.shared->inode,
		.block_size = BLCKSZ,
		.slots = SsdTier.shared->slots
	};
	uint32	   *numbers = number_relations(&header);

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.pages = put_pages(NULL, numbers);
	header.extents = put_extents(NULL, numbers);
	INIT_CRC32C(output.crc);
	put(&output, &header, sizeof(header));
	put_relations(&output);
	put_pages(&output, numbers);
	put_extents(&output, numbers);
	put_budget(&output);
	FIN_CRC32C(output.crc);
	pfree(numbers);
	return !output.failed &&
		fwrite(&output.crc, 1, sizeof(output.crc), file) == sizeof(output.crc) &&
		fflush(file) == 0 && fsync(fileno(file)) == 0;
}

/*
 * Save what is on the SSD.  Called by the checkpointer after the shutdown
 * checkpoint, when no page changes any more.
 */
void
SsdTierSave(void)
{
	int			fd;
	FILE	   *file;
	bool		written;

	if (!SsdTierConfigured || !SsdTierIsOn() || !CAN_SAVE)
		return;
	SsdTierWriteQueue();
	(void) unlink(table_name());
	fd = open(table_name(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  S_IRUSR | S_IWUSR);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (file == NULL && fd >= 0)
		close(fd);
	SsdTierLock();
	written = file != NULL && write_table(file);
	SsdTierUnlock();
	if (file != NULL && fclose(file) != 0)
		written = false;
	if (!written)
		ereport(LOG,
				(errmsg("could not write \"%s\": %m", table_name()),
				 errdetail("The SSD tier will begin empty.")));
	SsdTier.shared->saved = true;
}

/* ---- reading it ---- */

/* More than any table of this tier has. */
static Size
table_limit(void)
{
	return sizeof(SavedHeader) +
		(Size) SsdTier.max_relations * sizeof(SavedRelation) +
		(Size) SsdTier.capacity * sizeof(SavedPage) +
		((Size) SsdTier.core.extents->mask + 1) * sizeof(SavedExtent) +
		sizeof(SavedBudget) + sizeof(pg_crc32c);
}

/* The file's contents, or NULL. */
static char *
read_table(Size *size)
{
	int			fd = open(table_name(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	off_t		length;
	char	   *data = NULL;
	Size		done = 0;

	if (fd < 0)
		return NULL;
	if (is_private(fd, &length) && length >= (off_t) sizeof(SavedHeader) &&
		length <= (off_t) table_limit())
		data = palloc_extended(length, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	while (data != NULL && done < (Size) length)
	{
		ssize_t		bytes = read(fd, data + done, length - done);

		if (bytes <= 0)
		{
			pfree(data);
			data = NULL;
		}
		else
			done += bytes;
	}
	close(fd);
	*size = done;
	return data;
}

static bool
is_sound(const char *data, Size size)
{
	const SavedHeader *header = (const SavedHeader *) data;
	SsdTierOwner owner = {header->system, header->control};
	Size		wanted = sizeof(SavedHeader) +
		(Size) header->relations * sizeof(SavedRelation) +
		(Size) header->pages * sizeof(SavedPage) +
		(Size) header->extents * sizeof(SavedExtent) +
		sizeof(SavedBudget) + sizeof(pg_crc32c);
	pg_crc32c	crc;
	pg_crc32c	stored;

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)) != 0 ||
		size != wanted || header->block_size != BLCKSZ)
		return false;
	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size - sizeof(crc));
	FIN_CRC32C(crc);
	memcpy(&stored, data + size - sizeof(crc), sizeof(crc));
	return EQ_CRC32C(crc, stored) && SsdTierOwnerIsPresent(&owner);
}

static void
take_over(const char *data)
{
	const SavedHeader *header = (const SavedHeader *) data;
	const SavedRelation *relations = (const SavedRelation *) (header + 1);
	const SavedPage *pages = (const SavedPage *) (relations + header->relations);
	const char *extents = (const char *) (pages + header->pages);
	SavedBudget budget;

	SsdTier.shared->device = header->device;
	SsdTier.shared->inode = header->inode;
	(void) SsdTierResize(Min(header->slots, SsdTier.capacity));
	for (uint32 i = 0; i < header->relations; i++)
		if (relations[i].choice >= SSD_TIER_AUTO &&
			relations[i].choice <= SSD_TIER_NONE && relations[i].own)
			SsdTierRestoreChoice(&relations[i].locator, relations[i].choice);
	for (uint32 i = 0; i < header->extents; i++)
	{
		SavedExtent extent;
		tp_extent	values = {0};

		memcpy(&extent, extents + (Size) i * sizeof(extent), sizeof(extent));
		values.saved = extent.saved;
		values.recent = extent.recent;
		memcpy(values.counts, extent.counts, sizeof(values.counts));
		if (extent.relation < header->relations && extent.saved > 0 &&
			extent.recent >= 0)
			SsdTierRestoreExtent(&relations[extent.relation].locator, extent.number, &values);
	}
	for (uint32 i = 0; i < header->pages; i++)
		if (pages[i].relation < header->relations)
			SsdTierRestorePage(pages[i].slot, &relations[pages[i].relation].locator,
							   pages[i].block, pages[i].crc);
	memcpy(&budget, extents + (Size) header->extents * sizeof(SavedExtent),
		   sizeof(budget));
	for (uint64 i = 0; i < TP_BUDGET_HOURS; i++)
		tp_budget_restore(&SsdTier.shared->budget, budget.hour - i,
						  budget.written[(budget.hour - i) % TP_BUDGET_HOURS]);
	SsdTier.shared->warm = true;
}

/* Take over what a clean stop has saved, if it is there and is true. */
void
SsdTierLoad(void)
{
	Size		size;
	char	   *data = CAN_SAVE ? read_table(&size) : NULL;

	if (data == NULL)
		return;
	if (is_sound(data, size))
		take_over(data);
	(void) unlink(table_name());
	pfree(data);
}

/* ---- taking over the segment ---- */

/*
 * The segment is not consistent: begin with an empty pool, and put back the
 * VALID slots.
 */
static void
rescue(void (*empty_pool) (void))
{
	uint32		slots = SsdTier.shared->slots;
	SavedPage  *pages = palloc_extended((Size) slots * sizeof(SavedPage),
										MCXT_ALLOC_HUGE);
	uint32		count = 0;

	for (uint32 slot = 0; slot < slots; slot++)
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
	pfree(pages);
}

/*
 * Take over a segment that a server has left, and which is of this data
 * directory and of the same shape.  empty_pool lets the core's pool begin anew,
 * without members.
 */
void
SsdTierTakeOver(void (*empty_pool) (void))
{
	bool		torn = (pg_atomic_read_u32(&SsdTier.shared->lock.state) &
						LOCK_HELD_MASK) != 0;

	LWLockInitialize(&SsdTier.shared->lock, LWTRANCHE_SSD_TIER);
	/* those who read from the disk then are gone */
	pg_atomic_write_u32(&SsdTier.shared->disk_reads, 0);
	if (!torn)
		SsdTierEndAll();
	if (torn || SsdTierCheck(NULL, NULL) > 0)
		rescue(empty_pool);
	SsdTier.shared->warm = true;
}
