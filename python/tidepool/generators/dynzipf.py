"""Point reads with a Zipf distribution that changes, and as many reads by scans."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from tidepool.errors import TraceError
from tidepool.generators.base import BATCH, MAX_BLOCKS, GeneratedTrace
from tidepool.generators.storage import Pages, pages_of
from tidepool.generators.transactions import Transactions, run
from tidepool.traces.draws import Random, ZipfRanks, scattered, sources
from tidepool.traces.model import Chunk, Kind
from tidepool.traces.parameters import fraction_parameter, parameter, seed_parameter
from tidepool.traces.scans import PlannedScan, stream_events
from tidepool.traces.streams import cut, interleave

TABLE = 1


@dataclass(frozen=True, kw_only=True)
class DynZipfRo(GeneratedTrace):
    """Half point reads with a changing Zipf distribution, half scans, one at a time.

    After every ``phase`` point reads a fraction ``turnover`` of the pages
    exchange their ranks at random.
    """

    command = "dynzipf_ro"
    relations = MappingProxyType({TABLE: "table"})

    length: int = field(init=False, repr=False, compare=False)

    pages: int = parameter(60_000, "pages of the table", low=1, high=MAX_BLOCKS)
    scans: int = parameter(80, "scans in the trace", low=1)
    blocks: int = parameter(
        12_000, "mean blocks that a scan reads, drawn between half and one and a half of it", low=1
    )
    alpha: float = parameter(0.9, "exponent of the point reads' Zipf distribution", low=0)
    phase: int = parameter(
        100_000, "point reads from one change of the ranks to the next", low=1000
    )
    turnover: float = fraction_parameter(
        0.1, "fraction of the pages whose ranks change; 0: popularity never changes"
    )
    backends: int = parameter(8, "backends that make point reads", low=1, high=2**16)
    rate: float = parameter(
        20_000.0,
        "point reads per second, and blocks per second that all scans together read",
        low=1e-3,
        high=1e9,
    )
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks + self.blocks // 2 > self.pages:
            raise TraceError(
                f"scans of up to {self.blocks + self.blocks // 2} blocks do not fit"
                f" in a table of {self.pages} pages",
                "Make blocks at most two thirds of pages.",
            )
        self._set(length=2 * self._scanned() + 2 * self.scans)

    def _at_once(self) -> int:
        """Return how many scans run at a time."""
        return 1

    def _scanned(self) -> int:
        return sum(scan.count for scan in self._scans())

    def _events(self) -> Iterator[Chunk]:
        points = cut(self._points(), self._scanned())
        return interleave(points, *map(stream_events, self._streams()))

    # ---- scans ----

    def _scans(self) -> Iterator[PlannedScan]:
        """Yield the scans as if they all belonged to backend 0 and began at 0."""
        (rng,) = sources(self.seed, 1)
        for number in range(self.scans):
            length, place = rng.random(2)
            count = self.blocks - self.blocks // 2 + int(length * (self.blocks // 2 * 2 + 1))
            yield PlannedScan(
                scan=number + 1,
                backend=0,
                relation=TABLE,
                first=int(place * (self.pages - count + 1)),
                count=count,
                size=self.pages,
                speed=self.rate / self._at_once(),
            )

    def _streams(self) -> list[list[PlannedScan]]:
        """Return the scans by backend: the next one goes to the backend that is free first."""
        free = [(0.0, number) for number in range(self._at_once())]
        streams: list[list[PlannedScan]] = [[] for _ in free]
        for scan in self._scans():
            start, number = heapq.heappop(free)
            begun = replace(scan, start=start, backend=self.backends + number + 1)
            streams[number].append(begun)
            heapq.heappush(free, (begun.end, number))
        return streams

    # ---- point reads ----

    def _points(self) -> Iterator[Chunk]:
        _, for_pages, for_times = sources(self.seed, 3)
        return run(
            map(_single_reads, self._pages(for_pages)),
            rng=for_times,
            backends=self.backends,
            rate=self.rate,
        )

    def _pages(self, rng: Random) -> Iterator[Pages]:
        """Yield the pages that are read, without end."""
        for_ranks, for_places = rng.spawn(2)
        zipf = ZipfRanks(self.pages, self.alpha)
        page_of_rank = scattered(for_places, self.pages)
        changing = round(self.pages * self.turnover)
        while True:
            for begin in range(0, self.phase, BATCH):
                ranks = zipf.draw(for_ranks, min(BATCH, self.phase - begin))
                yield pages_of(TABLE, page_of_rank[ranks])
            chosen = scattered(for_places, self.pages)[:changing]
            page_of_rank[chosen] = page_of_rank[np.roll(chosen, 1)]


@dataclass(frozen=True, kw_only=True)
class DynZipfRoCs(DynZipfRo):
    """The point reads and scans of dynzipf_ro, the scans several at a time and interleaved.

    Each scan is as many times slower, so that half of the reads are points'
    and half scans' here too.
    """

    command = "dynzipf_ro_cs"

    at_once: int = parameter(16, "most scans that run at the same time", low=1, high=2**16)

    def _at_once(self) -> int:
        return self.at_once


def _single_reads(pages: Pages) -> Transactions:
    return Transactions(
        sizes=np.ones(len(pages), np.int64),
        page=pages,
        kind=np.full(len(pages), Kind.READ, np.uint8),
        flags=np.zeros(len(pages), np.uint16),
    )
