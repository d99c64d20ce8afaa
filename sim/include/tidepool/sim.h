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

#include "tidepool/batch.h"

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

/* Single operations, for tests and teaching; contracts as in pool.h. */
uint32_t	tps_cache_find(const tps_cache *cache, uint64_t page);

/* The page is read from below the cache: warms its extent, for policies that
 * use temperatures.  Call on every miss, before tps_cache_victim. */
void		tps_cache_read(tps_cache *cache, uint64_t page);
void		tps_cache_join(tps_cache *cache, uint32_t frame);
void		tps_cache_leave(tps_cache *cache, uint32_t frame);
void		tps_cache_hit(tps_cache *cache, uint32_t frame,
						  const tp_access *access);

/* unusable: a byte per frame, nonzero for frames that may not be taken; NULL
 * if all may. */
uint32_t	tps_cache_victim(tps_cache *cache, uint64_t page,
							 const unsigned char *unusable,
							 const tp_access *access);
void		tps_cache_evict(tps_cache *cache, uint32_t frame,
							const tp_access *access);
void		tps_cache_admit(tps_cache *cache, uint32_t frame, uint64_t page,
							const tp_access *access);
void		tps_cache_restore(tps_cache *cache, uint32_t frame,
							  const tp_access *access);
void		tps_cache_claim(tps_cache *cache, uint32_t frame);
void		tps_cache_release(tps_cache *cache, uint32_t frame);

/* The frame is free afterwards. */
void		tps_cache_forget(tps_cache *cache, uint32_t frame);

/* Does the frame hold no page?  Is it claimed? */
bool		tps_cache_is_free(const tps_cache *cache, uint32_t frame);
bool		tps_cache_is_claimed(const tps_cache *cache, uint32_t frame);
uint64_t	tps_cache_page_of(const tps_cache *cache, uint32_t frame);

/* The resident frames, next victim first; returns how many were written. */
uint32_t	tps_cache_coldest(const tps_cache *cache, uint32_t *frames);

/*
 * The coldest frames, and frames likely to be evicted soon, in slices
 * (tp_coldest, tp_upcoming): each call writes those found in `looks` further
 * looks.  unwanted: a byte per frame, nonzero for frames to leave out; NULL for
 * none.
 */
uint32_t	tps_cache_coldest_slice(const tps_cache *cache, tp_cursor *cursor,
									uint32_t looks, uint32_t *frames);
void		tps_cache_upcoming_begin(tp_lookahead *ahead, uint32_t victims);
uint32_t	tps_cache_upcoming_slice(const tps_cache *cache,
									 tp_lookahead *ahead,
									 const unsigned char *unwanted,
									 uint32_t looks, uint32_t *frames);

/* Move the pool's state to another place in memory. */
bool		tps_cache_move(tps_cache *cache);

/* As tp_describe. */
size_t		tps_cache_describe(const tps_cache *cache, char *text,
							   size_t size);

/* As tp_check, and the page table against the frames; writes the first
 * violations to text, a line each. */
int			tps_cache_check(const tps_cache *cache, char *text, size_t size);

/*
 * Resize to frames of at most capacity: frames join, or victims are evicted
 * and their frames leave.  If the policy names no victims (keep), its coldest
 * pages go.
 */
void		tps_cache_resize(tps_cache *cache, uint32_t frames, uint64_t now);

/* ---- running scans ---- */

/*
 * A registry of running scans (scan.h) and trailing index scans (trail.h), which
 * any number of caches may use.  It must outlive them, or be detached with
 * tps_cache_set_scans(cache, NULL).
 */
typedef struct tps_scans tps_scans;
#define TPS_TRAIL_MARKS 65536	/* usually: 1.5 MiB */

/* What a scan will read, as tp_scan_spec. */
typedef struct tps_scan
{
	uint64_t	first;			/* the page it begins with; for a bitmap scan,
								 * a page of the group that it begins with */
	uint32_t	count;			/* pages that it will read */
	uint32_t	low;			/* it wraps within the blocks from low on, ... */
	uint32_t	size;			/* ... this many; 0: it never wraps */
	bool		backward;
	const uint32_t *ranges;		/* of a bitmap scan: pairs of the first block
								 * and a number of blocks; else NULL */
	size_t		n_ranges;		/* pairs */
	double		speed;			/* pages per second; 0: unknown */
	uint32_t	owner;
} tps_scan;

