/*-------------------------------------------------------------------------
 *
 * warm_file.c
 *	  The file of a warm start: pg_bufferpool_warm in the data directory.
 *
 * In the byte order of the machine:
 *
 *	  header	72 bytes, WarmHeader
 *	  pools		1112 bytes each, WarmPool
 *	  of each pool: its pages, page_size bytes each, hottest first; its ghosts, 24
 *				bytes each, each list from its head
 *	  relations	16 bytes each, WarmRelation
 *
 * The file is replaced as a whole and durably (warm_save.c).  What is read here
 * is checked as if anybody could have written it.  Whatever is wrong is a
 * warning, and the server starts cold.
 *
 * src/backend/storage/bufferpool/warm_file.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "varatt.h"

/* Does a page's entry have the node's word? */
bool
WarmHasWord(const tp_policy *policy)
{
	for (int i = 0; policy->lists[i].name != NULL; i++)
		if (policy->lists[i].order == TP_RING)
			return true;
	return false;
}

/* Bytes of a page's entry; NULL: of stock replacement. */
uint32
WarmPageSize(const tp_policy *policy)
{
	if (policy == NULL)
		return sizeof(WarmPage);
	return sizeof(WarmPage) + (WarmHasWord(policy) ? sizeof(uint64) : 0) +
		TYPEALIGN(8, policy->extra_size);
}

/*
 * Read so many bytes from a place in the file.  If that fails, errno is 0 if the
 * file ends before.
 */
static bool
read_at(int fd, void *data, Size size, uint64 at)
{
	char	   *p = data;

	while (size > 0)
	{
		ssize_t		got;

		errno = 0;
		got = pg_pread(fd, p, Min(size, 1024 * 1024), at);
		if (got <= 0)
			return false;
		p += got;
		at += got;
		size -= got;
	}
	return true;
}

/*
 * Open this file, if there is one, and it is a file.  If not, returns -1, and
 * reports what is wrong at elevel.
 */
static int
open_file(const char *path, uint64 *size, int elevel)
{
	struct stat status;
	int			fd = OpenTransientFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | PG_BINARY);

	if (fd < 0)
	{
		if (errno != ENOENT)
			ereport(elevel,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", path)));
		return -1;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
	{
		*size = status.st_size;
		return fd;
	}
	(void) CloseTransientFile(fd);
	ereport(elevel,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a regular file", path)));
	return -1;
}

static pg_crc32c
heads_crc(const WarmHeader *header, const WarmPool *pools)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, header, offsetof(WarmHeader, crc));
	COMP_CRC32C(crc, pools, sizeof(WarmPool) * header->pools);
	FIN_CRC32C(crc);
	return crc;
}

static bool
is_text(const char *text, Size size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Do a pool's entries lie within the file's body, and have a size? */
static bool
pool_is_sound(const WarmHeader *header, const WarmPool *pool)
{
	uint64		begin = sizeof(WarmHeader) + sizeof(WarmPool) * (uint64) header->pools;
	uint64		size;

	if (!is_text(pool->name, NAMEDATALEN) ||
		!is_text(pool->algorithm, NAMEDATALEN) ||
		!is_text(pool->parameters, BUFFERPOOL_PARAMETERS_SIZE) ||
		pool->page_size < sizeof(WarmPage) || pool->page_size % 8 != 0 ||
		pool->page_size > sizeof(WarmPage) + sizeof(uint64) + TP_MAX_EXTRA)
		return false;
	size = (uint64) pool->pages * pool->page_size +
		(uint64) pool->ghosts * sizeof(tp_memory);
	return pool->pages_at >= begin && pool->pages_at <= header->relations_at &&
		size <= header->relations_at - pool->pages_at;
}

/* Why a file cannot be used, or NULL if it can. */
static const char *
check_header(const WarmHeader *header, uint64 size)
{
	if (memcmp(header->magic, WARM_MAGIC, sizeof(header->magic)) != 0)
		return "It is not a list of pages.";
	if (header->version != WARM_VERSION ||
		header->standing_version != TP_STANDING_VERSION)
		return "It is of another version.";
	if (header->block_size != BLCKSZ)
		return "It is of a server with another block size.";
	if (header->size != size || header->pools > BUFFERPOOL_NUMBERS ||
		header->relations_at > size ||
		size - header->relations_at !=
		(uint64) header->relations * sizeof(WarmRelation))
		return "It is corrupt.";
	return NULL;
}

static const char *
read_heads(int fd, uint64 size, WarmHeader *header, WarmPool **pools)
{
	const char *problem;

	if (size < sizeof(WarmHeader) || !read_at(fd, header, sizeof(WarmHeader), 0))
		return "It is corrupt.";
	problem = check_header(header, size);
	if (problem != NULL)
		return problem;
	*pools = palloc_array(WarmPool, Max(header->pools, 1));
	if (!read_at(fd, *pools, sizeof(WarmPool) * header->pools,
				 sizeof(WarmHeader)) ||
		heads_crc(header, *pools) != header->crc)
		return "It is corrupt.";
	for (uint32 i = 0; i < header->pools; i++)
		if (!pool_is_sound(header, &(*pools)[i]))
			return "It is corrupt.";
	if (header->system != GetSystemIdentifier())
		return "It is of another data directory.";
	return NULL;
}

static void
complain(const char *problem, int elevel)
{
	ereport(elevel,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("file \"%s\" is not used, the server starts cold", WARM_FILE),
			 errdetail_internal("%s", problem)));
}

