/*
 * policy.h
 *	  The contract between a replacement policy and its callers.
 *
 * Callers (the simulator, the server, the tests) use the operations of pool.h.
 * Those do the part that all policies share (page identities, generations, the
 * free list, membership) and then call the policy through struct tp_policy.
 *
 * MEMORY.  See layout.h: a policy's state lies in the pool's header, and in
 * the nodes and extra bytes of its frames.
 *
 * STATES OF A FRAME.  The caller moves a frame from state to state with the
 * operations of pool.h:
 *
 *				  admit						  admit
 *			+--------------------> resident <---------+
 *			|						 |  ^			  |
 *			|			evict, forget|  |restore	  |
 *			|						 v  |			  |
 *		   free <--- release --- claimed -------------+
 *			 |					   ^
 *			 +-------- claim ------+
 *
 *	  free		on list TP_FREE: offered to whoever asks for a victim
 *	  claimed	on no list: one caller is filling it, or has pinned it
 *	  resident	holds a page, on one of the policy's lists
 *
 * A caller that keeps its own free frames, as a server does, claims all frames
 * at the start and releases none.
 *
 * LOCKING.  The core takes no locks.  The caller holds the pool's lock
 * exclusively around every operation, with three exceptions:
 *
 * 1. hit, if the policy declares TP_HIT_LOCK_FREE, may run at any time,
 *	  concurrently with anything.  It writes fields of its own frame, with relaxed
 *	  atomics, and may read fields of the whole pool (an epoch, say) with relaxed
 *	  loads.  If the policy also declares TP_CHOICE_LOCK_FREE it may change such
 *	  fields, as in 2.  The worst a race costs is one lost or misplaced
 *	  reference mark.
 * 2. victim, evict, admit, forget and restore, if the policy declares
 *	  TP_CHOICE_LOCK_FREE and the pool is shared (tp_share).  victim reads nodes
 *	  and running scans with relaxed loads; what it remembers is in
 *	  pool->chooser, which belongs to this process.  The others write their own
 *	  frame's node and extra bytes with relaxed stores; one process at a time
 *	  does so for a frame (in a server it has the buffer pinned).  All change
 *	  fields of the whole pool with relaxed atomics.  A shared pool counts no
 *	  lists and has no free frames.  The worst a race costs is a worse choice.
 * 3. upcoming, if the policy declares TP_UPCOMING_LOCK_FREE.  It writes nothing.
 *
 * TIME comes from the caller with each reference, RANDOMNESS from the seed in
 * the header.  The same operations with the same seed give the same state.
 * FAILURE: nothing fails after tp_pool_init.
 */
#ifndef TIDEPOOL_POLICY_H
#define TIDEPOOL_POLICY_H

#include "tidepool/cursor.h"
#include "tidepool/layout.h"

struct tp_text;					/* see text.h */
struct tp_standing;				/* see standing.h */
struct tp_memory;

/* Receives each violation that check finds.  index: a frame or a ghost. */
typedef void (*tp_report) (void *arg, const char *violation, uint32_t index);

typedef enum tp_param_type
{
	TP_PARAM_INTEGER,
	TP_PARAM_REAL,
	TP_PARAM_FRACTION,			/* of the pool's frames; written 0.01 or 1% */
	TP_PARAM_ENUM				/* value is an index into choices */
} tp_param_type;

/* A parameter: declared once, here; every front end is made from this. */
typedef struct tp_param
{
	const char *name;
	tp_param_type type;
	double		default_value;
	double		min;
	double		max;
	const char *help;			/* one line, lower case, no full stop */
	const char *const *choices; /* TP_PARAM_ENUM: NULL-terminated */
} tp_param;

/* A number of the policy's state worth showing: ARC's p, a hand, ... */
typedef enum tp_field_type
{
	TP_FIELD_U32,
	TP_FIELD_U64,
	TP_FIELD_DOUBLE
} tp_field_type;

