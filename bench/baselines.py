#!/usr/bin/env python3
"""Misses compared with PostgreSQL's clock, and with the one proposed for version 20.

`clock` is what PostgreSQL does, `cooling` what it may do next: the baselines
that a policy must beat to be worth its price.  Ten generated workloads, with
frames for 5, 10 and 30 % of their pages.  "tpcc, repeated" makes each reference
four times in a row, and none is marked as correlated, as a caller would see it
who cannot tell; in the others such references are marked.  tpch_scans and
dynzipf_ro announce their scans, which `pbm` uses.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import geometric_mean

import numpy as np
from common import replay, report

from tidepool import InMemoryTrace
from tidepool.generators import (
    DynZipfRo,
    HotCold,
    Loop,
    OltpScan,
    Shifting,
    Tpcc,
    TpchScans,
    Ycsb,
    Zipf,
)
from tidepool.traces.columns import references
from tidepool.traces.model import Trace

BASELINES = ("clock", "cooling")
OTHERS = (
    "lru",
    "slru",
    "2q",
    "arc",
    "car",
    "lirs",
    "sieve",
    "s3fifo",
    "clock2q_plus",
    "w_tinylfu",
    "hyperbolic",
    "watt",
    "pbm",
)
SHARES = (0.05, 0.1, 0.3)


def unmarked(trace: Trace) -> InMemoryTrace:
    """Return the trace's pages alone."""
    pages = [chunk.page[references(chunk)] for chunk in trace.chunks()]
    return InMemoryTrace.from_arrays(trace.name, np.concatenate(pages))


def workloads(length: int) -> dict[str, Trace]:
    """Return the traces by name, of about this many references each."""
    return {
        "zipf": Zipf(pages=20_000, length=length, alpha=0.9),
        "hot_cold": HotCold(pages=20_000, length=length),
        "shifting": Shifting(pages=20_000, length=length, working_set=2_000, phase=length // 40),
        "loop": Loop(pages=20_000, length=length),
        "oltp_scan": OltpScan(pages=20_000, length=length, scan_blocks=4_000),
        "tpcc": Tpcc(warehouses=2, length=length),
        "tpcc, repeated": unmarked(Tpcc(warehouses=2, length=length, repeats=3)),
        "ycsb": Ycsb(length=length),
        "tpch_scans": TpchScans(pages=12_100, speed=1_000, streams=8),
        "dynzipf_ro": DynZipfRo(pages=6_000, blocks=1_200, phase=10_000, rate=2_000),
    }


def rows(
    traces: dict[str, Trace], policies: Sequence[str], share: float
) -> list[tuple[str, *tuple[float, ...]]]:
    """Return misses as multiples of the clock's: a row per policy, the geometric mean last."""
    names = list(dict.fromkeys((*BASELINES, *policies, "opt")))
    runs = [replay(trace, names, [share]) for trace in traces.values()]
    table: list[tuple[str, *tuple[float, ...]]] = []
    for name in names:
        ratios = [run.relative(name, share, "clock") for run in runs]
        table.append((name, *ratios, geometric_mean(ratios)))
    return table


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", nargs="*", default=OTHERS, help=f"default: {' '.join(OTHERS)}")
    parser.add_argument("--quick", action="store_true", help="fewer references")
    args = parser.parse_args()
    traces = workloads(150_000 if args.quick else 1_000_000)
    for share in SHARES:
        report(
            f"baselines_{share:.0%}".replace("%", ""),
            f"misses as multiples of clock's, frames for {share:.0%} of the pages",
            ("policy", *traces, "mean"),
            rows(traces, args.policy, share),
        )


if __name__ == "__main__":
    main()
