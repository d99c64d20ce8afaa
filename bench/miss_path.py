#!/usr/bin/env python3
"""What a miss costs where it costs a copy and no disk, against unpatched PostgreSQL.

pgbench's select-only on 750 MB that the operating system has cached, with
64 MB of shared buffers: two blocks are read for each transaction.  Stock and
ours run side by side on the same two CPUs and take turns: pgbench's
clients of one side are stopped while those of the other run, in random order.
Counted are the transactions that end in a turn, without its first third, in
which what the other side left in the caches is replaced.  The ratio is taken
within each round, and the rounds are short and many.  Clients and the sessions
that serve them are on one CPU each (--apart: wherever the system puts them).
"stock" in the table is stock PostgreSQL as the other server: what the method
cannot tell apart.

So that nothing but the servers differs:
- both directories have the same files, and both sides have used each of
  them, and been started first, equally often;
- both have huge pages or neither has; no vacuum, no checkpoint, no write;
- in each start both have their code elsewhere (layouts.py);
- both are warm: a pool's worth of blocks has been read many times over before
  the first turn, and a side's first turn does not count;
- a run in which blocks came from a disk is an error.

Blocks read and the pool's counters are the servers' own, of all turns
together.  A counter that this server does not have is a dash.

The time for which the pool's lock is held is taken in a run of its own, with
the build that counts holds (make postgres BUILD=timed); without that build
this part is left out.

Needs make postgres and make postgres BUILD=stock.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import lock_holds
import numpy as np
from common import count, report, seconds
from dots import Panel, clients_text, draw
from layouts import Layouts, shifted
from live import STOCK, copied, counters, huge_pages, programs, read_all, scratch, serving, told
from pgbench import (
    CPUS,
    SELECT_ONLY,
    Side,
    Workload,
    algorithms,
    initialize,
    medians,
    pinned,
    pool_counters,
    throughput,
    turn,
)

from tidepool.errors import TidepoolError
from tidepool.server import Instance

# bytes of files, such as programs, that the system may have dropped from its cache
ALLOWED_FROM_DISK = 32 << 20
SCALE = 50  # 5,000,000 rows in 640 MB, and 107 MB of index
SHARED_BUFFERS = "64MB"
CLIENTS = (1, 8, 32)
TURN = 0.012  # seconds
LONG_TURN = 0.6  # for what takes longer than a look at a row
MOST_UNCOUNTED = 0.1  # of a turn, a third if that is less
REST = 0.002  # after a turn, at least
WARM = 4  # seconds
TWO_CPUS = CPUS[-2:]
QUICK = ["clock", "cooling", "lru", "arc", "lirs", "pbm"]

# goals
NO_SLOWER = 0.98  # of stock's throughput, where as many blocks are read
SAME = 0.01  # numbers of blocks that differ by less are the same
LOCKS = 1.1  # acquisitions for a miss
WAITS = 5  # for 1,000 misses
WAITS_CLIENTS = 8  # with these


# ---- what servers count ----


class Server(NamedTuple):
    """A server that runs: "stock", or ours by its algorithm."""

    name: str
    instance: Instance


@dataclass(frozen=True)
class Usage:
    """What a server has done: transactions, blocks read, blocks written to make room for them.

    And the pool's counters, if it has any.
    """

    transactions: int
    reads: int
    writes: int
    pool: Mapping[str, int]

    def __sub__(self, earlier: Usage) -> Usage:
        return Usage(
            self.transactions - earlier.transactions,
            self.reads - earlier.reads,
            self.writes - earlier.writes,
            {name: value - earlier.pool[name] for name, value in self.pool.items()},
        )

    @property
    def blocks(self) -> float:
        """Blocks read for a transaction."""
        return self.reads / self.transactions

    @property
    def written(self) -> float:
        """Blocks written for a transaction."""
        return self.writes / self.transactions

    def ratio(self, name: str, to: str = "reads") -> float | None:
        """Return a counter as a multiple of another; None without them."""
        return self.pool[name] / self.pool[to] if name in self.pool and self.pool.get(to) else None


def total(parts: Sequence[Usage]) -> Usage:
    pool: Counter[str] = Counter()
    for part in parts:
        pool.update(part.pool)
    return Usage(
        sum(part.transactions for part in parts),
        sum(part.reads for part in parts),
        sum(part.writes for part in parts),
        pool,
    )


def usage(server: Server) -> Usage:
    """Read all counters of a server when nobody uses it."""
    blocks = counters(server.instance)
    transactions = server.instance.query(
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    )
    pool = {} if server.name == STOCK else pool_counters(server.instance)
    return Usage(int(transactions), blocks.reads, blocks.writes, pool)


def check_cached(instance: Instance) -> None:
    """Raise TidepoolError if blocks came from a disk to the sessions that are there."""
    pids = instance.query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")
    read = 0
    for pid in pids.split():
        with suppress(FileNotFoundError, ProcessLookupError):  # the session that asked has ended
            fields = Path(f"/proc/{pid}/io").read_text().split()
            read += int(fields[fields.index("read_bytes:") + 1])
    if read > ALLOWED_FROM_DISK:
        raise TidepoolError(
            f"{read >> 20} MB came from a disk",
            hint="there must be memory to cache all files; with TMPDIR=/dev/shm they are in memory",
        )


# ---- turns ----


@dataclass(frozen=True)
class Turns:
    """After one start of both servers: the ratio of throughputs in each round, what both did."""

    ratios: np.ndarray
    stock: Usage
    ours: Usage


def take_turns(
    pair: Sequence[Server],
    clients: int,
    rounds: int,
    order: Random,
    work: Workload = SELECT_ONLY,
    length: float = LONG_TURN,
    pin: bool = False,
) -> Turns:
    """Let so many clients of each of the two servers take turns; the first one is the base.

    ``length``: of a turn, seconds.  ``pin``: clients and their sessions to one CPU each.
    """
    work = replace(work, clients=clients, turn=length, rest=max(0.05, REST / length))
    before = [usage(server) for server in pair]
    sides: list[list[Side]] = []  # of each server, in parts
    try:
        for server in pair:
            one = server.instance
            sides.append(pinned(one, work) if pin else [Side(one, work)])
        for parts in sides:
            turn(parts)
            for part in parts:
                part.turns.clear()
        for _ in range(rounds):
            for parts in order.sample(sides, len(sides)):
                turn(parts)
        for server in pair:
            check_cached(server.instance)
    finally:
        for parts in sides:
            for part in parts:
                part.end()
    skip = min(length / 3, MOST_UNCOUNTED)
    stock, ours = (np.sum([part.throughputs(skip) for part in parts], axis=0) for parts in sides)
    ratios = np.divide(ours, stock, out=np.full(len(stock), np.nan), where=stock > 0)
    used = [usage(server) - earlier for server, earlier in zip(pair, before, strict=True)]
    return Turns(ratios, *used)


def warm(server: Server) -> None:
    """Read a pool's worth of blocks many times over."""
    throughput(server.instance, replace(SELECT_ONLY, clients=8), WARM, {})


