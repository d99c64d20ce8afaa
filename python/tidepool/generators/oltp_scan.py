"""Point references of many backends, concurrent with sequential scans of the same table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from tidepool.errors import TraceError
from tidepool.generators.base import BATCH, MAX_BLOCKS, GeneratedTrace, length_parameter
from tidepool.generators.scan import random_first
from tidepool.generators.storage import pages_of
from tidepool.generators.transactions import Transactions, run
from tidepool.traces.draws import Random, ZipfRanks, scattered, sources
from tidepool.traces.model import Chunk, Kind
from tidepool.traces.parameters import fraction_parameter, parameter, seed_parameter
from tidepool.traces.scans import PlannedScan, count_events, stream_events
from tidepool.traces.streams import cut, interleave

ACCOUNTS = 1


@dataclass(frozen=True, kw_only=True)
class OltpScan(GeneratedTrace):
    """A database-like mix: Zipf point reads and updates, and sequential scans now and then.

    Every scanning backend makes one scan in each interval of time, at a
    random moment in which it fits; there are as many intervals as fit in the
    trace.
    """

    command = "oltp_scan"
    relations = MappingProxyType({ACCOUNTS: "accounts"})

    pages: int = parameter(60_000, "pages of the table", low=1, high=MAX_BLOCKS)
    length: int = length_parameter(2_000_000)
    alpha: float = parameter(0.9, "exponent of the point references' Zipf distribution", low=0)
    update_fraction: float = fraction_parameter(0.2, "fraction of the point references that update")
    backends: int = parameter(8, "backends that make point references", low=1, high=2**16)
    rate: float = parameter(
        20_000.0, "point references per second, of all backends together", low=1e-3, high=1e9
    )
    repeats: int = parameter(
        0, "correlated references that follow each point reference", low=0, high=1000
    )
    scanners: int = parameter(4, "backends that scan; 0: no scans", low=0, high=2**16)
    scan_blocks: int = parameter(12_000, "blocks that a scan reads", low=1)
    scan_speed: float = parameter(
        5_000.0, "blocks per second that a scan reads", low=1e-3, high=1e9
    )
    scan_interval: float = parameter(
        6.0,
        "seconds in which each scanning backend makes one scan; 0: one right after the other",
        low=0,
        high=1e9,
    )
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scanners == 0:
            return
        if self.scan_blocks > self.pages:
            raise TraceError(
                f"scans of {self.scan_blocks} blocks do not fit in a table of {self.pages} pages",
                "Make scan_blocks at most pages.",
            )
        if self._interval() < self._scan_seconds():
            raise TraceError(
                f"a scan takes {self._scan_seconds():g} s but the next"
                f" begins within {self.scan_interval:g} s",
                "Make scan_interval or scan_speed larger or scan_blocks smaller.",
            )
        if self._intervals() == 0:
            raise TraceError(
                f"a trace of {self.length} events ends before its scans",
                f"Use a length of at least {self._interval_events():.0f}, or no scanners.",
            )

    def _scan_seconds(self) -> float:
        return self.scan_blocks / self.scan_speed

    def _interval(self) -> float:
        return self.scan_interval or self._scan_seconds()

    def _interval_events(self) -> float:
        """Return the events, of points and scans, in an interval."""
        return self._interval() * self.rate + self.scanners * count_events(self.scan_blocks)

    def _intervals(self) -> int:
        return int(self.length / self._interval_events())

    def _events(self) -> Iterator[Chunk]:
        for_points, *for_scans = sources(self.seed, 1 + self.scanners)
        scans = self._intervals() * self.scanners if self.scanners else 0
        points = self.length - scans * count_events(self.scan_blocks)
        return interleave(
            cut(self._points(for_points), points),
            *(stream_events(self._scanner(number, rng)) for number, rng in enumerate(for_scans)),
        )

    def _points(self, rng: Random) -> Iterator[Chunk]:
        for_pages, for_times = rng.spawn(2)
        return run(
            self._statements(for_pages),
            rng=for_times,
            backends=self.backends,
            rate=self.rate,
            repeats=self.repeats,
        )

    def _statements(self, rng: Random) -> Iterator[Transactions]:
        """Yield batches of transactions of one reference each."""
        page_of_rank = scattered(rng, self.pages)
        zipf = ZipfRanks(self.pages, self.alpha)
        while True:
            page = pages_of(ACCOUNTS, page_of_rank[zipf.draw(rng, BATCH)])
            updates = rng.random(BATCH) < self.update_fraction
            yield Transactions(
                sizes=np.ones(BATCH, np.int64),
                page=page,
                kind=np.where(updates, Kind.WRITE, Kind.READ).astype(np.uint8),
                flags=np.zeros(BATCH, np.uint16),
            )

    def _scanner(self, number: int, rng: Random) -> Iterator[PlannedScan]:
        """Yield the scans of one scanning backend."""
        for interval in range(self._intervals()):
            spare = self._interval() - self._scan_seconds()
            begin = interval * self._interval() + rng.random() * spare
            yield PlannedScan(
                scan=interval * self.scanners + number + 1,
                backend=self.backends + number + 1,
                relation=ACCOUNTS,
                first=random_first(rng, self.pages, self.scan_blocks),
                count=self.scan_blocks,
                size=self.pages,
                start=begin * 1e6,
                speed=self.scan_speed,
            )
