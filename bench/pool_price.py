#!/usr/bin/env python3
"""What named pools cost: hits and misses with pools, against the same server without.

Two servers run side by side: one without named pools, one with
eight of them.  They take turns (pgbench.py, miss_path.py).  Compared are:

beside    eight pools that nobody uses; the tables are in DEFAULT, which has as
          many buffers as the other server.  clock is stock PostgreSQL's.
own       the tables are in a pool of their own, which has as many buffers and
          the same algorithm as DEFAULT of the other server; seven others beside
eight     each client has a table in a pool of its own, with eight algorithms;
          the other server has one pool with the dearest of these

"none" is a server without pools as the other server: what the method cannot
tell apart.  A last row compares clock, eight pools beside it, with stock
PostgreSQL.  Goals: hits at most 1 % slower, misses at most 2 %, eight pools no
slower than the dearest algorithm alone.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
from common import count, report
from live import STOCK, copied, huge_pages, read_all, scratch, serving, told
from miss_path import TURN, Server, take_turns
from pgbench import (
    LOOKUPS,
    PARTS,
    SCAN,
    SELECT_ONLY,
    Side,
    Workload,
    against,
    all_hits,
    fill,
    initialize,
    medians,
    prices,
    share_one_cpu,
    throughput,
    warm,
)

from tidepool.server import Instance

HIT_GOAL, MISS_GOAL = 1.0, 2.0  # per cent
POOLS = 8
UNUSED = 1  # MB, of a pool that nobody uses
ALGORITHMS = ("lru", "arc", "car", "lirs", "lirs2", "osic", "s3fifo", "pbm")
DEAREST = "lirs2"  # of them, by miss_path.py
HIT_BUFFERS = 1024  # MB, with all tables resident
MISS_BUFFERS = 64  # MB
SCALE = 48  # of pgbench's tables that do not fit
WARM = 4  # seconds
CLIENTS = 8
SETTINGS = {"max_connections": "50"}
TABLES = ("pgbench_accounts", *(f"scanned_{i}" for i in range(PARTS)))
EIGHTHS = tuple(f"eighth_{i}" for i in range(POOLS))
EACH_ITS_OWN = Workload(
    "select-only, eight tables",
    tuple(
        f"\\set aid random(1, {SCALE * 100_000 // POOLS})\n"
        f"SELECT abalance FROM {table} WHERE aid = :aid;\n"
        for table in EIGHTHS
    ),
)


# ---- layouts ----


@dataclass(frozen=True)
class Layout:
    """A server's buffers.

    Attributes:
        name: for the table.
        algorithm: of DEFAULT.
        buffers: shared_buffers, MB.
        statements: that make the pools and assign relations.
    """

    name: str
    algorithm: str
    buffers: int
    statements: tuple[str, ...] = ()


def pool(name: str, algorithm: str, size: float) -> str:
    return f"CREATE BUFFER POOL {name} HANDLER {algorithm} SIZE '{int(size * 1024)}kB'"


def unused(number: int) -> list[str]:
    return [pool(f"unused_{i}", ALGORITHMS[i], UNUSED) for i in range(number)]


def assigned(table: str, name: str, key: bool) -> list[str]:
    """Return the statements that put a table, and its primary key, into a pool."""
    done = [f"ALTER TABLE {table} SET (buffer_pool = '{name}')"]
    if key:
        done.append(f"ALTER INDEX {table}_pkey SET (buffer_pool = '{name}')")
    return done


def none(algorithm: str, buffers: int) -> Layout:
    return Layout("none", algorithm, buffers)


def stock(buffers: int) -> Layout:
    return Layout(STOCK, STOCK, buffers)


def beside(algorithm: str, buffers: int) -> Layout:
    return Layout("beside", algorithm, buffers + POOLS * UNUSED, tuple(unused(POOLS)))


def own(algorithm: str, buffers: int, tables: Sequence[str]) -> Layout:
    statements = [*unused(POOLS - 1), pool("own", algorithm, buffers)]
    for table in tables:
        statements += assigned(table, "own", key=table == "pgbench_accounts")
    others = max(8, (buffers + POOLS) // 6)  # DEFAULT keeps an eighth of all
    return Layout("own", "clock", buffers + POOLS + others, tuple(statements))


def eight(buffers: int) -> Layout:
    statements: list[str] = []
    for table, algorithm in zip(EIGHTHS, ALGORITHMS, strict=True):
        statements.append(pool(f"of_{table}", algorithm, buffers / POOLS))
        statements += assigned(table, f"of_{table}", key=True)
    return Layout("eight", "clock", buffers + 16, tuple(statements))


def compared(
    algorithms: Sequence[str], buffers: int, tables: Sequence[str]
) -> Iterator[tuple[Layout, Layout]]:
    """Give pairs: the layout that is the measure, and the other."""
    for algorithm in algorithms:
        base = none(algorithm, buffers)
        yield base, base
        yield base, beside(algorithm, buffers)
        yield base, own(algorithm, buffers, tables)
    yield stock(buffers), beside("clock", buffers)


@contextmanager
def laid_out(directory: Path, layout: Layout, huge: str) -> Iterator[Instance]:
    """Serve with these pools; afterwards they are gone."""
    settings = {**SETTINGS, "shared_buffers": f"{layout.buffers}MB", "huge_pages": huge}
    with serving(directory, layout.algorithm, settings) as instance:
        if layout.algorithm == STOCK:
            yield instance
            return
        instance.query("CREATE EXTENSION IF NOT EXISTS pg_bufferpool")
        for statement in layout.statements:
            instance.query(statement)
        try:
            yield instance
        finally:
            instance.query("SELECT pg_bufferpool_reset_options()")
            pools = instance.query("SELECT name FROM pg_bufferpool WHERE name <> 'DEFAULT'")
            for name in pools.split():
                instance.query(f"DROP BUFFER POOL {name}")


@contextmanager
def pair(
    directories: Sequence[Path], base: Layout, other: Layout, start: int, huge: str
) -> Iterator[list[Instance]]:
    """Serve both layouts; directories and the order change with the number of the start."""
    turned = directories if start % 2 == 0 else directories[::-1]
    places = list(zip(turned, (base, other), strict=True))
    with ExitStack() as stack:
        order = places if start % 4 in (0, 3) else places[::-1]
        servers = {
            layout.name + str(directory): stack.enter_context(laid_out(directory, layout, huge))
            for directory, layout in order
        }
        yield [servers[layout.name + str(directory)] for directory, layout in places]


# ---- hits ----


def hits(
    directories: Sequence[Path], base: Layout, other: Layout, args: argparse.Namespace, huge: str
) -> list[str]:
    """Return by how many per cent the other layout is slower, for each workload."""
    found: list[list[np.ndarray]] = [[] for _ in (SELECT_ONLY, SCAN, LOOKUPS)]
    for start in range(args.starts):
        with pair(directories, base, other, start, huge) as (peer, server):
            for instance in (peer, server):
                warm(instance)
            share_one_cpu(peer, server)
            with all_hits(peer), all_hits(server):
                for i, work in enumerate((SELECT_ONLY, SCAN, LOOKUPS)):
                    ours = [Side(server, work)]
                    found[i].append(against(partial(Side, peer, work), ours, args.rounds))
    return [str(prices(starts)[0]) for starts in found]


# ---- misses ----


def misses(
    directories: Sequence[Path],
    base: Layout,
    other: Layout,
    work: Workload,
    args: argparse.Namespace,
    huge: str,
) -> list[str]:
    """Return throughput as a multiple of the base's, and blocks read for a transaction of both."""
    ratios, blocks = [], []
    for start in range(args.starts):
        for directory in directories:
            read_all(directory)
        with pair(directories, base, other, start, huge) as instances:
            for instance in instances:
                throughput(instance, replace(work, clients=CLIENTS), WARM, {})
            servers = [
                Server(layout.algorithm, instance)
                for layout, instance in zip((base, other), instances, strict=True)
            ]
            turns = take_turns(
                servers, CLIENTS, args.turns, Random(start), work, length=TURN, pin=True
            )
            ratios.append(turns.ratios)
            blocks.append((turns.stock.blocks, turns.ours.blocks))
    middle, error = medians(ratios)
    base_blocks, other_blocks = np.mean(blocks, axis=0)
    return [f"{middle:.3f} ± {error:.3f}", f"{other_blocks:.3f}", f"{base_blocks:.3f}"]


