/*-------------------------------------------------------------------------
 *
 * costs.c
 *	  What reads of the SSD and of the disk cost.
 *
 * src/backend/storage/ssdtier/costs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufferpool_internals.h"
#include "storage/bufferpool_recorder.h"
#include "storage/ssd_tier_internals.h"

double		ssd_tier_read_time;
double		ssd_tier_disk_random_read_time;
double		ssd_tier_disk_sequential_read_time;

/*
 * Until something has been measured: a SATA SSD and a hard disk
 * (docs/ssd-tier.md).
 */
static const double first_guess[SSD_TIER_NUM_COSTS] = {84.2, 12394, 47.9};

static double
setting_of(SsdTierCost cost)
{
	switch (cost)
	{
		case SSD_TIER_COST_SSD:
			return ssd_tier_read_time;
		case SSD_TIER_COST_DISK_RANDOM:
			return ssd_tier_disk_random_read_time;
		default:
			return ssd_tier_disk_sequential_read_time;
	}
}

/*
 * Microseconds for a page: as set, or as measured.  Where nobody scans, scans are
 * not measured; they are taken to take no longer than other reads do.
 */
double
SsdTierReadTime(SsdTierCost cost)
{
	uint64		measured = pg_atomic_read_u64(&SsdTier.shared->nanoseconds[cost]);

	if (setting_of(cost) >= 0)
		return setting_of(cost);
	if (measured != 0)
		return (double) measured / 1000;
	return cost == SSD_TIER_COST_DISK_SEQUENTIAL ?
		Min(first_guess[cost], SsdTierReadTime(SSD_TIER_COST_DISK_RANDOM)) :
		first_guess[cost];
}

/* A recording sums up by the same. */
StaticAssertDecl((int) SSD_TIER_COST_SSD == (int) RECORDED_SSD &&
				 (int) SSD_TIER_COST_DISK_RANDOM == (int) RECORDED_DISK_RANDOM &&
				 (int) SSD_TIER_COST_DISK_SEQUENTIAL == (int) RECORDED_DISK_SEQUENTIAL,
				 "costs are recorded as others");

/*
 * A read took so long for each of its pages.  Callable in critical sections.
 * Two processes that measure at the same time may lose one of the two.  Of the
 * pages that scans read those count alike that came alone or with others.
 */
void
SsdTierMeasured(SsdTierCost cost, double microseconds, int pages)
{
	pg_atomic_uint64 *mean = &SsdTier.shared->nanoseconds[cost];
	double		old = (double) pg_atomic_read_u64(mean);
	double		now = microseconds * 1000;
	double		weight = cost == SSD_TIER_COST_DISK_SEQUENTIAL ?
		Min(pages / 256.0, 1) : 1 / 64.0;

	pg_atomic_write_u64(mean, (uint64) Max(1, old == 0 ? now :
										   old + (now - old) * weight));
	if (BufferPoolRecording())
		BufferPoolRecordReadTime((RecordedReads) cost, microseconds, pages);
}

/*
 * The SSD becomes useful when the disk takes so many times as long for a page, and
 * so many microseconds longer; it ceases to be useful at less.  What the tier
 * itself does for a page that it reads or copies costs something, too, and two
 * devices that are equal are told apart by chance.  The numbers are chosen.
 */
#define BECOMES_USEFUL 1.5
#define STAYS_USEFUL 1.25
#define BECOMES_USEFUL_MICROSECONDS 20
#define STAYS_USEFUL_MICROSECONDS 10

static bool
is_useful(double disk, double ssd)
{
	if (SsdTier.shared->useful)
		return disk > STAYS_USEFUL * ssd && disk > ssd + STAYS_USEFUL_MICROSECONDS;
	return disk > BECOMES_USEFUL * ssd && disk > ssd + BECOMES_USEFUL_MICROSECONDS;
}

/* Let temperatures go by the costs as they are now.  Takes the lock. */
void
SsdTierFollowCosts(void)
{
	tp_device	disk = {
		.random_read = SsdTierReadTime(SSD_TIER_COST_DISK_RANDOM),
		.sequential_read = SsdTierReadTime(SSD_TIER_COST_DISK_SEQUENTIAL)
	};
	tp_device	ssd = {.random_read = SsdTierReadTime(SSD_TIER_COST_SSD)};

	SsdTierLock();
	tp_tier_savings(&disk, &ssd, &SsdTier.core.extents->settings);
	SsdTier.shared->useful = is_useful(Max(disk.random_read, disk.sequential_read),
									   ssd.random_read);
	SsdTierRecordState(false);
	SsdTierUnlock();
}

/* Pages that are read to learn how long that takes. */
#define CALIBRATION_READS 64

/*
 * Measure the SSD when the tier is about to be switched on, since an SSD that
 * seems slow would never be used, hence never measured.  If it has no pages, some
 * are written first: what was never written costs nothing to read.
 */
void
SsdTierCalibrate(bool empty)
{
	static PGIOAlignedBlock page;
	uint32		slots = SsdTier.shared->slots;
	uint32		reads = Min(CALIBRATION_READS, slots);
	uint64		begin;

	for (uint32 i = 0; empty && i < reads; i++)
		if (!SsdTierWriteSlot((uint32) ((uint64) slots * i / reads), page.data))
			return;
	begin = BufferPoolNow();
	for (uint32 i = 0; i < reads; i++)
		if (!SsdTierReadSlot((uint32) ((uint64) slots * i / reads), page.data))
			return;
	if (reads > 0)
		pg_atomic_write_u64(&SsdTier.shared->nanoseconds[SSD_TIER_COST_SSD],
							Max(1, (BufferPoolNow() - begin) * 1000 / reads));
}
