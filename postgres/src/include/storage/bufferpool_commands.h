/*-------------------------------------------------------------------------
 *
 * bufferpool_commands.h
 *	  How buffer pools are defined, found, resized, and changed.
 *
 * src/include/storage/bufferpool_commands.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BUFFERPOOL_COMMANDS_H
#define BUFFERPOOL_COMMANDS_H

#include "lib/stringinfo.h"
#include "storage/bufferpool_pool.h"
#include "storage/smgr.h"
#include "utils/relcache.h"

/* registry.c */
extern const tp_policy *FindBufferPoolPolicy(const char *name,
											 const char **registered);
extern const char *NextBufferPoolPolicy(int *position);
extern bool HasLibraryBufferPoolPolicies(void);

/* parameters.c */
extern bool ParsePolicyParameters(const tp_policy *policy, const char *text,
								  double *params, char **problem);

/* bufferpool.c */
extern Size BufferPoolShmemSize(void);
extern void BufferPoolShmemInit(bool init);
extern void BufferPoolInitProcess(void);
extern void BufferPoolBegin(BufferPool *pool);
extern tp_pool BufferPoolCore(const BufferPool *pool, const tp_policy *policy,
							  const double *params);
extern int	BufferPoolFrameBytes(void);
extern uint64 BufferPoolMemory(int buffers);
extern bool BufferPoolHasMemoryFor(const tp_policy *policy,
								   const double *params);
extern const char *show_bufferpool_batch_threshold(void);

/* view.c */
extern const char *show_bufferpool_algorithm(void);
extern const char *show_bufferpool_parameters(void);
extern void BufferPoolAppendJson(StringInfo text, const BufferPool *pool,
								 const BufferPoolDefinition *definition,
								 int buffers);
extern void BufferPoolReadDefinition(const BufferPool *pool,
									 BufferPoolDefinition *definition);
extern void BufferPoolDefine(BufferPool *pool,
							 const BufferPoolDefinition *definition);
extern void BufferPoolDescribe(BufferPool *pool,
							   const BufferPoolDefinition *definition);
extern void BufferPoolSetView(BufferPool *pool,
							  const BufferPoolDefinition *definition);
extern void BufferPoolFollowDefinition(BufferPool *pool);

/* followers.c */
extern Size BufferPoolFollowersShmemSize(void);
extern void BufferPoolFollowersShmemInit(void);
extern void BufferPoolDefinitionChanged(void);
extern void BufferPoolFollowDefinitions(void);
extern void BufferPoolAwaitFollowers(void);
extern void BufferPoolAskForReports(void);
extern bool ProcessBarrierBufferPools(void);

/* restore.c */
extern void BufferPoolMakePools(void);

/* members.c */
extern void BufferPoolPushFree(BufferPool *pool, BufferDesc *buf);
extern BufferDesc *BufferPoolPopFree(BufferPool *pool, uint32 *buf_state);
extern void BufferPoolFreeNone(void);
extern int	BufferPoolMove(BufferPool *from, BufferPool *to, int count);
extern LWLock *BufferPoolMembersLock(void);

/* definitions.c */
extern void WriteBufferPoolDefinitions(const BufferPoolDefinition *definitions,
									   int count);
extern int	ReadBufferPoolDefinitions(BufferPoolDefinition *definitions,
									  int max, int elevel);

/* layout.c */

/* A pool has at least so many buffers: the least value of shared_buffers. */
#define BUFFERPOOL_LEAST_BUFFERS 16

typedef enum BufferPoolStage
{
	BUFFERPOOL_IDLE,
	BUFFERPOOL_MOVING,			/* buffers move */
	BUFFERPOOL_WAITING,			/* all that must move are pinned */
	BUFFERPOOL_SWITCHING		/* the algorithm is replaced */
} BufferPoolStage;

/* What the statement that changes pools now is doing. */
typedef struct BufferPoolProgress
{
	int			pid;
	BufferPoolStage stage;
	char		pool[NAMEDATALEN];
	int			first;			/* buffers that it had */
	int			target;			/* that it shall have */
	TimestampTz since;
} BufferPoolProgress;

