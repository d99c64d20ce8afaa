"""How long the pool's lock is held for a miss, by the build that counts holds.

The build keeps a histogram of the nanoseconds of each hold.  pgbench's
select-only runs with one client, whose holds nobody disturbs, and with eight,
of which some are preempted while they hold the lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import report
from dots import Panel, clients_text, draw
from live import counters, huge_pages, programs, serving
from pgbench import SELECT_ONLY, pool_counters, throughput

from tidepool.errors import TidepoolError
from tidepool.server import Instance

BUILD = "timed"
CLIENTS = (1, 8)
SECONDS = 5
LISTS = ("fifo", "lru", "mru", "2q", "mq", "arc", "car", "lirs", "rcrd", "sieve", "s3fifo")
# nanoseconds for a miss
GOALS = {**dict.fromkeys((*LISTS, "w_tinylfu", "keep"), 500), "pbm": 1500}


@dataclass(frozen=True)
class Holds:
    """The holds of a run.

    Attributes:
        bounds: [bin, 2], nanoseconds.
        counts: of the holds in each bin.
        misses: in the same time.
    """

    algorithm: str
    clients: int
    bounds: np.ndarray
    counts: np.ndarray
    misses: int

    def quantile(self, share: float) -> float:
        """Return the nanoseconds that this share of the holds did not exceed."""
        below = np.concatenate([[0], self.counts.cumsum()]) / self.counts.sum()
        edges = np.concatenate([self.bounds[:1, 0], self.bounds[:, 1]])
        return float(np.interp(share, below, edges))

    @property
    def held(self) -> float:
        """Nanoseconds for which the lock is held for a miss, each hold in the middle of its bin."""
        return float(self.counts @ self.bounds.mean(axis=1)) / self.misses

    def cells(self) -> list[str]:
        """A row of the table."""
        goal = GOALS.get(self.algorithm)
        return [
            self.algorithm,
            str(self.clients),
            f"{self.counts.sum() / self.misses:.2f}",
            f"{self.quantile(0.5):.0f}",
            f"{self.quantile(0.99):.0f}",
            f"{self.held:.0f}",
            f"{1e9 / self.held:,.0f}",
            "" if goal is None else f"{'reached' if self.held <= goal else 'missed'} ({goal})",
        ]


COLUMNS = (
    *("clients", "holds a miss", "median, ns", "99 %, ns", "ns a miss"),
    *("misses/s at most", "goal, ns a miss"),
)


def holds(instance: Instance, algorithm: str, clients: int) -> Holds | None:
    """Run select-only; None if the lock was never taken."""
    counters(instance)  # when the last sessions have ended
    instance.query("SELECT pg_stat_reset_bufferpools()")
    throughput(instance, replace(SELECT_ONLY, clients=clients), SECONDS, {})
    misses = pool_counters(instance)["reads"]
    rows = instance.query(
        "SELECT from_ns, to_ns, holds FROM pg_bufferpool_lock_holds() ORDER BY from_ns"
    )
    table = np.array([[float(cell) for cell in row.split("|")] for row in rows.splitlines()])
    if not len(table) or not table[:, 2].sum():
        return None
    return Holds(algorithm, clients, table[:, :2], table[:, 2], misses)


def measure(directory: Path, algorithms: Sequence[str], shared_buffers: str) -> None:
    """Print the table and draw the picture; without that build, say so."""
    try:
        programs("clock", BUILD)
    except TidepoolError as error:
        print(f"how long the lock is held is left out: {error}; {error.hint}")
        return
    settings = {"shared_buffers": shared_buffers}
    settings["huge_pages"] = huge_pages([directory], settings)
    found = []
    for name in algorithms:
        with serving(directory, name, settings, BUILD) as instance:
            # the build has functions of its own
            instance.query("DROP EXTENSION IF EXISTS pg_bufferpool; CREATE EXTENSION pg_bufferpool")
            throughput(instance, replace(SELECT_ONLY, clients=8), SECONDS, {})  # warms
            for clients in CLIENTS:
                if held := holds(instance, name, clients):
                    found.append(held)
                    print("; ".join(held.cells()), flush=True)
    if not found:
        print("how long the lock is held is left out: nobody takes it")
        return
    report(
        "lock_holds",
        "Holds of the pool's lock, select-only",
        ("", *COLUMNS),
        [held.cells() for held in found],
    )
    picture(found)


def picture(found: Sequence[Holds]) -> None:
    """Median and 99th percentile of a hold, and the time held for a miss; the least on top."""
    by = {(held.algorithm, held.clients): held for held in found}
    first = [held for held in found if held.clients == CLIENTS[0]]
    names = [held.algorithm for held in sorted(first, key=lambda held: held.held)]
    panels = [
        Panel(
            label,
            {clients_text(n): [(value(by[name, n]), 0) for name in names] for n in CLIENTS},
            goal,
            "log",
        )
        for label, value, goal in (
            ("held for a miss, ns", lambda held: held.held, 500),
            ("median hold, ns", lambda held: held.quantile(0.5), None),
            ("99 % of the holds, ns", lambda held: held.quantile(0.99), None),
        )
    ]
    draw("lock_holds", names, panels)
