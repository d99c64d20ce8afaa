#!/usr/bin/env python3
"""Whether simulator and server agree: hits of a live server, and of its recording replayed.

Every algorithm that the server has runs two workloads from an empty pool
(pg_bufferpool_reset) on a pool much smaller than the data, and both are
recorded and replayed with what the server ran:

- One session whose hits are told at once (bufferpool.batch_size 1).  Goal:
  the same number of hits.
- Eight pgbench clients that read and write, with the default queues, replayed
  with queues and without.  Goal: within 0.1 % of the live hits.

keep never evicts; as the pool's only algorithm it leaves all choices to the
clock, so it is replayed as that.  w_tinylfu counts pages by a hash of what
they are called, which is not the same in a server and in its trace.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from common import count, report
from live import scratch, serving, told

from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.simulation import Cell, Options, simulate
from tidepool.traces import Flag, open_trace

GOAL = 0.001
CLIENTS = 8
SKEW = 1.1

BEGIN = "SELECT pg_bufferpool_reset(), pg_stat_reset_bufferpools(), pg_bufferpool_trace_start('{}')"
END = "SELECT pg_bufferpool_trace_stop()"

READ = f"""
\\set aid random_zipfian(1, 100000 * :scale, {SKEW})
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
WRITE = f"""
\\set aid random_zipfian(1, 100000 * :scale, {SKEW})
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""
RANGE = """
\\set first random(1, 99000 * :scale)
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 500;
"""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    scale: int  # of pgbench: 100,000 accounts each
    shared_buffers: str
    transactions: int  # of the one session, and of each client


FULL = Size(scale=5, shared_buffers="16MB", transactions=4000)
QUICK = Size(scale=1, shared_buffers="4MB", transactions=500)


@dataclass(frozen=True)
class Agreement:
    """Hits of one algorithm in one workload."""

    algorithm: str
    references: int
    live: int
    simulated: int
    unqueued: int  # simulated without queues

    @property
    def difference(self) -> float:
        """Simulated hits less live ones, relative to these."""
        return (self.simulated - self.live) / self.live

    @property
    def without_queues(self) -> float:
        """Likewise of a replay that reports everything at once."""
        return (self.unqueued - self.live) / self.live

    def row(self) -> tuple[str | int | float, ...]:
        """Return what is printed of it."""
        points = 100 * (self.simulated - self.live) / self.references
        return (
            self.algorithm,
            self.references,
            self.live,
            self.simulated,
            self.simulated - self.live,
            100 * self.difference,
            points,
            100 * self.without_queues,
        )


COLUMNS = (
    *("algorithm", "references", "live hits", "simulated", "difference", "% of hits", "points"),
    "no queues, %",
)


# ---- workloads ----


def session(size: Size) -> Iterator[str]:
    """Yield statements: lookups, updates, ranges, joins, tables that come and go."""
    draw = np.random.default_rng(1)
    accounts = 100_000 * size.scale
    for i in range(size.transactions):
        aid = 1 + int(draw.zipf(SKEW) - 1) % accounts
        kind = draw.random()
        if kind < 0.6:
            yield f"SELECT abalance FROM pgbench_accounts WHERE aid = {aid};"
        elif kind < 0.85:
            bid, tid = 1 + aid % size.scale, 1 + aid % (10 * size.scale)
            yield f"UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = {aid};"
            yield f"UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = {tid};"
            yield f"INSERT INTO pgbench_history VALUES ({tid}, {bid}, {aid}, 1, now());"
        elif kind < 0.95:
            first = int(draw.integers(1, accounts - 1000))
            yield (
                "SELECT sum(abalance) FROM pgbench_accounts"
                f" WHERE aid BETWEEN {first} AND {first + 500};"
            )
        else:
            yield (
                "SELECT count(*) FROM pgbench_tellers t JOIN pgbench_accounts a"
                f" ON a.aid = t.tid * 997 WHERE t.bid = {1 + i % size.scale};"
            )


def one_session(server: Instance, size: Size, begin_with: str = BEGIN) -> Path:
    """Run the statements in one session; return the recording."""
    warm_up, recording = server.directory / "warm.rec", server.directory / "one.rec"
    # a first recording, so that the catalog caches have seen the functions
    begin = begin_with.format(warm_up), END, begin_with.format(recording)
    server.query(*begin, *session(size), END)
    return recording


def clients(server: Instance, size: Size, begin_with: str = BEGIN) -> Path:
    """Run pgbench's clients; return the recording."""
    recording = server.directory / "clients.rec"
    scripts: list[str | Path] = []
    for name, text, weight in (("read", READ, 6), ("write", WRITE, 3), ("range", RANGE, 1)):
        path = server.directory / f"{name}.sql"
        path.write_text(text)
        path.chmod(0o644)
        scripts += ["-f", f"{path}@{weight}"]
    server.query(begin_with.format(recording))
    done = server.run(
        *(server.bin / "pgbench", "-n", "-M", "prepared", "-s", str(size.scale)),
        *("-c", str(CLIENTS), "-j", "2", "-t", str(size.transactions), "--random-seed", "1"),
        *scripts,
        "postgres",
    )
    if done.returncode != 0:
        raise TidepoolError(f"pgbench failed: {done.stdout}")
    server.query(END)
    return recording


