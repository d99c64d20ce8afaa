#!/usr/bin/env python3
"""Whether a pool of its own protects an OLTP table from reports and from TOAST.

The OLTP table and its index are 40 % of shared_buffers.  Clients at a fixed
rate look rows up and update some: alone, beside two other loads, and while
these run on another server of the same machine ("apart"):

reports   bitmap heap scans over random 30 % of a table twice as large as
          shared_buffers.  They use no ring.
TOAST     documents of 20 kB, read and replaced at random, of a table twice as
          large as shared_buffers.

Servers: PostgreSQL as it comes ("stock"), ours with one pool under several
algorithms, and ours with pools: the OLTP table in one of 45 %, TOAST in a jam
pool of 10 %, and the reports in DEFAULT, which is the rest.

Hit ratios are PostgreSQL's own counts of blocks of the OLTP table and its
index.  Latencies are pgbench's.  So that CPUs are not what the loads compete
for, the OLTP sessions and their pgbench have one of their own; all else,
the background processes of the servers too, shares the other.  Phases
alternate, and the table is brought in before each round; shown are medians of
the rounds.  Apart, the loads share the CPUs' caches, the memory and the kernel
with the OLTP clients, but no buffers, locks or log: what is lost then, no
buffer manager can save.

Goals, with pools: a hit ratio within 1 point of that alone, and a 99th
percentile of at most 1.1 times that alone.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import count, report
from live import STOCK, copied, read_all, scratch, serving, told
from pgbench import CPUS, postmaster

from tidepool.errors import TidepoolError
from tidepool.server import Instance

BUFFERS = 128  # MB of shared_buffers
OLTP_ROWS = 340_000  # 44 MB and 7 MB of index: 40 %
REPORT_MB = 256
DOCUMENTS = 12_000  # of 20 kB: 240 MB
POINTS, TIMES = 1.0, 1.1  # goals
CLIENTS, RATE = 4, 400  # of OLTP; transactions a second
SETTINGS = {"shared_buffers": f"{BUFFERS}MB", "wal_level": "minimal", "max_wal_senders": "0"}

OLTP = f"""
\\set aid random_exponential(1, {OLTP_ROWS}, 2)
\\set write random(1, 10)
SELECT abalance FROM oltp WHERE aid = :aid;
\\if :write = 1
UPDATE oltp SET abalance = abalance + 1 WHERE aid = :aid;
\\endif
"""
REPORT = """
\\set first random(0, 700)
SELECT sum(length(pad)) FROM report WHERE day >= :first AND day < :first + 300;
"""
TOAST = f"""
\\set id random(1, {DOCUMENTS})
\\set write random(1, 10)
SELECT length(body) + ascii(substr(body, 15000, 1)) FROM document WHERE id = :id;
\\if :write = 1
UPDATE document SET body = body || 'x' WHERE id = :id;
\\endif
"""
POOLS = (
    f"CREATE BUFFER POOL oltp HANDLER {{}} SIZE '{BUFFERS * 45 // 100}MB'",
    f"CREATE BUFFER POOL toast HANDLER jam SIZE '{BUFFERS // 10}MB'",
    "ALTER TABLE oltp SET (buffer_pool = 'oltp')",
    "ALTER INDEX oltp_pkey SET (buffer_pool = 'oltp')",
    "ALTER TABLE document SET (overflow_buffer_pool = 'toast')",
)


# ---- data ----


def make(instance: Instance) -> None:
    """Make the tables."""
    instance.query(
        "CREATE TABLE oltp AS SELECT i AS aid, 0 AS abalance, repeat('x', 84) AS filler"
        f" FROM generate_series(1, {OLTP_ROWS}) i;"
        " ALTER TABLE oltp SET (fillfactor = 90); ALTER TABLE oltp ADD PRIMARY KEY (aid)"
    )
    rows = REPORT_MB * 1024 * 1024 // 450
    instance.query(
        f"CREATE TABLE report AS SELECT (i::bigint * 1000 / {rows})::int AS day,"
        f" repeat('r', 400) AS pad FROM generate_series(0, {rows - 1}) i;"
        " CREATE INDEX ON report USING brin (day) WITH (pages_per_range = 8)"
    )
    instance.query(
        "CREATE TABLE document (id int PRIMARY KEY, body text STORAGE EXTERNAL);"
        f" INSERT INTO document SELECT i, repeat('d', 20000) FROM generate_series(1, {DOCUMENTS}) i"
    )
    instance.query("VACUUM (FREEZE, ANALYZE)")


def server_processes(instance: Instance) -> list[int]:
    """Return the postmaster and its children; what it starts later has its CPUs."""
    pid = postmaster(instance)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, children.split())]


def bring_in(instance: Instance) -> None:
    """Read the OLTP table and its index, without a ring."""
    instance.query(
        "SET enable_seqscan = off; SET enable_bitmapscan = off;"
        " SELECT sum(abalance) FROM oltp WHERE aid > 0"
    )


def blocks(instance: Instance) -> np.ndarray:
    """Return hits and reads of the OLTP table and its index so far."""
    text = instance.query(
        "SELECT heap_blks_hit + idx_blks_hit, heap_blks_read + idx_blks_read"
        " FROM pg_statio_user_tables WHERE relname = 'oltp'"
    )
    return np.array([int(value) for value in text.split("|")])


# ---- loads ----


def start(
    instance: Instance, name: str, script: str, cpu: int, options: Sequence[str]
) -> subprocess.Popen[str]:
    """Start pgbench; its sessions are bound to the CPU."""
    path = instance.directory / f"{name}.sql"
    path.write_text(script)
    path.chmod(0o644)
    line = [str(instance.clients / "pgbench"), "-n", "-M", "prepared", "-f", str(path), *options]
    environment = instance.environment() | {"PGAPPNAME": name}
    process = subprocess.Popen(
        line, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    os.sched_setaffinity(process.pid, {cpu})
    mine = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'"
    clients = int(options[options.index("-c") + 1])
    while len(pids := instance.query(mine).split()) < clients:
        if process.poll() is not None:
            raise TidepoolError(f"pgbench failed:\n{process.communicate()[0]}")
        time.sleep(0.01)
    for pid in pids:
        os.sched_setaffinity(int(pid), {cpu})
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGALRM)
    process.communicate()


@contextmanager
def others(instance: Instance) -> Iterator[None]:
    """Reports and TOAST run meanwhile, on the other CPU."""
    running = [
        start(instance, "report", REPORT, CPUS[0], ["-c", "2", "-T", "100000"]),
        start(instance, "document", TOAST, CPUS[0], ["-c", "2", "-T", "100000"]),
    ]
    try:
        time.sleep(2)
        yield
    finally:
        for process in running:
            end(process)


@dataclass(frozen=True)
class Phase:
    """What the OLTP clients saw."""

    hit_ratio: float
    p99: float  # milliseconds


def phase(instance: Instance, seconds: int) -> Phase:
    """Run the OLTP clients."""
    before = blocks(instance)
    prefix = instance.directory / "oltp-latencies"
    options = ["-c", str(CLIENTS), "-R", str(RATE), "-T", str(seconds)]
    process = start(instance, "oltp", OLTP, CPUS[-1], [*options, "--log", f"--log-prefix={prefix}"])
    printed = process.communicate()[0]
    if process.returncode != 0:
        raise TidepoolError(f"pgbench failed:\n{printed}")
    files = list(instance.directory.glob("oltp-latencies*"))
    latencies = np.concatenate([np.loadtxt(file, usecols=2, ndmin=1) for file in files])
    for file in files:
        file.unlink()
    hits, reads = blocks(instance) - before
    return Phase(hits / (hits + reads), float(np.quantile(latencies, 0.99)) / 1000)


# ---- servers ----


@dataclass(frozen=True)
class Kind:
    """A server to compare."""

    name: str
    algorithm: str
    pool: str = ""  # algorithm of the OLTP table's pool


def measure(
    directory: Path, other_directory: Path, kind: Kind, rounds: int, seconds: int
) -> list[str]:
    """Return a row of the table."""
    read_all(directory)
    with (
        serving(directory, kind.algorithm, SETTINGS) as instance,
        serving(other_directory, STOCK, SETTINGS) as other,
    ):
        for pid in [*server_processes(instance), *server_processes(other)]:
            os.sched_setaffinity(pid, {CPUS[0]})
        if kind.pool:
            for statement in POOLS:
                instance.query(statement.format(kind.pool))
        alone, apart, beside = [], [], []
        for _ in range(rounds):
            bring_in(instance)
            phase(instance, max(2, seconds // 4))
            alone.append(phase(instance, seconds))
            with others(other):
                apart.append(phase(instance, seconds))
            with others(instance):
                beside.append(phase(instance, seconds))
        if kind.pool:
            instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
            instance.query("SELECT pg_bufferpool_reset_options()")
            instance.query("DROP BUFFER POOL oltp", "DROP BUFFER POOL toast")
    ratios = [100 * float(np.median([p.hit_ratio for p in phases])) for phases in (alone, beside)]
    tails = [float(np.median([p.p99 for p in phases])) for phases in (alone, apart, beside)]
    points, times = ratios[0] - ratios[1], tails[2] / tails[0]
    reached = "reached" if points <= POINTS and times <= TIMES else "missed"
    return [
        kind.name,
        f"{ratios[0]:.2f}",
        f"{ratios[1]:.2f}",
        f"{points:.2f}",
        *(f"{tail:.2f}" for tail in tails),
        f"{times:.2f}",
        f"{tails[2] / tails[1]:.2f}",
        reached,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rounds", type=count, default=5, help="of each server, %(default)s")
    add("--seconds", type=count, default=10, help="of a phase, %(default)s")
    add("--pools", action="store_true", help="only the servers with pools, and stock")
    args = parser.parse_args()
    kinds = [
        Kind(STOCK, STOCK),
        *(Kind(f"one pool, {name}", name) for name in ("clock", "arc", "lirs", "s3fifo", "pbm")),
        *(Kind(f"pools, {name}", "clock", name) for name in ("clock", "arc", "lirs")),
    ]
    rows = []
    with scratch() as directory:
        with serving(directory, STOCK, {"shared_buffers": f"{BUFFERS}MB"}) as instance:
            make(instance)
        for kind in kinds:
            if args.pools and not kind.pool and kind.name != STOCK:
                continue
            with copied(directory) as other:
                rows.append(measure(directory, other, kind, args.rounds, args.seconds))
            print("; ".join(rows[-1]), flush=True)
    report(
        "isolation",
        "An OLTP table, alone and beside reports and TOAST"
        f" (goals with pools: {POINTS:g} point, {TIMES:g} times)",
        [
            *("server", "hits alone, %", "beside, %", "points lost"),
            *("99 % alone, ms", "apart, ms", "beside, ms", "beside/alone", "beside/apart", "goals"),
        ],
        rows,
        width=150,
    )


if __name__ == "__main__":
    told(main)
