/*-------------------------------------------------------------------------
 *
 * warm_place.c
 *	  Put the pages that have been read back where the algorithm had them.
 *
 * They have come in in another order, as new pages.  Now each is reinstated, list
 * by list from the head, behind the pages that have been used since the start.
 * Those of the list that have been used since then, too, are referenced once
 * more, the hottest last.  Then the ghosts follow.  Pages come in on the first list
 * of most algorithms, so the last list is the first to be filled: those of the
 * first then find room there.
 *
 * If the algorithm or its parameters are others, the order alone is used: the
 * pages are admitted anew, the coldest first, and the hotter half is referenced
 * once more, as when the algorithm of a running pool is changed (switch.c).
 * Under stock replacement the usage counts are set.
 *
 * A standby that follows its primary learns the order again and again from
 * references to the pages that it has, since its own pages have places, too.
 *
 * A page counts as used if its buffer's usage count says so: reading it back
 * leaves that at 0 (warm_worker.c).
 *
 * src/backend/storage/bufferpool/warm_place.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufferpool_warm.h"
#include "storage/bufmgr.h"

#define SLICE 32				/* pages, or ghosts, in one hold of the lock */

/* A page of the list that is in a buffer of the pool. */
typedef struct Place
{
	int			buf_id;
	uint32		rank;			/* 0 is the hottest */
	uint32		position;
	uint8		list;
	bool		used;			/* since the start, by somebody else */
	tp_page		page;
} Place;

typedef struct Places
{
	BufferPool *pool;
	const WarmPoolList *list;
	const tp_policy *policy;
	uint32		version;
	uint32		resets;
	Place	   *places;
	int			count;
} Places;

static uint32
resets_of(const BufferPool *pool)
{
	return pg_atomic_read_u32(&pool->shared->resets);
}

/* Is this still the algorithm, and the state of it, that the places are for? */
static bool
goes_on(const Places *places)
{
	CHECK_FOR_INTERRUPTS();
	return places->pool->version == places->version &&
		resets_of(places->pool) == places->resets;
}

/* ---- which pages are there ---- */

/* Is this page in this buffer?  Sets the place if so. */
static bool
find_place(const Places *places, uint32 rank, int buf_id,
		   const WarmRelation *relations, Place *place)
{
	const WarmPage *page = WarmPageOf(places->list, rank);
	const WarmRelation *relation = &relations[page->relation];
	BufferDesc *buf;
	BufferTag	tag;
	uint32		state;

	if (buf_id < 0)
		return false;
	InitBufferTag(&tag, &relation->locator, relation->fork, page->block);
	buf = GetBufferDescriptor(buf_id);
	state = LockBufHdr(buf);
	if (!(state & BM_VALID) || !BufferTagsEqual(&buf->tag, &tag) ||
		BufferPoolOf(buf_id) != places->pool)
	{
		UnlockBufHdr(buf, state);
		return false;
	}
	*place = (Place)
	{
		.buf_id = buf_id, .rank = rank, .position = page->position,
			.list = page->list, .used = BUF_STATE_GET_USAGECOUNT(state) > 0,
			.page = BufferTagPage(&tag)
	};
	UnlockBufHdr(buf, state);
	return true;
}

