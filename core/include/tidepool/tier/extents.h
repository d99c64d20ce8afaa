/*
 * extents.h
 *	  How warm the extents of the disk are: what it would have saved to have
 *	  their pages on the SSD.
 *
 * Source: M. Canim, G. A. Mihaila, B. Bhattacharjee, K. A. Ross, C. A. Lang:
 * SSD bufferpool extensions for database systems. PVLDB 3(2), 2010.
 *
 * Each physical read, from the SSD or from the disk, adds to the temperature
 * of its page's extent what the SSD saves, in microseconds: dR = R_HDD - R_SSD
 * for a random read, dS = S_HDD - R_SSD for a sequential one, nothing if that
 * is negative.  A read is sequential if more than 2 of the last 20 reads are
 * in its region: the pages of its relation less than an extent's length (32)
 * away, the page itself included.  So the fourth read of a run is the first
 * sequential one, and about six concurrent runs can be told apart.  What the
 * caller may know about a read (through a scan, through an index) is not
 * looked at.
 *
 * Why aging differs from the paper's, and the order of extents does not:
 * nothing is swept.  Reads are counted in epochs, at whose end all
 * temperatures halve; a temperature says of which epoch it is and is halved
 * when it is read.  The order of two temperatures does not change with time.
 *
 * Beyond the paper:
 *	1. A second temperature, halved after far fewer reads, tells what is read
 *	   right now; and each page of an extent (each of 32 groups of pages, if it
 *	   has more) has a count of its random reads, halved with the temperature.
 *	   tp_extents_page makes the temperature of a single page of these.
 *	2. Sequential reads may be told by following streams (streams.h).
 *	3. The table is of fixed size: 64 bytes a slot, hashed.  An extent is in
 *	   one of the 8 slots from its home on; if all are in use, the coldest of
 *	   these is forgotten, and counted.  An extent not in the table has
 *	   temperature 0.
 *
 * MEMORY.  One block, header and slots, without pointers, the caller's.
 * Extents are identified by their key (tp_page_key).
 *
 * LOCKING.  The caller holds one lock around all calls.
 *
 * COSTS.  A read: O(window + TP_EXTENT_PROBES).  A temperature: the slots
 * probed, a cache line each.
 */
#ifndef TIDEPOOL_EXTENTS_H
#define TIDEPOOL_EXTENTS_H

#include "tidepool/policy.h"
#include "tidepool/tier/streams.h"

/* The paper's: defaults of tac's parameters. */
#define TP_EXTENT_PAGES 32
#define TP_WINDOW_READS 20
#define TP_SEQUENTIAL_ABOVE 2

#define TP_WINDOW_MAX 64		/* reads in a window, at most: 1 KiB */

/*
 * Slots that an extent may be in.  With 2 the devices take up to 1.9 % more
 * time, with 32 as much as with 8 (bench/constants.py).
 */
#define TP_EXTENT_PROBES 8

/* A temperature as of an epoch; as of the next it is half of that. */
typedef struct tp_temperature
{
	double		saved;			/* microseconds */
	uint32_t	epoch;
} tp_temperature;

/* Pages, or groups of pages, with a count: one for each page of tac's extents. */
#define TP_EXTENT_COUNTS 32

/*
 * Of a count, for one read.  With 1 the devices take -1.0 to +0.6 % more time,
 * with 32 up to 1.9 % (bench/constants.py).
 */
#define TP_EXTENT_UNIT 8

typedef struct tp_extent
{
	uint64_t	key;			/* of relation and number of the extent */
	double		saved;			/* microseconds; 0: the slot is empty */
	double		recent;			/* the second temperature, likewise */
	uint32_t	epoch;			/* as of which saved and counts are */
	uint32_t	short_epoch;	/* as of which recent is */
	uint8_t		counts[TP_EXTENT_COUNTS];	/* random reads, TP_EXTENT_UNIT
											 * each */
} tp_extent;