def measure(
    directories: Sequence[Path],
    algorithm: str,
    settings: Mapping[str, str],
    start: int,
    layouts: Layouts,
    args: argparse.Namespace,
) -> list[Turns]:
    """Start both servers and let them take turns, with each number of clients.

    In four starts each side has each directory and each place in the order.
    """
    for directory in directories:
        read_all(directory)
    stock_at, ours_at = directories if start % 2 == 0 else reversed(directories)
    drawn = Random(f"{algorithm} {start}")
    places = [
        (directory, name, layouts.draw(name, drawn))
        for directory, name in ((stock_at, STOCK), (ours_at, algorithm))
    ]
    ours_first = start % 4 in (1, 2)
    with ExitStack() as stack:
        pair = [
            Server(name, stack.enter_context(serving(directory, name, settings, at=programs_at)))
            for directory, name, programs_at in (reversed(places) if ours_first else places)
        ]
        if ours_first:
            pair.reverse()
        with ThreadPoolExecutor() as threads:
            list(threads.map(warm, pair))
        order = Random(start)
        return [
            take_turns(pair, clients, args.rounds, order, length=args.turn, pin=not args.apart)
            for clients in args.clients
        ]


# ---- what is shown of them ----


@dataclass(frozen=True)
class Result:
    """An algorithm's turns with so many clients, after all starts."""

    algorithm: str
    clients: int
    throughput: float  # as a multiple of stock's
    error: float  # its standard error
    quartiles: tuple[float, float]  # of the rounds
    stock: Usage
    ours: Usage

    @property
    def blocks(self) -> float:
        """Blocks read for a transaction as a multiple of stock's."""
        return self.ours.blocks / self.stock.blocks

    def goals(self) -> str:
        """Tell which goals are missed; with "?" where the error is larger than what is missing."""
        if self.algorithm == STOCK:
            return ""
        missed = []
        if self.blocks <= 1 + SAME:
            missing = (NO_SLOWER if self.blocks > 1 - SAME else 1) - self.throughput
            if missing > 0:
                missed.append("throughput" if missing > 2 * self.error else "throughput?")
        if (self.ours.ratio("lock_acquisitions") or 0) > LOCKS:
            missed.append("locks")
        if self.clients == WAITS_CLIENTS and 1000 * (self.ours.ratio("lock_waits") or 0) > WAITS:
            missed.append("waits")
        return f"missed: {', '.join(missed)}" if missed else "reached"

    def cells(self) -> list[str]:
        """A row of the table."""
        return [
            self.algorithm,
            f"{self.throughput:.3f} ± {self.error:.3f}",
            f"{self.quartiles[0]:.2f} to {self.quartiles[1]:.2f}",
            f"{self.ours.blocks:.3f}",
            f"{self.stock.blocks:.3f}",
            number(self.ours.ratio("lock_acquisitions"), "{:.2f}"),
            number(self.ours.ratio("lock_waits"), "{:.1f}", 1000),
            number(self.ours.ratio("retries"), "{:.1f}", 1000),
            number(self.ours.ratio("looks", "searches"), "{:.1f}"),
            self.goals(),
        ]


