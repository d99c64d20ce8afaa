/*
 * memory.c
 *	  See memory.h.
 */
#define _DEFAULT_SOURCE			/* madvise */

#include <stdlib.h>
#include <sys/mman.h>

#include "memory.h"

#define CACHE_LINE ((size_t) 64)
#define HUGE_PAGE ((size_t) 2 << 20)

static size_t
rounded_up(size_t size, size_t unit)
{
	return (size + unit - 1) & ~(unit - 1);
}

void *
memory_of_cache(size_t size)
{
	size_t		unit = size < HUGE_PAGE ? CACHE_LINE : HUGE_PAGE;
	void	   *memory = aligned_alloc(unit, rounded_up(size, unit));

#ifdef MADV_HUGEPAGE
	/* advice: if it is refused, small pages do.  Not for a part of a page. */
	if (memory != NULL && size >= HUGE_PAGE)
		(void) madvise(memory, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
	return memory;
}
