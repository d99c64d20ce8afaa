/*-------------------------------------------------------------------------
 *
 * tier.c
 *	  Set-up of the SSD tier, its lock and its state.
 *
 * src/backend/storage/ssdtier/tier.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/shmem.h"
#include "storage/ssd_tier_directory.h"
#include "utils/json.h"
#include "utils/timestamp.h"

char	   *ssd_tier_path;
int			ssd_tier_size;
int			ssd_tier_max_size;
char	   *ssd_tier_policy;
char	   *ssd_tier_parameters;
int			ssd_tier_write_buffers;
bool		ssd_tier_verify;

bool		SsdTierConfigured;
SsdTierView SsdTier;

static tp_services services;

/* With fewer slots a policy has nothing to choose from. */
#define LEAST_SLOTS 16

/* ---- configuration ---- */

typedef struct Configured
{
	const tp_policy *policy;
	const char *parameters;		/* as configured, or empty */
	double		params[TP_MAX_PARAMS];
	uint32		capacity;		/* slots to reserve memory for; 0: no tier */
} Configured;

extern const tp_policy tp_policy_tac;
extern const tp_policy tp_policy_page_temperature;

/* Those that are for an SSD, then those for memory. */
static const tp_policy *
find_policy(const char *name)
{
	if (pg_strcasecmp(name, tp_policy_tac.name) == 0)
		return &tp_policy_tac;
	if (pg_strcasecmp(name, tp_policy_page_temperature.name) == 0)
		return &tp_policy_page_temperature;
	return FindBufferPoolPolicy(name, NULL);
}

/*
 * Invalid settings must not keep the server from starting: without the tier it
 * is slower, and nothing else.
 */
static Configured
configured(bool complain)
{
	static int	capacity = -1;	/* stays when a crash lets the server begin
								 * anew, whatever a reload has said */
	Configured	result = {0};
	char	   *problem;

	if (!IsPostmasterEnvironment || IsBinaryUpgrade || ssd_tier_path[0] == '\0')
		return result;
	if (capacity < 0)
		capacity = Max(ssd_tier_size, ssd_tier_max_size);
	if (capacity < LEAST_SLOTS)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("there is no SSD tier: \"%s\" is too small",
							"bufferpool.ssd_size"),
					 errhint("Set it to at least %d kB, or \"%s\" to an empty string.",
							 LEAST_SLOTS * BLCKSZ / 1024, "bufferpool.ssd_path")));
		return result;
	}
	result.policy = find_policy(ssd_tier_policy);
	result.parameters = "";
	if (result.policy == NULL)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("replacement algorithm \"%s\" of the SSD tier does not exist, using \"%s\"",
							ssd_tier_policy, SSD_TIER_POLICY),
					 errhint("Add the library that has it to \"shared_preload_libraries\".")));
		result.policy = &tp_policy_page_temperature;
		tp_policy_defaults(result.policy, result.params);
	}
	else if (!ParsePolicyParameters(result.policy, ssd_tier_parameters,
									result.params, &problem))
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameters \"%s\" of the SSD tier's algorithm \"%s\" are not used: %s",
							ssd_tier_parameters, result.policy->name, problem),
					 errhint("\"tidepool policies\" lists the parameters of each algorithm and their ranges.")));
		tp_policy_defaults(result.policy, result.params);
	}
	else
		result.parameters = ssd_tier_parameters;
	result.capacity = capacity;
	if (tp_block_size(result.policy, result.params, result.capacity) == 0)
	{
		if (complain)
			ereport(WARNING,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("there is no SSD tier: \"%s\" is too large for algorithm \"%s\"",
							ssd_tier_max_size > ssd_tier_size ?
							"bufferpool.ssd_max_size" : "bufferpool.ssd_size",
							result.policy->name),
					 errhint("Lower it, or choose another algorithm.")));
		result.capacity = 0;
	}
	return result;
}

/* ---- memory ---- */

/*
 * Extents with a temperature: one for each four slots, or somewhat fewer, so
 * that the coldest are forgotten only if the data is more than eight times the
 * SSD (core/tier/README.md says what that costs).  A power of two.
 */
#define LEAST_EXTENTS 1024

static uint32
extent_slots(uint32 capacity)
{
	return Max(LEAST_EXTENTS, pg_prevpower2_32(Max(capacity / 4, 1)));
}

/* Relations that can have pages on the SSD, or were read lately. */
#define LEAST_RELATIONS 4096

static uint32
relation_places(uint32 capacity)
{
	return Min(Max(LEAST_RELATIONS, capacity / 32), 1 << SSD_TIER_PLACE_BITS);
}

/* The pieces of the memory, one after the other. */
typedef struct Pieces
{
	Size		total;
	char	   *begin;			/* NULL: only the sizes are wanted */
} Pieces;

