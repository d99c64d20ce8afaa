/*
 * opt.c
 *	  See opt.h.
 */
#include <stdlib.h>

#include "opt.h"
#include "pagetable.h"

typedef struct resident
{
	uint64_t	page;
	uint64_t	next_use;
	uint32_t	place;			/* index in the heap */
	bool		dirty;
} resident;

struct opt_pool
{
	uint32_t	frames;
	uint32_t	used;
	bool		bypass;
	pagetable	table;
	resident   *pages;			/* [frame] */
	uint32_t   *heap;			/* frames, furthest next use first; the free
								 * ones from used on */
};

opt_pool *
opt_new(uint32_t frames, bool bypass)
{
	opt_pool   *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->frames = frames;
	o->bypass = bypass;
	o->pages = malloc(frames * sizeof(*o->pages));
	o->heap = malloc(frames * sizeof(*o->heap));
	if (o->pages == NULL || o->heap == NULL ||
		!pagetable_init(&o->table, frames))
	{
		opt_free(o);
		return NULL;
	}
	for (uint32_t i = 0; i < frames; i++)
		o->heap[i] = i;
	return o;
}

void
opt_free(opt_pool *o)
{
	if (o == NULL)
		return;
	pagetable_free(&o->table);
	free(o->pages);
	free(o->heap);
	free(o);
}

/* ---- the heap: four children per parent, so half as deep as a binary one ---- */

static inline void
put(opt_pool *o, uint32_t place, uint32_t frame)
{
	o->heap[place] = frame;
	o->pages[frame].place = place;
}

static void
rise(opt_pool *o, uint32_t place)
{
	uint32_t	frame = o->heap[place];
	uint64_t	key = o->pages[frame].next_use;

	while (place > 0)
	{
		uint32_t	parent = (place - 1) / 4;

		if (o->pages[o->heap[parent]].next_use >= key)
			break;
		put(o, place, o->heap[parent]);
		place = parent;
	}
	put(o, place, frame);
}

static void
sink(opt_pool *o, uint32_t place)
{
	uint32_t	frame = o->heap[place];
	uint64_t	key = o->pages[frame].next_use;

	for (;;)
	{
		uint64_t	first = (uint64_t) place * 4 + 1;
		uint32_t	furthest = place;
		uint64_t	furthest_key = key;

		for (uint64_t child = first; child < first + 4 && child < o->used; child++)
			if (o->pages[o->heap[child]].next_use > furthest_key)
			{
				furthest = (uint32_t) child;
				furthest_key = o->pages[o->heap[child]].next_use;
			}
		if (furthest == place)
			break;
		put(o, place, o->heap[furthest]);
		place = furthest;
	}
	put(o, place, frame);
}

/* Take the page at this place out; its frame becomes the first free one. */
static void
take_out(opt_pool *o, uint32_t place)
{
	uint32_t	frame = o->heap[place];
	uint32_t	last = o->heap[--o->used];

	pagetable_remove(&o->table, o->pages[frame].page);
	o->heap[o->used] = frame;
	if (place == o->used)
		return;
	put(o, place, last);
	sink(o, place);
	rise(o, o->pages[last].place);
}

/* ---- references ---- */

opt_outcome
opt_reference(opt_pool *o, uint64_t page, uint64_t next_use, bool write,
			  bool *wrote_back, uint64_t *written)
{
	uint32_t	frame = pagetable_find(&o->table, page);
	resident   *r;

	if (frame != TP_NONE)
	{
		r = &o->pages[frame];
		r->next_use = next_use;
		r->dirty |= write;
		rise(o, r->place);
		return OPT_HIT;
	}
	if (o->used == o->frames)
	{
		r = &o->pages[o->heap[0]];
		if (o->bypass && next_use >= r->next_use)
			return OPT_REFUSED;
		if (r->dirty)
		{
			*wrote_back = true;
			*written = r->page;
		}
		take_out(o, 0);
	}
	frame = o->heap[o->used];
	o->pages[frame] = (resident)
	{
		page, next_use, o->used, write
	};
	pagetable_enter(&o->table, page, frame);
	rise(o, o->used++);
	return OPT_MISS;
}

uint32_t
opt_find(const opt_pool *o, uint64_t page)
{
	return pagetable_find(&o->table, page);
}

bool
opt_furthest(const opt_pool *o, uint64_t *page, uint64_t *next_use)
{
	const resident *r;

	if (o->used == 0)
		return false;
	r = &o->pages[o->heap[0]];
	*page = r->page;
	*next_use = r->next_use;
	return true;
}

bool
opt_forget(opt_pool *o, uint64_t page)
{
	uint32_t	frame = pagetable_find(&o->table, page);

	if (frame == TP_NONE)
		return false;
	take_out(o, o->pages[frame].place);
	return true;
}

uint64_t
opt_forget_from(opt_pool *o, uint64_t first)
{
	uint64_t	forgotten = 0;

	for (uint32_t place = o->used; place-- > 0;)
	{
		uint64_t	page = o->pages[o->heap[place]].page;

		if (page >> 32 == first >> 32 && page >= first)
		{
			take_out(o, place);
			forgotten++;

			/* if another frame has come down to this place, check it next */
			place = place < o->used ? place + 1 : o->used;
		}
	}
	return forgotten;
}
