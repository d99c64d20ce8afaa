#!/usr/bin/env python3
"""What an algorithm costs where all pages are resident, against unpatched PostgreSQL.

Two servers run beside each other: PostgreSQL as it comes, and ours, restarted
for each algorithm.  Stock, batched hits (the default) and a lock for each hit
(bufferpool.batch_size = 1) take turns; see pgbench.py.  "stock" in the table
is stock PostgreSQL as the other server: what the method cannot tell apart.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse

from common import report
from live import STOCK, scratch, serving, told
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    Side,
    algorithms,
    fill,
    prices,
    share_one_cpu,
    take_turns,
    warm,
)

from tidepool.server import Instance

TARGET = 2.0  # per cent
UNBATCHED = {"bufferpool.batch_size": "1"}
WORKLOADS = (SELECT_ONLY, SCAN, LOOKUPS)
SETTINGS = {"shared_buffers": BUFFERS}
QUICK = ["clock", "lru", "arc", "lirs"]


def row(stock: Instance, other: Instance, algorithm: str, rounds: int) -> list[str]:
    """For each workload the per cent that the other is slower, batched and unbatched."""
    cells = [algorithm]
    for work in WORKLOADS:
        sides = [Side(stock, work), Side(other, work)]
        if algorithm not in (STOCK, "clock"):
            sides.append(Side(other, work, UNBATCHED))
        found = [str(price) for price in prices(take_turns(sides, rounds))]
        cells += [*found, ""][:2]
    print("; ".join(cells), flush=True)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithm", nargs="*", help="all by default")
    parser.add_argument("--rounds", type=int, default=400, help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help=f"200 rounds of {' '.join(QUICK)}")
    options = parser.parse_args()
    rounds = 200 if options.quick else options.rounds
    rows = []
    with scratch() as one, scratch() as two:
        fill(one)
        fill(two)
        names = options.algorithm or (QUICK if options.quick else algorithms(two))
        with serving(one, STOCK, SETTINGS) as stock:
            warm(stock)
            for name in [STOCK, *names]:
                with serving(two, name, SETTINGS) as other:
                    warm(other)
                    share_one_cpu(stock, other)
                    rows.append(row(stock, other, name, rounds))
    columns = ["% slower than stock"]
    for work in WORKLOADS:
        columns += [work.name, "a lock each"]
    report("hit_path", f"Price of hits (target: at most {TARGET:g} % batched)", columns, rows)


if __name__ == "__main__":
    told(main)
