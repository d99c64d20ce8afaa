#!/usr/bin/env python3
"""What trailing index scans gain: index scans that read what another read before.

A leader scans a range of an index; one to three followers scan the same range
while it runs, each with a delay of its own.  Each index entry leads to another
page of the table, at random, so nothing but the leader's marks (trail.h)
announces what a follower will read.  As many references again are point reads
of another table, Zipf(0.9).  The workloads differ in the length of the ranges;
the shorter they are, the more scans run at a time.

Misses relative to OPT's, of `pbm` with and without the marks: its parameter
`index_scans`.  Means over the seeds.
"""

from __future__ import annotations

import argparse
from statistics import fmean

import numpy as np
from common import count, replay, report

from tidepool.generators import Zipf
from tidepool.traces import Flag, InMemoryTrace, Kind, page_number

PAGES = 20_000  # of each table
REFERENCES = 400_000
SPEED = 1_000.0  # index entries per second and scan, in the mean
MOST_FOLLOWERS = 3
LONGEST_DELAY = 0.75  # of the leader's duration
SCANS = {300: 128, 1_000: 64, 3_000: 32, 10_000: 16}  # entries of a range: scans at a time
SHARES = (0.05, 0.1, 0.3)
POLICIES = ("clock", "lru", "arc", "pbm:index_scans=off", "pbm", "opt")
WITHOUT, WITH = POLICIES[3:5]


def trailing(length: int, references: int = REFERENCES, seed: int = 0) -> InMemoryTrace:
    """Return groups of index scans over ranges of this many entries, and point reads."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(PAGES)  # of the table's pages, by the index
    duration = length / SPEED
    starts: list[float] = []
    firsts: list[int] = []
    begun = 0.0
    while len(starts) * length < references / 2:
        members = 2 + int(rng.integers(MOST_FOLLOWERS))
        delays = rng.uniform(0, LONGEST_DELAY * duration, members - 1)
        starts += [begun, *(begun + delays)]
        firsts += [int(rng.integers(PAGES - length + 1))] * members
        begun += rng.exponential(members * duration / SCANS[length])
    n = len(starts)
    # a scan begins and ends with its first and last reference
    which = [0, *range(length), length - 1]
    gaps = rng.exponential(1 / SPEED, (n, length))
    time = (np.array(starts)[:, None] + np.cumsum(gaps, axis=1))[:, which]
    page = page_number(2, order[np.array(firsts)[:, None] + which])
    kind = np.full(page.shape, Kind.READ)
    kind[:, 0], kind[:, -1] = Kind.SCAN_BEGIN, Kind.SCAN_END
    scan = np.repeat(np.arange(1, n + 1), length + 2)
    index = np.where(kind == Kind.SCAN_BEGIN, 1, 0)
    zipf = Zipf(pages=PAGES, length=n * length, alpha=0.9, seed=seed)
    points = np.concatenate([chunk.page for chunk in zipf.chunks()])
    point_times = rng.uniform(0, time.max(), len(points))
    zeros = np.zeros(len(points), np.uint64)
    columns = {
        "time": np.concatenate([1e6 * time.ravel(), 1e6 * point_times]).astype(np.uint64),
        "page": np.concatenate([page.ravel(), points]),
        "kind": np.concatenate([kind.ravel(), zeros + Kind.READ]),
        "flags": np.concatenate([np.full(page.size, Flag.INDEX), zeros]),
        "scan": np.concatenate([scan, zeros]),
        "size": np.concatenate([index.ravel(), zeros]),
        "backend": np.concatenate([scan, zeros]),
    }
    in_order = np.argsort(columns["time"], kind="stable")
    columns = {name: column[in_order].astype(np.uint64) for name, column in columns.items()}
    return InMemoryTrace.from_arrays(f"trailing {length}", columns.pop("page"), **columns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=count, default=3, help="repetitions; default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="a tenth of the references, one seed")
    args = parser.parse_args()
    references = REFERENCES // 10 if args.quick else REFERENCES
    seeds = 1 if args.quick else args.seeds
    rows = []
    for length in SCANS:
        runs = [
            replay(trailing(length, references, seed), POLICIES, SHARES, seed)
            for seed in range(seeds)
        ]
        for share in SHARES:
            relative = [fmean(run.relative(policy, share) for run in runs) for policy in POLICIES]
            gain = fmean(run.relative(WITH, share, WITHOUT) for run in runs)
            rows.append((length, SCANS[length], f"{share:.0%}", *relative[:-1], gain))
    columns = ("entries", "scans at a time", "cache", *POLICIES[:-1], "on / off")
    report("trailing_scans", "misses relative to OPT's", columns, rows)


if __name__ == "__main__":
    main()