/* Room for this many scans, whatever their relations, this many bitmaps, as
 * many trailing index scans as scans, and this many marks of these. */
tps_scans  *tps_scans_new(uint32_t scans, uint32_t bitmaps, uint32_t marks);
void		tps_scans_free(tps_scans *scans);

/* Contracts as in scan.h; now is in microseconds. */
uint64_t	tps_scans_begin(tps_scans *scans, const tps_scan *scan,
							uint64_t now);
void		tps_scans_advance(tps_scans *scans, uint64_t handle,
							  uint64_t page, uint64_t now);
void		tps_scans_end(tps_scans *scans, uint64_t handle);
uint32_t	tps_scans_end_owner(tps_scans *scans, uint32_t owner);

/* The page with which a scan should begin to meet a running one. */
uint64_t	tps_scans_meet(const tps_scans *scans, const tps_scan *scan,
						   uint64_t now);

/* Microseconds until a scan reads the page; infinite if none will. */
double		tps_scans_next_access(const tps_scans *scans, uint64_t page,
								  uint64_t now);
double		tps_scans_expected_access(const tps_scans *scans, uint64_t page,
									  uint64_t now);

/* Trailing index scans; contracts as in trail.h. */
uint64_t	tps_trail_begin(tps_scans *scans, uint64_t index, uint32_t owner,
							uint64_t now);
void		tps_trail_tuple(tps_scans *scans, uint64_t handle, uint64_t tuple,
							uint64_t now);
void		tps_trail_end(tps_scans *scans, uint64_t handle);
double		tps_trail_delay(const tps_scans *scans, uint64_t handle);

/* Scans of both kinds. */
uint32_t	tps_scans_running(const tps_scans *scans);

/* Move the registry to another place in memory. */
bool		tps_scans_move(tps_scans *scans);

/* As tps_cache_check. */
int			tps_scans_check(const tps_scans *scans, char *text, size_t size);

/* The scans that the cache's policy may ask; NULL, the default: none. */
void		tps_cache_set_scans(tps_cache *cache, const tps_scans *scans);

/* ---- a policy of the caller's ---- */

/*
 * A policy whose decisions are made by functions of the caller: prototypes in
 * other languages.  One object serves one pool, which it must outlive.  Each
 * function gets arg first; the operations are those of policy.h, by frame.
 *
 * resized: the pool has this many frames now.  victim: a resident frame for
 * which tps_foreign_usable is true, or TP_NONE or TP_REFUSED; the incoming page
 * is UINT64_MAX if there is none because the pool shrinks.
 */
typedef struct tps_foreign tps_foreign;
typedef struct tps_foreign_calls
{
	void		(*resized) (void *arg, uint32_t frames);
	void		(*hit) (void *arg, uint32_t frame, const tp_access *access);
	uint32_t	(*victim) (void *arg, uint64_t page, const tp_access *access);
	void		(*evict) (void *arg, uint32_t frame, const tp_access *access);
	void		(*admit) (void *arg, uint32_t frame, uint64_t page,
						  const tp_access *access);
	void		(*forget) (void *arg, uint32_t frame);
} tps_foreign_calls;

/* counts_all: hit is also called for references that do not promote. */
tps_foreign *tps_foreign_new(const tps_foreign_calls *calls, void *arg,
							 bool counts_all);
void		tps_foreign_free(tps_foreign *foreign);
const tp_policy *tps_foreign_policy(const tps_foreign *foreign);

/* May this frame be the victim?  Only while victim is called. */
bool		tps_foreign_usable(const tps_foreign *foreign, uint32_t frame);

/* Make no further calls; the oldest usable page is the victim from now on. */
void		tps_foreign_stop(tps_foreign *foreign);

/* ---- replay ---- */

/* What a bitmap scan, which begins with event `event`, will read. */
typedef struct tps_bitmap
{
	size_t		event;			/* index in the columns */
	const unsigned char *bits;	/* one per block group of TP_BLOCK_GROUP
								 * blocks, least significant first */
	size_t		bytes;
} tps_bitmap;

/*
 * Consecutive events of a trace as columns, each of n entries; a NULL column
 * is its default.  Kinds and flags are numbered as in the trace format.
 */