/*
 * Read the header and the pools.  Returns false if there is no file, or it is of
 * no use, which is reported at elevel.  Called in the postmaster, among others.
 */
bool
ReadWarmHeads(WarmHeader *header, WarmPool **pools, int elevel)
{
	uint64		size;
	int			fd = open_file(WARM_FILE, &size, elevel);
	const char *problem;

	if (fd < 0)
		return false;
	problem = read_heads(fd, size, header, pools);
	(void) CloseTransientFile(fd);
	if (problem != NULL)
		complain(problem, elevel);
	return problem == NULL;
}

static void
fail_to_read(void)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not read file \"%s\": %m", WARM_FILE)));
}

/*
 * Raises an error if the file cannot be read: that says nothing of what is in it,
 * and a server that takes it for corrupt would replace it.
 */
static bool
body_is_sound(int fd, const WarmHeader *header)
{
	uint64		at = sizeof(WarmHeader) + sizeof(WarmPool) * (uint64) header->pools;
	Size		room = 256 * 1024;
	char	   *data = palloc(room);
	pg_crc32c	crc;
	bool		complete = true;

	INIT_CRC32C(crc);
	while (complete && at < header->size)
	{
		Size		part = Min(room, header->size - at);

		complete = read_at(fd, data, part, at);
		if (!complete && errno != 0)
			fail_to_read();
		COMP_CRC32C(crc, data, part);
		at += part;
		CHECK_FOR_INTERRUPTS();
	}
	FIN_CRC32C(crc);
	pfree(data);
	return complete && crc == header->body_crc;
}

static void *
read_part(int fd, Size size, uint64 at)
{
	void	   *data = palloc_extended(Max(size, 1), MCXT_ALLOC_HUGE);

	if (!read_at(fd, data, size, at))
		fail_to_read();
	return data;
}

/*
 * A pool's entries.  Only its hottest pages, no more than there are buffers:
 * the list may be of a larger server.
 */
static void
read_pool(int fd, WarmPoolList *pool)
{
	WarmPool   *head = &pool->head;
	uint64		ghosts_at = head->pages_at + (uint64) head->pages * head->page_size;

	head->pages = Min(head->pages, (uint32) NBuffers);
	pool->pages = read_part(fd, (Size) head->pages * head->page_size,
							head->pages_at);
	pool->ghosts = read_part(fd, (Size) head->ghosts * sizeof(tp_memory),
							 ghosts_at);
}

static bool
entries_are_sound(const WarmList *list)
{
	for (uint32 i = 0; i < list->header.relations; i++)
		if (list->relations[i].fork > MAX_FORKNUM)
			return false;
	for (uint32 i = 0; i < list->header.pools; i++)
		for (uint32 j = 0; j < list->pools[i].head.pages; j++)
			if (WarmPageOf(&list->pools[i], j)->relation >= list->header.relations)
				return false;
	return true;
}

static const char *
read_list(int fd, uint64 size, WarmList *list)
{
	WarmPool   *heads;
	const char *problem = read_heads(fd, size, &list->header, &heads);

	if (problem != NULL)
		return problem;
	if (!body_is_sound(fd, &list->header))
		return "It is corrupt.";
	list->relations = read_part(fd, sizeof(WarmRelation) * (Size) list->header.relations,
								list->header.relations_at);
	list->pools = palloc0_array(WarmPoolList, Max(list->header.pools, 1));
	for (uint32 i = 0; i < list->header.pools; i++)
	{
		list->pools[i].head = heads[i];
		read_pool(fd, &list->pools[i]);
	}
	return entries_are_sound(list) ? NULL : "It is corrupt.";
}

/*
 * Read the whole list.  Returns false if there is none, or it is of no use, with
 * a warning.
 */
bool
ReadWarmList(WarmList *list)
{
	uint64		size;
	int			fd = open_file(WARM_FILE, &size, WARNING);
	const char *problem;

	if (fd < 0)
		return false;
	problem = read_list(fd, size, list);
	(void) CloseTransientFile(fd);
	if (problem != NULL)
		complain(problem, WARNING);
	return problem == NULL;
}

/* Why the list in this file is of no use; NULL if it is sound. */
const char *
WarmProblemOfFile(const char *path)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "warm list",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	WarmList	list;
	uint64		size;
	int			fd = open_file(path, &size, ERROR);
	const char *problem = fd < 0 ? "It is gone." : read_list(fd, size, &list);

	if (fd >= 0)
		(void) CloseTransientFile(fd);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return problem;
}

/*
 * The file's bytes from this place on, at most WARM_PART_SIZE; none at its end.
 * NULL if there is no file.
 */
bytea *
ReadWarmPart(uint64 at)
{
	uint64		size;
	int			fd = open_file(WARM_FILE, &size, ERROR);
	Size		part;
	bytea	   *data;

	if (fd < 0)
		return NULL;
	part = at < size ? Min(size - at, WARM_PART_SIZE) : 0;
	data = palloc(VARHDRSZ + part);
	SET_VARSIZE(data, VARHDRSZ + part);
	if (!read_at(fd, VARDATA(data), part, at))
		fail_to_read();
	(void) CloseTransientFile(fd);
	return data;
}
