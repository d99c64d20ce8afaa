#!/usr/bin/env python3
"""What an algorithm costs where all pages are resident, against unpatched PostgreSQL.

Two servers run beside each other: PostgreSQL as it comes, and ours, restarted
for each algorithm.  Stock, batched hits (the default) and a lock for each hit
(bufferpool.batch_size = 1) take turns; see pgbench.py.  Where a server's memory
happens to lie makes it faster or slower by some per cent for as long as it
runs, so both are started anew several times.  "stock" in the table is stock
PostgreSQL as the other server: what the method cannot tell apart.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from common import report
from live import STOCK, scratch, serving, told
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    Side,
    against,
    algorithms,
    all_hits,
    fill,
    prices,
    share_one_cpu,
    warm,
)

TARGET = 2.0  # per cent
UNBATCHED = {"bufferpool.batch_size": "1"}
WORKLOADS = (SELECT_ONLY, SCAN, LOOKUPS)
SETTINGS = {"shared_buffers": BUFFERS}
QUICK = ["clock", "lru", "arc", "lirs"]


def latencies(one: Path, two: Path, algorithm: str, rounds: int, start: int) -> list[np.ndarray]:
    """Start both servers and let them take turns; return [round, side] for each workload.

    Who is started first changes with the number of the start.
    """
    order = [(one, STOCK), (two, algorithm)]
    with ExitStack() as stack:
        servers = {}
        for directory, name in order if start % 2 else reversed(order):
            servers[directory] = stack.enter_context(serving(directory, name, SETTINGS))
            warm(servers[directory])
        peer, server = servers[one], servers[two]
        share_one_cpu(peer, server)
        found = []
        with all_hits(peer), all_hits(server):
            for work in WORKLOADS:
                ours = [Side(server, work)]
                if algorithm not in (STOCK, "clock"):
                    ours.append(Side(server, work, UNBATCHED))
                found.append(against(partial(Side, peer, work), ours, rounds))
        return found


def row(one: Path, two: Path, algorithm: str, starts: int, rounds: int) -> list[str]:
    """For each workload the per cent that ours is slower, batched and unbatched."""
    measured = [latencies(one, two, algorithm, rounds, start) for start in range(starts)]
    cells = [algorithm]
    for of_workload in zip(*measured, strict=True):
        found = [str(price) for price in prices(of_workload)]
        cells += [*found, ""][:2]
    print("; ".join(cells), flush=True)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithm", nargs="*", help="all by default")
    parser.add_argument("--starts", type=int, default=6, help="of both servers, %(default)s")
    parser.add_argument("--rounds", type=int, default=40, help="after each, %(default)s")
    parser.add_argument("--quick", action="store_true", help=f"2 starts of {' '.join(QUICK)}")
    options = parser.parse_args()
    starts = 2 if options.quick else options.starts
    with scratch() as one, scratch() as two:
        fill(one)
        fill(two)
        names = options.algorithm or (QUICK if options.quick else algorithms(two))
        rows = [row(one, two, name, starts, options.rounds) for name in [STOCK, *names]]
    columns = ["% slower than stock"]
    for work in WORKLOADS:
        columns += [work.name, "a lock each"]
    report("hit_path", f"Price of hits (target: at most {TARGET:g} % batched)", columns, rows)


if __name__ == "__main__":
    told(main)
