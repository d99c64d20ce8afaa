#!/usr/bin/env python3
"""Fail unless core/ stands alone.

Usage: freestanding.py LIBRARY CORE_DIR

Two claims: the static library needs no symbol from outside but the four
memory functions that every C compiler may call, and no source file includes
a header but string.h, the compiler's own freestanding ones, and the core's.
"""

import re
import subprocess
import sys
from pathlib import Path

SYMBOLS = {"memcpy", "memmove", "memset", "memcmp"}
HEADERS = {"string.h", "stdint.h", "stddef.h", "stdbool.h"}
# What instrumented builds add by themselves.
INSTRUMENTATION = re.compile(r"__(asan|ubsan|sanitizer|gcov|stack_chk|tsan)|_GLOBAL_OFFSET_TABLE_")


def undefined_symbols(library: Path) -> set[str]:
    out = subprocess.run(["nm", "-P", library], check=True, capture_output=True, text=True).stdout
    defined, undefined = set(), set()
    for line in out.splitlines():
        fields = line.split()
        if len(fields) >= 2:
            (undefined if fields[1] == "U" else defined).add(fields[0])
    return {s for s in undefined - defined - SYMBOLS if not INSTRUMENTATION.match(s)}


def foreign_headers(core: Path) -> list[str]:
    found = []
    for folder in ("include", "src", "parts", "prediction", "tier", "policies"):
        for path in sorted((core / folder).rglob("*.[ch]")):
            for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", path.read_text(), re.M):
                if name not in HEADERS:
                    found.append(f"{path}: <{name}>")
    return found


def main() -> int:
    library, core = Path(sys.argv[1]), Path(sys.argv[2])
    symbols, headers = undefined_symbols(library), foreign_headers(core)
    for symbol in sorted(symbols):
        print(f"undefined symbol in {library.name}: {symbol}")
    for header in headers:
        print(f"foreign header: {header}")
    return 1 if symbols or headers else 0


if __name__ == "__main__":
    sys.exit(main())
