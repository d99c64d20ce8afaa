"""Streams of scans of TPC-H's lineitem on live servers: queries, runs, turns with stock.

The table lies in the order in which rows came, with a BRIN index on l_shipdate.
Streams of queries like Q1 and Q6, half of each, run concurrently, each stream
its own, one after the other.  Before each run the server is restarted with
another algorithm on the same data, and reads the table once; that is not
counted.  Blocks are counted by PostgreSQL (pg_stat_io).

Stock, an unpatched PostgreSQL, runs before and after each algorithm, and what
an algorithm reads and how long it takes is compared with the mean of the two,
since a machine is not as fast in one minute as in another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import NamedTuple

from live import (
    STOCK,
    Counters,
    counters,
    read_all,
    serving,
    side_by_side,
)
from matplotlib.axes import Axes

from tidepool.errors import TidepoolError
from tidepool.plots import style
from tidepool.server import Instance
from tidepool.workloads import tpch

# what the sessions of each kind of scan set, so that the plan is the one that is meant
BITMAP = "SET enable_seqscan = off; SET enable_indexscan = off"
WHOLE = "SET enable_bitmapscan = off; SET enable_indexscan = off"
IN_ORDER = "SET bufferpool.synchronize_bitmap_scans = off"  # stock does not mind
SERIAL = "SET max_parallel_workers_per_gather = 0"
PARALLEL = (
    "SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0;"
    " SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0"
)
SCANS = {
    "ranges": ("Bitmap Heap Scan", f"{BITMAP}; {SERIAL}; {IN_ORDER}"),
    "meeting": ("Bitmap Heap Scan", f"{BITMAP}; {SERIAL}"),
    "parallel": ("Parallel Bitmap Heap Scan", f"{BITMAP}; {PARALLEL}"),
    "whole": ("Seq Scan", f"{WHOLE}; {SERIAL}"),
    "unsynchronized": ("Seq Scan", f"{WHOLE}; {SERIAL}; SET synchronize_seqscans = off"),
}
FIRST, LAST = date(1992, 1, 2), date(1998, 12, 1)  # TPC-H's l_shipdate
RANGE = 0.3
RESIDENT = "stock, all in memory"
WARM_UP = f"{WHOLE}; {SERIAL}; SELECT count(*) FROM lineitem"

# less arithmetic than in TPC-H's Q1, so that time is not mostly that
Q1 = """SELECT l_returnflag, l_linestatus, count(*), sum(l_quantity), sum(l_extendedprice)
    FROM lineitem WHERE {} GROUP BY 1, 2 ORDER BY 1, 2"""
Q6 = """SELECT sum(l_extendedprice * l_discount)
    FROM lineitem WHERE {} AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


# always true, and some arithmetic
_MORE_WORK = " AND l_extendedprice * (1 + l_tax) > {}"


@dataclass(frozen=True)
class Mix:
    """What the streams do.

    Attributes:
        scans: a kind of SCANS.
        streams: how many.
        queries: of each stream; whole tables take longer, so of them there are a quarter.
        share: of the dates in a range.
        work: times the arithmetic for each row; each query draws one of these.
    """

    scans: str
    streams: int
    queries: int = 8
    share: float = RANGE
    work: tuple[int, ...] = (1,)

    @property
    def whole(self) -> bool:
        return self.scans in ("whole", "unsynchronized")


# ---- queries ----