typedef struct tp_field
{
	const char *name;
	tp_field_type type;
	uint32_t	offset;			/* in the policy's state struct */
} tp_field;

/* Policy flags */
#define TP_HIT_LOCK_FREE	0x001	/* hit needs no lock */
#define TP_HIT_NOTHING		0x002	/* hit does nothing: it need not be called */
#define TP_COUNTS_ALL		0x004	/* hit is also called for references that
									 * do not promote */
#define TP_RANDOMIZED		0x008	/* decisions depend on the seed */
#define TP_ASKS_SCANS		0x010	/* uses services->scans, services->trails,
									 * and says why it proposes a page */
#define TP_USES_HASH		0x020	/* has no ghosts, but keeps entries of its
									 * own in the pool's hash table */
#define TP_READS_EXTENTS	0x040	/* uses services->extents; without them
									 * all pages are alike */
#define TP_USES_TIME		0x080	/* uses access->now; for other policies'
									 * hits the clock need not be read */
#define TP_CHOICE_LOCK_FREE	0x100	/* victim, evict, admit, forget and
									 * restore need no lock, unless the
									 * parameters ask for ghosts */
#define TP_WANTS_WRITES		0x200	/* hit is also called for TP_DIRTIED */
#define TP_UPCOMING_LOCK_FREE 0x400 /* upcoming needs no lock */
#define TP_TAKES_BULK		0x800	/* gets the pages of large scans, bulk
									 * writes and VACUUM as well: a server
									 * need not confine them to rings */
#define TP_HIT_IN_EXTRA		0x1000	/* of the frame, hit touches the extra
									 * bytes alone, and does no harm to one
									 * without a page: a caller need not look
									 * whether it is resident */

/* Values of keep's parameter on_full. */
typedef enum tp_on_full
{
	TP_ON_FULL_SPILL,			/* the page goes to another pool */
	TP_ON_FULL_ERROR			/* the statement fails */
} tp_on_full;

typedef enum tp_order
{
	TP_LINKED,					/* doubly linked through the nodes: list.h */
	TP_RING						/* by the tag in the node alone, in the order
								 * of members; links are the policy's: ring.h */
} tp_order;

typedef struct tp_list_kind
{
	const char *name;
	tp_order	order;
} tp_list_kind;

/*
 * The policy.  The caller holds the pool's lock in every call, with the three
 * exceptions above.  NULL is allowed where a default is named.
 */
struct tp_policy
{
	const char *name;			/* as users type it: lower case, [a-z0-9_] */
	const char *alias;			/* a second name, or NULL */
	const char *title;			/* spelled out */
	const char *source;			/* authors, venue, year */
	uint32_t	flags;
	uint32_t	state_size;		/* of its struct in header->state */
	uint32_t	extra_size;		/* bytes it adds to each frame */
	uint32_t	chooser_size;	/* of its struct in a chooser's state */
	const tp_param *params;		/* ends with a NULL name; NULL for none */
	const tp_field *fields;		/* ends with a NULL name; NULL for none */

	/* The lists of frames 1.., and names of the ghost lists 1..; NULL at end. */
	tp_list_kind lists[TP_MAX_LISTS];
	const char *ghost_lists[TP_MAX_GHOST_LISTS];

	/* Ghosts wanted per frame with these parameters.  NULL: none. */
	double		(*ghosts) (const double *params);

	/* Prepare the state of pool->chooser (zeroed).  NULL: nothing to do. */
	void		(*init_chooser) (const tp_pool *pool);

	/*
	 * Prepare the state of an empty pool (zeroed), which has a chooser with
	 * the seed.  NULL: nothing to do.
	 */
	void		(*init) (const tp_pool *pool);

	/*
	 * The pool has just gained a frame (c grew by one, the frame is free), or
	 * has just lost one (c shrank by one, the frame was free or claimed).
	 * Bring lists, targets and ghosts within the bounds of the new c.  At
	 * leave, slot is the index in members that the frame had; the former last
	 * member has taken it, unless slot == frames: then the frame itself was
	 * the last.  NULL: no bound depends on c.
	 */
	void		(*join) (const tp_pool *pool, uint32_t frame);
	void		(*leave) (const tp_pool *pool, uint32_t frame, uint32_t slot);

