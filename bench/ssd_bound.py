#!/usr/bin/env python3
"""How much of the disk's read time an SSD of some size can absorb at best on ods.

A live server without an SSD does the queries of ssd_live.py's ods, from one stream or
eight, and records what it reads below shared buffers.  Pages are chosen that save
most: each saves its part of the requests that it is in.  They stay on the SSD all the
time.  Then the requests of the second half of the queries are made again: of each the
disk reads from the first page that is not on the SSD to the last.

at best       chosen by hindsight of the second half; the best of choices by page and by
              extents of several sizes, since a request is saved only as a whole
by the past   chosen by the first half: the extents that have saved most, since what
              their pages have in common is known better than a single page

A request costs what the emulated disk takes for it (a seek of 8 ms unless it goes on
where the last one ended, and 55 microseconds a page), in the order of the recording.

So the former is nearly a bound: a choice that weighs requests as such could be a little
better, and contents that change with time could be.  The latter is what can be hoped
for, on a load that does not change.  Needs root and FUSE, and
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

EXTENT = 32  # pages, as tac's
EXTENTS = (1, 4, 8, 16, 32, 64, 128)
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


def halves(requests: Requests) -> tuple[Requests, Requests]:
    """Return the first half of the requests, and the second."""
    middle = len(requests.page) // 2
    return (
        Requests(requests.page[:middle], requests.count[:middle]),
        Requests(requests.page[middle:], requests.count[middle:]),
    )


def warmest(requests: Requests, frames: int, extent: int = 1) -> NDArray[np.uint64]:
    """Return so many pages: those whose extents have saved most for each of their pages."""
    saves = np.repeat(requests.costs() / requests.count, requests.count)
    pages = np.unique(requests.pages())
    _, extent_of_page = np.unique(pages // extent, return_inverse=True)
    _, extent_of_read = np.unique(requests.pages() // extent, return_inverse=True)
    saved = np.bincount(extent_of_read, weights=saves) / np.bincount(extent_of_page)
    return pages[np.argsort(-saved[extent_of_page], kind="stable")[:frames]]


def absorbed(requests: Requests, on_ssd: NDArray[np.uint64]) -> float:
    """Return the share of the arm's time that these pages on an SSD save."""
    costs = requests.costs()
    begin = np.cumsum(requests.count) - requests.count
    within = np.arange(requests.count.sum()) - np.repeat(begin, requests.count)
    lacks = ~np.isin(requests.pages(), on_ssd)
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
    add("--queries", type=count, default=2400, metavar="N", help="in each half; %(default)s")
    return parser.parse_args()


def rows(bench: Bench, args: argparse.Namespace) -> Sequence[tuple[str, ...]]:
    found = []
    for streams in args.streams:
        before, now = halves(recorded(bench, streams, 2 * args.queries, args.memory))
        for share in args.ssd:
            frames = round(share * bench.pages)
            best = max(absorbed(now, warmest(now, frames, extent)) for extent in EXTENTS)
            past = absorbed(now, warmest(before, frames, EXTENT))
            print(f"{streams} streams, {share:.0%}: {best:.1%}, {past:.1%}", flush=True)
            cells = (str(streams), f"{share:.0%}", f"{len(now.page):,}")
            found.append((*cells, f"{best:.1%}", f"{past:.1%}", f"{1 / (1 - past):.1f}"))
    return found


def main() -> None:
    args = arguments()
    require()
    with prepared(ods_load(args.scale, 96)) as bench:
        table = rows(bench, args)
    columns = ("streams", "SSD, of the data", "reads", "at best", "by the past", "times as fast")
    report("ssd_bound", "share of the disk's read time that an SSD can absorb", columns, table)


if __name__ == "__main__":
    told(skipped(main))
