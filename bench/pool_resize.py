#!/usr/bin/env python3
"""What resizing a pool costs those that use it.

Eight clients look up rows of a hot table in a pool; the rest of the pool holds
pages of a table that nobody reads any more.  Again and again the pool is
halved and brought back to its size.  Between, pages that it gave up are read
again, and become colder than the hot table for a while.

Counted: pages of the hot table that left the pool although it kept room for
them (blocks read of that table), and pages that left it while it grew
(evictions).  Goal: none of either.  Timed: the longest transaction during
resizes and during equally long times without one.  Goal: none waits 100 ms
because of a resize.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from pathlib import Path

import numpy as np
from common import count, report
from live import scratch, serving, told

from tidepool.errors import TidepoolError
from tidepool.server import Instance

BUFFERS = 256  # MB of shared_buffers
POOL = 128  # MB
HOT_ROWS = 200_000  # 26 MB and 4 MB of index: a quarter of the pool
COLD_PAGES = 19_200  # 150 MB
COOLING = 3  # seconds in which each hot page is referenced some ten times
CLIENTS = 8
WAIT_GOAL = 100  # milliseconds

LOOKUP = f"""
\\set aid random(1, {HOT_ROWS})
SELECT abalance FROM hot WHERE aid = :aid;
"""


def make(instance: Instance, algorithm: str) -> None:
    """Make the pool and the tables, and fill the pool: cold pages first."""
    instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
    instance.query(f"CREATE BUFFER POOL resized HANDLER {algorithm} SIZE '{POOL}MB'")
    instance.query(
        "DROP TABLE IF EXISTS hot, cold;"
        " CREATE TABLE cold (pad text) WITH (buffer_pool = 'resized', fillfactor = 10);"
        f" INSERT INTO cold SELECT repeat('c', 700) FROM generate_series(1, {COLD_PAGES}) i;"
        " CREATE TABLE hot WITH (buffer_pool = 'resized') AS"
        " SELECT i AS aid, 0 AS abalance, repeat('x', 84) AS filler"
        f" FROM generate_series(1, {HOT_ROWS}) i;"
        " ALTER TABLE hot ADD PRIMARY KEY (aid);"
        " ALTER INDEX hot_pkey SET (buffer_pool = 'resized')"
    )
    instance.query("VACUUM (FREEZE, ANALYZE) hot, cold", "CHECKPOINT")


def number(instance: Instance, query: str) -> int:
    return int(instance.query(query))


def hot_reads(instance: Instance) -> int:
    """Return blocks read of the hot table and its index, by all sessions that have told."""
    return number(
        instance,
        "SELECT heap_blks_read + idx_blks_read FROM pg_statio_user_tables WHERE relname = 'hot'",
    )


def evictions(instance: Instance) -> int:
    return number(
        instance,
        "SELECT evictions + reuses FROM pg_stat_bufferpool WHERE name = 'resized'",
    )


def fill_up(instance: Instance) -> None:
    """Read cold pages into the pool's free buffers."""
    instance.query(
        "SELECT count(pad) FROM cold WHERE ctid = ANY (ARRAY("
        f"SELECT format('(%s,1)', block)::tid FROM generate_series(0, {COLD_PAGES - 1}) block"
        " WHERE block NOT IN (SELECT relblocknumber FROM pg_bufferpool_buffers"
        " WHERE relfilenode = pg_relation_filenode('cold') AND relforknumber = 0)"
        " LIMIT (SELECT free FROM pg_stat_bufferpool WHERE name = 'resized')))"
    )


def resize(instance: Instance, megabytes: int) -> tuple[float, float, int]:
    """Resize the pool; return when that began and ended, and how many pages left it."""
    before = evictions(instance)
    begin = time.time()
    instance.query(f"ALTER BUFFER POOL resized SET SIZE '{megabytes}MB'")
    end = time.time()
    return begin, end, evictions(instance) - before


