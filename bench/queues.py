#!/usr/bin/env python3
"""What it costs in misses that processes report their hits late.

A process of the server queues its hits and reports them together: from
bufferpool.batch_threshold on (32 by default) if the pool's lock is free, at
bufferpool.batch_size (64) in any case, and when it takes the lock to choose a
victim.  In a replay the lock is always free, so the queue's size here is the
server's threshold, or its size where the lock is busy.

Five generated workloads of 1, 8 and 64 processes, with frames for 5, 10 and 30 %
of their pages.  The processes of zipf and shifting take turns at random.  The
policies are those whose hits need the pool's lock, except those that ignore
hits, those for an SSD, and `mru`, which depends on the order of every two
references.

The first table has the misses compared with a replay without queues, in
percent: mean, most and least over workloads, policies and sizes.  The second
has each policy's mean and most with 64 processes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from common import report

from tidepool import parse_policy
from tidepool.generators import OltpScan, Shifting, Tpcc, Ycsb, Zipf
from tidepool.simulation import Cell, Options, count_pages, simulate
from tidepool.traces import InMemoryTrace, load
from tidepool.traces.model import Trace

POLICIES = (
    "lru",
    "slru",
    "lru_k",
    "2q",
    "mq",
    "arc",
    "lirs",
    "lirs2",
    "w_tinylfu",
    "pbm_pq",
)
QUEUES = (1, 8, 16, 32, 64, 128, 256)
PROCESSES = (1, 8, 64)
SHARES = (0.05, 0.1, 0.3)

FIGURES = (fmean, max, min)

Run = tuple[str, float, str]  # workload, share of its pages, policy
Misses = dict[tuple[Run, int], int]  # by queue; 0: none


def dealt(trace: Trace, processes: int) -> InMemoryTrace:
    """Deal the trace's references to the processes at random."""
    page = np.concatenate([chunk.page for chunk in trace.chunks()])
    backend = 1 + np.random.default_rng(0).integers(processes, size=len(page))
    return InMemoryTrace.from_arrays(trace.name, page, backend=backend)


def workloads(length: int, processes: int) -> dict[str, Trace]:
    """Return the traces by name, of about this many references each."""
    shifting = Shifting(pages=20_000, length=length, working_set=2_000, phase=length // 40)
    return {
        "zipf": dealt(Zipf(pages=20_000, length=length, alpha=0.9), processes),
        "shifting": dealt(shifting, processes),
        "oltp_scan": OltpScan(pages=20_000, length=length, scan_blocks=4_000, backends=processes),
        "tpcc": Tpcc(warehouses=2, length=length, backends=processes),
        "ycsb": Ycsb(length=length, backends=processes),
    }


def measure(length: int, processes: int, policies: Sequence[str]) -> Misses:
    """Replay the workloads of so many processes, without queues and with each."""
    found: Misses = {}
    for name, trace in workloads(length, processes).items():
        loaded = load(trace)
        pages = count_pages(loaded)
        runs = [(name, share, policy) for share in SHARES for policy in policies]
        cells = [Cell(parse_policy(policy), round(share * pages)) for _, share, policy in runs]
        for queue in (0, *QUEUES):
            results = simulate([(loaded, cells)], Options(batch=queue))
            found.update(
                {(run, queue): result.misses for run, result in zip(runs, results, strict=True)}
            )
    return found


def changes(found: Misses, queue: int, policies: Iterable[str]) -> list[float]:
    """Return by how many percent this queue changes the misses of each run."""
    return [
        100 * (misses / found[run, 0] - 1)
        for (run, size), misses in found.items()
        if size == queue and run[2] in policies
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "policy", nargs="*", default=POLICIES, help=f"default: {' '.join(POLICIES)}"
    )
    parser.add_argument("--quick", action="store_true", help="fewer references")
    args = parser.parse_args()
    length = 150_000 if args.quick else 500_000
    rows = []
    for processes in PROCESSES:
        found = measure(length, processes, args.policy)
        for queue in QUEUES:
            values = changes(found, queue, args.policy)
            figures = [figure(values) for figure in FIGURES]
            rows.append((processes, queue, *(f"{figure:+.2f}" for figure in figures)))
    columns = ("processes", "queue", "mean, %", "most", "least")
    report("queues", "misses compared with a replay without queues", columns, rows)
    by_policy = []
    for policy in args.policy:
        of_each = [changes(found, queue, [policy]) for queue in QUEUES]
        by_policy.append(
            (policy, *(f"{fmean(of_one):+.2f} ({max(of_one):+.2f})" for of_one in of_each))
        )
    title = f"{PROCESSES[-1]} processes, by queue: mean and most, %"
    names = ("policy", *map(str, QUEUES))
    report("queues_policies", title, names, by_policy, width=160)


if __name__ == "__main__":
    main()
