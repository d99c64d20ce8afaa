/*
 * reader.c
 *	  The property that the parsers are fuzzed for: the result does not
 *	  depend on how the file is cut into blocks nor on the columns' size.
 *
 * Every piece of input and every set of columns is an allocation of its own,
 * of exactly its size, so that the address sanitizer sees a single byte
 * beyond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* A line may stand for four billion references; these are enough. */
#define MAX_ROWS 1000

#define WHOLE ((size_t) -1)

typedef struct result
{
	uint64_t	hash;			/* of the first MAX_ROWS references */
	size_t		rows;
	uint64_t	time;			/* of the last one */
	const char *error;
	uint64_t	position;		/* of the error */
} result;

/* Unlike assert, whatever the build. */
static void
expect(bool holds, const char *what)
{
	if (!holds)
	{
		fprintf(stderr, "fuzz: not so: %s\n", what);
		abort();
	}
}

static void *
copy(const void *bytes, size_t size)
{
	void	   *p = malloc(size > 0 ? size : 1);

	expect(p != NULL, "there is memory");
	if (size > 0)
		memcpy(p, bytes, size);
	return p;
}

static void
add(result *r, const tps_columns *columns, tps_format format)
{
	for (size_t i = 0; i < columns->rows && r->rows < MAX_ROWS; i++, r->rows++)
	{
		uint64_t	row[] = {r->hash, columns->page[i], 0, 0};

		if (format == TPS_ORACLE_GENERAL || format == TPS_VSCSI)
		{
			expect(columns->time[i] >= r->time, "time never decreases");
			r->time = row[2] = columns->time[i];
		}
		if (format == TPS_VSCSI)
		{
			expect(columns->kind[i] <= 1, "a reference is a read or a write");
			row[3] = columns->kind[i];
		}
		for (int j = 0; j < 4; j++)
			r->hash = fuzz_random(&row[j]) + r->hash * 31;
	}
}

/* Feed the piece, or finish if it is NULL; returns the bytes used. */
static size_t
step(tps_reader *reader, const uint8_t *piece, size_t size, size_t capacity,
	 bool *done, result *r)
{
	tps_columns columns = {
		.page = malloc(capacity * sizeof(uint64_t)),
		.time = malloc(capacity * sizeof(uint64_t)),
		.kind = malloc(capacity),
		.capacity = capacity
	};
	size_t		used = 0;

	expect(columns.page && columns.time && columns.kind, "there is memory");
	if (piece != NULL)
		used = tps_reader_feed(reader, piece, size, &columns);
	else
		*done = tps_reader_finish(reader, &columns) || reader->error != NULL;
	expect(used <= size, "no more is used than was given");
	expect(columns.rows <= capacity, "no more is written than there is room");
	expect(used == size || columns.rows == capacity || reader->error != NULL,
		   "input is left only when the columns are full or it is wrong");
	add(r, &columns, reader->format);
	free(columns.page);
	free(columns.time);
	free(columns.kind);
	return used;
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Parse data in pieces of up to longest bytes, in columns of up to widest
 * rows; WHOLE: in one piece, in columns of widest rows.
 */
static result
parse(tps_format format, uint32_t page_bytes, const uint8_t *data, size_t size,
	  size_t longest, size_t widest, uint64_t random)
{
	tps_reader	reader;
	result		r = {0};
	bool		done = false;

	tps_reader_init(&reader, format, page_bytes);
	while (size > 0 && reader.error == NULL && r.rows < MAX_ROWS)
	{
		size_t		n = size;
		size_t		capacity = widest;
		uint8_t    *piece;
		size_t		used;

		if (longest != WHOLE)
		{
			n = smaller(size, (size_t) (fuzz_random(&random) % (longest + 1)));
			capacity = 1 + (size_t) (fuzz_random(&random) % widest);
		}
		piece = copy(data, n);
		used = step(&reader, piece, n, capacity, &done, &r);
		free(piece);
		data += used;
		size -= used;
	}
	while (!done && r.rows < MAX_ROWS)
		step(&reader, NULL, 0, longest == WHOLE ? widest : 1, &done, &r);
	if (r.rows < MAX_ROWS)
	{
		r.error = reader.error;
		r.position = reader.position;
	}
	return r;
}

void
fuzz_reader(tps_format format, uint32_t page_bytes, const uint8_t *data,
			size_t size)
{
	static const size_t longest[] = {1, 3, 50, 1000};
	static const size_t widest[] = {1, 3, 100};
	result		whole = parse(format, page_bytes, data, size, WHOLE, MAX_ROWS, 0);
	uint64_t	random = size;

	for (int i = 0; i < 3; i++)
	{
		size_t		l = longest[fuzz_random(&random) % 4];
		size_t		w = widest[fuzz_random(&random) % 3];
		result		r = parse(format, page_bytes, data, size, l, w, random);

		expect(r.rows == whole.rows && r.hash == whole.hash,
			   "the references do not depend on the pieces");
		expect(r.error == whole.error && r.position == whole.position,
			   "the error does not depend on the pieces");
	}
}
