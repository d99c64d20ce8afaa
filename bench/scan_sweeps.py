#!/usr/bin/env python3
"""Streams of scans on a live server: blocks read by size, samples, selectivity, speed, streams.

The sweeps of T. Vanderkooy's thesis (Sampling-based predictive database buffer
management, Waterloo 2023) on its microbenchmark, as scan_mix.py has it: streams
of queries like Q1 and Q6 over ranges of TPC-H's lineitem (bitmap heap scans, in
the order of blocks).  One thing is varied at a time; the others are as here:

buffers      30 % of the table's blocks
samples      10, from which pbm chooses a victim
selectivity  30 % of the dates
work         1: the arithmetic of a query for each row, in multiples of it; with
             "1 or 16" half of the queries are slow
streams      8, of eight queries each

"pbm (paper)" is pbm without what we added (remember, neighbours, scan_history,
frequency).  Stock runs before and after each algorithm on the same queries, and
what an algorithm reads is compared with the mean of the two; stock's own row
compares its runs in the same way.  Timing decides how scans overlap, so no
number of blocks is exact: the table shows medians and ranges of the repetitions.

All files are in the operating system's cache.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from common import OUT, PAPER, count, report
from live import STOCK, huge_pages, programs, scratch, serving, told
from streams import (
    Line,
    Mix,
    OfStock,
    Spread,
    check_plans,
    draw,
    in_turns,
    load,
    of_stock,
    offset,
    scripts_of,
    tell,
)

from tidepool.plots import save, style

SERVERS = {"clock": "clock", "pbm (paper)": PAPER, "pbm": "pbm"}
MIX = Mix("ranges", streams=8)
BUFFERS = 0.3


@dataclass(frozen=True)
class Point:
    """A point of a sweep.

    Attributes:
        value: where it is, as the table shows it.
        buffers: share of the table's blocks.
        samples: of pbm.
    """

    value: str
    mix: Mix = MIX
    buffers: float = BUFFERS
    samples: int = 10

    @property
    def servers(self) -> dict[str, str]:
        """Names, and what they are to live.serving."""
        if self.samples == 10:
            return SERVERS
        paper, ours = f"{PAPER},samples={self.samples}", f"pbm:samples={self.samples}"
        return {"clock": "clock", "pbm (paper)": paper, "pbm": ours}


@dataclass(frozen=True)
class Sweep:
    """What is varied, with the label of its axis."""

    label: str
    points: Sequence[Point]
    few: Sequence[int]  # the points that --quick has


def _percents(*values: int) -> list[tuple[str, float]]:
    return [(f"{value} %", value / 100) for value in values]


SWEEPS = {
    "buffers": Sweep(
        "buffers, of the table",
        [
            Point(text, buffers=share)
            for text, share in _percents(10, 20, 30, 40, 50, 60, 70, 80, 90)
        ],
        few=(0, 2, 5, 8),
    ),
    "samples": Sweep(
        "frames looked at for a victim",
        [Point(str(samples), samples=samples) for samples in (1, 2, 5, 10, 20, 50, 100)],
        few=(0, 3, 6),
    ),
    "selectivity": Sweep(
        "dates in a range",
        [
            Point(text, replace(MIX, share=share))
            for text, share in _percents(5, 10, 20, 30, 50, 70, 100)
        ],
        few=(1, 3, 6),
    ),
    "work": Sweep(
        "arithmetic for each row",
        [
            Point(" or ".join(map(str, work)), replace(MIX, work=work))
            for work in ((1,), (2,), (4,), (8,), (16,), (1, 16))
        ],
        few=(0, 4, 5),
    ),
    "streams": Sweep(
        "streams",
        [Point(str(streams), replace(MIX, streams=streams)) for streams in (1, 2, 4, 8, 16, 32)],
        few=(0, 3, 4),
    ),
}


@dataclass(frozen=True)
class Run:
    """A server's run at a point of a sweep."""

    sweep: str
    value: str
    server: str
    blocks: int
    of_stock: OfStock


