/*
 * miniature.c
 *	  See miniature.h.
 *
 * The page table has open addressing with linear probing and is at most half
 * full.  A removal moves back the entries that had probed past the removed one.
 */
#include "tidepool/advice/miniature.h"

#include "tidepool/pool.h"

#define SLOTS_PER_FRAME 2

static size_t
pool_size(const tp_policy *policy, const double *params, uint32_t frames)
{
	return (tp_block_size(policy, params, frames) + 7) & ~(size_t) 7;
}

size_t
tp_miniature_size(const tp_policy *policy, const double *params,
				  uint32_t frames)
{
	size_t		size = pool_size(policy, params, frames);

	return size == 0 ? 0 :
		size + (size_t) frames * SLOTS_PER_FRAME * sizeof(uint32_t);
}

void
tp_miniature_init(tp_miniature *miniature, const tp_policy *policy,
				  const double *params, uint32_t frames, uint64_t seed,
				  const tp_services *services, void *memory)
{
	miniature->slots_count = frames * SLOTS_PER_FRAME;
	miniature->slots = (uint32_t *) (void *)
		((unsigned char *) memory + pool_size(policy, params, frames));
	for (uint32_t i = 0; i < miniature->slots_count; i++)
		miniature->slots[i] = TP_NONE;
	miniature->pool = tp_block_init(policy, params, frames, frames, seed,
									memory);
	miniature->pool.services = services;
}

/* ---- the page table ---- */

static tp_page
page_in(const tp_miniature *miniature, uint32_t frame)
{
	const tp_node *node = &miniature->pool.nodes[frame];

	return tp_page_make(node->relation, node->block);
}

static inline uint32_t
home_of(const tp_miniature *miniature, uint64_t key)
{
	return (uint32_t) ((key >> 32) * miniature->slots_count >> 32);
}

static inline uint32_t
after(const tp_miniature *miniature, uint32_t slot)
{
	return slot + 1 == miniature->slots_count ? 0 : slot + 1;
}

/* The slot that has the page's frame, or the empty one where it would be. */
static inline uint32_t
slot_of(const tp_miniature *miniature, tp_page page, uint64_t key)
{
	uint32_t	slot = home_of(miniature, key);

	while (miniature->slots[slot] != TP_NONE &&
		   !tp_page_equal(page_in(miniature, miniature->slots[slot]), page))
		slot = after(miniature, slot);
	return slot;
}

/* Steps from one slot to another. */
static uint32_t
steps(const tp_miniature *miniature, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + miniature->slots_count - from;
}

static void
remove_page(tp_miniature *miniature, tp_page page)
{
	uint32_t   *slots = miniature->slots;
	uint32_t	hole = slot_of(miniature, page, tp_page_key(page));

	TP_ASSERT(slots[hole] != TP_NONE);
	for (uint32_t i = after(miniature, hole); slots[i] != TP_NONE;
		 i = after(miniature, i))
	{
		uint32_t	home = home_of(miniature,
								   tp_page_key(page_in(miniature, slots[i])));

		if (steps(miniature, home, i) >= steps(miniature, hole, i))
		{
			slots[hole] = slots[i];
			hole = i;
		}
	}
	slots[hole] = TP_NONE;
}

/* ---- references ---- */

/* The frame, with a page or free, is to be claimed. */
static void
empty(tp_miniature *miniature, uint32_t frame, const tp_access *access)
{
	if (tp_is_resident(&miniature->pool, frame))
	{
		remove_page(miniature, page_in(miniature, frame));
		tp_evict(&miniature->pool, frame, access);
	}
	else
		tp_claim(&miniature->pool, frame);
}

bool
tp_miniature_reference(tp_miniature *miniature, tp_page page, uint64_t key,
					   bool admit, const tp_access *access)
{
	const tp_pool *pool = &miniature->pool;
	uint32_t	frame = miniature->slots[slot_of(miniature, page, key)];

	if (frame != TP_NONE)
	{
		tp_hit(pool, frame, access);
		return true;
	}
	if (!admit)
		return false;
	frame = tp_victim(pool, page, NULL, NULL, access);
	if (!tp_is_frame(frame))
		return false;
	empty(miniature, frame, access);
	miniature->slots[slot_of(miniature, page, key)] = frame;
	tp_admit(pool, frame, page, access);
	return false;
}

int
tp_miniature_check(const tp_miniature *miniature, tp_report report, void *arg)
{
	int			bad = tp_check(&miniature->pool, NULL, NULL, report, arg);
	uint32_t	pages = 0;

	for (uint32_t i = 0; i < miniature->slots_count; i++)
	{
		uint32_t	frame = miniature->slots[i];
		tp_page		page;

		if (frame == TP_NONE)
			continue;
		pages++;
		page = page_in(miniature, frame);
		if (!tp_is_resident(&miniature->pool, frame) ||
			slot_of(miniature, page, tp_page_key(page)) != i)
		{
			bad++;
			if (report != NULL)
				report(arg, "page table: a page is where it is not found", frame);
		}
	}
	if (pages != tp_resident(&miniature->pool))
	{
		bad++;
		if (report != NULL)
			report(arg, "page table: not as many pages as are resident", pages);
	}
	return bad;
}
