/*-------------------------------------------------------------------------
 *
 * warm_plan.c
 *	  What the workers of a warm start shall read.
 *
 * The wants are in groups, one for each database and one for the shared
 * catalogs, which any database will do for.  In a group those regions come first
 * that bring most for a moment of the disk: many pages, hot pages, pages side by
 * side.  All pages of a region are read together, the cold with the hot, since a
 * disk that has to come back for the cold ones takes as long again.  Regions that
 * bring about as much are in the order of the disk; the relation whose pages are
 * hottest in the mean comes first, often an index, without which no page of its
 * table is of use.
 *
 * src/backend/storage/bufferpool/warm_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Pages between two looks for interrupts. */
#define SLICE 4096

/*
 * Less than this part of the pages is not read back.  Chosen, not measured: each
 * attempt to get memory for twice as much takes as long as the system needs to
 * give what it has.
 */
#define MOST_PARTS 1024

/* Blocks of a relation's fork that are weighed together.  Chosen. */
#define REGION_BLOCKS 128

/*
 * How much hotter the hottest page of a pool is taken to be than the coldest one:
 * the list has the order only.  Between them pages are as hot as references by
 * Zipf's law are frequent.  Chosen.
 */
#define HEAT_OF_HOTTEST 32.0

/*
 * The pool that this list's pages go to: the one with its name or, if there is
 * none any more, DEFAULT.
 */
static BufferPool *
pool_for(const WarmPool *head)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		if (definition.name[0] != '\0' && strcmp(definition.name, head->name) == 0)
			return &BufferPools[i];
	}
	return &DefaultBufferPool;
}

static const WarmRelation *sorted_relations;
static const double *sorted_coldness;	/* [relation] */