static void *
piece(Pieces *pieces, Size alignment, Size size)
{
	Size		offset = TYPEALIGN(alignment, pieces->total);

	pieces->total = add_size(offset, size);
	return pieces->begin == NULL ? NULL : pieces->begin + offset;
}

typedef struct Places
{
	void	   *pool;
	tp_extents *extents;
} Places;

static Configured tier;
static Places places;

/* Where everything is; returns the bytes, without the slack for alignment. */
static Size
lay_out(char *memory, SsdTierView *view, Places *places_of)
{
	Pieces		pieces = {0, memory};
	uint32		capacity = tier.capacity;
	Size		pool_size = tp_block_size(tier.policy, tier.params, capacity);

	view->capacity = capacity;
	view->max_relations = relation_places(capacity);
	view->max_entries = ssd_tier_write_buffers;

	view->shared = piece(&pieces, PG_CACHE_LINE_SIZE, sizeof(SsdTierShared));
	view->pages = piece(&pieces, PG_IO_ALIGN_SIZE,
						mul_size(view->max_entries, BLCKSZ));
	places_of->pool = piece(&pieces, PG_CACHE_LINE_SIZE, pool_size);
	places_of->extents = piece(&pieces, PG_CACHE_LINE_SIZE,
							   tp_extents_size(extent_slots(capacity)));
	view->slots = piece(&pieces, PG_CACHE_LINE_SIZE,
						mul_size(capacity, sizeof(SsdTierSlot)));
	view->buckets = piece(&pieces, PG_CACHE_LINE_SIZE,
						  mul_size(capacity, sizeof(uint32)));
	view->relations = piece(&pieces, PG_CACHE_LINE_SIZE,
							mul_size(view->max_relations,
									 sizeof(SsdTierRelation)));
	view->relation_buckets = piece(&pieces, PG_CACHE_LINE_SIZE,
								   mul_size(view->max_relations,
											sizeof(uint32)));
	view->entries = piece(&pieces, PG_CACHE_LINE_SIZE,
						  mul_size(view->max_entries, sizeof(SsdTierEntry)));
	view->core.stale = piece(&pieces, PG_CACHE_LINE_SIZE, capacity);
	return pieces.total;
}

/* Do the settings ask for a tier? */
bool
SsdTierIsWanted(void)
{
	return configured(false).capacity > 0;
}

/*
 * What memory must agree in that another server has left: a version that changes
 * with the structures, and the settings.
 */
static uint64
shape_of(const Configured *tier, Size size)
{
	struct
	{
		char		version[NAMEDATALEN];
		char		policy[NAMEDATALEN];
		double		params[TP_MAX_PARAMS];
		uint64		sizes[6];
	}			shape = {.version = "SSD tier 3 of PostgreSQL " PG_VERSION};

	strlcpy(shape.policy, tier->policy->name, sizeof(shape.policy));
	memcpy(shape.params, tier->params, sizeof(shape.params));
	shape.sizes[0] = size;
	shape.sizes[1] = tier->capacity;
	shape.sizes[2] = sizeof(SsdTierShared);
	shape.sizes[3] = sizeof(tp_header);
	shape.sizes[4] = sizeof(tp_extents);
	shape.sizes[5] = BLCKSZ;
	return hash_bytes_extended((const unsigned char *) &shape, sizeof(shape), 0);
}

/* What begins anew with every server. */
static void
init_for_start(void)
{
	SsdTierShared *shared = SsdTier.shared;

	pg_atomic_init_u32(&shared->status, SSD_TIER_STARTING);
	pg_atomic_init_u32(&shared->errors, 0);
	pg_atomic_init_u32(&shared->writer, (uint32) INVALID_PROC_NUMBER);
	memset(&shared->tier, 0, sizeof(shared->tier));
	pg_atomic_init_u64(&shared->skipped, 0);
	pg_atomic_init_u64(&shared->disk_served, 0);
	pg_atomic_init_u32(&shared->disk_reads, 0);
	for (int i = 0; i < SSD_TIER_NUM_COUNTERS; i++)
		pg_atomic_init_u64(&shared->counters[i], 0);
	for (uint32 i = 0; i < SsdTier.max_relations; i++)
	{
		SsdTier.relations[i].reads = SsdTier.relations[i].hits = 0;
		SsdTier.relations[i].told = 0;	/* recordings are numbered anew */
	}
	memset(&shared->recorded, 0, sizeof(shared->recorded));
	SsdTierStartClock();
	shared->saved_time = 0;
	shared->saved = false;
	shared->switched = shared->stats_reset = GetCurrentTimestamp();
}

/* The pool is empty, and has no members. */
static void
init_pool(void)
{
	(void) tp_block_init(tier.policy, tier.params, tier.capacity, 0,
						 BUFFERPOOL_SEED, places.pool);
	SsdTier.shared->slots = 0;
}

