#!/usr/bin/env python3
"""What grows with the number of buffers: time for each, to reckon with on large servers.

A server is full of a table's pages.  Measured are, for each of its buffers:

save    pg_bufferpool_save_warm(): the list of a warm start is made and written
read    the next start reads the list back, with two workers
begin   the advisor begins the simulation of the pool

All files are in the operating system's cache.  Shown are medians; the table of
docs/scale.md multiplies them.  What the advisor needs besides, which a small pool
shows, is subtracted.

Needs make postgres, and --buffers twice in memory.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from time import perf_counter

from common import count, report
from live import read_all, scratch, serving, told

from tidepool.errors import TidepoolError
from tidepool.server import LIBRARIES

ALGORITHMS = ("lru", "arc", "lirs", "hyperbolic", "watt", "pbm")
PAGE = 8192
SMALL = 16  # MB
RESETS = 20  # of the advice, for each time: milliseconds, some of them psql's


def settings(megabytes: int) -> dict[str, str]:
    return {
        "shared_buffers": f"{megabytes}MB",
        "shared_preload_libraries": f"{LIBRARIES}, pg_prewarm",
        "pg_prewarm.autoprewarm": "off",
        "bufferpool.warm_start": "on",
        "bufferpool.warm_save_interval": "0",
        "bufferpool.advice": "on",
    }


def beginnings(directory: Path, algorithm: str, megabytes: int, times: int) -> float:
    """Seconds of a reset of the advice, in a server that is full: the median."""
    found = []
    with serving(directory, algorithm, settings(megabytes)) as instance:
        instance.query("SELECT pg_prewarm('filler')")
        for _ in range(RESETS * times):
            began = perf_counter()
            instance.query("SELECT pg_bufferpool_advice_reset()")
            found.append(perf_counter() - began)
    return statistics.median(found)


def measure(directory: Path, algorithm: str, megabytes: int, times: int) -> list[object]:
    """A row: nanoseconds, or microseconds, a buffer."""
    saves, reads = [], []
    with serving(directory, algorithm, settings(megabytes)) as instance:
        instance.query("SELECT pg_prewarm('filler')")
        for _ in range(times):
            pages = int(instance.query("SELECT pg_bufferpool_save_warm(true)"))
            took = "SELECT save_seconds FROM pg_stat_progress_bufferpool_warm"
            saves.append(float(instance.query(took)) / pages)
        for _ in range(times):
            instance.stop()
            read_all(directory)
            instance.start()
            done = (
                "SELECT extract(epoch FROM ended - began) / pages_read"
                " FROM pg_stat_progress_bufferpool_warm WHERE phase = 'done'"
            )
            while (row := instance.query(done)) == "":
                pass
            reads.append(float(row))
    begins = beginnings(directory, algorithm, megabytes, times)
    rest = beginnings(directory, algorithm, SMALL, times)
    buffers = (megabytes - SMALL) * 1024 * 1024 // PAGE
    return [
        algorithm,
        statistics.median(saves) * 1e9,
        statistics.median(reads) * 1e6,
        (begins - rest) / buffers * 1e9,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithms", nargs="*", metavar="algorithm", default=ALGORITHMS)
    parser.add_argument("--buffers", type=count, default=2048, help="MB (default %(default)s)")
    parser.add_argument("--times", type=count, default=3, help="(default %(default)s)")
    arguments = parser.parse_args()
    if arguments.buffers < 8 * SMALL:
        raise TidepoolError(f"--buffers {arguments.buffers} is too small to tell", hint="take 128")
    rows = []
    with scratch() as directory:
        with serving(directory, "clock", {"shared_buffers": "256MB"}) as instance:
            instance.query(
                "CREATE EXTENSION pg_prewarm",
                "CREATE EXTENSION pg_bufferpool",
                "CREATE TABLE filler (pad text STORAGE PLAIN)",
                "INSERT INTO filler SELECT repeat('x', 7000)"
                f" FROM generate_series(1, {arguments.buffers * 1024 * 1024 // PAGE})",
                "VACUUM (FREEZE, ANALYZE) filler",
                "CHECKPOINT",
            )
        for algorithm in arguments.algorithms:
            rows.append(measure(directory, algorithm, arguments.buffers, arguments.times))
            print(f"{algorithm}: {rows[-1][1:]}", flush=True)
    report(
        "large_pools",
        f"Time for each of {arguments.buffers} MB of buffers",
        ["algorithm", "save, ns", "read, µs", "begin, ns"],
        rows,
    )


if __name__ == "__main__":
    told(main)
