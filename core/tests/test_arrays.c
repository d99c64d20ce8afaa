/*
 * test_arrays.c
 *	  Pools that share arrays, and pass frames to each other, decide as pools
 *	  that have memory of their own.
 *
 * Each pool has a twin in a block of its own.  Both get the same operations on
 * the same frames, and must be in the same state.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "tidepool/arrays.h"

#define CAPACITY (2 * TP_CHUNK + 500)
#define POOLS 4
#define PAGES 4000				/* that each pool is asked for */
#define STEPS 30000
#define STEPS_PER_CHECK 5000
#define STEPS_PER_MOVE 500
#define TEXT_SIZE (CAPACITY * 64)

typedef struct twins
{
	tp_pool		shared;
	tp_pool		own;
	void	   *block;
	uint32_t	frame_of[PAGES];	/* TP_NONE: not resident */
} twins;

typedef struct town
{
	tp_arrays	arrays;
	void	   *memory;
	twins		pools[POOLS];
	uint64_t	random_state;
	char		text[2][TEXT_SIZE];
} town;

static uint32_t
draw(town *t, uint32_t n)
{
	t->random_state += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t) (tp_mix64(t->random_state) % n);
}

static void
report(void *arg, const char *violation, uint32_t index)
{
	(void) arg;
	print_error("%s (%u)\n", violation, index);
}

static void
join(twins *pool, uint32_t frame)
{
	tp_join(&pool->shared, frame);
	tp_join(&pool->own, frame);
}

/* Take a frame for a page, or only to have it, and claim it. */
static uint32_t
claim(twins *pool, tp_page page, const tp_access *access)
{
	uint32_t	frame = tp_victim(&pool->shared, page, NULL, NULL, access);

	assert_int_equal(tp_victim(&pool->own, page, NULL, NULL, access), frame);
	if (!tp_is_frame(frame))
		return TP_NONE;
	if (tp_is_resident(&pool->shared, frame))
	{
		pool->frame_of[tp_page_of(&pool->shared, frame).block] = TP_NONE;
		tp_evict(&pool->shared, frame, access);
		tp_evict(&pool->own, frame, access);
	}
	else
	{
		tp_claim(&pool->shared, frame);
		tp_claim(&pool->own, frame);
	}
	return frame;
}

static void
read_page(twins *pool, uint32_t block, const tp_access *access)
{
	tp_page		page = tp_page_make(0, block);
	uint32_t	frame = pool->frame_of[block];

	if (frame != TP_NONE)
	{
		tp_hit(&pool->shared, frame, access);
		tp_hit(&pool->own, frame, access);
		return;
	}
	frame = claim(pool, page, access);
	if (frame == TP_NONE)
		return;
	tp_admit(&pool->shared, frame, page, access);
	tp_admit(&pool->own, frame, page, access);
	pool->frame_of[block] = frame;
}

/* Frames go from one pool to another, cold pages first. */
static void
move_frames(town *t, const tp_access *access)
{
	twins	   *from = &t->pools[draw(t, POOLS)];
	twins	   *to = &t->pools[draw(t, POOLS)];

	for (uint32_t n = draw(t, 600); n > 0; n--)
	{
		uint32_t	frame = claim(from, tp_page_make(1, 0), access);

		if (frame == TP_NONE)
			break;
		tp_leave(&from->shared, frame);
		tp_leave(&from->own, frame);
		join(to, frame);
	}
}

static void
expect_same_state(town *t, const twins *pool)
{
	assert_int_equal(tp_check(&pool->shared, NULL, NULL, report, NULL), 0);
	assert_int_equal(tp_check(&pool->own, NULL, NULL, report, NULL), 0);
	assert_true(tp_describe(&pool->shared, t->text[0], TEXT_SIZE) < TEXT_SIZE);
	assert_true(tp_describe(&pool->own, t->text[1], TEXT_SIZE) < TEXT_SIZE);
	assert_string_equal(t->text[0], t->text[1]);
}

/* Policies that need nothing but references and can give up any frame. */
static bool
is_suitable(const tp_policy *policy)
{
	return !(policy->flags & TP_READS_EXTENTS) && strcmp(policy->name, "keep") != 0;
}

static const tp_policy *
draw_policy(town *t)
{
	const tp_policy *policy;

	uint32_t	count = 0;

	while (tp_policies[count] != NULL)
		count++;
	do
		policy = tp_policies[draw(t, count)];
	while (!is_suitable(policy));
	return policy;
}

static tp_frame_needs
needs_of_all(void)
{
	tp_frame_needs needs = {0, 0, 0};

	for (uint32_t i = 0; tp_policies[i] != NULL; i++)
		needs = tp_needs_of_both(needs, tp_policy_needs(tp_policies[i], NULL));
	return needs;
}

static void
begin_pool(town *t, uint32_t number)
{
	twins	   *pool = &t->pools[number];
	const tp_policy *policy = draw_policy(t);

	pool->shared = tp_arrays_pool(&t->arrays, number, policy, NULL);
	tp_pool_init(&pool->shared, NULL, number + 1);
	free(pool->block);
	pool->block = malloc(tp_block_size(policy, NULL, CAPACITY));
	assert_non_null(pool->block);
	pool->own = tp_block_init(policy, NULL, CAPACITY, 0, number + 1,
							  pool->block);
	for (uint32_t page = 0; page < PAGES; page++)
		pool->frame_of[page] = TP_NONE;
}

