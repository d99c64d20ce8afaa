/*
 * fuzz.h
 *	  What the fuzz targets share.
 *
 * A target defines LLVMFuzzerTestOneInput, so that libFuzzer can drive it,
 * and seeds, from which the stand-alone driver (driver.c) makes its inputs.
 */
#ifndef TIDEPOOL_FUZZ_H
#define TIDEPOOL_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "tidepool/readers.h"

typedef struct fuzz_seed
{
	const char *bytes;
	size_t		size;
} fuzz_seed;

/* Of a string literal, which may contain zero bytes. */
#define SEED(literal) {literal, sizeof(literal) - 1}

extern const fuzz_seed fuzz_seeds[];
extern const size_t fuzz_seed_count;

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Parse the input whole, then in pieces into columns of varying capacity,
 * and abort unless both give the same references and the same error.
 */
void		fuzz_reader(tps_format format, uint32_t page_bytes,
						const uint8_t *data, size_t size);

/* A generator of pseudo-random numbers that depends on nothing else. */
static inline uint64_t
fuzz_random(uint64_t *state)
{
	uint64_t	x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

#endif							/* TIDEPOOL_FUZZ_H */
