/*
 * extents.h
 *	  How warm the extents of the disk are: what it would have saved to have
 *	  their pages on the SSD.
 *
 * Source: M. Canim, G. A. Mihaila, B. Bhattacharjee, K. A. Ross, C. A. Lang:
 * SSD bufferpool extensions for database systems. PVLDB 3(2), 2010.
 *
 * An extent is 32 consecutive pages of a relation.  Every physical read, be
 * it from the SSD or from the disk, adds to the temperature of its page's
 * extent what the SSD saves: dR = R_HDD - R_SSD if the read is random, dS =
 * S_HDD - R_SSD if it is sequential, in microseconds, and nothing if that is
 * negative.
 *
 * SEQUENTIAL OR RANDOM is told by a window over the last 20 reads.  A read is
 * sequential if more than 2 of them fall in its region: the pages of its
 * relation that are less than an extent's length away from it, itself
 * included.  So the fourth read of a run is the first that is seen to be
 * sequential, and about six runs can be told apart that progress at once.  Or
 * else it is told by following streams (streams.h), which is not the paper's.
 * What the caller may know of a read (through a scan, through an index) is
 * not looked at.
 *
 * AGING.  After so many reads all temperatures are halved.  Nothing is swept:
 * the reads are divided into epochs, and a temperature says as of which epoch
 * it is.  The order of two temperatures does not change with time.
 *
 * DETAIL, beyond the paper.  Beside its temperature an extent has a second
 * one, halved after far fewer reads, which tells what is read just now; and a
 * count of the random reads of each of its pages (each of 32 groups of pages
 * if it has more), halved with the temperature.  tp_extents_page makes the
 * temperature of a single page of these.
 *
 * MEMORY is fixed: a table of 64 bytes a slot, hashed, in one piece with its
 * header, without pointers, provided by the caller.  An extent is in one of
 * the 8 slots from its home on.  When they are all in use the coldest of the
 * other extents in them is forgotten, and counted.  An extent that is not in
 * the table has temperature 0.  Extents are told apart by their key
 * (tp_page_key).
 *
 * LOCKING.  The caller holds one lock around all calls.
 */
#ifndef TIDEPOOL_EXTENTS_H
#define TIDEPOOL_EXTENTS_H

#include "tidepool/policy.h"
#include "tidepool/tier/streams.h"

#define TP_EXTENT_PAGES 32		/* of an extent, unless said otherwise */
#define TP_WINDOW_READS 20		/* looked back at, unless said otherwise */
#define TP_WINDOW_MAX 64		/* at most */
#define TP_SEQUENTIAL_ABOVE 2	/* of them in the region, unless said
								 * otherwise */
#define TP_EXTENT_PROBES 8		/* slots that an extent may be in */

/* A temperature as of an epoch: half of it as of the next. */
typedef struct tp_temperature
{
	double		saved;			/* microseconds */
	uint32_t	epoch;
} tp_temperature;

#define TP_EXTENT_COUNTS 32		/* groups of an extent's pages */
#define TP_EXTENT_UNIT 8		/* a count is of so many eighths of a read */

typedef struct tp_extent
{
	uint64_t	key;			/* of relation and block / pages of an extent */
	double		saved;			/* microseconds; 0: the slot is empty */
	double		recent;			/* likewise, halved after a short epoch */
	uint32_t	epoch;			/* as of which saved and counts are */
	uint32_t	short_epoch;	/* as of which recent is */
	uint8_t		counts[TP_EXTENT_COUNTS];	/* random reads, in eighths */
} tp_extent;

/* What is the caller's to decide. */
typedef struct tp_extents_settings
{
	uint32_t	pages;			/* of an extent, at least 1 */
	uint32_t	window;			/* reads looked back at, 1 .. TP_WINDOW_MAX */
	uint32_t	sequential_above;	/* reads in the region, for a read to be
									 * sequential */
	bool		streams;		/* tell by streams instead of the window */
	double		aging_per_frame;	/* reads of an epoch, for each frame */
	double		burst_per_frame;	/* reads of a short epoch, likewise */
	double		random_saving;	/* dR: microseconds, not negative */
	double		sequential_saving;	/* dS: likewise */
} tp_extents_settings;

typedef struct tp_extents
{
	tp_extents_settings settings;
	uint64_t	aging;			/* reads of an epoch, at least 1 */
	uint64_t	burst;			/* reads of a short epoch, at least 1 */
	uint64_t	reads;			/* so far */
	uint64_t	epoch_begin;	/* reads when the epoch began */
	uint64_t	short_epoch_begin;	/* likewise */
	uint64_t	sequential;		/* of the reads, those seen to be sequential */
	uint64_t	forgotten;		/* extents that made room for others */
	uint32_t	epoch;
	uint32_t	short_epoch;
	uint32_t	mask;			/* number of slots - 1, a power of two less 1 */
	tp_page		recent[TP_WINDOW_MAX];	/* the last reads, in a circle */
	tp_streams	streams;
	tp_extent	slots[];
} tp_extents;

/*
 * Bytes of a table of so many slots: a power of two, at least
 * TP_EXTENT_PROBES.
 */
size_t		tp_extents_size(uint32_t slots);

/* Prepare such a table for a pool of so many frames: all extents are cold. */
void		tp_extents_init(tp_extents *extents, uint32_t slots, uint32_t frames,
							const tp_extents_settings *settings);

/* The pool has so many frames now: epochs become longer or shorter. */
void		tp_extents_resize(tp_extents *extents, uint32_t frames);

/*
 * The settings that the parameters of a policy name (extent, window,
 * sequential_above, streams, aging, burst) if it reads temperatures, the
 * defaults for what it has no parameter for.  The savings are the caller's to
 * set.
 */
void		tp_extents_settings_of(const tp_policy *policy,
								   const double *params,
								   tp_extents_settings *settings);

/*
 * The page was read, from the SSD or from the disk: warm its extent.  Returns
 * whether the read is sequential.  O(window + TP_EXTENT_PROBES).
 */
bool		tp_extents_read(tp_extents *extents, tp_page page);

/*
 * The temperature of the page's extent as of now.  With extents NULL, as a
 * pool has it whose caller keeps no temperatures, all are 0.
 */
tp_temperature tp_extents_temperature(const tp_extents *extents, tp_page page);

/*
 * The temperature of a single page as of now, in microseconds of an extent's:
 *	  temperature * page_factor + burst_weight * (aging / burst) * recent
 * where recent is the extent's second temperature.  page_factor is 1 if pages is
 * false.  If it is true: let c be the page's count, M and V the mean and the
 * variance of the counts of the extent.  Reads that come by chance, with
 * every page alike, have a variance of about 2/3 M after the halvings; what V
 * has beyond that, D = max(0, V - 2/3 M), the pages themselves differ by.
 * page_factor = 1 + (c / M - 1) * D / (D + M): the more the pages differ, the
 * more a page is taken by its own count, the less by its neighbours' (the
 * posterior mean of a Poisson rate with a gamma prior; empirical Bayes).
 */
double		tp_extents_page(const tp_extents *extents, tp_page page,
							bool pages, double burst_weight);

/* The temperature in microseconds as of an epoch, its own or a later one. */
double		tp_temperature_at(tp_temperature temperature, uint32_t epoch);

/* Is a colder than b, whatever the epoch? */
bool		tp_colder(tp_temperature a, tp_temperature b);

#endif							/* TIDEPOOL_EXTENTS_H */
