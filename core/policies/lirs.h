/*
 * lirs.h
 *	  What LIRS has that LIRS2 takes over as it is.  See lirs.c.
 */
#ifndef TIDEPOOL_LIRS_H
#define TIDEPOOL_LIRS_H

#include "tidepool/pool.h"

enum
{
	LIR = 1,					/* low inter-reference recency */
	Q							/* resident, high inter-reference recency */
};

enum
{
	HIR = 1						/* non-resident, high inter-reference recency */
};

typedef struct lirs_state
{
	uint64_t	clock;			/* references counted so far */
	uint32_t	llirs;			/* frames for LIR pages now */
	uint32_t	llirs_most;		/* and with none lent to Q */
	uint32_t	ghost_limit;	/* bound on non-resident pages */
} lirs_state;

extern const tp_param tp_lirs_params[];
extern const tp_field tp_lirs_fields[];

uint32_t	tp_lirs_victim(const tp_pool *pool, tp_page incoming,
						   tp_usable usable, void *arg,
						   const tp_access *access);
void		tp_lirs_restore(const tp_pool *pool, unsigned list,
							uint32_t frame, const tp_access *access);
uint32_t	tp_lirs_coldest(const tp_pool *pool, tp_cursor *cursor);
void		tp_lirs_trim_ghosts(const tp_pool *pool, uint32_t limit);
double		tp_lirs_ghosts(const double *params);
void		tp_lirs_join(const tp_pool *pool, uint32_t frame);

/* Llirs and the bound on ghosts, from c, the parameters and what is lent. */
void		tp_lirs_set_bounds(const tp_pool *pool);

/* The page in this frame is about to be evicted: a LIR page's frame is lent. */
void		tp_lirs_lend(const tp_pool *pool, uint32_t frame);

/* A HIR page becomes LIR, since it has earned it: a lent frame comes back. */
void		tp_lirs_give_back(const tp_pool *pool);

/* Do they hold?  For check. */
int			tp_lirs_check_bounds(const tp_pool *pool, tp_report report,
								 void *arg);

#endif							/* TIDEPOOL_LIRS_H */
