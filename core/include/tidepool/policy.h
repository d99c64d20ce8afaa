/*
 * policy.h
 *	  What a replacement policy is, what it is told, and what it must keep.
 *
 * This is the contract between a policy and whoever calls it: the simulator,
 * the server, the tests.  Callers use the operations of pool.h, which do the
 * part that is the same for every policy (page identities, generations, the
 * free list, membership) and then call the policy through this table.
 *
 * MEMORY.  A policy has no memory of its own.  A pool's state lies in pieces
 * that the caller provides; they hold indexes and numbers, never pointers, so
 * they may live in shared memory, be copied, moved and compared.
 *
 *	  header    1 per pool             lists, targets, parameters, randomness
 *	  nodes     1 per frame            page, generation, links           32 B
 *	  extra     1 per frame            what one policy adds        0 .. 24 B
 *	  members   1 per frame            the pool's frames, densely         4 B
 *	  ghosts    G per frame, 1 spare   keys of evicted pages             32 B
 *	  buckets   B per frame            hash chains, see hash.h            4 B
 *
 * nodes, extra, ghosts and buckets are indexed by frame number and may be
 * shared by many pools, since a frame is in one pool at a time.  members and
 * header belong to one pool.  A frame costs at most 64 B, without its ghosts.
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
 *	  claimed	on no list: one caller is filling it, or knows where it is
 *	  resident	holds a page, on one of the policy's lists
 *
 * A caller that keeps its own free frames, as a server does, claims them all
 * at the start and releases none.
 *
 * LOCKING.  The core takes no locks.  The caller must hold the pool's lock
 * exclusively around every operation, with three exceptions:
 *
 * hit, for a policy that declares TP_HIT_LOCK_FREE, may run at any time beside
 * anything.  Such a hit writes only fields of its own frame, with relaxed
 * atomics.  It may read fields of the whole pool (an epoch, say) with relaxed
 * loads.  The worst a race costs is one lost or misplaced reference mark.
 *
 * victim, evict, admit, forget and restore, for a policy that declares
 * TP_CHOICE_LOCK_FREE, in a pool that tp_share has been called for.  victim
 * reads nodes and the running scans with relaxed loads, and what it remembers
 * it keeps in pool->chooser, which is this process's own.  The others write
 * their own frame's node and extra bytes with relaxed stores; one process at a
 * time may do so for one frame (in a server: it has the buffer pinned).
 * Fields of the whole pool they change with relaxed atomics.  In a shared pool
 * no list is counted, and the free list is empty.  The worst a race costs is a
 * worse choice.
 *
 * upcoming, for a policy that declares TP_UPCOMING_LOCK_FREE: it writes nothing.
 *
 * TIME.  Comes from the caller with each reference.  RANDOMNESS.  Comes from
 * the seed in the header.  The same operations with the same seed always give
 * the same state.  FAILURE.  Nothing can fail after tp_pool_init.
 */
#ifndef TIDEPOOL_POLICY_H
#define TIDEPOOL_POLICY_H

#include "tidepool/page.h"

#define TP_MAX_FRAMES		(UINT32_C(1) << 31) /* in one numbering of frames */
#define TP_MAX_PARAMS		8	/* parameters of one policy */
#define TP_MAX_LISTS		13	/* lists of frames, the free list among them */
#define TP_MAX_EXPECTED		24	/* frames that expect_choice tells */
#define TP_MAX_GHOST_LISTS	3	/* lists of ghosts, the free list among them */
#define TP_STATE_SIZE		640 /* bytes of a policy's own header state */
#define TP_CHOOSER_SIZE		1024	/* bytes of a policy's own chooser state */
#define TP_MAX_EXTRA		24	/* bytes a policy may add to a frame */
#define TP_MAX_FRAME_BYTES	64	/* of all that a frame has but its ghosts */

#define TP_FREE 0				/* number of the free list, of frames and
								 * ghosts */
#define TP_CLAIMED 0x80			/* in place of a list: claimed; the lower bits
								 * are the list the frame was on before */

struct tp_text;					/* see text.h */

/* A doubly linked list of indexes.  The head is the most recent end. */
typedef struct tp_list
{
	uint32_t	head;			/* most recently inserted, or TP_NONE */
	uint32_t	tail;			/* least recently inserted, or TP_NONE */
	uint32_t	count;			/* entries */
} tp_list;

