#!/usr/bin/env python3
"""What a policy that goes by time misses where work comes in bursts.

The references are those of bench/baselines.py's workloads without scans, ten
microseconds apart.  After each burst of half a second nobody references anything
for some time.  That changes nothing for clock, which knows no time, so misses are
shown as multiples of clock's; the first column has no pauses.  Goal: with any pause
pbm misses at most 1 % more than with none.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from baselines import workloads
from common import replay, report

from tidepool import InMemoryTrace
from tidepool.traces.columns import references
from tidepool.traces.model import Trace

WORKLOADS = ("zipf", "hot_cold", "shifting", "tpcc", "tpcc, repeated", "ycsb")
POLICIES = ("pbm", "pbm:frequency=on")
PAUSES = (0, 0.1, 1, 10, 100, 3600)  # seconds
BURST = 500_000  # microseconds
STEP = 10
SHARE = 0.1
GOAL = 1.01


def paused(trace: Trace, seconds: float) -> InMemoryTrace:
    """Return the trace's references with so long a pause after each burst."""
    chunks = [(chunk, references(chunk)) for chunk in trace.chunks()]
    page = np.concatenate([chunk.page[which] for chunk, which in chunks])
    flags = np.concatenate(
        [
            np.zeros(len(chunk), np.uint16)[which] if chunk.flags is None else chunk.flags[which]
            for chunk, which in chunks
        ]
    )
    time = np.arange(len(page), dtype=np.uint64) * np.uint64(STEP)
    time += time // np.uint64(BURST) * np.uint64(seconds * 1e6)
    return InMemoryTrace.from_arrays(trace.name, page, flags=flags, time=time)


def row(name: str, trace: Trace, policies: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row for each policy."""
    runs = [replay(paused(trace, pause), ("clock", *policies), [SHARE]) for pause in PAUSES]
    found = []
    for policy in policies:
        ratios = [run.relative(policy, SHARE, "clock") for run in runs]
        verdict = "reached" if max(ratios) <= GOAL * ratios[0] else "MISSED"
        cells = (f"{ratio:.3f}" for ratio in ratios)
        found.append((name, policy, *cells, verdict if policy == "pbm" else ""))
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", nargs="*", default=POLICIES, help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="fewer references")
    args = parser.parse_args()
    traces = workloads(150_000 if args.quick else 1_000_000)
    rows = [cells for name in WORKLOADS for cells in row(name, traces[name], args.policy)]
    columns = ("workload", "policy", *(f"{pause:g} s" for pause in PAUSES), "goal")
    report("pauses", f"misses / clock's, frames for {SHARE:.0%} of the pages", columns, rows)


if __name__ == "__main__":
    main()
