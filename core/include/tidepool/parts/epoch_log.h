/*
 * epoch_log.h
 *	  The epochs in which something happened to a page: WATT's log.
 *
 * Source: D. Voehringer, V. Leis: Write-aware timestamp tracking: Effective
 * and efficient page replacement for modern hardware. PVLDB 16(11), 2023.
 *
 * A log has up to 8 stamps, newest first.  A stamp is the low 16 bits of an
 * epoch, so its age is known modulo 2^16.
 *
 * LOCKING.  None: words and length are relaxed atomics.  Two epoch_log_add at
 * once may lose or repeat a stamp.
 */
#ifndef TIDEPOOL_EPOCH_LOG_H
#define TIDEPOOL_EPOCH_LOG_H

#include "tidepool/page.h"
#include "tidepool/relaxed.h"

typedef struct epoch_log
{
	uint64_t   *words;			/* four stamps each, the newest lowest */
	uint8_t    *length;			/* stamps in the log */
	uint32_t	limit;			/* most that it may hold, 0 .. 8 */
} epoch_log;

static inline uint32_t
epoch_log_length(epoch_log log)
{
	return tp_load8(log.length);
}

/* Set the number of stamps, to the limit at most. */
static inline void
epoch_log_set_length(epoch_log log, uint32_t length)
{
	tp_store8(log.length, (uint8_t) (length < log.limit ? length : log.limit));
}

/* Stamp i, 0 being the newest. */
static inline uint16_t
epoch_log_stamp(epoch_log log, uint32_t i)
{
	return (uint16_t) (tp_load64(&log.words[i / 4]) >> (i % 4 * 16));
}

/* Log the epoch, once: no two stamps are of the same epoch. */
static inline void
epoch_log_add(epoch_log log, uint64_t epoch)
{
	uint32_t	length = epoch_log_length(log);
	uint64_t	newest = tp_load64(&log.words[0]);

	if (log.limit == 0 || (length > 0 && (uint16_t) newest == (uint16_t) epoch))
		return;
	if (log.limit > 4)
		tp_store64(&log.words[1],
				   tp_load64(&log.words[1]) << 16 | newest >> 48);
	tp_store64(&log.words[0], newest << 16 | (uint16_t) epoch);
	epoch_log_set_length(log, length + 1);
}

/*
 * Equations 1 and 2: the frequency is the largest of the subfrequencies
 * i / (age(i) + 1), the first one dampened.  0 for an empty log.
 */
static inline double
epoch_log_frequency(epoch_log log, uint64_t epoch, double dampening)
{
	uint32_t	length = epoch_log_length(log);
	double		largest = 0;

	for (uint32_t i = 0; i < length; i++)
	{
		uint16_t	age = (uint16_t) (epoch - epoch_log_stamp(log, i));
		double		f = (i == 0 ? dampening : i + 1) / (age + 1.0);

		if (f > largest)
			largest = f;
	}
	return largest;
}

#endif							/* TIDEPOOL_EPOCH_LOG_H */
