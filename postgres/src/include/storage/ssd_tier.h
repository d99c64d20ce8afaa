/*-------------------------------------------------------------------------
 *
 * ssd_tier.h
 *	  A tier of pages on an SSD, between shared buffers and the disk, as the
 *	  rest of the server sees it.
 *
 * src/include/storage/ssd_tier.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SSD_TIER_H
#define SSD_TIER_H

#include "access/htup.h"
#include "storage/aio_types.h"
#include "storage/block.h"
#include "storage/relfilelocator.h"
#include "storage/smgr.h"
#include "utils/relcache.h"

/* ---- configuration ---- */

extern PGDLLIMPORT char *ssd_tier_path;
extern PGDLLIMPORT int ssd_tier_size;
extern PGDLLIMPORT int ssd_tier_max_size;
extern PGDLLIMPORT char *ssd_tier_policy;
extern PGDLLIMPORT char *ssd_tier_parameters;
extern PGDLLIMPORT int ssd_tier_write_buffers;
extern PGDLLIMPORT bool ssd_tier_verify;
extern PGDLLIMPORT double ssd_tier_read_time;
extern PGDLLIMPORT double ssd_tier_disk_random_read_time;
extern PGDLLIMPORT double ssd_tier_disk_sequential_read_time;
extern PGDLLIMPORT double ssd_tier_keep_share;
extern PGDLLIMPORT double ssd_tier_write_budget;
extern PGDLLIMPORT double ssd_tier_write_budget_per_day;

#define SSD_TIER_POLICY "page_temperature"

/*
 * Write buffers, at most: a read in flight says in 12 bits which of them a page
 * is for (reads.c).
 */
#define SSD_TIER_MAX_WRITE_BUFFERS 4000

/*
 * Is there a tier?  Decided at server start; then the storage manager of
 * permanent and unlogged relations is the one below, stacked on md.c.
 */
extern PGDLLIMPORT bool SsdTierConfigured;

/* What a relation, or a pool, wants of the tier. */
typedef enum SsdTierChoice
{
	SSD_TIER_UNKNOWN,			/* nobody has said */
	SSD_TIER_UNSET,				/* nothing: as the pool, or automatic */
	SSD_TIER_AUTO,				/* the algorithm decides */
	SSD_TIER_KEEP,				/* its pages come to the SSD and stay */
	SSD_TIER_NONE				/* they do not come there */
} SsdTierChoice;

/* choice.c */
extern const char *SsdTierChoiceName(SsdTierChoice choice);
extern SsdTierChoice SsdTierFindChoice(const char *name);
extern void SsdTierNoteRelation(Oid relid, HeapTuple tuple,
								SsdTierChoice choice);
extern void SsdTierPoolChooses(int pool, SsdTierChoice choice);
extern void SsdTierAboutToRead(Relation rel);
extern void SsdTierNoteAlter(Oid relid);

/* tier.c */
extern bool SsdTierIsWanted(void);
extern void SsdTierShmemInit(void);
extern void SsdTierDistrust(void);

/* owner.c */
extern void SsdTierFollowControlFile(void);

/* saved.c */
extern void SsdTierSave(void);

/* writer.c */
extern void SsdTierRegisterWriter(void);
extern void SsdTierWriterMain(Datum main_arg);

/* directory.c */
extern void SsdTierDropDatabase(Oid database);

/* manager.c: what differs from md.c */
extern void ssd_create(SMgrRelation reln, ForkNumber forknum, bool isRedo);
extern void ssd_unlink(RelFileLocatorBackend rlocator, ForkNumber forknum,
					   bool isRedo);
extern void ssd_extend(SMgrRelation reln, ForkNumber forknum,
					   BlockNumber blocknum, const void *buffer,
					   bool skipFsync);
extern void ssd_zeroextend(SMgrRelation reln, ForkNumber forknum,
						   BlockNumber blocknum, int nblocks, bool skipFsync);
extern bool ssd_prefetch(SMgrRelation reln, ForkNumber forknum,
						 BlockNumber blocknum, int nblocks);
extern uint32 ssd_maxcombine(SMgrRelation reln, ForkNumber forknum,
							 BlockNumber blocknum);
extern void ssd_startreadv(PgAioHandle *ioh, SMgrRelation reln,
						   ForkNumber forknum, BlockNumber blocknum,
						   void **buffers, BlockNumber nblocks);
extern void ssd_writev(SMgrRelation reln, ForkNumber forknum,
					   BlockNumber blocknum, const void **buffers,
					   BlockNumber nblocks, bool skipFsync);
extern void ssd_truncate(SMgrRelation reln, ForkNumber forknum,
						 BlockNumber old_blocks, BlockNumber nblocks);

/* reads.c */
extern PGDLLIMPORT const PgAioTargetInfo aio_ssd_tier_target_info;
extern PGDLLIMPORT const PgAioHandleCallbacks aio_ssd_tier_readv_cb;
extern PGDLLIMPORT const PgAioHandleCallbacks aio_ssd_tier_admit_cb;

#endif							/* SSD_TIER_H */
