/*
 * epoch_log.h
 *	  WATT's log of a page: the epochs in which it was referenced or written.
 *
 * A log holds up to 8 stamps, newest first.  A stamp is the low 16 bits of an
 * epoch, so its age is known modulo 2^16.
 *
 * LOCKING: watt_log_add may run concurrently with anything.  Two concurrent
 * calls for one page may lose or repeat a stamp.
 */
#ifndef TIDEPOOL_EPOCH_LOG_H
#define TIDEPOOL_EPOCH_LOG_H

#include "tidepool/page.h"

typedef struct watt_log
{
	uint64_t   *words;			/* four stamps each, the newest lowest */
	uint8_t    *length;			/* stamps in the log */
	uint32_t	limit;			/* most stamps it may hold, 0 .. 8 */
} watt_log;

static inline uint64_t
watt_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
watt_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t
watt_log_length(watt_log log)
{
	return __atomic_load_n(log.length, __ATOMIC_RELAXED);
}

/* Set the number of stamps, its limit at most. */
static inline void
watt_log_set_length(watt_log log, uint32_t length)
{
	__atomic_store_n(log.length,
					 (uint8_t) (length < log.limit ? length : log.limit),
					 __ATOMIC_RELAXED);
}

/* Stamp number i, 0 being the newest. */
static inline uint16_t
watt_log_stamp(watt_log log, uint32_t i)
{
	return (uint16_t) (watt_load(&log.words[i / 4]) >> (i % 4 * 16));
}

/* Log the epoch, unless it is the newest stamp already. */
static inline void
watt_log_add(watt_log log, uint64_t epoch)
{
	uint32_t	length = watt_log_length(log);
	uint64_t	newest = watt_load(&log.words[0]);

	if (log.limit == 0 || (length > 0 && (uint16_t) newest == (uint16_t) epoch))
		return;
	if (log.limit > 4)
		watt_store(&log.words[1],
				   watt_load(&log.words[1]) << 16 | newest >> 48);
	watt_store(&log.words[0], newest << 16 | (uint16_t) epoch);
	watt_log_set_length(log, length + 1);
}

/*
 * The paper's equations 1 and 2: the largest subfrequency, the first of them
 * dampened.  An empty log has frequency 0.
 */
static inline double
watt_log_frequency(watt_log log, uint64_t epoch, double dampening)
{
	uint32_t	length = watt_log_length(log);
	double		largest = 0;

	for (uint32_t i = 0; i < length; i++)
	{
		uint16_t	age = (uint16_t) (epoch - watt_log_stamp(log, i));
		double		f = (i == 0 ? dampening : i + 1) / (age + 1.0);

		if (f > largest)
			largest = f;
	}
	return largest;
}

#endif							/* TIDEPOOL_EPOCH_LOG_H */
