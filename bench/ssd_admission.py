#!/usr/bin/env python3
"""Whether pages come to the SSD after memory has read them, or when it evicts them.

Time (the sum of what both devices take, docs/ssd-tier.md) and pages written to
the SSD with admission at eviction, each relative to admission after the read,
over the workloads and sizes of ssd_improvement.py.

At eviction the SSD has fewer pages that memory has, too, and a page has shown by
then how often it is used; after the read memory need not give its buffer away
while a page waits to be written, and the disk's class of the read is known.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from statistics import fmean

from common import report
from ssd_improvement import MEMORY, workloads

from tidepool import parse_policy
from tidepool.simulation import (
    Cell,
    Options,
    Ssd,
    SsdResult,
    count_pages,
    parse_ssd_policy,
    simulate,
)
from tidepool.traces import load
from tidepool.traces.model import Trace

POLICIES = ("tac", "page_temperature", "lru", "clock", "arc")


def run(trace: Trace, memory: int, ssds: list[Ssd]) -> list[SsdResult]:
    """Return what each SSD did in the last three quarters of the trace."""
    cells = [Cell(parse_policy(MEMORY), memory, 0, ssd) for ssd in ssds]
    warmup = (trace.length or 0) // 4
    return [result.ssd for result in simulate([(trace, cells)], Options(warmup=warmup))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=2_000_000, help="events of each trace")
    args = parser.parse_args()
    columns: list[str] = []
    time: dict[str, list[float]] = {name: [] for name in POLICIES}
    writes: dict[str, list[float]] = {name: [] for name in POLICIES}
    for name, made, share, factors in workloads(args.length):
        trace = load(made)
        memory = round(share * count_pages(trace))
        columns += [f"{name} x{factor:g}" for factor in factors]
        for policy in POLICIES:
            spec = parse_ssd_policy(policy)
            early = [Ssd(spec, round(factor * memory)) for factor in factors]
            late = [replace(ssd, at_eviction=True) for ssd in early]
            results = run(trace, memory, early + late)
            for before, after in zip(results, results[len(early) :], strict=False):
                time[policy].append(after.time / before.time)
                writes[policy].append(after.ssd_writes / before.ssd_writes)
    for what, values in (("time", time), ("writes", writes)):
        rows = [(policy, *ratios, fmean(ratios)) for policy, ratios in values.items()]
        title = f"{what} with admission at eviction relative to after the read; SSD as multiples"
        report(f"ssd_admission_{what}", f"{title} of memory", ("policy", *columns, "mean"), rows)


if __name__ == "__main__":
    main()