typedef struct tps_events
{
	size_t		n;
	const uint64_t *page;
	const uint8_t *kind;		/* 0 read, 1 write, 2..4 scan begin, advance,
								 * end, 5 forget, 6 pinned, 7 unpinned, 8
								 * dirtied, 9 written, 11 moved, 12 page
								 * moved, 21 reported, 22 chosen, 23 given up,
								 * 24 left, 25 process; others are ignored;
								 * default 0 */
	const uint16_t *flags;		/* default 0 */
	const uint64_t *time;		/* microseconds; default the position */
	const uint32_t *backend;	/* default 0 */
	const uint32_t *count;		/* of forget: pages, 0 for all from page to
								 * the end of the relation's fork; of scan
								 * begin: pages that it will read */
	const uint64_t *scan;		/* scan that the event belongs to; default 0:
								 * none */
	const uint32_t *size;		/* of scan begin: blocks that it goes round
								 * in; default 0: it does not.  Of an index
								 * scan with count 0: the index's number */
	const uint32_t *low;		/* of scan begin: the first of these blocks */
	const float *speed;			/* of scan begin: blocks per second; default
								 * 0: unknown */
	const tps_bitmap *bitmaps;	/* [n_bitmaps], in the order of the events */
	size_t		n_bitmaps;
	const uint8_t *pool;		/* in a layout, the number of the pool that
								 * the page comes into if it is not resident;
								 * of moved, the pool that the frame leaves,
								 * and count is the one it joins; default 0 */
	const uint64_t *next_use;	/* for OPT: see tps_future */
	const uint64_t *before;		/* of a sample, references of the whole trace
								 * before each event (tps_sample); NULL: the
								 * events are the whole trace */
	uint64_t	position;		/* of the first event in the trace */
} tps_events;

/* What to count besides requests and misses. */
typedef struct tps_options
{
	uint64_t	warmup;			/* references of the whole trace before
								 * counting begins */
	uint64_t	interval;		/* references of the whole trace per point of
								 * the time series; 0: no series */
	uint64_t	correlation_window; /* microseconds within which a backend's
									 * consecutive references to one page are
									 * one; 0: only those flagged in the trace */
	uint32_t	batch;			/* as in a server, each backend reports hits
								 * and the pages it brought in when so many
								 * are queued, or when it misses (batch.h), at
								 * most TP_BATCH_MAX; 1: a hit that needs the
								 * lock at once.  0: all at once, as papers
								 * have it.  In DEFAULT the policy clock has
								 * no queues: there it is PostgreSQL's own */
	bool		as_recorded;	/* the trace is of a server with the policy,
								 * frames and batch of this replay, and says
								 * when queues were reported and frames
								 * chosen: so both happen then */
	uint32_t	scans;			/* that a policy can know of at a time, as a
								 * server's registry: half as many bitmaps,
								 * eight times as many marks.  0: 1,024, 256
								 * bitmaps, TPS_TRAIL_MARKS marks */
	bool		per_relation;	/* count per relation and fork */
	bool		per_group;		/* count per group of pages, for the error of
								 * a sampled simulation */
	bool		per_search;		/* keep how many frames each search for a
								 * victim looks at */
	bool		per_event;		/* keep which references of the last feed
								 * missed */
} tps_options;

/* Sums over the counted part of the trace. */
typedef struct tps_totals
{
	uint64_t	requests;		/* references */
	uint64_t	misses;			/* requests whose page was not resident */
	uint64_t	refused;		/* misses whose page was not admitted */
	uint64_t	correlated;		/* hits that did not count as references of
								 * their own */
	uint64_t	evictions;		/* pages evicted */
	uint64_t	write_backs;	/* dirty pages evicted */
	uint64_t	forgotten;		/* pages that ceased to exist */

	/* of the evictions, with a policy that asks scans (tp_chooser): */
	uint64_t	predicted_evictions;	/* by what scans read, */
	uint64_t	frequency_evictions;	/* by frequency, */
	uint64_t	recency_evictions;	/* by recency alone */
	uint64_t	premature_evictions;	/* a running scan was to read the page
										 * within TP_SOON */
} tps_totals;

typedef struct tps_replay tps_replay;

/*
 * A replay into a cache, which it takes over; frees the cache on failure.  The
 * cache stands for all of a server's buffers, or for its pool DEFAULT.
 */
tps_replay *tps_replay_new(tps_cache *cache, const tps_options *options);

/*
 * A replay against OPT (Belady 1966) with this many frames, which evicts the
 * page whose next use is furthest.  bypass: the newcomer may be that page; then
 * nothing is evicted.  Events must carry next_use.
 */
