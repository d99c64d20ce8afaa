#!/usr/bin/env python3
"""What an algorithm costs where all pages are resident, against unpatched PostgreSQL.

Two servers run side by side: PostgreSQL as it comes, and ours, restarted
for each algorithm.  Stock, batched hits (the default) and a lock for each hit
(bufferpool.batch_size = 1) take turns; see pgbench.py.  Where a server's memory
and its code happen to lie makes it faster or slower by some per cent, so both are
started anew several times, each time with their code elsewhere (layouts.py).
"stock" in the table is stock PostgreSQL as the other server: what the method
cannot tell apart.

Then come fifteen kinds of queries (patterns.py), batched only, with half as
many rounds: their mean, and the worst.  The worst of fifteen is worse than it
would be alone, by chance: compare it with stock's.

All algorithms take more than an hour on a quiet machine.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import patterns
from common import report
from dots import Panel, draw
from layouts import Layouts, shifted
from live import STOCK, copied, huge_pages, scratch, serving, told
from patterns import PATTERNS
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    Price,
    Side,
    against,
    algorithms,
    all_hits,
    fill,
    medians,
    prices,
    share_one_cpu,
    slower,
    warm,
)

TARGET = 2.0  # per cent
UNBATCHED = {"bufferpool.batch_size": "1"}
WORKLOADS = (SELECT_ONLY, SCAN, LOOKUPS)
SETTINGS = {"shared_buffers": BUFFERS, **patterns.SETTINGS}
QUICK = ["clock", "cooling", "lru", "arc", "lirs"]


@dataclass(frozen=True)
class Start:
    """Of one start of both servers, latencies as against returns them."""

    workloads: list[np.ndarray]
    patterns: list[np.ndarray]


def measure(
    directories: Sequence[Path],
    algorithm: str,
    settings: Mapping[str, str],
    rounds: int,
    start: int,
    layouts: Layouts,
) -> Start:
    """Start both servers and let them take turns.

    Who is started first changes with the number of the start.
    """
    drawn = Random(f"{algorithm} {start}")
    order = [
        (directory, name, layouts.draw(name, drawn))
        for directory, name in zip(directories, (STOCK, algorithm), strict=True)
    ]
    with ExitStack() as stack:
        servers = {}
        for directory, name, place in order if start % 2 else reversed(order):
            servers[directory] = stack.enter_context(serving(directory, name, settings, at=place))
            warm(servers[directory])
            patterns.warm(servers[directory])
        peer, server = (servers[directory] for directory in directories)
        share_one_cpu(peer, server)
        found = Start([], [])
        with all_hits(peer), all_hits(server):
            for work in WORKLOADS:
                ours = [Side(server, work)]
                if algorithm not in (STOCK, "clock"):
                    ours.append(Side(server, work, UNBATCHED))
                found.workloads.append(against(partial(Side, peer, work), ours, rounds))
            for pattern in PATTERNS:
                base, ours = partial(Side, peer, pattern.work), [Side(server, pattern.work)]
                found.patterns.append(against(base, ours, max(1, rounds // 2)))
        return found


@dataclass(frozen=True)
class Result:
    """An algorithm's prices.

    Attributes:
        workloads: batched and, if that differs, unbatched, of each.
        patterns: of each, batched.
        mean: of the patterns.
    """

    algorithm: str
    workloads: list[list[Price]]
    patterns: list[Price]
    mean: Price

    @property
    def worst(self) -> int:
        """The number of the pattern with the highest price."""
        return max(range(len(PATTERNS)), key=lambda i: self.patterns[i].median)

    def cells(self) -> list[str]:
        """A row of the first table."""
        found = [[str(price) for price in of_workload] for of_workload in self.workloads]
        worst = f"{self.patterns[self.worst]} ({PATTERNS[self.worst].work.name})"
        pairs = [cell for of_workload in found for cell in [*of_workload, ""][:2]]
        return [self.algorithm, *pairs, str(self.mean), worst]


def result(algorithm: str, starts: Sequence[Start]) -> Result:
    """Put an algorithm's starts together."""
    of_patterns = [np.column_stack([slower(one) for one in start.patterns]) for start in starts]
    found, errors = medians(of_patterns)
    if len(starts) > 1:
        means = [np.nanmedian(start, axis=0).mean() for start in of_patterns]
        error = np.std(means, ddof=1) / len(means) ** 0.5
    else:
        error = np.hypot.reduce(errors) / len(errors)
    return Result(
        algorithm,
        [prices(of_workload) for of_workload in zip(*(s.workloads for s in starts), strict=True)],
        [Price(*pair) for pair in zip(found.tolist(), errors.tolist(), strict=True)],
        Price(float(found.mean()), float(error)),
    )


def tables(results: Sequence[Result]) -> None:
    columns = ["% slower than stock"]
    for work in WORKLOADS:
        columns += [work.name, "a lock each"]
    columns += ["15 patterns", "the worst"]
    title = f"Price of hits (target: at most {TARGET:g} % batched, and in the mean of the patterns)"
    report("hit_path", title, columns, [found.cells() for found in results], width=160)
    report(
        "hit_path_patterns",
        "Price of hits, batched, by pattern",
        ["% slower than stock", *(pattern.work.name for pattern in PATTERNS), "mean"],
        [[found.algorithm, *map(str, found.patterns), str(found.mean)] for found in results],
        width=240,
    )


def picture(results: Sequence[Result]) -> None:
    """Prices of batched hits; the lowest mean on top, below stock itself."""
    rows = [results[0], *sorted(results[1:], key=lambda found: found.mean.median)]

    def dot(price: Price) -> tuple[float, float]:
        return price.median, 1.96 * price.error

    panels = [
        Panel(
            "15 patterns, % slower (95 % confidence)",
            {
                "mean": [dot(found.mean) for found in rows],
                "worst": [dot(found.patterns[found.worst]) for found in rows],
            },
            TARGET,
        ),
        Panel(
            "workloads, % slower (95 % confidence)",
            {
                work.name: [dot(found.workloads[i][0]) for found in rows]
                for i, work in enumerate(WORKLOADS)
            },
            TARGET,
        ),
    ]
    draw("hit_path", [found.algorithm for found in rows], panels)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="patterns:\n"
        + "\n".join(f"  {pattern.work.name:14}{pattern.exercises}" for pattern in PATTERNS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("algorithm", nargs="*", help="all by default")
    parser.add_argument("--starts", type=int, default=4, help="of both servers, %(default)s")
    parser.add_argument("--rounds", type=int, default=40, help="after each, %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help=f"2 starts of {' '.join(QUICK)}: ten minutes"
    )
    options = parser.parse_args()
    starts = 2 if options.quick else options.starts
    with scratch() as one:
        fill(one)
        with serving(one, STOCK, SETTINGS) as instance:
            patterns.make(instance)
            patterns.check_plans(instance)
        names = algorithms(one, options.algorithm or (QUICK if options.quick else ()))
        with copied(one) as two, shifted() as layouts:
            settings = {**SETTINGS, "huge_pages": huge_pages((one, two), SETTINGS)}
            results = []
            for name in (STOCK, *names):
                of_starts = [
                    measure((one, two), name, settings, options.rounds, start, layouts)
                    for start in range(starts)
                ]
                results.append(result(name, of_starts))
                print("; ".join(results[-1].cells()), flush=True)
    tables(results)
    picture(results)


if __name__ == "__main__":
    told(main)
