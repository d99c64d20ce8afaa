/*
 * sim.h
 *	  Replay of page references against a policy.
 *
 * This layer owns memory and page tables; the decisions are all in core/.
 * Functions that return a pointer return NULL when memory runs out; nothing
 * else fails.  No function keeps global state: different objects may be used
 * by different threads at once, one object by one thread at a time.
 *
 * A page is 64 bits here: relation << 34 | fork << 32 | block, which is
 * tp_page with relation = page >> 32.
 */
#ifndef TIDEPOOL_SIM_H
#define TIDEPOOL_SIM_H

#include "tidepool/pool.h"

/* The binding is generated from the text between the two marks. */
/* cffi: begin */

/* ---- a cache: a pool and a page table ---- */

typedef struct tps_cache tps_cache;

/*
 * A cache with frames of at most capacity frames joined.  params: an array of
 * TP_MAX_PARAMS values that tp_policy_check_params accepts.
 */
tps_cache  *tps_cache_new(const tp_policy *policy, const double *params,
						  uint32_t capacity, uint32_t frames, uint64_t seed);
void		tps_cache_free(tps_cache *cache);

/* One operation at a time, for tests and teaching; contracts as in pool.h. */
uint32_t	tps_cache_find(const tps_cache *cache, uint64_t page);
void		tps_cache_join(tps_cache *cache, uint32_t frame);
void		tps_cache_leave(tps_cache *cache, uint32_t frame);
void		tps_cache_hit(tps_cache *cache, uint32_t frame,
						  uint32_t flags, uint64_t now);

/* unusable: a byte per frame, nonzero for frames that may not be taken; NULL
 * if all may. */
uint32_t	tps_cache_victim(tps_cache *cache, uint64_t page,
							 const unsigned char *unusable,
							 uint32_t flags, uint64_t now);
void		tps_cache_evict(tps_cache *cache, uint32_t frame,
							uint32_t flags, uint64_t now);
void		tps_cache_admit(tps_cache *cache, uint32_t frame, uint64_t page,
							uint32_t flags, uint64_t now);
void		tps_cache_forget(tps_cache *cache, uint32_t frame);

bool		tps_cache_is_free(const tps_cache *cache, uint32_t frame);
uint64_t	tps_cache_page_of(const tps_cache *cache, uint32_t frame);

/* The resident frames, next victim first; returns how many were written. */
uint32_t	tps_cache_coldest(const tps_cache *cache, uint32_t *frames);

/* Move the pool's state to another place in memory. */
bool		tps_cache_move(tps_cache *cache);

/* As tp_describe. */
size_t		tps_cache_describe(const tps_cache *cache, char *text,
							   size_t size);

/* As tp_check, and the page table against the frames; the first violations
 * are written to text, a line each. */
int			tps_cache_check(const tps_cache *cache, char *text, size_t size);

/* cffi: end */

#endif							/* TIDEPOOL_SIM_H */