tps_replay *tps_replay_new_opt(uint32_t frames, bool bypass,
							   const tps_options *options);
void		tps_replay_free(tps_replay *replay);

/* As tps_cache_resize, of the replay's cache; not for OPT. */
void		tps_replay_resize(tps_replay *replay, uint32_t frames,
							  uint64_t now);

/* Replay further events.  Returns false when memory ran out. */
bool		tps_replay_feed(tps_replay *replay, const tps_events *events);

/*
 * End the trace, which had this many references in all: closes the last
 * interval.  May be called again.  Returns false when memory ran out.
 */
bool		tps_replay_end(tps_replay *replay, uint64_t references);

void		tps_replay_totals(const tps_replay *replay, tps_totals *totals);

/* The time series: number of closed intervals; misses of each. */
size_t		tps_replay_series(const tps_replay *replay,
							  const uint64_t **misses);

/* Per relation and fork (page >> 32): number; the i-th's sums. */
size_t		tps_replay_relations(const tps_replay *replay);
void		tps_replay_relation(const tps_replay *replay, size_t i,
								uint64_t *relation, uint64_t *requests,
								uint64_t *misses);

/*
 * With per_search, the number of frames that each search for a victim
 * examined, including searches of the warm-up.  Returns the number of searches;
 * those that found a free frame are not counted.
 */
size_t		tps_replay_looks(const tps_replay *replay,
							 const uint32_t **looks);

/*
 * With per_event, a byte for each event of the last feed: 1 for a reference that
 * missed, also in the warm-up.  Valid until the next feed.
 */
const uint8_t *tps_replay_missed(const tps_replay *replay);

/*
 * With per_group, for each of TPS_GROUPS random groups of pages: the sum of
 * its pages' hit ratios in the whole trace so far, and its misses.  A standard
 * error from 64 groups is itself known to within 9 % (one standard error).
 */
#define TPS_GROUPS 64
void		tps_replay_groups(const tps_replay *replay, double *hit_ratios,
							  uint64_t *misses);

/* ---- a layout: several pools ---- */

/*
 * Pools that divide the frames among them, as in a server with named pools.  A
 * page is resident once, in the pool that it came into.  Frames move between
 * pools.  Pool 0, DEFAULT, takes the pages for which another pool has no frame.
 */
typedef struct tps_layout tps_layout;

#define TPS_POOLS 128			/* numbers of pools are below */

typedef struct tps_pool_spec
{
	const tp_policy *policy;	/* NULL: there is no pool of this number */
	const double *params;		/* as for tps_cache_new */
	uint32_t	frames;
} tps_pool_spec;

/*
 * A layout of pools 0 .. n - 1, at most TPS_POOLS with at most TP_MAX_FRAMES frames in
 * all; DEFAULT must be one.  any_policy: later ones may
 * have any policy with its default parameters; otherwise, those of the specs.
 * Each pool's randomness begins with the seed.  Of the options, correlation_window,
 * per_group and per_search must be 0.
 */
tps_layout *tps_layout_new(const tps_pool_spec *pools, uint32_t n,
						   bool any_policy, uint64_t seed,
						   const tps_options *options);
void		tps_layout_free(tps_layout *layout);

/*
 * Replay further events; the contract is tps_replay_feed's.  A pool that does
 * not exist counts as DEFAULT.
 */
bool		tps_layout_feed(tps_layout *layout, const tps_events *events);

/*
 * Move up to count frames: free ones, then the policy's victims, then, if it
 * names none, its coldest.  Returns how many have moved; fewer if the pool has no
 * more.
 */
uint32_t	tps_layout_move(tps_layout *layout, uint32_t from, uint32_t to,
							uint32_t count, uint64_t now);

/*
 * Begin a pool without frames, or give a pool another policy, which learns of
 * the resident pages in the old one's order: nothing is evicted.  False if the
 * policy needs more memory than there is room for.
 */
bool		tps_layout_define(tps_layout *layout, uint32_t number,
							  const tp_policy *policy, const double *params,
							  uint64_t now);

/* The pool is no more; frames that it still has go to DEFAULT. */
void		tps_layout_drop(tps_layout *layout, uint32_t number, uint64_t now);

/* Frames that the pool has; 0 if there is no such pool. */
uint32_t	tps_layout_frames(const tps_layout *layout, uint32_t number);

