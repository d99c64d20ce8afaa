#!/usr/bin/env python3
"""What a recording costs: throughput with none, with 1 % of the pages, with all of them.

As many clients as there are CPUs keep the server busy, so that what the
recording's worker takes is missed, too.  The three take turns; the table has
the medians of the loss within a round.  References dropped for want of room
are shown: a recording that drops would be cheap.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import os
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
    Slice,
    Workload,
    fill,
    paired,
    price,
    run,
    transactions_for,
    warm,
)

from tidepool.server import Instance

TARGETS = {0.01: 3, 1.0: 30}  # per cent of throughput
RATES = (0.0, 0.01, 1.0)
WORKLOADS = tuple(
    replace(work, clients=os.cpu_count() or 1) for work in (SELECT_ONLY, UPDATES, SCAN, LOOKUPS)
)


def recorded(
    instance: Instance, work: Workload, count: int, rate: float, totals: dict[float, list[int]]
) -> Slice:
    """Run while this part of the pages is recorded; add to written, dropped."""
    if rate == 0:
        return run(instance, work, count, {})
    path = instance.directory / "recording"
    path.unlink(missing_ok=True)
    instance.query(f"SELECT pg_bufferpool_trace_start('{path}', {rate})")
    done = run(instance, work, count, {})
    instance.query("SELECT pg_bufferpool_trace_stop()")
    text = instance.query("SELECT written, dropped FROM pg_stat_bufferpool_trace")
    for i, value in enumerate(text.split("|")):
        totals[rate][i] += int(value)
    return done


def loss(instance: Instance, work: Workload, rounds: int) -> list[str]:
    """A row: per cent of throughput lost, and of references dropped, at each rate."""
    count = transactions_for(instance, work, 1.0)
    totals = {rate: [0, 0] for rate in RATES}
    sides = [partial(recorded, instance, work, count, rate, totals) for rate in RATES]
    row = [work.name]
    base, *others = paired(sides, rounds)
    for rate, other in zip(RATES[1:], others, strict=True):
        written, dropped = totals[rate]
        slower = price(base, other)
        lost = 100 - 100 / (1 + slower.time / 100)
        row += [f"{lost:.1f} ± {slower.error:.1f}", f"{100 * dropped / (written + dropped):.1f}"]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="clock", help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=21, help="default: %(default)s")
    options = parser.parse_args()
    with scratch() as directory:
        fill(directory)
        with serving(directory, options.algorithm, {"shared_buffers": BUFFERS}) as server:
            warm(server)
            server.query("CREATE EXTENSION pg_bufferpool")
            rows = [loss(server, work, options.rounds) for work in WORKLOADS]
    columns = ["% lost"]
    for rate, target in TARGETS.items():
        columns += [f"{100 * rate:g} % (target {target})", "dropped, %"]
    title = f"Price of a recording under {options.algorithm}, {os.cpu_count()} clients"
    report("recorder_price", title, columns, rows)


if __name__ == "__main__":
    told(main)