/*
 * The frames at the tail of a linked list that searches for a victim found
 * unusable; see "searches" in list.h.
 */
typedef struct tp_passed
{
	uint32_t	last;			/* from the tail up to here; TP_NONE: none */
	uint32_t	hand;			/* the one that is looked at again next;
								 * TP_NONE: the one before the tail */
} tp_passed;

/* A frame's node.  It is on exactly one list of its pool, unless claimed. */
typedef struct tp_node
{
	uint64_t	relation;		/* the page in the frame; if the frame is not
								 * resident, */
	uint32_t	block;			/* the page that was there last */
	uint32_t	generation;		/* changes whenever the page does */
	uint32_t	prev;			/* towards the head of its list; of a claimed
								 * frame: as it was, for restore */
	uint32_t	next;			/* towards the tail of its list; likewise */
	uint32_t	slot;			/* index in the pool's members; TP_NONE: in no
								 * pool */
	uint8_t		list;			/* the list it is on, or TP_CLAIMED | list */
	uint8_t		count;			/* the policy's: usage count, frequency, mark */
	uint8_t		origin;			/* of a claimed or free frame: the ghost list
								 * that its last page went to, TP_FREE if to
								 * none */
	uint8_t		mark;			/* the policy's */
} tp_node;

/* The memory of a page that was evicted. */
typedef struct tp_ghost
{
	uint64_t	key;			/* tp_page_key of the page */
	uint32_t	chain;			/* next ghost in the same bucket, or TP_NONE */
	uint32_t	prev;			/* towards the head of its list */
	uint32_t	next;			/* towards the tail of its list */
	uint8_t		list;			/* the ghost list it is on; TP_FREE: unused */
	uint8_t		small[3];		/* the policy's */
	uint64_t	value;			/* the policy's */
} tp_ghost;

/*
 * What one process keeps from choice to choice.  A pool has one in its header,
 * which does for all who take turns under its lock; whoever chooses without
 * the lock has one of his own (tp_chooser_init).
 */
typedef struct tp_chooser
{
	uint64_t	random_state;	/* see random.h */
	uint64_t	state[TP_CHOOSER_SIZE / 8]; /* the policy's own struct */
} tp_chooser;

/* A pool's header: everything about the pool that is not about one frame. */
typedef struct tp_header
{
	uint32_t	frames;			/* c: frames the pool owns now */
	uint32_t	ghost_count;	/* ghosts in use, all lists */
	uint32_t	claimed;		/* claimed frames; not counted if shared */
	bool		shared;			/* see tp_share */
	tp_chooser	chooser;		/* of those who hold the lock */
	double		params[TP_MAX_PARAMS];	/* in the order of the policy's table */
	tp_list		lists[TP_MAX_LISTS];
	tp_passed	passed[TP_MAX_LISTS];
	tp_list		ghost_lists[TP_MAX_GHOST_LISTS];
	uint64_t	state[TP_STATE_SIZE / 8];	/* the policy's own struct */
} tp_header;

typedef struct tp_policy tp_policy;

/*
 * What the caller knows beside the references and lets policies ask.  A member
 * is NULL where the caller does not know it.
 */
typedef struct tp_services
{
	const struct tp_scans *scans;	/* running scans: prediction/scan.h */
	const struct tp_trails *trails; /* trailing index scans:
									 * prediction/trail.h */
	const struct tp_extents *extents;	/* temperatures of what lies below the
										 * pool: tier/extents.h */
} tp_services;

extern const tp_services tp_no_services;

/*
 * One process's view of a pool: where its pieces are mapped here.  Built by
 * the caller, passed to every operation, never stored beside the pieces.
 */
