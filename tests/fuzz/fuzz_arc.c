/*
 * fuzz_arc.c
 *	  The ARC authors' traces.
 */
#include "fuzz.h"

const fuzz_seed fuzz_seeds[] = {
	SEED("110765 64 0 0\n110829 1 0 1\n"),
	SEED("7 0 0 0\r\n\n 8\t2 0 1"),
	SEED("18446744073709551615 1 0 0\n"),
	SEED("18446744073709551615 2 0 0\n"),
	SEED("1 4294967295 0 0\n"),
	SEED("1 4294967296 0 0\n"),
	SEED("1 2 3\n"),
	SEED("1 2 3 4 5\n"),
};
const size_t fuzz_seed_count = sizeof(fuzz_seeds) / sizeof(*fuzz_seeds);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(TPS_ARC, 0, data, size);
	return 0;
}
