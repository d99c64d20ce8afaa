/*
 * driver.c
 *	  Drives a fuzz target without libFuzzer: the same inputs every time.
 *
 * Usage: fuzz_TARGET [COUNT]		that many mutations of the target's seeds
 *		  fuzz_TARGET FILE...		these inputs, as libFuzzer leaves them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define DEFAULT_COUNT 5000
#define MAX_SIZE 4096

typedef struct input
{
	uint8_t		bytes[MAX_SIZE];
	size_t		size;
} input;

static size_t
below(uint64_t *random, size_t n)
{
	return n == 0 ? 0 : (size_t) (fuzz_random(random) % n);
}

/* Put the n bytes in at position at, as far as they fit. */
static void
insert(input *in, size_t at, const uint8_t *bytes, size_t n)
{
	if (n > MAX_SIZE - in->size)
		n = MAX_SIZE - in->size;
	memmove(in->bytes + at + n, in->bytes + at, in->size - at);
	memmove(in->bytes + at, bytes, n);
	in->size += n;
}

static void
cut(input *in, size_t at, size_t n)
{
	if (n > in->size - at)
		n = in->size - at;
	memmove(in->bytes + at, in->bytes + at + n, in->size - at - n);
	in->size -= n;
}

static void
mutate(input *in, uint64_t *random)
{
	static const char *const tokens[] = {
		"18446744073709551615", "18446744073709551616", "4294967296", "0",
		"\n", "\r\n", " ", "#", "*", "-1", "\xff\xff\xff\xff\xff\xff\xff\xff"
	};
	size_t		at = below(random, in->size + 1);
	uint8_t		piece[256];
	const char *token;
	size_t		n;

	switch (below(random, 7))
	{
		case 0:					/* flip a bit */
			if (at < in->size)
				in->bytes[at] ^= (uint8_t) (1 << below(random, 8));
			break;
		case 1:					/* any byte */
			if (at < in->size)
				in->bytes[at] = (uint8_t) fuzz_random(random);
			break;
		case 2:					/* truncate */
			in->size = at;
			break;
		case 3:
			cut(in, at, 1 + below(random, 16));
			break;
		case 4:					/* repeat a piece elsewhere */
			n = in->size - at < sizeof(piece) ? in->size - at : sizeof(piece);
			memcpy(piece, in->bytes + at, n);
			insert(in, below(random, in->size + 1), piece, n);
			break;
		case 5:
			token = tokens[below(random, sizeof(tokens) / sizeof(*tokens))];
			insert(in, at, (const uint8_t *) token, strlen(token));
			break;
		case 6:					/* another seed behind it */
			n = below(random, fuzz_seed_count);
			insert(in, in->size, (const uint8_t *) fuzz_seeds[n].bytes,
				   fuzz_seeds[n].size);
			break;
	}
}

static void
run_mutations(unsigned long count)
{
	static input in;
	uint64_t	random = 1;

	for (unsigned long i = 0; i < count; i++)
	{
		const fuzz_seed *seed = &fuzz_seeds[i % fuzz_seed_count];

		in.size = 0;
		insert(&in, 0, (const uint8_t *) seed->bytes, seed->size);
		/* the seeds themselves first */
		for (size_t m = i < fuzz_seed_count ? 0 : 1 + below(&random, 6);
			 m > 0; m--)
			mutate(&in, &random);
		LLVMFuzzerTestOneInput(in.bytes, in.size);
	}
}

static int
run_file(const char *path)
{
	FILE	   *file = fopen(path, "rb");
	uint8_t    *bytes;
	long		size;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 ||
		(size = ftell(file)) < 0)
	{
		perror(path);
		return 1;
	}
	rewind(file);
	bytes = malloc((size_t) size + 1);
	if (bytes == NULL || fread(bytes, 1, (size_t) size, file) != (size_t) size)
	{
		perror(path);
		return 1;
	}
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, (size_t) size);
	free(bytes);
	return 0;
}

int
main(int argc, char **argv)
{
	char	   *end = NULL;
	unsigned long count = DEFAULT_COUNT;
	int			failed = 0;

	if (argc == 2)
		count = strtoul(argv[1], &end, 10);
	if (argc == 1 || (argc == 2 && end != argv[1] && *end == '\0'))
		run_mutations(count);
	else
		for (int i = 1; i < argc; i++)
			failed |= run_file(argv[i]);
	return failed;
}