typedef struct tp_pool
{
	const tp_policy *policy;
	tp_header  *header;
	tp_chooser *chooser;		/* this process's, or the header's */
	tp_node    *nodes;			/* [frame] */
	unsigned char *extra;		/* [frame * extra_stride] */
	uint32_t   *members;		/* [0 .. header->frames) */
	tp_ghost   *ghosts;			/* [frame * ghosts_per_frame + k], k below
								 * ghosts_per_frame; and ghosts[spare_ghost] */
	uint32_t   *buckets;		/* [frame * buckets_per_frame + b], b below
								 * buckets_per_frame */
	uint32_t	extra_stride;	/* bytes, at least the policy's extra_size,
								 * multiple of 8 */
	uint32_t	ghosts_per_frame;	/* ghost slots that come with a frame */
	uint32_t	buckets_per_frame;	/* at least 1 if there is a hash table */
	uint32_t	spare_ghost;	/* one more slot of the pool's own, so that an
								 * eviction can leave a ghost before the
								 * admission that follows removes one */
	const tp_services *services;	/* never NULL: tp_no_services */
} tp_pool;

/* What a reference was. */
#define TP_WRITE		0x01	/* the page was modified */
#define TP_CORRELATED	0x02	/* repeats the same backend's previous
								 * reference within the correlation window:
								 * one and the same reference as that */
#define TP_VACUUM		0x04	/* made by VACUUM: says nothing about the
								 * workload and must not promote */
#define TP_DIRTIED		0x08	/* no reference: the page has become dirty
								 * since the one that was told before; with
								 * TP_WRITE */
#define TP_SEQUENTIAL	0x10	/* through a sequential scan */
#define TP_BITMAP		0x20	/* through a bitmap scan */
#define TP_INDEX		0x40	/* through an index scan */

typedef struct tp_access
{
	uint64_t	now;			/* microseconds, the caller's monotonic clock */
	uint64_t	scan;			/* registered scan that made it, 0 for none;
								 * tp_is_trail (trail.h) tells which kind */
	uint32_t	backend;		/* who made it */
	uint32_t	flags;			/* TP_WRITE | ... */
} tp_access;

/* Does this reference count as new evidence that the page is wanted? */
static inline bool
tp_promotes(const tp_access *access)
{
	return (access->flags & (TP_CORRELATED | TP_VACUUM | TP_DIRTIED)) == 0;
}

/* May the caller take this frame?  NULL stands for "any". */
typedef bool (*tp_usable) (void *arg, uint32_t frame);

/*
 * Position of a walk with coldest or upcoming.  Zero-initialised to begin.
 *
 * A walk may pause and go on later, whatever has happened to the pool in the
 * meantime.  If nothing has, it is the same walk as without the pause.
 * Otherwise frames may be missed or come twice; but each is a frame of the
 * pool, and the walk ends.
 */
typedef struct tp_cursor
{
	uint64_t	looks;			/* frames looked at since the walk began */
	uint64_t	pause;			/* looks at which to pause; 0: never */
	uint32_t	stage;			/* list or band, counted in order of eviction */
	uint32_t	position;		/* frame, member or cell to look at next */
	uint32_t	generation;		/* of that frame */
	uint32_t	last;			/* of a list: the frame looked at before */
	uint32_t	left;			/* of a list: looks that remain in this stage */
	uint32_t	taken;			/* frames that have come, towards the share */
	uint32_t	share;			/* most frames to come; 0: all */
	bool		started;		/* within the stage */
	bool		over;			/* the walk has ended */
} tp_cursor;

static inline bool
tp_cursor_paused(const tp_cursor *cursor)
{
	return cursor->pause != 0 && cursor->looks >= cursor->pause;
}

/* At the walk's next frame: may it look?  Otherwise it returns TP_NONE. */
static inline bool
tp_cursor_look(tp_cursor *cursor)
{
	if (tp_cursor_paused(cursor))
		return false;
	cursor->looks++;
	return true;
}

/* Have enough frames come? */
static inline bool
tp_cursor_sated(const tp_cursor *cursor)
{
	return cursor->share != 0 && cursor->taken >= cursor->share;
}

static inline void
tp_cursor_end_stage(tp_cursor *cursor)
{
	cursor->stage++;
	cursor->position = 0;
	cursor->started = false;
}

#define TP_MAX_BANDS 64			/* of a policy that sweeps */

/*
 * What somebody who looks ahead of evictions, a background writer say, keeps
 * between its slices and rounds: in its own memory, zero-initialised.  From
 * next on it is for policies that sweep (tp_upcoming_sweep).
 */
