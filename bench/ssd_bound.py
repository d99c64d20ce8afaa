#!/usr/bin/env python3
"""How much of the disk's read time an SSD of some size can absorb at best on ods.

A live server without an SSD does the queries of ssd_live.py's ods, from one stream or
eight, and records what it reads below shared buffers.  With hindsight the pages are
chosen that save most: each saves its part of the requests that it is in.  They stay
on the SSD all the time.  Then the requests are made again: of each the disk reads from
the first page that is not on the SSD to the last.

A request costs what the emulated disk takes for it (a seek of 8 ms unless it goes on
where the last one ended, and 55 microseconds a page), in the order of the recording.

So this is a bound, but for two things: a choice that weighs whole requests could be a
little better, and contents that change with time could be.  Needs root and FUSE, and
make postgres.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import count, report
from devices import require, skipped
from live import serving, told
from numpy.typing import NDArray
from ssd_live import SHARES
from ssd_runs import NONE, SEEK, TRANSFER, Bench, Server, ods_load, prepared

from tidepool.traces import Kind, open_trace
from tidepool.traces.columns import column

PARTS = 12  # of the queries, each with a seed of its own, as in ssd_runs.py


class Requests(NamedTuple):
    """Reads of consecutive pages: the first of each, and how many."""

    page: NDArray[np.uint64]
    count: NDArray[np.int64]

    def pages(self) -> NDArray[np.uint64]:
        """Return all pages, request by request."""
        before = np.cumsum(self.count) - self.count
        within = np.arange(self.count.sum()) - np.repeat(before, self.count)
        return np.repeat(self.page, self.count) + within.astype(np.uint64)

    def costs(self) -> NDArray[np.float64]:
        """Return what the disk's arm takes for each, in microseconds."""
        end = self.page + self.count.astype(np.uint64)
        seeks = np.ones(len(self.page))
        seeks[1:] = self.page[1:] != end[:-1]
        return seeks * SEEK + self.count * float(TRANSFER)


def recorded(bench: Bench, streams: int, queries: int, memory: float) -> Requests:
    """Let a server without an SSD do the queries; return what it read of the tables."""
    server = Server(NONE, 0, round(memory * bench.pages) + 256)
    bench.devices.disk.fast()
    with (
        tempfile.TemporaryDirectory() as place,
        serving(bench.directory, "clock", server.settings(bench)) as instance,
    ):
        inside, path = instance.directory / "reads.rec", Path(place) / "reads.rec"
        instance.query(f"SELECT pg_bufferpool_trace_start('{inside}')")
        for part in range(PARTS):
            bench.load.work(instance, streams, queries // PARTS, part + 1)
        instance.query("SELECT pg_bufferpool_trace_stop()")
        shutil.move(inside, path)
        trace = open_trace(path)
        chunks = [
            (chunk.page[rows], column(chunk, "count", 0)[rows].astype(np.int64))
            for chunk in trace.chunks()
            for rows in [column(chunk, "kind", 0) == Kind.PHYSICAL_READ]
        ]
    page, number = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    names = trace.relations  # complete when all has been read
    tables = [relation for relation, name in names.items() if name.startswith("public.")]
    ours = np.isin(page >> np.uint64(34), tables)  # catalogs are not on the disk
    return Requests(page[ours], number[ours])


def absorbed(requests: Requests, frames: int) -> float:
    """Return the share of the arm's time that so many pages on an SSD save."""
    costs = requests.costs()
    distinct, of = np.unique(requests.pages(), return_inverse=True)
    saved = np.bincount(of, weights=np.repeat(costs / requests.count, requests.count))
    missing = np.ones(len(distinct), dtype=bool)
    missing[np.argsort(-saved, kind="stable")[:frames]] = False
    begin = np.cumsum(requests.count) - requests.count
    within = np.arange(requests.count.sum()) - np.repeat(begin, requests.count)
    lacks = missing[of]
    last = np.maximum.reduceat(np.where(lacks, within, -1), begin)
    first = np.minimum.reduceat(np.where(lacks, within, last.max() + 1), begin)
    read = last >= 0
    rest = Requests(
        (requests.page + first.astype(np.uint64))[read], (last - first + 1)[read].astype(np.int64)
    )
    return 1 - float(rest.costs().sum() / costs.sum())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--streams", nargs="+", type=count, default=[1, 8], metavar="N")
    add("--ssd", nargs="+", type=float, default=list(SHARES), metavar="SHARE", help="of the data")
    add("--memory", type=float, default=0.025, metavar="SHARE", help="of the data; %(default)s")
    add("--scale", type=float, default=0.25, metavar="FACTOR", help="of ods; %(default)s")
    add("--queries", type=count, default=2400, metavar="N", help="%(default)s")
    return parser.parse_args()


def rows(bench: Bench, args: argparse.Namespace) -> Sequence[tuple[str, ...]]:
    found = []
    for streams in args.streams:
        requests = recorded(bench, streams, args.queries, args.memory)
        for share in args.ssd:
            best = absorbed(requests, round(share * bench.pages))
            print(f"{streams} streams, {share:.0%}: {best:.1%}", flush=True)
            cells = (str(streams), f"{share:.0%}", f"{len(requests.page):,}")
            found.append((*cells, f"{best:.1%}", f"{1 / (1 - best):.1f}"))
    return found


def main() -> None:
    args = arguments()
    require()
    with prepared(ods_load(args.scale, 96)) as bench:
        table = rows(bench, args)
    columns = ("streams", "SSD, of the data", "reads", "absorbed at best", "times as fast")
    report("ssd_bound", "what an SSD can absorb, with hindsight", columns, table)


if __name__ == "__main__":
    told(skipped(main))
