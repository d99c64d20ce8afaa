"""Sequential scans of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType

from tidepool.errors import TraceError
from tidepool.generators.base import MAX_BLOCKS, GeneratedTrace
from tidepool.traces.draws import Random, below, sources
from tidepool.traces.model import Chunk
from tidepool.traces.parameters import parameter, seed_parameter
from tidepool.traces.scans import GROUP, PlannedScan, count_events, scan_events

TABLE = 1


@dataclass(frozen=True, kw_only=True)
class Scan(GeneratedTrace):
    """Sequential scans of a table or of ranges of it, announced, by several backends at once.

    Each backend makes its scans one after the other, out of step with the
    other backends.  The trace is as long as its scans are: all are complete.
    """

    command = "scan"
    relations = MappingProxyType({TABLE: "table"})

    length: int = field(init=False, repr=False, compare=False)

    pages: int = parameter(100_000, "pages of the table", low=1, high=MAX_BLOCKS)
    scans: int = parameter(20, "scans in the trace", low=1)
    blocks: int = parameter(
        0,
        "blocks that a scan reads, from a block group drawn at random; 0: the whole table",
        low=0,
    )
    backends: int = parameter(4, "backends that scan", low=1, high=2**16)
    speed: float = parameter(10_000.0, "blocks per second that a scan reads", low=1e-3, high=1e9)
    spread: float = parameter(
        2.0, "each scan's speed is drawn between speed / spread and speed * spread", low=1, high=1e3
    )
    pause: float = parameter(
        0.0, "mean seconds from the end of a backend's scan to its next", low=0, high=1e6
    )
    wrap: bool = parameter(
        False, "scans may begin at any block group and wrap at the end of the table"
    )
    backward: bool = parameter(False, "scans go from higher to lower block numbers")
    seed: int = seed_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks > self.pages:
            raise TraceError(
                f"scans of {self.blocks} blocks do not fit in a table of {self.pages} pages",
                "Make blocks at most pages, or 0 for the whole table.",
            )
        self._set(length=self.scans * count_events(self.blocks or self.pages))

    def _events(self) -> Iterator[Chunk]:
        backends = min(self.backends, self.scans)
        return scan_events(
            self._scanner(number, backends, rng)
            for number, rng in enumerate(sources(self.seed, backends))
        )

    def _scanner(self, number: int, backends: int, rng: Random) -> Iterator[PlannedScan]:
        """Yield the scans of one backend: those numbered number + 1, number + 1 + backends …"""
        blocks = self.blocks or self.pages
        start = rng.random() * (blocks / self.speed) * 1e6  # out of step with the others
        for scan in range(number, self.scans, backends):
            exponent, pause = rng.random(2)
            planned = PlannedScan(
                scan=scan + 1,
                backend=number + 1,
                relation=TABLE,
                first=self._first(rng, blocks),
                count=blocks,
                size=self.pages,
                start=start,
                speed=self.speed * self.spread ** (2 * exponent - 1),
                backward=self.backward,
            )
            yield planned
            start = planned.end + 2 * pause * self.pause * 1e6

    def _first(self, rng: Random, blocks: int) -> int:
        """Draw where a scan begins: at a block group."""
        if self.wrap:
            return GROUP * int(below(rng, -(-self.pages // GROUP), 1)[0])
        first = random_first(rng, self.pages, blocks)
        return first + blocks - 1 if self.backward else first


def random_first(rng: Random, pages: int, blocks: int) -> int:
    """Draw where a range of ``blocks`` blocks begins: at a block group from which it fits."""
    return GROUP * int(below(rng, (pages - blocks) // GROUP + 1, 1)[0])
