/*
 * io.h
 *	  The reads and writes below a cache as events in order: its misses, the
 *	  dirty pages it evicts, the clean ones if that is wanted, and the pages that
 *	  cease to exist.
 *
 * A log holds the events of one batch of references.
 */
#ifndef TIDEPOOL_SIM_IO_H
#define TIDEPOOL_SIM_IO_H

#include "events.h"

typedef struct io_log
{
	uint64_t   *page;
	uint8_t    *kind;			/* EVENT_READ, EVENT_WRITE, EVENT_EVICTED,
								 * EVENT_FORGET */
	uint16_t   *flags;
	uint32_t   *count;			/* of EVENT_FORGET, as in tps_events */
	size_t		n;
	size_t		room;
	uint64_t	position;		/* events in earlier batches */
	bool		evictions;		/* of clean pages are events, too */
} io_log;

io_log	   *io_new(bool evictions);
void		io_free(io_log *io);

/* Begin a batch of at most this many events.  False when memory ran out. */
bool		io_begin(io_log *io, size_t events);

static inline void
io_add(io_log *io, uint8_t kind, uint64_t page, uint32_t flags, uint32_t count)
{
	io->page[io->n] = page;
	io->kind[io->n] = kind;
	io->flags[io->n] = (uint16_t) flags;
	io->count[io->n] = count;
	io->n++;
}

/* The batch as columns; valid until the next one. */
void		io_events(const io_log *io, tps_events *events);

#endif							/* TIDEPOOL_SIM_IO_H */
