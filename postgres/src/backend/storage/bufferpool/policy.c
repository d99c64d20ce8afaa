/*-------------------------------------------------------------------------
 *
 * policy.c
 *	  Wraps a policy of the replacement core as a replacement algorithm.
 *
 * A frame is a buffer, its number the buf_id.  The memory is one block for all
 * buffers, laid out by tp_block_pool.
 *
 * src/backend/storage/bufferpool/policy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

typedef struct PolicyRoutine
{
	BufferPoolRoutine routine;
	const tp_policy *policy;
	double		params[TP_MAX_PARAMS];
} PolicyRoutine;

static const PolicyRoutine *
policy_of(const BufferPoolRoutine *routine)
{
	return (const PolicyRoutine *) routine;
}

static inline const tp_pool *
view_of(BufferPool *pool)
{
	return (const tp_pool *) pool->view;
}

static bool
policy_configure(const BufferPoolRoutine *routine, const char *parameters,
				 char **problem)
{
	PolicyRoutine *made = unconstify(PolicyRoutine *, policy_of(routine));

	return ParsePolicyParameters(made->policy, parameters, made->params,
								 problem);
}

static Size
policy_shmem_size(const BufferPoolRoutine *routine, int nbuffers)
{
	const PolicyRoutine *made = policy_of(routine);
	Size		size = tp_block_size(made->policy, made->params, nbuffers);

	if (size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("\"shared_buffers\" is too large for replacement algorithm \"%s\"",
						routine->name)));
	return size;
}

/*
 * Initialize an empty pool in this memory.  The server keeps free buffers
 * itself, so all are claimed.  Processes that look without the lock meanwhile
 * find nodes that are claimed, free or in their former state.
 */
static tp_pool
begin(const PolicyRoutine *made, void *memory, int nbuffers)
{
	tp_pool		view = tp_block_init(made->policy, made->params, nbuffers,
									 nbuffers, BUFFERPOOL_SEED, memory);

	for (int buf_id = 0; buf_id < nbuffers; buf_id++)
		tp_claim(&view, buf_id);
	if (tp_can_share(&view))
		tp_share(&view);
	return view;
}

static void
policy_attach(BufferPool *pool, void *memory, int nbuffers, bool init)
{
	const PolicyRoutine *made = policy_of(pool->routine);
	tp_pool    *view = MemoryContextAlloc(TopMemoryContext, sizeof(tp_pool));

	*view = init ? begin(made, memory, nbuffers) :
		tp_block_pool(made->policy, made->params, nbuffers, memory);
	if (tp_can_share(view))
	{
		pool->flags |= BUFFERPOOL_CHOICE_LOCK_FREE;
		view->chooser = MemoryContextAllocZero(TopMemoryContext,
											   sizeof(tp_chooser));
	}
	pool->view = view;
}

static void
policy_begin_process(BufferPool *pool, int process)
{
	if (pool->flags & BUFFERPOOL_CHOICE_LOCK_FREE)
		tp_chooser_init(view_of(pool), BUFFERPOOL_SEED, process);
}

static void
policy_reset(BufferPool *pool)
{
	/* the header is at the start of the block */
	(void) begin(policy_of(pool->routine), view_of(pool)->header, NBuffers);
}

static void
policy_hit(BufferPool *pool, int buf_id, const tp_access *access)
{
	tp_hit(view_of(pool), buf_id, access);
}

static void
policy_expect_hit(BufferPool *pool, int buf_id)
{
	tp_prefetch(view_of(pool), buf_id);
}

static void
policy_prefetch(BufferPool *pool, const tp_batch *batch)
{
	tp_batch_prefetch(view_of(pool), batch);
}

static uint32
policy_commit(BufferPool *pool, tp_batch *batch, const tp_access *access,
			  tp_holds holds, void *arg)
{
	return tp_batch_commit(view_of(pool), batch, access, holds, arg);
}

static void
policy_expect_victim(BufferPool *pool)
{
	uint32		frames[TP_MAX_EXPECTED];
	uint32		n = tp_expect_choice(view_of(pool), frames);

	for (uint32 i = 0; i < n; i++)
		__builtin_prefetch(GetBufferDescriptor(frames[i]));
}

