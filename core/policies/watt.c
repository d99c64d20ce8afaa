/*
 * watt.c
 *	  Write-aware timestamp tracking.
 *
 * Source: D. Voehringer, V. Leis: Write-aware timestamp tracking: Effective
 * and efficient page replacement for modern hardware. PVLDB 16(11), 2023.
 *
 * The defaults are those of the authors' simulator as they published it with
 * the paper: 8 accesses and 4 writes logged, 4 epochs in a replacement of the
 * whole pool, samples of 8, the first subfrequency dampened to a tenth, a
 * write weighing as much as an access, nothing kept of evicted pages.  From
 * there, too: ages are taken plus one.  It also limits subfrequencies to one,
 * which they do not exceed, since no two stamps of a log are of one epoch.
 *
 * Where this differs from the paper:
 *	1. One victim for each sample, as in the simulator.  The threshold by which
 *	   the paper's evictor threads take many at once serves to refill a list
 *	   of free frames, which is the caller's affair here.
 *	2. Logs are newest first, not cyclic, and of 16 bits a stamp: what is older
 *	   than 65,535 epochs is taken for young.  By then the pool has been
 *	   replaced 16,000 times (with epoch = 4), and the page with it, unless it
 *	   was unusable all the while; and then its value is wrong once.
 *	3. Of an evicted page at most 4 accesses and 1 write are remembered, what
 *	   a ghost has room for; the simulator, if told to, remembers all.
 *	4. A write is logged also if the reference is correlated with the one
 *	   before: a page that was read first is as dirty.  VACUUM's is not.
 *	5. A pool no larger than the sample is looked at whole (sample.h).
 *
 * DEFINITION.
 *	  Ring "frames": all resident pages; count = length of the log of accesses
 *	  (at most k_read), mark = of the log of writes (at most k_write).  Ghosts
 *	  "history".  Fields: epoch; evictions, in this epoch.
 *	  To log an epoch: unless it is the newest stamp already (modulo 2^16),
 *	    put it before that, and cut the log to its limit.
 *	  hit: unless correlated or by VACUUM, log the epoch in the accesses; if a
 *	    write, but not by VACUUM, log it in the writes.
 *	  value: f(accesses) + write_cost * f(writes), where f of an empty log is
 *	    0, and else the largest of s(i) / (age(i) + 1); i counts from 1 for the
 *	    newest stamp, s(1) = dampening, other s(i) = i, age = (epoch - stamp)
 *	    modulo 2^16.  In double precision, one division for each i.
 *	  victim: sample_frames (sample.h) of `sample` frames; of these the one of
 *	    least value, the first in the order of the sample among equals.
 *	  evict: (1) Off the ring.  (2) If limit = floor(history * c) > 0: trim the
 *	    ghosts to limit - 1 from the tail, then a ghost at the head with the 4
 *	    newest accesses and the newest write.  (3) evictions
 *	    + 1; if that is floor(c / epoch parameter) or more: evictions = 0,
 *	    epoch + 1.
 *	  forget: off the ring.
 *	  admit: both logs as the page's ghost has them, cut to their limits; empty
 *	    if there is none or the reference is correlated or by VACUUM.  The
 *	    ghost goes.  Log the epoch in the accesses in any case, in the writes
 *	    as hit does.  Onto the ring.
 *	  leave: trim the ghosts to floor(history * c).
 *	  coldest: 16 bands by value, in the order of members from index 0: below
 *	    2^-15, then each twice as wide as the one before, the last from 1/2 on.
 *	  upcoming: tp_upcoming_sweep (list.h), by these bands.
 *
 * Costs: up to 12 divisions for each frame of a sample.
 * Benefits: recency and frequency from one log, which a hit touches once in an
 * epoch; pages often written stay longer, so that fewer writes reach the disk.
 * Memory: 24 bytes per frame beside the node; `history` ghosts per frame.
 *
 * LOCKING.  A hit reads the pool's epoch and writes the page's logs.  Choices
 * and evictions need no lock if nothing is remembered (history=0).  Races as
 * in watt_log.h.  A hit overtaken by the frame's next admission may leave the
 * new page some of the old one's stamps, unless the caller holds a pin.
 */
#include "tidepool/parts/sample.h"
#include "tidepool/parts/epoch_log.h"

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
	uint32_t	evictions;		/* in this epoch; in a shared pool two who end
								 * it at once may lose each other's */
} watt_state;

typedef struct watt_page
{
	uint64_t	accesses[2];	/* words of the logs, see watt_log.h */
	uint64_t	writes[1];
} watt_page;

