#!/usr/bin/env python3
"""Whether thousands of scans that end half-way wear prediction out.

Scans of every kind end in every way (tidepool.workloads.scan_ends), four at a
time: cancelled, terminated, failed, left to the end of a transaction, with a
client that is killed.  Before and after them, streams of random 30 % of the
same table are read through its index (bitmap heap scans), the same queries in
each run, each run after one read of the whole table.  The server is not
restarted.

Goals: afterwards no scan is announced, each has ended once, none was refused;
and the streams read as many blocks as before.  Timing decides how scans
overlap, so runs differ: the noise is the standard deviation of the runs before,
and the next run may differ by three times that from their mean.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from random import Random
from statistics import fmean, stdev
from time import perf_counter, sleep

from common import count, report
from live import counters, scratch, serving, side_by_side, told
from pgbench import pool_counters
from streams import BITMAP, SERIAL, WHOLE, tell

from tidepool.server import Instance
from tidepool.workloads import scan_ends
from tidepool.workloads.scan_ways import ROWS_PER_BLOCK

SHARE = 0.3
QUERIES = 8
SIGMAS = 3


def scripts(blocks: int, streams: int) -> list[str]:
    """Return a script for each stream: ranges of the table."""
    rng = Random(streams)
    rows = blocks * ROWS_PER_BLOCK
    length = round(SHARE * rows)
    return [
        f"{BITMAP}; {SERIAL};\n"
        + "".join(
            f"SELECT count(pad) FROM scanned WHERE id BETWEEN {first} AND {first + length - 1};\n"
            for first in (rng.randrange(rows - length + 1) for _ in range(QUERIES))
        )
        for _ in range(streams)
    ]


def reads(instance: Instance, mix: list[str]) -> int:
    """Return the blocks that a run of the streams reads."""
    instance.query(f"{WHOLE}; {SERIAL}; SELECT count(*) FROM scanned")
    before = counters(instance)
    side_by_side(instance, mix)
    found = (counters(instance) - before).reads
    tell(f"  {found} blocks read")
    return found


def announced(instance: Instance) -> int:
    """Return the scans that are announced when all processes that scanned have ended."""
    counters(instance)  # waits for sessions
    query = (
        "SELECT count(*) FROM pg_stat_scans",
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'",
    )
    while instance.query(query[1]) != "0":
        sleep(0.02)
    return int(instance.query(query[0]))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--scans", type=count, default=10_000, metavar="N", help="that end half-way; 10,000")
    add("--algorithm", default="pbm", metavar="NAME", help="pbm")
    add("--blocks", type=count, default=2000, metavar="N", help="of the table; 2,000")
    add("--streams", type=count, default=4, metavar="N", help="4")
    add("--runs", type=count, default=8, metavar="N", help="before, and after; 8")
    add("--seed", type=int, default=0, help="0")
    add("--quick", action="store_true", help="ten seconds: 500 scans, 4 runs")
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(scans=500, runs=4)
        args = parser.parse_args()
    if args.runs < 2:
        parser.error("--runs must be at least 2")
    return args


def main() -> int:
    args = arguments()
    settings = {"shared_buffers": str(round(SHARE * args.blocks)), "max_worker_processes": "16"}
    mix = scripts(args.blocks, args.streams)
    with scratch() as directory, serving(directory, args.algorithm, settings) as instance:
        instance.query("CREATE EXTENSION pg_bufferpool")
        scan_ends.load(instance, args.blocks)
        scan_ends.check_plans(instance, args.blocks)
        reads(instance, mix)  # hints in the pages are set, history begins
        before = [reads(instance, mix) for _ in range(args.runs)]
        at_first = pool_counters(instance)
        begin = perf_counter()
        done = scan_ends.end_many(instance, args.scans, args.seed, args.blocks)
        seconds = perf_counter() - begin
        left = announced(instance)
        counted = {name: value - at_first[name] for name, value in pool_counters(instance).items()}
        after = [reads(instance, mix) for _ in range(args.runs)]
    return show(args, done, seconds, left, counted, before, after)


def show(
    args: argparse.Namespace,
    done: Counter[str],
    seconds: float,
    left: int,
    counted: dict[str, int],
    before: list[int],
    after: list[int],
) -> int:
    """Print both tables; return 1 if a scan was left or refused."""
    of_way: Counter[str] = Counter()
    for name, number in done.items():
        of_way[name.split(": ")[1]] += number
    title = f"{done.total():,} scans in {seconds:.0f} s, seed {args.seed}: how they ended"
    report("scan_ends_ways", title, ("way", "scans"), sorted(of_way.items()))

    begun, ended, abandoned, refused = (
        counted[f"scans_{what}"] for what in ("begun", "ended", "abandoned", "refused")
    )
    noise = stdev(before) / fmean(before)
    following = after[0] / fmean(before)
    sound = left == 0 and begun == ended + abandoned and refused == 0
    same = abs(following - 1) <= SIGMAS * noise
    rows = [
        ("announced and ended", f"{begun} = {ended} + {abandoned}", reached(sound)),
        ("still announced, refused", f"{left}, {refused}", ""),
        ("blocks read before, mean", round(fmean(before)), ""),
        ("noise", f"{noise:.3f}", ""),
        ("next run / mean before", f"{following:.3f}", reached(same)),
        ("mean after / mean before", f"{fmean(after) / fmean(before):.3f}", ""),
    ]
    title = f"{args.algorithm}, {args.blocks:,} blocks, {args.streams} streams, {args.runs} runs"
    report("scan_ends", title, ("", "", "goal"), rows)
    return 0 if sound else 1


def reached(is_reached: bool) -> str:
    return "reached" if is_reached else "MISSED"


if __name__ == "__main__":
    told(lambda: sys.exit(main()))
