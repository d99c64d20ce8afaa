/*
 * clock2q_plus.c
 *	  Clock2Q+: S3-FIFO's queues with a correlation window.
 *
 * Source: Y. Zhai, B. D. Marthen, S. Balivada, V. S. Bojji, E. Knauft,
 * J. Rohilla, J. Zuo, Q. Liu, M. Austruy, W. Wang, J. Yang: Clock2Q+: A simple
 * and efficient replacement algorithm for metadata cache in VMware vSAN.
 * PVLDB 2026; arXiv 2511.21958.
 *
 * A page comes in to the small queue.  While it is among the newest there,
 * within the correlation window, references to it are taken for one and the
 * same.  A later one sets its reference bit.  At the queue's end a page whose
 * bit is set moves to the main queue, the others leave a ghost; a page that
 * has a ghost comes in to the main queue, a clock with one bit.
 *
 * Where this differs from the paper:
 *	1. The main clock is a queue whose referenced pages go back to its head:
 *	   the same victims in the same order as with a hand.
 *	2. One miss evicts one page: a page that moves to the main queue does not
 *	   make that one evict another.
 *	3. If all pages of the queue whose turn it is are pinned, the other one is
 *	   searched.
 *	4. A reference that does not promote (VACUUM's, or a repeated one) sets no
 *	   bit; a page that it brings in enters the small queue.
 *	5. The sizes of the queues follow that of the pool.
 *
 * Costs: ghosts for 90 % of the frames.  A page that is referenced twice only
 * in the window, and then again after it has left, is missed once more than
 * under S3-FIFO.
 * Benefits: as S3-FIFO's, and neighbouring references to one page (the
 * entries of an index leaf) do not make it hot.
 * Memory: 8 bytes a frame beyond the node; `ghost` ghosts per frame.
 */
#include "tidepool/parts/count.h"
#include "tidepool/parts/small_main.h"

enum
{
	PARAM_WINDOW = SMALL_MAIN_PARAMS
};

typedef struct clock2q_plus_state
{
	small_main_state queues;
	uint32_t	window;			/* newest pages of the small queue whose
								 * references do not count */
	uint32_t	insertions;		/* into the small queue, modulo 2^32 */
} clock2q_plus_state;

/* Of a page of the small queue: the number of its insertion. */
static uint32_t *
insertion_of(const tp_pool *pool, uint32_t frame)
{
	return tp_extra(pool, frame);
}

/* Beside a hit without the lock the page may be leaving: then it is a guess. */
static bool
in_window(const tp_pool *pool, uint32_t frame)
{
	const clock2q_plus_state *state = tp_state(pool, clock2q_plus_state);
	uint32_t	insertion = __atomic_load_n(insertion_of(pool, frame),
											__ATOMIC_RELAXED);

	return tp_list_tag(pool, frame) == SMALL &&
		__atomic_load_n(&state->insertions, __ATOMIC_RELAXED) - insertion <
		state->window;
}

static void
clock2q_plus_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	if (!in_window(pool, frame))
		raise_count(pool, frame, 1);
}

static uint32_t
clock2q_plus_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
					void *arg, const tp_access *access)
{
	static const uint8_t order[] = {SMALL, MAIN};
	queue_pair_search search = {{false}};

	(void) incoming;
	(void) access;

	/* a page moves from the small queue once, and goes round main once */
	for (uint64_t looks = UINT64_C(2) * tp_resident(pool) + 1; looks > 0; looks--)
	{
		uint32_t	frame = small_main_next(pool, &search, usable, arg);

		if (frame == TP_NONE)
			break;
		if (count_of(pool, frame) == 0)
			return frame;
		set_count(pool, frame, 0);
		queue_pair_move(pool, &search, MAIN, frame);
	}
	/* only hits that race with the search lead here while a page is usable */
	return tp_lists_usable_tail(pool, order, 2, usable, arg);
}

