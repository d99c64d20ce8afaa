/*
 * s3fifo.c
 *	  S3-FIFO: a small, a main and a ghost queue.
 *
 * Source: J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. V. Rashmi: FIFO queues are all
 * you need for cache eviction. SOSP 2023, Algorithm 1.
 *
 * Why the structure differs from the paper's, and the decisions do not: the
 * paper's EVICT inserts into M and G while it searches.  Here victim moves pages
 * to M, as the search passes them, but leaves the page that it proposes where
 * it is; a second search begins with that page.  Its ghost is made by evict.
 * The incoming page is looked up in G by admit, hence after the eviction, as in
 * the paper: a page whose ghost the eviction pushes out of G enters S.
 *
 * Where the decisions differ:
 *	1. When a page moves from S to M and M is thereby full, the paper evicts
 *	   from M and goes on in S until it has evicted there as well.  Here S or M
 *	   is chosen anew for each page looked at, and the first page that may go
 *	   ends the search: one miss evicts one page.
 *	2. A page moves from S to M with frequency 0, as the paper's text says; the
 *	   pseudo-code leaves it open.
 *	3. If no page of the queue whose turn it is is usable, the other is searched.
 *	4. A reference that does not promote (VACUUM's, or a repeated one) raises
 *	   no frequency.  If it brings its page in, the page enters S even if G
 *	   remembers it.
 *	5. The sizes follow the pool's.
 *	6. The target of S is rounded down, but not to 0.  The paper compares |S|
 *	   with 10 % of the frames itself; where that is no whole number S has one
 *	   page more.  On the test traces this changed the misses by up to 0.82 %
 *	   either way (tests/test_papers.py).
 *
 * Costs: ghosts for 90 % of the frames; a page that is referenced again only
 * after it has left S costs a second miss before M takes it.
 * Benefits: a hit is at most one relaxed store to the page's own frame, so it
 * takes no lock.  Pages referenced once leave through S and do not disturb M.
 * Memory: nothing in addition to the node; `ghost` ghosts a frame.
 */
#include "tidepool/parts/count.h"
#include "tidepool/parts/small_main.h"

enum
{
	S = SMALL,					/* small: where pages come in */
	M = MAIN					/* main: referenced more than once in S, or
								 * remembered in G */
};

#define MAX_FREQUENCY 3			/* two bits, as in the paper */

/* Algorithm 1, READ, a hit. */
static void
s3fifo_hit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	(void) access;
	raise_count(pool, frame, MAX_FREQUENCY);
}

/*
 * Algorithm 1, lines 14 to 40, EVICT, without the eviction itself.  A page that
 * moves is looked at again in M at most three times.  Only hits that race with
 * the search exhaust the looks; then the first usable page goes.
 */
static uint32_t
s3fifo_victim(const tp_pool *pool, tp_page incoming, tp_usable usable,
			  void *arg, const tp_access *access)
{
	static const uint8_t order[] = {S, M};
	queue_pair_search search = {{false}};

	(void) incoming;
	(void) access;
	for (uint64_t looks = UINT64_C(3) * tp_resident(pool) + 1; looks > 0; looks--)
	{
		uint32_t	frame = small_main_next(pool, &search, usable, arg);
		uint8_t		frequency;
		bool		on_s;

		if (frame == TP_NONE)
			break;
		frequency = count_of(pool, frame);
		on_s = pool->nodes[frame].list == S;
		if (frequency <= (on_s ? 1 : 0))
			return frame;
		set_count(pool, frame, on_s ? 0 : (uint8_t) (frequency - 1));
		queue_pair_move(pool, &search, M, frame);
	}
	return tp_lists_usable_tail(pool, order, 2, usable, arg);
}

/* Algorithm 1, INSERT. */
static void
s3fifo_admit(const tp_pool *pool, uint32_t frame, const tp_access *access)
{
	unsigned	list = small_main_remembers(pool, frame, access) ? M : S;

	set_count(pool, frame, 0);
	tp_list_push_head(pool, list, frame);
}

static void
s3fifo_forget(const tp_pool *pool, uint32_t frame)
{
	tp_list_remove(pool, frame);
}

/*
 * What goes without another chance comes first, from the queue whose turn it
 * is; then S, whose pages get a second chance in M; then M by frequency.
 */
static uint32_t
s3fifo_coldest(const tp_pool *pool, tp_cursor *cursor)
{
	static const count_stage s_then_m[] = {
		{S, 0, 1}, {M, 0, 0}, {S, 2, 3}, {M, 1, 1}, {M, 2, 2}, {M, 3, 3}
	};
	static const count_stage m_then_s[] = {
		{M, 0, 0}, {S, 0, 1}, {S, 2, 3}, {M, 1, 1}, {M, 2, 2}, {M, 3, 3}
	};

	return coldest_by_count(pool, cursor,
							small_has_target_size(pool) ? s_then_m : m_then_s, 6);
}

/* S may fall below its target with any miss, so the tails of both queues. */
static uint32_t
s3fifo_upcoming(const tp_pool *pool, tp_lookahead *ahead)
{
	static const count_stage s_and_m[] = {{S, 0, 1}, {M, 0, 0}};

	return coldest_by_count(pool, &ahead->cursor, s_and_m, 2);
}

static int
s3fifo_check(const tp_pool *pool, tp_report report, void *arg)
{
	return small_main_check(pool, report, arg) +
		counts_check(pool, MAX_FREQUENCY, "frequency above the maximum", report,
					 arg);
}

static const tp_param s3fifo_params[] = {
	SMALL_MAIN_PARAM_ROWS,
	{0}
};

static const tp_field s3fifo_fields[] = {
	{"target", TP_FIELD_U32, offsetof(small_main_state, target)},
	{0}
};

const tp_policy tp_policy_s3fifo = {
	.name = "s3fifo",
	.title = "S3-FIFO",
	.source = "Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023",
	.flags = TP_HIT_LOCK_FREE,
	.state_size = sizeof(small_main_state),
	.params = s3fifo_params,
	.fields = s3fifo_fields,
	.lists = {{"S"}, {"M"}},
	.ghost_lists = {"G"},
	.ghosts = small_main_ghosts,
	.init = small_main_init,
	.join = small_main_join,
	.leave = small_main_leave,
	.hit = s3fifo_hit,
	.victim = s3fifo_victim,
	.evict = small_main_evict,	/* Algorithm 1, EVICTS and EVICTM */
	.admit = s3fifo_admit,
	.forget = s3fifo_forget,
	.coldest = s3fifo_coldest,
	.upcoming = s3fifo_upcoming,
	.recalls = small_main_recalls,
	.check = s3fifo_check,
};