typedef struct tp_lookahead
{
	tp_cursor	cursor;			/* of this round */
	tp_usable	wanted;			/* what it is about, where that is cheaper to
								 * tell than how cold a page is; NULL: any */
	void	   *arg;			/* of wanted */
	uint32_t	next;			/* member that the sweep goes on with */
	uint32_t	passed;			/* resident frames looked at */
	uint32_t	counted;		/* pages in bands[], since it was cleared */
	uint32_t	bands[TP_MAX_BANDS];	/* pages by how cold they are */
	bool		learned;		/* the three below are meaningful */
	uint32_t	threshold;		/* pages of lower bands will go soon; ... */
	double		portion;		/* ... and so much of this band */
	double		credit;			/* of a page of this band, up to 1 */
} tp_lookahead;

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
#define TP_HIT_LOCK_FREE	0x01	/* hit may run without the pool's lock */
#define TP_HIT_NOTHING		0x02	/* hit does nothing: it need not be called */
#define TP_COUNTS_ALL		0x04	/* hit is also called for references that
									 * do not promote; otherwise they are
									 * dropped before they reach the policy */
#define TP_RANDOMIZED		0x08	/* decisions depend on the seed */
#define TP_ASKS_SCANS		0x10	/* asks services->scans */
#define TP_USES_HASH		0x20	/* has no ghosts, but entries of its own
									 * in the pool's hash table (hash.h) */
#define TP_READS_EXTENTS	0x40	/* goes by the temperatures in
									 * services->extents; without them all
									 * pages are alike to it */
#define TP_USES_TIME		0x80	/* looks at access->now; for the hits of
									 * others the clock need not be read */
#define TP_WANTS_WRITES	0x200	/* hit is also called for TP_DIRTIED */
#define TP_CHOICE_LOCK_FREE	0x100	/* all but join, leave, coldest and check
									 * may run without the pool's lock, unless
									 * its parameters ask for ghosts */

