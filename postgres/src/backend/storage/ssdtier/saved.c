/*-------------------------------------------------------------------------
 *
 * saved.c
 *	  The file that tells the next server what is on the SSD.
 *
 * The checkpointer writes it after a clean stop's last checkpoint.  After a crash
 * there is none, but the segment (segment.c).
 *
 * All numbers are little-endian:
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
 * src/backend/storage/ssdtier/saved.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/ssd_tier_internals.h"

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
	uint64		mark;			/* beside the file with the pages (owner.c) */
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
		.mark = SsdTier.shared->mark,
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

static void
save(void)
{
	int			fd;
	FILE	   *file;
	bool		written;

	while (SsdTierWriteQueue(INT_MAX))
		;
	if (SsdTierFile() < 0)		/* another server may have it by now */
		return;
	if (fsync(SsdTierFile()) != 0)
	{
		ereport(LOG,
				(errmsg("could not fsync file \"%s\": %m", SsdTierFileName()),
				 errdetail("The SSD tier will begin empty.")));
		return;
	}
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
}

/*
 * Save what is on the SSD.  Called by the checkpointer after the shutdown
 * checkpoint, when no page changes any more.  A tier that was about to go on with
 * what it had keeps that in its segment; of one that is off there is nothing to
 * keep.
 */
void
SsdTierSave(void)
{
	if (!SsdTierConfigured)
		return;
	if (SsdTierIsOn() && CAN_SAVE)
		save();
	SsdTier.shared->saved = !SsdTierIsWarming();
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
	int			fd = open(table_name(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	off_t		length;
	char	   *data = NULL;
	Size		done = 0;

	if (fd < 0)
		return NULL;
	if (SsdTierIsPrivate(fd, &length) && length >= (off_t) sizeof(SavedHeader) &&
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
	SsdTier.shared->mark = header->mark;
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