def longest(latencies: np.ndarray, spans: list[tuple[float, float]]) -> float:
    """Return the longest transaction, in milliseconds, of those that ended in these times."""
    ended, took = latencies
    inside = np.zeros(len(ended), dtype=bool)
    for begin, end in spans:
        inside |= (ended >= begin) & (ended <= end + took)
    return float(took[inside].max()) * 1000 if inside.any() else 0.0


def measure(directory: Path, algorithm: str, rounds: int) -> list[str]:
    """Return a row of the table."""
    with serving(directory, "clock", {"shared_buffers": f"{BUFFERS}MB"}) as instance:
        make(instance, algorithm)
        script = instance.directory / "lookup.sql"
        script.write_text(LOOKUP)
        script.chmod(0o644)
        prefix = instance.directory / "latencies"
        line = [str(instance.clients / "pgbench"), "-n", "-M", "prepared", "-f", str(script)]
        line += ["-c", str(CLIENTS), "-j", "2"]
        warmed = instance.run(*line, "-T", "5")  # the hot table is in, and known to be hot
        if warmed.returncode != 0:
            raise TidepoolError(f"pgbench failed:\n{warmed.stdout}")
        before = hot_reads(instance)
        line += ["-T", str(6 + (COOLING + 3) * rounds)]
        pgbench = subprocess.Popen(
            [*line, "--log", f"--log-prefix={prefix}"],
            env=instance.environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        busy, quiet = [], []
        shrunk = grown = 0
        for _ in range(rounds):
            time.sleep(COOLING)
            begin, end, left = resize(instance, POOL // 2)
            busy.append((begin, end))
            shrunk += left
            time.sleep(1)
            begin, end, left = resize(instance, POOL)
            busy.append((begin, end))
            grown += left
            span = busy[-1][1] - busy[-2][0] - 1
            fill_up(instance)
            quiet.append((time.time(), time.time() + span))
            time.sleep(max(0.2, span))
        seconds = sum(end - begin for begin, end in busy) / len(busy)
        printed = pgbench.communicate()[0]
        if pgbench.returncode != 0:
            raise TidepoolError(f"pgbench failed:\n{printed}")
        lost = hot_reads(instance) - before
        files = list(instance.directory.glob("latencies*"))
        rows = np.concatenate([np.loadtxt(file, usecols=(2, 4, 5), ndmin=2) for file in files])
        for file in files:
            file.unlink()
        instance.query("DROP TABLE hot, cold", "DROP BUFFER POOL resized")
    latencies = np.array([rows[:, 1] + rows[:, 2] * 1e-6, rows[:, 0] * 1e-6])
    waits = longest(latencies, busy), longest(latencies, quiet)
    reached = lost == 0 and grown == 0 and waits[0] - waits[1] < WAIT_GOAL
    return [
        algorithm,
        f"{seconds * 1000:.0f}",
        str(shrunk // rounds),
        str(lost),
        str(grown),
        f"{waits[0]:.1f}",
        f"{waits[1]:.1f}",
        "reached" if reached else "missed",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "algorithm", nargs="*", default=["clock", "lru", "arc", "lirs", "s3fifo", "pbm"]
    )
    parser.add_argument("--rounds", type=count, default=5, help="of each, %(default)s")
    args = parser.parse_args()
    rows = []
    with scratch() as directory:
        for algorithm in args.algorithm:
            rows.append(measure(directory, algorithm, args.rounds))
            print("; ".join(rows[-1]), flush=True)
    report(
        "pool_resize",
        f"A pool of {POOL} MB, halved and restored under load"
        f" (goals: no page lost, no wait of {WAIT_GOAL} ms)",
        [
            *("algorithm", "ms a resize", "pages given up", "hot pages lost", "lost while growing"),
            *("longest, ms", "without", "goals"),
        ],
        rows,
        width=120,
    )


if __name__ == "__main__":
    told(main)
