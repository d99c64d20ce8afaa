#!/usr/bin/env python3
"""What pg_bufferpool_advice is worth and what it costs: errors, memory, throughput.

Errors: eight clients run a workload while the server advises and records.
Each size and algorithm of the advice is then replayed in full from the
recording, and the table has the mean absolute difference of the miss ratio,
in percentage points, over all sizes and algorithms, and over the sizes of the
pool's own.  The workloads:

lookups   rows of a table four times the size of the buffers, a few far more often
loop      an index scan over 105 % of the buffers, again and again: a cliff
plateau   such scans over 60 % of them, beside rare lookups all over the table
mix       all of these

Both start with empty buffers.

Throughput (--price): sessions on a server with advice and on one without take
turns; see pgbench.py.  All pages are resident, so nothing hides the price.
Turns are too short for the advisor, which wakes ten times a second.  So its own
part is its CPU time while four clients keep one CPU busy, theirs and its.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from time import sleep

import numpy as np
from common import report
from live import copied, huge_pages, scratch, serving, told
from pgbench import (
    BUFFERS,
    LOOKUPS,
    SCAN,
    SELECT_ONLY,
    UPDATES,
    Side,
    Workload,
    against,
    command,
    cpu_seconds,
    fill,
    prices,
    share_one_cpu,
    throughput,
    warm,
)

from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.server import Instance
from tidepool.simulation import Cell, Options, simulate
from tidepool.traces import open_trace

CLIENTS = 8
GOAL = 0.5  # percentage points
MEMORY = 1024 * 1024  # bytes a pool
LOST = 1.0  # per cent of throughput
SHARED = 64  # MB
PAGES = SHARED * 128  # buffers
ROWS = 4 * PAGES  # a page each
SETTINGS = {
    "shared_buffers": f"{SHARED}MB",
    "bufferpool.trace_buffers": "65536",
    "max_connections": "20",
    "bufferpool.advice": "on",
}
# no rings, no sorts of pages: references go where the workload says
PLANS = ("enable_seqscan=off", "enable_bitmapscan=off", "max_parallel_workers_per_gather=0")

LOOKUP = (
    f"\\set id random_zipfian(1, {ROWS}, 1.05)\n"
    f"SELECT pad FROM pages WHERE id = 1 + (:id::bigint * 7919) % {ROWS};\n"
)
LOOP = (
    f"\\set from random(0, 20) * {PAGES * 5 // 100}\n"
    f"SELECT count(pad) FROM pages WHERE id BETWEEN :from AND :from + {PAGES * 5 // 100};\n"
)
PLATEAU = (
    f"\\set from random(0, 11) * {PAGES * 5 // 100}\n"
    f"SELECT count(pad) FROM pages WHERE id BETWEEN :from AND :from + {PAGES * 5 // 100};\n"
)
RARE = f"\\set id random(1, {ROWS})\nSELECT pad FROM pages WHERE id = :id;\n"
ERRORS = {
    "lookups": (LOOKUP,),
    "loop": (LOOP,),
    "plateau": (PLATEAU, *[RARE] * 9),
    "mix": (LOOP, PLATEAU, *[LOOKUP] * 40, *[RARE] * 9),
}


# ---- errors ----


def make_pages(directory: Path) -> None:
    """Make the table: a row a page, and an index on its number."""
    with serving(directory, "clock", {"shared_buffers": "256MB"}) as server:
        server.query(
            "CREATE EXTENSION pg_bufferpool",
            "CREATE TABLE pages (id int, pad text) WITH (fillfactor = 10)",
            "ALTER TABLE pages ALTER pad SET STORAGE PLAIN",
            f"INSERT INTO pages SELECT i, repeat('x', 500) FROM generate_series(1, {ROWS}) i",
            "CREATE INDEX pages_id ON pages (id)",
            "VACUUM (FREEZE, ANALYZE) pages",
        )


@dataclass(frozen=True)
class Error:
    """Of one workload under one algorithm.

    Attributes:
        all, own: mean absolute error in percentage points; of all rows, of the pool's algorithm.
        worst: the largest.
    """

    workload: str
    algorithm: str
    references: int
    rate: float
    all: float
    own: float
    worst: float
    memory: int
    dropped: int

    def row(self) -> tuple[str | int | float, ...]:
        """What is printed of it."""
        goal = "ok" if self.all <= GOAL and self.memory <= MEMORY else "MISSED"
        return (
            *(self.workload, self.algorithm, self.references, f"{100 * self.rate:.1f} %"),
            *(self.all, self.own, self.worst, self.memory // 1024, self.dropped, goal),
        )


def run_clients(server: Instance, name: str, seconds: int) -> None:
    line, environment = command(server, Workload(name, ERRORS[name], CLIENTS, settings=PLANS), {})
    done = subprocess.run(
        [*line, "-T", str(seconds)], env=environment, text=True, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}{done.stderr}")


def error_of(directory: Path, name: str, algorithm: str, seconds: int) -> Error:
    """Run, advise and record; replay and compare."""
    recording = directory / "advice.rec"
    with serving(directory, algorithm, SETTINGS) as server:
        sleep(1)
        run_clients(server, name, 25)  # until the sample's size has settled
        server.query(
            f"SELECT pg_bufferpool_reset(), pg_bufferpool_trace_start('{recording}')",
            "SELECT pg_bufferpool_advice_reset()",
        )
        run_clients(server, name, seconds)
        sleep(3)  # for counters, and the last publication
        rows = server.query(
            "SELECT algorithm, buffers, miss_ratio FROM pg_bufferpool_advice"
            " ORDER BY NOT in_use, algorithm, buffers"
        ).splitlines()
        rate, memory, dropped = server.query(
            "SELECT sample_rate, memory, dropped FROM pg_stat_bufferpool_advice"
        ).split("|")
        server.query("SELECT pg_bufferpool_trace_stop()")
    estimates = [row.split("|") for row in rows]
    trace = open_trace(recording)
    cells = [Cell(parse_policy(policy), int(frames), 1) for policy, frames, _ in estimates]
    results = simulate([(trace, cells)], Options())
    recording.unlink()
    off = np.array(
        [
            100 * abs(float(ratio) - result.misses / result.requests)
            for (_, _, ratio), result in zip(estimates, results, strict=True)
        ]
    )
    own = np.array([policy == algorithm for policy, _, _ in estimates])
    return Error(
        *(name, algorithm, results[0].requests, float(rate)),
        *(float(off.mean()), float(off[own].mean()), float(off.max())),
        *(int(memory), int(dropped)),
    )


def errors(algorithms: Sequence[str], workloads: Sequence[str], seconds: int) -> None:
    found = []
    with scratch() as directory:
        make_pages(directory)
        for algorithm in algorithms:
            for name in workloads:
                found.append(error_of(directory, name, algorithm, seconds))
                print(*found[-1].row(), flush=True)
    columns = (
        *("workload", "algorithm", "references", "sample", "error, points"),
        *("own algorithm", "worst", "memory, kB", "dropped", "goal"),
    )
    title = f"Advice against full replays of a recording of the same time; goal {GOAL} points"
    report("advice_view", title, columns, [one.row() for one in found], width=150)


# ---- throughput ----

LARGE = (SELECT_ONLY, UPDATES, SCAN, LOOKUPS)
# the smaller a pool, the larger the share of its pages in the sample
SMALL = (replace(SCAN, name=f"full scan, {SHARED} MB", scripts=SCAN.scripts[:6]),)
PRICED = {BUFFERS: LARGE, f"{SHARED}MB": SMALL}
SECONDS = 10  # of load for the advisor, and as many before, until its sample has settled


@dataclass(frozen=True)
class Measured:
    """One workload, after one start of the servers.

    Attributes:
        latencies: of against.
        advisor: per cent of the CPU that it has used.
    """

    latencies: np.ndarray
    advisor: float


def advisor_of(server: Instance) -> int:
    """Switch advice on; return the advisor's process.

    It limits itself by the processors that it may use.
    """
    server.query(
        "CREATE EXTENSION IF NOT EXISTS pg_bufferpool",
        "ALTER SYSTEM SET bufferpool.advice = on",
        "SELECT pg_reload_conf()",
    )
    for _ in range(1000):
        pid = server.query("SELECT pid FROM pg_stat_bufferpool_advice")
        if pid:
            return int(pid)
        sleep(0.01)
    raise TidepoolError("the advisor did not start", hint=f"see {server.log}")


def used_under_load(server: Instance, advisor: int, work: Workload) -> float:
    """Per cent of the CPU that the advisor has used while clients keep it busy."""
    busy = replace(work, clients=4)
    throughput(server, busy, SECONDS, {})
    before = cpu_seconds(advisor)
    throughput(server, busy, SECONDS, {})
    return 100 * (cpu_seconds(advisor) - before) / SECONDS


def measure(
    directories: Sequence[Path], algorithm: str, buffers: str, rounds: int
) -> list[Measured]:
    """Start a server with advice and one without; return what each workload has."""
    without, advised = directories
    settings = {"shared_buffers": buffers}
    settings["huge_pages"] = huge_pages(directories, settings)
    found = []
    with serving(without, algorithm, settings) as peer, serving(advised, algorithm, settings) as on:
        warm(peer)
        warm(on)
        share_one_cpu(peer, on)
        advisor = advisor_of(on)
        for work in PRICED[buffers]:
            used = used_under_load(on, advisor, work)
            latencies = against(partial(Side, peer, work), [Side(on, work)], rounds)
            found.append(Measured(latencies, used))
        on.query("ALTER SYSTEM RESET bufferpool.advice")  # its directory is the peer's next
    return found


def price(algorithms: Sequence[str], starts: int, rounds: int) -> None:
    rows = []
    with scratch() as one:
        fill(one)
        with copied(one) as two:
            for algorithm, buffers in product(algorithms, PRICED):
                found = []
                for start in range(starts):
                    order = (one, two) if start % 2 else (two, one)
                    found.append(measure(order, algorithm, buffers, rounds))
                for work, measured in zip(PRICED[buffers], zip(*found, strict=True), strict=True):
                    slower = prices([each.latencies for each in measured])[0]
                    advisor = float(np.mean([each.advisor for each in measured]))
                    both = slower.median + advisor
                    rows.append(
                        [algorithm, work.name, str(slower), f"{advisor:.2f}", f"{both:.1f}"]
                    )
                    print("; ".join(rows[-1]), flush=True)
    columns = ["", "workload", "sessions, % slower", "advisor, % of the CPU", "both"]
    title = f"Price of advice; goal: at most {LOST:g} % of throughput"
    report("advice_price", title, columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithm", nargs="*", default=["clock", "arc"])
    parser.add_argument("--workload", action="append", choices=ERRORS, help="default: all")
    parser.add_argument("--seconds", type=int, default=20, help="of each, default: %(default)s")
    parser.add_argument("--price", action="store_true", help="measure the throughput instead")
    parser.add_argument("--starts", type=int, default=6, help="of the servers, %(default)s")
    parser.add_argument("--rounds", type=int, default=200, help="after each, %(default)s")
    options = parser.parse_args()
    if options.price:
        price(options.algorithm, options.starts, options.rounds)
    else:
        errors(options.algorithm, options.workload or list(ERRORS), options.seconds)


if __name__ == "__main__":
    told(main)