static watt_log
accesses_of(const tp_pool *pool, uint32_t frame)
{
	watt_page  *page = tp_extra(pool, frame);
	watt_log	log = {
		page->accesses, &pool->nodes[frame].count,
		(uint32_t) pool->header->params[PARAM_K_READ]
	};

	return log;
}

static watt_log
writes_of(const tp_pool *pool, uint32_t frame)
{
	watt_page  *page = tp_extra(pool, frame);
	watt_log	log = {
		page->writes, &pool->nodes[frame].mark,
		(uint32_t) pool->header->params[PARAM_K_WRITE]
	};

	return log;
}

/* Equation 3 of the paper. */
static double
value_of(const tp_pool *pool, uint32_t frame)
{
	const double *params = pool->header->params;
	uint64_t	epoch = watt_load(&tp_state(pool, watt_state)->epoch);

	return watt_log_frequency(accesses_of(pool, frame), epoch,
							  params[PARAM_DAMPENING]) +
		params[PARAM_WRITE_COST] *
		watt_log_frequency(writes_of(pool, frame), epoch,
						   params[PARAM_DAMPENING]);
}

static bool
is_write(const tp_access *access)
{
	return (access->flags & (TP_WRITE | TP_VACUUM)) == TP_WRITE;
}

static void
watt_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	uint64_t	epoch = watt_load(&tp_state(pool, watt_state)->epoch);

	if (tp_promotes(access))
		watt_log_add(accesses_of(pool, frame), epoch);
	if (is_write(access))
		watt_log_add(writes_of(pool, frame), epoch);
}

static uint32_t
watt_expect_choice(const tp_pool *pool, uint32_t *frames)
{
	return sample_expect(pool, (uint32_t) pool->header->params[PARAM_SAMPLE], frames);
}

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
 * In a ghost, value is the first word of the accesses; small their number,
 * plus 16 if there is a write, and the two bytes of the write's stamp.
 */
static void
leave_ghost(const tp_pool *pool, uint32_t frame)
{
	watt_log	accesses = accesses_of(pool, frame);
	watt_log	writes = writes_of(pool, frame);
	uint32_t	length = watt_log_length(accesses);
	tp_ghost   *ghost = &pool->ghosts[tp_ghost_push(pool, HISTORY, frame)];

	ghost->value = watt_load(accesses.words);
	ghost->small[0] = (uint8_t) (length < GHOST_ACCESSES ?
								 length : GHOST_ACCESSES);
	if (watt_log_length(writes) > 0)
		ghost->small[0] |= 16;
	ghost->small[1] = (uint8_t) watt_log_stamp(writes, 0);
	ghost->small[2] = (uint8_t) (watt_log_stamp(writes, 0) >> 8);
}

/* Begin the logs of a page with what its ghost remembers. */
static void
recall(const tp_pool *pool, uint32_t frame, const tp_ghost *ghost)
{
	watt_log	accesses = accesses_of(pool, frame);
	watt_log	writes = writes_of(pool, frame);

	watt_store(accesses.words, ghost->value);
	watt_store(writes.words, ghost->small[1] | (uint64_t) ghost->small[2] << 8);
	watt_log_set_length(accesses, ghost->small[0] & 15);
	watt_log_set_length(writes, ghost->small[0] >> 4);
}

static void
watt_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	static const tp_ghost nothing = {0};
	uint64_t	epoch = watt_load(&tp_state(pool, watt_state)->epoch);
	uint32_t	ghost = tp_ghost_of_node(pool, frame);

	recall(pool, frame, ghost != TP_NONE && tp_promotes(access) ?
		   &pool->ghosts[ghost] : &nothing);
	if (ghost != TP_NONE)
		tp_ghost_remove(pool, ghost);
	watt_log_add(accesses_of(pool, frame), epoch);
	if (is_write(access))
		watt_log_add(writes_of(pool, frame), epoch);
	tp_ring_add(pool, FRAMES, frame);
}

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
		watt_store(&state->epoch, watt_load(&state->epoch) + 1);
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

static int
watt_check(const tp_pool *pool, tp_report report, void *arg)
{
	int			bad = 0;

	bad += tp_expect(pool->header->ghost_count <= ghost_limit(pool),
					 "more ghosts than wanted", 0, report, arg);
	for (uint32_t i = 0; i < pool->header->frames; i++)
	{
		uint32_t	frame = pool->members[i];
		watt_log	accesses = accesses_of(pool, frame);
		watt_log	writes = writes_of(pool, frame);

		bad += tp_expect(watt_log_length(accesses) <= accesses.limit &&
						 watt_log_length(writes) <= writes.limit,
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
	.check = watt_check,
};
