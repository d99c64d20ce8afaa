/*
 * scan_estimate.c
 *	  When a page will be read next, as the running scans tell.  See scan.h.
 */
#include "scan_position.h"

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
typedef float float_vector __attribute__((vector_size(4 * WIDTH)));

#define LOAD(field) (*(const u32_vector *) (const void *) &(field))

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
	u32_vector	size = LOAD(lanes->size[lane]);
	u32_vector	before = (u32_vector) (block < first);
	u32_vector	beyond = (u32_vector) (block > first);
	u32_vector	wrapped = (before & ~backward) | (beyond & backward);
	u32_vector	position = (((block - first) ^ backward) - backward) +
		(size & wrapped);
	u32_vector	left = position - done;
	i32_vector	ahead = (position >= done) &
		(position < LOAD(lanes->length[lane])) & (block <= size - 1) &
		((i32_vector) (tick - LOAD(lanes->until[lane])) <= 0);
	float_vector wait;

	/* beyond 2^31 blocks all are equally far */
	left = (left | -(left >> 31)) & INT32_MAX;
	wait = __builtin_convertvector((i32_vector) left, float_vector) *
		*(const float_vector *) (const void *) &lanes->pace[lane];
	/* all bits set are not a number */
	return (float_vector) ((i32_vector) wait | ~ahead);
}

static inline float
soonest_range(const tp_scan_lanes *lanes, uint32_t block, uint32_t tick)
{
	float		soonest = __builtin_inff();

	for (uint32_t lane = 0; lane < TP_SCAN_LANES; lane += WIDTH)
	{
		float_vector wait = waits(lanes, lane, block, tick);

		/* what is not a number is never sooner */
		for (uint32_t i = 0; i < WIDTH; i++)
			soonest = sooner(wait[i], soonest);
	}
	return soonest;
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
			get_u32(&scans->scans[at * TP_SCAN_LANES + lane].bitmap);
		uint32_t	position;

		if ((lanes->bitmaps >> lane & 1) == 0 ||
			bitmap >= scans->header->bitmap_capacity ||
			is_later(tick, lanes->until[lane]))
			continue;
		position = bitmap_position(&scans->bitmaps[bitmap], block);
		if (position != UINT32_MAX && position >= lanes->done[lane])
			soonest = sooner((float) (position - lanes->done[lane]) *
							 lanes->pace[lane], soonest);
	}
	return soonest;
}

double
tp_scan_next_access(const tp_scans *scans, tp_page page, uint64_t now)
{
	uint32_t	tick = tick_of(now);
	uint32_t	steps = scans->header->capacity;
	float		soonest = __builtin_inff();
	uint32_t	vacant;
	uint32_t	i;

	if (scans->header->running == 0)
		return TP_NEVER;
	i = scan_relation(scans, page.relation, &vacant);
	if (i == TP_NONE)
		return TP_NEVER;

	/* lanes that change hands under us could lead in a circle */
	for (i = get_u32(&scans->relations[i].lanes); i != TP_NONE && steps > 0;
		 steps--)
	{
		const tp_scan_lanes *lanes = &scans->lanes[i];

		soonest = sooner(soonest_range(lanes, page.block, tick), soonest);
		if (lanes->bitmaps != 0)
			soonest = sooner(soonest_bitmap(scans, i, page.block, tick),
							 soonest);
		i = get_u32(&lanes->next);
	}
	return soonest;
}