/* Nothing is known of any extent. */
static void
init_extents(void)
{
	tp_extents_settings settings;

	tp_extents_settings_of(tier.policy, tier.params, &settings);
	settings.random_saving = settings.sequential_saving = 0;
	tp_extents_init(places.extents, extent_slots(tier.capacity), 1, &settings);
}

static void
init_shared(void)
{
	SsdTierShared *shared = SsdTier.shared;

	memset(shared, 0, sizeof(*shared));
	LWLockInitialize(&shared->lock, LWTRANCHE_SSD_TIER);
	pg_atomic_init_u32(&shared->file, 0);
	pg_atomic_init_u64(&shared->choices, 0);
	for (int i = 0; i < BUFFERPOOL_NUMBERS; i++)
		pg_atomic_init_u64(&shared->pools[i], SSD_TIER_UNSET);
	tp_budget_init(&shared->budget);
	for (int i = 0; i < SSD_TIER_NUM_COSTS; i++)
		pg_atomic_init_u64(&shared->nanoseconds[i], 0);
	init_extents();
	memset(SsdTier.relations, 0,
		   SsdTier.max_relations * sizeof(SsdTierRelation));
	init_pool();
	SsdTierEmptyDirectory();
}

static bool
is_kept(void *arg, uint32 slot)
{
	return relation_in(slot)->choice == SSD_TIER_KEEP;
}

/* Pools are made before the tier. */
static void
follow_pools(void)
{
	for (int i = 0; i < BufferPoolsReserved(); i++)
	{
		BufferPoolDefinition definition;

		BufferPoolReadDefinition(&BufferPools[i], &definition);
		SsdTierPoolChooses(i, definition.ssd_tier);
	}
}

/*
 * Set up the tier's memory.  It is not among the main shared memory, because it
 * is to outlive that (segment.c, saved.c).  What an earlier server knew is taken over
 * here, before any page can change.
 */
void
SsdTierShmemInit(void)
{
	Size		size = 0;
	char	   *memory = NULL;
	bool		old;

	if (IsUnderPostmaster)
		return;					/* inherited */
	tier = configured(true);
	if (tier.capacity > 0)
	{
		size = lay_out(NULL, &SsdTier, &places);
		memory = SsdTierMap(size, &old);
	}
	SsdTierConfigured = memory != NULL;
	if (!SsdTierConfigured)
	{
		if (IsPostmasterEnvironment)
			SsdTierRemoveSegment();
		return;
	}
	lay_out(memory, &SsdTier, &places);
	SsdTier.core.pool = tp_block_pool(tier.policy, tier.params, tier.capacity,
									  places.pool);
	services.extents = places.extents;
	SsdTier.core.pool.services = &services;
	SsdTier.core.extents = places.extents;
	SsdTier.core.counters = &SsdTier.shared->tier;
	SsdTier.core.kept = &SsdTier.shared->kept;
	SsdTier.core.is_kept = is_kept;
	SsdTier.core.budget = &SsdTier.shared->budget;
	if (old && SsdTier.shared->shape == shape_of(&tier, size) &&
		!SsdTier.shared->distrusted && !SsdTier.shared->taking_over &&
		SsdTierOwnerIsPresent(&SsdTier.shared->owner))
		SsdTierTakeOver(init_pool);
	else
	{
		init_shared();
		SsdTier.shared->shape = shape_of(&tier, size);
		SsdTierLoad();
	}
	SsdTierForgetUnlogged();
	init_for_start();
	follow_pools();
	SsdTierFollowControlFile();
	SsdTierFollowCosts();
	SsdTierFollowSettings();
}

/*
 * Forget all that the tier knows.  It is not on, and empty, and to begin anew: so
 * nobody looks at the pool or the temperatures.
 */
void
SsdTierBeginAnew(void)
{
	init_extents();
	SsdTierLock();
	init_pool();
	SsdTierUnlock();
	SsdTierFollowCosts();
}

/* Bytes of shared memory, without the write buffers. */
Size
SsdTierMemory(void)
{
	SsdTierView view;
	Places		nowhere;

	return lay_out(NULL, &view, &nowhere) - mul_size(view.max_entries, BLCKSZ);
}

/* ---- the lock ---- */

/*
 * It is held for a microsecond or so, and nothing is waited for under it.  So
 * it may be taken wherever a page is read or written, also in a critical
 * section.  It is worth while to try for about that long before sleeping.
 */
#define SPINS 100

void
SsdTierLock(void)
{
	for (int spins = 0; spins < SPINS; spins++)
	{
		if (LWLockConditionalAcquire(&SsdTier.shared->lock, LW_EXCLUSIVE))
			return;
		pg_spin_delay();
	}
	LWLockAcquire(&SsdTier.shared->lock, LW_EXCLUSIVE);
}

