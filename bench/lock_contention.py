#!/usr/bin/env python3
"""Waits for the pool's lock: a lock for each hit against batches (BP-Wrapper).

16 clients on tables that fit into the pool, so that hits alone need the lock.
The first table is of all algorithms whose hits need it; the others are the
ICDE 2009 paper's tables II (size of the queue, the threshold being half of
it) and III (threshold in a queue of 64), under one algorithm.

Counted are the waits for the pool's lock (pg_stat_bufferpool.lock_waits) per
million references, which the paper calls contention.

Needs make postgres.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

from common import report
from live import scratch, serving, told
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    Workload,
    algorithms,
    all_hits,
    fill,
    pool_counters,
    throughput,
    warm,
)

from tidepool.server import Instance

TARGET = 100  # times fewer waits
CLIENTS = 16
SETTINGS = {"shared_buffers": BUFFERS}
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
THRESHOLDS = (1, 2, 4, 8, 16, 32, 48, 64)
WORKLOADS = (replace(SCAN, clients=CLIENTS), replace(LOOKUPS, clients=CLIENTS))


@dataclass(frozen=True)
class Contention:
    """A run: per million references, waits and acquisitions of the lock; transactions a second."""

    references: int
    waits: float
    locks: float
    speed: float


def contention(
    instance: Instance, work: Workload, seconds: int, size: int, threshold: int
) -> Contention:
    """Run for about so long with such a queue."""
    settings = {"bufferpool.batch_size": str(size), "bufferpool.batch_threshold": str(threshold)}
    before = pool_counters(instance)
    speed = throughput(instance, work, seconds, settings)
    after = pool_counters(instance)
    change = {name: after[name] - before[name] for name in after}
    references = change["hits"] + change["reads"]
    return Contention(
        references,
        1e6 * change["lock_waits"] / references,
        1e6 * change["lock_acquisitions"] / references,
        speed,
    )


def compare(instance: Instance, algorithm: str, work: Workload, seconds: int) -> list[str]:
    """A row of the first table; empty if the algorithm's hits need no lock."""
    each = contention(instance, work, seconds, 1, 1)
    if each.locks < 1000:  # a miss somewhere, of a page of the catalogs
        return []
    batched = contention(instance, work, seconds, 64, 32)
    # a run without a wait says that there is less than one in so many references
    least = max(batched.waits, 1e6 / batched.references)
    return [
        algorithm,
        f"{each.waits:.0f}",
        f"{batched.waits:.1f}",
        f"{'' if batched.waits else '> '}{each.waits / least:.0f}",
        f"{each.locks:.0f}",
        f"{batched.locks:.0f}",
        f"{batched.speed / each.speed:.2f}",
    ]


def queues(
    instance: Instance, work: Workload, seconds: int, pairs: list[tuple[int, int]]
) -> list[list[str]]:
    """The rows of tables II and III: size, threshold, waits, acquisitions, speed."""
    rows = []
    first = contention(instance, work, seconds, 1, 1)
    for size, threshold in pairs:
        found = contention(instance, work, seconds, size, threshold)
        rows.append(
            [
                f"{size} / {threshold}",
                f"{found.waits:.1f}",
                f"{found.locks:.0f}",
                f"{found.speed / first.speed:.2f}",
            ]
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("algorithm", nargs="*", help="of the first table; all by default")
    parser.add_argument("--queue", default="arc", help="algorithm of the others (default: arc)")
    parser.add_argument("--seconds", type=int, default=3, help="of a run (default: 3)")
    options = parser.parse_args()
    tables: dict[str, list[list[str]]] = {work.name: [] for work in WORKLOADS}
    with scratch() as directory:
        fill(directory)
        for name in algorithms(directory, options.algorithm):
            with serving(directory, name, SETTINGS) as server:
                warm(server)
                with all_hits(server):
                    for work in WORKLOADS:
                        row = compare(server, name, work, options.seconds)
                        tables[work.name] += filter(None, [row])
        second = [(size, max(1, size // 2)) for size in SIZES]
        third = [(64, threshold) for threshold in THRESHOLDS]
        with serving(directory, options.queue, SETTINGS) as server:
            warm(server)
            with all_hits(server):
                paper = {
                    (work.name, table): queues(server, work, options.seconds, pairs)
                    for work in WORKLOADS
                    for table, pairs in (("II", second), ("III", third))
                }
    columns = ["", "waits, a lock each", "waits, batched", "times fewer", "locks, a lock each"]
    columns += ["locks, batched", "throughput, times"]
    for work in WORKLOADS:
        title = (
            f"{work.name}, {CLIENTS} clients, per million references (target: {TARGET} times fewer)"
        )
        report(f"lock_contention_{work.name.split()[1]}", title, columns, tables[work.name])
    for (name, table), rows in paper.items():
        title = f"Table {table}: {name} under {options.queue}, {CLIENTS} clients"
        columns = ["queue / threshold", "waits a million", "locks a million", "throughput, times"]
        report(f"lock_contention_{name.split()[1]}_{table}", title, columns, rows)


if __name__ == "__main__":
    told(main)
