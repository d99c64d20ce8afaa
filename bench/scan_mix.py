#!/usr/bin/env python3
"""Streams of scans on a live server: blocks read, by algorithm.

The sequential microbenchmark of the papers on predictive buffer management.
TPC-H's lineitem lies in the order in which rows came, with a BRIN index on
l_shipdate; shared_buffers hold 30 % of it.  Streams of queries like Q1 and Q6,
half of each, run beside each other, each stream one query after the other.
However many streams, the queries are the same, dealt to them in turn.

ranges          random 30 % of the dates, through the index: bitmap heap scans,
                about 36 % of the blocks each.  No ring: every block goes
                through the replacement algorithm.
whole           the whole table, sequentially, a quarter as many queries.
                PostgreSQL reads a table larger than a quarter of
                shared_buffers through a ring of 256 kB, so that its blocks
                cannot fill them, and lets a scan begin where another one is
                (synchronize_seqscans).  Neither is ours.
unsynchronized  the same with synchronize_seqscans off.

Each run begins with empty buffers: the server has been restarted with another
algorithm on the same data, and "stock" is an unpatched PostgreSQL on them
(make postgres BUILD=stock).  Blocks are counted by PostgreSQL (pg_stat_io); a
block that the operating system had is as good as another.  All runs of a
repetition have the same queries, and ratios are of runs of one repetition.

OPT is what the best possible choice of victims would read of the references
that a run under clock made, recorded in a run of its own.  Since timing
decides how the streams' references interleave, and whoever reads less is
faster, other runs' references come in other orders: it is a yardstick, not
a bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from statistics import median

from common import OUT, report
from live import STOCK, Counters, counters, programs, scratch, serving, side_by_side, told
from matplotlib.ticker import NullFormatter

from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.plots import save, style
from tidepool.server import Instance
from tidepool.simulation import Cell, simulate
from tidepool.traces import open_trace
from tidepool.workloads import tpch

ALGORITHMS = ("clock", "lru", "arc", "lirs", "s3fifo", "pbm")
PREDICTIVE = ("pbm", "pbm_pq")

# what the sessions of each kind of scan set, so that the plan is the one that is meant
SCANS = {
    "ranges": ("Bitmap Heap Scan", "SET enable_seqscan = off; SET enable_indexscan = off"),
    "whole": ("Seq Scan", "SET enable_bitmapscan = off; SET enable_indexscan = off"),
    "unsynchronized": (
        "Seq Scan",
        "SET enable_bitmapscan = off; SET enable_indexscan = off; SET synchronize_seqscans = off",
    ),
}
FIRST, LAST = date(1992, 1, 2), date(1998, 12, 1)  # TPC-H's l_shipdate
RANGE = 0.3

# less arithmetic than in TPC-H's Q1, so that time is not mostly that
Q1 = """SELECT l_returnflag, l_linestatus, count(*), sum(l_quantity), sum(l_extendedprice)
    FROM lineitem WHERE {} GROUP BY 1, 2 ORDER BY 1, 2"""
Q6 = """SELECT sum(l_extendedprice * l_discount)
    FROM lineitem WHERE {} AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"""


@dataclass(frozen=True)
class Run:
    """A server's run, and what OPT reads of the same queries."""

    scans: str
    streams: int
    repetition: int
    server: str
    blocks: Counters
    seconds: float
    opt: int


# ---- queries ----


