/*-------------------------------------------------------------------------
 *
 * choice.c
 *	  What relations and buffer pools want of the SSD tier: the storage parameter
 *	  and the pool's option ssd_tier.
 *
 * The directory has a choice for each relation that it knows, so whoever has no
 * entry of the relation cache (recovery, the storage manager's other callers)
 * goes by what sessions have said.  A session says with each read what its
 * relation cache has, or the relation's pool; that costs no lock beside the one
 * that the read takes anyway.  A statement that changes the parameter says so at
 * its commit, since copies that nobody may want any more must go although nobody
 * reads.
 *
 * Sessions may be behind: a scan that runs has the cache entry that it began
 * with.  So a choice says as of when it is.  A clock in shared memory counts the
 * changes; an entry of the cache, and a pool's option, have the time at which they
 * were made, and what is older than the last change of a relation changes nothing.
 *
 * What a relation names itself (its parameter, or the pool that it names) holds
 * for everybody.  The pool of a relation that names none depends on the session
 * (bufferpool.default_pool), so its option holds for the session's reads: "none"
 * brings nothing to the SSD, and leaves what others have brought; of "keep" and
 * "auto" the last read decides.
 *
 * src/backend/storage/ssdtier/choice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlogutils.h"
#include "storage/ssd_tier_directory.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

static const char *const choice_names[] = {
	[SSD_TIER_UNKNOWN] = NULL,
	[SSD_TIER_UNSET] = NULL,
	[SSD_TIER_AUTO] = "auto",
	[SSD_TIER_KEEP] = "keep",
	[SSD_TIER_NONE] = "none"
};

/* NULL if nothing was chosen. */
const char *
SsdTierChoiceName(SsdTierChoice choice)
{
	return choice_names[choice];
}

/* SSD_TIER_UNKNOWN if it is the name of none. */
SsdTierChoice
SsdTierFindChoice(const char *name)
{
	for (SsdTierChoice choice = SSD_TIER_AUTO; choice <= SSD_TIER_NONE; choice++)
		if (pg_strcasecmp(name, choice_names[choice]) == 0)
			return choice;
	return SSD_TIER_UNKNOWN;
}

static uint64
clock_now(void)
{
	return pg_atomic_read_u64(&SsdTier.shared->choices);
}

/* ---- what the relation cache has ---- */

/*
 * Of a relation whose entry in the relation cache was made after somebody had
 * first chosen anything.  Beside the cache, not in it: where nobody chooses, this
 * costs nothing.
 */
typedef struct Noted
{
	Oid			relid;			/* the key */
	SsdTierChoice choice;		/* or UNSET */
	TransactionId xid;			/* this one has changed the row, if it is
								 * still running and this process's */
	uint64		clock;			/* when the entry was made */
} Noted;

static HTAB * noted;

static void
make_noted(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Noted),
	.hcxt = TopMemoryContext};

	noted = hash_create("SSD tier choices", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * The relation cache makes an entry.  This row of pg_class, the relation's own or
 * that of the table whose index it is, has chosen so.
 */
void
SsdTierNoteRelation(Oid relid, HeapTuple tuple, SsdTierChoice choice)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);
	Noted	   *note;

	if (!SsdTierConfigured || (choice == SSD_TIER_UNSET && clock_now() == 0) ||
		((Form_pg_class) GETSTRUCT(tuple))->relpersistence == RELPERSISTENCE_TEMP)
		return;
	if (noted == NULL)
		make_noted();
	note = hash_search(noted, &relid, HASH_ENTER, NULL);
	note->choice = choice;
	note->clock = clock_now();

	/* what this transaction has changed nobody else need follow yet */
	note->xid = TransactionIdIsNormal(xmin) &&
		TransactionIdIsCurrentTransactionId(xmin) ? xmin : InvalidTransactionId;
}

/* NULL: nothing was chosen when its entry was made. */
static Noted *
find_note(Oid relid)
{
	return noted == NULL ? NULL : hash_search(noted, &relid, HASH_FIND, NULL);
}

/* ---- pools ---- */

/*
 * A pool's choice is a word: the time of the change, and in the lowest bits what
 * was chosen.
 */
#define CHOICE_BITS 3

/* The pool of this number has this choice from now on. */
void
SsdTierPoolChooses(int pool, SsdTierChoice choice)
{
	pg_atomic_uint64 *word;

	if (!SsdTierConfigured)
		return;
	choice = Max(choice, SSD_TIER_UNSET);
	word = &SsdTier.shared->pools[pool];
	if ((pg_atomic_read_u64(word) & ((1 << CHOICE_BITS) - 1)) != choice)
		pg_atomic_write_u64(word,
							pg_atomic_add_fetch_u64(&SsdTier.shared->choices, 1) << CHOICE_BITS |
							choice);
}

static SsdTierChoice
choice_of_pool(Relation rel, uint64 *clock)
{
	const BufferPool *pool = BufferPoolForRelation(rel, NULL);
	uint64		word = pg_atomic_read_u64(&SsdTier.shared->pools[BufferPoolNumber(pool)]);

	*clock = word >> CHOICE_BITS;
	return (SsdTierChoice) (word & ((1 << CHOICE_BITS) - 1));
}

/* ---- reads ---- */

