/*
 * watt.c
 *	  Write-aware timestamp tracking.
 *
 * Source: D. Voehringer, V. Leis: Write-aware timestamp tracking: Effective
 * and efficient page replacement for modern hardware. PVLDB 16(11), 2023,
 * equations 1 to 3.
 *
 * The defaults, and ages plus one, are those of the simulator that the authors
 * published with the paper: 8 accesses and 4 writes logged, 4 epochs while the
 * pool is replaced once, samples of 8, the first subfrequency dampened to a
 * tenth, a write weighing as much as an access, nothing kept of evicted pages.
 *
 * Why the structure differs from the paper's, and the decisions do not:
 *	- Logs are kept newest first, where the paper's are cyclic.
 *	- The simulator limits subfrequencies to 1.  Here they never exceed 1,
 *	  because no two stamps of a log are of one epoch.
 *
 * Where the decisions differ:
 *	1. Each sample gives one victim, as in the simulator.  The paper's evictor
 *	   threads take all pages below a threshold to refill a list of free
 *	   frames, which is the caller's task here.
 *	2. Stamps have 16 bits, so a page logged last more than 65,535 epochs ago
 *	   counts as young, once.  By then the pool has been replaced 16,000 times
 *	   (with epoch = 4), and the page with it unless it was always unusable.
 *	3. A ghost has room for 4 accesses and 1 write; the simulator, if told to
 *	   remember evicted pages, keeps the whole logs.
 *	4. A reference that does not promote logs no access unless it brings its
 *	   page in, and then it recalls no ghost.  A repeated one logs its write
 *	   all the same, since the page is as dirty; VACUUM's does not.
 *	5. A pool no larger than the sample is looked at whole (sample.h).
 *
 * Costs: up to 12 divisions for each frame of a sample.
 * Benefits: recency and frequency from one log, which a hit writes to once in
 * an epoch.  Pages often written stay longer, so fewer writes reach the disk.
 * Memory: 24 bytes a frame; `history` ghosts a frame.
 *
 * LOCKING.  A hit reads the pool's epoch and writes the page's logs, without a
 * lock.  So do choices and evictions, if history = 0.  A hit overtaken by the
 * frame's next admission may leave the new page some of the old one's stamps,
 * unless the caller holds a pin.
 */
#include "tidepool/parts/epoch_log.h"
#include "tidepool/parts/sample.h"
#include "tidepool/standing.h"

enum
{
	FRAMES = 1					/* resident pages, a ring */
};

enum
{
	HISTORY = 1					/* ghosts, the last evicted at the head */
};

enum
{
	PARAM_K_READ,
	PARAM_K_WRITE,
	PARAM_EPOCH,
	PARAM_SAMPLE,
	PARAM_DAMPENING,
	PARAM_WRITE_COST,
	PARAM_HISTORY
};

enum
{
	GHOST_ACCESSES = 4,			/* stamps that a ghost has room for */
	BANDS = 16					/* of coldest */
};

typedef struct watt_state
{
	uint64_t	epoch;			/* read by hits without the lock */
	uint32_t	evictions;		/* in this epoch; in a shared pool two that
								 * end it at once may lose each other's */
} watt_state;

typedef struct watt_page
{
	uint64_t	accesses[2];	/* words of the logs, see epoch_log.h */
	uint64_t	writes[1];
} watt_page;

static epoch_log
accesses_of(const tp_pool *pool, uint32_t frame)
{
	watt_page  *page = tp_extra(pool, frame);
	epoch_log	log = {
		page->accesses, &pool->nodes[frame].count,
		(uint32_t) pool->header->params[PARAM_K_READ]
	};

	return log;
}

static epoch_log
writes_of(const tp_pool *pool, uint32_t frame)
{
	watt_page  *page = tp_extra(pool, frame);
	epoch_log	log = {
		page->writes, &pool->nodes[frame].mark,
		(uint32_t) pool->header->params[PARAM_K_WRITE]
	};

	return log;
}

/* Equation 3. */
static double
value_of(const tp_pool *pool, uint32_t frame)
{
	const double *params = pool->header->params;
	uint64_t	epoch = tp_load64(&tp_state(pool, watt_state)->epoch);

	return epoch_log_frequency(accesses_of(pool, frame), epoch,
							   params[PARAM_DAMPENING]) +
		params[PARAM_WRITE_COST] *
		epoch_log_frequency(writes_of(pool, frame), epoch,
							params[PARAM_DAMPENING]);
}

/* Does the reference log a write?  Deviation 4. */
static bool
is_write(const tp_access *access)
{
	return (access->flags & (TP_WRITE | TP_VACUUM)) == TP_WRITE;
}

