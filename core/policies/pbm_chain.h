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

typedef struct pbm_chain
{
	uint32_t	newest[CHAIN_SCANS];	/* by scan % CHAIN_SCANS: the frame it
										 * loaded last, if that is resident
										 * still, else TP_NONE */
	pbm_entry	beside[2];		/* before and behind the frame that was
								 * evicted last; frame TP_NONE: none */
} pbm_chain;

static inline void
chain_init(pbm_chain *chain)
{
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		chain->newest[i] = TP_NONE;
	chain->beside[0].frame = chain->beside[1].frame = TP_NONE;
}

/* The frame was filled: behind what the same scan loaded before. */
static inline void
chain_add(const tp_pool *pool, pbm_chain *chain, uint32_t frame, uint64_t scan)
{
	tp_node    *nodes = pool->nodes;
	uint32_t   *newest = &chain->newest[(uint32_t) scan % CHAIN_SCANS];
	uint32_t	before = scan == 0 ? TP_NONE : *newest;
	uint32_t	behind = before == TP_NONE ? TP_NONE : nodes[before].next;

	nodes[frame].prev = before;
	nodes[frame].next = behind;
	if (before != TP_NONE)
		nodes[before].next = frame;
	if (behind != TP_NONE)
		nodes[behind].prev = frame;
	if (scan != 0)
		*newest = frame;
}

static inline void
chain_remove(const tp_pool *pool, pbm_chain *chain, uint32_t frame)
{
	tp_node    *nodes = pool->nodes;
	uint32_t	before = nodes[frame].prev;
	uint32_t	behind = nodes[frame].next;

	if (before != TP_NONE)
		nodes[before].next = behind;
	if (behind != TP_NONE)
		nodes[behind].prev = before;
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		if (chain->newest[i] == frame)
			chain->newest[i] = before;
}

/* The frame is about to be evicted: note what is beside it. */
static inline void
chain_note(const tp_pool *pool, pbm_chain *chain, uint32_t frame)
{
	const uint32_t beside[2] = {
		pool->nodes[frame].prev, pool->nodes[frame].next
	};

	for (int i = 0; i < 2; i++)
	{
		chain->beside[i].frame = beside[i];
		if (beside[i] != TP_NONE)
			chain->beside[i].generation = pool->nodes[beside[i]].generation;
	}
}

/* Every link fits the one that leads back.  Returns the number that do not. */
static inline int
chain_check(const tp_pool *pool, const pbm_chain *chain, tp_report report,
			void *arg)
{
	int			bad = 0;

	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = pool->members[i];
		const tp_node *node = &pool->nodes[frame];

		if (tp_is_free(pool, frame))
			continue;
		bad += tp_expect(node->prev == TP_NONE ||
						 pool->nodes[node->prev].next == frame,
						 "chain broken before a frame", frame, report, arg);
		bad += tp_expect(node->next == TP_NONE ||
						 pool->nodes[node->next].prev == frame,
						 "chain broken behind a frame", frame, report, arg);
	}
	for (uint32_t i = 0; i < CHAIN_SCANS; i++)
		bad += tp_expect(chain->newest[i] == TP_NONE ||
						 !tp_is_free(pool, chain->newest[i]),
						 "free frame taken for one that a scan loaded",
						 chain->newest[i], report, arg);
	return bad;
}

#endif							/* TIDEPOOL_PBM_CHAIN_H */