def queries(scans: str, count: int, seed: int) -> list[str]:
    """Return as many of Q1 as of Q6, in random order.

    A whole table takes longer: of them there are a quarter of ``count``.
    """
    rng = Random(seed)
    forms = [Q1, Q6] * (count // (2 if scans == "ranges" else 8))
    rng.shuffle(forms)
    return [form.format(_range(rng) if scans == "ranges" else "true") for form in forms]


def _range(rng: Random) -> str:
    days = (LAST - FIRST).days + 1
    length = round(RANGE * days)
    first = FIRST + timedelta(days=rng.randrange(days - length + 1))
    return f"l_shipdate >= '{first}' AND l_shipdate < '{first + timedelta(days=length)}'"


def dealt(scans: str, count: int, streams: int, seed: int) -> list[str]:
    """Return a script for each stream."""
    _, settings = SCANS[scans]
    hands = (queries(scans, count, seed)[i::streams] for i in range(streams))
    return [";\n".join((settings, *hand)) + ";\n" for hand in hands]


def check_plans(instance: Instance, scans: str, count: int, seed: int) -> None:
    """Raise TidepoolError unless every query is executed in the way that is meant."""
    node, settings = SCANS[scans]
    for query in queries(scans, count, seed):
        plan = instance.query(f"{settings}; EXPLAIN (COSTS off) {query}")
        if f"{node} on lineitem" not in plan:
            raise TidepoolError(f"this is no {node}:\n{query}\n{plan}")


# ---- runs ----


def measure(
    directory: Path, server: str, settings: Mapping[str, str], scripts: Sequence[str]
) -> tuple[Counters, float, list[str]]:
    """Return the blocks and seconds of the scripts with empty buffers, and their answers."""
    with serving(directory, server, settings) as instance:
        before = counters(instance)
        answers, seconds = side_by_side(instance, scripts)
        return counters(instance) - before, seconds, answers


def optimum(
    directory: Path, settings: Mapping[str, str], scripts: Sequence[str], frames: int
) -> int:
    """Return what OPT reads of the references of a recorded run."""
    path = directory / "scan_mix.rec"
    with serving(directory, "clock", {**settings, "bufferpool.trace_buffers": "65536"}) as instance:
        instance.query(f"SELECT pg_bufferpool_trace_start('{path}')")
        side_by_side(instance, scripts)
        instance.query("SELECT pg_bufferpool_trace_stop()")
        dropped = instance.query("SELECT dropped FROM pg_stat_bufferpool_trace")
    if dropped != "0":
        raise TidepoolError(f"the recording lacks {dropped} references", hint="run it again")
    (result,) = simulate([(open_trace(path), [Cell(parse_policy("opt"), frames)])])
    path.unlink()
    return result.misses


def repetitions(
    directory: Path, args: argparse.Namespace, settings: Mapping[str, str], frames: int
) -> Iterator[Run]:
    """Run everything."""
    for scans in args.scans:
        with serving(directory, "clock", settings) as instance:
            for seed in range(args.repetitions):
                check_plans(instance, scans, args.queries, seed)
        for repetition in range(args.repetitions):
            for streams in args.streams:
                scripts = dealt(scans, args.queries, streams, repetition)
                tell(f"{scans}, {streams} streams, repetition {repetition + 1}")
                opt = optimum(directory, settings, scripts, frames)
                answers = None
                for server in (STOCK, *args.algorithms):
                    blocks, seconds, given = measure(directory, server, settings, scripts)
                    if given != (answers := answers or given):
                        raise TidepoolError(f"{server} gives other answers than {STOCK}")
                    tell(f"  {server}: {blocks.reads} blocks read, {blocks.reads / opt:.3f} x OPT")
                    yield Run(scans, streams, repetition, server, blocks, seconds, opt)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- what is shown ----


@dataclass(frozen=True)
class Summary:
    """Medians over the repetitions of one server's runs, with the range of the ratio to OPT."""

    blocks: float
    hit_ratio: float
    ring_share: float
    of_opt: float
    least: float
    most: float
    of_stock: float
    seconds: float


def summary(runs: Sequence[Run], scans: str, streams: int, server: str) -> Summary:
    there = [run for run in runs if (run.scans, run.streams) == (scans, streams)]
    mine = [run for run in there if run.server == server]
    stock = [run for run in there if run.server == STOCK]
    ratios = [run.blocks.reads / run.opt for run in mine]
    return Summary(
        blocks=median(run.blocks.reads for run in mine),
        hit_ratio=median(run.blocks.hit_ratio for run in mine),
        ring_share=median(run.blocks.ring_reads / run.blocks.reads for run in mine),
        of_opt=median(ratios),
        least=min(ratios),
        most=max(ratios),
        of_stock=median(
            run.blocks.reads / peer.blocks.reads for run, peer in zip(mine, stock, strict=True)
        ),
        seconds=median(run.seconds for run in mine),
    )


COLUMNS = ("blocks read", "hits, %", "in rings, %", "x OPT", "least", "most", "x stock", "seconds")


def tables(runs: Sequence[Run], args: argparse.Namespace, size: str) -> None:
    for scans in args.scans:
        rows = []
        for streams in args.streams:
            for server in (STOCK, *args.algorithms):
                found = summary(runs, scans, streams, server)
                rows.append(
                    (
                        server,
                        streams,
                        round(found.blocks),
                        f"{100 * found.hit_ratio:.1f}",
                        f"{100 * found.ring_share:.1f}",
                        *(found.of_opt, found.least, found.most, found.of_stock),
                        f"{found.seconds:.1f}",
                    )
                )
        asked = f"{len(queries(scans, args.queries, 0))} queries"
        title = f"{scans}: {size}, {asked}; median of {args.repetitions}, range of x OPT"
        report(f"scan_mix_{scans}", title, ("server", "streams", *COLUMNS), rows)


def picture(runs: Sequence[Run], args: argparse.Namespace) -> None:
    """Blocks read as a multiple of OPT's, by the number of streams."""
    servers = (STOCK, *args.algorithms)
    figure, axes = style.panels(
        len(args.scans), 2.1, style.legend_rows(list(servers), len(args.scans))
    )
    for scans, axis in zip(args.scans, axes, strict=True):
        for i, server in enumerate(servers):
            found = [summary(runs, scans, streams, server) for streams in args.streams]
            ratios = [one.of_opt for one in found]
            spread = (
                [one.of_opt - one.least for one in found],
                [one.most - one.of_opt for one in found],
            )
            look = style.line_style(i - 1, server) | {"elinewidth": 0.7}
            if server == STOCK:
                look |= {"color": "#777777", "marker": "."}
            beside = 1 + 0.03 * (i - (len(servers) - 1) / 2)  # so that no spread hides another
            at = [streams * beside for streams in args.streams]
            axis.errorbar(at, ratios, spread, label=server, **look)
        style.dress(axis, scans, "streams", "blocks read / OPT's")
        axis.set_xscale("log", base=2)
        axis.set_xticks(args.streams, [str(streams) for streams in args.streams])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(bottom=min(1, axis.get_ylim()[0]))  # OPT is of another run's order
    style.legend_below(figure, axes)
    save(figure, OUT / "scan_mix.png")


def count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    names = " ".join(ALGORITHMS)
    add("--algorithms", nargs="+", default=ALGORITHMS, metavar="NAME", help=f"default: {names}")
    add("--scans", nargs="+", choices=SCANS, metavar="KIND", help="default: ranges whole")
    add("--streams", nargs="+", type=count, metavar="N", help="default: 1 4 8 16")
    add("--queries", type=count, default=64, metavar="N", help="of all streams together; 64")
    add("--repetitions", type=count, default=3, metavar="N", help="with other queries each; 3")
    add("--scale", type=float, default=0.1, metavar="FACTOR", help="of TPC-H; 0.1")
    add("--memory", type=float, default=0.3, metavar="SHARE", help="of the table's blocks; 0.3")
    add("--io-method", default="worker", metavar="METHOD", help="of all servers; worker")
    add(
        "--io-concurrency",
        default="16",
        metavar="N",
        help="effective_io_concurrency of all servers; 16",
    )
    add("--quick", action="store_true", help="two minutes: a small table, 1 and 8 streams, once")
    parser.set_defaults(scans=("ranges", "whole"), streams=(1, 4, 8, 16))
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(scale=0.05, queries=32, streams=(1, 8), repetitions=1)
        args = parser.parse_args()
    if args.queries % 8 != 0 or args.queries < 4 * max(args.streams):
        parser.error("--queries must be a multiple of 8, and at least 4 for each stream")
    return args


def main() -> None:
    args = arguments()
    programs(STOCK)  # fails at once if it is not there
    with scratch() as directory:
        with serving(directory, "clock") as instance:
            known = instance.query(
                "CREATE EXTENSION pg_bufferpool; SELECT * FROM pg_bufferpool_algorithms()"
            ).split()
            for name in args.algorithms:
                if name not in known:
                    raise TidepoolError(
                        f"no algorithm {name}", hint=f"there are {', '.join(sorted(known))}"
                    )
            tpch.load(instance, args.scale, ["lineitem"], clustered=True, progress=tell)
            pages = int(
                instance.query(
                    "SELECT pg_relation_size('lineitem') / current_setting('block_size')::int"
                )
            )
        frames = round(args.memory * pages)
        settings = {
            "shared_buffers": str(frames),
            "io_method": args.io_method,
            "effective_io_concurrency": args.io_concurrency,
        }
        runs = list(repetitions(directory, args, settings, frames))
    size = f"{pages:,} blocks, {frames:,} buffers"
    tables(runs, args, size)
    picture(runs, args)
    if any(name in PREDICTIVE for name in args.algorithms):
        print(
            "pbm is told of no scan: the server does not register its scans yet, so pbm goes by"
            " how often blocks were read, and knows nothing of what will be."
        )


if __name__ == "__main__":
    told(main)
