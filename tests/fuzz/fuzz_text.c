/*
 * fuzz_text.c
 *	  Text traces.
 */
#include "fuzz.h"

const fuzz_seed fuzz_seeds[] = {
	SEED(""),
	SEED("0\n1\n2\n"),
	SEED("# a comment\n\n 12 # and another\r\n18446744073709551615"),
	SEED("5\n*\n6\n7\n*\n"),
	SEED("18446744073709551616\n"),
	SEED("1 2\n"),
	SEED("x\n"),
};
const size_t fuzz_seed_count = sizeof(fuzz_seeds) / sizeof(*fuzz_seeds);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(TPS_TEXT, 0, data, size);
	return 0;
}
