/*
 * estimate.c
 *	  How long until a running scan reads a page.  See scan.h.
 *
 * For each scan: blocks from its position to the page, times its time a block.
 * The least of these is the estimate.
 */
#include "tidepool/relaxed.h"

#include "prediction/bitmap.h"
#include "prediction/timeout.h"
#include "prediction/relations.h"

static inline float
sooner(float a, float b)
{
	return a < b ? a : b;
}

/*
 * Four lanes make a vector, for which every machine of interest has registers.
 * A comparison makes a mask: in each lane all bits or none.
 */
#define WIDTH 4
typedef uint32_t u32_vector __attribute__((vector_size(4 * WIDTH)));
typedef int32_t i32_vector __attribute__((vector_size(4 * WIDTH)));
typedef uint64_t u64_vector __attribute__((vector_size(4 * WIDTH)));
typedef float float_vector __attribute__((vector_size(4 * WIDTH)));

#define LOAD(field) (*(const u32_vector *) (const void *) &(field))

/* Comparing these as signed numbers compares x as unsigned ones. */
#define BIASED(x) ((i32_vector) ((x) + (uint32_t) INT32_MIN))

/*
 * For each of four lanes, how long until its range scan reads the block; not a
 * number if it will not.
 *
 * Excluded from the thread sanitizer.  A vector load is no C11 atomic, but
 * here it does the work of relaxed ones: each lane is an aligned word, which no
 * machine with such vectors tears, and the fields of a lane need not be
 * consistent.  The result is a number, never an index.
 */
__attribute__((no_sanitize("thread"))) static inline float_vector
waits(const tp_scan_lanes *lanes, uint32_t lane, uint32_t block, uint32_t tick)
{
	u32_vector	first = LOAD(lanes->first[lane]);
	u32_vector	backward = LOAD(lanes->backward[lane]);
	u32_vector	done = LOAD(lanes->done[lane]);
	u32_vector	low = LOAD(lanes->low[lane]);
	u32_vector	size = LOAD(lanes->size[lane]);
	u32_vector	away = ((block - first) ^ backward) - backward;

	/* a scan that wraps does so within 2^31 blocks at most: a sign is a wrap */
	u32_vector	wrapped = (u32_vector) ((i32_vector) away >> 31);
	u32_vector	position = away + (size & wrapped);
	u32_vector	left = position - done;

	/* size 0 becomes the largest number: it never wraps */
	i32_vector	not_its = (BIASED(block - low) > BIASED(size - 1)) |
		(BIASED(position) < BIASED(done)) |
		(BIASED(position) >= BIASED(LOAD(lanes->length[lane]))) |
		((i32_vector) (tick - LOAD(lanes->until[lane])) > 0);
	float_vector wait;

	/* distances above 2^31 blocks count as 2^31 */
	left = (left | (u32_vector) ((i32_vector) left >> 31)) & INT32_MAX;
	wait = __builtin_convertvector((i32_vector) left, float_vector) *
		*(const float_vector *) (const void *) &lanes->block_time[lane];
	/* a float with all bits set is not a number */
	return (float_vector) ((i32_vector) wait | not_its);
}

/* The lesser of each lane; never a, if a is not a number. */
static inline float_vector
lesser(float_vector a, float_vector b)
{
	i32_vector	less = a < b;

	return (float_vector) (((i32_vector) a & less) | ((i32_vector) b & ~less));
}

/* How long until one of the bitmap scans in these lanes reads the block. */
static float
soonest_bitmap(const tp_scans *scans, uint32_t at, uint32_t block,
			   uint32_t tick)
{
	const tp_scan_lanes *lanes = &scans->lanes[at];
	float		soonest = __builtin_inff();

	for (unsigned left = tp_load8(&lanes->bitmaps); left != 0; left &= left - 1)
	{
		uint32_t	lane = (uint32_t) __builtin_ctz(left);
		uint32_t	bitmap =
			tp_load32(&scans->scans[at * TP_SCAN_LANES + lane].bitmap);
		uint32_t	position;
		uint32_t	done;

		if (bitmap >= scans->header->bitmap_capacity ||
			is_later(tick, tp_load32(&lanes->until[lane])))
			continue;
		position = bitmap_position(&scans->bitmaps[bitmap], block,
								   tp_load32(&lanes->backward[lane]));
		done = tp_load32(&lanes->done[lane]);
		if (position != UINT32_MAX && position >= done)
			soonest = sooner((float) (position - done) *
							 tp_load_float(&lanes->block_time[lane]), soonest);
	}
	return soonest;
}

/* Is any of the four less? */
static inline bool
any_below(float_vector a, float limit)
{
	u64_vector	below = (u64_vector) (a < limit);

	return (below[0] | below[1]) != 0;
}

static inline uint32_t
place_of(const tp_scans *scans, tp_scan_found *found, uint64_t relation)
{
	uint32_t	vacant;

	found_of(found, relation);
	if (!found->searched_running)
		found->running = scan_relation(scans, relation, &vacant);
	found->searched_running = true;
	return found->running;
}

double
tp_scan_next_access_from(const tp_scans *scans, tp_scan_found *found,
						 tp_page page, double from, uint64_t now)
{
	/* must not become more when rounded to a float */
	float		enough = (float) (from * (1 - 1e-7));
	uint32_t	tick = tick_of(now);
	uint32_t	steps = scans->header->capacity;
	float		soonest = __builtin_inff();
	float_vector of_ranges = soonest - (float_vector) {0};
	uint32_t	i;

	if (tp_load32(&scans->header->running) == 0)
		return TP_NEVER;
	i = place_of(scans, found, page.relation);
	if (i == TP_NONE)
		return TP_NEVER;

	/* bounded: lanes that change hands meanwhile could lead in a circle */
	for (i = tp_load32(&scans->relations[i].lanes); i != TP_NONE && steps > 0;
		 steps--)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i];
		unsigned	bitmaps = tp_load8(&lanes->bitmaps);
		unsigned	ranges = tp_load8(&lanes->used) & ~bitmaps;

		for (uint32_t lane = 0; ranges >> lane != 0; lane += WIDTH)
			of_ranges = lesser(waits(lanes, lane, page.block, tick), of_ranges);
		if (bitmaps != 0)
			soonest = sooner(soonest_bitmap(scans, i, page.block, tick),
							 soonest);
		if (any_below(of_ranges, enough))
			break;
		i = tp_load32(&lanes->next);
	}
	for (uint32_t lane = 0; lane < WIDTH; lane++)
		soonest = sooner(of_ranges[lane], soonest);
	return soonest;
}

double
tp_scan_next_access(const tp_scans *scans, tp_page page, uint64_t now)
{
	tp_scan_found found = {0};

	return tp_scan_next_access_from(scans, &found, page, 0, now);
}
