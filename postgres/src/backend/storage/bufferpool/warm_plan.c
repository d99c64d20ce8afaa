/*-------------------------------------------------------------------------
 *
 * warm_plan.c
 *	  What the workers of a warm start shall read.
 *
 * The wants are in groups, one for each database and one for the shared
 * catalogs, which any database will do for.  In a group they are in WARM_BANDS
 * bands of hotness, and within a band in the order of the disk, so that
 * neighbours are read together; the relation whose pages are hottest in the mean
 * comes first, often an index, without which no page of its table is of use.
 *
 * src/backend/storage/bufferpool/warm_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_warm.h"

/* Pages between two looks for interrupts. */
#define SLICE 4096

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

static int
compare_wants(const void *a, const void *b)
{
	const WarmWant *x = a;
	const WarmWant *y = b;
	Oid			dx = sorted_relations[x->relation].locator.dbOid;
	Oid			dy = sorted_relations[y->relation].locator.dbOid;

	if (dx != dy)
		return dx < dy ? -1 : 1;
	if (x->band != y->band)
		return x->band < y->band ? -1 : 1;
	if (sorted_coldness[x->relation] != sorted_coldness[y->relation])
		return sorted_coldness[x->relation] < sorted_coldness[y->relation] ? -1 : 1;
	if (x->relation != y->relation)
		return x->relation < y->relation ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
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
					.band = (uint64) rank * WARM_BANDS / wanted, .list = i
			};
		}
		pg_atomic_init_u32(&work->left[i], want - first);
	}
	work->wants = want - WarmWants(work);
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

/*
 * Plan what to read, from the list.  follow: pages that are in memory are not
 * wanted, and the others may take the place of any.
 */
void
MakeWarmPlan(WarmPlan *plan, bool follow)
{
	WarmList   *list = &plan->list;
	Size		size;
	uint32		wants = 0;
	uint32		pages = 0;
	WarmWork   *work;

	plan->first = palloc_array(uint32, list->header.pools + 1);
	plan->placed = palloc0_array(bool, list->header.pools + 1);
	plan->pools = palloc_array(BufferPool *, list->header.pools + 1);
	for (uint32 i = 0; i < list->header.pools; i++)
	{
		plan->pools[i] = pool_for(&list->pools[i].head);
		plan->first[i] = pages;
		pages += list->pools[i].head.pages;
		wants += wanted_of(plan, i);
	}
	size = MAXALIGN(sizeof(WarmWork));
	size += MAXALIGN(sizeof(WarmGroup) * (Size) most_groups(list));
	size += MAXALIGN(sizeof(WarmRelation) * (Size) list->header.relations);
	size += MAXALIGN(sizeof(WarmWant) * (Size) wants);
	size += sizeof(int32) * (Size) pages;
	plan->segment = dsm_create(size, 0);
	dsm_pin_mapping(plan->segment);
	work = plan->work = dsm_segment_address(plan->segment);
	SpinLockInit(&work->mutex);
	work->relations = list->header.relations;
	work->follow = follow;
	work->groups_at = MAXALIGN(sizeof(WarmWork));
	work->relations_at = work->groups_at +
		MAXALIGN(sizeof(WarmGroup) * (Size) most_groups(list));
	work->wants_at = work->relations_at +
		MAXALIGN(sizeof(WarmRelation) * (Size) list->header.relations);
	work->results_at = work->wants_at + MAXALIGN(sizeof(WarmWant) * (Size) wants);
	memcpy(WarmRelations(work), list->relations,
		   sizeof(WarmRelation) * list->header.relations);
	memset(WarmResults(work), 0xff, sizeof(int32) * (Size) pages);
	fill_wants(plan);
	work->groups = find_groups(plan, WarmGroups(work));
}
