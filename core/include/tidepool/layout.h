/*
 * layout.h
 *	  A pool's memory, and one process's view of it.
 *
 * A policy has no memory of its own.  A pool's state lies in pieces that the
 * caller provides.  They hold indexes and numbers, never pointers, so they may
 * live in shared memory, be copied, moved and compared.
 *
 *	  header    1 per pool             lists, targets, parameters, randomness
 *	  nodes     1 per frame            page, generation, links           32 B
 *	  extra     1 per frame            what one policy adds        0 .. 24 B
 *	  members   1 per frame            the pool's frames, in chunks       4 B
 *	  ghosts    G per frame, 1 spare   keys of evicted pages             32 B
 *	  buckets   B per member           hash chains: parts/hash.h          4 B
 *
 * nodes, extra and ghosts are indexed by frame number.  Pools may share them
 * (arrays.h), since a frame is in one pool at a time.  buckets are indexed as
 * members are.  A frame costs at most 64 B without its ghosts.
 */
#ifndef TIDEPOOL_LAYOUT_H
#define TIDEPOOL_LAYOUT_H

#include "tidepool/page.h"

/* Enough for every policy; raise a limit for one that needs more. */
#define TP_MAX_FRAMES		(UINT32_C(1) << 31) /* in one numbering of frames */
#define TP_MAX_PARAMS		8	/* parameters of one policy */
#define TP_MAX_LISTS		13	/* lists of frames, the free list among them */
#define TP_MAX_EXPECTED		24	/* frames of expect_choice: two of each list */
#define TP_MAX_DRAWN		13	/* of these, random ones that are kept */
#define TP_MAX_GHOST_LISTS	3	/* lists of ghosts, the free list among them */
#define TP_STATE_SIZE		640 /* bytes of a policy's own header state */
#define TP_CHOOSER_SIZE		952 /* bytes of a policy's own chooser state */
#define TP_MAX_EXTRA		24	/* bytes a policy may add to a frame */
#define TP_MAX_FRAME_BYTES	64	/* of a frame without its ghosts */
#define TP_CHUNK			256 /* members of a chunk */

#define TP_FREE 0				/* number of the free list, of frames and
								 * ghosts */
#define TP_CLAIMED 0x80			/* in place of a list: claimed; the lower bits
								 * are the list the frame was on before */

/* A doubly linked list of indexes.  The head is the most recent end. */
typedef struct tp_list
{
	uint32_t	head;			/* most recently inserted, or TP_NONE */
	uint32_t	tail;			/* least recently inserted, or TP_NONE */
	uint32_t	count;			/* entries */
} tp_list;

/*
 * The frames at the tail of a linked list that searches for a victim found
 * unusable; see parts/search.h.
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
	union
	{
		struct
		{
			uint32_t	prev;	/* towards the head of its list; of a claimed
								 * frame: as it was, for restore */
			uint32_t	next;	/* towards the tail of its list; likewise */
		};
		uint64_t	word;		/* of a frame on a ring: the policy's */
	};
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

/* Why a policy that asks scans proposed the page that it did. */
typedef enum tp_reason
{
	TP_BY_PREDICTION,			/* scans read it later than others, or running
								 * scans of its relation do not read it */
	TP_BY_FREQUENCY,			/* its frequency makes it later than others */
	TP_BY_RECENCY				/* only its last reference is known */
} tp_reason;

#define TP_SOON 1000000			/* microseconds */

/*
 * What one process keeps from choice to choice.  A pool has one in its header,
 * which does for all who take turns under its lock; whoever chooses without
 * the lock has one of his own (tp_chooser_init).
 */
