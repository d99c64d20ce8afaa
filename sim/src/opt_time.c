/*
 * opt_time.c
 *	  See opt_time.h.
 */
#include <stdlib.h>

#include "opt_time.h"

struct opt_time
{
	opt_pool   *pages[2];		/* by the next read: random, sequential */
	double		saving[2];
	uint32_t	frames;
	uint32_t	used;
};

opt_time *
opt_time_new(uint32_t frames, double random_saving, double sequential_saving)
{
	opt_time   *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->frames = frames;
	o->saving[0] = random_saving > 0 ? random_saving : 0;
	o->saving[1] = sequential_saving > 0 ? sequential_saving : 0;
	for (int i = 0; i < 2; i++)
		if ((o->pages[i] = opt_new(frames, false)) == NULL)
		{
			opt_time_free(o);
			return NULL;
		}
	return o;
}

void
opt_time_free(opt_time *o)
{
	if (o == NULL)
		return;
	opt_free(o->pages[0]);
	opt_free(o->pages[1]);
	free(o);
}

bool
opt_time_has(const opt_time *o, uint64_t page)
{
	return opt_find(o->pages[0], page) != TP_NONE ||
		opt_find(o->pages[1], page) != TP_NONE;
}

/* The saving divided by the reads until then; 0 if there is no next read. */
static double
density(const opt_time *o, int class, uint64_t now, uint64_t next_use)
{
	return next_use == UINT64_MAX ? 0 :
		o->saving[class] / (double) (next_use - now);
}

typedef struct candidate
{
	opt_pool   *pages;			/* where it is */
	uint64_t	page;
	double		density;
} candidate;

/* The page of least density. */
static candidate
least_dense(const opt_time *o, uint64_t now)
{
	candidate	least = {NULL, 0, 0};

	for (int class = 0; class < 2; class++)
	{
		uint64_t	page;
		uint64_t	next_use;
		double		d;

		if (!opt_furthest(o->pages[class], &page, &next_use))
			continue;
		d = density(o, class, now, next_use);
		if (least.pages == NULL || d < least.density)
			least = (candidate)
		{
			o->pages[class], page, d
		};
	}
	return least;
}

static void
enter(opt_time *o, uint64_t page, uint64_t next_use, bool sequential)
{
	bool		wrote_back;
	uint64_t	written;

	opt_reference(o->pages[sequential], page, next_use, false, &wrote_back,
				  &written);
	o->used++;
}

opt_outcome
opt_time_reference(opt_time *o, uint64_t page, uint64_t now, uint64_t next_use,
				   bool sequential)
{
	double		d = density(o, sequential, now, next_use);

	if (opt_time_forget(o, page))
	{
		if (d > 0)
			enter(o, page, next_use, sequential);
		return OPT_HIT;
	}
	if (d <= 0)
		return OPT_REFUSED;
	if (o->used == o->frames)
	{
		candidate	least = least_dense(o, now);

		if (d <= least.density)
			return OPT_REFUSED;
		opt_forget(least.pages, least.page);
		o->used--;
	}
	enter(o, page, next_use, sequential);
	return OPT_MISS;
}

bool
opt_time_forget(opt_time *o, uint64_t page)
{
	if (!opt_forget(o->pages[0], page) && !opt_forget(o->pages[1], page))
		return false;
	o->used--;
	return true;
}

uint64_t
opt_time_forget_from(opt_time *o, uint64_t first)
{
	uint64_t	forgotten = opt_forget_from(o->pages[0], first) +
		opt_forget_from(o->pages[1], first);

	o->used -= (uint32_t) forgotten;
	return forgotten;
}