/* Drop a pool, and begin another with its number and frames. */
static void
begin_anew(town *t, const tp_access *access)
{
	uint32_t	number = draw(t, POOLS);
	twins	   *pool = &t->pools[number];
	uint32_t	frame;
	uint32_t	left = 0;
	static uint32_t frames[CAPACITY];

	while ((frame = claim(pool, tp_page_make(1, 0), access)) != TP_NONE)
	{
		tp_leave(&pool->shared, frame);
		tp_leave(&pool->own, frame);
		frames[left++] = frame;
	}
	assert_int_equal(pool->shared.header->frames, 0);
	begin_pool(t, number);
	while (left > 0)
		join(pool, frames[--left]);
}

static void
run(uint64_t seed)
{
	town	   *t = calloc(1, sizeof(*t));
	tp_frame_needs needs = needs_of_all();
	size_t		size = tp_arrays_size(CAPACITY, POOLS, needs);

	assert_non_null(t);
	t->random_state = seed;
	t->memory = calloc(1, size);
	assert_non_null(t->memory);
	t->arrays = tp_arrays_place(CAPACITY, POOLS, needs, t->memory);
	tp_arrays_init(&t->arrays);
	for (uint32_t number = 0; number < POOLS; number++)
		begin_pool(t, number);
	for (uint32_t frame = 0; frame < CAPACITY; frame++)
		join(&t->pools[frame % POOLS], frame);
	for (uint64_t step = 1; step <= STEPS; step++)
	{
		tp_access	access = {.now = step};
		uint32_t	block = draw(t, 1 + draw(t, PAGES));

		read_page(&t->pools[draw(t, POOLS)], block, &access);
		if (step % STEPS_PER_MOVE == 0)
			move_frames(t, &access);
		if (step % STEPS_PER_CHECK != 0)
			continue;
		for (uint32_t number = 0; number < POOLS; number++)
			expect_same_state(t, &t->pools[number]);
		begin_anew(t, &access);
	}
	for (uint32_t number = 0; number < POOLS; number++)
		free(t->pools[number].block);
	free(t->memory);
	free(t);
}

static void
pools_that_share_arrays_decide_as_their_twins(void **unused)
{
	(void) unused;
	for (uint64_t seed = 1; seed <= 8; seed++)
		run(seed);
}

/*
 * Two processes that evict neighbours at once may leave a link to an evicted frame,
 * and the frame may move.  Here frame 1 does.
 */
static void
links_of_pbm_do_not_change_another_pool(void **unused)
{
	tp_frame_needs needs = needs_of_all();
	void	   *memory = calloc(1, tp_arrays_size(8, 2, needs));
	tp_arrays	arrays = tp_arrays_place(8, 2, needs, memory);
	const tp_access by_scan = {.now = 1, .scan = 1};
	const tp_access plain = {.now = 2};
	tp_pool		pbm;
	tp_pool		lru;

	(void) unused;
	tp_arrays_init(&arrays);
	pbm = tp_arrays_pool(&arrays, 0, tp_policy_find("pbm"), NULL);
	lru = tp_arrays_pool(&arrays, 1, tp_policy_find("lru"), NULL);
	tp_pool_init(&pbm, NULL, 1);
	tp_pool_init(&lru, NULL, 1);
	pbm.header->shared = true;
	for (uint32_t frame = 0; frame < 8; frame++)
		tp_join(frame < 4 ? &pbm : &lru, frame);
	for (uint32_t frame = 0; frame < 4; frame++)
		tp_admit(&pbm, frame, tp_page_make(1, frame), &by_scan);
	for (uint32_t frame = 4; frame < 8; frame++)
		tp_admit(&lru, frame, tp_page_make(2, frame), &plain);
	tp_evict(&pbm, 1, &plain);
	tp_evict(&pbm, 2, &plain);
	pbm.nodes[3].prev = 1;
	tp_leave(&pbm, 1);
	tp_join(&lru, 1);
	tp_admit(&lru, 1, tp_page_make(2, 1), &plain);
	tp_evict(&pbm, 3, &plain);
	tp_admit(&pbm, 3, tp_page_make(1, 4), &by_scan);
	tp_admit(&pbm, 2, tp_page_make(1, 5), &by_scan);
	assert_int_equal(tp_check(&lru, NULL, NULL, report, NULL), 0);
	assert_int_equal(tp_check(&pbm, NULL, NULL, report, NULL), 0);
	free(memory);
}

static void
extra_bytes_may_lie_where_others_have_ghosts(void **unused)
{
	const tp_frame_needs ghosts = {16, 2, 1};
	const tp_frame_needs extra = {24, 0, 1};
	const tp_frame_needs with_both = {24, 1, 1};
	tp_frame_needs both = tp_needs_of_both(extra, ghosts);

	(void) unused;
	assert_int_equal(tp_needs_bytes(ghosts), 120);
	assert_int_equal(tp_needs_bytes(extra), 64);
	assert_int_equal(tp_needs_bytes(both), 120);
	assert_int_equal(tp_needs_bytes(tp_needs_of_both(ghosts, extra)), 120);
	assert_true(tp_needs_suffice(both, ghosts));
	assert_true(tp_needs_suffice(both, extra));
	assert_false(tp_needs_suffice(both, with_both));
}

static void
frames_that_cannot_be_numbered_have_no_size(void **unused)
{
	const tp_frame_needs many = {0, 4, 4};
	const tp_frame_needs none = {0, 0, 0};

	(void) unused;
	assert_int_equal(tp_arrays_size(TP_MAX_FRAMES, 64, many), 0);
	assert_int_equal(tp_arrays_size(TP_MAX_FRAMES + 1, 1, none), 0);
	assert_true(tp_arrays_size(TP_MAX_FRAMES, 64, none) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_that_share_arrays_decide_as_their_twins),
		cmocka_unit_test(links_of_pbm_do_not_change_another_pool),
		cmocka_unit_test(extra_bytes_may_lie_where_others_have_ghosts),
		cmocka_unit_test(frames_that_cannot_be_numbered_have_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
