"""Streams of analytical queries that scan ranges of a clustered table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

from tidepool.errors import TraceError
from tidepool.generators.base import MAX_BLOCKS, GeneratedTrace
from tidepool.traces.draws import Random, sources
from tidepool.traces.model import Chunk
from tidepool.traces.parameters import fraction_parameter, parameter, seed_parameter
from tidepool.traces.scans import (
    PlannedScan,
    bitmap_scan,
    closed_loop,
    count_events,
    meet,
    range_groups,
    scan_events,
)

LINEITEM = 1


@dataclass(frozen=True, kw_only=True)
class TpchScans(GeneratedTrace):
    """TPC-H-like: streams of queries like Q1 and Q6 over random date ranges of one table.

    The table is clustered by date, so a range of dates is a range of blocks.
    The streams begin together; in each a query begins when the one before
    ends.
    """

    command = "tpch_scans"
    relations = MappingProxyType({LINEITEM: "lineitem"})

    length: int = field(init=False, repr=False, compare=False)

    pages: int = parameter(121_000, "pages of the table", low=1, high=MAX_BLOCKS)
    streams: int = parameter(8, "streams of queries that run at the same time", low=1, high=2**16)
    queries: int = parameter(8, "queries of each stream", low=1)
    selectivity: float = fraction_parameter(0.37, "fraction of the table that a query scans")
    speed: float = parameter(
        10_000.0, "blocks per second that a query like Q1 reads", low=1e-3, high=1e9
    )
    factor: float = parameter(2.0, "how many times as fast a query like Q6 is", low=1e-3, high=1e3)
    bitmap: bool = parameter(
        False, "scan the block groups that a BRIN index finds, instead of the blocks"
    )
    meet: bool = parameter(
        False, "let queries begin within their ranges where they meet a running one"
    )
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bitmap and self.meet:
            raise TraceError("scans of block groups cannot meet", "Leave out bitmap or meet.")
        self._set(
            length=sum(count_events(query.count) for stream in self._streams() for query in stream)
        )

    def _events(self) -> Iterator[Chunk]:
        planned = map(closed_loop, self._streams())
        return scan_events(meet(planned) if self.meet else planned)

    def _streams(self) -> Iterator[Iterator[PlannedScan]]:
        """Yield the queries of each stream; when they begin is still open."""
        for number, rng in enumerate(sources(self.seed, self.streams)):
            yield self._queries(number, rng)

    def _queries(self, number: int, rng: Random) -> Iterator[PlannedScan]:
        blocks = max(1, round(self.pages * self.selectivity))
        for query in range(self.queries):
            which, place = rng.random(2)
            scan = PlannedScan(
                scan=query * self.streams + number + 1,
                backend=number + 1,
                relation=LINEITEM,
                first=int(place * (self.pages - blocks + 1)),
                count=blocks,
                size=self.pages,
                speed=self.speed * (self.factor if which < 0.5 else 1.0),
            )
            if self.bitmap:
                scan = bitmap_scan(scan, range_groups(scan.first, blocks))
            yield scan