void
SsdTierUnlock(void)
{
	LWLockRelease(&SsdTier.shared->lock);
}

/* ---- on and off ---- */

/* Returns false if the tier was not in that state. */
bool
SsdTierSwitch(SsdTierStatus from, SsdTierStatus to)
{
	uint32		expected = from;

	if (!pg_atomic_compare_exchange_u32(&SsdTier.shared->status, &expected, to))
		return false;
	SsdTier.shared->switched = GetCurrentTimestamp();
	return true;
}

/*
 * What the slots have is not to be kept, by this server or, if that crashes, by
 * the next: the file is another one than it was; or the disk may have lost what
 * was written to it, and recovery must not take the SSD's newer copy for the disk's
 * page.  Callable anywhere.
 */
void
SsdTierDistrust(void)
{
	if (!SsdTierConfigured)
		return;
	SsdTier.shared->distrusted = true;
	SsdTier.shared->warm = false;
}

/*
 * The SSD has failed to read or write a page, or gave back another one (error
 * is 0).  Callable in critical sections.
 */
void
SsdTierError(SsdTierCounter counter, int error)
{
	SsdTierShared *shared = SsdTier.shared;

	SsdTierCount(counter, 1);
	shared->last_errno = error;
	if (pg_atomic_add_fetch_u32(&shared->errors, 1) >= SSD_TIER_MAX_ERRORS &&
		SsdTierSwitch(SSD_TIER_ON, SSD_TIER_FAILING))
		SsdTierWakeWriter();
}

/* ---- for recordings ---- */

/*
 * What a replay needs to know at the start: the members of the JSON object are
 * described in docs/trace-format.md.
 */
void
SsdTierDescribe(StringInfo text)
{
	tp_extents_settings settings;
	SsdTierRecorded limits;
	uint32		pages;
	uint32		used;
	tp_budget	budget;
	bool		useful;

	SsdTierLock();
	SsdTierFollowTime(0);
	SsdTierDescribeLimits(&limits);
	budget = SsdTier.shared->budget;
	settings = SsdTier.core.extents->settings;
	pages = SsdTier.shared->slots;
	used = tp_resident(&SsdTier.core.pool);
	useful = SsdTier.shared->useful;
	SsdTierUnlock();
	appendStringInfo(text, "{\"policy\":\"%s\",\"parameters\":",
					 tier.policy->name);
	escape_json(text, tier.parameters);
	appendStringInfo(text,
					 ",\"pages\":%u,\"capacity\":%u,\"used\":%u,"
					 "\"extents\":%u,\"write_buffers\":%u,"
					 "\"random_saving\":%.17g,\"sequential_saving\":%.17g,"
					 "\"useful\":%s,\"keep_share\":%.17g,"
					 "\"write_budget\":%.17g,\"write_budget_per_day\":%.17g,"
					 "\"purse\":%.17g,\"day_writes\":" UINT64_FORMAT ","
					 "\"purse_time\":" UINT64_FORMAT "}",
					 pages, SsdTier.capacity, used,
					 SsdTier.core.extents->mask + 1, SsdTier.max_entries,
					 settings.random_saving, settings.sequential_saving,
					 useful ? "true" : "false", limits.keep_share,
					 limits.write_budget, limits.write_budget_per_day,
					 limits.write_budget > 0 ? budget.purse : 0.0, budget.day,
					 budget.now - SsdTier.shared->clock_began);
}

/*
 * Record the tier's size, savings and limits, unless that was done in this recording
 * and none has changed; and whether it is empty.  The caller holds the lock.
 */
void
SsdTierRecordState(bool emptied)
{
	SsdTierShared *shared = SsdTier.shared;
	const tp_extents_settings *settings = &SsdTier.core.extents->settings;
	SsdTierRecorded now = {
		.random_saving = settings->random_saving,
		.sequential_saving = settings->sequential_saving,
		.slots = shared->slots,
		.useful = shared->useful,
	};
	char		text[320];

	if (!BufferPoolRecording())
		return;
	SsdTierDescribeLimits(&now);
	now.recording = BufferPoolRecordingSerial();
	if (!emptied && memcmp(&now, &shared->recorded, sizeof(now)) == 0)
		return;
	shared->recorded = now;
	snprintf(text, sizeof(text),
			 "{\"pages\":%u,\"random_saving\":%.17g,"
			 "\"sequential_saving\":%.17g,\"useful\":%s,\"emptied\":%s,"
			 "\"keep_share\":%.17g,\"write_budget\":%.17g,"
			 "\"write_budget_per_day\":%.17g}",
			 now.slots, now.random_saving, now.sequential_saving,
			 now.useful ? "true" : "false", emptied ? "true" : "false",
			 now.keep_share, now.write_budget, now.write_budget_per_day);
	BufferPoolRecordSsd(text);
}