static int
compare_places(const void *a, const void *b)
{
	const Place *x = a;
	const Place *y = b;

	if (x->list != y->list)
		return x->list > y->list ? -1 : 1;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* ---- stock replacement ---- */

/* As the clock had it; or, from another algorithm, by the order. */
static uint32
usage_of(const Places *places, const Place *place)
{
	const WarmPage *page = WarmPageOf(places->list, place->rank);

	if (page->list == 0)
		return Min(page->count, BM_MAX_USAGE_COUNT);
	return BM_MAX_USAGE_COUNT - (uint64) place->rank * (BM_MAX_USAGE_COUNT + 1) /
		places->list->head.pages;
}

static void
set_usage(const Places *places)
{
	for (int i = 0; i < places->count; i++)
	{
		const Place *place = &places->places[i];
		BufferDesc *buf = GetBufferDescriptor(place->buf_id);
		uint32		usage = usage_of(places, place);
		uint32		state = LockBufHdr(buf);

		if ((state & BM_TAG_VALID) && BUF_STATE_GET_USAGECOUNT(state) < usage)
		{
			state &= ~BUF_USAGECOUNT_MASK;
			state += usage * BUF_USAGECOUNT_ONE;
		}
		UnlockBufHdr(buf, state);
	}
}

/* ---- an algorithm ---- */

/* Own the frame: nobody else changes what the algorithm knows of it. */
static bool
own(const Places *places, const Place *place)
{
	BufferPool *pool = places->pool;
	tp_page		known;

	if ((pool->flags & TP_CHOICE_LOCK_FREE) &&
		!PinUnpinnedBuffer(place->buf_id))
		return false;
	if (BufferPoolOf(place->buf_id) == pool &&
		BufferHoldsPage(place->buf_id, place->page) &&
		BufferPoolKnowsPage(pool, place->buf_id, &known) &&
		tp_page_equal(known, place->page))
		return true;
	if (pool->flags & TP_CHOICE_LOCK_FREE)
		ReleaseBuffer(place->buf_id + 1);
	return false;
}

static void
disown(const Places *places, const Place *place)
{
	if (places->pool->flags & TP_CHOICE_LOCK_FREE)
		ReleaseBuffer(place->buf_id + 1);
}

typedef void (*Step) (const Places *places, const Place *place,
					  const tp_access *access);

/* Do this with all pages, in slices; backwards: the last first. */
static void
for_all(const Places *places, bool backwards, Step step)
{
	bool		locked = !(places->pool->flags & TP_CHOICE_LOCK_FREE);

	for (int i = 0; i < places->count; i += SLICE)
	{
		tp_access	access = BufferPoolAccessAt(BufferPoolTime(places->pool), 0);

		if (!goes_on(places))
			return;
		if (locked)
			BufferPoolLock(places->pool);
		else
			BufferPoolFollowReset(places->pool);
		for (int j = i; j < Min(i + SLICE, places->count); j++)
		{
			const Place *place = &places->places[backwards ?
												 places->count - 1 - j : j];

			if (!own(places, place))
				continue;
			step(places, place, &access);
			disown(places, place);
		}
		if (locked)
			BufferPoolUnlock(places->pool);
	}
}

static void
reinstate(const Places *places, const Place *place, const tp_access *access)
{
	const WarmPage *page = WarmPageOf(places->list, place->rank);
	const uint64 *words = (const uint64 *) (page + 1);
	Size		extra = TYPEALIGN(8, places->policy->extra_size);
	tp_standing standing = {.list = page->list, .count = page->count,
	.mark = page->mark};

	if (WarmHasWord(places->policy))
		standing.word = *words++;
	memcpy(standing.extra, words, extra);
	tp_forget(&places->pool->core, place->buf_id);
	if (!tp_reinstate(&places->pool->core, place->buf_id, place->page, &standing,
					  access))
		tp_admit(&places->pool->core, place->buf_id, place->page, access);
}

static void
admit(const Places *places, const Place *place, const tp_access *access)
{
	tp_forget(&places->pool->core, place->buf_id);
	tp_admit(&places->pool->core, place->buf_id, place->page, access);
}

static void
reference_if_used(const Places *places, const Place *place,
				  const tp_access *access)
{
	if (place->used)
		tp_hit(&places->pool->core, place->buf_id, access);
}

static void
reference_if_hot(const Places *places, const Place *place,
				 const tp_access *access)
{
	if (place->used || place->rank < places->list->head.pages / 2)
		tp_hit(&places->pool->core, place->buf_id, access);
}

static void
reference(const Places *places, const Place *place, const tp_access *access)
{
	tp_hit(&places->pool->core, place->buf_id, access);
}

static int
compare_ranks(const void *a, const void *b)
{
	const Place *x = a;
	const Place *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void
sort_by_rank(const Places *places)
{
	qsort(places->places, places->count, sizeof(Place), compare_ranks);
}

/*
 * Lock the pool for the next slice.  Returns false, without the lock, if the
 * places mean nothing any more: a reset holds the lock while it begins the
 * algorithm anew.
 */
static bool
lock_slice(const Places *places)
{
	if (!goes_on(places))
		return false;
	BufferPoolLock(places->pool);
	if (resets_of(places->pool) == places->resets)
		return true;
	BufferPoolUnlock(places->pool);
	return false;
}

static void
recall_ghosts(const Places *places)
{
	BufferPool *pool = places->pool;
	uint64		recalled = 0;

	if (places->list->head.ghosts == 0 || !lock_slice(places))
		return;
	tp_recall_begin(&pool->core);
	BufferPoolUnlock(pool);
	for (uint32 i = 0; i < places->list->head.ghosts && lock_slice(places); i += SLICE)
	{
		for (uint32 j = i; j < Min(i + SLICE, places->list->head.ghosts); j++)
			recalled += tp_recall(&pool->core, &places->list->ghosts[j]);
		BufferPoolUnlock(pool);
	}
	for (int i = 0; i < NBuffers && lock_slice(places); i += SLICE)
	{
		for (int buf_id = i; buf_id < Min(i + SLICE, NBuffers); buf_id++)
			if (BufferPoolOf(buf_id) == pool)
				tp_recall_clean(&pool->core, buf_id);
		if (i + SLICE >= NBuffers)
			tp_recall_end(&pool->core);
		BufferPoolUnlock(pool);
	}
	WarmCount(WARM_RECALLED, recalled);
}

static void
find_places(Places *places, BufferPool *pool, const WarmPoolList *list,
			const WarmRelation *relations, const int32 *results)
{
	*places = (Places)
	{
		.pool = pool, .list = list, .policy = pool->core.policy,
			.version = pool->version, .resets = resets_of(pool)
	};
	places->places = palloc_extended(Max(list->head.pages, 1) * sizeof(Place),
									 MCXT_ALLOC_HUGE);
	for (uint32 rank = 0; rank < list->head.pages; rank++)
		if (find_place(places, rank, results[rank], relations,
					   &places->places[places->count]))
			places->count++;
}

/*
 * Place the pages of this list that are in the pool.  results: the buffers that
 * they were read into, or found in, by rank.
 */
void
PlaceWarmPages(BufferPool *pool, const WarmPoolList *list,
			   const WarmRelation *relations, const int32 *results)
{
	Places		places;

	find_places(&places, pool, list, relations, results);
	if (places.policy == NULL)
		set_usage(&places);
	else if (WarmPoolIsSame(&list->head, pool))
	{
		qsort(places.places, places.count, sizeof(Place), compare_places);
		for_all(&places, false, reinstate);
		sort_by_rank(&places);
		for_all(&places, true, reference_if_used);
		recall_ghosts(&places);
	}
	else
	{
		for_all(&places, true, admit);
		for_all(&places, true, reference_if_hot);
	}
	pfree(places.places);
}

/*
 * Reference the pages of this list that are in the pool once, the hottest last,
 * so that they stay for longer than others.
 */
void
ReferenceWarmPages(BufferPool *pool, const WarmPoolList *list,
				   const WarmRelation *relations, const int32 *results)
{
	Places		places;

	find_places(&places, pool, list, relations, results);
	if (places.policy == NULL)
		set_usage(&places);
	else
		for_all(&places, true, reference);
	pfree(places.places);
}