/* What reads of this relation by this session want. */
static SsdTierAsk
ask_of(Relation rel)
{
	SsdTierAsk	ask = {.locator = rel->rd_locator, .choice = SSD_TIER_UNKNOWN};
	Noted	   *note = find_note(RelationGetRelid(rel));
	uint64		clock = 0;

	if (InRecovery)				/* its entries are made without a catalog */
		return ask;
	if (note != NULL && TransactionIdIsValid(note->xid))
	{
		if (TransactionIdIsCurrentTransactionId(note->xid))
			return ask;
		/* it has committed, or the entry would have been made anew */
		note->xid = InvalidTransactionId;
	}
	ask.choice = note == NULL ? SSD_TIER_UNSET : note->choice;
	ask.own = ask.choice != SSD_TIER_UNSET;

	/* if nobody has ever chosen anything, no pool has */
	if (!ask.own && clock_now() > 0)
	{
		ask.choice = choice_of_pool(rel, &clock);
		ask.own = rel->rd_bufferpool != NULL && ask.choice != SSD_TIER_UNSET;
	}
	if (ask.choice == SSD_TIER_UNSET)
		ask.choice = SSD_TIER_AUTO;
	ask.clock = note == NULL ? clock : Max(note->clock, clock);
	return ask;
}

/* Of the read that this process is about to start. */
static SsdTierAsk about_to_read;

/* The next read is of this relation.  rel may be NULL. */
void
SsdTierAboutToRead(Relation rel)
{
	if (SsdTierConfigured && rel != NULL)
		about_to_read = ask_of(rel);
	else
		about_to_read.choice = SSD_TIER_UNKNOWN;
}

/* What the read of this relation, which begins now, wants. */
SsdTierAsk
SsdTierTakeAsk(const RelFileLocator *locator)
{
	SsdTierAsk	ask = about_to_read;

	about_to_read.choice = SSD_TIER_UNKNOWN;
	if (!RelFileLocatorEquals(ask.locator, *locator))
		ask.choice = SSD_TIER_UNKNOWN;
	return ask;
}

/* ---- the directory ---- */

/*
 * The relation gets this choice.  Returns its new place if its copies have
 * gone with the old one, or NULL if there is none.
 */
static SsdTierRelation *
choose(SsdTierRelation *relation, SsdTierChoice choice, bool own)
{
	if (own || relation->own)
		relation->chosen = pg_atomic_add_fetch_u64(&SsdTier.shared->choices, 1);
	relation->own = own;
	SsdTierSetChoice(relation, choice);
	return choice == SSD_TIER_NONE && relation->pages > 0 ?
		SsdTierRenewRelation(relation) : relation;
}

/*
 * Let the relation have what a read asks for.  Returns its place, which is
 * another one, or none (NULL), if its copies must go.
 */
SsdTierRelation *
SsdTierFollowAsk(SsdTierRelation *relation, const SsdTierAsk *ask)
{
	SsdTierChoice choice = ask->choice;

	if (choice == SSD_TIER_UNKNOWN)
		return relation;
	if (!ask->own && choice == SSD_TIER_NONE)
		choice = SSD_TIER_AUTO; /* for this read alone */
	if (choice == relation->choice && ask->own == relation->own)
		return relation;
	if ((ask->own || relation->own) && ask->clock < relation->chosen)
		return relation;
	return choose(relation, choice, ask->own);
}

/* Are the pages of this read not to come to the SSD? */
bool
SsdTierIsUnwanted(const SsdTierRelation *relation, const SsdTierAsk *ask)
{
	return relation->choice == SSD_TIER_NONE ||
		(ask->choice == SSD_TIER_NONE && !ask->own && !relation->own);
}

/* ---- ALTER ---- */

/* Relations whose parameters this transaction has changed. */
static List * altered;

/* What they want, if it commits. */
static SsdTierAsk *asks;
static int	num_asks;

static void
add_ask(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);

	if (!RelationIsValid(rel))
		return;
	if (RELKIND_HAS_STORAGE(rel->rd_rel->relkind) &&
		rel->rd_rel->relpersistence != RELPERSISTENCE_TEMP)
	{
		Noted	   *note = find_note(relid);

		if (note != NULL)
			note->xid = InvalidTransactionId;	/* it is about to commit */
		asks[num_asks++] = ask_of(rel);
	}
	RelationClose(rel);
}

static void
collect_asks(void)
{
	ListCell   *cell;

	asks = MemoryContextAlloc(TopTransactionContext,
							  list_length(altered) * sizeof(SsdTierAsk));
	num_asks = 0;
	foreach(cell, altered)
		add_ask(lfirst_oid(cell));
}

/* The changes have been committed: the directory follows now. */
static void
follow_asks(void)
{
	for (int i = 0; i < num_asks; i++)
	{
		SsdTierRelation *relation;

		asks[i].clock = clock_now();
		SsdTierLock();
		/* of relations that it does not know it learns with the next read */
		relation = SsdTierFindRelation(&asks[i].locator);
		if (relation != NULL)
			SsdTierFollowAsk(relation, &asks[i]);
		SsdTierUnlock();
	}
	SsdTierWakeWriter();
}

static void
at_end_of_transaction(XactEvent event, void *arg)
{
	if (altered == NIL)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			collect_asks();
			return;
		case XACT_EVENT_COMMIT:
			follow_asks();
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			break;
		default:
			return;
	}
	altered = NIL;				/* with its memory, the transaction's */
	asks = NULL;
	num_asks = 0;
}

/* The storage parameters of this relation change with this transaction. */
void
SsdTierNoteAlter(Oid relid)
{
	static bool registered;
	MemoryContext old;

	if (!SsdTierConfigured)
		return;
	if (!registered)
		RegisterXactCallback(at_end_of_transaction, NULL);
	registered = true;
	old = MemoryContextSwitchTo(TopTransactionContext);
	altered = list_append_unique_oid(altered, relid);
	MemoryContextSwitchTo(old);
}