#define TP_UPCOMING_LOCK_FREE 0x400 /* upcoming may run without the pool's
									 * lock */

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
 * The policy.  In every call the caller holds the pool's lock, but for the three
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

	/* Prepare the state of an empty pool (zeroed).  NULL: nothing to do. */
	void		(*init) (const tp_pool *pool);

	/* Prepare the state of pool->chooser (zeroed).  NULL: nothing to do. */
	void		(*init_chooser) (const tp_pool *pool);

	/*
	 * The pool has just gained a frame (c grew by one; the frame is on the
	 * free list), or has just lost one (c shrank by one; the frame was free
	 * and is gone).  Lists, targets and ghosts must be brought within the
	 * bounds that the new c sets.  At leave, slot is the index in members
	 * that the frame had; the former last member, now members[slot], has
	 * taken its place (if slot == frames, it was the last itself). NULL: no
	 * bounds depend on c.
	 */
	void		(*join) (const tp_pool *pool, uint32_t frame);
	void		(*leave) (const tp_pool *pool, uint32_t frame, uint32_t slot);

	/* A resident page was referenced.  NULL with TP_HIT_NOTHING only. */
	void		(*hit) (const tp_pool *pool, uint32_t frame,
						const tp_access *access);

	/*
	 * Load into the cache what hits on the pages with these keys will touch
	 * beside the nodes.  Called without the lock: changes nothing, and what
	 * it reads may be changing.  NULL: that is their frames' extra bytes.
	 *
	 * Called twice for the same keys, with step 0 and with step 1.  What is
	 * not known without reading something is loaded in step 1, and what is to
	 * be read for it in step 0.
	 */
	void		(*prefetch) (const tp_pool *pool, const uint64_t *keys,
							 uint32_t count, int step);

	/*
	 * victim will be called soon: load into the cache what it will touch
	 * without looking whether frames are usable, and tell in which frames it
	 * will look for that, TP_MAX_EXPECTED at most.  Returns their number.
	 * Called without the lock: changes nothing, and what it reads may be
	 * changing, so this is a guess.  NULL: those are the tails of the linked
	 * lists, and the ghost lists' tails.
	 */
	uint32_t	(*expect_choice) (const tp_pool *pool, uint32_t *frames);

	/*
	 * The next choice among the resident frames for which usable is true;
	 * TP_NONE if there is none; TP_REFUSED if the incoming page is not to be
	 * cached.  Frames that are not usable are passed over as though they were
	 * absent.  One that has become usable may be passed over for a while,
	 * unless no other is usable (core/README.md, "Searches past pinned
	 * pages").  A proposal, not a decision: the frame stays where it is, no
	 * ghost is made, no target moves.  Turning a hand, clearing reference
	 * marks and giving second chances on the way are allowed: the paper
	 * charges them to looking. Terminates after a bounded number of steps.
	 */
	uint32_t	(*victim) (const tp_pool *pool, tp_page incoming,
						   tp_usable usable, void *arg,
						   const tp_access *access);

	/*
	 * The page in this resident frame has been evicted.  The policy takes the
	 * node off its list (tp_list_remove or tp_ring_remove), and may leave a
	 * ghost.  If it does, it sets node->origin to the ghost list.  What
	 * restore needs it leaves in the node and the extra bytes.  The caller
	 * marks the node as claimed and changes the generation.
	 */
	void		(*evict) (const tp_pool *pool, uint32_t frame,
						  const tp_access *access);

	/*
	 * The eviction of this claimed frame's page, the last thing that happened
	 * to the frame, was not carried out: put the page back onto this list,
	 * where it was.  Its ghost has been removed; node->origin is TP_FREE if
	 * there was none any more.  What else the eviction changed, such as a
	 * ghost trimmed to make room, may stay.  NULL: on a ring by its tag, on a
	 * linked list by tp_list_put_back.
	 */
	void		(*restore) (const tp_pool *pool, unsigned list,
							uint32_t frame, const tp_access *access);

	/*
	 * A page, already entered in the node, was loaded into this frame, which
	 * is on no list now.  The policy puts it on one.  A ghost of the page
	 * must be gone afterwards.  node->origin still says where the frame's
	 * last page left its ghost.
	 */
	void		(*admit) (const tp_pool *pool, uint32_t frame,
						  const tp_access *access);

	/*
	 * The page in this resident frame ceased to exist, or was replaced by
	 * somebody who does not ask the policy (PostgreSQL's rings).  As evict,
	 * without a ghost and without learning anything from it.
	 */
	void		(*forget) (const tp_pool *pool, uint32_t frame);

	/*
	 * The resident frames, next victim first as far as the policy can tell
	 * without changing anything; each exactly once; TP_NONE at the end, and
	 * where tp_cursor_look says so.  Without upcoming also after the cursor's
	 * share.  NULL: the linked lists in the order of their numbers, each from
	 * its tail; not for a policy with rings.
	 */
	uint32_t	(*coldest) (const tp_pool *pool, tp_cursor *cursor);

	/*
	 * Frames that are likely to be among the next victims, as many as the
	 * cursor's share, or as many of each list if several take turns; TP_NONE
	 * at the end, and where tp_cursor_look says so.  Changes nothing.  Frames
	 * that ahead->wanted is false for need not come.
	 *
	 * With TP_UPCOMING_LOCK_FREE this may run beside anything, and reads what
	 * changes with relaxed loads.  A race may cost a frame that is not a
	 * likely victim, or none at all, but no more.
	 *
	 * NULL: as coldest with that share.
	 */
	uint32_t	(*upcoming) (const tp_pool *pool, tp_lookahead *ahead);

	/*
	 * Append to the text of tp_describe, behind the lists, what neither they
	 * nor the fields show; each item begins with " | ".  NULL: nothing.
	 */
	void		(*describe) (const tp_pool *pool, struct tp_text *text);

	/*
	 * Assert every invariant of the policy's own; the common ones have been
	 * checked.  Returns the number of violations.  NULL: none of its own.
	 */
	int			(*check) (const tp_pool *pool, tp_report report, void *arg);
};

/* ---- the registry of policies ---- */

/* All policies, in the order of the manual; ends with NULL. */
extern const tp_policy *const tp_policies[];

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
 * Hash buckets that should come with each frame for these parameters: as many
 * as ghosts, as far as TP_MAX_FRAME_BYTES allows.
 */
uint32_t	tp_policy_buckets_per_frame(const tp_policy *policy,
										const double *params);

/*
 * Bytes per frame with the default parameters: node, extra (rounded up to 8),
 * member and buckets.
 */
uint32_t	tp_policy_frame_bytes(const tp_policy *policy);

#endif							/* TIDEPOOL_POLICY_H */
