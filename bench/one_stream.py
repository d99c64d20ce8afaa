#!/usr/bin/env python3
"""What foresight can gain from one stream of range scans: misses beside clock's.

With one stream there is one scan at a time that says what it will read.  What the
next will read nobody knows but OPT.  Between pbm and OPT the table has two policies
that know what the running scan will read, and look at all frames.  One counts how
many of the scans so far have read each block, and goes by that: as good as the past
can tell, if scans are independent.  The other knows how likely each block is to be
in the next range, as the one who draws them does, and no server.

As in scan_mix.py (ranges, one stream): the table is read once, which does not count;
then come eight scans of random ranges, a bit more than a third of the table each;
30 % of it is cached.  A run is that short, so runs differ: each seed has other
ranges, the table has medians and quartiles, and what medians of three runs are
between in nine of ten cases.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from common import count, report
from numpy.typing import NDArray

from tidepool import parse_policy
from tidepool.generators import TpchScans
from tidepool.generators.tpch_scans import LINEITEM
from tidepool.simulation import Cell, Options, simulate
from tidepool.traces import load
from tidepool.traces.draws import Random
from tidepool.traces.scans import PlannedScan

Floats = NDArray[np.float64]

PAGES = 1_210
SHARE = 0.3
COUNTS = "counts of past scans"
CHANCES = "chances of the next scan"
POLICIES = ("clock", "pbm", "opt")


class Stream(TpchScans):
    """One stream; the table is read as a whole before."""

    def _queries(self, number: int, rng: Random) -> Iterator[PlannedScan]:
        yield PlannedScan(
            scan=self.queries + 1,
            backend=number + 1,
            relation=LINEITEM,
            first=0,
            count=self.pages,
            size=self.pages,
            speed=self.speed,
        )
        yield from super()._queries(number, rng)

    def ranges(self) -> list[tuple[int, int]]:
        """Return where the scans begin and end, the whole table's first."""
        return [(scan.first, scan.first + scan.count) for scan in next(iter(self._streams()))]


def chances(pages: int, length: int) -> Floats:
    """Return how likely a random range of this length has each block."""
    blocks = np.arange(pages)
    last = pages - length  # the last block with which a range can begin
    begins = np.minimum(blocks, last) - np.maximum(blocks - length + 1, 0) + 1
    return begins / (last + 1)


def informed(ranges: Sequence[tuple[int, int]], frames: int, chance: Floats | None) -> int:
    """Return the misses of the policy that knows these chances, or goes by counts if None."""
    pages = ranges[0][1]
    blocks = np.arange(pages)
    cached = np.zeros(pages, bool)
    used = np.zeros(pages)
    counts = np.zeros(pages)
    misses = held = now = 0
    for scan, (begin, end) in enumerate(ranges):
        for block in range(begin, end):
            now += 1
            counts[block] += 1
            used[block] = now
            if cached[block]:
                continue
            misses += scan > 0
            if held == frames:
                ahead = (blocks > block) & (blocks < end)
                # scans until one reads the block; the running one does so sooner
                wait = 1 / np.maximum(counts / (scan + 1) if chance is None else chance, 1e-9)
                wait[ahead] = (blocks[ahead] - block) / pages
                last = np.flatnonzero(wait == wait[cached].max())
                last = last[cached[last]]
                cached[last[np.argmin(used[last])]] = False
            else:
                held += 1
            cached[block] = True
    return misses


def misses(seed: int) -> dict[str, int]:
    """Return the misses of all policies of a run."""
    stream = Stream(pages=PAGES, streams=1, speed=100.0, seed=seed)
    frames = round(SHARE * PAGES)
    cells = [Cell(parse_policy(policy), frames) for policy in POLICIES]
    results = simulate([(load(stream), cells)], Options(warmup=PAGES))
    found = {policy: result.misses for policy, result in zip(POLICIES, results, strict=True)}
    ranges = stream.ranges()
    known = chances(PAGES, ranges[1][1] - ranges[1][0])
    found[COUNTS] = informed(ranges, frames, None)
    found[CHANCES] = informed(ranges, frames, known)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--seeds", type=count, default=300, help="runs (default: 300)")
    parser.add_argument("--quick", action="store_true", help="30 runs")
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(seeds=30)
        args = parser.parse_args()
    runs = [misses(seed) for seed in range(args.seeds)]
    rows = []
    for policy in ("clock", "pbm", COUNTS, CHANCES, "opt"):
        of_clock = np.array([run[policy] / run["clock"] for run in runs])
        of_opt = np.array([run[policy] / run["opt"] for run in runs])
        threes = [np.median(of_clock[i : i + 3]) for i in range(0, len(runs) - 2, 3)]
        quartiles, nine = np.quantile(of_clock, [0.25, 0.75]), np.quantile(threes, [0.05, 0.95])
        rows.append(
            (
                policy,
                f"{np.median(of_clock):.2f}",
                f"{quartiles[0]:.2f} to {quartiles[1]:.2f}",
                f"{nine[0]:.2f} to {nine[1]:.2f}",
                f"{np.median(of_opt):.2f}",
            )
        )
    title = f"{len(runs)} runs of one stream: misses"
    columns = ("", "x clock's, median", "quartiles", "medians of three, 90 %", "x OPT's, median")
    report("one_stream", title, columns, rows)


if __name__ == "__main__":
    main()