# ---- the whole ----


def fill_eighths(instance: Instance) -> None:
    """Make eight tables of an eighth of pgbench's rows each, with primary keys."""
    rows = SCALE * 100_000 // POOLS
    for i, table in enumerate(EIGHTHS):
        instance.query(
            f"CREATE TABLE {table} AS SELECT aid - {i * rows} AS aid, bid, abalance, filler"
            f" FROM pgbench_accounts WHERE aid > {i * rows} AND aid <= {(i + 1) * rows};"
            f" ALTER TABLE {table} ADD PRIMARY KEY (aid)"
        )
    instance.query("VACUUM (FREEZE, ANALYZE)")


def price_of_hits(args: argparse.Namespace) -> None:
    with scratch() as one:
        fill(one)
        with copied(one) as two:
            settings = {"shared_buffers": f"{HIT_BUFFERS * 4 // 3}MB"}
            huge = huge_pages((one, two), settings)
            rows = []
            for base, other in compared(args.algorithms, HIT_BUFFERS, TABLES):
                cells = hits((one, two), base, other, args, huge)
                rows.append([base.algorithm, other.name, *cells])
                print("; ".join(rows[-1]), flush=True)
    report(
        "pool_price_hits",
        f"Hits with pools, % slower than without (goal: {HIT_GOAL:g})",
        ["algorithm", "pools", *(work.name for work in (SELECT_ONLY, SCAN, LOOKUPS))],
        rows,
    )


