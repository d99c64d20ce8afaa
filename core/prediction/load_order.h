/*
 * pbm_chain.h
 *	  Frames in the order in which scans loaded them.
 *
 * The pages that are referenced furthest in the future lie together: between
 * two scans that follow each other the wait grows from block to block, so
 * beside a page that was worth evicting is the next one.  Which frames hold
 * the neighbouring blocks no policy can know without a page table; but a scan
 * loads them one after the other, so frames are chained in that order.  The
 * chain is a hint: a page that was resident already when its neighbours were
 * loaded is in another place of it, or in none.
 *
 * The links are those of the frames' nodes, which rings do not use.  A frame
 * that was not loaded through a registered scan is a chain of its own.
 *
 * LOCKING.  In a shared pool several processes link and unlink frames at once.
 * All loads and stores are relaxed, and links may come to disagree: then a
 * frame is looked at that is nobody's neighbour.  No link ever leads out of the
 * pool's nodes.
 */
#ifndef TIDEPOOL_PBM_CHAIN_H
#define TIDEPOOL_PBM_CHAIN_H

#include "tidepool/pool.h"

/* Scans whose last frame is known; two that share a place disturb each other. */
#define CHAIN_SCANS 16

/* A frame, and the page that it held. */
typedef struct pbm_entry
{
	uint32_t	frame;
	uint32_t	generation;
} pbm_entry;

/* One process's. */
typedef struct pbm_chain
{
	pbm_entry	newest[CHAIN_SCANS];	/* by scan % CHAIN_SCANS: the frame it
										 * loaded last, or TP_NONE */
	pbm_entry	beside[2];		/* before and behind the frame that was
								 * evicted last; frame TP_NONE: none */
} pbm_chain;

static inline uint32_t
chain_link(const uint32_t *link)
{
	return __atomic_load_n(link, __ATOMIC_RELAXED);
}

static inline void
chain_set(uint32_t *link, uint32_t frame)
{
	__atomic_store_n(link, frame, __ATOMIC_RELAXED);
}

/* Set the link unless others have changed it since it was `from`. */
static inline void
chain_change(uint32_t *link, uint32_t from, uint32_t to)
{
	if (chain_link(link) == from)
		chain_set(link, to);
}

static inline void
chain_init(pbm_chain *chain)
{
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		chain->newest[i].frame = TP_NONE;
	chain->beside[0].frame = chain->beside[1].frame = TP_NONE;
}

/* The frame of an entry if its page is still there, else TP_NONE. */
static inline uint32_t
chain_frame(const tp_pool *pool, const pbm_entry *entry)
{
	if (entry->frame == TP_NONE ||
		tp_generation(pool, entry->frame) != entry->generation)
		return TP_NONE;
	return entry->frame;
}

static inline void
chain_enter(const tp_pool *pool, pbm_entry *entry, uint32_t frame)
{
	entry->frame = frame;
	if (frame != TP_NONE)
		entry->generation = tp_generation(pool, frame);
}

/* The frame was filled: behind what the same scan loaded before. */
static inline void
chain_add(const tp_pool *pool, pbm_chain *chain, uint32_t frame, uint64_t scan)
{
	tp_node    *nodes = pool->nodes;
	pbm_entry  *newest = &chain->newest[(uint32_t) scan % CHAIN_SCANS];
	uint32_t	before = scan == 0 ? TP_NONE : chain_frame(pool, newest);
	uint32_t	behind = before == TP_NONE ? TP_NONE :
		chain_link(&nodes[before].next);

	chain_set(&nodes[frame].prev, before);
	chain_set(&nodes[frame].next, behind);
	if (before != TP_NONE)
		chain_set(&nodes[before].next, frame);
	if (behind != TP_NONE)
		chain_set(&nodes[behind].prev, frame);
	if (scan != 0)
		chain_enter(pool, newest, frame);
}

/* The frame's page is about to leave it. */
static inline void
chain_remove(const tp_pool *pool, pbm_chain *chain, uint32_t frame)
{
	tp_node    *nodes = pool->nodes;
	uint32_t	before = chain_link(&nodes[frame].prev);
	uint32_t	behind = chain_link(&nodes[frame].next);

	if (before != TP_NONE)
		chain_change(&nodes[before].next, frame, behind);
	if (behind != TP_NONE)
		chain_change(&nodes[behind].prev, frame, before);
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		if (chain->newest[i].frame == frame)
			chain_enter(pool, &chain->newest[i], before);
}

/* The frame is about to be evicted: note what is beside it. */
static inline void
chain_note(const tp_pool *pool, pbm_chain *chain, uint32_t frame)
{
	chain_enter(pool, &chain->beside[0], chain_link(&pool->nodes[frame].prev));
	chain_enter(pool, &chain->beside[1], chain_link(&pool->nodes[frame].next));
}

/*
 * Every link fits the one that leads back; in a shared pool, where links are
 * hints, every one leads somewhere.  Returns the number that do not.
 */
static inline int
chain_check(const tp_pool *pool, const pbm_chain *chain, tp_report report,
			void *arg)
{
	bool		shared = pool->header->shared;
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = pool->members[i];
		const tp_node *node = &pool->nodes[frame];

		if (!tp_is_resident(pool, frame))
			continue;
		bad += tp_expect(node->prev == TP_NONE || shared ||
						 pool->nodes[node->prev].next == frame,
						 "chain broken before a frame", frame, report, arg);
		bad += tp_expect(node->next == TP_NONE || shared ||
						 pool->nodes[node->next].prev == frame,
						 "chain broken behind a frame", frame, report, arg);
	}
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		bad += tp_expect(chain_frame(pool, &chain->newest[i]) == TP_NONE ||
						 tp_is_resident(pool, chain->newest[i].frame),
						 "vacant frame taken for one that a scan loaded",
						 chain->newest[i].frame, report, arg);
	return bad;
}

#endif							/* TIDEPOOL_PBM_CHAIN_H */