COLUMNS = (
    *("x stock's throughput", "quartiles", "blocks a transaction", "stock's"),
    *("locks a miss", "waits, 1,000 misses", "retries, 1,000", "looks a search", "goals"),
)


def number(value: float | None, form: str, times: float = 1) -> str:
    return "-" if value is None else form.format(times * value)


def result(algorithm: str, clients: int, starts: Sequence[Turns]) -> Result:
    """Put an algorithm's starts together."""
    ratios = [turns.ratios for turns in starts]
    middle, error = medians(ratios)
    low, high = np.nanquantile(np.concatenate(ratios), [0.25, 0.75])
    return Result(
        algorithm=algorithm,
        clients=clients,
        throughput=float(middle),
        error=float(error),
        quartiles=(float(low), float(high)),
        stock=total([turns.stock for turns in starts]),
        ours=total([turns.ours for turns in starts]),
    )


def tables(results: Sequence[Result], clients: Sequence[int], conditions: str) -> None:
    for several in clients:
        rows = [result.cells() for result in results if result.clients == several]
        title = f"Misses, {clients_text(several)}, select-only: {conditions}"
        report(f"miss_path_{several}", title, ("", *COLUMNS), rows, width=180)


def picture(results: Sequence[Result], clients: Sequence[int]) -> None:
    """Throughput, blocks and waits; the fastest algorithm on top, below stock itself."""
    by = {(result.algorithm, result.clients): result for result in results}
    sorted_by = WAITS_CLIENTS if WAITS_CLIENTS in clients else clients[-1]
    names = [name for name, several in by if several == sorted_by and name != STOCK]
    names.sort(key=lambda name: -by[name, sorted_by].throughput)
    names.insert(0, STOCK)

    def values(of: Callable[[Result], tuple[float, float] | None]) -> dict[str, list]:
        return {clients_text(n): [of(by[name, n]) for name in names] for n in clients}

    def waits(result: Result) -> tuple[float, float] | None:
        found = result.ours.ratio("lock_waits")
        return None if found is None else (1000 * found, 0)

    panels = [
        Panel(
            "throughput / stock's (95 % confidence)",
            values(lambda result: (result.throughput, 1.96 * result.error)),
            NO_SLOWER,
        ),
        Panel("blocks a transaction / stock's", values(lambda result: (result.blocks, 0)), 1),
        Panel("waits for the lock, 1,000 misses", values(waits), WAITS, "symlog"),
    ]
    draw("miss_path", names, panels)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("algorithm", nargs="*", help="all by default")
    add("--clients", nargs="+", type=count, default=CLIENTS, metavar="N", help="default: 1 8 32")
    add("--starts", type=count, default=4, help="of both servers, best four or eight; %(default)s")
    add("--rounds", type=count, default=100, help="after each, %(default)s")
    add("--turn", type=seconds, default=TURN, help="seconds, %(default)s")
    add("--apart", action="store_true", help="let the system put clients and sessions on CPUs")
    add("--scale", type=count, default=SCALE, help="of pgbench's tables, %(default)s")
    add("--holds", action="store_true", help="only how long the lock is held")
    add("--quick", action="store_true", help=f"2 starts of {' '.join(QUICK)}: six minutes")
    parser.set_defaults(algorithm=[])
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(starts=2)
        args = parser.parse_args()
        args.algorithm = args.algorithm or QUICK
    return args


def main() -> None:
    args = arguments()
    programs(STOCK)  # fails at once if it is not there
    os.sched_setaffinity(0, TWO_CPUS)  # and with it all that this starts
    with scratch() as one:
        with serving(one, STOCK) as instance:
            initialize(instance, args.scale)
            instance.query("VACUUM (FREEZE, ANALYZE)")
            size = int(instance.query("SELECT pg_database_size(current_database()) >> 20"))
        names = algorithms(one, args.algorithm)
        if not args.holds:
            with copied(one) as two, shifted() as layouts:
                compare((one, two), names, size, layouts, args)
        lock_holds.measure(one, names, SHARED_BUFFERS)


def compare(
    directories: Sequence[Path],
    names: Sequence[str],
    size: int,
    layouts: Layouts,
    args: argparse.Namespace,
) -> None:
    """Compare the algorithms with stock."""
    settings = {"shared_buffers": SHARED_BUFFERS}
    settings["huge_pages"] = huge_pages(directories, settings)
    results = []
    for name in (STOCK, *names):
        starts = [
            measure(directories, name, settings, start, layouts, args)
            for start in range(args.starts)
        ]
        for clients, turns in zip(args.clients, zip(*starts, strict=True), strict=True):
            results.append(result(name, clients, turns))
            print(f"{clients_text(clients)}: {'; '.join(results[-1].cells())}", flush=True)
    conditions = f"{size} MB cached, {SHARED_BUFFERS} of buffers, huge pages"
    tables(results, args.clients, f"{conditions} {settings['huge_pages']}")
    picture(results, args.clients)


if __name__ == "__main__":
    told(main)