def price_of_misses(args: argparse.Namespace) -> None:
    with scratch() as one:
        with serving(one, "clock") as instance:
            initialize(instance, SCALE)
            fill_eighths(instance)
        with copied(one) as two:
            huge = huge_pages((one, two), {"shared_buffers": f"{2 * MISS_BUFFERS}MB"})
            rows = []
            for base, other in compared(args.algorithms, MISS_BUFFERS, ["pgbench_accounts"]):
                cells = misses((one, two), base, other, SELECT_ONLY, args, huge)
                rows.append([base.algorithm, other.name, *cells])
                print("; ".join(rows[-1]), flush=True)
            base = none(DEAREST, MISS_BUFFERS)
            cells = misses((one, two), base, eight(MISS_BUFFERS), EACH_ITS_OWN, args, huge)
            rows.append([DEAREST, "eight", *cells])
            print("; ".join(rows[-1]), flush=True)
    report(
        "pool_price_misses",
        f"Misses with pools, {CLIENTS} clients (goal: {1 - MISS_GOAL / 100:g})",
        ["algorithm", "pools", "x throughput without", "blocks a transaction", "without"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("algorithms", nargs="*", default=["clock", "arc", "lirs"], help="default: clock arc lirs")
    add("--starts", type=count, default=4, help="of both servers, %(default)s")
    add("--rounds", type=count, default=40, help="of hits, after each start, %(default)s")
    add("--turns", type=count, default=100, help="of misses, after each start, %(default)s")
    add("--only", choices=("hits", "misses"), help="of the two parts")
    args = parser.parse_args()
    if args.only != "misses":
        price_of_hits(args)
    if args.only != "hits":
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        price_of_misses(args)


if __name__ == "__main__":
    told(main)