# ---- live and simulated ----


def compare(recording: Path) -> Agreement:
    """Count a recording's hits, and those of its replays."""
    trace = open_trace(recording)
    ran = trace.recorded
    assert ran is not None
    if ran.dropped != 0:
        raise TidepoolError("; ".join(ran.flaws()))
    live = sum(
        int(np.count_nonzero(chunk.flags & Flag.HIT))
        for chunk in trace.chunks()
        if chunk.flags is not None
    )
    cells = [Cell(parse_policy(ran.policy), ran.frames, ran.seed)]
    hits = []
    for options in (
        Options(batch=ran.batch, scans=ran.scans),
        Options(scans=ran.scans),
    ):
        (result,) = simulate([(trace, cells)], options)
        hits.append(result.requests - result.misses)
    return Agreement(ran.algorithm, result.requests, live, *hits)


def in_all(agreements: list[Agreement]) -> tuple[str | int | float, ...]:
    """Return what is printed of the runs of one algorithm."""
    differences = sorted((agreement.difference for agreement in agreements), key=abs)
    return (
        agreements[0].algorithm,
        sum(agreement.live == agreement.simulated for agreement in agreements),
        sum(abs(difference) <= GOAL for difference in differences),
        100 * median(abs(difference) for difference in differences),
        100 * differences[-1],
        100 * median(abs(agreement.without_queues) for agreement in agreements),
    )


IN_ALL = (
    *("algorithm", "runs exact", f"within {GOAL:.1%}", "median, % of hits", "most, % of hits"),
    "no queues, median",
)


def measure(directory: Path, algorithm: str, size: Size) -> tuple[Agreement, Agreement]:
    """Run both workloads under an algorithm."""
    settings = {
        "shared_buffers": size.shared_buffers,
        "bufferpool.trace_buffers": "65536",
    }
    with serving(directory, algorithm, settings) as server:
        server.query("ALTER SYSTEM SET bufferpool.batch_size = 1", "SELECT pg_reload_conf()")
        one = compare(one_session(server, size))
        server.query("ALTER SYSTEM RESET bufferpool.batch_size", "SELECT pg_reload_conf()")
        many = compare(clients(server, size))
        for recording in directory.glob("*.rec"):
            recording.unlink()
    return one, many


def show(ones: list[Agreement], many: list[Agreement]) -> None:
    """Print one run of the algorithms."""
    rows = [agreement.row()[:-1] for agreement in ones]
    report("agreement_one_session", "one session, no queues", COLUMNS[:-1], rows)
    rows = [agreement.row() for agreement in many]
    report("agreement_clients", f"{CLIENTS} clients, default queues", COLUMNS, rows)
    exact = sum(agreement.live == agreement.simulated for agreement in ones)
    within = sum(abs(agreement.difference) <= GOAL for agreement in many)
    of = len(ones)
    print(f"one session: the same hits with {exact} of {of} algorithms")
    print(f"{CLIENTS} clients: within {GOAL:.1%} of the hits with {within} of {of} algorithms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="an eighth of it")
    parser.add_argument("--algorithm", action="append", default=[], help="only this one")
    parser.add_argument("--runs", type=count, default=1, help="of everything, one after another")
    args = parser.parse_args()
    size = QUICK if args.quick else FULL
    runs: list[list[Agreement]] = []
    with scratch() as directory:
        with serving(directory, "clock") as server:
            server.query("CREATE EXTENSION pg_bufferpool")
            server.run(server.bin / "pgbench", "-i", "-q", "-s", str(size.scale), "postgres")
            there = server.query("SELECT name FROM pg_bufferpool_algorithms()").splitlines()
        for _ in range(args.runs):
            ones, many = [], []
            for algorithm in args.algorithm or there:
                one, eight = measure(directory, algorithm, size)
                ones.append(one)
                many.append(eight)
            show(ones, many)
            runs.append(many)
    if args.runs > 1:
        rows = [in_all(list(agreements)) for agreements in zip(*runs, strict=True)]
        report("agreement_runs", f"{CLIENTS} clients, {args.runs} runs", IN_ALL, rows)


if __name__ == "__main__":
    told(main)