/* What the caller decides. */
typedef struct tp_extents_settings
{
	uint32_t	pages;			/* in an extent, at least 1 */
	uint32_t	window;			/* reads looked back at, 1 .. TP_WINDOW_MAX */
	uint32_t	sequential_above;	/* a read is sequential if more of these
									 * are in its region */
	bool		streams;		/* follow streams instead of the window */
	bool		apart;			/* pages of an extent are told apart, and */
	double		burst_weight;	/* the second temperature counts so much, in
								 * the temperature of a page */
	double		aging_per_frame;	/* reads in an epoch, for each frame */
	double		burst_per_frame;	/* reads in a short epoch, likewise */
	double		random_saving;	/* dR: microseconds, not negative */
	double		sequential_saving;	/* dS: likewise */
} tp_extents_settings;

typedef struct tp_extents
{
	tp_extents_settings settings;
	uint64_t	aging;			/* reads in an epoch, at least 1 */
	uint64_t	burst;			/* reads in a short epoch, at least 1 */
	uint64_t	reads;			/* so far */
	uint64_t	epoch_begin;	/* reads when the epoch began */
	uint64_t	short_epoch_begin;	/* likewise */
	uint64_t	sequential;		/* reads taken for sequential */
	uint64_t	forgotten;		/* extents that made room for others */
	uint32_t	epoch;
	uint32_t	short_epoch;
	uint32_t	mask;			/* number of slots - 1, a power of two less 1 */
	tp_page		recent[TP_WINDOW_MAX];	/* the last reads, in a circle */
	tp_streams	streams;
	tp_extent	slots[];
} tp_extents;

/* Bytes of a table of this many slots: a power of two >= TP_EXTENT_PROBES. */
size_t		tp_extents_size(uint32_t slots);

/* Prepare such a table for a pool of this size: all extents are cold. */
void		tp_extents_init(tp_extents *extents, uint32_t slots, uint32_t frames,
							const tp_extents_settings *settings);

/* The pool has this many frames now: epochs become longer or shorter. */
void		tp_extents_resize(tp_extents *extents, uint32_t frames);

/*
 * The settings by the parameters of a policy that reads temperatures (extent,
 * window, sequential_above, streams, pages, burst_weight, aging, burst); defaults
 * for those it does not have, and for other policies.  The caller sets the savings.
 */
void		tp_extents_settings_of(const tp_policy *policy,
								   const double *params,
								   tp_extents_settings *settings);

/*
 * The page was read, from the SSD or from the disk: warm its extent.  Returns
 * whether the read was taken for sequential.
 */
bool		tp_extents_read(tp_extents *extents, tp_page page);

/*
 * The temperature of the page's extent as of now.  0 if extents is NULL, as in
 * a pool whose caller keeps no temperatures.
 */
tp_temperature tp_extents_temperature(const tp_extents *extents, tp_page page);

/*
 * The temperature of a single page as of now, on the scale of an extent's:
 *	  temperature * page_factor + burst_weight * (aging / burst) * recent
 * where recent is the extent's second temperature.  page_factor is 1 unless
 * `pages`.  Let c be the page's count, M and V mean and variance of the
 * extent's counts.  If all pages are alike and reads come by chance, V is
 * about 2/3 M after the halvings; by the rest, D = max(0, V - 2/3 M), the
 * pages themselves differ.  page_factor = 1 + (c / M - 1) * D / (D + M): the
 * more the pages differ, the more a page's own count decides, and the less the
 * extent's mean (empirical Bayes: the posterior mean of a Poisson rate with a
 * gamma prior).
 */
double		tp_extents_page(const tp_extents *extents, tp_page page,
							bool pages, double burst_weight);

/* The same, as the settings have it: for those who do not know the policy. */
double		tp_extents_worth(const tp_extents *extents, tp_page page);

/* A slot of the table, with its values as of now. */
tp_extent	tp_extents_now(const tp_extents *extents, const tp_extent *slot);

/* Give the page's extent such values, as of now: a caller that has kept them. */
void		tp_extents_restore(tp_extents *extents, tp_page page,
							   const tp_extent *values);

/* The temperature as of an epoch, its own or a later one, in microseconds. */
double		tp_temperature_at(tp_temperature temperature, uint32_t epoch);

/* Is a colder than b?  The same in every epoch. */
bool		tp_colder(tp_temperature a, tp_temperature b);

#endif							/* TIDEPOOL_EXTENTS_H */
