/*
 * fuzz_vscsi.c
 *	  vSCSI traces, as requests and divided into pages.
 */
#include "fuzz.h"

/* bytes, block and time the same in all */
#define REQUEST "\0\100\0\0" "\1\0\0\0"
#define PLACE "\17\0\0\0\0\0\0\0" "\100\102\17\0\0\0\0\0"
#define VERSION_1(command) "\1\0\0\0" REQUEST command "\0" "\0\1" PLACE
#define VERSION_2(command) command "\0" "\0\2" "\1\0\0\0" REQUEST PLACE \
	"\0\0\0\0\0\0\0\0"

const fuzz_seed fuzz_seeds[] = {
	SEED(VERSION_1("\x28") VERSION_1("\x2a") VERSION_1("\0")),
	SEED(VERSION_2("\x28") VERSION_2("\x2a") VERSION_2("\0")),
	SEED(VERSION_1("\x8a") VERSION_2("\x8a")),
	SEED(VERSION_2("\x88") "\0"),
};
const size_t fuzz_seed_count = sizeof(fuzz_seeds) / sizeof(*fuzz_seeds);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_reader(TPS_VSCSI, 0, data, size);
	fuzz_reader(TPS_VSCSI, 8192, data, size);
	return 0;
}