def runs(
    directory: Path, args: argparse.Namespace, settings: dict[str, str], pages: int
) -> Iterator[Run]:
    """Run all sweeps; a point that two of them have in common is run for each."""
    for name in args.only:
        sweep = SWEEPS[name]
        for point in [sweep.points[i] for i in sweep.few] if args.quick else sweep.points:
            mix = replace(point.mix, queries=args.queries)
            given = settings | {"shared_buffers": str(max(16, round(point.buffers * pages)))}
            given["huge_pages"] = huge_pages([directory], given)
            with serving(directory, "clock", given) as instance:
                check_plans(instance, mix, 0)
            for repetition in range(args.repetitions):
                tell(f"{name}: {point.value}, repetition {repetition + 1}")
                scripts = scripts_of(mix, repetition)
                measured = in_turns(
                    directory, list(point.servers.values()), given, scripts, repetition
                )
                names = {of: name for name, of in point.servers.items()} | {STOCK: STOCK}
                for i, (server, run) in enumerate(measured):
                    yield Run(
                        name, point.value, names[server], run.blocks.reads, of_stock(measured, i)
                    )


def tables(found: Sequence[Run], only: Sequence[str], conditions: str) -> None:
    for name in only:
        rows = []
        of_sweep = [run for run in found if run.sweep == name]
        for value in dict.fromkeys(run.value for run in of_sweep):
            for server in (STOCK, *SERVERS):
                mine = [run for run in of_sweep if (run.value, run.server) == (value, server)]
                rows.append(
                    (
                        *(value, server, round(median(run.blocks for run in mine))),
                        *Spread.of(run.of_stock.blocks for run in mine),
                        median(run.of_stock.seconds for run in mine),
                    )
                )
        columns = (SWEEPS[name].label, "server", "blocks read", "x stock's", "least", "most")
        title = f"{name}: {conditions}"
        report(f"scan_sweeps_{name}", title, (*columns, "x stock's time"), rows)


def picture(found: Sequence[Run], only: Sequence[str]) -> None:
    """Blocks read as a multiple of stock's, a panel for each sweep."""
    servers = (STOCK, *SERVERS)
    figure, axes = style.panels(len(only), 2.1, style.legend_rows(list(servers), len(only)))
    for axis, name in zip(axes, only, strict=True):
        of_sweep = [run for run in found if run.sweep == name]
        values = list(dict.fromkeys(run.value for run in of_sweep))
        lines = {}
        for k, server in enumerate(servers):
            mine = [run for run in of_sweep if run.server == server]
            lines[server] = Line(
                [i + 0.15 * offset(k, len(servers)) for i in range(len(values))],
                [
                    Spread.of(run.of_stock.blocks for run in mine if run.value == value)
                    for value in values
                ],
            )
        draw(axis, name, SWEEPS[name].label, "blocks read / stock's", lines)
        axis.set_xticks(range(len(values)), [value.removesuffix(" %") for value in values])
        if values[0].endswith("%"):
            axis.set_xlabel(f"{SWEEPS[name].label}, %")
        axis.set_ylim(bottom=0)
    style.legend_below(figure, axes)
    save(figure, OUT / "scan_sweeps.png")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=SWEEPS, metavar="SWEEP", help=f"of {' '.join(SWEEPS)}")
    add("--queries", type=count, default=8, metavar="N", help="of each stream; 8")
    add("--repetitions", type=count, default=3, metavar="N", help="with other queries each; 3")
    add("--scale", type=float, default=0.05, metavar="FACTOR", help="of TPC-H; 0.05")
    add("--quick", action="store_true", help="five minutes: a smaller table, few points, once")
    parser.set_defaults(only=list(SWEEPS))
    args = parser.parse_args()
    if args.quick:  # what is given explicitly stays
        parser.set_defaults(scale=0.02, repetitions=1)
        args = parser.parse_args()
    if args.queries % 2 != 0:
        parser.error("--queries must be a multiple of 2")
    return args


def main() -> None:
    args = arguments()
    programs(STOCK)  # fails at once if it is not there
    with scratch() as directory:
        pages = load(directory, args.scale, list(SERVERS.values()))
        found = list(runs(directory, args, {"effective_io_concurrency": "16"}, pages))
    conditions = f"{pages:,} blocks, {args.queries} queries a stream; {args.repetitions} times"
    tables(found, args.only, conditions)
    picture(found, args.only)


if __name__ == "__main__":
    told(main)