/* The order of the disk. */
static int
compare_places(const void *a, const void *b)
{
	const WarmWant *x = a;
	const WarmWant *y = b;

	if (x->relation != y->relation)
		return x->relation < y->relation ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The order of reading. */
static int
compare_wants(const void *a, const void *b)
{
	const WarmWant *x = a;
	const WarmWant *y = b;
	Oid			dx = sorted_relations[x->relation].locator.dbOid;
	Oid			dy = sorted_relations[y->relation].locator.dbOid;

	if (dx != dy)
		return dx < dy ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (sorted_coldness[x->relation] != sorted_coldness[y->relation])
		return sorted_coldness[x->relation] < sorted_coldness[y->relation] ? -1 : 1;
	return compare_places(a, b);
}

/* How many pages of this list are wanted: no more than the pool has buffers. */
static uint32
wanted_of(const WarmPlan *plan, uint32 i)
{
	return Min(plan->list.pools[i].head.pages,
			   (uint32) BufferPoolSize(plan->pools[i]));
}

/* [relation]: the mean rank of its pages, as a share of their pool's. */
static double *
mean_ranks(const WarmPlan *plan)
{
	double	   *means = palloc0_array(double, plan->list.header.relations + 1);
	uint32	   *counts = palloc0_array(uint32, plan->list.header.relations + 1);

	for (uint32 i = 0; i < plan->list.header.pools; i++)
	{
		uint32		wanted = wanted_of(plan, i);

		for (uint32 rank = 0; rank < wanted; rank++)
		{
			uint32		relation = WarmPageOf(&plan->list.pools[i], rank)->relation;

			means[relation] += (double) rank / wanted;
			counts[relation]++;
		}
	}
	for (uint32 i = 0; i < plan->list.header.relations; i++)
		means[i] /= Max(counts[i], 1);
	pfree(counts);
	return means;
}

/* The buffer that has this page; -1 if none does. */
int
WarmFindPage(const WarmRelation *relation, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

	InitBufferTag(&tag, &relation->locator, relation->fork, block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return buf_id;
}

/* Is this page in memory?  If so, the result says where. */
static bool
is_present(const WarmPlan *plan, const WarmPage *page, uint32 number)
{
	int			buf_id = WarmFindPage(&plan->list.relations[page->relation],
									  page->block);

	WarmResults(plan->work)[number] = buf_id;
	return buf_id >= 0;
}

/* ---- regions ---- */

static double
heat_of(const WarmPlan *plan, const WarmWant *want)
{
	double		rank = want->number - plan->first[want->list];

	return 1 / (rank / wanted_of(plan, want->list) + 1 / HEAT_OF_HOTTEST);
}

/*
 * The level of a region that has so much heat for each page that the disk could
 * read in the time that it takes: 0 for the heat of the hottest page, 1 for half
 * of it.
 */
static uint8
level_of(double heat)
{
	return Min(Max(log2(HEAT_OF_HOTTEST / heat), 0), WARM_LEVELS - 1);
}

/* Set the level of these wants, which are a region, in the order of the disk. */
static void
set_level(const WarmPlan *plan, WarmWant *wants, uint32 count)
{
	double		heat = 0;
	uint32		time = 1 + WARM_LONGEST_GAP;	/* in pages */
	uint8		level;

	for (uint32 i = 0; i < count; i++)
	{
		heat += heat_of(plan, &wants[i]);
		if (i > 0)
			time += Min(wants[i].block - wants[i - 1].block, 1 + WARM_LONGEST_GAP);
	}
	level = level_of(heat / time);
	for (uint32 i = 0; i < count; i++)
		wants[i].level = level;
}

static bool
is_same_region(const WarmWant *a, const WarmWant *b)
{
	return a->relation == b->relation &&
		a->block / REGION_BLOCKS == b->block / REGION_BLOCKS;
}

static void
set_levels(const WarmPlan *plan)
{
	WarmWant   *wants = WarmWants(plan->work);
	uint32		end;

	qsort(wants, plan->work->wants, sizeof(WarmWant), compare_places);
	for (uint32 i = 0; i < plan->work->wants; i = end)
	{
		end = i + 1;
		while (end < plan->work->wants && is_same_region(&wants[end], &wants[i]))
			end++;
		set_level(plan, &wants[i], end - i);
	}
}

/* ---- wants ---- */

/* What the workers shall read; while following: without what is in memory. */
static void
fill_wants(WarmPlan *plan)
{
	WarmWork   *work = plan->work;
	WarmWant   *want = WarmWants(work);

	for (uint32 i = 0; i < plan->list.header.pools; i++)
	{
		uint32		wanted = wanted_of(plan, i);
		WarmWant   *first = want;

		for (uint32 rank = 0; rank < wanted; rank++)
		{
			const WarmPage *page = WarmPageOf(&plan->list.pools[i], rank);

			if (rank % SLICE == 0)
				CHECK_FOR_INTERRUPTS();
			if (work->follow && is_present(plan, page, plan->first[i] + rank))
				continue;
			*want++ = (WarmWant)
			{
				.relation = page->relation, .block = page->block,
					.number = plan->first[i] + rank,
					.pool = BufferPoolNumber(plan->pools[i]),
					.list = i
			};
		}
		pg_atomic_init_u32(&work->left[i], want - first);
	}
	work->wants = want - WarmWants(work);
	set_levels(plan);
	sorted_relations = plan->list.relations;
	sorted_coldness = mean_ranks(plan);
	qsort(WarmWants(work), work->wants, sizeof(WarmWant), compare_wants);
}

/* Returns how many there are; fills them in, if groups is not NULL. */
static uint32
find_groups(const WarmPlan *plan, WarmGroup *groups)
{
	const WarmWant *wants = WarmWants(plan->work);
	uint32		count = 0;

	for (uint32 i = 0; i < plan->work->wants; i++)
	{
		Oid			database = plan->list.relations[wants[i].relation].locator.dbOid;

		if (i == 0 || database != plan->list.relations[wants[i - 1].relation].locator.dbOid)
		{
			if (groups != NULL)
				groups[count] = (WarmGroup)
			{
				.database = database, .next = i
			};
			count++;
		}
		if (groups != NULL)
			groups[count - 1].end = i + 1;
	}
	return count;
}

/* Databases that wants are of, at most. */
static uint32
most_groups(const WarmList *list)
{
	return list->header.relations;
}

/* ---- memory ---- */

/* Bytes of the work, with what lies behind it. */
static Size
work_size(const WarmPlan *plan)
{
	const WarmList *list = &plan->list;
	Size		size = MAXALIGN(sizeof(WarmWork));

	size += MAXALIGN(sizeof(WarmGroup) * (Size) most_groups(list));
	size += MAXALIGN(sizeof(WarmRelation) * (Size) list->header.relations);
	for (uint32 i = 0; i < list->header.pools; i++)
		size += sizeof(WarmWant) * (Size) wanted_of(plan, i) +
			sizeof(int32) * (Size) list->pools[i].head.pages;
	return size + MAXIMUM_ALIGNOF;	/* between wants and results */
}

/* A segment of this size; NULL, and why, if there is not so much memory. */
static dsm_segment *
make_segment(Size size, char **why)
{
	MemoryContext context = CurrentMemoryContext;
	dsm_segment *volatile segment = NULL;

	StartTransactionCommand();	/* for its resource owner */
	PG_TRY();
	{
		segment = dsm_create(size, 0);
		dsm_pin_mapping(segment);
		CommitTransactionCommand();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (geterrcode() != ERRCODE_OUT_OF_MEMORY &&
			geterrcode() != ERRCODE_DISK_FULL)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
		*why = error->message;
	}
	PG_END_TRY();
	CurrentResourceOwner = AuxProcessResourceOwner;
	MemoryContextSwitchTo(context);
	return segment;
}

/* Keep only this part of each pool's pages, the hottest. */
static void
cut_lists(WarmPlan *plan, const uint32 *wanted, uint32 parts)
{
	plan->planned = 0;
	for (uint32 i = 0; i < plan->list.header.pools; i++)
	{
		if (parts > 1)
			plan->list.pools[i].head.pages = wanted[i] / parts;
		plan->planned += wanted_of(plan, i);
	}
}

/* Once: a standby that follows its primary plans again and again. */
static void
warn_of_memory(const WarmPlan *plan, Size size, const char *why)
{
	static bool warned = false;

	if (!warned)
		ereport(WARNING,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("not enough dynamic shared memory to read back " UINT64_FORMAT " pages",
						plan->pages),
				 plan->planned > 0 ?
				 errdetail("The hottest " UINT64_FORMAT " are read: %s.",
						   plan->planned, why) :
				 errdetail("None is read, and the list stays as it is: %s.", why),
				 errhint("Set \"%s\" to %zuMB or more, or give the system more such memory; a container has it in /dev/shm.",
						 "min_dynamic_shared_memory", size / (1024 * 1024) + 1)));
	warned = true;
}

/*
 * Get memory for the work.  If there is not enough, halve the lists until there
 * is, or none is worth while.
 */
static void
get_segment(WarmPlan *plan)
{
	uint32	   *wanted = palloc_array(uint32, plan->list.header.pools + 1);
	Size		size = work_size(plan);
	char	   *why = NULL;

	for (uint32 i = 0; i < plan->list.header.pools; i++)
		wanted[i] = wanted_of(plan, i);
	for (uint32 parts = 1; parts <= MOST_PARTS && plan->segment == NULL; parts *= 2)
	{
		cut_lists(plan, wanted, parts);
		plan->segment = make_segment(work_size(plan), &why);
	}
	if (plan->segment == NULL)
		plan->planned = 0;
	if (why != NULL)
		warn_of_memory(plan, size, why);
	pfree(wanted);
}

/* ---- the plan ---- */

/*
 * Plan what to read, from the list.  follow: pages that are in memory are not
 * wanted, and the others may take the place of any.
 */
void
MakeWarmPlan(WarmPlan *plan, bool follow)
{
	WarmList   *list = &plan->list;
	uint32		results = 0;
	WarmWork   *work;

	plan->first = palloc_array(uint32, list->header.pools + 1);
	plan->placed = palloc0_array(bool, list->header.pools + 1);
	plan->pools = palloc_array(BufferPool *, list->header.pools + 1);
	for (uint32 i = 0; i < list->header.pools; i++)
	{
		plan->pools[i] = pool_for(&list->pools[i].head);
		plan->pages += wanted_of(plan, i);
	}
	get_segment(plan);
	if (plan->segment == NULL)
		return;
	for (uint32 i = 0; i < list->header.pools; i++)
	{
		plan->first[i] = results;
		results += list->pools[i].head.pages;
	}
	work = plan->work = dsm_segment_address(plan->segment);
	SpinLockInit(&work->mutex);
	work->relations = list->header.relations;
	work->follow = follow;
	work->groups_at = MAXALIGN(sizeof(WarmWork));
	work->relations_at = work->groups_at +
		MAXALIGN(sizeof(WarmGroup) * (Size) most_groups(list));
	work->wants_at = work->relations_at +
		MAXALIGN(sizeof(WarmRelation) * (Size) list->header.relations);
	work->results_at = work->wants_at +
		MAXALIGN(sizeof(WarmWant) * (Size) plan->planned);
	memcpy(WarmRelations(work), list->relations,
		   sizeof(WarmRelation) * list->header.relations);
	memset(WarmResults(work), 0xff, sizeof(int32) * (Size) results);
	fill_wants(plan);
	work->groups = find_groups(plan, WarmGroups(work));
}
