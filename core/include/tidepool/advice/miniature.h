/*
 * miniature.h
 *	  A pool in miniature: one that a sample of the pages goes through.
 *
 * Source: C. A. Waldspurger, T. Saemundsson, I. Ahmad, N. Park: Cache modeling
 * and optimization using miniature simulations. USENIX ATC 2017.
 *
 * Costs: what the policy has for each frame, and 8 bytes for the page table,
 * which holds frames; a frame's page is in its node.
 */
#ifndef TIDEPOOL_ADVICE_MINIATURE_H
#define TIDEPOOL_ADVICE_MINIATURE_H

#include "tidepool/policy.h"

typedef struct tp_miniature
{
	tp_pool		pool;
	uint32_t	slots_count;	/* of the page table: twice the frames */
	uint32_t   *slots;			/* frames; TP_NONE: empty */
} tp_miniature;

/* Bytes of a miniature's memory, a multiple of 8; 0: too many frames. */
size_t		tp_miniature_size(const tp_policy *policy, const double *params,
							  uint32_t frames);

/*
 * An empty miniature.  params as checked by tp_policy_check_params; the memory
 * is 8-aligned, and the miniature's as long as it is used.
 */
void		tp_miniature_init(tp_miniature *miniature, const tp_policy *policy,
							  const double *params, uint32_t frames,
							  uint64_t seed, const tp_services *services,
							  void *memory);

/*
 * A reference to a page, whose tp_page_key is key.  Returns whether it was
 * resident.  If it was not it comes in, unless admit is false or the policy
 * refuses it.
 */
bool		tp_miniature_reference(tp_miniature *miniature, tp_page page,
								   uint64_t key, bool admit,
								   const tp_access *access);

/* As tp_check; and the page table. */
int			tp_miniature_check(const tp_miniature *miniature, tp_report report,
							   void *arg);

#endif							/* TIDEPOOL_ADVICE_MINIATURE_H */