static int
policy_victim(BufferPool *pool, tp_page incoming, tp_usable usable, void *arg,
			  const tp_access *access)
{
	uint32		frame = tp_victim(view_of(pool), incoming, usable, arg, access);

	return tp_is_frame(frame) ? (int) frame : -1;
}

static void
policy_evict(BufferPool *pool, int buf_id, const tp_access *access)
{
	tp_evict(view_of(pool), buf_id, access);
}

static void
policy_admit(BufferPool *pool, int buf_id, tp_page page,
			 const tp_access *access)
{
	tp_admit(view_of(pool), buf_id, page, access);
}

static void
policy_forget(BufferPool *pool, int buf_id)
{
	tp_forget(view_of(pool), buf_id);
}

static bool
policy_page_of(BufferPool *pool, int buf_id, tp_page *page)
{
	if (!tp_is_resident(view_of(pool), buf_id))
		return false;
	*page = tp_page_of(view_of(pool), buf_id);
	return true;
}

static int
policy_upcoming(BufferPool *pool, tp_lookahead *ahead)
{
	return (int) tp_upcoming(view_of(pool), ahead);
}

/*
 * A page that ceased to exist, and was read into another buffer since, may have
 * a ghost from there while its old buffer still counts as resident.  So may a
 * page that has come back and is not reported yet.  *all_reported: there is no
 * such page.
 */
static bool
holds_page(void *all_reported, uint32 buf_id, tp_page page)
{
	return *(bool *) all_reported && BufferHoldsPage(buf_id, page);
}

static int
policy_check(BufferPool *pool, tp_report report, void *arg)
{
	bool		all_reported = BufferPoolPending() == 0;

	return tp_check(view_of(pool), holds_page, &all_reported, report, arg);
}

static bool
policy_lists(BufferPool *pool, BufferPoolListWalk *walk, int max,
			 BufferPoolListCallback callback, void *arg)
{
	return ShowPolicyLists(view_of(pool), walk, max, callback, arg);
}

/* ---- the table ---- */

static uint32
flags_of(const tp_policy *policy)
{
	uint32		flags = 0;

	if (policy->flags & TP_HIT_LOCK_FREE)
		flags |= BUFFERPOOL_HIT_LOCK_FREE;
	if (policy->flags & TP_HIT_NOTHING)
		flags |= BUFFERPOOL_HIT_NOTHING;
	if (policy->flags & TP_COUNTS_ALL)
		flags |= BUFFERPOOL_COUNTS_ALL;
	if (policy->flags & TP_USES_TIME)
		flags |= BUFFERPOOL_USES_TIME;
	if (policy->flags & TP_WANTS_WRITES)
		flags |= BUFFERPOOL_WANTS_WRITES;
	if (policy->flags & TP_UPCOMING_LOCK_FREE)
		flags |= BUFFERPOOL_UPCOMING_LOCK_FREE;
	return flags;
}

/* The result is never freed: algorithms live as long as the process. */
const BufferPoolRoutine *
MakePolicyRoutine(const tp_policy *policy, const char *name)
{
	static const BufferPoolRoutine table = {
		.configure = policy_configure,
		.shmem_size = policy_shmem_size,
		.attach = policy_attach,
		.begin_process = policy_begin_process,
		.reset = policy_reset,
		.hit = policy_hit,
		.expect_hit = policy_expect_hit,
		.prefetch = policy_prefetch,
		.commit = policy_commit,
		.expect_victim = policy_expect_victim,
		.victim = policy_victim,
		.evict = policy_evict,
		.admit = policy_admit,
		.forget = policy_forget,
		.page_of = policy_page_of,
		.upcoming = policy_upcoming,
		.check = policy_check,
		.lists = policy_lists,
	};
	PolicyRoutine *made = MemoryContextAlloc(TopMemoryContext,
											 sizeof(PolicyRoutine));

	made->routine = table;
	made->routine.name = name;
	made->routine.flags = flags_of(policy);
	if (!(policy->flags & TP_HIT_LOCK_FREE))
		made->routine.expect_hit = NULL;
	made->policy = policy;
	tp_policy_defaults(policy, made->params);
	return &made->routine;
}
