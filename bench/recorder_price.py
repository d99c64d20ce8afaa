#!/usr/bin/env python3
"""What a recording costs: throughput with none, with 1 % of the pages, with all of them.

Clients, their sessions and the recording's worker share one CPU, so that what
the worker takes is missed, too.  The recordings take turns with none; see
pgbench.py.  References dropped for want of room are shown: a recording that
drops would be cheap.

Needs make postgres.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from common import report
from live import scratch, serving, told
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    UPDATES,
    Side,
    Workload,
    against,
    fill,
    prices,
    share_one_cpu,
    warm,
)

from tidepool.server import Instance

SETTINGS = {"shared_buffers": BUFFERS, "bufferpool.trace_buffers": "4096"}
TARGETS = {0.01: 3, 1.0: 30}  # per cent of throughput, by the share of the pages recorded
# long enough for the worker to be called many times
WORKLOADS = tuple(
    replace(work, clients=4, turn=0.5) for work in (SELECT_ONLY, UPDATES, SCAN, LOOKUPS)
)


class Recorded(Side):
    """A side during whose turns a part of the pages is recorded.

    Attributes:
        written, dropped: references.
    """

    def __init__(self, instance: Instance, workload: Workload, rate: float) -> None:
        """Start pgbench and stop it."""
        super().__init__(instance, workload)
        self.written = 0
        self.dropped = 0
        self._instance = instance
        self._rate = rate

    def turn(self) -> None:
        """Record a turn."""
        path = self._instance.directory / "recording"
        path.unlink(missing_ok=True)
        self._instance.query(f"SELECT pg_bufferpool_trace_start('{path}', {self._rate})")
        super().turn()
        self._instance.query("SELECT pg_bufferpool_trace_stop()")
        row = self._instance.query("SELECT written, dropped FROM pg_stat_bufferpool_trace")
        written, dropped = map(int, row.split("|"))
        self.written += written
        self.dropped += dropped


def loss(instance: Instance, work: Workload, rounds: int) -> list[str]:
    """A row: per cent of throughput lost, and of references dropped, at each rate."""
    recorded = [Recorded(instance, work, rate) for rate in TARGETS]
    latencies = against(partial(Side, instance, work), recorded, rounds)
    cells = [work.name]
    for side, price in zip(recorded, prices([latencies]), strict=True):
        lost = 100 - 100 / (1 + price.median / 100)
        dropped = 100 * side.dropped / (side.written + side.dropped)
        cells += [f"{lost:.1f} ± {price.error:.1f}", f"{dropped:.1f}"]
    print("; ".join(cells), flush=True)
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="clock", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=31, help="default: %(default)s")
    options = parser.parse_args()
    with scratch() as directory:
        fill(directory)
        with serving(directory, options.algorithm, SETTINGS) as server:
            server.query("CREATE EXTENSION pg_bufferpool")
            warm(server)
            share_one_cpu(server)
            rows = [loss(server, work, options.rounds) for work in WORKLOADS]
    columns = ["% lost"]
    for rate, target in TARGETS.items():
        columns += [f"{100 * rate:g} % (target {target})", "dropped, %"]
    report("recorder_price", f"Price of a recording under {options.algorithm}", columns, rows)


if __name__ == "__main__":
    told(main)