	/* A resident page was referenced.  NULL with TP_HIT_NOTHING only. */
	void		(*hit) (const tp_pool *pool, uint32_t frame,
						const tp_access *access);

	/*
	 * Prefetch what hits on the pages with these keys will touch besides the
	 * nodes and the extra bytes of their frames.  Called without the lock:
	 * changes nothing, and what it reads may be changing.  NULL: nothing.
	 *
	 * Called twice for the same keys.  Step 0 prefetches what step 1 must
	 * read to compute its addresses.
	 */
	void		(*prefetch) (const tp_pool *pool, const uint64_t *keys,
							 uint32_t count, int step);

	/*
	 * victim will be called soon.  Prefetch what it will touch, and store in
	 * frames those of which it will ask whether they are usable: at most
	 * TP_MAX_EXPECTED.  Returns their number.  Called without the lock:
	 * changes nothing, and what it reads may be changing, so this is a guess.
	 * (With TP_CHOICE_LOCK_FREE the chooser is the caller's own, and may keep
	 * what was drawn.)  NULL: the tails of the linked lists and of the ghost
	 * lists.
	 */
	uint32_t	(*expect_choice) (const tp_pool *pool, uint32_t *frames);

	/*
	 * The next choice among the resident frames for which usable is true.
	 * TP_NONE: no resident frame is usable.  TP_REFUSED: the incoming page is
	 * not to be cached.
	 *
	 * Unusable frames are skipped as though they were absent.  One that has
	 * become usable may be skipped for a while, unless no other is usable
	 * (core/README.md, "Searches past pinned pages").  The choice is a
	 * proposal: the frame stays where it is, no ghost is made, no target
	 * moves.  Turning a hand, clearing reference marks and giving second
	 * chances are allowed, because the paper charges them to the search.
	 * Terminates after a bounded number of steps.
	 *
	 * With TP_ASKS_SCANS: also stores reason and wanted_soon in the chooser.
	 */
	uint32_t	(*victim) (const tp_pool *pool, tp_page incoming,
						   tp_usable usable, void *arg,
						   const tp_access *access);

	/*
	 * The page in this resident frame is evicted.  Take the node off its list
	 * (tp_list_remove or tp_ring_remove).  A ghost may be left
	 * (tp_ghost_push, which sets node->origin).  What restore needs stays in
	 * the node and the extra bytes.  The caller marks the node as claimed and
	 * changes the generation.
	 */
	void		(*evict) (const tp_pool *pool, uint32_t frame,
						  const tp_access *access);

	/*
	 * The eviction from this claimed frame, the last thing that happened to
	 * it, was not carried out.  Put the page back where it was on this list.
	 * Its ghost has been removed; node->origin is TP_FREE if it had none any
	 * more.  Other effects of the eviction, such as a ghost trimmed to make
	 * room, may stay.  NULL: tp_ring_add or tp_list_put_back.
	 */
	void		(*restore) (const tp_pool *pool, unsigned list,
							uint32_t frame, const tp_access *access);

	/*
	 * A page, already entered in the node, was loaded into this frame.  Put
	 * the frame on a list, and remove the page's ghost if it has one.
	 * node->origin is still the list of the ghost that the frame's last page
	 * left.
	 */
	void		(*admit) (const tp_pool *pool, uint32_t frame,
						  const tp_access *access);

	/*
	 * The page in this resident frame ceased to exist, or a caller that does
	 * not ask the policy replaced it (PostgreSQL's rings).  As evict, but
	 * leave no ghost and learn nothing.
	 */
	void		(*forget) (const tp_pool *pool, uint32_t frame);