static void
watt_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint64_t	epoch = tp_load64(&tp_state(pool, watt_state)->epoch);

	if (tp_promotes(access))
		epoch_log_add(accesses_of(pool, frame), epoch);
	if (is_write(access))
		epoch_log_add(writes_of(pool, frame), epoch);
}

static uint32_t
watt_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	return sample_expect(pool, (uint32_t) pool->header->params[PARAM_SAMPLE], frames);
}

/* Of equal values the first of the sample goes. */
static uint32_t
watt_victim(const tp_pool *pool, tp_page incoming, tp_usable usable, void *arg,
			const tp_access *access)
{
	(void) incoming;
	(void) access;
	return sample_least(pool, (uint32_t) pool->header->params[PARAM_SAMPLE],
						usable, arg, value_of);
}

/* ---- the history of evicted pages ---- */

static uint32_t
ghost_limit(const tp_pool *pool)
{
	return (uint32_t) (pool->header->params[PARAM_HISTORY] *
					   pool->header->frames);
}

/*
 * A ghost's value is the first word of the accesses.  small[0] is their
 * number, plus 16 if there is a write; small[1] and [2] are the write's stamp.
 */
static void
leave_ghost(const tp_pool *pool, uint32_t frame)
{
	epoch_log	accesses = accesses_of(pool, frame);
	epoch_log	writes = writes_of(pool, frame);
	uint32_t	length = epoch_log_length(accesses);
	tp_ghost   *ghost = &pool->ghosts[tp_ghost_push(pool, HISTORY, frame)];

	ghost->value = tp_load64(accesses.words);
	ghost->small[0] = (uint8_t) (length < GHOST_ACCESSES ?
								 length : GHOST_ACCESSES);
	if (epoch_log_length(writes) > 0)
		ghost->small[0] |= 16;
	ghost->small[1] = (uint8_t) epoch_log_stamp(writes, 0);
	ghost->small[2] = (uint8_t) (epoch_log_stamp(writes, 0) >> 8);
}

/* Begin the logs of a page with its ghost's, cut to their limits. */
static void
recall(const tp_pool *pool, uint32_t frame, const tp_ghost *ghost)
{
	epoch_log	accesses = accesses_of(pool, frame);
	epoch_log	writes = writes_of(pool, frame);

	tp_store64(accesses.words, ghost->value);
	tp_store64(writes.words, ghost->small[1] | (uint64_t) ghost->small[2] << 8);
	epoch_log_set_length(accesses, ghost->small[0] & 15);
	epoch_log_set_length(writes, ghost->small[0] >> 4);
}

static void
watt_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	static const tp_ghost nothing = {0};
	uint64_t	epoch = tp_load64(&tp_state(pool, watt_state)->epoch);
	uint32_t	ghost = tp_ghost_of_node(pool, frame);

	recall(pool, frame, ghost != TP_NONE && tp_promotes(access) ?
		   &pool->ghosts[ghost] : &nothing);
	if (ghost != TP_NONE)
		tp_ghost_remove(pool, ghost);
	epoch_log_add(accesses_of(pool, frame), epoch);
	if (is_write(access))
		epoch_log_add(writes_of(pool, frame), epoch);
	tp_ring_add(pool, FRAMES, frame);
}

/* Evictions are the clock: an epoch ends after floor(c / epoch) of them. */
static void
watt_evict(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	watt_state *state = tp_state(pool, watt_state);
	uint32_t	epoch_length = pool->header->frames /
		(uint32_t) pool->header->params[PARAM_EPOCH];
	uint32_t	limit = ghost_limit(pool);

	(void) access;
	tp_ring_remove(pool, frame);
	if (limit > 0)
	{
		tp_trim_ghosts(pool, limit - 1);
		leave_ghost(pool, frame);
	}
	if (__atomic_add_fetch(&state->evictions, 1, __ATOMIC_RELAXED) >= epoch_length)
	{
		__atomic_store_n(&state->evictions, 0, __ATOMIC_RELAXED);
		tp_store64(&state->epoch, tp_load64(&state->epoch) + 1);
	}
}

static void
watt_forget(const tp_pool *pool, uint32_t frame)
{
	tp_ring_remove(pool, frame);
}

static void
watt_leave(const tp_pool *pool, uint32_t frame, uint32_t slot)
{
	(void) frame;
	(void) slot;
	tp_trim_ghosts(pool, ghost_limit(pool));
}

