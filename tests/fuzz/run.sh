#!/bin/sh
# Fuzz the parsers of trace formats with libFuzzer, each for a while.
#
# Usage: tests/fuzz/run.sh [SECONDS]
#
# CC is a clang with libFuzzer, by default the newest that is installed.  What
# was found interesting stays in build/fuzz, and the next run begins with it;
# so does an input that fails, as build/fuzz/TARGET-crash-…
set -eu

seconds=${1:-300}
cd "$(dirname "$0")/../.."
CC=${CC:-$(ls /usr/bin/clang /usr/bin/clang-[0-9]* 2>/dev/null | sort -V | tail -n 1)}
if [ -z "$CC" ]; then
	echo "run.sh: no clang: install clang and libclang-rt-dev, or set CC" >&2
	exit 1
fi

for source in tests/fuzz/fuzz_*.c; do
	target=$(basename "$source" .c)
	target=${target#fuzz_}
	mkdir -p "build/fuzz/$target"
	"$CC" -std=c11 -g -O1 -Wall -Wextra -Werror -fno-strict-aliasing \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-Isim/include "$source" tests/fuzz/reader.c sim/src/readers/*.c \
		-o "build/fuzz/fuzz_$target"
	echo "$target: $seconds s"
	"build/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
		-verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" \
		"build/fuzz/$target"
done
