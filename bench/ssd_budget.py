#!/usr/bin/env python3
"""What a write budget costs: time of the devices, and pages written, by budget.

Each workload of ssd_improvement.py runs on an SSD of one size without a limit
first.  That gives the rate at which the policy writes by itself, in pages for a
second that memory waits.  Budgets are shares of that rate.  Budgets per day are
shares of all that it writes; the trace lasts less than a day.

Tables, for each policy and budget: time relative to no limit, what is saved by
the SSD relative to what it saves without a limit (time without an SSD, less
time with it), and pages written relative to the budget.  Goal: no more written
than the budget, and the first half of the writes saved costs little.
"""

from __future__ import annotations

import argparse
from statistics import fmean

from common import report
from ssd_improvement import MEMORY, workloads

from tidepool import parse_policy
from tidepool.simulation import Cell, Ssd, SsdResult, count_pages, parse_ssd_policy, simulate
from tidepool.simulation.sizes import PAGE_BYTES
from tidepool.traces import load
from tidepool.traces.model import Trace

MB = 1 << 20
DAY = 86_400
POLICIES = ("page_temperature", "tac", "lru")
SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)


def run(trace: Trace, memory: int, tiers: list[Ssd]) -> list[SsdResult]:
    """Return what each tier did."""
    cells = [Cell(parse_policy(MEMORY), memory, 0, tier) for tier in tiers]
    return [result.ssd for result in simulate([(trace, cells)])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=1_000_000, help="events of each trace")
    args = parser.parse_args()
    rows = []
    worst = 0.0
    for name, made, share, factors in workloads(args.length):
        trace = load(made)
        memory = round(share * count_pages(trace))
        frames = round(factors[-1] * memory)
        specs = [parse_ssd_policy(policy) for policy in POLICIES]
        none, *free = run(
            trace,
            memory,
            [Ssd(parse_ssd_policy("none"), 0), *(Ssd(spec, frames) for spec in specs)],
        )
        for spec, unlimited in zip(specs, free, strict=True):
            assert unlimited.time < DAY
            rate = unlimited.ssd_writes / unlimited.time * PAGE_BYTES / MB
            limits = [(share * rate, 0.0) for share in SHARES]
            limits += [(0.0, share * rate * unlimited.time) for share in SHARES]
            limited = run(
                trace,
                memory,
                [
                    Ssd(spec, frames, write_budget=second, write_budget_per_day=day)
                    for second, day in limits
                ],
            )
            for share, second, day in zip(SHARES, limited, limited[len(SHARES) :], strict=False):
                allowed = share * unlimited.ssd_writes * second.time / unlimited.time
                overdrawn = second.ssd_writes / allowed
                worst = max(worst, overdrawn)
                rows.append(
                    (
                        name,
                        str(spec),
                        share,
                        second.time / unlimited.time,
                        (none.time - second.time) / (none.time - unlimited.time),
                        overdrawn,
                        day.time / unlimited.time,
                        (none.time - day.time) / (none.time - unlimited.time),
                        day.ssd_writes / (share * unlimited.ssd_writes),
                    )
                )
    columns = ("time", "saved", "written")
    report(
        "ssd_budget",
        "with a budget per second, then per day: time, and saved time, relative to no limit;"
        " written, to the budget",
        ("workload", "policy", "budget", *columns, *columns),
        rows,
        width=120,
    )
    means = [
        (
            policy,
            share,
            *(
                fmean(row[column] for row in rows if row[1] == policy and row[2] == share)
                for column in range(3, 9)
            ),
        )
        for policy in POLICIES
        for share in SHARES
    ]
    report("ssd_budget_means", "means", ("policy", "budget", *columns, *columns), means)
    print(f"most written, relative to the budget per second: {worst:.2f}")


if __name__ == "__main__":
    main()