/* Bands for coldest: values below 2^-15, then each factor of 2. */
static uint32_t
band_of(const tp_pool *pool, uint32_t frame)
{
	double		value = value_of(pool, frame);
	uint32_t	band = BANDS - 1;

	for (; band > 0 && value < 0.5; band--)
		value *= 2;
	return band;
}

static uint32_t
watt_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	return tp_coldest_bands(pool, cursor, BANDS, 0, band_of);
}

static uint32_t
watt_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	return tp_upcoming_sweep(pool, ahead, (uint32_t) pool->header->params[PARAM_SAMPLE],
							 BANDS, band_of);
}

static bool
watt_recalls(const tp_pool *pool, const tp_memory *memory)
{
	(void) memory;
	return pool->header->ghost_count < ghost_limit(pool);
}

static void
watt_resume(const tp_pool *pool, const void *saved, uint32_t frames)
{
	const watt_state *old = saved;
	watt_state *state = tp_state(pool, watt_state);

	(void) frames;
	state->epoch = old->epoch;
	state->evictions = old->evictions;
}

static int
watt_check(const tp_pool *pool, tp_report report, void *arg)
{
	int			bad = 0;

	bad += tp_expect(pool->header->ghost_count <= ghost_limit(pool),
					 "more ghosts than wanted", 0, report, arg);
	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = tp_member(pool, i);
		epoch_log	accesses = accesses_of(pool, frame);
		epoch_log	writes = writes_of(pool, frame);

		bad += tp_expect(epoch_log_length(accesses) <= accesses.limit &&
						 epoch_log_length(writes) <= writes.limit,
						 "log longer than it may be", frame, report, arg);
	}
	return bad;
}

static double
watt_ghosts(const double *params)
{
	return params[PARAM_HISTORY];
}

static const tp_param watt_params[] = {
	[PARAM_K_READ] = {
		.name = "k_read", .type = TP_PARAM_INTEGER,
		.default_value = 8, .min = 1, .max = 8,
		.help = "accesses logged per page, those that write included"
	},
	[PARAM_K_WRITE] = {
		.name = "k_write", .type = TP_PARAM_INTEGER,
		.default_value = 4, .min = 0, .max = 4,
		.help = "writes logged per page"
	},
	[PARAM_EPOCH] = {
		.name = "epoch", .type = TP_PARAM_INTEGER,
		.default_value = 4, .min = 1, .max = 128,
		.help = "epochs in as many evictions as there are frames"
	},
	[PARAM_SAMPLE] = {
		.name = "sample", .type = TP_PARAM_INTEGER,
		.default_value = 8, .min = 1, .max = SAMPLE_MAX,
		.help = "frames looked at for a victim"
	},
	[PARAM_DAMPENING] = {
		.name = "dampening", .type = TP_PARAM_REAL,
		.default_value = 0.1, .min = 0, .max = 1,
		.help = "weight of the last access by itself"
	},
	[PARAM_WRITE_COST] = {
		.name = "write_cost", .type = TP_PARAM_REAL,
		.default_value = 1, .min = 0, .max = 1000,
		.help = "weight of the writes against the accesses"
	},
	[PARAM_HISTORY] = {
		.name = "history", .type = TP_PARAM_FRACTION,
		.default_value = 0, .min = 0, .max = 8,
		.help = "evicted pages remembered, as a share of the frames"
	},
	{0}
};

static const tp_field watt_fields[] = {
	{"epoch", TP_FIELD_U64, offsetof(watt_state, epoch)},
	{"evictions", TP_FIELD_U32, offsetof(watt_state, evictions)},
	{0}
};

const tp_policy tp_policy_watt = {
	.name = "watt",
	.title = "write-aware timestamp tracking",
	.source = "Voehringer, Leis, PVLDB 2023",
	.flags = TP_HIT_LOCK_FREE | TP_CHOICE_LOCK_FREE | TP_UPCOMING_LOCK_FREE |
		TP_COUNTS_ALL | TP_WANTS_WRITES | TP_RANDOMIZED,
	.state_size = sizeof(watt_state),
	.extra_size = sizeof(watt_page),
	.params = watt_params,
	.fields = watt_fields,
	.lists = {{"frames", TP_RING}},
	.ghost_lists = {"history"},
	.ghosts = watt_ghosts,
	.leave = watt_leave,
	.hit = watt_hit,
	.expect_choice = watt_expect_choice,
	.victim = watt_victim,
	.evict = watt_evict,
	.admit = watt_admit,
	.forget = watt_forget,
	.coldest = watt_coldest,
	.upcoming = watt_upcoming,
	.recalls = watt_recalls,
	.resume = watt_resume,
	.check = watt_check,
};
