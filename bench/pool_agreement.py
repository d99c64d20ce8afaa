#!/usr/bin/env python3
"""Whether simulator and server agree on named pools: hits of each pool, live and replayed.

The workloads are those of agreement.py, from empty buffers.  The heap of
pgbench_accounts, its index, and pgbench_history have pools of their own; the
rest is in DEFAULT.  The first pool shrinks by half in the course of a
workload, and later gets more than it had.  Each row is a pool.

Goals: the same hits for one session whose hits are told at once, within 0.5 %
for eight clients with the default queues.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import numpy as np
from agreement import BEGIN, CLIENTS, END, FULL, GOAL, QUICK, Size, clients, session
from common import report
from live import scratch, serving, told

from tidepool.server import Instance
from tidepool.simulation import Options, recorded_layout, simulate_layouts
from tidepool.traces import Flag, open_trace
from tidepool.traces.columns import column, references

POOLS = ("DEFAULT", "accounts", "keys", "log")
LAYOUTS = (
    ("arc", "lirs", "lru", "clock"),
    ("lirs", "arc", "s3fifo", "osic"),
    ("lru", "lirs2", "car", "jam"),
    ("2q", "clock2q_plus", "sieve", "recycle"),
)
ASSIGNED = (
    "ALTER TABLE pgbench_accounts SET (buffer_pool = 'accounts')",
    "ALTER INDEX pgbench_accounts_pkey SET (buffer_pool = 'keys')",
    "ALTER TABLE pgbench_history SET (buffer_pool = 'log')",
)
SHARES = {"accounts": 0.4, "keys": 0.15, "log": 0.05}  # of shared_buffers
COLUMNS = ("pool", "algorithm", "live hits", "simulated", "difference", "% of hits", "misses")


@dataclass(frozen=True)
class Pool:
    """Hits of one pool in one workload."""

    name: str
    algorithm: str
    live: int
    simulated: int
    misses: int  # simulated

    @property
    def difference(self) -> float:
        """Simulated hits less live ones, relative to these."""
        return (self.simulated - self.live) / max(self.live, 1)

    def row(self) -> tuple[str | int | float, ...]:
        """Return what is printed of it."""
        return (
            *(self.name, self.algorithm, self.live, self.simulated),
            *(self.simulated - self.live, 100 * self.difference, self.misses),
        )


def sized(size: Size, times: float) -> str:
    """Return the statement that gives the first pool so many times its size."""
    kilobytes = int(size.shared_buffers.removesuffix("MB")) * 1024 * SHARES["accounts"] * times
    return f"ALTER BUFFER POOL accounts SET SIZE '{int(kilobytes)}kB'"


# ---- workloads ----


def resizing(size: Size) -> Iterator[str]:
    """Yield the statements of one session, and two resizes among them."""
    for i, statement in enumerate(session(size)):
        if i == size.transactions // 3:
            yield sized(size, 0.5) + ";"
        if i == size.transactions:
            yield sized(size, 1.2) + ";"
        yield statement


def one_session(server: Instance, size: Size) -> Path:
    """Run the statements in one session; return the recording."""
    warm_up, recording = server.directory / "warm.rec", server.directory / "one.rec"
    server.query(BEGIN.format(warm_up), END, BEGIN.format(recording), *resizing(size), END)
    return recording


def eight_clients(server: Instance, size: Size) -> Path:
    """Run pgbench's clients beside two resizes; return the recording."""
    timers = [
        Timer(seconds, server.query, [sized(size, times)])
        for seconds, times in ((1, 0.5), (2.5, 1.2))
    ]
    for timer in timers:
        timer.start()
    try:
        return clients(server, size)
    finally:
        for timer in timers:
            timer.join()


# ---- live and simulated ----


def compare(recording: Path, algorithms: tuple[str, ...]) -> list[Pool]:
    """Count each pool's hits in a recording, and in its replay."""
    trace = open_trace(recording)
    ran = trace.recorded
    assert ran is not None and ran.dropped == 0
    live = np.zeros(len(POOLS), np.int64)
    for chunk in trace.chunks():
        rows = references(chunk)
        pools = column(chunk, "pool", 0)[rows]
        hit = (column(chunk, "flags", 0)[rows] & Flag.HIT) > 0
        live += np.bincount(pools[hit], minlength=len(POOLS))
    (result,) = simulate_layouts(
        trace, [recorded_layout(ran)], ran.seed, Options(batch=ran.batch, scans=ran.scans)
    )
    counted = {pool.pool: (pool.requests - pool.misses, pool.misses) for pool in result.pools}
    return [
        Pool(name, algorithm, int(hits), *counted[name])
        for name, algorithm, hits in zip(POOLS, algorithms, live, strict=True)
    ]


def measure(directory: Path, algorithms: tuple[str, ...], size: Size) -> list[list[Pool]]:
    """Run both workloads with these algorithms."""
    settings = {
        "shared_buffers": size.shared_buffers,
        "bufferpool.trace_buffers": "65536",
        "max_connections": "20",  # DEFAULT keeps some buffers for each
    }
    kilobytes = int(size.shared_buffers.removesuffix("MB")) * 1024
    compared = []
    with serving(directory, algorithms[0], settings) as server:
        for name, algorithm in zip(POOLS[1:], algorithms[1:], strict=True):
            server.query(
                f'CREATE BUFFER POOL {name} HANDLER "{algorithm}"'
                f" SIZE '{int(kilobytes * SHARES[name])}kB'"
            )
        server.query(*ASSIGNED)
        for batch_size, run in (("1", one_session), ("64", eight_clients)):
            server.query(
                f"ALTER SYSTEM SET bufferpool.batch_size = {batch_size}", "SELECT pg_reload_conf()"
            )
            server.query(sized(size, 1))
            recording = run(server, size)
            compared.append(compare(recording, algorithms))
            for file in directory.glob("*.rec"):
                file.unlink()
        server.query("ALTER SYSTEM RESET bufferpool.batch_size")
        for name in POOLS[1:]:
            server.query(f"DROP BUFFER POOL {name} CASCADE")
    return compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="an eighth of it")
    args = parser.parse_args()
    size = QUICK if args.quick else FULL
    ones: list[Pool] = []
    many: list[Pool] = []
    with scratch() as directory:
        with serving(directory, "clock") as server:
            server.query("CREATE EXTENSION pg_bufferpool")
            server.run(server.bin / "pgbench", "-i", "-q", "-s", str(size.scale), "postgres")
        for algorithms in LAYOUTS:
            one, eight = measure(directory, algorithms, size)
            ones += one
            many += eight
    report("pool_agreement_one_session", "one session", COLUMNS, [pool.row() for pool in ones])
    report("pool_agreement_clients", f"{CLIENTS} clients", COLUMNS, [pool.row() for pool in many])
    exact = sum(pool.live == pool.simulated for pool in ones)
    within = sum(abs(pool.difference) <= GOAL for pool in many)
    print(f"one session: the same hits in {exact} of {len(ones)} pools")
    print(
        f"{CLIENTS} clients: within {100 * GOAL:g} % of the hits in {within} of {len(many)} pools"
    )


if __name__ == "__main__":
    told(main)
