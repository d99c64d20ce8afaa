/*
 * lastuse.c
 *	  See lastuse.h.
 */
#include <stdlib.h>
#include <string.h>

#include "lastuse.h"

bool
lastuse_init(lastuse *l)
{
	memset(l, 0, sizeof(*l));
	return pagemap_init(&l->map);
}

void
lastuse_free(lastuse *l)
{
	pagemap_free(&l->map);
	pagemap_free(&l->forks);
	free(l->pages);
}

/* ---- the lists of pages by fork ---- */

static bool
reserve_listed(lastuse *l)
{
	if (l->pages_count == l->pages_room)
	{
		uint64_t	room = l->pages_room == 0 ? 1024 : 2 * l->pages_room;
		fork_page  *pages = realloc(l->pages, room * sizeof(*pages));

		if (pages == NULL)
			return false;
		l->pages = pages;
		l->pages_room = room;
	}
	return pagemap_reserve(&l->forks);
}

static void
list_page(lastuse *l, uint64_t page)
{
	uint64_t   *first = pagemap_at(&l->forks, page >> 32);

	l->pages[l->pages_count] = (fork_page)
	{
		page, *first
	};
	*first = l->pages_count++;
}

static bool
build_lists(lastuse *l)
{
	if (!pagemap_init(&l->forks))
		return false;
	for (size_t i = 0; i < (size_t) 1 << l->map.bits; i++)
		if (l->map.slots[i].value != PAGEMAP_ABSENT)
		{
			if (!reserve_listed(l))
				return false;
			list_page(l, l->map.slots[i].key);
		}
	l->by_fork = true;
	return true;
}

bool
lastuse_reserve(lastuse *l, uint64_t page)
{
	if (!pagemap_reserve(&l->map))
		return false;
	if (l->by_fork && pagemap_find(&l->map, page) == NULL)
	{
		if (!reserve_listed(l))
			return false;
		list_page(l, page);
	}
	return true;
}

/* ---- pages cease to exist ---- */

static bool
forget_page(lastuse *l, uint64_t page, lastuse_gone gone, void *arg)
{
	uint64_t   *value = pagemap_find(&l->map, page);
	uint64_t	was;

	if (value == NULL || *value == LASTUSE_FORGOTTEN)
		return true;
	was = *value;
	*value = LASTUSE_FORGOTTEN;
	return gone == NULL || gone(arg, was);
}

static bool
forget_rest_of_fork(lastuse *l, uint64_t first, lastuse_gone gone, void *arg)
{
	uint64_t   *list;

	if (!l->by_fork && !build_lists(l))
		return false;
	list = pagemap_find(&l->forks, first >> 32);
	if (list == NULL)
		return true;
	for (uint64_t i = *list; i != PAGEMAP_ABSENT; i = l->pages[i].next)
		if (l->pages[i].page >= first &&
			!forget_page(l, l->pages[i].page, gone, arg))
			return false;
	return true;
}

bool
lastuse_forget(lastuse *l, const tps_events *events, size_t i,
			   lastuse_gone gone, void *arg)
{
	uint64_t	first = events->page[i];
	uint32_t	count = events->count == NULL ? 0 : events->count[i];

	if (count == 0)
		return forget_rest_of_fork(l, first, gone, arg);
	for (uint32_t n = 0; n < count; n++)
		if (!forget_page(l, first + n, gone, arg))
			return false;
	return true;
}
