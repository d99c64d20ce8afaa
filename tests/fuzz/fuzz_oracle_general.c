/*
 * fuzz_oracle_general.c
 *	  libCacheSim's oracleGeneral traces.
 */
#include "fuzz.h"

#define RECORD_A "\1\0\0\0" "\7\0\0\0\0\0\0\0" "\0\20\0\0" "\2\0\0\0\0\0\0\0"
#define RECORD_B "\2\0\0\0" "\7\0\0\0\0\0\0\0" "\0\20\0\0" \
	"\xff\xff\xff\xff\xff\xff\xff\xff"

const fuzz_seed fuzz_seeds[] = {
	SEED(RECORD_A RECORD_B),
	SEED(RECORD_B RECORD_A),
	SEED(RECORD_A "\0"),
};
const size_t fuzz_seed_count = sizeof(fuzz_seeds) / sizeof(*fuzz_seeds);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(TPS_ORACLE_GENERAL, 0, data, size);
	return 0;
}
