/*-------------------------------------------------------------------------
 *
 * budget.c
 *	  How much may be written to the SSD, and how much of it pages to be kept may
 *	  have: the settings, and the clock, of what the core decides
 *	  (tidepool/tier/budget.h, tier.h).
 *
 * src/backend/storage/ssdtier/budget.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/ssd_tier_internals.h"
#include "utils/timestamp.h"

double		ssd_tier_keep_share;
double		ssd_tier_write_budget;
double		ssd_tier_write_budget_per_day;

#define PAGES_PER_MB (1024.0 * 1024 / BLCKSZ)

/*
 * The day's budget outlives the server, so the budget goes by the clock on the wall;
 * while the server runs, by one that nobody sets and recordings have: BufferPoolNow.
 */
void
SsdTierStartClock(void)
{
	uint64		time = (uint64) (GetCurrentTimestamp() +
								 (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);

	SsdTier.shared->clock_began = time - BufferPoolNow();
}

static void
advance(uint64 now)
{
	tp_budget_advance(&SsdTier.shared->budget, SsdTier.shared->clock_began + now);
}

/* What a recording says of these settings. */
void
SsdTierDescribeLimits(SsdTierRecorded *recorded)
{
	recorded->keep_share = SsdTier.shared->kept.share;
	recorded->write_budget = SsdTier.shared->budget.rate;
	recorded->write_budget_per_day = SsdTier.shared->budget.per_day;
}

/*
 * Let the settings hold that may change while the server runs, and the hours of
 * the budget pass.  Takes the lock.
 */
void
SsdTierFollowSettings(void)
{
	SsdTierLock();
	SsdTier.shared->kept.share = ssd_tier_keep_share;
	tp_budget_set(&SsdTier.shared->budget,
				  ssd_tier_write_budget * PAGES_PER_MB,
				  ssd_tier_write_budget_per_day * PAGES_PER_MB);
	advance(BufferPoolNow());
	SsdTierRecordState(false);
	SsdTierUnlock();
}

/*
 * Tell the budget how late it is, before pages are offered or written.  recorded: the
 * event's time in a recording, so that a replay asks the same price, or 0.  Called
 * under the lock.
 */
void
SsdTierFollowTime(uint64 recorded)
{
	if (tp_budget_is_limited(&SsdTier.shared->budget))
		advance(recorded != 0 ? recorded : BufferPoolNow());
}
