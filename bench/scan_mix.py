#!/usr/bin/env python3
"""Streams of scans on a live server: blocks read and time, by algorithm.

The sequential microbenchmark of the papers on predictive buffer management.
TPC-H's lineitem lies in the order in which rows came, with a BRIN index on
l_shipdate; shared_buffers hold 30 % of it.  Streams of queries like Q1 and Q6,
half of each, run concurrently, each stream its own, one after the other.

ranges          random 30 % of the dates, through the index: bitmap heap scans,
                about 36 % of the blocks each.  No ring: every block goes
                through the replacement algorithm.  In the order of blocks
                (bufferpool.synchronize_bitmap_scans is off).
meeting         the same, but under pbm and pbm_pq a scan begins where it
                shares most with another one.
parallel        the same as meeting, with four parallel workers for each query.
whole           the whole table, sequentially, a quarter as many queries.
                PostgreSQL reads a table larger than a quarter of
                shared_buffers through a ring of 256 kB, so that its blocks
                cannot fill them, and lets a scan begin where another one is
                (synchronize_seqscans).  Under pbm and pbm_pq there is no ring,
                and a scan begins where it shares most with another one.
unsynchronized  the same with synchronize_seqscans off.

Before each run the server is restarted with another algorithm on the same data,
and reads the table once; that is not counted.  "stock" is an unpatched
PostgreSQL on them (make postgres BUILD=stock).  Blocks are counted by PostgreSQL (pg_stat_io); a
block that the operating system had is as good as another.  All runs of a
repetition have the same queries.

Stock runs before and after each algorithm, and what an algorithm reads and how
long it takes is compared with the mean of the two, since a machine is not as
fast in one minute as in another.  Stock's own row compares each of its runs
with those before and after in the same way: what the method cannot tell apart.
Before each run the operating system has all files in its cache: a block that is
not read saves a copy.  With --direct, reads bypass that cache (debug_io_direct),
so that each is a read of the disk that holds TMPDIR.  Where that disk is so fast
that it does not matter, --bandwidth limits what is read from it, by the throttle
of cgroups (version 1, and as root): an average over tenths of a second, not a
model of a disk.  Goals then: time falls with the reads, and no stream takes more
than 5 % longer than under stock.

With --resident, stock also runs with shared_buffers that hold the whole table:
what it takes then is about what it would take under an algorithm that never
reads, and the most that any can gain.

OPT is what the best possible choice of victims would read of the references
that a run under clock made, recorded in a run of its own.  Since timing
decides how the streams' references interleave, and whoever reads less is
faster, other runs' references come in other orders: it is a yardstick, not
a bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from common import OUT, count, report
from device import DIRECT, bandwidth
from live import STOCK, Counters, huge_pages, programs, scratch, serving, side_by_side, told
from matplotlib.ticker import NullFormatter
from streams import (
    RESIDENT,
    SCANS,
    WARM_UP,
    Line,
    Mix,
    Spread,
    check_plans,
    draw,
    in_turns,
    load,
    of_stock,
    offset,
    queries,
    scripts_of,
    tell,
)

from tidepool import parse_policy
from tidepool.errors import TidepoolError
from tidepool.plots import save, style
from tidepool.simulation import Cell, simulate
from tidepool.traces import open_trace

ALGORITHMS = ("clock", "cooling", "lru", "arc", "lirs", "s3fifo", "pbm", "pbm_pq")
# what pbm is to read at most, as a multiple of what stock reads, by the number of streams
GOALS = {
    "ranges": {1: 0.70, 4: 0.58, 8: 0.54, 16: 0.50},
    "meeting": {8: 0.42, 16: 0.35},
    "whole": {8: 0.40},
}
SLOWEST = 1.05  # times stock's, what a stream may take if reads cost
SAME = 0.01  # numbers of blocks that differ by less are the same


@dataclass(frozen=True)
class Run:
    """A server's run.

    Attributes:
        opt: what OPT reads of the same queries.
        of_stock: blocks read as a multiple of what stock's runs before and after it read.
        stretch: time as a multiple of theirs.
        slowest: of the stream that has most, as a multiple of its time in theirs.
    """

    scans: str
    streams: int
    server: str
    blocks: Counters
    seconds: float
    opt: int
    of_stock: float
    stretch: float
    slowest: float


# ---- runs ----


def record(directory: Path, settings: Mapping[str, str], scripts: Sequence[str], path: Path) -> int:
    """Record a run under clock; return how many references the recording lacks."""
    # huge pages that suffice for the buffers may not for these rings
    larger = {"bufferpool.trace_buffers": "65536", "huge_pages": "try"}
    with serving(directory, "clock", {**settings, **larger}) as instance:
        instance.query(WARM_UP)
        instance.query(f"SELECT pg_bufferpool_trace_start('{path}')")
        side_by_side(instance, scripts)
        instance.query("SELECT pg_bufferpool_trace_stop()")
        return int(instance.query("SELECT dropped FROM pg_stat_bufferpool_trace"))


def optimum(
    directory: Path, settings: Mapping[str, str], scripts: Sequence[str], frames: int
) -> int:
    """Return what OPT reads of the references of a recorded run.

    Three attempts, since a busy machine may drop references.
    """
    path = directory / "scan_mix.rec"
    for _ in range(3):
        dropped = record(directory, settings, scripts, path)
        if dropped == 0:
            break
        path.unlink()
    else:
        raise TidepoolError(f"the recording lacks {dropped} references")
    (result,) = simulate([(open_trace(path), [Cell(parse_policy("opt"), frames)])])
    path.unlink()
    return result.misses


def repetitions(
    directory: Path, args: argparse.Namespace, settings: Mapping[str, str], pages: int
) -> Iterator[Run]:
    """Run everything on a table of so many pages."""
    frames = int(settings["shared_buffers"])
    for scans in args.scans:
        with serving(directory, "clock", settings) as instance:
            for seed in range(args.repetitions):
                check_plans(instance, Mix(scans, 1, args.queries), seed)
        for repetition in range(args.repetitions):
            for streams in args.streams:
                scripts = scripts_of(Mix(scans, streams, args.queries), repetition)
                tell(f"{scans}, {streams} streams, repetition {repetition + 1}")
                opt = optimum(directory, settings, scripts, frames)
                measured = in_turns(
                    *(directory, args.algorithms, settings, scripts, repetition),
                    enough=5 * pages if args.resident else 0,
                )
                for i, (server, run) in enumerate(measured):
                    compared = of_stock(measured, i)
                    yield Run(
                        *(scans, streams, server, run.blocks, run.seconds, opt),
                        of_stock=compared.blocks,
                        stretch=compared.seconds,
                        slowest=compared.slowest,
                    )


# ---- what is shown ----


@dataclass(frozen=True)
class Summary:
    """Medians over one server's runs; of ratios to OPT and to stock's time also the range."""

    blocks: float
    hit_ratio: float
    ring_share: float
    of_opt: Spread
    of_stock: float
    seconds: float
    stretch: Spread
    slowest: float

    def goal(self) -> str:
        """Tell whether it took no longer than stock, if it read less."""
        if self.of_stock > 1 - SAME:
            return ""
        if self.stretch.median <= 1:
            return "reached"
        return "missed?" if self.stretch.least <= 1 else "missed"

    def fair(self) -> str:
        """Tell whether no stream took much longer than under stock."""
        return "reached" if self.slowest <= SLOWEST else "missed"


def servers(args: argparse.Namespace) -> list[str]:
    """Return what runs, in the order of the tables."""
    return [STOCK, *args.algorithms, *([RESIDENT] if args.resident else [])]


def saved(scans: str, streams: int, server: str, found: Summary) -> str:
    """Tell whether pbm reads as few blocks as it should."""
    goal = GOALS.get(scans, {}).get(streams)
    if server != "pbm" or goal is None:
        return ""
    return f"{goal:.2f} " + ("reached" if found.of_stock <= goal else "missed")


def summary(runs: Sequence[Run], scans: str, streams: int, server: str) -> Summary:
    mine = [run for run in runs if (run.scans, run.streams, run.server) == (scans, streams, server)]
    return Summary(
        blocks=median(run.blocks.reads for run in mine),
        hit_ratio=median(run.blocks.hit_ratio for run in mine),
        ring_share=median(run.blocks.ring_reads / max(1, run.blocks.reads) for run in mine),
        of_opt=Spread.of(run.blocks.reads / run.opt for run in mine),
        of_stock=median(run.of_stock for run in mine),
        seconds=median(run.seconds for run in mine),
        stretch=Spread.of(run.stretch for run in mine),
        slowest=median(run.slowest for run in mine),
    )


COLUMNS = (
    *("blocks read", "hits, %", "in rings, %", "x OPT", "least", "most", "x stock's blocks"),
    *("goal", "seconds", "x stock's time", "least", "most", "no longer"),
    *("slowest stream", f"at most {SLOWEST}"),
)


def tables(runs: Sequence[Run], args: argparse.Namespace, size: str) -> None:
    for scans in args.scans:
        rows = []
        for streams in args.streams:
            for server in servers(args):
                found = summary(runs, scans, streams, server)
                ours = server in args.algorithms
                rows.append(
                    (
                        server,
                        streams,
                        round(found.blocks),
                        f"{100 * found.hit_ratio:.1f}",
                        f"{100 * found.ring_share:.1f}",
                        *(*found.of_opt, found.of_stock),
                        saved(scans, streams, server, found),
                        f"{found.seconds:.1f}",
                        *found.stretch,
                        found.goal() if ours else "",
                        found.slowest,
                        found.fair() if ours and args.direct else "",
                    )
                )
        asked = f"{len(queries(Mix(scans, 1, args.queries), 0, 0))} queries a stream"
        title = f"{scans}: {size}, {asked}; medians and ranges of {args.repetitions}"
        report(f"scan_mix_{scans}", title, ("server", "streams", *COLUMNS), rows)


def picture(runs: Sequence[Run], args: argparse.Namespace) -> None:
    """Blocks read as a multiple of OPT's, and time of stock's, by the number of streams."""
    names = servers(args)
    number = 2 * len(args.scans)
    figure, axes = style.panels(number, 2.1, style.legend_rows(names, number))
    for i, scans in enumerate(args.scans):
        summaries = {
            server: [summary(runs, scans, streams, server) for streams in args.streams]
            for server in names
        }
        at = {
            server: [n * (1 + 0.2 * offset(k, len(names))) for n in args.streams]
            for k, server in enumerate(names)
        }
        blocks = {
            server: Line(at[server], [one.of_opt for one in found])
            for server, found in summaries.items()
        }
        times = {
            server: Line(at[server], [one.stretch for one in found])
            for server, found in summaries.items()
        }
        panels = (("blocks", "blocks read / OPT's", blocks), ("time", "time / stock's", times))
        for axis, (what, label, lines) in zip(axes[2 * i :], panels, strict=False):
            draw(axis, f"{scans}: {what}", "streams", label, lines)
            axis.set_xscale("log", base=2)
            axis.set_xticks(args.streams, [str(several) for several in args.streams])
            axis.xaxis.set_minor_formatter(NullFormatter())
        # OPT is of another run's order
        axes[2 * i].set_ylim(bottom=min(1, axes[2 * i].get_ylim()[0]))
    style.legend_below(figure, axes)
    save(figure, OUT / "scan_mix.png")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    names = " ".join(ALGORITHMS)
    add("--algorithms", nargs="+", default=ALGORITHMS, metavar="NAME", help=f"default: {names}")
    add("--scans", nargs="+", choices=SCANS, metavar="KIND", help="default: ranges meeting whole")
    add("--streams", nargs="+", type=count, metavar="N", help="default: 1 4 8 16")
    add("--queries", type=count, default=8, metavar="N", help="of each stream; 8")
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
    add("--direct", action="store_true", help="reads bypass the operating system's cache")
    add("--bandwidth", type=count, metavar="MB", help="read in a second at most; --direct, too")
    add("--resident", action="store_true", help="also stock with the whole table in memory")
    add("--quick", action="store_true", help="three minutes: a small table, 1 and 8 streams, once")
    parser.set_defaults(scans=("ranges", "meeting", "whole"), streams=(1, 4, 8, 16))
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(scale=0.05, streams=(1, 8), repetitions=1)
        args = parser.parse_args()
    if args.queries % 8 != 0:
        parser.error("--queries must be a multiple of 8")
    args.direct = args.direct or args.bandwidth is not None
    return args


def main() -> None:
    args = arguments()
    programs(STOCK)  # fails at once if it is not there
    with scratch() as directory:
        pages = load(directory, args.scale, args.algorithms)
        frames = round(args.memory * pages)
        settings = {
            "shared_buffers": str(frames),
            "io_method": args.io_method,
            "effective_io_concurrency": args.io_concurrency,
            "max_worker_processes": "80",
            "max_parallel_workers": "72",
        }
        if args.direct:
            settings |= DIRECT
        settings["huge_pages"] = huge_pages([directory], settings)
        limit = bandwidth(directory, args.bandwidth) if args.bandwidth else nullcontext()
        with limit:
            runs = list(repetitions(directory, args, settings, pages))
    size = f"{pages:,} blocks, {frames:,} buffers"
    if args.direct:
        size += f", direct reads, at most {args.bandwidth or '∞'} MB/s"
    tables(runs, args, size)
    picture(runs, args)


if __name__ == "__main__":
    told(main)