extern Size BufferPoolLayoutShmemSize(void);
extern void BufferPoolLayoutShmemInit(void);
extern bool BufferPoolReadProgress(BufferPoolProgress *progress);
extern bool BufferPoolIsSwitching(const BufferPool *pool);
extern void BufferPoolBeginProgress(const BufferPool *pool,
									BufferPoolStage stage);
extern void BufferPoolEndProgress(void);
extern int	BufferPoolFloorOfDefault(void);
extern void BufferPoolCheckSize(const BufferPool *pool, const char *name,
								int buffers);
extern BufferPool *BufferPoolRemainder(void);
extern void BufferPoolReachTargets(void);
extern void BufferPoolUndoTuning(void);
extern uint32 BufferPoolSizeStatements(void);
extern void BufferPoolHasMoved(BufferPool *from, BufferPool *to, int buffers);
extern void BufferPoolWriteDefinitions(const BufferPool *changed,
									   const BufferPoolDefinition *definition);

/* switch.c */
extern void BufferPoolSwitch(BufferPool *pool,
							 const BufferPoolDefinition *definition);

/* handler.c */
struct List;
extern char *BufferPoolHandlerName(struct List *handler);
extern const tp_policy *BufferPoolFindHandler(const char *algorithm,
											  const char **registered);
extern void BufferPoolSetHandler(const char *algorithm, const char *parameters,
								 BufferPoolDefinition *definition);
extern char *BufferPoolOptionsWith(const char *old, struct List *options);
extern char *BufferPoolOptionsWithout(const tp_policy *policy, const char *old,
									  struct List *options);

/* commands.c */
#define BUFFERPOOL_MIN_SIZE "min_size"	/* options of pools */
#define BUFFERPOOL_MAX_SIZE "max_size"
extern bool BufferPoolLockDefinitions(bool wait);
struct BufferPoolStmt;
extern void ExecBufferPoolStmt(const struct BufferPoolStmt *stmt);

/* statements.c */
extern const char *show_bufferpool_definitions(void);

/* dependents.c */
extern char *BufferPoolDependents(const char *name);

/* options.c */
#define SSD_TIER_OPTION "ssd_tier"	/* of relations and of pools */
extern bool IsBufferPoolOption(const char *text, size_t length);
extern bool IsBufferPoolOptionName(const char *name);
extern bool OptionsNameBufferPool(Datum reloptions, const char *pool);
extern char *GetBufferPoolOption(Datum reloptions);
extern SsdTierChoice GetSsdTierOption(Datum reloptions);
extern SsdTierChoice CheckSsdTierChoice(const char *option, const char *name);
extern void CheckBufferPoolOptions(Datum reloptions, bool overflow);
extern void WarnOfMissingBufferPools(struct List *options);
extern void RejectBufferPoolOptions(Datum reloptions);
extern bool HasBufferPoolOptions(Datum reloptions);
extern bool HasOtherOptions(Datum reloptions);
extern Datum WithoutBufferPoolOptions(Datum reloptions);
extern Datum ToastOptionsWithPool(Datum toast_options, Datum relation_options);
extern Datum ToastOptionsAfterAlter(Datum toast_options,
									struct List *changes, bool reset);
extern Datum PartitionOptionsWithPool(Datum reloptions, Oid parent);

/* relation.c */
extern Size BufferPoolRelationShmemSize(void);
extern void BufferPoolRelationShmemInit(void);
extern void assign_bufferpool_default_pool(const char *newval, void *extra);
extern BufferPool *FindBufferPool(const char *name);
extern void BufferPoolNamesChanged(void);
extern BufferPool *BufferPoolForRelation(Relation rel, SMgrRelation smgr);
extern BufferPool *BufferPoolForPage(Relation rel, SMgrRelation smgr,
									 BufferAccessStrategy strategy);
extern int	BufferPoolBuffersFor(Relation rel);
extern uint32 BufferPoolPinLimit(const BufferPool *pool);
extern uint32 BufferPoolStreamPinLimit(const BufferPool *pool);

#endif							/* BUFFERPOOL_COMMANDS_H */