	/*
	 * The next frame of a walk over all resident frames, next victim first as
	 * far as the policy can tell without changing anything; each frame once.
	 * TP_NONE at the end, and where tp_cursor_look returns false.  A policy
	 * without upcoming also ends the walk after the cursor's share.  NULL:
	 * the linked lists by their numbers, each from its tail; not for rings.
	 */
	uint32_t	(*coldest) (const tp_pool *pool, tp_cursor *cursor);

	/*
	 * The next frame that is likely to be evicted soon: as many as the
	 * cursor's share, or as many of each list if several take turns.  TP_NONE
	 * at the end, and where tp_cursor_look returns false.  Changes nothing.
	 * Frames for which ahead->wanted is false may be left out.
	 *
	 * With TP_UPCOMING_LOCK_FREE this may run concurrently with anything and
	 * reads what changes with relaxed loads.  The worst a race costs is a
	 * frame that is not a likely victim, or a round without frames.
	 *
	 * NULL: as coldest with that share.
	 */
	uint32_t	(*upcoming) (const tp_pool *pool, tp_lookahead *ahead);

	/*
	 * For standing.h.  describe_standing: replace in the standing, which has
	 * count, mark, word and extra as they are, what means nothing in another
	 * pool.  NULL: nothing.
	 *
	 * reinstate: the page of this frame, already entered in the node, has
	 * this standing, whose list the policy has.  Put the frame on that list
	 * behind those that are there, or on a lower one if the list is full. The
	 * standing may be of a pool of another size, or newer than this one's
	 * clock.  NULL: tp_reinstate_at_tail.
	 *
	 * recalls: may this ghost be appended to its list now?  NULL: none may.
	 *
	 * resume: take over what outlives a pool from the state struct of one
	 * that had so many frames.  NULL: nothing does.
	 */
	void		(*describe_standing) (const tp_pool *pool, uint32_t frame,
									  struct tp_standing *standing,
									  uint64_t now);
	void		(*reinstate) (const tp_pool *pool, uint32_t frame,
							  const struct tp_standing *standing,
							  const tp_access *access);
	bool		(*recalls) (const tp_pool *pool,
							const struct tp_memory *memory);
	void		(*resume) (const tp_pool *pool, const void *state,
						   uint32_t frames);

	/*
	 * Append to the text of tp_describe what neither lists nor fields show;
	 * each item begins with " | ".  NULL: nothing.
	 */
	void		(*describe) (const tp_pool *pool, struct tp_text *text);

	/*
	 * Assert the policy's own invariants; the common ones have been checked.
	 * Returns the number of violations.  NULL: none.
	 */
	int			(*check) (const tp_pool *pool, tp_report report, void *arg);
};

/* ---- the registry of policies ---- */

/* All policies, in the order of the manual; ends with NULL. */
extern const tp_policy *const tp_policies[];

/*
 * Of each, in the same order: the server has it in library pg_bp_NAME, or
 * itself ("builtin").  "none": it is not for shared buffers.
 */
extern const char *const tp_policy_libraries[];

/* By name or alias; NULL if unknown. */
const tp_policy *tp_policy_find(const char *name);

/* Number of parameters; index of one by name, or -1. */
int			tp_policy_param_count(const tp_policy *policy);
int			tp_policy_param_find(const tp_policy *policy, const char *name);

/* Fills params[0 .. TP_MAX_PARAMS) with the defaults. */
void		tp_policy_defaults(const tp_policy *policy, double *params);

/* Ghost slots that must come with each frame for these parameters. */
uint32_t	tp_policy_ghosts_per_frame(const tp_policy *policy,
									   const double *params);

/*
 * Hash buckets that should come with each frame for these parameters: one for
 * every two ghosts, as far as TP_MAX_FRAME_BYTES allows.
 */
uint32_t	tp_policy_buckets_per_frame(const tp_policy *policy,
										const double *params);

/*
 * Bytes per frame with the default parameters: node, extra (rounded up to 8),
 * member and buckets.
 */
uint32_t	tp_policy_frame_bytes(const tp_policy *policy);

#endif							/* TIDEPOOL_POLICY_H */