def queries(mix: Mix, stream: int, seed: int) -> list[str]:
    """Return a stream's queries: as many of Q1 as of Q6, in random order."""
    rng = Random(f"{seed}, {stream}")
    forms = [Q1, Q6] * (mix.queries // (8 if mix.whole else 2))
    rng.shuffle(forms)
    return [form.format(_condition(mix, rng)) for form in forms]


def _condition(mix: Mix, rng: Random) -> str:
    condition = "true" if mix.whole else _range(mix.share, rng)
    work = mix.work[0] if len(mix.work) == 1 else rng.choice(mix.work)
    return condition + "".join(_MORE_WORK.format(-i) for i in range(1, work))


def _range(share: float, rng: Random) -> str:
    days = (LAST - FIRST).days + 1
    length = round(share * days)
    first = FIRST + timedelta(days=rng.randrange(days - length + 1))
    return f"l_shipdate >= '{first}' AND l_shipdate < '{first + timedelta(days=length)}'"


def scripts_of(mix: Mix, seed: int) -> list[str]:
    """Return a script for each stream."""
    _, settings = SCANS[mix.scans]
    return [
        ";\n".join((settings, *queries(mix, stream, seed))) + ";\n" for stream in range(mix.streams)
    ]


def check_plans(instance: Instance, mix: Mix, seed: int) -> None:
    """Raise TidepoolError unless the first stream's queries are executed as is meant."""
    node, settings = SCANS[mix.scans]
    for query in queries(mix, 0, seed):
        plan = instance.query(f"{settings}; EXPLAIN (COSTS off) {query}")
        if f"{node} on lineitem" not in plan:
            raise TidepoolError(f"this is no {node}:\n{query}\n{plan}")


def load(directory: Path, scale: float, algorithms: Sequence[str]) -> int:
    """Make the table; return its blocks.

    Raises TidepoolError if the server lacks one of the algorithms: it would
    begin with the clock instead.
    """
    with serving(directory, "clock") as instance:
        known = instance.query(
            "CREATE EXTENSION pg_bufferpool; SELECT * FROM pg_bufferpool_algorithms()"
        ).split()
        for name in algorithms:
            if name.split(":")[0] not in known:
                raise TidepoolError(
                    f"no algorithm {name}", hint=f"there are {', '.join(sorted(known))}"
                )
        tpch.load(instance, scale, ["lineitem"], clustered=True, progress=tell)
        return int(
            instance.query(
                "SELECT pg_relation_size('lineitem') / current_setting('block_size')::int"
            )
        )


# ---- runs ----


class Measured(NamedTuple):
    """A run's blocks, the seconds after which each stream ended, the answers to its queries."""

    blocks: Counters
    ends: list[float]
    answers: list[str]

    @property
    def seconds(self) -> float:
        """Until the last stream ended."""
        return max(self.ends)


def measure(
    directory: Path, server: str, settings: Mapping[str, str], scripts: Sequence[str]
) -> Measured:
    """Run the scripts after one read of the table.

    The operating system has all files in its cache, unless the server bypasses it.
    """
    if "debug_io_direct" not in settings:
        read_all(directory)
    with serving(directory, server, settings) as instance:
        instance.query(WARM_UP)
        before = counters(instance)
        answers, ends = side_by_side(instance, scripts)
        return Measured(counters(instance) - before, ends, answers)


def in_turns(
    directory: Path,
    algorithms: Sequence[str],
    settings: Mapping[str, str],
    scripts: Sequence[str],
    repetition: int,
    enough: int = 0,
) -> list[tuple[str, Measured]]:
    """Run stock and an algorithm in turn, stock first and last.

    If not 0, ``enough`` buffers are so many that the table fits into a quarter
    of them, so that stock reads it without a ring: with them it runs as
    RESIDENT, last of the algorithms.
    """
    order = [STOCK]
    for name in reversed(algorithms) if repetition % 2 else algorithms:
        order += [name, STOCK]
    if enough:
        order += [RESIDENT, STOCK]
    found = []
    for server in order:
        if server == RESIDENT:
            roomy = {**settings, "shared_buffers": str(enough), "huge_pages": "try"}
            run = measure(directory, STOCK, roomy, scripts)
        else:
            run = measure(directory, server, settings, scripts)
        if run.answers != (found or [(server, run)])[0][1].answers:
            raise TidepoolError(f"{server} gives other answers than {STOCK}")
        tell(f"  {server}: {run.blocks.reads} blocks read, {run.seconds:.2f} s")
        found.append((server, run))
    return found


@dataclass(frozen=True)
class OfStock:
    """A run as a multiple of stock's runs before and after it.

    Attributes:
        blocks: read.
        seconds: until the last stream ended.
        slowest: until a stream ended, of the one that has the most.
    """

    blocks: float
    seconds: float
    slowest: float


def of_stock(measured: Sequence[tuple[str, Measured]], i: int) -> OfStock:
    """Compare the i-th run with stock's last run before it, and its first after it."""
    step = 2 if measured[i][0] == STOCK else 1
    peers = [measured[j][1] for j in (i - step, i + step) if 0 <= j < len(measured)]
    run = measured[i][1]
    streams = zip(run.ends, *(peer.ends for peer in peers), strict=True)
    return OfStock(
        blocks=run.blocks.reads / mean(peer.blocks.reads for peer in peers),
        seconds=run.seconds / mean(peer.seconds for peer in peers),
        slowest=max(mine / mean(theirs) for mine, *theirs in streams),
    )


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- what is shown ----


class Spread(NamedTuple):
    """A median with the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        several = list(values)
        return cls(median(several), min(several), max(several))


class Line(NamedTuple):
    """A server's spreads, and where they are drawn."""

    at: Sequence[float]
    values: Sequence[Spread]


def offset(i: int, lines: int) -> float:
    """Where the i-th of several lines is between -0.5 and 0.5, so that no spread hides another."""
    return (i + 0.5) / lines - 0.5


def draw(axis: Axes, title: str, x: str, y: str, lines: Mapping[str, Line]) -> None:
    """Draw a line for each server."""
    for i, (server, (at, values)) in enumerate(lines.items()):
        spread = (
            [one.median - one.least for one in values],
            [one.most - one.median for one in values],
        )
        look = style.line_style(i - 1, server) | {"elinewidth": 0.7}
        if server == STOCK:
            look |= {"color": "#777777", "marker": "."}
        axis.errorbar(at, [one.median for one in values], spread, label=server, **look)
    style.dress(axis, title, x, y)