typedef struct tp_chooser
{
	uint64_t	random_state;	/* see random.h */
	tp_reason	reason;			/* of the last proposal, with TP_ASKS_SCANS */
	bool		wanted_soon;	/* likewise: a running scan is estimated to
								 * want the page within TP_SOON */
	uint8_t		drawn_count;	/* frames in drawn; see sample.h */
	uint64_t	drawn_from;		/* random_state when they were drawn, and */
	uint32_t	drawn_among;	/* the number of members */
	uint32_t	drawn[TP_MAX_DRAWN];
	uint64_t	state[TP_CHOOSER_SIZE / 8]; /* the policy's own struct */
} tp_chooser;

/* A pool's header: everything about the pool that is not about one frame. */
typedef struct tp_header
{
	uint32_t	frames;			/* c: frames the pool owns now */
	uint32_t	ghost_count;	/* ghosts in use, all lists */
	uint32_t	claimed;		/* claimed frames; not counted if shared */
	bool		shared;			/* see tp_share */
	bool		recalling;		/* see tp_recall_begin */
	tp_chooser	chooser;		/* of those who hold the lock */
	double		params[TP_MAX_PARAMS];	/* in the order of the policy's table */
	tp_list		lists[TP_MAX_LISTS];
	tp_passed	passed[TP_MAX_LISTS];
	tp_list		ghost_lists[TP_MAX_GHOST_LISTS];
	uint64_t	state[TP_STATE_SIZE / 8];	/* the policy's own struct */
} tp_header;

typedef struct tp_policy tp_policy;

/*
 * What the caller knows in addition to the references and lets policies ask.  A
 * member is NULL where the caller does not know it.
 */
typedef struct tp_services
{
	const struct tp_scans *scans;	/* running scans: prediction/scan.h */
	const struct tp_trails *trails; /* trailing index scans:
									 * prediction/trail.h */
	const struct tp_extents *extents;	/* temperatures of what lies below the
										 * pool: tier/extents.h */

	/* Must the page in this frame be written before it leaves? */
	bool		(*is_dirty) (void *arg, uint32_t frame);

	/*
	 * A search may soon ask whether this frame is usable, or propose it:
	 * prefetch what the caller will read then.
	 */
	void		(*expect_frame) (void *arg, uint32_t frame);
	void	   *arg;			/* of both */
} tp_services;

extern const tp_services tp_no_services;

/*
 * The chunks of members that no pool has, of all pools that share them: where
 * in members they begin.
 */
typedef struct tp_free_chunks
{
	uint32_t	count;
	uint32_t	begin[];
} tp_free_chunks;

/*
 * One process's view of a pool: where its pieces are mapped here.  Built by
 * the caller, passed to every operation, never stored with the pieces.
 */
typedef struct tp_pool
{
	const tp_policy *policy;
	tp_header  *header;
	tp_chooser *chooser;		/* this process's, or the header's */
	tp_node    *nodes;			/* [frame] */
	unsigned char *extra;		/* [frame * extra_stride] */
	uint32_t   *members;		/* chunks of TP_CHUNK members: tp_member */
	uint32_t   *chunks;			/* [slot / TP_CHUNK]: where in members the
								 * pool's chunk begins */
	tp_free_chunks *free_chunks;
	tp_ghost   *ghosts;			/* [frame * ghost_stride + k], k below
								 * ghosts_per_frame; and ghosts[spare_ghost] */
	uint32_t   *buckets;		/* [index in members * bucket_stride + b], b
								 * below buckets_per_frame */
	uint32_t	extra_stride;	/* bytes, at least the policy's extra_size,
								 * multiple of 8 */
	uint32_t	ghost_stride;	/* at least ghosts_per_frame */
	uint32_t	bucket_stride;	/* at least buckets_per_frame */
	uint32_t	ghosts_per_frame;	/* ghost slots that come with a frame */
	uint32_t	buckets_per_frame;	/* at least 1 if there is a hash table */
	uint32_t	spare_ghost;	/* one more slot of the pool's own, so that an
								 * eviction can leave a ghost before the
								 * admission that follows removes one */
	const tp_services *services;	/* never NULL: tp_no_services */
} tp_pool;

#endif							/* TIDEPOOL_LAYOUT_H */
