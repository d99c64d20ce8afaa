/*
 * estimate.c
 *	  How long until a running scan reads a page.  See scan.h.
 *
 * For each scan: blocks from its position to the page, times its time a block.
 * The least of these is the estimate.
 */
#include "tidepool/relaxed.h"

#include "prediction/position.h"
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
 * For each of four lanes, how long until a scan of its range reads the block; not
 * a number if it will not.
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

/* Which of the four are less: a bit for each. */
static inline unsigned
lanes_below(float_vector a, float limit)
{
	const i32_vector bits = {1, 2, 4, 8};
	u64_vector	below = (u64_vector) ((a < limit) & bits);
	uint64_t	two = below[0] | below[1];

	return (unsigned) (two | two >> 32) & 15;
}

/* The lesser of each lane; never a, if a is not a number. */
static inline float_vector
lesser(float_vector a, float_vector b)
{
	i32_vector	less = a < b;

	return (float_vector) (((i32_vector) a & less) | ((i32_vector) b & ~less));
}

/*
 * Does a scan in these lanes, some of which have bitmaps, read the block in less
 * than `enough`?  Then no more than this; infinite if that is not known.
 */
static inline float
bound_of(const tp_scans *scans, uint32_t at, unsigned bitmaps, uint32_t block,
		 uint32_t tick, float enough)
{
	for (uint32_t first = 0; first < TP_SCAN_LANES; first += WIDTH)
	{
		float_vector of_ranges = waits(&scans->lanes[at], first, block, tick);

		for (unsigned left = lanes_below(of_ranges, enough); left != 0;
			 left &= left - 1)
		{
			uint32_t	lane = (uint32_t) __builtin_ctz(left);
			const tp_bitmap *bitmap =
				bitmap_of(scans, at * TP_SCAN_LANES + first + lane);

			if ((bitmaps >> (first + lane) & 1) == 0 ||
				(bitmap != NULL && bitmap_has(bitmap, block)))
				return of_ranges[lane];
		}
	}
	return __builtin_inff();
}

/*
 * At least so long it is until the scan with this number reads a block that a scan
 * of its range reads in `wait`: between now and then it may pass over all the blocks
 * that it does not read.
 */
static inline float
least_wait(const tp_scans *scans, uint32_t number, float wait)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	uint32_t	passed = tp_load32(&lanes->length[lane]) -
		tp_load32(&scans->scans[number].length);

	return wait - (float) passed * tp_load_float(&lanes->block_time[lane]);
}

/* How long until the bitmap scan with this number reads the block. */
static inline float
bitmap_wait(const tp_scans *scans, uint32_t number, uint32_t block)
{
	const tp_scan_lanes *lanes = lanes_of(scans, number);
	uint32_t	lane = number % TP_SCAN_LANES;
	const tp_bitmap *bitmap = bitmap_of(scans, number);
	uint32_t	position;
	uint32_t	done;

	if (bitmap == NULL)
		return __builtin_inff();
	position = bitmap_position(bitmap, block, tp_load32(&lanes->backward[lane]));
	done = tp_load32(&bitmap->done);
	if (position == UINT32_MAX || position < done)
		return __builtin_inff();
	return (float) (position - done) * tp_load_float(&lanes->block_time[lane]);
}

/* How long until one of the scans in these lanes reads the block. */
static inline float
soonest_of(const tp_scans *scans, uint32_t at, unsigned bitmaps, uint32_t block,
		   uint32_t tick)
{
	float		soonest = __builtin_inff();

	for (uint32_t first = 0; first < TP_SCAN_LANES; first += WIDTH)
	{
		float_vector of_ranges = waits(&scans->lanes[at], first, block, tick);

		for (unsigned left = lanes_below(of_ranges, __builtin_inff()); left != 0;
			 left &= left - 1)
		{
			uint32_t	lane = (uint32_t) __builtin_ctz(left);
			uint32_t	number = at * TP_SCAN_LANES + first + lane;
			float		wait = of_ranges[lane];

			if ((bitmaps >> (first + lane) & 1) != 0)
			{
				/* a bit more, since both are rounded */
				if (least_wait(scans, number, wait) > soonest * 1.00001f)
					continue;
				wait = bitmap_wait(scans, number, block);
			}
			soonest = sooner(wait, soonest);
		}
	}
	return soonest;
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

/*
 * Bitmaps are looked at twice.  Their ranges tell most often that the page is too
 * near to matter; only where they do not, positions in bitmaps are counted.
 */
double
tp_scan_next_access_from(const tp_scans *scans, tp_scan_found *found,
						 tp_page page, double from, uint64_t now)
{
	/* must not become more when rounded to a float */
	float		enough = (float) (from * (1 - 1e-7));
	uint32_t	tick = tick_of(now);
	uint32_t	steps = 2 * scans->header->capacity;
	float		soonest = __builtin_inff();
	float_vector of_ranges = soonest - (float_vector) {0};
	uint32_t	first_bitmaps = TP_NONE;
	uint32_t	place;
	uint32_t	i;

	if (tp_load32(&scans->header->running) == 0)
		return TP_NEVER;
	place = place_of(scans, found, page.relation);
	if (place == TP_NONE)
		return TP_NEVER;

	/* bounded: lanes that change hands meanwhile could lead in a circle */
	for (i = tp_load32(&scans->relations[place].lanes); i != TP_NONE && steps > 0;
		 steps--)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i];
		unsigned	bitmaps = tp_load8(&lanes->bitmaps);
		unsigned	used = tp_load8(&lanes->used);

		if (bitmaps != 0)
		{
			float		bound = bound_of(scans, i, bitmaps, page.block, tick, enough);

			if (bound < enough)
				return bound;
			if (first_bitmaps == TP_NONE)
				first_bitmaps = i;
		}
		else
		{
			for (uint32_t lane = 0; used >> lane != 0; lane += WIDTH)
				of_ranges = lesser(waits(lanes, lane, page.block, tick), of_ranges);
			if (lanes_below(of_ranges, enough) != 0)
				break;
		}
		i = tp_load32(&lanes->next);
	}
	for (uint32_t lane = 0; lane < WIDTH; lane++)
		soonest = sooner(of_ranges[lane], soonest);
	for (i = first_bitmaps; i != TP_NONE && soonest >= enough && steps > 0; steps--)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i];
		unsigned	bitmaps = tp_load8(&lanes->bitmaps);

		if (bitmaps != 0)
			soonest = sooner(soonest_of(scans, i, bitmaps, page.block, tick),
							 soonest);
		i = tp_load32(&lanes->next);
	}
	return soonest;
}

double
tp_scan_next_access(const tp_scans *scans, tp_page page, uint64_t now)
{
	tp_scan_found found = {0};

	return tp_scan_next_access_from(scans, &found, page, 0, now);
}