static void
enter_small(const tp_pool *pool, uint32_t frame)
{
	clock2q_plus_state *state = tp_state(pool, clock2q_plus_state);

	__atomic_store_n(&state->insertions, state->insertions + 1,
					 __ATOMIC_RELAXED);
	__atomic_store_n(insertion_of(pool, frame), state->insertions,
					 __ATOMIC_RELAXED);
	tp_list_push_head(pool, SMALL, frame);
}

static void
clock2q_plus_admit(const tp_pool *pool, uint32_t frame,
				   const tp_access *access)
{
	bool		remembered = small_main_remembers(pool, frame, access);

	set_count(pool, frame, 0);
	if (remembered)
		tp_list_push_head(pool, MAIN, frame);
	else
		enter_small(pool, frame);
}

static void
clock2q_plus_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/* The target of the small queue has changed. */
static void
set_window(const tp_pool *pool)
{
	clock2q_plus_state *state = tp_state(pool, clock2q_plus_state);

	state->window = (uint32_t) (pool->header->params[PARAM_WINDOW] *
								state->queues.target);
}

static void
clock2q_plus_init(const tp_pool *pool)
{
	small_main_init(pool);
	set_window(pool);
}

static void
clock2q_plus_join(const tp_pool *pool, uint32_t frame)
{
	small_main_join(pool, frame);
	set_window(pool);
}

static void
clock2q_plus_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	small_main_leave(pool, frame, slot);
	set_window(pool);
}

static uint32_t
clock2q_plus_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const count_stage small_first[] = {
		{SMALL, 0, 0}, {MAIN, 0, 0}, {SMALL, 1, 1}, {MAIN, 1, 1}
	};
	static const count_stage main_first[] = {
		{MAIN, 0, 0}, {SMALL, 0, 0}, {SMALL, 1, 1}, {MAIN, 1, 1}
	};

	return coldest_by_count(pool, cursor, small_has_target_size(pool) ?
							small_first : main_first, 4);
}

static uint32_t
clock2q_plus_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const count_stage both[] = {{SMALL, 0, 0}, {MAIN, 0, 0}};

	return coldest_by_count(pool, &ahead->cursor, both, 2);
}

static void
clock2q_plus_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	(void) frames;
	tp_state(pool, clock2q_plus_state)->insertions =
		((const clock2q_plus_state *) saved)->insertions;
}

static int
clock2q_plus_check(const tp_pool *pool, tp_report report, void *arg)
{
	return small_main_check(pool, report, arg) +
		counts_check(pool, 1, "reference bit above 1", report, arg);
}

static const tp_param clock2q_plus_params[] = {
	SMALL_MAIN_PARAM_ROWS,
	[PARAM_WINDOW] = {
		.name = "window", .type = TP_PARAM_REAL,
		.default_value = 0.5, .min = 0, .max = 1,
		.help = "share of the small queue in which references do not count"
	},
	{0}
};

static const tp_field clock2q_plus_fields[] = {
	{"target", TP_FIELD_U32, offsetof(clock2q_plus_state, queues.target)},
	{"window", TP_FIELD_U32, offsetof(clock2q_plus_state, window)},
	{0}
};

const tp_policy tp_policy_clock2q_plus = {
	.name = "clock2q_plus",
	.title = "Clock2Q+",
	.source = "Zhai, Marthen, Balivada, Bojji, Knauft et al., PVLDB 2026",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(clock2q_plus_state),
	.extra_size = sizeof(uint32_t),
	.params = clock2q_plus_params,
	.fields = clock2q_plus_fields,
	.lists = {{"small"}, {"main"}},
	.ghost_lists = {"ghost"},
	.ghosts = small_main_ghosts,
	.init = clock2q_plus_init,
	.join = clock2q_plus_join,
	.leave = clock2q_plus_leave,
	.hit = clock2q_plus_hit,
	.victim = clock2q_plus_victim,
	.evict = small_main_evict,
	.admit = clock2q_plus_admit,
	.forget = clock2q_plus_forget,
	.coldest = clock2q_plus_coldest,
	.upcoming = clock2q_plus_upcoming,
	.recalls = small_main_recalls,
	.resume = clock2q_plus_resume,
	.check = clock2q_plus_check,
};