/* As tps_replay_end. */
bool		tps_layout_end(tps_layout *layout, uint64_t references);

/*
 * What was counted, for the functions above that return results: requests and
 * misses of all pools, their series and relations; and all totals of one pool.
 * A pool's requests are hits on its pages and the pages that came into it; its
 * refused are the pages that went to DEFAULT instead.  NULL: no such pool.
 */
const tps_replay *tps_layout_whole(const tps_layout *layout);
const tps_replay *tps_layout_pool(const tps_layout *layout, uint32_t number);

/* As tps_cache_describe and tps_cache_check. */
size_t		tps_layout_describe(const tps_layout *layout, uint32_t number,
								char *text, size_t size);
int			tps_layout_check(const tps_layout *layout, char *text, size_t size);

/* ---- reads and writes below a cache ---- */

/*
 * From now on record what a replay's cache reads and writes: its misses (kind
 * read), the dirty pages it evicts (write), and pages that cease to exist
 * (forget).  evictions: record the clean pages that it evicts, too, for tiers
 * that take pages then; OPT's are not known.  False when memory ran out.
 */
bool		tps_replay_keep_io(tps_replay *replay, bool evictions);

/*
 * The reads and writes of the last feed, as events in order; position counts
 * them from the first feed.  Valid until the next feed.
 */
void		tps_replay_io(const tps_replay *replay, tps_events *events);

/* ---- the future of each reference, for OPT ---- */

/*
 * Computes for each event of a trace the position of the next reference to
 * its page, UINT64_MAX if there is none or the page ceases to exist before
 * it.  The caller owns the array for the whole trace
 * (it may be a mapped file) and feeds the events in order.  Without an array
 * (NULL) it only counts distinct pages.
 */
typedef struct tps_future tps_future;
tps_future *tps_future_new(void);
void		tps_future_free(tps_future *future);
bool		tps_future_feed(tps_future *future, const tps_events *events,
							uint64_t *next_use_of_trace);

/* Distinct pages among the references so far. */
uint64_t	tps_future_distinct(const tps_future *future);

/* ---- LRU stack distances ---- */

/*
 * The histogram of LRU stack distances in one pass (Mattson et al. 1970,
 * with a binary indexed tree over the times of last reference): a reference
 * with distance d hits in every LRU cache of d frames or more.  Pages that
 * cease to exist leave free frames behind, as in a cache.
 */
typedef struct tps_stack tps_stack;
tps_stack  *tps_stack_new(uint64_t warmup);
void		tps_stack_free(tps_stack *stack);
bool		tps_stack_feed(tps_stack *stack, const tps_events *events);

/* The counted references; how many of them miss in every cache; the distinct
 * pages of the whole trace. */
void		tps_stack_totals(const tps_stack *stack, uint64_t *requests,
							 uint64_t *cold, uint64_t *distinct);

/* (*counts)[d - 1] for distances d = 1 .. the value returned. */
size_t		tps_stack_histogram(const tps_stack *stack,
								const uint64_t **counts);

/* ---- spatial sampling ---- */

/*
 * Write the indexes of the events whose page is in the sample to chosen, and
 * return their number.  The sample has the pages whose tps_sample_hash is below
 * threshold (SHARDS: Waldspurger et al., FAST 2015).  Unless before is NULL,
 * write to it the number of references in the whole trace before each chosen
 * event; `references` of them precede the first of these events.
 */
size_t		tps_sample(const tps_events *events, uint64_t seed,
					   uint64_t threshold, uint64_t references,
					   uint32_t *chosen, uint64_t *before);
uint64_t	tps_sample_hash(uint64_t page, uint64_t seed);

/* ---- repetitions ---- */

/*
 * Finds the references that repeat their backend's previous one within this
 * window (microseconds), as a replay with that correlation window does.  For
 * sampling, since a sample may lack a backend's previous reference.
 */
typedef struct tps_repetitions tps_repetitions;
tps_repetitions *tps_repetitions_new(uint64_t window);
void		tps_repetitions_free(tps_repetitions *repetitions);

/* Write the flags of further events to flags, adding TP_CORRELATED to
 * repetitions. */
void		tps_repetitions_feed(tps_repetitions *repetitions,
								 const tps_events *events, uint16_t *flags);

/* cffi: end */

#endif							/* TIDEPOOL_SIM_H */
