/*
 * estimate.c
 *	  When a page will be read next, as the running scans tell.  See scan.h.
 */
#include "tidepool/relaxed.h"

#include "prediction/bitmap.h"
#include "prediction/patience.h"
#include "prediction/relations.h"

static inline float
sooner(float a, float b)
{
	return a < b ? a : b;
}

/*
 * Four lanes as a vector, which every machine of interest has registers for;
 * comparisons make masks of all bits or none.
 */
#define WIDTH 4
typedef uint32_t u32_vector __attribute__((vector_size(4 * WIDTH)));
typedef int32_t i32_vector __attribute__((vector_size(4 * WIDTH)));
typedef uint64_t u64_vector __attribute__((vector_size(4 * WIDTH)));
typedef float float_vector __attribute__((vector_size(4 * WIDTH)));

#define LOAD(field) (*(const u32_vector *) (const void *) &(field))

/* A number that compares as a signed one as x does as an unsigned one. */
#define BIASED(x) ((i32_vector) ((x) + (uint32_t) INT32_MIN))

/*
 * For each of four lanes from the first one on, how long until its range scan
 * reads the block; not a number if it will not.  The loads are not atomic as
 * a whole: each is of aligned words, which no machine tears, and the fields of
 * a lane need not fit each other.
 */
static inline float_vector
waits(const tp_scan_lanes *lanes, uint32_t lane, uint32_t block, uint32_t tick)
{
	u32_vector	first = LOAD(lanes->first[lane]);
	u32_vector	backward = LOAD(lanes->backward[lane]);
	u32_vector	done = LOAD(lanes->done[lane]);
	u32_vector	low = LOAD(lanes->low[lane]);
	u32_vector	size = LOAD(lanes->size[lane]);
	u32_vector	away = ((block - first) ^ backward) - backward;

	/* where it goes round are at most 2^31 blocks: a sign is a wrap */
	u32_vector	wrapped = (u32_vector) ((i32_vector) away >> 31);
	u32_vector	position = away + (size & wrapped);
	u32_vector	left = position - done;

	/* size 0 becomes the largest number */
	i32_vector	not_its = (BIASED(block - low) > BIASED(size - 1)) |
		(BIASED(position) < BIASED(done)) |
		(BIASED(position) >= BIASED(LOAD(lanes->length[lane]))) |
		((i32_vector) (tick - LOAD(lanes->until[lane])) > 0);
	float_vector wait;

	/* beyond 2^31 blocks all are equally far */
	left = (left | (u32_vector) ((i32_vector) left >> 31)) & INT32_MAX;
	wait = __builtin_convertvector((i32_vector) left, float_vector) *
		*(const float_vector *) (const void *) &lanes->block_time[lane];
	/* all bits set are not a number */
	return (float_vector) ((i32_vector) wait | not_its);
}

/* Lane by lane the lesser; what is not a number is never less. */
static inline float_vector
lesser(float_vector a, float_vector b)
{
	i32_vector	less = a < b;

	return (float_vector) (((i32_vector) a & less) | ((i32_vector) b & ~less));
}

static float
soonest_bitmap(const tp_scans *scans, uint32_t at, uint32_t block,
			   uint32_t tick)
{
	const tp_scan_lanes *lanes = &scans->lanes[at];
	float		soonest = __builtin_inff();

	for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane++)
	{
		uint32_t	bitmap =
			tp_load32(&scans->scans[at * TP_SCAN_LANES + lane].bitmap);
		uint32_t	position;

		if ((lanes->bitmaps >> lane & 1) == 0 ||
			bitmap >= scans->header->bitmap_capacity ||
			is_later(tick, lanes->until[lane]))
			continue;
		position = bitmap_position(&scans->bitmaps[bitmap], block,
								   lanes->backward[lane]);
		if (position != UINT32_MAX && position >= lanes->done[lane])
			soonest = sooner((float) (position - lanes->done[lane]) *
							 lanes->block_time[lane], soonest);
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

double
tp_scan_next_access_from(const tp_scans *scans, tp_page page, double from,
						 uint64_t now)
{
	/* as a float it must not be more */
	float		enough = (float) (from * (1 - 1e-7));
	uint32_t	tick = tick_of(now);
	uint32_t	steps = scans->header->capacity;
	float		soonest = __builtin_inff();
	float_vector of_ranges = soonest - (float_vector) {0};
	uint32_t	vacant;
	uint32_t	i;

	if (scans->header->running == 0)
		return TP_NEVER;
	i = scan_relation(scans, page.relation, &vacant);
	if (i == TP_NONE)
		return TP_NEVER;

	/* lanes that change hands under us could lead in a circle */
	for (i = tp_load32(&scans->relations[i].lanes); i != TP_NONE && steps > 0;
		 steps--)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i];

		for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane += WIDTH)
			of_ranges = lesser(waits(lanes, lane, page.block, tick), of_ranges);
		if (lanes->bitmaps != 0)
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
	return tp_scan_next_access_from(scans, page, 0, now);
}
