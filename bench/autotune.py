#!/usr/bin/env python3
"""Self-tuning against the best static layout: pages read for each transaction.

Two tables have a pool each.  Clients look up rows, nine of ten in the one
table or, in the next phase, in the other; which rows is skewed.  Static
layouts divide the buffers of both pools in several ways.  For each phase the
table has the pages read for each transaction with the best of them, and with
self-tuning, whose layout at the beginning of a phase is what the phase before
has left.  The phases follow one another, four with self-tuning; "steady" is
one phase twice as long, whose second half counts, from an even layout.

A phase has 30 intervals.  One of 60 seconds with an interval of two stands for
one of five minutes with the default interval of ten.  In a shorter one it matters
that the advisor rests between bursts of references, for seconds in any phase.
What is reported are counts: other load on the machine makes phases have fewer
transactions, no more.

Needs make postgres.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from common import report
from live import scratch, serving, told
from pgbench import Workload, command

from tidepool.errors import TidepoolError
from tidepool.server import Instance

SHARED = 64  # MB
BUFFERS = SHARED * 128
BOTH = BUFFERS * 3 // 4  # of the two pools
ROWS = BOTH  # of each table, a page each
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the first pool
INTERVALS = 30  # of a phase
GOALS = {"changing": 5.0, "steady": 2.0}  # per cent
CLIENTS = 4
SETTINGS = {
    "shared_buffers": f"{SHARED}MB",
    "max_connections": "20",
    "bufferpool.advice": "on",
    "bufferpool.advice_algorithms": "",
}


def script(table: str) -> str:
    return (
        f"\\set id random_zipfian(1, {ROWS}, 1.01)\n"
        f"SELECT pad FROM {table} WHERE id = 1 + (:id::bigint * 7919) % {ROWS};\n"
    )


PHASES = {
    "first": (*[script("first")] * 9, script("second")),
    "second": (*[script("second")] * 9, script("first")),
}


@dataclass(frozen=True)
class Reads:
    """What was read in a phase."""

    transactions: int
    reads: int

    @property
    def each(self) -> float:
        """Pages read for each transaction."""
        return self.reads / self.transactions


def make_tables(directory: Path) -> None:
    with serving(directory, "clock", {"shared_buffers": "256MB"}) as server:
        server.query("CREATE EXTENSION pg_bufferpool")
        for table in PHASES:
            server.query(
                f"CREATE TABLE {table} (id int, pad text)"
                f" WITH (fillfactor = 10, buffer_pool = '{table}')",
                f"ALTER TABLE {table} ALTER pad SET STORAGE PLAIN",
                f"INSERT INTO {table} SELECT i, repeat('x', 500) FROM generate_series(1, {ROWS}) i",
                f"CREATE INDEX {table}_id ON {table} (id)",
                f"VACUUM (FREEZE, ANALYZE) {table}",
            )


def lay_out(server: Instance, algorithm: str, share: float) -> None:
    """Make both pools anew, and empty all buffers."""
    for table in PHASES:
        server.query(f"DROP BUFFER POOL IF EXISTS {table} CASCADE")
    for table, part in (("first", share), ("second", 1 - share)):
        server.query(
            f"CREATE BUFFER POOL {table} HANDLER \"{algorithm}\" SIZE '{int(BOTH * part) * 8}kB'"
        )
    server.query("SELECT pg_bufferpool_reset()")


def run_phase(server: Instance, phase: str, seconds: int) -> Reads:
    """Let clients work for so long."""
    counted = "SELECT sum(reads) FROM pg_stat_bufferpool"
    line, environment = command(
        server,
        Workload(phase, PHASES[phase], CLIENTS, settings=("enable_seqscan=off",)),
        {},
    )
    before = int(server.query(counted))
    done = subprocess.run(
        [*line, "-T", str(seconds)], env=environment, text=True, capture_output=True, check=False
    )
    found = re.search(r"actually processed: (\d+)", done.stdout)
    if done.returncode != 0 or not found:
        raise TidepoolError(f"pgbench failed:\n{done.stdout}{done.stderr}")
    sleep(1.5)  # until the sessions have added what they counted
    return Reads(int(found.group(1)), int(server.query(counted)) - before)


def static(
    server: Instance, algorithm: str, shares: Sequence[float], seconds: int
) -> dict[str, tuple[float, float]]:
    """Of each phase the least reads for a transaction, and the share it takes.

    As with self-tuning, the phases before have left their pages.
    """
    best: dict[str, tuple[float, float]] = {}
    for share in shares:
        lay_out(server, algorithm, share)
        run_phase(server, "first", seconds)
        for phase in ("second", "first"):
            each = run_phase(server, phase, seconds).each
            print(f"static {share:.0%} {phase}: {each:.4f}", flush=True)
            best[phase] = min(best.get(phase, (each, share)), (each, share))
    return best


def set_autotune(server: Instance, value: str) -> None:
    server.query(f"ALTER SYSTEM SET bufferpool.autotune = {value}", "SELECT pg_reload_conf()")


def compare(
    directory: Path, algorithm: str, shares: Sequence[float], seconds: int
) -> list[tuple[str | int | float, ...]]:
    """Rows of the table."""
    rows: list[tuple[str | int | float, ...]] = []
    settings = SETTINGS | {"bufferpool.autotune_interval": f"{max(1, seconds // INTERVALS)}s"}
    with serving(directory, "clock", settings) as server:
        best = static(server, algorithm, shares, seconds)
        lay_out(server, algorithm, 0.5)
        set_autotune(server, "on")
        run_phase(server, "first", seconds)  # warm
        steady = run_phase(server, "first", seconds)
        found = [("steady", "first", steady)]
        for phase in ("second", "first", "second", "first"):
            found.append(("changing", phase, run_phase(server, phase, seconds)))
        moves = server.query("SELECT count(*), sum(buffers_moved) FROM pg_bufferpool_moves")
        set_autotune(server, "off")
    for kind, phase, reads in found:
        least, share = best[phase]
        excess = 100 * (reads.each / least - 1)
        verdict = "ok" if excess <= GOALS[kind] else "MISSED"
        rows.append(
            (
                *(algorithm, kind, phase, reads.transactions, least, f"{share:.0%}", reads.each),
                *(f"{excess:+.1f}", f"{GOALS[kind]:g}", verdict),
            )
        )
    print("moves, buffers:", moves.replace("|", ", "))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("algorithm", nargs="*", default=["lru"])
    parser.add_argument("--phase", type=int, default=60, help="seconds, default: %(default)s")
    parser.add_argument(
        "--shares",
        type=float,
        nargs="+",
        default=SHARES,
        help="of the first pool, in static layouts",
    )
    options = parser.parse_args()
    rows = []
    with scratch() as directory:
        make_tables(directory)
        for algorithm in options.algorithm:
            rows += compare(directory, algorithm, options.shares, options.phase)
    columns = (
        *("algorithm", "workload", "phase", "transactions", "best static", "its share"),
        *("self-tuned", "% more", "goal", ""),
    )
    report("autotune", "Pages read for each transaction", columns, rows, width=150)


if __name__ == "__main__":
    told(main)
