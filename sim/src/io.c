/*
 * io.c
 *	  See io.h.
 */
#include <stdlib.h>
#include <string.h>

#include "io.h"

io_log *
io_new(bool evictions)
{
	io_log	   *io = calloc(1, sizeof(io_log));

	if (io != NULL)
		io->evictions = evictions;
	return io;
}

static void
free_columns(io_log *io)
{
	free(io->page);
	free(io->kind);
	free(io->flags);
	free(io->count);
}

void
io_free(io_log *io)
{
	if (io == NULL)
		return;
	free_columns(io);
	free(io);
}

bool
io_begin(io_log *io, size_t events)
{
	io->position += io->n;
	io->n = 0;
	if (events <= io->room)
		return true;
	free_columns(io);
	io->room = 0;
	io->page = malloc(events * sizeof(*io->page));
	io->kind = malloc(events * sizeof(*io->kind));
	io->flags = malloc(events * sizeof(*io->flags));
	io->count = malloc(events * sizeof(*io->count));
	if (io->page == NULL || io->kind == NULL || io->flags == NULL ||
		io->count == NULL)
		return false;
	io->room = events;
	return true;
}

void
io_events(const io_log *io, tps_events *events)
{
	memset(events, 0, sizeof(*events));
	events->n = io->n;
	events->page = io->page;
	events->kind = io->kind;
	events->flags = io->flags;
	events->count = io->count;
	events->position = io->position;
}
